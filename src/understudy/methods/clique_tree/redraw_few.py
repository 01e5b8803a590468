"""Copies of a clique tree that counted no pairs: the method once more, with rows of the model in the place of the people.

The tables of few rows (`few_rows.py`) and of products of scores (`correlations.py`) are no counts with noise but estimates from
sums, each shrunk by what was released before. Counts drawn around them with the noise that counting would have had would be
noise alone. So a copy is fitted again (`understudy.methods.again`); rows are drawn evenly, those that it is fitted to as well,
and `chance` is 0.
"""

import numpy as np

from understudy.accounting import Plan
from understudy.artifact import Model as Artifact
from understudy.methods.again import FittedAgain
from understudy.methods.clique_tree.method import CliqueTree
from understudy.methods.clique_tree.redraw import Cells, Redrawn, TreeResolution
from understudy.methods.marginals.redraw import need_released
from understudy.recipe import Curator, Opening
from understudy.released import estimated, without_counts
from understudy.schema import Codec

COPIED_ROWS = 2_000  # rows that a copy is fitted to: drawn evenly they hold what the model says


def redrawn(fitted: Artifact) -> "Redrawn | RedrawnFew":
    """What draws copies of a model, of counted pairs or not."""
    few = estimated(need_released(fitted)) or without_counts(fitted.released)
    return RedrawnFew(fitted) if few else Redrawn(fitted)


class OfProducts(CliqueTree):
    """The method where products of scores are asked for. Whether they are is not decided again: a copy is one of this model."""

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        columns = self.ask_columns(curator, codec, counts, plan)
        wanted = self.workload_of(codec.schema, plan.parameters["settings"]["workload"])
        weights = self.score_weights(columns, codec.schema.label, wanted)
        return self.by_products(curator, codec, columns, plan.parameters["noise"], weights)


class RedrawnFew(FittedAgain):
    """Draws copies of one fitted model."""

    def __init__(self, fitted: Artifact) -> None:
        settings = fitted.plan.parameters["settings"]
        own = {name: settings[name] for name in ("focus", "focus_weight", "column_weight", "model_cells", "passes")}
        products = without_counts(fitted.released)
        super().__init__(fitted, (OfProducts if products else CliqueTree)(**own), COPIED_ROWS)
        self.resolution = (TreeResolution if products else ClassResolution)(fitted, Cells(fitted))

    def chance(self, rows: int) -> float:
        """Rows are drawn evenly, see above."""
        return 0.0


class ClassResolution(TreeResolution):
    """As `TreeResolution`, of tables that count every column by class and in its own outcomes."""

    def __init__(self, fitted: Artifact, cells: Cells) -> None:
        super().__init__(fitted, cells)
        self.nodes = {table.columns[-1]: table.nodes[-1] for table in self.tables}
        self.counts = {table.nodes[-1]: np.asarray(table.values.sum(axis=0)) for table in self.tables}
