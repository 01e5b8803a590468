"""What `mst` and `aim` ask first: cells for every column, and the counts of every column's outcomes per class.

    column cells 1, 2       where to cut numeric columns
    marginals by class      noisy counts of every column's outcomes per class, all in one answer

Node 0 is the class and belongs to all of these marginals, so that every column has a direct link to the label.
"""

import math
from typing import NamedTuple

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Plan
from understudy.errors import UsageError
from understudy.measure.cells import (
    MOST_INTERVALS,
    Grouping,
    Node,
    announce_cells,
    cell_map,
    cells_of,
    cut,
    group,
    interval_count,
    learned_columns,
    make_nodes,
    settle,
    value_count,
)
from understudy.methods.marginals.assemble import Conditional, assemble
from understudy.methods.marginals.generator import MarginalGenerator
from understudy.methods.marginals.junction import Clique, Measured
from understudy.private import Curator
from understudy.questions import Counts, Step
from understudy.questions.counts import deviation as deviation_of
from understudy.recipe import Announced, Opening
from understudy.schema import Codec, Schema

BY_CLASS = "marginals by class"
MOST_COUNTS = 20_000_000  # noisy counts that one answer may hold: half a minute of exact noise for every two million


def announce_start(schema: Schema, cells_share: float, marginals_share: float) -> list[Announced]:
    columns = learned_columns(schema)
    if columns == 0:
        return []
    detail = f"outcomes of {columns} column{'s' if columns > 1 else ''} per class"
    counts = Announced(BY_CLASS, marginals_share, dpa.GaussianDpEvent, detail=detail)
    return [*announce_cells(schema, cells_share), counts]


class Start(NamedTuple):
    """What a marginal method knows after its first answers; node 0 is the class."""

    nodes: list[Node]
    groups: list[Grouping]
    masses: list[np.ndarray]  # noisy counts of outcomes, all classes together
    sizes: list[int]
    total: float
    measured: list[Measured]

    @property
    def cells(self) -> Step:
        """Map of a row to its cells, as they are grouped."""
        return cell_map(self.nodes, self.groups)

    def opening(self, codec: Codec, drawn: list[Conditional]) -> Opening:
        """Tables of the model, and what draws from them."""
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
    per_count = deviation_of(noise[BY_CLASS], len(nodes), max_rows)
    nodes = cut(curator, codec, nodes, plan, interval_count(total, per_count * math.sqrt(classes)))
    cliques: list[Clique] = [(0, number + 1) for number in range(len(nodes))]
    question = Counts.of_cliques(cell_map(nodes, None), cells_of(nodes, classes), cliques, noise[BY_CLASS], max_rows)
    found = [part.astype(float) for part in curator.ask(BY_CLASS, question).value]
    spread = per_count * math.sqrt(classes)
    masses = [settle(node, part.sum(axis=0), spread) for node, part in zip(nodes, found, strict=True)]
    groups = [group(node, mass, most, spread) for node, mass in zip(nodes, masses, strict=True)]
    sizes = [classes, *(grouping.cells for grouping in groups)]
    for clique, part, grouping, mass, node in zip(cliques, found, groups, masses, nodes, strict=True):
        kept = np.flatnonzero((mass > 0.0) | (node.share is None))  # not the noise of outcomes that hold no row
        coarse = np.zeros((classes, grouping.cells))
        np.add.at(coarse.T, grouping.cell[kept], part.T[kept])
        merged = len(kept) / grouping.cells  # counts added up: their noise adds up too
        measured.append(Measured(clique, coarse, per_count * math.sqrt(max(merged, 1.0))))
    return Start(nodes, groups, masses, sizes, total, measured)


def cells_in_pairs(counts: np.ndarray, deviation: float, noise_per_cell: float, most: int) -> int:
    """So many that an average cell of a pair and a class stands out from its noise."""
    average = float(counts.sum()) / (len(counts) * noise_per_cell * deviation)
    return int(np.clip(math.sqrt(max(average, 0.0)), 2, most))


def repeated(times: int, sigma: float) -> dpa.DpEvent:
    event = dpa.GaussianDpEvent(sigma)
    return event if times == 1 else dpa.SelfComposedDpEvent(event, times)


def check_width(method: str, columns: int, most: int) -> None:
    if columns > most:
        raise UsageError(
            f"{method} takes up to {most} columns and the schema has {columns}: choosing among "
            f"{columns * (columns - 1) // 2:,} pairs would be slow and mostly noise; use another method, or drop columns"
        )


def check_size(method: str, schema: Schema, most: int = MOST_COUNTS) -> None:
    """Refuse before a row is read what cannot fit: counts of all outcomes per class, the smallest model (two cells a column)."""
    label = schema.column(schema.label) if schema.label_kind in ("binary", "multiclass") and schema.label else None
    classes = len(label.outcomes) if label is not None and label.resolved else 1
    outcomes = sum(value_count(column) or MOST_INTERVALS for column in schema.features)
    smallest = classes * (2 * learned_columns(schema) + 4)
    if classes * outcomes > MOST_COUNTS:
        raise UsageError(
            f"{method} would count {outcomes:,} outcomes for each of {classes:,} classes, more than {MOST_COUNTS:,} counts; "
            "list fewer categories (other=true collects the rest) or fit without a label"
        )
    if smallest > most:
        raise UsageError(
            f"{method} needs a model of at least {smallest:,} cells for {learned_columns(schema)} columns and {classes:,} "
            f"classes, and model_cells={most:,}; raise model_cells, drop columns, or use another method"
        )
