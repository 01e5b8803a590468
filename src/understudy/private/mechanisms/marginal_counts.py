"""Noisy counts of several marginals in one answer.

A row falls into exactly one cell of a marginal, so it adds a vector of L2 norm sqrt(q) to q marginals side by side. A unit has at
most m rows (the worst case: all in the same cells), hence L2 sensitivity m sqrt(q):

    release = counts + Z,   Z ~ discrete Gaussian of scale m sqrt(q) sigma     =>  one answer, GaussianDpEvent(sigma).

What the cells are is public or was released before; `cell_numbers` clips them, so that no map of rows to cells can break the
"exactly one".
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import numpy as np

from understudy.private.noise import IntArray, NoiseSource

CellMap = Callable[[Any, Any], Any]  # (encoded rows, classes) -> one cell number per row and node; public, row by row
Clique = tuple[int, ...]  # numbers of the nodes of a marginal


@dataclass(frozen=True)
class MarginalCounts:
    sigma: float
    max_rows_per_unit: int
    marginals: int  # how many are counted in the one answer

    @property
    def event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.sigma)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on every count."""
        return self.sigma * self.max_rows_per_unit * math.sqrt(self.marginals)

    def release(self, counts: Sequence[IntArray], noise: NoiseSource) -> list[IntArray]:
        if len(counts) > self.marginals:
            raise RuntimeError(f"{len(counts)} marginals were asked for, {self.marginals} announced")
        flat = np.concatenate([part.ravel() for part in counts])
        noisy = flat + noise.draw("gaussian", self.deviation, flat.shape)
        ends = np.cumsum([part.size for part in counts])[:-1]
        return [part.reshape(like.shape) for part, like in zip(np.split(noisy, ends), counts, strict=True)]


def cell_numbers(cells: Any, sizes: Sequence[int]) -> IntArray:
    """One valid cell per row and node, whatever the map returned."""
    found = np.asarray(cells, np.int64)
    if found.ndim != 2 or found.shape[1] != len(sizes):
        raise RuntimeError("a cell map must give one number per row and node")
    return np.clip(found, 0, np.asarray(sizes, np.int64)[None, :] - 1)


def exact_counts(cells: IntArray, sizes: Sequence[int], clique: Clique) -> IntArray:
    """The exact marginal; never leaves on its own."""
    shape = tuple(int(sizes[node]) for node in clique)
    number = np.zeros(len(cells), np.int64)
    for node, size in zip(clique, shape, strict=True):
        number = number * size + cells[:, node]
    return np.bincount(number, minlength=math.prod(shape)).astype(np.int64).reshape(shape)
