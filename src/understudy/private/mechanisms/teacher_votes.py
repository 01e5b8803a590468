"""Noisy votes of teachers: the answer of PATE-GAN.

Class c has its own ensemble of k_c teachers (Jordon, Yoon, van der Schaar 2019, with the ensembles split by class); teacher i
holds the class-c rows hashed to it and judges class-c fakes only. Each fake u gets one number per class,

    v_c(u) = sum_i a_i(u) + Z,      a_i(u) = teacher i's answer in [0, 1] on a grid of `levels` steps.

`score` answers sigmoid(logit) on a grid of 1/255, `share` and `label` answer 0 or 1. With two outcomes the counts of "real"
and "fake" add up to k, so one number suffices.

Guarantee. A unit sits in one shard of each class it has rows in, at most `classes_per_unit` of them; another shard's teacher
is the same with and without it (its training sees its own shard, its own key, and generated rows). So each answer changes
by at most 1 in each of those classes: L2 sensitivity sqrt(classes_per_unit) per judged fake, T = rounds x judged answers:

    Z of scale sigma sqrt(classes_per_unit)  =>  SelfComposedDpEvent(GaussianDpEvent(sigma), T)
    (Laplace: L1 sensitivity classes_per_unit, scale sigma classes_per_unit, LaplaceDpEvent(sigma))

Departures from the paper: data-independent price only, fixed number of rounds, noise on one count, votes need not be
thresholded.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import dp_accounting as dpa
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from understudy.private.blocks import Blocks
from understudy.private.noise import IntArray, Kind, NoiseSource
from understudy.private.partition import Dealing, Shards, deal
from understudy.questions.rounds import Judgement

Answers = Literal["score", "share", "label"]
LEVELS = {"score": 255, "share": 1, "label": 1}


class Teachers(NamedTuple):
    """All teachers' weights: one layer each."""

    weight: Float[Array, "classes teachers width"]
    bias: Float[Array, "classes teachers"]


@dataclass(frozen=True)
class TeacherVotes:
    """Public settings of the ensembles, their questions and their noise."""

    teachers: tuple[int, ...]  # k_c for every class
    capacity: int  # rows a shard can hold; public, surplus rows are dropped inside their own shard
    judged: int  # answers per class and round
    classes_per_unit: int  # how many classes one unit can have rows in
    kind: Kind
    sigma: float  # noise multiplier: scale of the noise over the sensitivity of one answer
    answers: Answers
    learning_rate: float
    weight_decay: float

    @property
    def levels(self) -> int:
        """How finely a teacher's vote is measured."""
        return LEVELS[self.answers]

    @property
    def program(self) -> "TeacherVotes":
        """What answers are computed from, besides arrays: the capacity of shards shows in their size alone."""
        return replace(self, capacity=0)

    @property
    def scale(self) -> float:
        """Scale of the noise, in votes."""
        touched = self.classes_per_unit
        return self.sigma * (math.sqrt(touched) if self.kind == "gaussian" else touched)

    def event(self, rounds: int) -> dpa.DpEvent:
        single = dpa.GaussianDpEvent(self.sigma) if self.kind == "gaussian" else dpa.LaplaceDpEvent(self.sigma)
        return dpa.SelfComposedDpEvent(single, rounds * self.judged)

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        return noise.draw(self.kind, self.scale * self.levels, (rounds, len(self.teachers), self.judged))

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Shards, Teachers]:
        shards = deal(blocks, np.asarray(self.teachers, np.int32), self.capacity, noise)
        return shards, self.untaught(max(self.teachers), blocks.width)

    def answer(
        self, data: Shards, held: Teachers, query: Judgement, noise: Int[Array, "classes judged"], key: PRNGKeyArray
    ) -> tuple[Teachers, Float[Array, "classes judged"]]:
        """Train every teacher on its shard against the practice fakes, then count votes and add the tape's noise."""
        held, votes = self.count(data, held, query)
        return held, self.tell((), votes, noise)[1]

    # -- in stripes (`private.stripes`): what some of the teachers count, and what is told of all counts together -----------
    @property
    def dealing(self) -> Dealing:
        """How rows get to teachers."""
        return Dealing(self.teachers, self.capacity, touched=self.classes_per_unit)

    def untaught(self, places: int, width: int, secret: bytes = b"") -> Teachers:
        """So many teachers of every class before they have seen anything."""
        shape = (len(self.teachers), places)
        return Teachers(jnp.zeros((*shape, width), jnp.float32), jnp.zeros(shape, jnp.float32))

    def common(self, noise: NoiseSource) -> tuple[()]:
        """What is carried on besides teachers: nothing."""
        return ()

    def count(
        self, data: Shards, held: Teachers, query: Judgement, first: ArrayLike = 0
    ) -> tuple[Teachers, Int[Array, "classes judged"]]:
        """Votes of the teachers from number `first` on, after they have trained. Private."""
        held = self.train(data, held, query.practice)
        return held, self.votes(held, query.judged, first)

    def tell(
        self, common: tuple[()], votes: Int[Array, "classes judged"], noise: Int[Array, "classes judged"]
    ) -> tuple[tuple[()], Float[Array, "classes judged"]]:
        """The answer: all votes with the tape's noise."""
        noise_for_each(votes, noise)
        counts = jnp.asarray(self.teachers, jnp.float32)[:, None]
        share = (votes + noise).astype(jnp.float32) / (counts * self.levels)
        return common, (share > 0.5).astype(jnp.float32) if self.answers == "label" else share

    def train(self, data: Shards, held: Teachers, practice: Float[Array, "steps classes practice width"]) -> Teachers:
        """Eq. 6, one gradient step per batch of fakes, every teacher on the whole of its own shard.

        An empty shard contributes nothing, so its teacher learns from fakes alone: a rule that sees no data.
        """
        rows = jnp.maximum(data.mask.sum(axis=2), 1.0)
        own = data.mask / rows[..., None]

        def step(held: Teachers, fakes: Float[Array, "classes practice width"]) -> tuple[Teachers, None]:
            real = jnp.einsum("cksw,ckw->cks", data.rows, held.weight) + held.bias[..., None]
            fake = jnp.einsum("cnw,ckw->ckn", fakes, held.weight) + held.bias[..., None]
            pull = own * jax.nn.sigmoid(-real)
            push = jax.nn.sigmoid(fake) / fakes.shape[1]
            ascent = jnp.einsum("cks,cksw->ckw", pull, data.rows) - jnp.einsum("ckn,cnw->ckw", push, fakes)
            weight = held.weight + self.learning_rate * (ascent - self.weight_decay * held.weight)
            bias = held.bias + self.learning_rate * (pull.sum(axis=2) - push.sum(axis=2))
            return Teachers(weight, bias), None

        return jax.lax.scan(step, held, practice)[0]

    def votes(
        self, held: Teachers, judged: Float[Array, "classes judged width"], first: ArrayLike = 0
    ) -> Int[Array, "classes judged"]:
        """Sum of the teachers' answers on the integer grid; places beyond a class's own teachers do not vote."""
        logits = jnp.einsum("cnw,ckw->ckn", judged, held.weight) + held.bias[..., None]
        score = jax.nn.sigmoid(logits) if self.answers == "score" else (logits > 0.0).astype(jnp.float32)
        exists = those_there(self.teachers, held.bias.shape[1], first)
        grid = jnp.round(score * self.levels).astype(jnp.int32) * exists.astype(jnp.int32)[..., None]
        return grid.sum(axis=1)


def noise_for_each(answers: Array, noise: Array) -> None:
    """Refuse a query that asks for other answers than were priced: where one is, it would be drawn out to all of them, and the
    difference of two answers with the same noise has none."""
    if answers.shape != noise.shape:
        raise RuntimeError(f"{answers.shape} answers are asked for, and the tape has noise for {noise.shape}")


def those_there(teachers: tuple[int, ...], places: int, first: ArrayLike) -> Bool[Array, "classes places"]:
    """Which of the places from number `first` on hold one of a class's own teachers."""
    number = jnp.arange(places) + first
    there: Bool[Array, "classes places"] = number[None, :] < jnp.asarray(teachers)[:, None]
    return there
