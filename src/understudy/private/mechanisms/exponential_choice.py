"""Which marginal does a model get most wrong? The exponential mechanism (McSherry, Talwar 2007), exact on integer scores.

With integer estimates e_r (public: computed from earlier releases), exact counts n_r and a public integer penalty b_r,

    score_r = ||n_r - e_r||_1 - b_r,        Pr[choose r] ~ exp(score_r / scale),        scale = 2 m / epsilon.

One row changes one cell of n_r by one and the L1 distance by at most one, so a unit of m rows changes each score by at most m
(McKenna, Miklau, Sheldon 2021; McKenna, Mullins, Sheldon, Miklau 2022).

**Price.** Between neighbours the log-likelihood ratio of an outcome is (change of its score) / scale minus a constant, so it
stays inside an interval [t - epsilon, t] for some t (bounded range; Durfee, Rogers 2019). Among all pairs of distributions with
such ratios the two-point pair (p, q) with p / q = e^t, (1 - p) / (1 - q) = e^(t - epsilon) is the easiest to tell apart (its
likelihood ratio is largest in convex order; Dong, Durfee, Rogers 2020). It is mu-GDP for mu = Phi^-1(p) - Phi^-1(q), and since
logit p - logit q = epsilon for every t and Phi^-1(1 / (1 + e^-x)) is steepest at x = 0, the worst is t = epsilon / 2:

    mu = 2 Phi^-1(1 / (1 + e^(-epsilon / 2))).

Each choice is therefore dominated by one Gaussian answer of noise multiplier sigma = 1 / mu and is charged as
`GaussianDpEvent(sigma)`. Solved for epsilon: epsilon = 2 log(Phi(h) / Phi(-h)) with h = 1 / (2 sigma).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import dp_accounting as dpa
import numpy as np
import opendp.prelude as dp
from scipy.special import log_ndtr

from understudy.private.noise import IntArray, NoiseSource


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


def score(counts: IntArray, estimate: IntArray, penalty: int) -> int:
    """L1 distance of integer counts, less a public penalty."""
    return int(np.abs(counts - estimate).sum()) - penalty
