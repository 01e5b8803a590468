"""Noisy sums of bounded vectors over public groups of rows, on an integer grid.

A public map gives every row a group and a vector x, put on a grid of F steps: t = rint(F x), whole numbers. The vectors of
a unit are added up per group, t_u = (t_{u,g})_g, and weighed as a whole, so that its contribution has norm at most 1:

    w_u = the largest whole number up to W with  w_u |t_u| <= W F
    release[g] = sum_u w_u t_{u,g} + Z,     Z ~ discrete Gaussian of scale W F sigma in every coordinate.

**Sensitivity.** All numbers are whole and all sums exact, so a unit that comes or goes moves the sums by w_u |t_u|, at most
W F; in units of the grid G = W F that is a norm of 1. The wall finds w_u from squares that are rounded up, so it is
never too large. The groups of other rows do not move, because a row's group is its own. One Gaussian answer for
everything: `GaussianDpEvent(sigma)`.

With `average` the weight is at most W / (rows of the unit), rounded down: a unit gives the mean of its rows' vectors
instead of their sum, so that clipping spares it, and the same bound holds.

Clipping by a whole weight is what makes large tables quick: where a row's vector is looked up by its cells, the sum over rows
is one of tables over cells, each with the weights that fell on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import numpy as np

from understudy.questions.row_maps import Label, Step

FINE = 1 << 20  # steps of a coordinate of 1
WEIGHT = 1 << 12  # steps of a weight of 1: clipping is that exact; sums of 2^31 units fit into 64 bits
SUM_GRID = FINE * WEIGHT
LARGEST = 64 * FINE  # coordinates are cut off here, so that their squares are exact in double precision


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
        """One sum for every class."""
        return cls(vector, classes, sigma, Label(), average)

    @property
    def event(self) -> dpa.DpEvent:
        """One Gaussian answer."""
        return dpa.GaussianDpEvent(self.sigma)

    def read(self, released: Sequence[Any]) -> np.ndarray:
        """[groups, width]."""
        return np.asarray(released, np.float64)
