"""Votes of cells on the kinds of their columns: how many cells of a column read as each sort.

Every row gives one vote per column, to the sort that its cell reads as (`schema.kinds.cell_kind`: empty, truth, whole,
number, date, text, code). With c columns and at most m rows per unit,

    release = votes + Z,      Z ~ discrete Gaussian of scale  m sqrt(c) sigma   in every count.

**Sensitivity.** A row adds one to exactly one count of each column, hence a vector of c ones and L2 norm sqrt(c); the
m rows of a unit add at most m sqrt(c) (triangle inequality). So the release is one Gaussian answer,
`GaussianDpEvent(sigma)`.

Columns are read as text (`schema.columns.text_column`), before a schema says what they hold. Which kinds follow from
the votes is post-processing (`schema.kinds.decide`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import dp_accounting as dpa
import numpy as np

from understudy.schema.kinds import SORTS, Votes, vote_deviation


@dataclass(frozen=True, eq=False)
class ColumnKinds:
    """One Gaussian answer: noisy votes [columns, sorts]."""

    columns: tuple[str, ...]
    sigma: float
    rows_per_unit: int

    @property
    def event(self) -> dpa.DpEvent:
        """One Gaussian answer."""
        return dpa.GaussianDpEvent(self.sigma)

    @property
    def deviation(self) -> float:
        """Of the noise on a count of votes."""
        return vote_deviation(self.sigma, len(self.columns), self.rows_per_unit)

    def read(self, released: Sequence[Sequence[int]]) -> Votes:
        """Votes [columns, kinds]."""
        return np.asarray(released, np.int64).reshape(len(self.columns), len(SORTS))
