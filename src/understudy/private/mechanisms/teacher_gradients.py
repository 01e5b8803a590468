"""The direction in which most teachers would move a generated row: the answer of G-PATE (Long et al. 2021, Algorithms 1 and 3).

Teacher i's wish for a fake x is the gradient of its loss on it, dx_i = d L_i(x) / dx with L_i(x) = -log(1 - D_i(x)) (Eq. 1):
moving along it makes the fake harder to tell. With a public random projection R for each fake (drawn by the generator, which
never sees a row),

    u_i = dx_i R,    h_j = histogram over teachers of u_ij clipped to (-c, c), B bins of equal width, for each coordinate j

and each (fake, coordinate) is one question of Confident-GNMax, with integer noise from the tape:

    test      max_b h_j[b] + Z >= threshold x teachers      noise sigma_test,    1 unit
    arg-max   b* = argmax_b h_j[b] + Z_b, if the test passed and units are left     noise sigma_answer, `answer_units` units

The answer is the mid-point of bin b* in units of c, or "no consensus": 0, which leaves the fake where it is in that direction.

Guarantee. A unit sits in one shard of each ensemble it has rows in (`touched` of them at most), so it moves one vote per question
there: the maximum by at most 1, the histogram by at most sqrt(2) in L2. `noise_for` gives both noises their scale for these
sensitivities times sqrt(touched), so a question costs a unit at most its number of units (`accounting.filter`). Every round
is charged `allowance` units per ensemble before it runs and answers only from what has been charged and is left: `allot`. What is
left is a function of released answers. By the filter's theorem all rounds together cost at most what the ledger holds. Ensembles
of different classes are disjoint data but for the `touched` ones, so each may use up its own allowance.

Compiled integers have 32 bits, so the filter compares counts and never products: an ensemble can pay for
floor((left - tests) / answer_units) answers. Units beyond `MOST_UNITS` are not saved up but lost, which is on the safe side; so
no number in `allot` exceeds 2^30 whatever was announced, and what is left is never negative.

Departures from the paper: no data-dependent price; ensembles may be split by class; teachers get units by a keyed hash.
"""

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Protocol, runtime_checkable

import dp_accounting as dpa
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from understudy.accounting.filter import noise_for
from understudy.errors import UsageError
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.teacher_votes import those_there
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.partition import Dealing, Shards, deal
from understudy.questions.rounds import Directions, Probe

MOST_UNITS = 2**30  # that an ensemble can hold: half of what 32 bits do

Weights = dict[str, Array]
Histograms = Int[Array, "groups judged projected bins"]


@runtime_checkable
class TeacherNetwork(Protocol):
    """A teacher's network: a hashable description, and a function of one row."""

    def init(self, key: PRNGKeyArray) -> Weights:
        """First weights of one teacher."""
        ...

    def __call__(self, params: Weights, x: Float[Array, " inputs"]) -> Float[Array, " one"]: ...


class Ensembles(NamedTuple):
    """All teachers' weights, leading axes [groups, teachers], and the units that each ensemble may still spend."""

    weights: Weights
    left: Int[Array, " groups"]


@dataclass(frozen=True)
class TeacherGradients:
    """Public settings of the ensembles, their questions and their noise."""

    network: TeacherNetwork
    teachers: tuple[int, ...]  # of every ensemble: one per class, or one in all
    labels: int  # with one ensemble: number of classes, joined to every row as a one-hot; 0 with an ensemble per class
    capacity: int  # rows a shard can hold; public, surplus rows are dropped inside their own shard
    judged: int  # fakes per ensemble and round
    projected: int  # k: coordinates after projection
    bins: int  # B
    clip: float  # c
    threshold: float  # T, a share of the teachers
    touched: int  # how many ensembles one unit can have rows in
    unit: float  # noise multiplier of one unit of the filter
    answer_units: int  # what an arg-max costs; a test costs one unit
    allowance: int  # units charged per round and ensemble
    learning_rate: float
    decay: float
    chunk: int  # teachers trained at once: bounds memory, changes nothing else

    def __post_init__(self) -> None:
        if max(self.allowance, self.questions + self.answer_units) > MOST_UNITS:
            raise UsageError(
                f"answer_units={self.answer_units} and allowance={self.allowance} for {self.questions} questions a round: "
                f"a round cannot have more than {MOST_UNITS:,} units"
            )

    @property
    def program(self) -> "TeacherGradients":
        """What answers are computed from, besides arrays: the capacity of shards shows in their size alone."""
        return replace(self, capacity=0)

    @property
    def questions(self) -> int:
        """Per ensemble and round."""
        return self.judged * self.projected

    @property
    def sigma_test(self) -> float:
        """Deviation of the noise of the consensus test."""
        return noise_for(self.unit, 1, math.sqrt(self.touched))

    @property
    def sigma_answer(self) -> float:
        """Deviation of the noise of an answer."""
        return noise_for(self.unit, self.answer_units, math.sqrt(2 * self.touched))

    def event(self, rounds: int) -> dpa.DpEvent:
        return dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(self.unit), rounds * self.allowance)

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        """Last axis: one number for the test, then one for every bin."""
        shape = (rounds, len(self.teachers), self.judged, self.projected)
        test = noise.draw("gaussian", self.sigma_test, (*shape, 1))
        return np.concatenate([test, noise.draw("gaussian", self.sigma_answer, (*shape, self.bins))], axis=-1)

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Shards, Ensembles]:
        counts = np.asarray(self.teachers, np.int32)
        most = int(counts.max())
        if most > self.chunk:  # whole chunks; who is not there has no vote
            most = -(-most // self.chunk) * self.chunk
        shards = deal(blocks, counts, self.capacity, noise, most=most, labels=self.labels)
        return shards, self.common(noise)._replace(weights=self.untaught(most, blocks.width, noise.secret(4)))

    def answer(
        self,
        data: Shards,
        held: Ensembles,
        query: Probe,
        noise: Int[Array, "groups judged projected test_and_bins"],
        key: PRNGKeyArray,
    ) -> tuple[Ensembles, Directions]:
        """Train every teacher on its shard against the practice fakes, then let them vote on where the judged ones should go."""
        weights, votes = self.count(data, held.weights, query)
        return self.tell(held._replace(weights=weights), votes, noise)

    # -- in stripes (`private.stripes`): what some of the teachers count, and what is told of all counts together -----------
    @property
    def dealing(self) -> Dealing:
        """How rows get to teachers."""
        return Dealing(self.teachers, self.capacity, self.labels, self.chunk, self.touched)

    def untaught(self, places: int, width: int, secret: bytes) -> Weights:
        """So many teachers of every ensemble before they have seen anything.

        All start alike, from a key that has nothing to do with any row.
        """
        weights = self.network.init(jax.random.key(int.from_bytes(secret[:4], "little")))
        every: Weights = jax.tree.map(lambda w: jnp.broadcast_to(w, (len(self.teachers), places, *w.shape)), weights)
        return every

    def common(self, noise: NoiseSource) -> Ensembles:
        """What is carried on besides teachers: the units that are left."""
        return Ensembles({}, jnp.zeros(len(self.teachers), jnp.int32))

    def count(self, data: Shards, held: Weights, query: Probe, first: ArrayLike = 0) -> tuple[Weights, Histograms]:
        """Votes of the teachers from number `first` on, after they have trained. Private."""
        weights = self.train(data, held, query.practice)
        return weights, self.histograms(weights, query, first)

    def tell(
        self, common: Ensembles, votes: Histograms, noise: Int[Array, "groups judged projected test_and_bins"]
    ) -> tuple[Ensembles, Directions]:
        """The answer: all votes with the tape's noise, as far as the units go."""
        answered, left = self.allot(self.consensus(votes, noise[..., 0]), common.left)
        middle = self.middle(votes, noise[..., 1:])
        return common._replace(left=left), Directions(jnp.where(answered, middle, 0.0), answered)

    # -- what a teacher does; it sees its own shard, its own weights and generated rows ------------------------------------
    def train(self, data: Shards, weights: Weights, practice: Float[Array, "steps groups practice inputs"]) -> Weights:
        """One gradient step per batch of fakes, every teacher on the whole of its own shard.

        An empty shard contributes nothing, so its teacher learns from fakes alone: a rule that sees no data.
        """

        def loss(own: Weights, rows: Array, mask: Array, fakes: Array) -> Float[Array, ""]:
            logits = jax.vmap(self.network, in_axes=(None, 0))
            real = (mask * jax.nn.softplus(-logits(own, rows)[:, 0])).sum() / jnp.maximum(mask.sum(), 1.0)
            fake: Float[Array, ""] = jax.nn.softplus(logits(own, fakes)[:, 0]).mean()
            total: Float[Array, ""] = real + fake
            return total

        def one(fakes: Array, teacher: tuple[Weights, Array, Array]) -> Weights:
            def step(own: Weights, batch: Array) -> tuple[Weights, None]:
                slope = jax.grad(loss)(own, teacher[1], teacher[2], batch)
                return jax.tree.map(lambda w, g: w - self.learning_rate * (g + self.decay * w), own, slope), None

            return jax.lax.scan(step, teacher[0], fakes)[0]

        def group(own: Weights, rows: ArrayLike, mask: ArrayLike, fakes: Array) -> Weights:
            trained: Weights = jax.lax.map(partial(one, fakes), (own, rows, mask), batch_size=self.chunk)
            return trained

        found: Weights = jax.vmap(group, in_axes=(0, 0, 0, 1))(weights, data.rows, data.mask, practice)
        return found

    def histograms(self, weights: Weights, query: Probe, first: ArrayLike = 0) -> Histograms:
        """Votes of all teachers for bins, added up; each teacher has one vote per question, whatever its gradient is."""
        there = those_there(self.teachers, jax.tree.leaves(weights)[0].shape[1], first).astype(jnp.int32)

        def wish(own: Weights, x: Float[Array, " inputs"]) -> Float[Array, " inputs"]:
            slope: Float[Array, " inputs"] = jax.grad(lambda x: jax.nn.softplus(self.network(own, x)[0]))(x)
            return slope

        def votes(rows: Array, axes: Array, teacher: tuple[Weights, Array]) -> Int[Array, "judged projected bins"]:
            gradients = jax.vmap(wish, in_axes=(None, 0))(teacher[0], rows)
            bins = self.bin_of(jnp.einsum("jw,jwk->jk", gradients[:, : axes.shape[1]], axes))
            counted: Int[Array, "judged projected bins"] = jax.nn.one_hot(bins, self.bins, dtype=jnp.int32) * teacher[1]
            return counted

        def group(own: Weights, there: Array, rows: Array, axes: Array) -> Array:
            def add(total: Array, teachers: tuple[Weights, Array]) -> tuple[Array, None]:
                return total + jax.vmap(partial(votes, rows, axes))(teachers).sum(axis=0), None

            size = min(self.chunk, there.shape[0])
            parts = jax.tree.map(lambda a: a.reshape(-1, size, *a.shape[1:]), (own, there))
            return jax.lax.scan(add, jnp.zeros((self.judged, self.projected, self.bins), jnp.int32), parts)[0]

        return jax.vmap(group)(weights, there, query.judged, query.projection)

    def bin_of(self, u: Float[Array, "judged projected"]) -> Int[Array, "judged projected"]:
        """Bin of a clipped coordinate; a gradient that is no number votes for the middle."""
        inside = jnp.clip(jnp.nan_to_num(u, nan=0.0), -self.clip, self.clip)
        place = jnp.floor((inside / self.clip + 1.0) / 2.0 * self.bins)
        return jnp.clip(place, 0, self.bins - 1).astype(jnp.int32)

    # -- what is released ---------------------------------------------------------------------------------------------------
    def consensus(
        self, votes: Histograms, noise: Int[Array, "groups judged projected"]
    ) -> Bool[Array, "groups judged projected"]:
        """The noisy test: does the largest bin reach the threshold?"""
        needed = np.asarray([math.ceil(self.threshold * k) for k in self.teachers], np.int32)
        return votes.max(axis=-1) + noise >= needed[:, None, None]

    def middle(
        self, votes: Histograms, noise: Int[Array, "groups judged projected bins"]
    ) -> Float[Array, "groups judged projected"]:
        """The mid-point, in units of the clip, of the bin whose noisy count is largest."""
        winner = jnp.argmax(votes + noise, axis=-1)
        return (2.0 * winner.astype(jnp.float32) + 1.0) / self.bins - 1.0

    def allot(
        self, passed: Bool[Array, "groups judged projected"], left: Int[Array, " groups"]
    ) -> tuple[Bool[Array, "groups judged projected"], Int[Array, " groups"]]:
        """Which questions are answered from the units that are left, and what is left then.

        A round that could not pay for all its tests and one answer is not asked at all. The others pay for all tests first, then
        for answers in their order, until the units are gone. Only released answers enter `left`.
        """
        charged, asked = self.charged(left), self.asked(left)
        affordable = jnp.where(asked, (charged - self.questions) // self.answer_units, 0)
        flat = passed.reshape(passed.shape[0], -1)
        answered = flat & (jnp.cumsum(flat, axis=1, dtype=jnp.int32) <= affordable[:, None])
        # No more than `affordable` answers, so this product is at most what was charged.
        spent = jnp.where(asked, self.questions, 0) + answered.sum(axis=1, dtype=jnp.int32) * self.answer_units
        return answered.reshape(passed.shape), charged - spent

    def charged(self, left: Int[Array, " groups"]) -> Int[Array, " groups"]:
        """What an ensemble can spend in the next round."""
        return jnp.minimum(left, MOST_UNITS - self.allowance) + self.allowance

    def asked(self, left: Int[Array, " groups"]) -> Bool[Array, " groups"]:
        """Whether the next round can pay for all its tests and one answer."""
        return self.charged(left) >= self.questions + self.answer_units

    def check(self, held: Ensembles) -> None:
        """After every chunk, before anything of it leaves: what is left is a function of answers, so this tells nothing else."""
        if (np.asarray(held.left) < 0).any():
            raise RuntimeError("more units were spent than were charged")
