"""How finely a marginal model sees a column: what its copies cannot show, because all of them share it.

Three figures, each from released values alone: the length of a column's intervals, its standard deviation within the cells
that it is counted in together with others, and how many rows of noise the cut-off at zero can leave in a group.
"""

from collections.abc import Sequence

import numpy as np

from understudy.artifact import Model
from understudy.released import Released, fitted_tables

LOW = 2.0  # counts below so many standard deviations of their noise may be cut off at zero
KEPT = 0.4  # E max(Z, 0) of a standard normal Z: what the cut-off leaves of a cell that holds nobody


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

    def cut_off(self, columns: tuple[str, ...], column: str) -> float:
        """Rows of noise that the cut-off at zero can leave in one group of the table that counts these columns together."""
        table = next((one for one in self.tables if set(columns) <= one.named), None)
        if table is None or column not in table.columns:
            return 0.0
        axis = table.columns.index(column)
        low = np.asarray(table.values < LOW * table.deviation).sum(axis=axis).max(initial=0)
        return KEPT * float(np.max(table.deviation)) * float(low)

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
