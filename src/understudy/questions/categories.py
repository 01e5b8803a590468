"""Private list of categories: counts of unknown keys, noised and thresholded.

Each unit counts each of its distinct values once: at most k keys, by one each, where k is the largest number of rows
of a unit times the number of columns that share the list. The counts get discrete Gaussian noise of scale sqrt(k)
sigma and only those above a threshold are released. Keys held by nobody else appear with probability at most delta'
(Rogers 2023), which the price contains:

    ComposedDpEvent([GaussianDpEvent(sigma), EpsilonDeltaDpEvent(0, delta')]).

A rare category stays unnamed; its rows become `other`. So does a text of more than `LONGEST` characters.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import dp_accounting as dpa
from scipy import stats

from understudy.accounting import EpsilonDeltaDpEvent

LARGEST_LIST = 1000
LONGEST = 1000  # characters of a category; decided for each text by itself


@dataclass(frozen=True, eq=False)
class ColumnCategories:
    """One thresholded answer: the common values of the columns that share a list."""

    columns: tuple[str, ...]
    sigma: float
    delta: float
    rows_per_unit: int

    @property
    def event(self) -> dpa.DpEvent:
        """One Gaussian answer, and a threshold that fails with probability delta."""
        threshold = EpsilonDeltaDpEvent(0.0, self.delta)
        return dpa.ComposedDpEvent([dpa.GaussianDpEvent(self.sigma), threshold])

    @property
    def keys_per_unit(self) -> int:
        """Keys that one unit can hold."""
        return self.rows_per_unit * len(self.columns)

    @property
    def scale(self) -> float:
        """Deviation of the noise on a count."""
        return self.sigma * math.sqrt(self.keys_per_unit)

    @property
    def threshold(self) -> int:
        """Smallest integer t with k Pr[1 + Z >= t] <= delta': a key of one unit passes with probability at most delta'."""
        return 2 + math.ceil(self.scale * float(stats.norm.isf(self.delta / self.keys_per_unit)))

    def read(self, released: Sequence[str]) -> tuple[str, ...]:
        """The keys that passed."""
        return tuple(released)
