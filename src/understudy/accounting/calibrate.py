"""How much noise a budget asks for.

`noise_scale` finds the smallest common scale s at which a list of events fits the budget. log epsilon is nearly a
straight line in log s, so a bracketed secant search needs a handful of prices. The scale returned has been priced: it
fits, and it spends at least 99.9 % of epsilon where the price is continuous (Gaussian, Laplace and mixtures of them
are).
"""

import math
from collections.abc import Callable, Sequence

import dp_accounting as dpa

from understudy.accounting import price
from understudy.accounting.budget import Budget
from understudy.errors import UsageError

_SPEND = 0.999
_LARGEST, _SMALLEST = 1e12, 1e-9


def noise_scale(budget: Budget, events_of_scale: Callable[[float], Sequence[dpa.DpEvent]]) -> float:
    """Smallest scale s with epsilon(events_of_scale(s), budget.delta) <= budget.epsilon.

    More scale must mean more noise. UsageError if no amount of noise is enough, because the events that do not depend
    on the scale already cost too much.
    """

    def excess(log_scale: float) -> float:
        spent = price.epsilon(events_of_scale(math.exp(log_scale)), budget.delta)
        return math.log(spent / budget.epsilon) if 0 < spent < math.inf else math.copysign(50.0, spent - 1)

    low, high = _bracket(excess)
    return math.exp(_search(excess, low, high))


def _bracket(excess: Callable[[float], float]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Two points around the root: excess > 0 at the first, <= 0 at the second. Each is (log scale, excess)."""
    point = (math.log(4.0), excess(math.log(4.0)))
    while True:
        too_much = point[1] > 0
        if point[0] > math.log(_LARGEST) and too_much:
            raise UsageError("no amount of noise fits the budget: raise epsilon or delta, or release less besides")
        if point[0] < math.log(_SMALLEST) and not too_much:
            raise UsageError("the budget does not limit the noise: nothing is charged that depends on it")
        # epsilon falls about as fast as noise grows; short steps towards little noise, where prices take longest
        move = min(max(1.1 * point[1], 0.1), 6.0) if too_much else -min(max(-1.1 * point[1], 0.1), 0.7)
        other = (point[0] + move, excess(point[0] + move))
        if (other[1] > 0) != too_much:
            return (point, other) if too_much else (other, point)
        point = other


def _search(excess: Callable[[float], float], low: tuple[float, float], high: tuple[float, float]) -> float:
    """Illinois variant of regula falsi; returns a point that was priced and fits."""
    wanted = math.log(_SPEND)
    weight_low, weight_high = low[1], high[1]
    for turn in range(200):
        if high[1] >= wanted or high[0] - low[0] < 1e-12:
            break
        # aim a little below the budget, so that the answer lands on the side that fits
        a, b = weight_low - wanted / 2, weight_high - wanted / 2
        share = a / (a - b) if abs(weight_low) < 49 and abs(weight_high) < 49 and a != b else 0.5
        share = min(max(share, 0.02), 0.98) if turn % 8 != 7 else 0.5
        middle = low[0] + share * (high[0] - low[0])
        value = excess(middle)
        if value > 0:
            low, weight_low, weight_high = (middle, value), value, weight_high / 2
        else:
            high, weight_high, weight_low = (middle, value), value, weight_low / 2
    return high[0]
