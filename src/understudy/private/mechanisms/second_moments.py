"""Noisy second moments of bounded vectors, per class, on an integer grid.

Every row has a public vector e; the vectors of a unit, all classes side by side, are clipped to joint norm 1 and put on a grid of
G steps. Released are the sums over rows of the products e_i e_j (i < j) and of a quarter of the squared norm:

    release[c] = sum_r ( e_i e_j for i < j,  |e|^2 / 4 ) + Z,     Z ~ discrete Gaussian of scale 3/4 G^2 sigma.

For one row the products above the diagonal have squared norm (|e|^4 - sum e_i^4) / 2 <= G^4 / 2 and the last coordinate at most
(G^2 / 4)^2, together (3/4 G^2)^2. The norms of a unit's rows add up (triangle inequality) to at most 3/4 sum_r |e_r|^2, which
is at most 3/4 G^2, and spreading them over classes only shortens the whole. One Gaussian answer: `GaussianDpEvent(sigma)`.

With `diagonal` the squares e_i^2 are released in place of the norm, with noise of deviation sigma G^2 / sqrt(2) on products and
sigma G^2 on squares. In units of its noise a row moves the answer by

    (2 sum_{i<j} e_i^2 e_j^2 + sum_i e_i^4)^(1/2) / (sigma G^2) = |e|^2 / (sigma G^2) <= 1 / sigma,

units as before; the divergences of independent coordinates add up, so the price is the same.
All sums are exact integers: a block of 2^13 rows adds up to less than 2^53 in floating point, and blocks are added as 64-bit
integers.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import numpy as np

from understudy.private.mechanisms.noisy_sum import BLOCK, Vectors, on_grid
from understudy.private.noise import NoiseSource
from understudy.private.table import UnitIds

GRID = 1 << 15
ClassFeatureMap = Callable[[Any, Any], Vectors]  # rows and their classes -> one vector per row; public


@dataclass(frozen=True)
class SecondMoments:
    """One Gaussian answer: per-class sums of products of the coordinates of vectors of norm at most 1 per unit."""

    sigma: float
    pooled: bool = False  # one sum for all classes
    diagonal: bool = False  # squares of the coordinates, instead of the squared norm

    @property
    def event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.sigma)

    @property
    def deviation(self) -> float:
        """Deviation of the noise on every product (and on a quarter of the squared norm; sqrt(2) times it on squares)."""
        return (math.sqrt(0.5) if self.diagonal else 0.75) * self.sigma

    def release(
        self,
        rows: Any,
        classes: Any,
        class_count: int,
        units: UnitIds | None,
        features: ClassFeatureMap,
        noise: NoiseSource,
    ) -> Vectors:
        """Rows [class, products above the diagonal row by row, then the quarter of the squared norm, or the squares]."""
        width = features(rows[:0], classes[:0]).shape[1]
        sums = 1 if self.pooled else class_count
        upper = np.triu_indices(width, 1)
        total = np.zeros((sums, width, width), np.int64)
        quarter = np.zeros(sums, np.int64)
        owner = np.arange(len(rows)) if units is None else np.unique(units, return_inverse=True)[1]
        for block in blocks(owner, len(rows), by_unit=units is not None):
            inside = np.unique(owner[block], return_inverse=True)[1]
            steps = on_grid(features(rows[block], classes[block]), inside, GRID)
            for number in range(sums):
                own = steps if self.pooled else steps[classes[block] == number]
                exact = own.astype(np.float64)
                for first in range(0, len(exact), BLOCK):  # a unit's rows stay together, so a block can be longer
                    part = exact[first : first + BLOCK]
                    total[number] += (part.T @ part).astype(np.int64)
                quarter[number] += int(((own * own).sum(axis=1) // 4).sum())
        products, unit = total[:, upper[0], upper[1]], float(GRID * GRID)
        if self.diagonal:
            squares = np.diagonal(total, axis1=1, axis2=2)
            noisy = squares + noise.draw("gaussian", self.sigma * unit, squares.shape)
            return (
                np.concatenate(
                    [products + noise.draw("gaussian", self.deviation * unit, products.shape), noisy], axis=1
                )
                / unit
            )
        whole = np.concatenate([products, quarter[:, None]], axis=1)
        return (whole + noise.draw("gaussian", self.deviation * unit, whole.shape)) / unit


def blocks(owner: Any, rows: int, by_unit: bool) -> list[Any]:
    """Row numbers in blocks of about `BLOCK` rows that never part the rows of a unit."""
    if not by_unit:
        return [np.arange(first, min(first + BLOCK, rows)) for first in range(0, rows, BLOCK)]
    order = np.argsort(owner, kind="stable")
    sorted_owner = owner[order]
    cuts = np.searchsorted(sorted_owner, sorted_owner[BLOCK::BLOCK]) if rows else np.zeros(0, np.int64)
    return [piece for piece in np.split(order, np.unique(cuts)) if len(piece)]
