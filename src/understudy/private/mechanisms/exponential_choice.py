"""Which marginal does a model get most wrong? The exponential mechanism (McSherry, Talwar 2007), exact on integer scores.

With integer estimates e_r (public: computed from earlier releases), exact counts n_r and a public integer penalty b_r,

    score_r = ||n_r - e_r||_1 - b_r,        Pr[choose r] ~ exp(score_r / scale),        scale = 2 m / epsilon.

One row changes one cell of n_r by one and the L1 distance by at most one, so a unit of m rows changes each score by at most m
(McKenna, Miklau, Sheldon 2021; McKenna, Mullins, Sheldon, Miklau 2022). Scores that count w_r times are moved by m w_r: the
mechanism is then built for m max_r w_r, and the curator refuses one that is not.

**Price.** Between neighbours the log-likelihood ratio of an outcome is (change of its score) / scale minus a constant, so it
stays inside an interval [t - epsilon, t] for some t (bounded range; Durfee, Rogers 2019). Among all pairs of distributions with
such ratios the two-point pair (p, q) with p / q = e^t, (1 - p) / (1 - q) = e^(t - epsilon) is the easiest to tell apart (its
likelihood ratio is largest in convex order; Dong, Durfee, Rogers 2020). It is mu-GDP for mu = Phi^-1(p) - Phi^-1(q), and since
logit p - logit q = epsilon for every t and Phi^-1(1 / (1 + e^-x)) is steepest at x = 0, the worst is t = epsilon / 2:

    mu = 2 Phi^-1(1 / (1 + e^(-epsilon / 2))).

Each choice is therefore dominated by one Gaussian answer of noise multiplier sigma = 1 / mu and is charged as
`GaussianDpEvent(sigma)`. Solved for epsilon: epsilon = 2 log(Phi(h) / Phi(-h)) with h = 1 / (2 sigma).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import numpy as np
import opendp.prelude as dp
from scipy.special import log_ndtr

from understudy.private.noise import IntArray, NoiseSource
from understudy.schema import Encoded

POINTS = 255  # a row gives a judged model at most so many points
Judge = Callable[[Encoded], Any]  # public; points of every row, of this row alone


@dataclass(frozen=True)
class ExponentialChoice:
    sigma: float  # noise multiplier of the Gaussian answer that one choice costs
    max_rows_per_unit: int

    @property
    def event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.sigma)

    @property
    def epsilon(self) -> float:
        """The bounded range of one choice; rounded down."""
        half = 0.5 / self.sigma
        return 2.0 * float(log_ndtr(half) - log_ndtr(-half)) * (1.0 - 1e-9)

    @property
    def scale(self) -> float:
        return 2.0 * self.max_rows_per_unit / self.epsilon

    def release(self, scores: Sequence[int], noise: NoiseSource) -> int:
        """The number of the chosen candidate."""
        if noise.void_reason:  # seeded, for tests: the same distribution from a reproducible generator
            seed = int.from_bytes(noise.secret(16), "little")
            gumbel = np.random.default_rng(seed).gumbel(0.0, self.scale, len(scores))
            return int(np.argmax(np.asarray(scores, np.float64) + gumbel))
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
        # With zero-concentrated divergence as its measure OpenDP's noisy max is the Gumbel one: the exponential mechanism.
        choose = dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=self.scale)
        return int(choose([int(score) for score in scores]))


def total_points(judge: Judge, encoded: Encoded) -> int:
    """Points of all rows together. A judge that fails on odd contents gives none, so that nobody's row can raise."""
    points = np.nan_to_num(np.asarray(judge(encoded), np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    return int(np.clip(np.rint(points), 0, POINTS).astype(np.int64).sum())


def score(counts: IntArray, estimate: IntArray, penalty: int) -> int:
    """L1 distance of integer counts, less a public penalty."""
    return int(np.abs(counts - estimate).sum()) - penalty
