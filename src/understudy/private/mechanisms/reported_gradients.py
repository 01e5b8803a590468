"""G-PATE's directions, and at the end one number about them: what the answers of this run cost given the votes, sanitised.

Directions are answered, priced and filtered as in `teacher_gradients`; nothing about them changes. Beside the teachers, two
counts per ensemble are kept inside the wall: how many tests were asked (a function of released answers), and how many answers
had which gap between the two largest bins (private). When the rounds are over they become one number,

    Y = f + (S / s)(T + t)        f: data-dependent Renyi price at the order fixed at the start, S: its smooth sensitivity,

which lies above f in 95 of 100 runs. Equations, proof and meaning are in `accounting.smooth`.

Guarantee. Given all answers, one unit changes one vote per question in each of its `touched` ensembles, so a gap by at most
2, and the number is pure `loss`-DP. It is charged as the Gaussian event that dominates this, before it is computed. The 32
bytes behind T are drawn with the teachers and kept with them: a fit that is interrupted and resumed releases the same number,
not a second one.

No round, no answer and no stopping depends on f, and the certificate's epsilon is the same whatever it is.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import dp_accounting as dpa
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Int, PRNGKeyArray

from understudy.accounting import pate2018, smooth
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.teacher_gradients import Ensembles, Histograms, TeacherGradients, Weights
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.partition import Dealing, Shards
from understudy.questions.rounds import Directions, Probe


class Counted(NamedTuple):
    """Teachers, and what the report will be made of. All private; `tests` alone is a function of released answers."""

    ensembles: Ensembles
    gaps: Int[Array, "groups gaps"]  # answers by the gap between the two largest counts
    tests: Int[Array, " groups"]
    coin: Any  # bytes of the report's noise


@dataclass(frozen=True)
class ReportedGradients:
    """Public settings of the votes, and of a report on what they cost by the data."""

    directions: TeacherGradients
    purpose: str  # of the report, in plan and ledger
    multiplier: float  # of the Gaussian event that dominates the report
    order: float
    delta: float

    @property
    def program(self) -> "ReportedGradients":
        """What the compiled answer depends on."""
        return replace(self, directions=self.directions.program)

    def event(self, rounds: int) -> dpa.DpEvent:
        return self.directions.event(rounds)

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        return self.directions.tape(rounds, noise)

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Shards, Counted]:
        shards, ensembles = self.directions.prepare(blocks, noise)
        return shards, self.common(noise)._replace(ensembles=ensembles)

    def common(self, noise: NoiseSource) -> Counted:
        """What is carried on besides teachers: units left, gaps, tests, and the coin."""
        counts = self.directions.teachers
        coin = np.frombuffer(noise.secret(smooth.COIN), np.uint8)
        gaps = jnp.zeros((len(counts), max(counts) + 1), jnp.int32)
        return Counted(self.directions.common(noise), gaps, jnp.zeros(len(counts), jnp.int32), coin)

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

    @property
    def dealing(self) -> Dealing:
        """How rows get to teachers."""
        return self.directions.dealing

    def untaught(self, places: int, width: int, secret: bytes) -> Weights:
        """As `TeacherGradients.untaught`."""
        return self.directions.untaught(places, width, secret)

    def count(self, data: Shards, held: Weights, query: Probe, first: ArrayLike = 0) -> tuple[Weights, Histograms]:
        """As `TeacherGradients.count`."""
        return self.directions.count(data, held, query, first)

    def tell(
        self, common: Counted, votes: Histograms, noise: Int[Array, "groups judged projected test_and_bins"]
    ) -> tuple[Counted, Directions]:
        """The answer, and the gaps of what was answered."""
        asked = self.directions.asked(common.ensembles.left)
        ensembles, directions = self.directions.tell(common.ensembles, votes, noise)
        top = jax.lax.top_k(votes, 2)[0]
        groups = jnp.arange(votes.shape[0])[:, None, None]
        gaps = common.gaps.at[groups, top[..., 0] - top[..., 1]].add(directions.answered.astype(jnp.int32))
        tests = common.tests + jnp.where(asked, self.directions.questions, 0)
        return Counted(ensembles, gaps, tests, common.coin), directions

    def check(self, held: Counted) -> None:
        """The votes' own account, looked at before anything leaves."""
        self.directions.check(held.ensembles)

    # -- the report -----------------------------------------------------------------------------------------------------------
    @property
    def loss(self) -> float:
        """Pure epsilon of the report."""
        return smooth.loss_of(self.multiplier)

    @property
    def closing_event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.multiplier)

    def closing_coin(self, held: Counted) -> IntArray:
        """All the noise that `close` uses."""
        return np.asarray(held.coin, np.int64)

    def close(self, held: Counted) -> dict[str, Any]:
        """The report. Besides the noisy number it holds functions of released answers only."""
        gaps, tests = np.asarray(held.gaps, np.int64), np.asarray(held.tests, np.int64)
        answers = gaps.sum(axis=1)  # as many as were released
        table, test = self.table(gaps.shape[1] - 1), self.test
        least = smooth.largest(tests * test, self.directions.touched)
        most = smooth.largest(answers * smooth.PRICE_STEPS + tests * test, self.directions.touched)
        value = smooth.total(table, gaps, tests, test, self.directions.touched)
        noisy = smooth.raised(value, self.scale(table, gaps), np.asarray(held.coin, np.uint8).tobytes())
        return self.told(min(max(noisy, least), most), most)

    def table(self, teachers: int) -> smooth.Ints:
        """Prices of answers by the votes they were close to, for an ensemble of so many teachers."""
        return smooth.price_table(self.order, self.directions.sigma_answer, self.directions.bins, teachers)

    @property
    def test(self) -> int:
        """Price of one consensus test."""
        return smooth.consensus_price(self.directions.sigma_test, self.directions.sigma_answer)

    def scale(self, table: smooth.Ints, gaps: smooth.Ints) -> float:
        """S / s: the scale of the noise. Private."""
        beta, shift = smooth.split(self.loss)
        return smooth.smooth(smooth.local_sensitivities(table, gaps, self.directions.touched), beta) / shift

    def told(self, noisy: int, most: int) -> dict[str, Any]:
        """The noisy number in words."""
        bound, top = self.epsilon(noisy), self.epsilon(most)
        statement = (
            f"data-dependent epsilon of the teachers' answers of this run and of this figure, sanitised: at most {bound:.4g} at "
            f"delta {self.delta:g}, with probability {1 - smooth.MISS:.0%} (it could not have said more than {top:.4g}). "
            "It describes this run on this table; it is not the guarantee"
        )
        return {
            "statement": statement,
            "epsilon_at_most": bound,
            "epsilon_largest": top,  # what it says when no vote was clear enough to cost less
            "delta": self.delta,
            "probability": 1 - smooth.MISS,
            "order": self.order,
        }

    def epsilon(self, steps: int) -> float:
        """The data-dependent epsilon of so many price steps."""
        own = smooth.own_price(self.loss, self.order)
        rdp = smooth.renyi(steps, self.order, self.directions.sigma_answer) + own
        return pate2018.epsilon(rdp, self.order, self.delta)
