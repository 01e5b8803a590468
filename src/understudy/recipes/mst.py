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

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Plan
from understudy.errors import UsageError
from understudy.estimator import Announced, Estimator, Opening, check_positive
from understudy.generators.marginal_model import MarginalGenerator
from understudy.private import Curator
from understudy.private.mechanisms.exponential_choice import ExponentialChoice
from understudy.private.mechanisms.marginal_counts import MarginalCounts
from understudy.recipes.cells import (
    Grouping,
    Node,
    announce_cells,
    assemble,
    cell_map,
    cut,
    group,
    interval_count,
    learned_columns,
    make_nodes,
)
from understudy.recipes.tree import Clique, Measured, fit_tree
from understudy.schema import Codec, Schema

BY_CLASS, EDGES, PAIRS = "marginals by class", "tree edges", "pairs by class"
MOST_COLUMNS = 128


@dataclass(kw_only=True, eq=False, repr=False)
class Mst(Estimator):
    method: ClassVar[str] = "mst"

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
        releases = announce_cells(schema, self.cells_share)
        if columns:
            detail = f"outcomes of {columns} column{'s' if columns > 1 else ''} per class"
            releases.append(Announced(BY_CLASS, self.marginals_share, dpa.GaussianDpEvent, detail=detail))
        if columns > 1:
            choices = partial(repeated, columns - 1)
            detail = f"{columns - 1} of {columns * (columns - 1) // 2} pairs"
            releases.append(Announced(EDGES, self.edges_share, choices, answers=columns - 1, detail=detail))
            releases.append(Announced(PAIRS, self.pairs_share, dpa.GaussianDpEvent, detail=f"{columns - 1} pairs"))
        return releases

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        noise, max_rows = plan.parameters["noise"], codec.schema.max_rows_per_unit
        columns = learned_columns(codec.schema)
        pairs = MarginalCounts(noise.get(PAIRS, 1.0), max_rows, max(columns - 1, 1))
        start = ask_start(curator, codec, counts, plan, self.cells_in_pairs(counts, pairs.deviation))
        if columns > 1:
            choice = ExponentialChoice(noise[EDGES], max_rows)
            chosen = spanning_tree(curator, choice, start)
            found = curator.marginal_counts(PAIRS, pairs, chosen).value
            measured = [Measured(clique, part, pairs.deviation) for clique, part in zip(chosen, found, strict=True)]
            start = start._replace(measured=[*start.measured, *measured])
        return start.opening(codec, self.steps)

    def cells_in_pairs(self, counts: np.ndarray, deviation: float) -> int:
        """So many that an average cell of a pair and a class stands out from its noise."""
        average = float(counts.sum()) / (len(counts) * self.noise_per_cell * deviation)
        return int(np.clip(math.sqrt(max(average, 0.0)), 2, self.most_cells))

    def advice(self, schema: Schema, settings: dict[str, Any], factor: float, rows: int | None) -> list[str]:
        return []


class Start(NamedTuple):
    """What a marginal method knows after its first answers; node 0 is the class."""

    nodes: list[Node]
    groups: list[Grouping]
    masses: list[np.ndarray]  # noisy counts of outcomes, all classes together
    sizes: list[int]
    total: float
    measured: list[Measured]

    def opening(self, codec: Codec, steps: int) -> Opening:
        """Estimate, and turn the model into tables to draw from."""
        drawn = fit_tree(self.sizes, self.measured, self.total, steps)
        network = assemble(self.nodes, self.groups, self.masses, drawn)
        return Opening(MarginalGenerator.of(network, codec), network)


def ask_start(curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan, most: int) -> Start:
    """Cells, and the counts of every column's outcomes per class."""
    noise, max_rows = plan.parameters["noise"], codec.schema.max_rows_per_unit
    total, classes = float(counts.sum()), codec.class_count
    nodes = make_nodes(codec)
    deviation = noise.get("class histogram", 1e-3) * max_rows
    measured = [Measured((0,), np.asarray(counts, float), deviation)]
    if not nodes:
        return Start([], [], [], [classes], total, measured)
    mechanism = MarginalCounts(noise[BY_CLASS], max_rows, len(nodes))
    nodes = cut(curator, codec, nodes, plan, interval_count(total, mechanism.deviation * math.sqrt(classes)))
    curator.discretise(cell_map(nodes, None), [classes, *(node.outcomes for node in nodes)])
    cliques: list[Clique] = [(0, number + 1) for number in range(len(nodes))]
    found = [part.astype(float) for part in curator.marginal_counts(BY_CLASS, mechanism, cliques).value]
    masses = [part.sum(axis=0) for part in found]
    spread = mechanism.deviation * math.sqrt(classes)
    groups = [group(node, mass, most, spread) for node, mass in zip(nodes, masses, strict=True)]
    sizes = [classes, *(grouping.cells for grouping in groups)]
    curator.discretise(cell_map(nodes, groups), sizes)
    for clique, part, grouping in zip(cliques, found, groups, strict=True):
        coarse = np.zeros((classes, grouping.cells))
        np.add.at(coarse.T, grouping.cell, part.T)
        merged = len(grouping.cell) / grouping.cells  # counts added up: their noise adds up too
        measured.append(Measured(clique, coarse, mechanism.deviation * math.sqrt(merged)))
    return Start(nodes, groups, masses, sizes, total, measured)


def spanning_tree(curator: Curator, choice: ExponentialChoice, start: Start) -> list[Clique]:
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
        estimates = [independent[clique] for clique in open_pairs]
        number = curator.choose_marginal(EDGES, choice, open_pairs, estimates, [0] * len(open_pairs)).value
        _, a, b = open_pairs[number]
        kept, gone = part[a - 1], part[b - 1]
        part = [kept if label == gone else label for label in part]
        chosen.append(open_pairs[number])
    return chosen


def given_class(start: Start) -> list[np.ndarray]:
    """P(cell | class) of every column from its noisy counts."""
    found = []
    for item in start.measured[1:]:
        kept = np.maximum(item.counts, 0.0) + 1e-6
        found.append(kept / kept.sum(axis=1, keepdims=True))
    return found


def independence(rows: np.ndarray, shares: list[np.ndarray], clique: Clique) -> np.ndarray:
    """Whole-number counts of a pair per class if its columns were independent given the class."""
    _, a, b = clique
    return np.rint(np.einsum("c,ca,cb->cab", rows, shares[a - 1], shares[b - 1])).astype(np.int64)


def repeated(times: int, sigma: float) -> dpa.DpEvent:
    event = dpa.GaussianDpEvent(sigma)
    return event if times == 1 else dpa.SelfComposedDpEvent(event, times)


def check_width(method: str, columns: int) -> None:
    if columns > MOST_COLUMNS:
        raise UsageError(
            f"{method} takes up to {MOST_COLUMNS} columns and the schema has {columns}: choosing among "
            f"{columns * (columns - 1) // 2:,} pairs would be slow and mostly noise; use another method, or drop columns"
        )
