"""Exact price of integer Gaussian noise.

The noise has Pr[x] = exp(-x^2 / (2 sigma^2)) / Z on the integers (Canonne, Kamath, Steinke 2020, arXiv:2004.00010).
Its zCDP equals that of real Gaussian noise, but its (epsilon, delta) curve does not: it may be worse, by the phase of
the lattice.

**T answers of sensitivity 1, all with the same sigma.** The likelihood ratio of x and x - 1 is exp((1 - 2x) / (2
sigma^2)), so for T answers it depends on the sum S alone: L(S) = (T - 2S) / (2 sigma^2), and

    delta(epsilon) = sum over S with L(S) > epsilon of P_T(S) (1 - e^(epsilon - L(S)))
    (1)

with P_T the T-fold convolution. Adaptive answers whose shifts are -1, 0 or 1 are dominated by this pair, since F(t) -
e^eps F(t - j) grows with the shift j. The same ratio gives P_T(r + kT) = P_T(r) exp(-(2kr + k^2 T) / (2 sigma^2)), so
P_T is needed by Fourier transform only for |r| <= T/2, where it is not small; the tails come out with full relative
accuracy.

**Any other mixture.** The trade-off curve of a lattice pair is a polygon whose corners are (F_T(t), 1 - F_T(t - T)).
The curve of N(0, 1) against N(mu, 1) is convex, so it lies below the polygon as soon as it lies below the corners.
Hence T such answers are mu-GDP with

    mu_T = sup over integers t of z(t) - z(t - T),      z = Phi^-1 of F_T
    (2)

For T = 1 the supremum is at the centre t = 0: mu_1(sigma) = 2 Phi^-1((1 + 1/Z) / 2) = (1 + 1/(24 sigma^2) + ...) /
sigma (checked numerically in the tests over sigma from 0.05 to 2000). Integer vectors of L2 norm at most Delta steps
shift coordinate c by j_c, costing |j_c| mu_1 each, together Delta mu_1(sigma): squares of mu add up. And s mu_1(s)
falls with s, so a release known only by its multiplier m = sigma / Delta with Delta >= 1 step costs at most mu_1(m).

For T answers (2) is (1 + O(1/(24 T sigma^2))) sqrt(T) / sigma: at (1, 1e-5) one answer costs 0.3 % more than with
real noise, a hundred answers 0.003 %.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri_exp

from understudy.accounting.gaussian import SLACK, log_sum

FINE = 20.0  # from this sigma on, lattice effects are below 1e-4 of epsilon and (2) with T = 1 is used throughout
MOST_ANSWERS = 20_000
_WIDTH = 14.0  # standard deviations summed: what lies beyond is below 1e-40 of the sum
_LARGEST_ERROR = 1e-5
_DIRECT = 600  # up to this half width, sums are formed directly

Floats = NDArray[np.float64]


def exact(sigma: float, answers: int) -> bool:
    """Whether equation (1) is evaluated for this case."""
    if not 0.03 <= sigma < FINE or answers > MOST_ANSWERS or answers > 2400 * sigma**2:
        return False  # the last: mu above 49, epsilon above 1000
    return _error(sigma, answers) <= _LARGEST_ERROR


def _error(sigma: float, answers: int) -> float:
    """Relative error of P_T. Direct sums of positive terms lose nothing; a Fourier transform loses digits at |r| = T/2,
    where P_T is exp(-T/(8 sigma^2)) below its peak."""
    if _size(sigma, answers) <= _DIRECT:
        return 1e-12
    return 1e-15 * (answers + 50) * math.exp(min(answers / (8 * sigma**2), 700.0))


def _size(sigma: float, answers: int) -> int:
    """Half the width on which P_T is computed."""
    return answers // 2 + math.ceil(_WIDTH * (math.sqrt(answers) + 1) * sigma) + 2


def mu_one(sigma: float) -> float:
    """mu of one integer answer of sensitivity 1; rounded up."""
    if sigma < 0.03:  # mu_1 is above 60 here; no budget allows it
        return math.inf
    if sigma < 8:
        tail = math.fsum(math.exp(-x * x / (2 * sigma**2)) for x in range(1, math.ceil(_WIDTH * sigma) + 2))
        return -2 * float(ndtri_exp(math.log(tail) - math.log1p(2 * tail))) * (1 + SLACK)
    # Poisson summation: Z = sigma sqrt(2 pi) to 500 digits; the series of 2 Phi^-1(1/2 + h) keeps them for small h.
    u = 1 / (2 * sigma)
    return 2 * u * (1 + u**2 / 6 + 7 * u**4 / 120 + u**6 / 10) * (1 + SLACK)


@lru_cache(maxsize=4096)
def mu_sum(sigma: float, answers: int) -> float:
    """mu of `answers` integer answers of sensitivity 1, equation (2); rounded up."""
    single = math.sqrt(answers) * mu_one(sigma)
    if answers == 1 or not exact(sigma, answers):
        return single
    spread = math.sqrt(answers) * sigma
    lowest = math.ceil(_WIDTH * spread)  # corners below are left out: together they move delta by less than 1e-40
    padding = math.ceil(4 * spread) + 10
    log_cdf = np.logaddexp.accumulate(_log_mass(sigma, answers, np.arange(-lowest - answers - padding, 0)))
    below: Floats = ndtri_exp(log_cdf)[padding:]  # z(t) for -lowest - T <= t < 0
    z = np.concatenate([below, -below[::-1]])  # z(-1 - t) = -z(t)
    steps = z[answers : len(below) + answers] - z[: len(below)]  # the rest by symmetry
    error = _error(sigma, answers) + 1e-12 * len(z)
    return min(single, float(steps.max()) * (1 + error + SLACK))


@lru_cache(maxsize=64)
def _middle(sigma: float, answers: int) -> Floats:
    """log P_T(r) for r = 0 .. T/2."""
    reach = math.ceil(_WIDTH * sigma) + 1
    single = np.exp(-(np.arange(-reach, reach + 1, dtype=float) ** 2) / (2 * sigma**2))
    single /= single.sum()
    half = _size(sigma, answers)
    if half <= _DIRECT:
        total, power, left = np.ones(1), single, answers
        while left:  # binary powers; what falls outside +-half does not come back into the middle
            if left % 2:
                total = _cut(np.convolve(total, power), half)
            power, left = _cut(np.convolve(power, power), half), left // 2
        values: Floats = np.log(total[len(total) // 2 :][: answers // 2 + 1])
        return values
    size = 1 << math.ceil(math.log2(2 * (half + answers + 10 * math.sqrt(answers) * sigma)))
    mass = np.zeros(size)
    mass[np.arange(-reach, reach + 1)] = single
    spectrum = np.maximum(np.fft.rfft(mass).real, 0.0)  # positive for this noise, but for rounding
    return np.log(np.maximum(np.fft.irfft(spectrum**answers, size)[: answers // 2 + 1], 1e-300))


def _cut(mass: Floats, half: int) -> Floats:
    excess = len(mass) // 2 - half
    return mass[excess:-excess] if excess > 0 else mass


def _log_mass(sigma: float, answers: int, sums: NDArray[np.int64]) -> Floats:
    """log P_T at integers, by reduction to |r| <= T/2."""
    if answers == 1:
        x = np.arange(1, math.ceil(_WIDTH * sigma) + 2, dtype=float)
        log_total = math.log1p(2 * float(np.exp(-(x**2) / (2 * sigma**2)).sum()))
        single: Floats = -(sums.astype(float) ** 2) / (2 * sigma**2) - log_total
        return single
    turns = np.rint(sums / answers)
    rest = sums - turns.astype(np.int64) * answers
    base = _middle(sigma, answers)[np.abs(rest)]
    result: Floats = base - (2 * turns * rest + turns**2 * answers) / (2 * sigma**2)
    return result


def log_delta(sigma: float, answers: int, epsilon: float) -> float:
    """log of equation (1), rounded up."""
    threshold = answers / 2 - epsilon * sigma**2
    top = math.floor(threshold)
    sums = np.arange(top - math.ceil(_WIDTH * math.sqrt(answers) * sigma) - 5, top + 1)
    gap = (threshold - sums) / sigma**2  # L(S) - epsilon
    with np.errstate(divide="ignore"):  # the term at the threshold itself may be zero
        terms = _log_mass(sigma, answers, sums) + np.log(-np.expm1(-np.maximum(gap, 0.0)))
    return log_sum(terms) + _error(sigma, answers) + SLACK


def delta(sigma: float, answers: int, epsilon: float) -> float:
    """Exact delta of integer answers of sensitivity 1 (rounded up); only where `exact` says so."""
    return min(1.0, math.exp(log_delta(sigma, answers, epsilon)))


def epsilon(sigma: float, answers: int, delta: float) -> float:
    """Exact epsilon of integer answers of sensitivity 1 (rounded up); only where `exact` says so."""
    target = math.log(delta)
    if log_delta(sigma, answers, 0.0) <= target:
        return 0.0
    high = 1.0
    while log_delta(sigma, answers, high) > target:
        high *= 2
    root = brentq(lambda e: log_delta(sigma, answers, e) - target, 0.0, high, xtol=1e-13, rtol=1e-12, maxiter=500)
    return float(root) * (1 + SLACK) + 1e-12
