"""PATE-GAN's labels, and at the end one number about them: what the answers of this run cost given the votes, sanitised.

Votes are answered and priced as in `teacher_votes` with `answers="label"` and Gaussian noise; nothing about them changes. What
the number is and why it may leave stands in `report.py` and `accounting.smooth`, which speak of an arg-max over bins: a label is
one over two. With n of k teachers for "real" and integer noise Z of deviation sigma, the label is n + Z > k / 2. Let
g = |2 n - k| be the gap between the two counts.

    price whatever the votes were    a / (2 sigma^2): the arg-max of two counts with noise sigma' = sqrt(2) sigma each
    the other label comes out        with probability at most Pr[Z >= g / 2] <= erfc((g - 2) / (2 sigma')) / 2

The second line: each term of the tail is at most the normal density there (the integer Gaussian has the larger normaliser), which
is below the integral over the step before it. That is q(g - 1) of `accounting.smooth`, so gaps are written down less one. One
vote moves g, and what is written down, by 2 at most.
"""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.accounting import smooth
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.report import Report, Reporting, fresh_coin
from understudy.private.mechanisms.teacher_votes import Teachers, TeacherVotes
from understudy.private.noise import NoiseSource
from understudy.private.partition import Shards
from understudy.questions.rounds import Judgement


class Counted(NamedTuple):
    """Teachers, and what the report will be made of. All private."""

    teachers: Teachers | None  # None where others hold them
    gaps: Int[Array, "classes gaps"]  # answers by the gap between the two counts, less one
    coin: Any  # bytes of the report's noise


class ReportedVotes(Reporting[TeacherVotes]):
    """Labels, and a report on what they cost by the data."""

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Shards, Counted]:
        shards, teachers = self.votes.prepare(blocks, noise)
        return shards, self.common(noise)._replace(teachers=teachers)

    def common(self, noise: NoiseSource) -> Counted:
        """What is carried on besides teachers: gaps, and the coin."""
        counts = self.votes.teachers
        return Counted(None, jnp.zeros((len(counts), max(counts) + 1), jnp.int32), fresh_coin(noise))

    def answer(
        self, data: Shards, held: Counted, query: Judgement, noise: Int[Array, "classes judged"], key: PRNGKeyArray
    ) -> tuple[Counted, Float[Array, "classes judged"]]:
        """As `TeacherVotes.answer`, with the gaps written down."""
        assert held.teachers is not None
        teachers, votes = self.count(data, held.teachers, query)
        return self.tell(held._replace(teachers=teachers), votes, noise)

    def count(
        self, data: Shards, held: Teachers, query: Judgement, first: ArrayLike = 0
    ) -> tuple[Teachers, Int[Array, "classes judged"]]:
        """As `TeacherVotes.count`."""
        return self.votes.count(data, held, query, first)

    def tell(
        self, common: Counted, votes: Int[Array, "classes judged"], noise: Int[Array, "classes judged"]
    ) -> tuple[Counted, Float[Array, "classes judged"]]:
        """The labels, and the gaps between the counts behind them."""
        counts = jnp.asarray(self.votes.teachers, jnp.int32)[:, None]
        gap = jnp.maximum(jnp.abs(2 * votes - counts) - 1, 0)
        gaps = common.gaps.at[jnp.arange(votes.shape[0])[:, None], gap].add(1)
        return common._replace(gaps=gaps), self.votes.tell((), votes, noise)[1]

    def close(self, held: Counted) -> dict[str, Any]:
        gaps = np.asarray(held.gaps, np.int64)
        return self.report.close(gaps, np.zeros(len(gaps), np.int64), np.asarray(held.coin, np.uint8).tobytes())


def reported(votes: TeacherVotes, rounds: int, multiplier: float, delta: float) -> ReportedVotes:
    """The order is fixed here, before the first question, from the plan and released counts."""
    if votes.answers != "label" or votes.kind != "gaussian":
        raise RuntimeError("a report is about labels with Gaussian noise")
    sigma = math.sqrt(2.0) * votes.scale
    asked = (0, rounds * votes.judged)
    order = smooth.best_order((sigma, sigma), 2, votes.teachers, votes.classes_per_unit, asked, delta)
    return ReportedVotes(votes, Report(multiplier, order, delta, sigma, 2, votes.classes_per_unit))
