"""Noisy sums of bounded vectors over public groups of rows, on an integer grid.

A public map gives every row a group and a vector x, clipped to norm 1 by itself. The vectors of a unit are added up
per group, and its whole contribution (all groups side by side) is clipped to norm 1 again. With a grid of G steps per
unit of norm,

    release[g] = sum_u trunc(G x_{u,g}) + Z,     Z ~ discrete Gaussian of scale G sigma in every coordinate.

**Sensitivity.** Truncation towards zero never lengthens a vector, and the wall leaves out a unit whose integer norm
exceeds G all the same (floating point may leave it one part in 1e16 too long), so a unit that comes or goes moves the
integer sums by at most G. The groups of other rows do not move, because a row's group is its own. One Gaussian answer
for everything: `GaussianDpEvent(sigma)`.

With `average` a unit gives the mean of its rows' vectors instead of their sum, so that clipping spares it; its
weights then add up to 1 over all groups, and the same bound holds.
"""

from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import numpy as np

from understudy.questions.row_maps import Label, Step

GRID = 1 << 20


@dataclass(frozen=True, eq=False)
class Sums:
    """One Gaussian answer: sums per group of vectors of norm at most 1 per unit, standard deviation `sigma` per coordinate."""

    vector: Step
    groups: int
    sigma: float
    group: Step | None = None  # None: one group of all rows
    average: bool = False

    @classmethod
    def by_class(cls, vector: Step, classes: int, sigma: float, *, average: bool = False) -> "Sums":
        return cls(vector, classes, sigma, Label(), average)

    @property
    def event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.sigma)

    def read(self, released: Any) -> np.ndarray:
        """[groups, width]."""
        return np.asarray(released, np.float64)
