"""Private bounds of numeric columns from one noisy histogram over public cells.

The real line is cut once, publicly: a cell around zero and cells [2^(j/2), 2^((j+1)/2)) on either side. Each finite
value adds one to its cell. A unit has at most m rows, and the columns of a shared group add g values a row, so the
counts of a unit have L1 norm, hence L2 norm, at most m g:

    release = counts + Z,   Z ~ discrete Gaussian of scale m g sigma     =>  one answer, GaussianDpEvent(sigma).

The bounds are the outer edges of the first and last cell whose noisy count exceeds 4 standard deviations
(post-processing; the chance that any of the empty cells passes is below 1 %). Values outside are clamped later; a few
outliers are given up, which is what makes the answer private. If no cell passes, the answer is the middle of the
range ([0, 1] for numbers). Datetimes are cut into years from 1900 to 2100 instead.
"""

from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import numpy as np

_HALF_OCTAVES = np.arange(-40, 101)  # cells from 2^-20 (about 1e-6) to 2^50 (about 1e15)
_POSITIVE = 2.0 ** (_HALF_OCTAVES / 2)
NUMBERS: np.ndarray = np.concatenate([-_POSITIVE[::-1], _POSITIVE])
YEARS: np.ndarray = (np.arange(1900, 2101).astype("U").astype("datetime64[Y]").astype("datetime64[s]")).astype(float)
THRESHOLD = 4.0


@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """One Gaussian answer: a range that covers the bulk of the columns' values."""

    columns: tuple[str, ...]
    sigma: float
    rows_per_unit: int
    datetimes: bool = False
    whole: bool = False  # integer columns: bounds go outwards to whole numbers

    @property
    def event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.sigma)

    @property
    def edges(self) -> np.ndarray:
        return YEARS if self.datetimes else NUMBERS

    @property
    def deviation(self) -> float:
        return self.sigma * self.rows_per_unit * len(self.columns)

    @property
    def threshold(self) -> float:
        """Noisy count from which on a cell is believed to hold values."""
        return THRESHOLD * self.deviation

    def read(self, released: Any) -> tuple[float, float]:
        """Lower and upper from noisy counts of all cells."""
        lower, upper = covering(self.edges, np.asarray(released, np.int64), self.threshold)
        return (float(np.floor(lower)), float(np.ceil(upper))) if self.whole else (lower, upper)


def covering(edges: np.ndarray, noisy: np.ndarray, threshold: float) -> tuple[float, float]:
    """Outer edges of the cells whose noisy count passes; the cell around zero counts as the number zero."""
    passing = np.flatnonzero(noisy > threshold)
    if len(passing) == 0:
        middle = len(noisy) // 2
        return (0.0, 1.0) if edges is NUMBERS else (float(edges[middle]), float(edges[middle + 1]))
    first, last = int(passing[0]), int(passing[-1])
    lower = 0.0 if edges[first] < 0.0 < edges[first + 1] else float(edges[first])
    upper = 0.0 if edges[last] < 0.0 < edges[last + 1] else float(edges[last + 1])
    return (lower, upper) if lower < upper else (lower, lower + 1.0)
