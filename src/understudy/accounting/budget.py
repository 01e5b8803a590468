"""How much privacy loss a fit may cause.

A mechanism M is (epsilon, delta)-differentially private if for any two tables that differ by one privacy unit, added or
removed, and any set of results S

    Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S] + delta.

The budget is the total of the whole fit: row count, bounds, categories, label histogram and training. With delta = 0 (pure
differential privacy) only Laplace noise has a price.
"""

import math
from dataclasses import dataclass

from understudy.errors import UsageError

Real = float | int
ABSURD_EPSILON = 1000.0


@dataclass(frozen=True)
class Budget:
    """The total (epsilon, delta) of a fit, for adding or removing one unit."""

    epsilon: Real
    delta: Real

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon > 0):
            raise UsageError(f"epsilon={self.epsilon} must be a positive number; 1 is a common choice")
        if self.epsilon > ABSURD_EPSILON:
            raise UsageError(f"epsilon={self.epsilon} protects nobody; choose at most {ABSURD_EPSILON:g}")
        if not (math.isfinite(self.delta) and 0 <= self.delta < 1):
            raise UsageError(f"delta={self.delta} must lie between 0 and 1, e.g. 1e-5")

    @property
    def pure(self) -> bool:
        """Whether nothing is left for a delta."""
        return self.delta == 0
