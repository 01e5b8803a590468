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
    """One answer over several fits."""

    purpose: str
    price: float  # squared mu
    squares: tuple[float, ...]  # how far the two tables' answers lie apart in every fit, squared, in units of the noise
    kinds: frozenset[str]  # of question that were asked under this purpose

    @property
    def shares(self) -> np.ndarray:
        """Of its price that the target uses, fit by fit."""
        return np.asarray(self.squares) / self.price


@dataclass(frozen=True)
class Used:
    """All answers whose noise is known, and what they show together."""

    answers: tuple[Answered, ...]
    mu: float  # claimed
    delta: float

    @property
    def mus(self) -> np.ndarray:
        """What every fit shows."""
        return np.asarray(np.sqrt(sum(np.asarray(one.squares) for one in self.answers)))

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
        return float(max(one.shares.max() for one in self.answers))


def used(estimator: Estimator, pair: Pair, fits: int = 8, seed: int = 0) -> Used:
    """`fits` conversations, on the two tables in turn, and how far apart their answers would be on both.

    Of methods that ask in rounds it sees what they ask once.
    """
    plan = estimator.plan(pair.schema)
    tables, scales = kept_tables(pair), {}  # type: ignore[var-annotated]
    heard: dict[str, tuple[dpa.GaussianDpEvent, list[float], set[str]]] = {}
    for fit in range(fits):
        noise = SeededNoise(int(np.random.SeedSequence([seed, fit]).generate_state(1)[0]))
        real = Brief(Tables(pair.side(fit % 2), pair.schema).fresh(), pair.schema, Ledger(plan), noise)
        curator = Overheard(real, tables, -1, scales)
        listen(estimator, pair, plan, curator)
        for purpose, question, square in curator.moves:
            if square is not None and isinstance(question.event, dpa.GaussianDpEvent):
                _, squares, kinds = heard.setdefault(purpose, (question.event, [], set()))
                squares.append(square)
                kinds.add(type(question).__name__)
    answers = [
        Answered(purpose, event.noise_multiplier**-2, tuple(squares), frozenset(kinds))
        for purpose, (event, squares, kinds) in heard.items()
    ]
    return Used(tuple(answers), float(plan.mu or math.inf), plan.budget.delta)
