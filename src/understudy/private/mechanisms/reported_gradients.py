"""G-PATE's directions, and at the end one number about them: what the answers of this run cost given the votes, sanitised.

Directions are answered, priced and filtered as in `teacher_gradients`; nothing about them changes. Beside the teachers, two
counts per ensemble are kept inside the wall, which become the report (`report.py`) when the rounds are over.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Int, PRNGKeyArray

from understudy.accounting import smooth
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.report import Report, Reporting, fresh_coin
from understudy.private.mechanisms.teacher_gradients import Ensembles, Histograms, TeacherGradients, Weights
from understudy.private.noise import NoiseSource
from understudy.private.partition import Shards
from understudy.questions.rounds import Directions, Probe


class Counted(NamedTuple):
    """Teachers, and what the report will be made of. All private; `tests` alone is a function of released answers."""

    ensembles: Ensembles
    gaps: Int[Array, "groups gaps"]  # answers by the gap between the two largest counts
    tests: Int[Array, " groups"]
    coin: Any  # bytes of the report's noise


class ReportedGradients(Reporting[TeacherGradients]):
    """Directions, and a report on what they cost by the data."""

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Shards, Counted]:
        shards, ensembles = self.votes.prepare(blocks, noise)
        return shards, self.common(noise)._replace(ensembles=ensembles)

    def common(self, noise: NoiseSource) -> Counted:
        """What is carried on besides teachers: units left, gaps, tests, and the coin."""
        counts = self.votes.teachers
        gaps = jnp.zeros((len(counts), max(counts) + 1), jnp.int32)
        return Counted(self.votes.common(noise), gaps, jnp.zeros(len(counts), jnp.int32), fresh_coin(noise))

    def answer(
        self,
        data: Shards,
        held: Counted,
        query: Probe,
        noise: Int[Array, "groups judged projected test_and_bins"],
        key: PRNGKeyArray,
    ) -> tuple[Counted, Directions]:
        """As `TeacherGradients.answer`, with the gaps of what was answered written down."""
        weights, votes = self.count(data, held.ensembles.weights, query)
        return self.tell(held._replace(ensembles=held.ensembles._replace(weights=weights)), votes, noise)

    def count(self, data: Shards, held: Weights, query: Probe, first: ArrayLike = 0) -> tuple[Weights, Histograms]:
        """As `TeacherGradients.count`."""
        return self.votes.count(data, held, query, first)

    def tell(
        self, common: Counted, votes: Histograms, noise: Int[Array, "groups judged projected test_and_bins"]
    ) -> tuple[Counted, Directions]:
        """The answer, and the gaps of what was answered."""
        asked = self.votes.asked(common.ensembles.left)
        ensembles, directions = self.votes.tell(common.ensembles, votes, noise)
        top = jax.lax.top_k(votes, 2)[0]
        groups = jnp.arange(votes.shape[0])[:, None, None]
        gaps = common.gaps.at[groups, top[..., 0] - top[..., 1]].add(directions.answered.astype(jnp.int32))
        tests = common.tests + jnp.where(asked, self.votes.questions, 0)
        return Counted(ensembles, gaps, tests, common.coin), directions

    def check(self, held: Counted) -> None:
        """The votes' own account, looked at before anything leaves."""
        self.votes.check(held.ensembles)

    def close(self, held: Counted) -> dict[str, Any]:
        gaps, tests = np.asarray(held.gaps, np.int64), np.asarray(held.tests, np.int64)
        return self.report.close(gaps, tests, np.asarray(held.coin, np.uint8).tobytes())


def reported(
    votes: TeacherGradients, rounds: int, expected: float, multiplier: float, delta: float
) -> ReportedGradients:
    """The order is fixed here, before the first question, from the plan and released counts; `expected` is the share of the
    questions that are answered.
    """
    tests = rounds * votes.questions
    noise = votes.sigma_test, votes.sigma_answer
    order = smooth.best_order(noise, votes.bins, votes.teachers, votes.touched, (tests, expected * tests), delta)
    test = smooth.consensus_price(*noise)
    return ReportedGradients(
        votes, Report(multiplier, order, delta, votes.sigma_answer, votes.bins, votes.touched, test)
    )
