"""Noisy second moments of bounded vectors, per class, on an integer grid.

Every row has a public vector e; the vectors of a unit, all classes side by side, are clipped to joint norm 1 and put
on a grid of G steps. Released are the sums over rows of the products e_i e_j (i < j) and of a quarter of the squared
norm:

    release[c] = sum_r ( e_i e_j for i < j,  |e|^2 / 4 ) + Z,     Z ~ discrete Gaussian of scale 3/4 G^2 sigma.

**Sensitivity.** For one row the products above the diagonal have squared norm (|e|^4 - sum e_i^4) / 2 <= G^4 / 2 and
the last coordinate at most (G^2 / 4)^2, together (3/4 G^2)^2. The norms of a unit's rows add up (triangle inequality)
to at most 3/4 sum_r |e_r|^2, which is at most 3/4 G^2, and spreading them over classes only shortens the whole. One
Gaussian answer: `GaussianDpEvent(sigma)`.

With `diagonal` the squares e_i^2 are released in place of the norm, with noise of deviation sigma G^2 / sqrt(2) on
products and sigma G^2 on squares. In units of its noise a row moves the answer by

    (2 sum_{i<j} e_i^2 e_j^2 + sum_i e_i^4)^(1/2) / (sigma G^2) = |e|^2 / (sigma G^2) <= 1 / sigma,

units as before; the divergences of independent coordinates add up, so the price is the same.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import numpy as np

from understudy.questions.row_maps import Step

PRODUCT_GRID = 1 << 15


@dataclass(frozen=True, eq=False)
class Products:
    """One Gaussian answer: per-class sums of products of the coordinates of vectors of norm at most 1 per unit."""

    vector: Step
    classes: int  # 1: one sum for all classes
    sigma: float
    diagonal: bool = False  # squares of the coordinates, instead of the squared norm

    @property
    def event(self) -> dpa.DpEvent:
        """One Gaussian answer."""
        return dpa.GaussianDpEvent(self.sigma)

    @property
    def deviation(self) -> float:
        """Deviation of the noise on every product (and on a quarter of the squared norm; sqrt(2) times it on squares)."""
        return (math.sqrt(0.5) if self.diagonal else 0.75) * self.sigma

    def read(self, released: Sequence[Any]) -> np.ndarray:
        """[class, products above the diagonal row by row, then the quarter of the squared norm, or the squares]."""
        return np.asarray(released, np.float64)
