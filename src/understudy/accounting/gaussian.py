"""Exact price of Gaussian noise (mu-GDP).

T adaptive answers of L2 sensitivity Delta_i with real noise N(0, sigma_i^2) are exactly as hard to tell apart as N(0,
1) and N(mu, 1) with mu^2 = sum Delta_i^2 / sigma_i^2 (Dong, Roth, Su 2022, arXiv:1905.02383). The curve of (epsilon,
delta) is

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)            (Balle, Wang 2018)
                   = phi(a) (R(a) - R(a + mu)),   a = epsilon/mu - mu/2,   R(x) = Phi(-x) / phi(x)

The second form has no large terms that cancel. Results are widened by 1e-9 so that rounding never makes them too small.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import erfcx, log_ndtr

from understudy.errors import UsageError

NO_DELTA = "delta=0: no Gaussian noise fits; give a delta such as 1e-5, or name method pate-gan with noise=laplace and start=none"
SLACK = 1e-9  # far above double rounding in the formulas below, far below anything that matters
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


def log_delta(mu: float, epsilon: float) -> float:
    """log of the exact delta of mu-GDP at epsilon."""
    if mu <= 0:
        return -math.inf
    if mu == math.inf:  # no noise; the formulas below would say inf - inf
        return 0.0
    a = epsilon / mu - mu / 2
    if a > -5:
        difference = _mills(a) - _mills(a + mu)
        if difference > 0:
            return -a * a / 2 - _HALF_LOG_2PI + math.log(difference)
        # mu so small that R(a) and R(a + mu) agree in all digits: use the slope, R'(x) = x R(x) - 1
        return -a * a / 2 - _HALF_LOG_2PI + math.log(mu * max(1 - a * _mills(a), 1e-300))
    first, second = float(log_ndtr(-a)), epsilon + float(log_ndtr(-a - mu))
    return first + math.log1p(-math.exp(min(second - first, 0.0))) if second < first else -math.inf


def log_sum(terms: NDArray[np.float64]) -> float:
    """log of the sum of exp(terms)."""
    top = float(terms.max())
    return top + math.log(float(np.exp(terms - top).sum())) if math.isfinite(top) else top


def _mills(x: float) -> float:
    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))


def delta(mu: float, epsilon: float) -> float:
    """Smallest delta with which mu-GDP is (epsilon, delta)-DP, rounded up."""
    return min(1.0, math.exp(log_delta(mu, epsilon)) * (1 + SLACK))


def epsilon(mu: float, delta: float) -> float:
    """Smallest epsilon with which mu-GDP is (epsilon, delta)-DP, rounded up; infinite at delta 0."""
    if delta <= 0 or mu == math.inf:
        return 0.0 if mu <= 0 else math.inf
    target = math.log(delta)
    if mu <= 0 or log_delta(mu, 0.0) <= target:
        return 0.0
    high = mu * mu / 2 + mu * math.sqrt(2 * max(-target, 1.0)) + mu  # tail bound: delta <= exp(-a^2/2) for a > 0
    root = brentq(lambda e: log_delta(mu, e) - target, 0.0, high, xtol=1e-14, rtol=1e-13, maxiter=500)
    return float(root) * (1 + SLACK) + 1e-13


def mu(epsilon: float, delta: float) -> float:
    """Largest mu that (epsilon, delta) allows, rounded down. (1, 1e-5) allows 0.2681, noise 3.7306 for one answer."""
    if delta <= 0:
        raise UsageError(NO_DELTA)
    target = math.log(delta)
    low, high = 1e-12, 1.0
    while log_delta(high, epsilon) < target:
        high *= 2
    root = brentq(lambda m: log_delta(math.exp(m), epsilon) - target, math.log(low), math.log(high), xtol=1e-14)
    return math.exp(float(root)) * (1 - SLACK)
