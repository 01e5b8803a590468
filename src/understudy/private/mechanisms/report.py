"""One number about a run of votes, when all rounds are over: what its answers cost given the votes, sanitised.

A mechanism that reports keeps inside the wall how many answers had which gap between the two largest counts (private), and how
many tests of consensus were asked (a function of released answers). At the end they become

    Y = f + (S / s)(T + t)        f: data-dependent Renyi price at the order fixed at the start, S: its smooth sensitivity,

which lies above f in 95 of 100 runs. Equations, proof and meaning are in `accounting.smooth`.

Guarantee. Given all answers, one unit changes one vote per question in each of its `touched` ensembles, so a gap by at most
2, and the number is pure `loss`-DP. It is charged as the Gaussian event that dominates this, before it is computed. The 32
bytes behind T are drawn with the teachers and kept with them: a fit that is interrupted and resumed releases the same number,
not a second one.

No round, no answer and no stopping depends on f, and the certificate's epsilon is the same whatever it is.
"""

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import dp_accounting as dpa
import numpy as np

from understudy.accounting import pate2018, smooth
from understudy.private.mechanisms.teacher_gradients import TeacherGradients
from understudy.private.mechanisms.teacher_votes import TeacherVotes
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.partition import Dealing
from understudy.questions.rounds import REPORT

Votes = TypeVar("Votes", TeacherVotes, TeacherGradients)


@dataclass(frozen=True)
class Report:
    """Public settings of a report, and of the votes it is about."""

    multiplier: float  # of the Gaussian event that dominates it
    order: float
    delta: float
    sigma_answer: float  # noise on each of two or more counts of which the largest wins
    bins: int
    touched: int  # ensembles that one unit has votes in, at most
    test: int = 0  # price of one test of consensus, in steps; 0: none are asked

    @property
    def loss(self) -> float:
        """Pure epsilon of the report."""
        return smooth.loss_of(self.multiplier)

    @property
    def event(self) -> dpa.DpEvent:
        """Its price in the ledger."""
        return dpa.GaussianDpEvent(self.multiplier)

    def table(self, teachers: int) -> smooth.Ints:
        """Prices of answers by the votes they were close to, for an ensemble of so many teachers."""
        return smooth.price_table(self.order, self.sigma_answer, self.bins, teachers)

    def scale(self, table: smooth.Ints, gaps: smooth.Ints) -> float:
        """S / s: the scale of the noise. Private."""
        beta, shift = smooth.split(self.loss)
        return smooth.smooth(smooth.local_sensitivities(table, gaps, self.touched), beta) / shift

    def close(self, gaps: smooth.Ints, tests: smooth.Ints, coin: bytes) -> dict[str, Any]:
        """The report. Besides the noisy number it holds functions of released answers only."""
        answers = np.asarray(gaps.sum(axis=1))  # as many as were released
        table = self.table(gaps.shape[1] - 1)
        least = smooth.largest(tests * self.test, self.touched)
        most = smooth.largest(answers * smooth.PRICE_STEPS + tests * self.test, self.touched)
        value = smooth.total(table, gaps, tests, self.test, self.touched)
        noisy = smooth.raised(value, self.scale(table, gaps), coin)
        return self.in_words(min(max(noisy, least), most), most)

    def in_words(self, noisy: int, most: int) -> dict[str, Any]:
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
        rdp = smooth.renyi(steps, self.order, self.sigma_answer) + own
        return pate2018.epsilon(rdp, self.order, self.delta)


@dataclass(frozen=True)
class Reporting(Generic[Votes]):
    """Votes as they are, and a report on them; what is held has the `coin` of its noise."""

    votes: Votes
    report: Report

    purpose = REPORT  # of the report, in plan and ledger

    @property
    def program(self) -> "Reporting[Votes]":
        """What the compiled answer depends on."""
        return replace(self, votes=self.votes.program)

    def event(self, rounds: int) -> dpa.DpEvent:
        """The price of the votes; the report has its own."""
        return self.votes.event(rounds)

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        """The noise of the votes."""
        return self.votes.tape(rounds, noise)

    @property
    def dealing(self) -> Dealing:
        """How rows get to teachers."""
        return self.votes.dealing

    def untaught(self, places: int, width: int, secret: bytes) -> Any:
        """So many teachers of every class before they have seen anything."""
        return self.votes.untaught(places, width, secret)

    @property
    def closing_event(self) -> dpa.DpEvent:
        """The price of the report."""
        return self.report.event

    def closing_coin(self, held: Any) -> IntArray:
        """All the noise that `close` uses."""
        return np.asarray(held.coin, np.int64)


def fresh_coin(noise: NoiseSource) -> IntArray:
    """Bytes of one report's noise, kept with the teachers."""
    return np.frombuffer(noise.secret(smooth.COIN), np.uint8)
