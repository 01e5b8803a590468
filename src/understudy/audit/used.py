"""How much of what every answer costs does the target use? Computed from both tables, not estimated from guesses.

An answer of price p = 1 / sigma^2 whose exact value lies d apart on the two tables of a pair, in units of its own noise, uses

    d^2 / p  <=  1

of its price. The sensitivity proof says that no pair comes above 1; a pair is as bad as can be where all answers are at 1. Given
what was released before, the log-likelihood ratio of an answer is N(-+ d^2 / 2, d^2), so over a whole fit

    mu_used = (sum d^2)^(1/2)  <=  mu_claimed,

and a Gaussian bound comes, however many the runs, to the epsilon of mu_used at most (as questions differ between fits: of the mu
at which as many guesses are wrong on average). It says two things that guessing says slowly or not at all: whether a bound is
low because of the pair or because of few runs, and that an answer moves further than was paid for, however little.

Noise is taken as the answer drew it, so that noise too small for the price shows, too. Whole numbers with noise on whole numbers
are priced a little above 1 / sigma^2 (`understudy.accounting.lattice`), so that all answers at 1 stay somewhat below the claim.
"""

import math
from dataclasses import dataclass

import dp_accounting as dpa
import numpy as np
from scipy.special import ndtr, ndtri

from understudy.accounting import Ledger, gaussian
from understudy.audit.attacks.likelihood_ratio import Overheard, kept_tables, listen
from understudy.audit.shadow import Brief, Tables
from understudy.audit.targets import Pair
from understudy.estimator import Estimator
from understudy.private import SeededNoise


@dataclass(frozen=True)
class Answered:
    """One answer of one fit."""

    purpose: str
    kind: str  # of question
    price: float  # squared mu
    square: float  # how far the two tables' answers lie apart, squared, in units of the noise

    @property
    def share(self) -> float:
        """Of its price that the target uses."""
        return self.square / self.price


@dataclass(frozen=True)
class Used:
    """All answers whose noise is known, fit by fit, and what they show together."""

    fits: tuple[tuple[Answered, ...], ...]
    mu: float  # claimed
    delta: float

    @property
    def mus(self) -> np.ndarray:
        """What every fit shows."""
        return np.sqrt([sum(one.square for one in fit) for fit in self.fits])

    @property
    def epsilon(self) -> float:
        """Of the mu at which as many guesses are wrong as over these fits: what a Gaussian bound comes to with ever more runs."""
        return float(gaussian.epsilon(-2.0 * float(ndtri(np.mean(ndtr(-self.mus / 2.0)))), self.delta))

    @property
    def claimed(self) -> float:
        """Epsilon of the claim."""
        return float(gaussian.epsilon(self.mu, self.delta))

    @property
    def worst(self) -> float:
        """The largest share of any answer in any fit; above 1 somebody paid too little."""
        return max(one.share for fit in self.fits for one in fit)

    @property
    def by_purpose(self) -> dict[str, list[Answered]]:
        """The answers under each purpose, of all fits."""
        found: dict[str, list[Answered]] = {}
        for fit in self.fits:
            for one in fit:
                found.setdefault(one.purpose, []).append(one)
        return found


def used(estimator: Estimator, pair: Pair, fits: int = 8, seed: int = 0) -> Used:
    """`fits` conversations, on the two tables in turn, and how far apart their answers would be on both.

    Of methods that ask in rounds it sees what they ask once.
    """
    plan = estimator.plan(pair.schema)
    tables, scales = kept_tables(pair), {}  # type: ignore[var-annotated]
    heard = []
    for fit in range(fits):
        noise = SeededNoise(int(np.random.SeedSequence([seed, fit]).generate_state(1)[0]))
        real = Brief(Tables(pair.side(fit % 2), pair.schema).fresh(), pair.schema, Ledger(plan), noise)
        curator = Overheard(real, tables, -1, scales)
        listen(estimator, pair, plan, curator)
        heard.append(
            tuple(
                Answered(purpose, type(question).__name__, question.event.noise_multiplier**-2, square)
                for purpose, question, square in curator.moves
                if square is not None and isinstance(question.event, dpa.GaussianDpEvent)
            )
        )
    return Used(tuple(heard), float(plan.mu or math.inf), plan.budget.delta)
