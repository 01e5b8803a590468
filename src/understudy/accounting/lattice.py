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
from scipy.special import logsumexp, ndtri, ndtri_exp

from understudy.accounting.gaussian import SLACK

FINE = 20.0  # from this sigma on, lattice effects are below 1e-4 of epsilon and (2) with T = 1 is used throughout
MOST_ANSWERS = 20_000
_WIDTH = 14.0  # standard deviations summed: what lies beyond is below 1e-40 of the sum
_LARGEST_ERROR = 1e-5

Floats = NDArray[np.float64]


def exact(sigma: float, answers: int) -> bool:
    """Whether equation (1) is evaluated for this case."""
    if not 0.02 <= sigma < FINE or answers > MOST_ANSWERS:
        return False
    return _error(sigma, answers) <= _LARGEST_ERROR


def _error(sigma: float, answers: int) -> float:
    """Relative error of P_T: Fourier rounding at the middle, seen from |r| = T/2 where P_T is exp(-T/(8 sigma^2)) lower."""
    return 0.0 if answers == 1 else 1e-15 * (answers + 50) * math.exp(min(answers / (8 * sigma**2), 700.0))


def mu_one(sigma: float) -> float:
    """mu of one integer answer of sensitivity 1; rounded up."""
    if sigma < 0.02:  # mu_1 is above 50 here; no budget allows it
        return math.inf
    top = math.ceil(_WIDTH * sigma) if sigma < FINE else 0
    # Poisson summation: Z = sigma sqrt(2 pi) (1 + 2 exp(-2 pi^2 sigma^2) + ...), the rest is zero in double precision here
    total = 1 + 2 * math.fsum(math.exp(-x * x / (2 * sigma**2)) for x in range(1, top + 1))
    middle = 1 / total if sigma < FINE else 1 / (sigma * math.sqrt(2 * math.pi))
    if middle < 0.05:  # series of 2 Phi^-1(1/2 + h): no digits lost for small h
        u = math.sqrt(2 * math.pi) * middle / 2
        return 2 * u * (1 + u**2 / 6 + 7 * u**4 / 120 + u**6 / 10) * (1 + SLACK)
    return -2 * float(ndtri((1 - middle) / 2)) * (1 + SLACK)


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
    size = 1 << math.ceil(math.log2(2 * (answers + 24 * math.sqrt(answers) * sigma + reach)))
    mass = np.zeros(size)
    x = np.arange(-reach, reach + 1)
    mass[x] = np.exp(-(x.astype(float) ** 2) / (2 * sigma**2))
    spectrum = np.fft.rfft(mass / mass.sum()).real
    # the transform of this noise is positive; rounding may push tiny values below zero
    total = np.fft.irfft(np.maximum(spectrum, 0.0) ** answers, size)
    values: Floats = np.log(np.maximum(total[: answers // 2 + 1], 1e-300))
    return values


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
    return float(logsumexp(terms)) + _error(sigma, answers) + SLACK


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
