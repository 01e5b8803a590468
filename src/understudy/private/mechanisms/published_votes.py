"""PATE votes with the published, data-dependent price. NOT a valid guarantee; for research.

Both counts get Laplace noise of scale 1/lambda and the larger wins (PATE 2017). The price of each answer is Theorem 5,

    alpha(l) <= min{ 2 lambda^2 l (l + 1),  log( (1 - q) ((1 - q) / (1 - e^{2 lambda} q))^l + q e^{2 lambda l} ) },
    q = (2 + lambda |n0 - n1|) / (4 exp(lambda |n0 - n1|)),

summed over answers; training stops when min_l (alpha(l) + log(1/delta)) / l reaches epsilon. The second bound holds only for
q < (e^{2 lambda} - 1) / (e^{4 lambda} - 1), a condition that the paper's theorem leaves out and that is kept here.

Why the guarantee is void: |n0 - n1| is private, so the price is private, and so is a stopping time chosen by it.
"""

from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.private.blocks import Blocks
from understudy.private.mechanisms.teacher_votes import Teachers, TeacherVotes
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.partition import Shards
from understudy.questions.rounds import Judgement

ORDERS = 100
FINE = 1 << 10  # steps per vote of the noise grid: the paper's noise can be smaller than one vote


@dataclass(frozen=True)
class PublishedVotes:
    votes: TeacherVotes
    inverse_scale: float  # lambda
    delta: float
    epsilon: float

    def event(self, rounds: int) -> dpa.DpEvent:
        return dpa.NonPrivateDpEvent()

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        shape = (rounds, 2, 1, self.votes.judged)
        return noise.draw("laplace", FINE / self.inverse_scale, shape)

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Shards, Any]:
        shards, teachers = self.votes.prepare(blocks, noise)
        return shards, (teachers, np.zeros(ORDERS, np.float32))

    def answer(
        self, data: Shards, held: Any, query: Judgement, noise: Int[Array, "two one judged"], key: PRNGKeyArray
    ) -> tuple[Any, Float[Array, "one judged"]]:
        teachers: Teachers = self.votes.train(data, held[0], query.practice)
        real = self.votes.votes(teachers, query.judged)
        gap = 2 * real - self.votes.teachers[0]
        label = gap * FINE + noise[1] - noise[0] > 0
        price = published_price(jnp.abs(gap).astype(jnp.float32).reshape(-1), self.inverse_scale)
        return (teachers, held[1] + price), label.astype(jnp.float32)

    def exhausted(self, held: Any) -> bool:
        """The published stopping rule. It looks at private votes, which is what voids the guarantee."""
        alpha = np.asarray(held[1], np.float64)
        orders = np.arange(1, ORDERS + 1)
        return bool(((alpha + np.log(1.0 / self.delta)) / orders).min() >= self.epsilon)


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
