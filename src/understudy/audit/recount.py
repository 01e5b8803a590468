"""The price of a run, computed a second time by other means.

Our ledger prices events with `understudy.accounting`. A mistake there (an index off by one, a missing logarithm: three of the six
implementations audited by Ganev et al. 2025 had one) would be invisible from inside, so a trace computes the same price again:

    Gaussian answers      delta(e) = Phi(mu/2 - e/mu) - exp(e) Phi(-mu/2 - e/mu),  mu^2 = sum of 1/sigma^2, solved for e by
                          bisection on the closed form (Balle, Wang 2018), with nothing of `understudy.accounting` but the events
    others                dp_accounting's own composition, where it knows all events
    as published          the log moments of PATE (Papernot et al. 2017, Theorem 3; PATE-GAN, Theorem 5, with the condition on q),
                          answer by answer from the vote gaps

The published value is computed from private votes and is no guarantee; that is what the research preset is there to show.
"""

import math
from collections.abc import Mapping, Sequence

import dp_accounting as dpa
from dp_accounting.pld import PLDAccountant
from scipy.stats import norm

ORDERS = range(1, 101)


def epsilon(events: Mapping[dpa.DpEvent, int], delta: float) -> float | None:
    """Epsilon of elementary events with their counts; None where no second calculation is at hand."""
    if not events:
        return 0.0
    if all(isinstance(event, dpa.GaussianDpEvent) for event in events):
        return gaussian(math.sqrt(math.fsum(n / event.noise_multiplier**2 for event, n in events.items())), delta)
    accountant = PLDAccountant()
    parts = [dpa.SelfComposedDpEvent(event, count) for event, count in events.items()]
    if any(not accountant.supports(part) for part in parts):
        return None
    return float(accountant.compose(dpa.ComposedDpEvent(parts)).get_epsilon(delta))


def gaussian(mu: float, delta: float) -> float:
    """Bisection on the exact curve."""

    def lost(at: float) -> float:
        return float(norm.cdf(mu / 2 - at / mu) - math.exp(at) * norm.cdf(-mu / 2 - at / mu))

    low, high = 0.0, 1.0
    while lost(high) > delta:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if lost(middle) > delta else (low, middle)
    return high


def published_moments(gaps: Mapping[int, int], inverse_scale: float) -> list[float]:
    """alpha(1) ... alpha(100) of answers whose two counts differ by `gap`, `gaps[gap]` answers each."""
    return [math.fsum(n * _moment(order, gap, inverse_scale) for gap, n in gaps.items()) for order in ORDERS]


def published_epsilon(moments: Sequence[float], delta: float) -> float:
    """Epsilon from log moments: the smallest over the orders."""
    return min((alpha + math.log(1 / delta)) / order for order, alpha in zip(ORDERS, moments, strict=True))


def _moment(order: int, gap: int, g: float) -> float:
    flat = 2 * g * g * order * (order + 1)
    q = (2 + g * gap) / (4 * math.exp(g * gap))
    if q >= (math.exp(2 * g) - 1) / (math.exp(4 * g) - 1):
        return flat
    inside = (1 - q) * ((1 - q) / (1 - math.exp(2 * g) * q)) ** order + q * math.exp(2 * g * order)
    return min(flat, math.log(inside))
