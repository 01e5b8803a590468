"""A tree of marginals as a method (MST; McKenna, Miklau, Sheldon 2021), given the class.

    column cells 1, 2       where to cut numeric columns
    marginals by class      noisy counts of every column's outcomes per class, all in one answer
    tree edges              d - 1 choices by the exponential mechanism: the pair of columns whose counts per class are
                            furthest from independence given the class, among pairs that do not close a cycle
    pairs by class          noisy counts of the d - 1 chosen pairs per class, all in one answer

The published MST treats the label as one column of the tree, which leaves most columns without a direct link to it. Here every
clique holds the label: a tree-augmented naive Bayes model (Friedman, Geiger, Goldszmidt 1997), whose rows can be drawn given the
class. Without a class label it is the published tree.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Plan
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.measure.cells import learned_columns
from understudy.methods.marginals.by_class import (
    ByClass,
    announce_by_class,
    ask_by_class,
    cells_in_pairs,
    check_size,
    check_width,
    repeated,
)
from understudy.methods.marginals.junction import Clique, Measured, fit_model
from understudy.questions import Counts, MarginalChoice
from understudy.questions.counts import deviation
from understudy.recipe import Announced, Curator, Opening, check_positive
from understudy.schema import Codec, Schema

EDGES, PAIRS = "tree edges", "pairs by class"


@dataclass(kw_only=True, eq=False, repr=False)
class Mst(Estimator):
    """Options of MST."""

    method: ClassVar[str] = "mst"
    redrawn: ClassVar[str] = "understudy.methods.marginals.redraw:Redrawn"
    conditioned: ClassVar[str] = "understudy.methods.marginals.conditioned:Conditioned"
    by_person: ClassVar[bool] = True

    cells_share: float = 0.06  # shares of the squared privacy loss, see above
    marginals_share: float = 0.25
    edges_share: float = 0.08
    pairs_share: float = 0.5
    most_cells: int = 16  # cells of a column in pairs, at most
    noise_per_cell: float = 1.0  # rows in an average cell of a pair, in standard deviations of its noise
    steps: int = 200  # of mirror descent; more of them fit the noise, too

    def check_options(self) -> None:
        check_positive(
            cells_share=self.cells_share,
            marginals_share=self.marginals_share,
            edges_share=self.edges_share,
            pairs_share=self.pairs_share,
            noise_per_cell=self.noise_per_cell,
            steps=self.steps,
        )
        if self.most_cells < 2:
            raise UsageError(f"most_cells={self.most_cells} must be at least 2")

    def announce(self, schema: Schema) -> list[Announced]:
        columns = learned_columns(schema)
        check_width(self.method, columns)
        check_size(self.method, schema)
        releases = announce_by_class(schema, self.cells_share, self.marginals_share)
        if columns > 1:
            choices = partial(repeated, columns - 1)
            detail = f"{columns - 1} of {columns * (columns - 1) // 2} pairs"
            releases.append(Announced(EDGES, self.edges_share, choices, answers=columns - 1, detail=detail))
            releases.append(Announced(PAIRS, self.pairs_share, dpa.GaussianDpEvent, detail=f"{columns - 1} pairs"))
        return releases

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        noise, max_rows = plan.parameters["noise"], codec.schema.max_rows_per_unit
        columns = learned_columns(codec.schema)
        per_count = deviation(noise.get(PAIRS, 1.0), max(columns - 1, 1), max_rows, share=True)
        most = cells_in_pairs(counts, per_count, self.noise_per_cell, self.most_cells)
        start = ask_by_class(curator, codec, counts, plan, most)
        if columns > 1:
            chosen = spanning_tree(curator, start, noise[EDGES], max_rows)
            pairs = Counts.of_cliques(start.cells, tuple(start.sizes), chosen, noise[PAIRS], max_rows, share=True)
            found = curator.ask(PAIRS, pairs).value
            measured = [Measured(clique, part, per_count) for clique, part in zip(chosen, found, strict=True)]
            start = start._replace(measured=[*start.measured, *measured])
        return start.opening(codec, fit_model(start.sizes, start.measured, start.total, self.steps))


def spanning_tree(curator: Curator, start: ByClass, sigma: float, max_rows: int) -> list[Clique]:
    """Kruskal's algorithm with private choices: one edge after the other between parts that are not connected yet."""
    columns = len(start.nodes)
    shares = given_class(start)
    rows = np.maximum(start.measured[0].counts, 1.0)
    part = list(range(columns))
    chosen: list[Clique] = []
    candidates = [(0, a + 1, b + 1) for a in range(columns) for b in range(a + 1, columns)]
    independent = {clique: independence(rows, shares, clique) for clique in candidates}
    while len(chosen) < columns - 1:
        open_pairs = [clique for clique in candidates if part[clique[1] - 1] != part[clique[2] - 1]]
        estimates, ones = tuple(independent[clique] for clique in open_pairs), (1,) * len(open_pairs)
        choice = MarginalChoice(
            start.cells,
            tuple(start.sizes),
            tuple(open_pairs),
            estimates,
            (0,) * len(ones),
            ones,
            sigma,
            max_rows,
            share=True,
        )
        number = curator.ask(EDGES, choice).value
        _, a, b = open_pairs[number]
        kept, gone = part[a - 1], part[b - 1]
        part = [kept if label == gone else label for label in part]
        chosen.append(open_pairs[number])
    return chosen


def given_class(start: ByClass) -> list[np.ndarray]:
    """P(cell | class) of every column from its noisy counts."""
    found = []
    for item in start.measured[1:]:
        kept = np.maximum(item.counts, 0.0) + 1e-6
        found.append(kept / kept.sum(axis=1, keepdims=True))
    return found


def independence(rows: np.ndarray, shares: list[np.ndarray], clique: Clique) -> np.ndarray:
    """Whole-number counts of a pair per class if its columns were independent given the class."""
    _, a, b = clique
    return np.asarray(np.rint(np.einsum("c,ca,cb->cab", rows, shares[a - 1], shares[b - 1])).astype(np.int64))
