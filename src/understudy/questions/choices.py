"""Which marginal does a model get most wrong, which model does best? The exponential mechanism (McSherry, Talwar 2007).

**Marginals.** With integer estimates e_r (public: computed from earlier releases), exact counts n_r, a public integer
penalty b_r and a public integer weight w_r,

    score_r = w_r (||n_r - e_r||_1 - b_r),        Pr[choose r] ~ exp(score_r / scale),        scale = 2 m max_r w_r / epsilon.

One row changes one cell of n_r by one and the L1 distance by at most one, so a unit of m rows changes score_r by at
most m w_r (McKenna, Miklau, Sheldon 2021; McKenna, Mullins, Sheldon, Miklau 2022). With `share` the rows of a unit count G // r
steps of a grid of G = 2^20 each, r being their number, and estimates and penalties count G steps: the same with m = 1, in
units of G (`understudy.questions.counts`).

**Models.** Every row gives each model between 0 and `POINTS` points, a function of that row alone, rounded and
clipped inside the wall; a unit of m rows changes a total by at most m POINTS: scale = 2 m POINTS / epsilon.

**Price.** Between neighbours the log-likelihood ratio of an outcome is (change of its score) / scale minus a
constant, so it stays inside an interval [t - epsilon, t] for some t (bounded range; Durfee, Rogers 2019). Among all
pairs of distributions with such ratios the two-point pair (p, q) with p / q = e^t, (1 - p) / (1 - q) = e^(t -
epsilon) is the easiest to tell apart (its likelihood ratio is largest in convex order; Dong, Durfee, Rogers 2020). It
is mu-GDP for mu = Phi^-1(p) - Phi^-1(q), and since logit p - logit q = epsilon for every t and Phi^-1(1 / (1 + e^-x))
is steepest at x = 0, the worst is t = epsilon / 2:

    mu = 2 Phi^-1(1 / (1 + e^(-epsilon / 2))).

Each choice is therefore dominated by one Gaussian answer of noise multiplier sigma = 1 / mu and is charged as
`GaussianDpEvent(sigma)`. Solved for epsilon: epsilon = 2 log(Phi(h) / Phi(-h)) with h = 1 / (2 sigma).
"""

from dataclasses import dataclass

import dp_accounting as dpa
import numpy as np
from scipy.special import log_ndtr

from understudy.questions.counts import Clique, Weighed
from understudy.questions.row_maps import Step

POINTS = 255  # a row gives a judged model at most so many points


def bounded_range(sigma: float) -> float:
    """The epsilon of a choice that costs one Gaussian answer of noise multiplier `sigma`; rounded down."""
    half = 0.5 / sigma
    return 2.0 * float(log_ndtr(half) - log_ndtr(-half)) * (1.0 - 1e-9)


@dataclass(frozen=True, eq=False)
class MarginalChoice(Weighed):
    """The number of a candidate whose integer estimate is far from the truth."""

    cells: Step
    sizes: tuple[int, ...]
    candidates: tuple[Clique, ...]
    estimates: tuple[np.ndarray, ...]
    penalties: tuple[int, ...]
    weights: tuple[int, ...]
    sigma: float
    rows_per_unit: int
    share: bool = False

    def __post_init__(self) -> None:
        if min(self.weights) < 0:  # a score would move by more than the largest weight
            raise ValueError("weights must not be negative")

    @property
    def event(self) -> dpa.DpEvent:
        """A Gaussian event that dominates the choice."""
        return dpa.GaussianDpEvent(self.sigma)

    @property
    def influence(self) -> int:
        """The most that a unit can change a score by, in steps of the grid."""
        return super().influence * max(self.weights)

    @property
    def scale(self) -> float:
        """Of the Gumbel noise on the scores."""
        return 2.0 * self.influence / bounded_range(self.sigma)

    def read(self, released: int) -> int:
        """The number of the chosen candidate."""
        return int(released)


@dataclass(frozen=True, eq=False)
class ModelChoice:
    """The number of the judge that gives the rows most points."""

    judges: tuple[Step, ...]  # points of one row
    sigma: float
    rows_per_unit: int

    @property
    def event(self) -> dpa.DpEvent:
        """A Gaussian event that dominates the choice."""
        return dpa.GaussianDpEvent(self.sigma)

    @property
    def influence(self) -> int:
        """The most that a unit can change a total by."""
        return self.rows_per_unit * POINTS

    @property
    def scale(self) -> float:
        """Of the Gumbel noise on the points."""
        return 2.0 * self.influence / bounded_range(self.sigma)

    def read(self, released: int) -> int:
        """The number of the chosen model."""
        return int(released)
