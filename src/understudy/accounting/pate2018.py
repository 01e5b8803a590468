"""Renyi costs of GNMax and Confident-GNMax, as published.

Papernot et al. 2018, arXiv:1802.08908; restated in the appendix of G-PATE (Long et al. 2021). With vote counts n_i,

    threshold test    max_i n_i + N(0, sigma1^2) >= T        (a, a / (2 sigma1^2))-RDP: one teacher moves the maximum by at most 1
    arg-max           argmax_i n_i + N(0, sigma2^2)          (a, a / sigma2^2)-RDP: a vote that changes bin has L2 norm sqrt(2)

whatever the votes are. Where one outcome i* is likely, the arg-max costs less (Theorem 6 there, Theorem 7 in G-PATE): with

    q >= Pr[answer is not i*],  q = 1/2 sum_{i != i*} erfc((n_{i*} - n_i) / (2 sigma2)),
    mu2 = sigma2 sqrt(log(1/q)),  mu1 = mu2 + 1,  eps_i = mu_i / sigma2^2        (Proposition 10)

    D_a <= log( (1-q) A^(a-1) + q B^(a-1) ) / (a - 1),
    A = (1-q) / (1 - (q e^eps2)^((mu2-1)/mu2)),   B = e^eps1 / q^(1/(mu1-1))

valid only if mu2 > 1, a <= mu1, q e^eps2 < 1 and q <= e^((mu2-1) eps2) / (mu1/(mu1-1) mu2/(mu2-1))^mu2; else the first bound.

**The data-dependent value is itself private**, and so is a stopping time chosen by it. Certificates rest on `filter`, never on
`data_dependent`.
"""

import math
from collections.abc import Sequence

from understudy.accounting.budget import Real
from understudy.errors import UsageError

ORDERS: Sequence[float] = (
    *(1 + x / 10 for x in range(1, 100)),
    *map(float, (*range(11, 64), *range(64, 513, 8), 1024)),
)


def threshold(order: Real, sigma: Real) -> float:
    """RDP of one threshold test."""
    return _checked(order, sigma) / (2 * sigma**2)


def gnmax(order: Real, sigma: Real) -> float:
    """RDP of one arg-max, whatever the votes."""
    return _checked(order, sigma) / sigma**2


def log_wrong_answer(votes: Sequence[Real], sigma: Real) -> float:
    """log of the bound on the probability that the noisy arg-max is not the plurality; -inf with a single bin."""
    top = max(votes)
    winner = list(votes).index(top)
    terms = [_log_half_erfc((top - n) / (2 * sigma)) for i, n in enumerate(votes) if i != winner]
    if not terms:
        return -math.inf
    largest = max(terms)
    total = largest + math.log(math.fsum(math.exp(term - largest) for term in terms))
    return min(total, math.log1p(-1 / len(votes)))  # the plurality wins at least as often as any other bin


def data_dependent(order: Real, sigma: Real, log_q: float) -> float:
    """RDP of one arg-max given log q; the data-independent value where a condition fails. Private: never release it."""
    flat = gnmax(order, sigma)
    if log_q == -math.inf:
        return 0.0
    if not log_q < 0 or order <= 1:
        return flat
    mu2 = sigma * math.sqrt(-log_q)
    mu1 = mu2 + 1
    eps1, eps2 = mu1 / sigma**2, mu2 / sigma**2
    if mu2 <= 1 or order > mu1 or log_q + eps2 >= 0:
        return flat
    if log_q > (mu2 - 1) * eps2 - mu2 * (math.log(mu1 / (mu1 - 1)) + math.log(mu2 / (mu2 - 1))):
        return flat
    log_1q = _log1mexp(log_q)
    log_a = log_1q - _log1mexp((log_q + eps2) * (mu2 - 1) / mu2)
    log_b = eps1 - log_q / (mu1 - 1)
    first, second = log_1q + (order - 1) * log_a, log_q + (order - 1) * log_b
    top = max(first, second)
    return min(flat, max(0.0, (top + math.log(math.exp(first - top) + math.exp(second - top))) / (order - 1)))


def epsilon(rdp: Real, order: Real, delta: Real) -> float:
    """epsilon of (order, rdp)-RDP at delta, as the papers convert it (Mironov 2017)."""
    return rdp - math.log(delta) / (order - 1)


def _checked(order: Real, sigma: Real) -> Real:
    if not (math.isfinite(sigma) and sigma > 0):
        raise UsageError(f"sigma={sigma} must be a positive number of votes")
    return order


def _log1mexp(x: float) -> float:
    """log(1 - e^x) for x < 0, without losing digits at either end."""
    return math.log(-math.expm1(x)) if x > -math.log(2) else math.log1p(-math.exp(x))


def _log_half_erfc(x: float) -> float:
    """log(erfc(x) / 2), also where erfc underflows: erfc(x) < exp(-x^2) / (x sqrt(pi)) there."""
    if x < 20:
        return math.log(math.erfc(x) / 2)
    return -x * x - math.log(2 * x * math.sqrt(math.pi))
