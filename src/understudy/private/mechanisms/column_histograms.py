"""Noisy histograms of all columns in one answer.

Every row adds one to one cell of each of d columns: a vector of L2 norm sqrt(d). A unit has at most m rows, so

    release = counts + Z,   Z ~ discrete Gaussian of scale m sqrt(d) sigma     =>  one answer, GaussianDpEvent(sigma).

Cells are public, or come from earlier releases (a second level may cut the cells of the first into equal mass). Binary and
one-hot blocks are columns too: their cells are their outcomes, and `ones` counts how often each was present.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import dp_accounting as dpa
import numpy as np

from understudy.private.noise import NoiseSource
from understudy.schema import Codec

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Values = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


@dataclass(frozen=True)
class ColumnHistograms:
    sigma: float
    max_rows_per_unit: int
    columns: int  # numeric columns plus binary and one-hot blocks that are counted

    @property
    def event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.sigma)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on every count."""
        return self.sigma * self.max_rows_per_unit * math.sqrt(self.columns)

    def check(self, codec: Codec, numeric: Sequence[int], discrete: Sequence[int]) -> None:
        """RuntimeError if one row could add to more cells than `columns`, the number that the noise was made for.

        A coordinate that is asked for twice counts twice; at most one coordinate of a one-hot block is 1.
        """
        times = Counter(discrete)
        block = {c: b.start for b in codec.blocks if b.head == "onehot" for c in range(b.start, b.start + b.size)}
        most: dict[int, int] = {}
        for coordinate, often in times.items():
            place = block.get(coordinate, coordinate)
            most[place] = max(most.get(place, 0), often)
        if len(numeric) + sum(most.values()) > self.columns:
            raise RuntimeError("the histograms are priced for fewer columns than are asked for")

    def cells(self, values: Values, edges: Floats, noise: NoiseSource) -> Floats:
        """Counts per cell of numeric columns: `values[row, column]` in [0, 1], `edges[column]` rising from 0 to 1."""
        size = edges.shape[1] - 1
        counts = np.stack([cell_counts(values[:, j], edges[j], size) for j in range(len(edges))])
        return counts + noise.draw("gaussian", self.deviation, counts.shape).astype(np.float64)

    def ones(self, values: Values, noise: NoiseSource) -> Floats:
        """How often each binary or one-hot coordinate is 1; at most one coordinate of a block is."""
        counts: Floats = np.asarray((values > 0.5).sum(axis=0), np.float64)
        return counts + noise.draw("gaussian", self.deviation, counts.shape).astype(np.float64)


def cell_counts(values: Values, edges: Floats, cells: int) -> Floats:
    """Each value falls in exactly one cell, also when edges coincide."""
    cell = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, cells - 1)
    return np.bincount(cell, minlength=cells).astype(np.float64)
