"""From encoded rows to cells: every column becomes a node with a few outcomes.

    categories, booleans            one outcome each; a missing category is one of them already
    ordinals, small integer ranges  one outcome per value (at most `LISTED`)
    other numbers                   intervals of nearly equal mass: two paid counts refine public cuts, which are finer towards
                                    the bounds and zero; integers are cut halfway between two, so that none sits on an edge
    missing numbers                 outcome 0 of their column

For dependence between columns outcomes are grouped into fewer cells: neighbouring intervals, or the rare categories, by released
counts. What is finer than a cell is drawn from the column's own released distribution within the cell.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Plan
from understudy.private import Curator
from understudy.questions import Counts, Step
from understudy.questions.categories import LARGEST_LIST
from understudy.questions.row_maps import Cuts, Label, LookUp, Outcomes, joined
from understudy.recipe import Announced
from understudy.schema import Codec, Column, Schema

LISTED = 32  # integer columns with at most so many values keep each value as an outcome
LEVELS = ("column cells 1", "column cells 2")
MOST_INTERVALS = 32
GRADE = 3.0  # next to a narrow cell the next is at most so many times as wide
FAR = 10.0  # cells so many times as wide as the typical one
STANDS_OUT = 3.5  # hold rows only where their count is so many standard deviations of its noise


@dataclass(frozen=True)
class Node:
    """One column. `edges` cut [0, 1] into the outcomes of a numeric column; None for categories."""

    column: str
    start: int  # first coordinate in an encoded row
    size: int  # outcomes without `missing`
    onehot: bool = False
    edges: np.ndarray | None = None
    missing: int | None = None  # coordinate of the missing flag of a numeric column
    points: bool = False  # outcomes are single values, not intervals
    share: np.ndarray | None = None  # of the rows, expected in each interval when it was cut

    @property
    def outcomes(self) -> int:
        return self.size + (self.missing is not None)

    @property
    def ordered(self) -> bool:
        return self.edges is not None

    def cell(self, grouping: "Grouping | None") -> Step:
        """Map of a row to this column's outcome, or to the cell that it is grouped into."""
        cell = np.arange(self.outcomes) if grouping is None else grouping.cell
        if self.edges is None:
            found: Step = Outcomes(np.asarray([self.start]), np.asarray([self.size if self.onehot else 1]))
            return found if grouping is None else LookUp(found, (cell,))
        missing = -1 if self.missing is None else self.missing
        cut = Cuts(np.asarray([self.start]), (self.edges[1:-1],), np.asarray([missing]))
        if self.missing is None:
            return cut if grouping is None else LookUp(cut, (cell,))
        return LookUp(cut, (cell[1:],), absent=float(cell[0]))  # outcome 0 is the missing value

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower end and length of every outcome in [0, 1]; a missing number is written as 1/2, as the codec does."""
        if self.edges is None:
            return np.zeros(self.outcomes), np.zeros(self.outcomes)
        base, span = self.edges[:-1], np.diff(self.edges)
        if self.points:
            base, span = np.linspace(0.0, 1.0, self.size) if self.size > 1 else np.zeros(1), np.zeros(self.size)
        if self.missing is not None:
            base, span = np.r_[0.5, base], np.r_[0.0, span]
        return base, span


def learned_columns(schema: Schema) -> int:
    """How many nodes a schema has besides its class label, before any estimate is made."""
    return len(schema.features)


def has_intervals(schema: Schema) -> bool:
    """Whether some column will be cut into intervals; bounds still to be estimated may turn out wide."""
    return any(value_count(column) == 0 for column in schema.features)


def value_count(column: Column) -> int:
    """How many outcomes a column has when each value is one; 0 if it is to be cut into intervals, as far as is known."""
    if column.kind in ("categorical", "boolean"):
        return len(column.outcomes) if column.resolved else LARGEST_LIST
    if column.kind == "ordinal":
        return len(column.categories or ())
    if column.kind != "integer" or not column.resolved:
        return 0
    values = round(column.bounds[1] - column.bounds[0]) + 1
    return values if values <= LISTED else 0


def announce_cells(schema: Schema, share: float) -> list[Announced]:
    """The two levels of counts that cut numeric columns, if there are any."""
    if not has_intervals(schema):
        return []
    details = ("equal cells of numeric columns", "cells of about equal mass of numeric columns")
    return [
        Announced(name, share / len(LEVELS), dpa.GaussianDpEvent, detail=detail)
        for name, detail in zip(LEVELS, details, strict=True)
    ]


def make_nodes(codec: Codec) -> list[Node]:
    """The nodes of a resolved schema; numeric columns that are not listed get their edges from `cut`."""
    nodes: list[Node] = []
    missing = {block.column: block.start for block in codec.blocks if block.part == "missing"}
    for block in codec.blocks:
        if block.part == "missing":
            continue
        if block.head != "numeric":
            size = 2 if block.head == "binary" else block.size
            nodes.append(Node(block.column, block.start, size, onehot=block.head == "onehot"))
            continue
        values = value_count(codec.schema.column(block.column))
        edges = halfway(values) if values else np.asarray([0.0, 1.0])
        nodes.append(
            Node(block.column, block.start, values, False, edges, missing.get(block.column), points=values > 0)
        )
    return nodes


def halfway(values: int) -> np.ndarray:
    """Edges halfway between the positions of so many equally spaced values, half a step beyond both ends."""
    return (np.arange(values + 1) - 0.5) / max(values - 1, 1)


def cut(curator: Curator, codec: Codec, nodes: list[Node], plan: Plan, intervals: int) -> list[Node]:
    """Ask twice for counts of intervals and give every wide numeric column its edges."""
    wide = [number for number, node in enumerate(nodes) if node.size == 0]
    if LEVELS[0] not in plan.parameters["noise"] or not wide:
        return nodes
    steps = [whole_step(codec.schema.column(nodes[number].column)) for number in wide]
    zeros = [place_of_zero(codec.schema.column(nodes[number].column)) for number in wide]
    drafts = [
        replace_edges(nodes[number], first_edges(step, zero, intervals))
        for number, step, zero in zip(wide, steps, zeros, strict=True)
    ]
    for name in LEVELS:
        question = Counts.of_cliques(
            cell_map(drafts, None),
            cells_of(drafts, codec.class_count),
            [(number + 1,) for number in range(len(drafts))],
            plan.parameters["noise"][name],
            codec.schema.max_rows_per_unit,
        )
        counts = curator.ask(name, question).value
        drafts = [
            recut(draft, settle(draft, part.astype(float), question.deviations[0]), step, intervals)
            for draft, part, step in zip(drafts, counts, steps, strict=True)
        ]
    found = list(nodes)
    for number, draft in zip(wide, drafts, strict=True):
        found[number] = draft
    return found


def whole_step(column: Column) -> float:
    """The distance of two neighbouring integers on the scale of the bounds; 0 for other numbers."""
    lower, upper = column.bounds
    return 1.0 / max(upper - lower, 1.0) if column.kind == "integer" else 0.0


def place_of_zero(column: Column) -> float | None:
    """Where the number 0 stands between the bounds, if it does: many columns crowd around it."""
    lower, upper = column.bounds
    return -lower / (upper - lower) if column.kind in ("integer", "continuous") and lower < 0 < upper else None


def replace_edges(node: Node, edges: np.ndarray, share: np.ndarray | None = None) -> Node:
    share = np.diff(edges) / (edges[-1] - edges[0]) if share is None else share
    return replace(node, size=len(edges) - 1, edges=edges, share=share)


def first_edges(step: float, zero: float | None, intervals: int) -> np.ndarray:
    """Equal cells, and ever finer ones towards both bounds and zero: public bounds may be far wider than the values.

    More cells cost nothing: a row falls into one of them. Encoded values are 32-bit floats, which are fine near the lower
    bound and coarse elsewhere.
    """
    halves = 0.5 ** np.arange(1, 31)
    coarse = halves[halves > 2.0**-20]
    edges = [np.linspace(0.0, 1.0, intervals + 1), halves, 1.0 - coarse]
    if zero is not None:
        edges += [zero - coarse, zero + coarse]
    every = np.concatenate(edges)
    return snap(every[(every >= 0.0) & (every <= 1.0)], step)


def snap(edges: np.ndarray, step: float) -> np.ndarray:
    """Rising edges from 0 to 1; for integers halfway between two of them, from half a step below to half a step above."""
    if step == 0.0:
        inner = np.unique(edges)
        inner = inner[(inner > 1e-12) & (inner < 1.0)]
        return np.concatenate([[0.0], inner, [1.0]])
    number = np.unique(np.floor(edges / step + 1e-9))
    number = number[(number >= 0) & (number < round(1.0 / step))]
    return np.concatenate([[-0.5 * step], (number + 0.5) * step, [1.0 + 0.5 * step]])


def settle(node: Node, counts: np.ndarray, noise: float) -> np.ndarray:
    """Rows in every outcome of a column cut into intervals, from noisy counts and from what its cuts let expect.

    A count is trusted by e^2 / (e^2 + noise^2), e being the larger of the expected and the (noise-lowered) counted rows. A cell
    much wider than the column's typical one has to stand out from the noise: otherwise a few rows of noise would be spread
    over the empty range up to a far bound.
    """
    if node.share is None or node.edges is None:
        return np.asarray(counts, float)
    first = int(node.missing is not None)
    own, widths = counts[first:], np.diff(node.edges)
    expected = node.share * max(float(own.sum()), 2.0 * noise * math.sqrt(len(own)))
    size = np.maximum(expected, own - 3.0 * noise)
    mass = np.maximum(expected + size**2 / (size**2 + noise**2) * (own - expected), 0.0)
    typical = typical_width(widths, mass)
    mass[(widths > FAR * typical) & (own < STANDS_OUT * noise)] = 0.0
    return np.r_[np.maximum(counts[:first], 0.0), mass]


def typical_width(widths: np.ndarray, mass: np.ndarray) -> float:
    """The width that half of the rows' cells do not exceed."""
    order = np.argsort(widths)
    reached = np.cumsum(mass[order])
    return float(widths[order[int(np.searchsorted(reached, 0.5 * reached[-1]))]])


def recut(node: Node, mass: np.ndarray, step: float, intervals: int) -> Node:
    """Cells of about equal mass, and where one is much wider than its neighbour, cells that grow from narrow to wide."""
    assert node.edges is not None
    own = mass[int(node.missing is not None) :]
    own = own if own.sum() > 0.0 else np.diff(node.edges)
    cdf = np.concatenate([[0.0], np.cumsum(own)]) / own.sum()
    edges = snap(np.interp(np.linspace(0.0, 1.0, intervals + 1), cdf, node.edges), step)
    edges = snap(graded(edges), step)
    share = np.diff(np.interp(edges, node.edges, cdf))
    return replace_edges(node, edges, share / share.sum())


def graded(edges: np.ndarray) -> np.ndarray:
    """More edges inside cells that are much wider than a neighbour, each new cell `GRADE` times as wide as the one before."""
    widths = np.diff(edges)
    more = [edges]
    for number, width in enumerate(widths):
        sides = [(widths[number - 1], 1.0)] if number else []
        sides += [(widths[number + 1], -1.0)] if number + 1 < len(widths) else []
        reach = width if len(sides) == 1 else 0.5 * width
        for narrow, sign in sides:
            count = math.ceil(math.log(max(width / narrow, 1.0), GRADE))
            away = narrow * np.cumsum(GRADE ** np.arange(1, count + 1))
            origin = edges[number] if sign > 0 else edges[number + 1]
            more.append(origin + sign * away[away < reach])
    return np.concatenate(more)


def interval_count(rows: float, deviation: float) -> int:
    """As many intervals as keep a count near the square of its noise: finer ones would be noise."""
    return int(np.clip(math.sqrt(max(rows, 1.0) / max(deviation, 1e-9)), 4, MOST_INTERVALS))


class Grouping(NamedTuple):
    """`cell[outcome]`: which cell an outcome belongs to; `cells` of them."""

    cell: np.ndarray
    cells: int


def group(node: Node, mass: np.ndarray, most: int, noise: float) -> Grouping:
    """At most `most` cells by released counts: neighbours of nearly equal mass, or common categories and the rest."""
    positive = np.maximum(mass, 0.0)
    if not node.ordered:
        common = np.argsort(-positive, kind="stable")[: most - 1 if node.size > most else most]
        common = common[positive[common] > 3.0 * noise] if node.size > 2 else common
        cell = np.full(node.size, -1)
        cell[np.sort(common)] = np.arange(len(common))
        rest = cell < 0
        cell[rest] = len(common)
        return Grouping(cell, len(common) + bool(rest.any()))
    offset = int(node.missing is not None)
    own = positive[offset:] + 1e-9
    middle = (np.cumsum(own) - 0.5 * own) / own.sum()
    _, cell = np.unique(np.minimum((middle * most).astype(int), most - 1), return_inverse=True)
    return Grouping(np.r_[np.zeros(offset, int), cell + offset], int(cell.max()) + 1 + offset)


def cumulative(weights: np.ndarray, width: int) -> np.ndarray:
    """Rows of cumulative probabilities, padded with 1; a row without weight is uniform."""
    positive = np.maximum(np.asarray(weights, np.float64), 0.0)
    empty = positive.sum(axis=1) <= 0.0
    positive[empty] = 1.0
    sums = np.cumsum(positive, axis=1)
    padded = np.ones((len(positive), width))
    padded[:, : positive.shape[1]] = sums / sums[:, -1:]
    last = positive.shape[1] - 1 - np.argmax(positive[:, ::-1] > 0.0, axis=1)
    padded[np.arange(width)[None, :] >= last[:, None]] = 1.0
    return padded


def cell_map(nodes: list[Node], groups: list[Grouping] | None) -> Step:
    """Map of a row to cells: node 0 is the class, then the columns."""
    each = [None] * len(nodes) if groups is None else groups
    return joined(Label(), *(node.cell(grouping) for node, grouping in zip(nodes, each, strict=True)))


def cells_of(nodes: list[Node], classes: int) -> tuple[int, ...]:
    """Outcomes of the class and of every column."""
    return (classes, *(node.outcomes for node in nodes))
