"""Noisy sum of bounded vectors, per class, on an integer grid.

Every row has a public feature vector; the vectors of a unit are added up per class, and the unit's whole contribution (all
classes side by side) is clipped to norm 1. With a grid of G steps per unit of norm,

    release[c] = sum_u trunc(G x_{u,c}) + Z,     Z ~ discrete Gaussian of scale G sigma in every coordinate.

Truncation towards zero never lengthens a vector, so the L2 sensitivity of the integer sums is at most G, whatever the
rounding of floating point did before (`on_grid` checks the integer norms exactly). One Gaussian answer for the whole vector:
`GaussianDpEvent(sigma)`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import numpy as np

from understudy.private.noise import NoiseSource
from understudy.private.table import UnitIds

GRID = 1 << 20
BLOCK = 8192
Vectors = np.ndarray[tuple[int, int], np.dtype[np.float64]]
IntVectors = np.ndarray[tuple[int, int], np.dtype[np.int64]]
Ints = np.ndarray[tuple[int], np.dtype[np.int64]]
FeatureMap = Callable[[Any], Vectors]  # rows -> one vector per row; public


@dataclass(frozen=True)
class NoisySum:
    """One Gaussian answer: per-class sums of vectors of norm at most 1 per unit, standard deviation `sigma` per coordinate."""

    sigma: float
    average: bool = False  # a unit gives the mean of its rows' vectors instead of their sum, so that clipping spares it

    @property
    def event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.sigma)

    def release(
        self, rows: Any, classes: Any, class_count: int, units: UnitIds | None, features: FeatureMap, noise: NoiseSource
    ) -> Vectors:
        """`units` is None when every row is a unit of its own; then rows are taken in blocks to bound memory."""
        if units is None:
            width = features(rows[:0]).shape[1]
            total = np.zeros((class_count, width), np.int64)
            for first in range(0, len(rows), BLOCK):
                block = slice(first, first + BLOCK)
                np.add.at(total, classes[block], on_grid(features(rows[block]), np.arange(len(rows[block]))))
        else:
            vectors, classes, owner = per_unit_and_class(features(rows), classes, units, self.average)
            total = np.zeros((class_count, vectors.shape[1]), np.int64)
            np.add.at(total, classes, on_grid(vectors, owner))
        return (total + noise.draw("gaussian", GRID * self.sigma, total.shape)) / GRID


def on_grid(vectors: Vectors, owner: Ints, grid: int = GRID) -> IntVectors:
    """Clip every owner's vectors to joint norm 1 and put them on the grid; the integer norms are at most `grid`, exactly."""
    finite = np.nan_to_num(vectors, nan=0.0, posinf=0.0, neginf=0.0)
    with np.errstate(over="ignore"):  # a vector too long for its square is scaled to nothing
        squares = np.bincount(owner, (finite * finite).sum(axis=1), minlength=1)
    scale = grid / np.sqrt(np.maximum(squares, 1.0))[owner]
    steps = np.trunc(finite * scale[:, None]).astype(np.int64)
    # Floating point may leave a norm one part in 1e16 too long: such an owner is left out instead of trusted.
    lengths = np.zeros(len(squares), np.int64)
    np.add.at(lengths, owner, (steps * steps).sum(axis=1))
    steps[lengths[owner] > grid * grid] = 0
    return steps


def per_unit_and_class(
    rows: Vectors, classes: Any, units: UnitIds, average: bool = False
) -> tuple[Vectors, Ints, Ints]:
    """Add up the rows of each (unit, class); returns the sums, their classes and the number of their unit.

    With `average` every row counts 1 / (rows of its unit), so that a unit's weights add up to 1 over all classes.
    """
    _, owner, size = np.unique(units, return_inverse=True, return_counts=True)
    if average:
        rows = rows / size[owner][:, None]
    pairs, position = np.unique(np.stack([owner, np.asarray(classes, np.int64)], axis=1), axis=0, return_inverse=True)
    summed = np.zeros((len(pairs), rows.shape[1]))
    with np.errstate(invalid="ignore", over="ignore"):  # what adds up to no number is 0 in `on_grid`
        np.add.at(summed, position.ravel(), rows)
    return summed, pairs[:, 1], pairs[:, 0]
