"""The moments accountant of PATE, as published. For research runs only; no certificate rests on it.

Papernot et al. 2017, arXiv:1610.05755 (LNMax): noise Lap(1/gamma) on every vote count, the largest count wins. gamma
is the *inverse* scale; PATE-GAN writes Lap(lambda) and then uses lambda as gamma. One answer has the log moments

    alpha(l) <= 2 gamma^2 l (l + 1)                  (Theorem 2, whatever the votes)
    alpha(l) <= 2 gamma l                            (pure 2 gamma-DP)
    alpha(l) <= log((1-q) ((1-q)/(1 - e^(2 gamma) q))^l + q e^(2 gamma l))     (Theorem 3)
        only if q < (e^(2 gamma) - 1) / (e^(4 gamma) - 1), q >= Pr[answer is not the plurality]

and for two classes q <= (2 + gamma gap) / (4 exp(gamma gap)) with gap = |n0 - n1| (Lemma 4). Moments add up over
answers; delta = exp(alpha(l) - l epsilon) gives epsilon = min over l of (alpha(l) + log(1/delta)) / l. PATE-GAN's
Theorem 5 leaves out the condition on q.

**The data-dependent value is itself private**, and so is a stopping time chosen by it. Nothing that uses
`data_dependent` has the guarantee it prints.
"""

import math
from collections.abc import Iterable, Sequence

from understudy.accounting.budget import Real
from understudy.errors import UsageError

ORDERS: Sequence[int] = range(1, 101)


def wrong_answer(gap: Real, gamma: Real) -> float:
    """Bound on the probability that two noisy counts come out in the wrong order."""
    return (2 + gamma * abs(gap)) / (4 * math.exp(gamma * abs(gap)))


def moment(order: int, gamma: Real, q: Real | None = None) -> float:
    """alpha(order) of one answer; with `q` the data-dependent bound is used where its condition holds."""
    _check(gamma)
    bounds = [2 * gamma**2 * order * (order + 1), 2 * gamma * order]
    if q is not None and 0 < q < math.expm1(2 * gamma) / math.expm1(4 * gamma):
        # both terms in logs: q e^(2 gamma l) overflows for high orders
        first = math.log1p(-q) + order * (math.log1p(-q) - math.log1p(-math.exp(2 * gamma) * q))
        second = math.log(q) + 2 * gamma * order
        top = max(first, second)
        bounds.append(top + math.log(math.exp(first - top) + math.exp(second - top)))
    return max(0.0, min(bounds))


def epsilon(moments: Sequence[float], delta: Real, orders: Sequence[int] = ORDERS) -> float:
    """Epsilon from summed moments, one per order."""
    if not 0 < delta < 1:
        raise UsageError(f"delta={delta} must lie between 0 and 1")
    return min((alpha - math.log(delta)) / order for alpha, order in zip(moments, orders, strict=True))


def data_independent(gamma: Real, answers: int, delta: Real) -> float:
    """Epsilon of `answers` answers whatever the votes were: a valid bound, if a loose one."""
    return epsilon([answers * moment(order, gamma) for order in ORDERS], delta)


def data_dependent(gaps: Iterable[Real], gamma: Real, delta: Real) -> float:
    """Epsilon given the gaps between the two counts. Not a guarantee: it depends on private votes."""
    rates = [wrong_answer(gap, gamma) for gap in gaps]
    return epsilon([math.fsum(moment(order, gamma, q) for q in rates) for order in ORDERS], delta)


def _check(gamma: Real) -> None:
    if not (math.isfinite(gamma) and gamma > 0):
        raise UsageError(f"gamma={gamma} must be positive; it is the inverse of the noise scale")
