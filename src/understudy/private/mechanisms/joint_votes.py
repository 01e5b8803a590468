"""Votes as vectors: every teacher answers all generated rows of a round with one vector of bounded norm.

Class c has its own ensemble of k_c teachers, as in `teacher_votes.py`. In every round each teacher learns anew, on the features
of `questions.panels`, to tell the rows of its shard from generated ones (Eq. 6 of PATE-GAN, n_T steps from weights of zero), and
scores the n judged rows by its logits a_i = (a_i(u_1), ..., a_i(u_n)). What leaves is

    v_c = sum_i  clip_C( a_i - mean_j a_i(u_j) )  +  Z,        clip_C(x) = x min(1, C / |x|)

The mean is over that teacher's own answers; without taking it off, most of a vector says that everything looks generated.

Guarantee. A unit sits in one shard of each class it has rows in, at most `classes_per_unit` of them; every other teacher is the
same with and without it. Its own teacher's vector has norm C at most before and after, so the sum of that class moves by 2 C
at most, in Euclidean norm and however many rows are judged:

    Z of deviation sigma 2 C sqrt(classes_per_unit) on each coordinate  =>  SelfComposedDpEvent(GaussianDpEvent(sigma), rounds)

On the computer vectors are whole numbers: C is `LEVELS` steps of a grid, coordinates are cut towards zero (which shortens), and
a vector whose exact squared length is above LEVELS^2 all the same, by the rounding of floating-point numbers, counts as zero.
Sums are exact, noise is that of the integers.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import dp_accounting as dpa
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.errors import UsageError
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.teacher_votes import Teachers, TeacherVotes, noise_for_each, those_there
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.partition import Dealing, Shards, deal
from understudy.questions.panels import Panel, features, frame_of

MOST_JUDGED = (
    2000  # squares of so many coordinates of `LEVELS` steps fit 32 bits: a length that left them would seem short
)
LEVELS = 1024  # steps of the grid per C; noise that leaves 32 bits wraps around, which is post-processing


@dataclass(frozen=True)
class JointVotes:
    """Public settings of the ensembles, their questions and their noise."""

    teachers: tuple[int, ...]  # k_c for every class
    capacity: int  # rows a shard can hold; public, surplus rows are dropped inside their own shard
    judged: int  # n: rows per class and round
    classes_per_unit: int  # how many classes one unit can have rows in
    sigma: float  # noise multiplier: deviation of the noise over the sensitivity of a round
    norm: float  # C, in the units of centred answers
    squared: tuple[int, ...]  # coordinates whose squares teachers see
    learning_rate: float

    def __post_init__(self) -> None:
        if self.judged > MOST_JUDGED:
            raise UsageError(f"judged={self.judged} must be {MOST_JUDGED:,} or less")

    @property
    def program(self) -> "JointVotes":
        """What answers are computed from, besides arrays: the capacity of shards shows in their size alone."""
        return replace(self, capacity=0)

    @property
    def sensitivity(self) -> float:
        """How far one unit moves the answers of a round, in steps of the grid."""
        return 2.0 * LEVELS * math.sqrt(self.classes_per_unit)

    @property
    def deviation(self) -> float:
        """Of the noise on one coordinate of the sum, in the units of centred answers."""
        return self.sigma * self.sensitivity * self.norm / LEVELS

    def event(self, rounds: int) -> dpa.DpEvent:
        return dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(self.sigma), rounds)

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        return noise.draw("gaussian", self.sigma * self.sensitivity, (rounds, len(self.teachers), self.judged))

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Shards, tuple[()]]:
        return deal(blocks, np.asarray(self.teachers, np.int32), self.capacity, noise), ()

    def answer(
        self, data: Shards, held: tuple[()], query: Panel, noise: Int[Array, "classes judged"], key: PRNGKeyArray
    ) -> tuple[tuple[()], Float[Array, "classes judged"]]:
        """The mean vector of every class's teachers, with the tape's noise."""
        return self.tell(held, self.count(data, held, query)[1], noise)

    # -- in stripes (`private.stripes`): teachers learn anew in every round, so nothing is carried on -----------------------
    @property
    def dealing(self) -> Dealing:
        """How rows get to teachers."""
        return Dealing(self.teachers, self.capacity, touched=self.classes_per_unit)

    def untaught(self, places: int, width: int, secret: bytes = b"") -> tuple[()]:
        """What teachers carry from round to round: nothing."""
        return ()

    def common(self, noise: NoiseSource) -> tuple[()]:
        """What is carried on besides teachers: nothing."""
        return ()

    def count(
        self, data: Shards, held: tuple[()], query: Panel, first: ArrayLike = 0
    ) -> tuple[tuple[()], Int[Array, "classes judged"]]:
        """Sum of the vectors of the teachers from number `first` on. Private."""
        return held, self.vectors(self.logits(data, query), first).sum(axis=1)

    def tell(
        self, common: tuple[()], total: Int[Array, "classes judged"], noise: Int[Array, "classes judged"]
    ) -> tuple[tuple[()], Float[Array, "classes judged"]]:
        """The answer: the mean of all vectors, with the tape's noise."""
        noise_for_each(total, noise)
        counts = jnp.asarray(self.teachers, jnp.float32)[:, None]
        return common, (total + noise).astype(jnp.float32) * (self.norm / LEVELS) / counts

    def logits(self, data: Shards, query: Panel) -> Float[Array, "classes teachers judged"]:
        """What each teacher, trained on its own shard alone, thinks of the judged rows. Private."""
        frame = frame_of(query.practice)
        practice = jnp.swapaxes(features(frame, jnp.swapaxes(query.practice, 0, 1), self.squared), 0, 1)
        middle = practice.mean(axis=(0, 2))
        seen = features(frame, jnp.asarray(data.rows), self.squared)
        own: Any = (seen - middle[:, None, None, :]) * data.mask[..., None]
        shape = (*data.mask.shape[:2], own.shape[-1])
        nothing = Teachers(jnp.zeros(shape), jnp.zeros(shape[:2]))
        trained = self._teachers.train(Shards(own, data.mask), nothing, practice - middle[None, :, None, :])
        judged = features(frame, query.judged, self.squared) - middle[:, None, :]
        return jnp.einsum("cnf,ckf->ckn", judged, trained.weight)

    def vectors(
        self, logits: Float[Array, "classes teachers judged"], first: ArrayLike = 0
    ) -> Int[Array, "classes teachers judged"]:
        """Each teacher's centred answers, clipped to C, on the grid; places beyond a class's own teachers are zero."""
        centred = logits - logits.mean(axis=2, keepdims=True)
        length = jnp.sqrt((centred**2).sum(axis=2, keepdims=True))
        steps = jnp.trunc(centred * (LEVELS / jnp.maximum(length, self.norm)))
        grid = jnp.where(jnp.isfinite(steps), jnp.clip(steps, -LEVELS, LEVELS), 0.0).astype(jnp.int32)
        short = (grid**2).sum(axis=2, keepdims=True) <= LEVELS**2
        exists = those_there(self.teachers, logits.shape[1], first)
        return jnp.where(short & exists[..., None], grid, 0)

    @property
    def _teachers(self) -> TeacherVotes:
        """One-layer teachers, trained as in `teacher_votes.py`."""
        return TeacherVotes(
            teachers=self.teachers,
            capacity=0,
            judged=self.judged,
            classes_per_unit=self.classes_per_unit,
            kind="gaussian",
            sigma=self.sigma,
            answers="score",
            learning_rate=self.learning_rate,
            weight_decay=0.0,
        )
