"""Noisy counts of several marginals in one answer: every histogram and contingency table that is ever asked for.

A public map puts a row into one cell of every node (-1: its value is missing and it is not counted there). A *clique*
is a tuple of nodes; its counts say how many rows fall into each combination of cells. A *table* adds up the counts of
one or more cliques of the same shape (columns that share one distribution). With t tables, the i-th of c_i cliques,
and at most m rows per unit,

    release_i = counts_i + Z_i,      Z_i ~ discrete Gaussian of scale  m c_i sqrt(t) sigma   in every cell.

**Sensitivity.** A row adds one to at most one cell of a clique, hence a vector of L2 norm at most c_i to table i (the
worst case: all its cliques in one cell). Divided by c_i sqrt(t) and put side by side the tables of one row have norm
at most 1, those of a unit's m rows at most m (triangle inequality). Noise of deviation m sigma on the divided counts
is one Gaussian answer, `GaussianDpEvent(sigma)`, and multiplying back is the scale above.

**Budgets.** Tables may have unequal parts b_i > 0 of the answer's squared privacy loss. With scale m c_i sigma sqrt(sum b /
b_i) the tables of a unit, each divided by its scale, have a squared norm of at most sum_i b_i / (sum b) / sigma^2 = 1 /
sigma^2, whatever the b_i are: the same `GaussianDpEvent(sigma)`. Equal parts are the formula above.

**Laplace noise.** In L1 norm a row adds c_i to table i at most, a unit's m rows m c_i. With Laplace noise of scale m c_i sigma
(sum b) / b_i the tables of a unit, each divided by its scale, have an L1 norm of at most 1 / sigma: one `LaplaceDpEvent(sigma)`,
which has a price at delta = 0, too.

**Share.** With `share` every row of a unit of r rows counts G // r steps of a grid of G = 2^20, so that the weights
of a unit add up to at most G whatever r is: the same proof with m = 1, in units of G. Counts then add up to units
instead of rows.

Cells are clipped to their node's size inside the wall, so no map can count a row twice.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import dp_accounting as dpa
import numpy as np

from understudy.questions.row_maps import Label, Step

Clique = tuple[int, ...]  # numbers of the nodes of a marginal
WEIGHT_GRID = 1 << 20  # steps of a unit's weight, where its rows share it


class Weighed:
    """What the rows of a unit count in a question: each of them in full, or with `share` one weight for all of them."""

    rows_per_unit: int
    share: bool

    @property
    def grid(self) -> int:
        """What one unit of weight is counted as."""
        return WEIGHT_GRID if self.share and self.rows_per_unit > 1 else 1

    @property
    def influence(self) -> int:
        """How much a unit can add to one cell of one clique, in steps of the grid."""
        return self.grid if self.share else self.rows_per_unit


@dataclass(frozen=True, eq=False)
class Counts(Weighed):
    """One answer: exact integer counts with exact integer noise."""

    cells: Step  # a cell of every node
    sizes: tuple[int, ...]  # cells of every node
    tables: tuple[tuple[Clique, ...], ...]
    sigma: float
    rows_per_unit: int
    share: bool = False
    budgets: tuple[float, ...] = ()  # parts of the squared privacy loss, one for each table; none given: equal
    noise: Literal["gaussian", "laplace"] = "gaussian"

    @classmethod
    def of_cliques(
        cls,
        cells: Step,
        sizes: tuple[int, ...],
        cliques: list[Clique],
        sigma: float,
        rows_per_unit: int,
        *,
        share: bool = False,
        budgets: tuple[float, ...] = (),
    ) -> "Counts":
        """A table for each clique."""
        return cls(cells, sizes, tuple((clique,) for clique in cliques), sigma, rows_per_unit, share, budgets)

    def __post_init__(self) -> None:
        if self.budgets and (len(self.budgets) != len(self.tables) or not all(b > 0.0 for b in self.budgets)):
            raise ValueError("budgets must be positive numbers, one for each table")

    @property
    def event(self) -> dpa.DpEvent:
        """One answer for all tables together."""
        return dpa.GaussianDpEvent(self.sigma) if self.noise == "gaussian" else dpa.LaplaceDpEvent(self.sigma)

    @property
    def deviations(self) -> tuple[float, ...]:
        """Scale of the noise on every count of each table: its standard deviation, or Laplace's b."""
        budgets = self.budgets or (1.0,) * len(self.tables)
        parts = [math.fsum(budgets) / budget for budget in budgets]
        if (
            self.noise == "laplace"
        ):  # `deviation` takes the root, as squared losses add up; pure losses add up themselves
            parts = [part**2 for part in parts]
        return tuple(
            deviation(self.sigma, part, self.rows_per_unit, self.share, len(table))
            for table, part in zip(self.tables, parts, strict=True)
        )

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of the tables that are released."""
        return tuple(tuple(self.sizes[node] for node in table[0]) for table in self.tables)

    def read(self, released: list[Any]) -> list[np.ndarray]:
        """The released counts as arrays, one for each table."""
        kind = np.int64 if self.grid == 1 else np.float64
        return [np.asarray(part, kind).reshape(shape) for part, shape in zip(released, self.shapes, strict=True)]


def deviation(
    sigma: float, tables: float | int, rows_per_unit: int = 1, share: bool = False, cliques: int = 1
) -> float:
    """Noise on every count when so many tables are counted in one answer: known before the cells are."""
    return sigma * math.sqrt(tables) * cliques * (1 if share else rows_per_unit)


def class_counts(classes: int, sigma: float, rows_per_unit: int, *, share: bool = False, pure: bool = False) -> Counts:
    """The rows of every class, or with `share` its units; without a class label there is one bin, the noisy number of all."""
    return Counts(Label(), (classes,), (((0,),),), sigma, rows_per_unit, share, noise="laplace" if pure else "gaussian")
