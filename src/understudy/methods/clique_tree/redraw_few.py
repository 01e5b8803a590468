"""Copies of a clique tree of few rows (`few_rows.py`): the method once more, with rows of the model in the place of the people.

Its class tables are no counts with noise but estimates from sums, each shrunk by what was released before. Counts drawn around
them with the noise that counting would have had would be noise alone. So a copy is fitted again (`understudy.methods.again`);
rows are drawn evenly, those that it is fitted to as well, and `chance` is 0.
"""

import numpy as np

from understudy.artifact import Model as Artifact
from understudy.methods.again import FittedAgain
from understudy.methods.clique_tree.method import CliqueTree
from understudy.methods.clique_tree.redraw import Cells, Redrawn, TreeResolution
from understudy.methods.marginals.redraw import need_released
from understudy.released import estimated

LEAST = 2_000  # rows that a copy is fitted to: drawn evenly they hold what the model says


def redrawn(fitted: Artifact) -> "Redrawn | RedrawnFew":
    """What draws copies of a model, of few rows or not."""
    return RedrawnFew(fitted) if estimated(need_released(fitted)) else Redrawn(fitted)


class RedrawnFew(FittedAgain):
    """Draws copies of one fitted model."""

    def __init__(self, fitted: Artifact) -> None:
        settings = fitted.plan.parameters["settings"]
        own = {name: settings[name] for name in ("focus", "focus_weight", "column_weight", "model_cells", "passes")}
        super().__init__(fitted, CliqueTree(**own), LEAST)
        self.resolution = ClassResolution(fitted, Cells(fitted))

    def chance(self, rows: int) -> float:
        """Rows are drawn evenly, see above."""
        return 0.0


class ClassResolution(TreeResolution):
    """As `TreeResolution`, of tables that count every column by class and in its own outcomes."""

    def __init__(self, fitted: Artifact, cells: Cells) -> None:
        super().__init__(fitted, cells)
        self.nodes = {table.columns[-1]: table.nodes[-1] for table in self.tables}
        self.counts = {table.nodes[-1]: np.asarray(table.values.sum(axis=0)) for table in self.tables}
