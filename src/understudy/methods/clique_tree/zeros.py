"""Structural zeros: cells of the model that no row can fall into, because the schema's constraints forbid it.

A constraint is a public fact. Where it forbids every combination of values that a combination of cells holds, that combination
gets the fixed factor 0 in the clique that holds its columns, so that

- noisy counts there move nothing: what they were is left out of the fit;
- the rows that the noise would have put there go where rows can be, in the proportions of the model.

What one cell holds is told by few points: both ends of every interval, and the numbers at which some condition begins or ends to
hold, with their neighbours. Between two of them no condition on a single column changes, so a combination of cells is possible
exactly if a combination of points is. (Orders are looked at pair by pair, where the ends decide; sums are kept in samples only.)

Columns that no clique holds together are linked if the tree has room for it. All of it is a function of the schema and of
released cells: post-processing.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from understudy.methods.clique_tree.descent import Measured
from understudy.methods.clique_tree.tree import Link
from understudy.methods.marginals.generator import VALUE, coordinates
from understudy.methods.marginals.junction import Clique, Graph
from understudy.schema import Codec
from understudy.schema.constraints import Check, Combination, Numbers, Rising, Rule, numbers_in
from understudy.schema.values import quantum

MOST_POINTS = 4_000_000  # combinations of points that are tried for one table
INSIDE = 1e-6  # of an interval: its ends, as drawn values see them
BESIDE = 1e-9  # of a column's range: the next number where any number is allowed


class Side(NamedTuple):
    """A node of the model: its column's number (0: the class) and the cell of each of the column's outcomes."""

    column: int
    cell: np.ndarray
    cells: int


class Points(NamedTuple):
    """Values of one column that stand for all of them, and the outcome that each belongs to."""

    outcome: np.ndarray
    values: np.ndarray
    null: np.ndarray


class Zeros:
    """What the constraints of a schema forbid, for columns whose outcomes begin at `base` and reach over `span`."""

    def __init__(self, codec: Codec, intervals: Mapping[int, tuple[np.ndarray, np.ndarray]]) -> None:
        schema = codec.schema
        number = {block.column: node for block, node in zip(codec.blocks, block_nodes(codec), strict=True)}
        if codec.class_count > 1 and schema.label is not None:
            number[schema.label] = 0
        self.rules: list[tuple[Clique, Check]] = []
        for check in pairwise(schema.checks):
            if all(column.name in number for column in check.columns):
                self.rules.append((tuple(number[column.name] for column in check.columns), check))
        wanted = {own for columns, _ in self.rules for own in columns}
        names = {own: name for name, own in number.items()}
        self.points = {
            own: points_of(codec, own, names[own], intervals.get(own), [check for _, check in self.rules])
            for own in wanted
        }

    def possible(self, sides: Sequence[Side]) -> np.ndarray | None:
        """1 for combinations of these nodes' cells that rows can have; None where all are possible, as far as is known."""
        place = {side.column: axis for axis, side in enumerate(sides)}
        found: np.ndarray | None = None
        for columns, check in self.rules:
            if not set(columns) <= set(place):
                continue
            axes = [place[column] for column in columns]
            own = self._tried(check, columns, [sides[axis] for axis in axes])
            if own is None or own.all():
                continue
            order = np.argsort(axes)
            shape = [sides[axis].cells if axis in axes else 1 for axis in range(len(sides))]
            aligned = own.transpose(order).reshape(shape)
            found = aligned if found is None else found & aligned
        return None if found is None else np.broadcast_to(found, [side.cells for side in sides]).astype(float)

    def _tried(self, check: Check, columns: Clique, sides: Sequence[Side]) -> np.ndarray | None:
        points = [self.points[column] for column in columns]
        if math.prod(len(own.outcome) for own in points) > MOST_POINTS:
            return None
        places = np.meshgrid(*(np.arange(len(own.outcome)) for own in points), indexing="ij")
        rows = {
            column.name: Numbers(own.values[at.ravel()], own.null[at.ravel()])
            for column, own, at in zip(check.columns, points, places, strict=True)
        }
        cell = np.ravel_multi_index(
            [side.cell[own.outcome][at.ravel()] for side, own, at in zip(sides, points, places, strict=True)],
            [side.cells for side in sides],
        )
        size = math.prod(side.cells for side in sides)
        held = np.bincount(cell, ~check.broken(rows), minlength=size) > 0
        empty = np.bincount(cell, minlength=size) == 0
        return np.asarray(held | empty).reshape([side.cells for side in sides])

    def without(self, item: Measured, sides: Sequence[Side]) -> Measured:
        """Counts of a pair without what stands in impossible cells."""
        possible = self.possible([sides[node] for node in item.nodes]) if len(item.nodes) > 1 else None
        return item if possible is None else item._replace(counts=item.counts * possible, possible=possible)

    def links(self, sides: Sequence[Side], tables: Sequence[Clique], fixed: Sequence[Link], most: int) -> list[Link]:
        """Fixed factors of the cliques that hold a constraint's columns; where none does, of their finest nodes, if the tree
        keeps to `most` cells with them."""
        nodes: dict[int, list[int]] = {}
        for place, side in enumerate(sides):
            nodes.setdefault(side.column, []).append(place)
        sizes, found = [side.cells for side in sides], list[Link]()
        for columns in dict.fromkeys(tuple(sorted(columns)) for columns, _ in self.rules):
            if any(column not in nodes for column in columns):
                continue
            graph = Graph(sizes, [*tables, *(link.nodes for link in (*fixed, *found))])
            held = {
                tuple(max(own) for own in inside)
                for scope in graph.scope.values()
                if all(inside := [set(nodes[column]) & set(scope) for column in columns])
            }
            finest = tuple(nodes[column][-1] for column in columns)
            if not held and Graph(sizes, [*tables, *(link.nodes for link in (*fixed, *found)), finest]).cells <= most:
                held = {finest}
            for clique in sorted(held):
                own = self.possible([sides[node] for node in clique])
                if own is not None:
                    found.append(Link(clique, own))
        return found


def pairwise(checks: Sequence[Check]) -> list[Check]:
    """Rules and combinations as they are, orders as orders of two columns; sums are left out."""
    found: list[Check] = []
    for check in checks:
        if isinstance(check, Rising):
            found += [Rising(pair) for pair in combinations(check.columns, 2)]
        elif isinstance(check, Rule | Combination):
            found.append(check)
    return found


def block_nodes(codec: Codec) -> list[int]:
    """The column's number of every block of an encoded row."""
    nodes, _ = coordinates(codec)
    return [nodes[block.start] for block in codec.blocks]


def points_of(
    codec: Codec, number: int, name: str, interval: tuple[np.ndarray, np.ndarray] | None, checks: Sequence[Check]
) -> Points:
    """Ends of every outcome, as rows have them, and what lies between them and matters to a constraint."""
    column = codec.schema.column(name)
    if number == 0 or interval is None:
        outcome = np.arange(codec.class_count)
        values, null = decoded(codec, name, np.zeros((len(outcome), codec.width), np.float32), outcome)
        return Points(outcome, values, null)
    base, span = interval
    each = np.arange(len(base))
    ends = [decoded(codec, name, encoded(codec, number, each, base + at * span)) for at in (INSIDE, 1.0 - INSIDE)]
    found = [Points(each, *end) for end in ends]
    (low, none), (high, _) = ends
    for value in critical(checks, name) if column.kind not in ("categorical", "boolean") else ():
        step = quantum(column) or BESIDE * (column.bounds[1] - column.bounds[0])
        for one in (value - step, value, value + step):
            inside = np.flatnonzero(~none & (low < one) & (one < high))
            found.append(Points(inside, np.full(len(inside), one), np.zeros(len(inside), bool)))
    return Points(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def critical(checks: Sequence[Check], name: str) -> list[float]:
    """Numbers at which a condition on this column begins or ends to hold."""
    found: set[float] = set()
    for check in checks:
        if isinstance(check, Rule):
            own = [one for one in (*check.when, *check.then) if one.column.name == name]
            found |= {end for one in own for pair in one.ranges for end in pair if math.isfinite(end)}
        if isinstance(check, Combination):
            found |= {
                value
                for column, *values in zip(check.columns, *check.numbers, strict=True)
                if column.name == name
                for value in values
            }
    return sorted(found)


def encoded(codec: Codec, number: int, outcome: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Rows that have these outcomes of one column, or numbers inside them; whatever in the others."""
    nodes, codes = (np.asarray(part) for part in coordinates(codec))
    rows = np.zeros((len(outcome), codec.width), np.float32)
    for place in np.flatnonzero(nodes == number):
        rows[:, place] = value if codes[place] == VALUE else outcome == codes[place]
    return rows


def decoded(
    codec: Codec, name: str, rows: np.ndarray, classes: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """A column of encoded rows as numbers, and where there is none."""
    table = codec.decode_arrow(rows, np.zeros(len(rows), np.int32) if classes is None else classes.astype(np.int32))
    own = numbers_in(table, [codec.schema.column(name)])[name]
    return own.values, own.null
