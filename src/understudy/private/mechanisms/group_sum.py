"""Noisy sums of bounded vectors over public groups of rows, on an integer grid.

A public map gives every row a group and a vector; both may depend on the row and its class, on no other row. The vectors of a
unit are added up per group, and its whole contribution (all groups side by side) is clipped to norm 1. With G grid steps,

    release[g] = sum_u trunc(G x_{u,g}) + Z,     Z ~ discrete Gaussian of scale G sigma in every coordinate,

so a unit that comes or goes moves the integer sums by at most G (`noisy_sum.on_grid`): `GaussianDpEvent(sigma)`. The groups of
other rows do not move, because a row's group is its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import numpy as np

from understudy.private.mechanisms.noisy_sum import BLOCK, GRID, Ints, Vectors, on_grid, per_unit_and_class
from understudy.private.noise import NoiseSource
from understudy.private.table import UnitIds

GroupMap = Callable[[Any, Any], tuple[Any, Vectors]]  # rows and their classes -> group and vector of every row; public


@dataclass(frozen=True)
class GroupSum:
    """One Gaussian answer: sums per group of vectors of norm at most 1 per unit, deviation `sigma` per coordinate."""

    sigma: float
    groups: int

    @property
    def event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.sigma)

    def release(
        self, rows: Any, classes: Any, units: UnitIds | None, features: GroupMap, noise: NoiseSource
    ) -> Vectors:
        """[groups, width]; rows are taken in blocks to bound memory, units of several rows at once."""
        total = np.zeros((self.groups, features(rows[:0], classes[:0])[1].shape[1]), np.int64)
        if units is None:
            for first in range(0, len(rows), BLOCK):
                own, vectors = self._mapped(rows[first : first + BLOCK], classes[first : first + BLOCK], features)
                add(total, own, on_grid(vectors, np.arange(len(own))))
        else:
            own, vectors = self._mapped(rows, classes, features)
            vectors, own, owner = per_unit_and_class(vectors, own, units)
            add(total, own, on_grid(vectors, owner))
        return (total + noise.draw("gaussian", GRID * self.sigma, total.shape)) / GRID

    def _mapped(self, rows: Any, classes: Any, features: GroupMap) -> tuple[Ints, Vectors]:
        own, vectors = features(rows, classes)
        return np.clip(np.asarray(own, np.int64), 0, self.groups - 1), vectors


def add(total: Any, own: Ints, steps: Any) -> None:
    """Row by row into its group; whole groups at a time, because that is quicker for wide vectors."""
    order = np.argsort(own, kind="stable")
    if len(order):
        present, first = np.unique(own[order], return_index=True)
        total[present] += np.add.reduceat(steps[order], first, axis=0)
