"""How finely a marginal model sees a column: what its copies cannot show, because all of them share it.

Three figures, each from released values alone: the length of a column's intervals, its standard deviation within the cells
that it is counted in together with others, and by how many rows a rare value's count was moved.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import pandas as pd

from understudy.artifact import Model
from understudy.released import Part, Released, fitted_tables

RARE = 4.0  # counts below so many standard deviations of their noise may be drawn towards other counts


NEARLY_ALL = 0.9  # of a cell's rows: a condition that holds for so many tells the cell


class Holds(Protocol):
    """A condition on one column."""

    @property
    def column(self) -> str: ...

    def holds(self, rows: pd.DataFrame) -> pd.Series:
        """Row by row."""
        ...


class Resolution:
    """Of one fitted model."""

    def __init__(self, fitted: Model) -> None:
        self.fitted = fitted
        self.tables = tables = fitted_tables(fitted.released)
        self.nodes = {name: node for one in tables for node, name in zip(one.nodes, one.columns, strict=True) if node}
        found = {node: size for one in tables for node, size in zip(one.nodes, one.values.shape, strict=True)}
        self.sizes = [found[node] for node in sorted(found) if node]

    def interval(self, column: str, value: float) -> float:
        """Length of the interval that holds a value, in the column's own units; within it all values are alike."""
        if column not in self.nodes:
            return 0.0
        lower, upper = self.fitted.resolved.column(column).bounds
        base, span = self._intervals(column)
        place = (value - lower) / (upper - lower)
        inside = (span > 0.0) & (base <= place) & (place < base + span)
        whole = 1.0 if self.fitted.resolved.column(column).kind == "integer" else 0.0
        return max(float(span[inside].max(initial=0.0)) * (upper - lower), whole)

    def within_cells(self, columns: tuple[str, ...], column: str) -> float:
        """Standard deviation of a numeric column within the cells that count it together with others, in its own units; 0 for
        columns of another kind."""
        if column not in self.nodes or self.fitted.resolved.column(column).kind not in ("integer", "continuous"):
            return 0.0
        rows = self._in_cells(columns, column)
        mass = rows.sum(axis=1)
        shares = rows / np.maximum(mass, 1e-9)[:, None]
        base, span = self._intervals(column)
        middle = base + span / 2.0
        within = shares @ (middle**2 + span**2 / 12.0) - (shares @ middle) ** 2
        lower, upper = self.fitted.resolved.column(column).bounds
        return float(np.sqrt(max(mass @ within / max(mass.sum(), 1.0), 0.0))) * (upper - lower)

    def merged(self, columns: tuple[str, ...], condition: "Holds") -> float:
        """Of the rows that a condition on a number holds for, the share that was counted together with the other columns in cells
        that are mostly of other rows or hold many of them: what tells them from these is not known."""
        column = condition.column
        if column not in self.nodes or self.fitted.resolved.column(column).kind not in ("integer", "continuous"):
            return 0.0
        lower, upper = self.fitted.resolved.column(column).bounds
        base, span = self._intervals(column)
        values = lower + (base + 0.5 * span) * (upper - lower)
        if self.fitted.resolved.column(column).kind == "integer":
            values = np.rint(values)
        rows = self._in_cells(columns, column)
        held, every = rows[:, condition.holds(pd.DataFrame({column: values})).to_numpy()].sum(axis=1), rows.sum(axis=1)
        return float(held[held < NEARLY_ALL * every].sum() / max(float(held.sum()), 1e-9))

    def hidden(self, column: str, spread: float) -> float:
        """Nothing: what the cut-off at zero does to a group shows between the model and its copies (`infer.rules`, Bias)."""
        return 0.0

    def shrunk(self, column: str, value: Part, rows: float) -> float:
        """By how many rows the model may be off about a rare value by itself: what its `rows` differ from the released count.

        A count is released with noise of known deviation and no bias. What does not stand out from the others by it is drawn
        towards them (`measure.cells.estimate`), and copies, drawn around what came out, are where it was drawn to.
        """
        for one in self.fitted.released:
            if not one.fitted and one.columns[-1] == column and (value,) in one.cells[-1]:
                counts = one.values.reshape(-1, one.values.shape[-1])
                noise = float(np.max(one.deviation)) * len(counts) ** 0.5
                counted = float(counts[:, one.cells[-1].index((value,))].sum())
                return abs(counted - rows) if counted < RARE * noise else 0.0
        return 0.0

    def _intervals(self, column: str) -> tuple[np.ndarray, np.ndarray]:
        row = self.nodes[column] - 1
        return (
            np.asarray(self.fitted.weights["base"], float)[row],
            np.asarray(self.fitted.weights["span"], float)[row],
        )

    def _in_cells(self, columns: Sequence[str], column: str) -> np.ndarray:
        """[cells, outcomes]: rows of every outcome, by the cells in which the column is counted together with any other."""
        node = self.nodes[column]
        first = int(np.cumsum([0, *self.sizes])[node - 1])
        inner = np.asarray(self.fitted.weights["inner"], float)[first : first + self.sizes[node - 1]]
        return np.asarray(np.diff(inner, axis=1, prepend=0.0) * np.maximum(self._mass(node), 0.0)[:, None])

    def _mass(self, node: int) -> np.ndarray:
        table: Released = next(one for one in self.tables if one.nodes[-1] == node and len(one.nodes) <= 2)
        return table.values.sum(axis=0) if table.values.ndim == 2 else table.values
