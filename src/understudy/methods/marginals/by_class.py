"""What `mst` and `aim` ask first: the counts of every column's outcomes per class (`understudy.measure.one_way`).

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
from understudy.measure.cells import MOST, Grouping, Node, learned_columns, value_count
from understudy.measure.decimals import found_decimals
from understudy.measure.described import class_cells, grouped_cells, outcome_cells
from understudy.measure.grouping import cell_map, group
from understudy.measure.one_way import announce_one_way, ask_one_way
from understudy.methods.marginals.assemble import Conditional, assemble
from understudy.methods.marginals.generator import MarginalGenerator
from understudy.methods.marginals.junction import Measured
from understudy.methods.registry import METHODS
from understudy.questions import Step
from understudy.recipe import Announced, Curator, Opening
from understudy.released import Released
from understudy.schema import Codec, Schema

BY_CLASS = "marginals by class"
MOST_COUNTS = 20_000_000  # noisy counts that one answer may hold: half a minute of exact noise for every two million


def announce_by_class(schema: Schema, cells_share: float, marginals_share: float) -> list[Announced]:
    """The answers above with their weights."""
    return announce_one_way(schema, cells_share, marginals_share, BY_CLASS, "outcomes per class")


class ByClass(NamedTuple):
    """What a marginal method knows after its first answers; node 0 is the class."""

    nodes: list[Node]
    groups: list[Grouping]
    masses: list[np.ndarray]  # estimated rows of outcomes, all classes together
    sizes: list[int]
    total: float
    measured: list[Measured]
    released: list[np.ndarray]  # counts of outcomes per class, as released
    noise: float  # of each of these counts

    @property
    def cells(self) -> Step:
        """Map of a row to its cells, as they are grouped."""
        return cell_map(self.nodes, self.groups)

    def opening(self, codec: Codec, drawn: list[Conditional]) -> Opening:
        """Tables of the model, and what draws from them."""
        network = assemble(self.nodes, self.groups, self.masses, drawn)
        found = found_decimals(self.nodes)
        return Opening(MarginalGenerator.of(network, codec), network, released=self.kept(codec), decimals=found)

    def kept(self, codec: Codec) -> tuple[Released, ...]:
        """Counts of outcomes per class as they were released, and what the model was fitted to."""
        names = [codec.schema.label or "", *(node.column for node in self.nodes)]
        columns = [codec.schema.column(node.column) for node in self.nodes]
        label, people = class_cells(codec), codec.schema.unit is not None
        each = zip(self.nodes, columns, self.released, strict=True)
        counts = [
            Released.of(
                (0, number),
                names,
                part,
                self.noise,
                cells=(label, outcome_cells(node, column)),
                fitted=False,
                people=people,
            )
            for number, (node, column, part) in enumerate(each, 1)
        ]
        words = [label, *map(grouped_cells, self.nodes, columns, self.groups)]
        for item in self.measured:
            own = () if len(item.clique) == 2 and item.clique[0] == 0 else tuple(words[node] for node in item.clique)
            counts.append(Released.of(item.clique, names, item.counts, item.deviation, cells=own, people=people))
        return tuple(counts)


def ask_by_class(curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan, most: int) -> ByClass:
    """Counts of every column's outcomes per class, grouped into at most `most` cells."""
    total, classes = float(counts.sum()), codec.class_count
    deviation = plan.parameters["noise"].get("class histogram", 1e-3)
    measured = [Measured((0,), np.asarray(counts, float), deviation)]
    nodes, _, released, masses, spread = ask_one_way(curator, codec, total, plan, BY_CLASS, by_class=True, share=True)
    groups = [group(node, mass, most, spread) for node, mass in zip(nodes, masses, strict=True)]
    for number, (node, part, grouping, mass) in enumerate(zip(nodes, released, groups, masses, strict=True), 1):
        kept = np.flatnonzero((mass > 0.0) | (node.share is None))  # not the noise of outcomes that hold no row
        coarse = np.zeros((classes, grouping.cells))
        np.add.at(coarse.T, grouping.cell[kept], part.T[kept])
        merged = max(len(kept) / grouping.cells, 1.0)  # counts added up: their noise adds up too
        measured.append(Measured((0, number), coarse, spread * math.sqrt(merged / classes)))
    sizes = [classes, *(g.cells for g in groups)]
    return ByClass(nodes, groups, masses, sizes, total, measured, released, spread / math.sqrt(classes))


def cells_in_pairs(counts: np.ndarray, deviation: float, noise_per_cell: float, most: int) -> int:
    """So many that an average cell of a pair and a class stands out from its noise."""
    average = float(counts.sum()) / (len(counts) * noise_per_cell * deviation)
    return int(np.clip(math.sqrt(max(average, 0.0)), 2, most))


def repeated(times: int, sigma: float) -> dpa.DpEvent:
    """The same Gaussian answer so many times."""
    event = dpa.GaussianDpEvent(sigma)
    return event if times == 1 else dpa.SelfComposedDpEvent(event, times)


def check_width(method: str, columns: int) -> None:
    """UsageError for tables that are wider than the registry says the method takes."""
    most = METHODS[method].most_columns
    if columns > most:
        raise UsageError(
            f"{method} takes up to {most} columns and the schema has {columns}: choosing among "
            f"{columns * (columns - 1) // 2:,} pairs would be slow and mostly noise; use another method, or drop columns"
        )


def check_size(method: str, schema: Schema, most: int = MOST_COUNTS) -> None:
    """Refuse before a row is read what cannot fit: counts of all outcomes per class, the smallest model (two cells a column)."""
    label = schema.column(schema.label) if schema.label_kind in ("binary", "multiclass") and schema.label else None
    classes = len(label.outcomes) if label is not None and label.resolved else 1
    outcomes = sum(value_count(column) or MOST for column in schema.features)
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
