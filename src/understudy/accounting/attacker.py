"""What the guarantee means for somebody who wants to know whether a given unit was in the table.

Such an attacker sees the result and decides "in" or "out". False alarms: saying "in" for somebody who is out (rate
a). Whatever the attacker knows besides, and whatever is done with the result, the rate of true positives is at most

    min(e^epsilon a + delta,  1 - e^-epsilon (1 - delta - a),  1)           for (epsilon, delta)-DP (Kairouz et al.
    2015) Phi(Phi^-1(a) + mu)                                                     for mu-GDP (Dong, Roth, Su 2022)

The second is exact for Gaussian noise and never above the first at the same (epsilon, delta).
"""

import math

from scipy.special import ndtr, ndtri

from understudy.accounting.budget import Real
from understudy.errors import UsageError


def best_true_positive_rate(epsilon: Real, delta: Real, false_positive_rate: Real) -> float:
    """Upper bound from (epsilon, delta) alone."""
    _check(false_positive_rate)
    if epsilon < 0 or not 0 <= delta <= 1:
        raise UsageError(f"(epsilon, delta) = ({epsilon}, {delta}) is not a privacy guarantee")
    steep = math.exp(min(epsilon, 700.0)) * false_positive_rate + delta if false_positive_rate else delta
    flat = 1 - math.exp(-epsilon) * (1 - delta - false_positive_rate)
    return float(min(steep, flat, 1.0))


def best_true_positive_rate_gaussian(mu: Real, false_positive_rate: Real) -> float:
    """Exact for Gaussian noise of parameter mu."""
    _check(false_positive_rate)
    if mu < 0:
        raise UsageError(f"mu={mu} must be zero or more")
    return float(ndtr(ndtri(false_positive_rate) + mu)) if false_positive_rate > 0 else 0.0


def _check(false_positive_rate: Real) -> None:
    if not 0 <= false_positive_rate <= 1:
        raise UsageError(f"false_positive_rate={false_positive_rate} must lie in [0, 1]")
