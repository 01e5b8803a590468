"""PATE votes with the published, data-dependent price. NOT a valid guarantee; for research.

Both counts get Laplace noise of scale 1/lambda and the larger wins (PATE 2017). The price of each answer is Theorem 5,

    alpha(l) <= min{ 2 lambda^2 l (l + 1),  log( (1 - q) ((1 - q) / (1 - e^{2 lambda} q))^l + q e^{2 lambda l} ) },
    q = (2 + lambda |n0 - n1|) / (4 exp(lambda |n0 - n1|)),

summed over answers; training stops when min_l (alpha(l) + log(1/delta)) / l reaches epsilon. The second bound holds only for
q < (e^{2 lambda} - 1) / (e^{4 lambda} - 1), a condition that the paper's theorem leaves out and that is kept here. The rule is
looked at after every round, as in the loop of Algorithm 1 (`rounds_at_once`).

Teachers learn as the paper says: n_T steps of Adam, each on a batch of n rows drawn from the teacher's own shard (line 8) and n
generated ones. Their depth of 1 is read as one layer, without a hidden one.

Why the guarantee is void: |n0 - n1| is private, so the price is private, and so is a stopping time chosen by it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import dp_accounting as dpa
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.private.blocks import Blocks
from understudy.private.mechanisms.teacher_votes import Teachers, TeacherVotes
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.partition import Shards
from understudy.questions.rounds import Judgement

ORDERS = 100
FINE = 1 << 10  # steps per vote of the noise grid: the paper's noise can be smaller than one vote


class Held(NamedTuple):
    """Teachers, what Adam remembers of each, and the log moments of all answers so far."""

    teachers: Teachers
    optimiser: optax.OptState
    alpha: Float[Array, " orders"]


@dataclass(frozen=True)
class PublishedVotes:
    """Algorithm 1's teachers, votes, price and stopping rule."""

    votes: TeacherVotes
    inverse_scale: float  # lambda
    delta: float
    epsilon: float

    rounds_at_once = 1  # the stopping rule is part of every turn of the loop

    @classmethod
    def of(
        cls,
        teachers: int,
        capacity: int,
        judged: int,
        learning_rate: float,
        *,
        inverse_scale: float,
        delta: float,
        epsilon: float,
    ) -> "PublishedVotes":
        """The paper's one ensemble, which sees all rows and says thresholded votes."""
        votes = TeacherVotes(
            teachers=(teachers,),
            capacity=capacity,
            judged=judged,
            classes_per_unit=1,
            kind="laplace",
            sigma=1.0 / inverse_scale,
            answers="label",
            learning_rate=learning_rate,
            weight_decay=0.0,
        )
        return cls(votes, inverse_scale, delta, epsilon)

    def event(self, rounds: int) -> dpa.DpEvent:
        return dpa.NonPrivateDpEvent()

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        shape = (rounds, 2, 1, self.votes.judged)
        return noise.draw("laplace", FINE / self.inverse_scale, shape)

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Shards, Held]:
        shards, teachers = self.votes.prepare(blocks, noise)
        return shards, Held(teachers, self._adam.init(teachers), jnp.zeros(ORDERS, jnp.float32))

    def answer(
        self, data: Shards, held: Held, query: Judgement, noise: Int[Array, "two one judged"], key: PRNGKeyArray
    ) -> tuple[Held, Float[Array, "one judged"]]:
        teachers, optimiser = self.train(data, held, query.practice, key)
        real = self.votes.votes(teachers, query.judged)
        gap = 2 * real - self.votes.teachers[0]
        label = gap * FINE + noise[1] - noise[0] > 0
        price = published_price(jnp.abs(gap).astype(jnp.float32).reshape(-1), self.inverse_scale)
        return Held(teachers, optimiser, held.alpha + price), label.astype(jnp.float32)

    def train(
        self, data: Shards, held: Held, practice: Float[Array, "steps classes practice width"], key: PRNGKeyArray
    ) -> tuple[Teachers, optax.OptState]:
        """Lines 5 to 10: all teachers at once, since what Adam does to one coordinate depends on that coordinate alone."""

        def step(
            carry: tuple[Teachers, optax.OptState], inputs: tuple[Array, Array]
        ) -> tuple[tuple[Teachers, optax.OptState], None]:
            teachers, optimiser = carry
            fakes, key_batch = inputs
            batch = draw_batches(data, fakes.shape[1], key_batch)
            slope = jax.grad(teachers_loss)(teachers, batch, fakes)
            updates, optimiser = self._adam.update(slope, optimiser)
            return (optax.apply_updates(teachers, updates), optimiser), None

        keys = jax.random.split(key, practice.shape[0])
        found: tuple[Teachers, optax.OptState] = jax.lax.scan(step, (held.teachers, held.optimiser), (practice, keys))[
            0
        ]
        return found

    @property
    def _adam(self) -> optax.GradientTransformation:
        return optax.adam(self.votes.learning_rate)

    def exhausted(self, held: Held) -> bool:
        """The published stopping rule. It looks at private votes, which is what voids the guarantee."""
        alpha = np.asarray(held.alpha, np.float64)
        orders = np.arange(1, ORDERS + 1)
        return bool(((alpha + np.log(1.0 / self.delta)) / orders).min() >= self.epsilon)


class Batches(NamedTuple):
    """Rows that teachers learn from in one step; `mask` is 0 where a teacher has none."""

    rows: Float[Array, "classes teachers batch width"]
    mask: Float[Array, "classes teachers batch"]


def draw_batches(data: Shards, size: int, key: PRNGKeyArray) -> Batches:
    """Rows drawn with replacement from every teacher's own shard; an empty one has a batch that counts for nothing.

    The places of a shard are filled from the first on (`partition.fill`), so a place below its number of rows holds one.
    """
    rows = data.mask.sum(axis=2)
    place = jax.random.uniform(key, (*rows.shape, size)) * rows[..., None]
    drawn = jnp.minimum(place.astype(jnp.int32), jnp.maximum(rows[..., None].astype(jnp.int32) - 1, 0))
    present = jnp.broadcast_to((rows > 0.0).astype(jnp.float32)[..., None], drawn.shape)
    return Batches(jnp.take_along_axis(jnp.asarray(data.rows), drawn[..., None], axis=2), present)


def teachers_loss(teachers: Teachers, real: Batches, fakes: Float[Array, "classes practice width"]) -> Float[Array, ""]:
    """Eq. 6 of every teacher, added up: each teacher's gradient is that of its own term."""
    on_real = jnp.einsum("cksw,ckw->cks", real.rows, teachers.weight) + teachers.bias[..., None]
    on_fake = jnp.einsum("cnw,ckw->ckn", fakes, teachers.weight) + teachers.bias[..., None]
    found = (real.mask * jax.nn.log_sigmoid(on_real)).sum() + jax.nn.log_sigmoid(-on_fake).sum()
    return jnp.negative(found) / fakes.shape[1]


def published_price(gap: Float[Array, " answers"], inverse_scale: float) -> Float[Array, " orders"]:
    """Log moments of all answers together, order by order."""
    g, orders = inverse_scale, jnp.arange(1, ORDERS + 1, dtype=jnp.float32)[None, :]
    q = ((2.0 + g * gap) / (4.0 * jnp.exp(g * gap)))[:, None]
    flat = 2.0 * g**2 * orders * (orders + 1.0)
    valid = q < (np.exp(2.0 * g) - 1.0) / (np.exp(4.0 * g) - 1.0)
    safe = jnp.where(valid, q, 0.0)
    ratio = orders * (jnp.log1p(-safe) - jnp.log1p(-np.exp(2.0 * g) * safe))
    tail = jnp.log(jnp.maximum(safe, 1e-38)) + 2.0 * g * orders
    dependent = jnp.logaddexp(jnp.log1p(-safe) + ratio, tail)
    return jnp.where(valid, jnp.minimum(flat, dependent), flat).sum(axis=0)
