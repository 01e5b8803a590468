"""Wrong versions of our own methods, one for each kind of violation that was found in public PATE-GAN implementations.

They exist to show that the audit can fail, and live here so that nobody can import them from the package. Each keeps its plan,
its ledger and its certificate: on paper it is as private as the right version.
"""

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from understudy.audit import batches, shadow
from understudy.audit.shadow import sample_tables, shadow_fits
from understudy.methods.clique_tree import scores
from understudy.methods.clique_tree.method import CliqueTree
from understudy.methods.marginals.independent import Independent
from understudy.methods.pate_gan.joint import PateGanJoint
from understudy.methods.pate_gan.method import PateGan
from understudy.private.answers import counts as counted
from understudy.private.answers import distances, sums
from understudy.private.mechanisms.joint_votes import JointVotes
from understudy.private.mechanisms.noisy_gradient import NoisyGradient
from understudy.private.mechanisms.teacher_votes import TeacherVotes
from understudy.questions import Counts, Distances
from understudy.schema import Codec, Column, Schema

from ..private.test_joint_votes import CentredOnOthers, ForgottenClip, OneNorm

VOTES_ALONE: dict[str, Any] = {
    "votes_share": 1000.0,
    "moments_share": 0.0,
    "rounds": 2,
    "judged": 16,
}  # nearly all budget
PURE: dict[str, Any] = {"delta": 0.0, "noise": "laplace", "start": "none", "rounds": 2, "judged": 16}


# -- noise -------------------------------------------------------------------------------------------------------------
class InvertedVotes(TeacherVotes):
    """Scale lambda where 1 / lambda is meant."""

    @property
    def scale(self) -> float:
        return 1.0 / super().scale


class ForgetfulVotes(TeacherVotes):
    """An accountant that pays for one answer and gives them all: noise too small by the root of their number."""

    @property
    def scale(self) -> float:
        return super().scale / math.sqrt(VOTES_ALONE["rounds"] * VOTES_ALONE["judged"])


class LaplaceForOne(TeacherVotes):
    """Pure epsilon whose losses are not added up: Laplace noise of one answer on each of them."""

    @property
    def scale(self) -> float:
        return super().scale / (PURE["rounds"] * PURE["judged"])


class SilentVotes(TeacherVotes):
    """No noise at all."""

    def tape(self, rounds: int, noise: Any) -> Any:
        return np.zeros((rounds, len(self.teachers), self.judged), np.int64)


# -- partition ---------------------------------------------------------------------------------------------------------
class SharedVotes(TeacherVotes):
    """No separation: every teacher sees every row of its class."""

    def prepare(self, blocks: Any, noise: Any) -> Any:
        whole = replace(self, teachers=tuple(1 for _ in self.teachers), capacity=self.capacity * max(self.teachers))
        shards, _ = TeacherVotes.prepare(whole, blocks, noise)
        _, held = TeacherVotes.prepare(self, blocks, noise)
        return type(shards)(*(np.repeat(part, max(self.teachers), axis=1) for part in shards)), held


class LastShardVotes(TeacherVotes):
    """An indexing mistake: every teacher is fed the last shard."""

    def prepare(self, blocks: Any, noise: Any) -> Any:
        shards, held = TeacherVotes.prepare(self, blocks, noise)
        return type(shards)(*(np.repeat(part[:, -1:], part.shape[1], axis=1) for part in shards)), held


# -- no PATE -----------------------------------------------------------------------------------------------------------
class NoPateVotes(SilentVotes):
    """One discriminator sees all rows and answers without noise."""

    def prepare(self, blocks: Any, noise: Any) -> Any:
        return SharedVotes.prepare(self, blocks, noise)


@dataclass(kw_only=True, eq=False, repr=False)
class WithVotes(PateGan):
    """PATE-GAN with another mechanism in the place of its votes."""

    votes: type[TeacherVotes] = TeacherVotes

    def _votes(self, *arguments: Any, **named: Any) -> TeacherVotes:
        right = super()._votes(*arguments, **named)
        return self.votes(**{field.name: getattr(right, field.name) for field in fields(right)})


def with_votes(votes: type[TeacherVotes], teachers: int = 10) -> WithVotes:
    return WithVotes(epsilon=1.0, votes=votes, teachers=teachers, **VOTES_ALONE)


def purely(votes: type[TeacherVotes]) -> WithVotes:
    """Votes with Laplace noise at delta 0, without a paid start."""
    return WithVotes(epsilon=1.0, votes=votes, teachers=10, **PURE)


@dataclass(kw_only=True, eq=False, repr=False)
class WithJointVotes(PateGanJoint):
    """Joint votes, without a paid start, with another mechanism in their place."""

    votes: type[JointVotes] = JointVotes

    def begin(self, curator: Any, codec: Codec, counts: Any, plan: Any) -> Any:
        opening = super().begin(curator, codec, counts, plan)
        right = opening.mechanism
        return opening._replace(
            mechanism=self.votes(**{field.name: getattr(right, field.name) for field in fields(right)})
        )


def jointly(votes: type[JointVotes], teachers: int = 10) -> WithJointVotes:
    return WithJointVotes(epsilon=1.0, votes=votes, teachers=teachers, rounds=2, judged=16)


# -- sensitivity -------------------------------------------------------------------------------------------------------
@dataclass(kw_only=True, eq=False, repr=False)
class NarrowIndependent(Independent):
    """Noise for one row where a person may have several. A question that says so is refused, so the noise itself is wrong."""

    def begin(self, curator: Any, codec: Codec, counts: Any, plan: Any) -> Any:
        right = Counts.deviations.fget
        narrow = property(lambda counts: tuple(each / counts.rows_per_unit for each in right(counts)))
        with mock.patch.object(Counts, "deviations", narrow):
            return super().begin(curator, codec, counts, plan)


@dataclass(kw_only=True, eq=False, repr=False)
class QuietSelection(CliqueTree):
    """The distances by which pairs are chosen leave without noise: choosing looks harmless, as no count is shown."""

    def begin(self, curator: Any, codec: Codec, counts: Any, plan: Any) -> Any:
        with mock.patch.object(Distances, "deviation", property(lambda question: 1e-3)):
            return super().begin(curator, codec, counts, plan)


@dataclass(kw_only=True, eq=False, repr=False)
class OneMarginalForAll(CliqueTree):
    """Noise for the sensitivity of one marginal where all columns and pairs are counted in one answer."""

    def begin(self, curator: Any, codec: Codec, counts: Any, plan: Any) -> Any:
        narrow = property(lambda question: tuple(question.sigma for _ in question.tables))
        with mock.patch.object(Counts, "deviations", narrow):
            return super().begin(curator, codec, counts, plan)


@dataclass(kw_only=True, eq=False, repr=False)
class OneDistanceForAll(CliqueTree):
    """Noise for the sensitivity of one distance where those of all pairs leave in one vector."""

    def begin(self, curator: Any, codec: Codec, counts: Any, plan: Any) -> Any:
        with mock.patch.object(Distances, "deviation", property(lambda question: question.sigma)):
            return super().begin(curator, codec, counts, plan)


@dataclass(kw_only=True, eq=False, repr=False)
class BlocksAsKnown(CliqueTree):
    """Distances from blocks of the same counts priced as if the blocks were public: 1 where a row moves them by up to 2."""

    def begin(self, curator: Any, codec: Codec, counts: Any, plan: Any) -> Any:
        narrow = property(lambda question: question.sigma * math.sqrt(len(question.known)))
        with mock.patch.object(Distances, "deviation", narrow):
            return super().begin(curator, codec, counts, plan)


@dataclass(kw_only=True, eq=False, repr=False)
class RowsInFull(CliqueTree):
    """Every row of a person counts 1, with the noise of persons whose rows share a weight of 1."""

    def begin(self, curator: Any, codec: Codec, counts: Any, plan: Any) -> Any:
        full = lambda block, grid: np.full(len(block), grid, np.int64)  # noqa: E731
        with mock.patch.object(counted, "unit_shares", full), mock.patch.object(distances, "unit_shares", full):
            return super().begin(curator, codec, counts, plan)


def unclipped() -> Any:
    """Vectors are added up as long as they are."""
    return mock.patch.object(sums, "weights", lambda length, most=sums.WEIGHT: np.broadcast_to(most, length.shape))


@dataclass(kw_only=True, eq=False, repr=False)
class UnclippedMeans(CliqueTree):
    """Class means of few rows whose vectors are as long as they are: the clipping radius is known to the noise alone."""

    def begin(self, curator: Any, codec: Codec, counts: Any, plan: Any) -> Any:
        with unclipped():
            return super().begin(curator, codec, counts, plan)


class Uncut(scores.Scores):
    """Products of scores of any size."""

    @property
    def products(self) -> Any:
        return self.some(self.left) * self.some(self.right)


@dataclass(kw_only=True, eq=False, repr=False)
class UncutProducts(CliqueTree):
    """The same of products of scores: neither map nor wall cuts a row that is far from the middle in all columns."""

    def begin(self, curator: Any, codec: Codec, counts: Any, plan: Any) -> Any:
        with unclipped(), mock.patch.object(scores, "Scores", Uncut):
            return super().begin(curator, codec, counts, plan)


# -- labels ------------------------------------------------------------------------------------------------------------
@dataclass(kw_only=True, eq=False, repr=False)
class ExactLabels(Independent):
    """The training rows' class counts, unperturbed, go into the generator's sampling."""

    def begin(self, curator: Any, codec: Codec, counts: Any, plan: Any) -> Any:
        counts[:] = np.bincount(curator._blocks.gathered().classes, minlength=len(counts))
        return super().begin(curator, codec, np.maximum(counts, 1.0), plan)


# -- metadata ----------------------------------------------------------------------------------------------------------
def categories_from_data(frame: pd.DataFrame, count: int) -> list[pd.DataFrame]:
    """A wrapper that reads the list of values of every column off the training rows, then fits privately."""
    columns = tuple(
        Column(name=str(name), kind="categorical", categories=tuple(sorted(frame[name].unique().tolist())))
        for name in frame
    )
    fitted = shadow_fits(Independent(epsilon=1.0), frame, Schema(columns=columns), count)
    return sample_tables(fitted, 100)


def bounds_from_data(frame: pd.DataFrame, count: int) -> list[pd.DataFrame]:
    """A wrapper that reads the smallest and the largest value of every column off the training rows, then fits privately."""
    columns = tuple(
        Column(name=str(name), kind="continuous", lower=float(frame[name].min()), upper=float(frame[name].max()) + 1e-3)
        for name in frame
    )
    fitted = shadow_fits(Independent(epsilon=1.0), frame, Schema(columns=columns), count)
    return sample_tables(fitted, 100)


class NoNoise:
    """A noise source that is none, for the noise-free version of any method."""

    void_reason = "no noise: void"

    def __init__(self, seed: int) -> None:
        self._bits = np.random.default_rng(seed)

    def draw(self, kind: Any, scale: float, shape: Any) -> Any:
        return np.zeros(shape, np.int64)

    def secret(self, size: int) -> bytes:
        return self._bits.bytes(size)


@contextlib.contextmanager
def no_noise_anywhere() -> Iterator[None]:
    """Shadow fits without noise, also where it is made from secret bits inside the compiled step.

    For a process of its own: programs that were compiled with noise would be used again.
    """
    with (
        mock.patch.object(shadow, "SeededNoise", NoNoise),
        mock.patch.object(batches, "SeededNoise", NoNoise),
        mock.patch.object(NoisyGradient, "noised", lambda self, total, bits, clip: self.unscaled(total, clip)),
    ):
        yield


@dataclass(frozen=True)
class Mutant:
    """How a mutant is audited: pair, threat model, attack, number of runs."""

    make: Callable[[], Any]
    target: str
    threat: str
    attack: str
    runs: int
    canary: bool = False
    external: Any = None

    def settings(self) -> dict[str, Any]:
        return {
            "target": self.target,
            "threats": (self.threat,),
            "attacks": (self.attack,),
            "canary": self.canary,
            "external": self.external,
            "rows": 200,
        }


WALL = ("wall-box", "likelihood-ratio")
MUTANTS = {
    "noise: scale inverted": Mutant(lambda: with_votes(InvertedVotes), "lonely", *WALL, 200, True),
    "noise: sensitivity of one row for a person": Mutant(lambda: NarrowIndependent(epsilon=1.0), "person", *WALL, 400),
    "noise: none on the distances of pairs": Mutant(
        lambda: QuietSelection(epsilon=1.0, passes=5), "lonely", *WALL, 100
    ),
    "noise: sensitivity of one marginal for all": Mutant(
        lambda: OneMarginalForAll(epsilon=1.0, passes=5), "lonely", *WALL, 400
    ),
    "sums: class means not clipped": Mutant(
        lambda: UnclippedMeans(epsilon=1.0, passes=5), "labelled-corner", *WALL, 1000
    ),
    "sums: products of scores not cut": Mutant(lambda: UncutProducts(epsilon=1.0, passes=5), "alike", *WALL, 1000),
    "weights: rows of a person in full": Mutant(lambda: RowsInFull(epsilon=1.0, passes=5), "person", *WALL, 200),
    "noise: none on the votes": Mutant(lambda: with_votes(SilentVotes), "lonely", *WALL, 200, True),
    "accountant: forgets all answers but one": Mutant(lambda: with_votes(ForgetfulVotes), "lonely", *WALL, 400, True),
    "partition: every teacher sees every row": Mutant(lambda: with_votes(SharedVotes), "lonely", *WALL, 200, True),
    "partition: every teacher gets the last shard": Mutant(
        lambda: with_votes(LastShardVotes, 20), "lonely", "wall-box", "answers", 3000, True
    ),
    "no PATE: one discriminator, no noise": Mutant(
        lambda: with_votes(NoPateVotes), "lonely", "wall-box", "answers", 200, True
    ),
    "pure: Laplace noise of one answer on each": Mutant(lambda: purely(LaplaceForOne), "lonely", *WALL, 200, True),
    "joint votes: clip forgotten": Mutant(lambda: jointly(ForgottenClip), "lonely", *WALL, 200, True),
    "joint votes: sensitivity C instead of 2 C": Mutant(
        lambda: jointly(OneNorm, teachers=1), "opposite", *WALL, 1600, True
    ),
    "joint votes: centred on all teachers": Mutant(lambda: jointly(CentredOnOthers), "lonely", *WALL, 200, True),
    "labels: exact class counts": Mutant(
        lambda: ExactLabels(epsilon=1.0), "rare-class", "black-box", "querybased", 200
    ),
    "metadata: categories read from the data": Mutant(
        lambda: "categories-from-data", "worst-case", "black-box", "groundhog", 200, external=categories_from_data
    ),
    "metadata: bounds read from the data": Mutant(
        lambda: "bounds-from-data", "numeric", "black-box", "groundhog", 200, external=bounds_from_data
    ),
}
