"""What the outcomes and cells of a column hold, in the column's own values: words for released counts.

A cell is a tuple of parts: single values, None for a missing one, and (first, last) for a range of numbers. Of whole numbers
both ends of a range belong to it; of other numbers the last one does not, but for the upper bound.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from understudy.measure.cells import Grouping, Node, single_values
from understudy.released import Cell, Part
from understudy.schema import Codec, Column
from understudy.schema.columns import moment


def class_cells(codec: Codec) -> tuple[Cell, ...]:
    """Of the class."""
    return tuple((value,) for value in codec.class_values)


def outcome_cells(node: Node, column: Column) -> tuple[Cell, ...]:
    """Every outcome by itself."""
    return grouped_cells(node, column, Grouping(np.arange(node.outcomes), node.outcomes))


def grouped_cells(node: Node, column: Column, grouping: Grouping) -> tuple[Cell, ...]:
    """Outcomes as they are grouped; neighbouring ranges of one cell become one."""
    ends = np.cumsum(np.bincount(grouping.cell, minlength=grouping.cells)).tolist()
    order = np.argsort(grouping.cell, kind="stable").tolist()
    members = [order[first:last] for first, last in itertools.pairwise([0, *ends])]
    if node.edges is None:
        return tuple(tuple(column.outcomes[outcome] for outcome in own) for own in members)
    lower, upper = column.bounds
    axis = (lower + node.edges * (upper - lower)).tolist()
    single = single_values(node.edges, node.step).tolist()
    found = []
    for own in members:
        parts: list[Part] = [column.specials[outcome] for outcome in own if outcome < node.gap]
        for first, last in _runs([outcome - node.gap for outcome in own if outcome >= node.gap]):
            parts += _range(column, axis[first], axis[last + 1], first == last and single[first])
        found.append(tuple(parts))
    return tuple(found)


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """First and last of rising numbers that follow each other without a gap."""
    first = 0
    for place, number in enumerate(numbers, 1):
        if place == len(numbers) or numbers[place] > number + 1:
            yield numbers[first], number
            first = place


def _range(column: Column, begin: float, end: float, single: bool) -> list[Part]:
    """The values from one end to another."""
    lower, upper = column.bounds
    if column.kind in ("integer", "ordinal"):
        low, high = round(begin + 0.5), round(end - 0.5)
        if column.kind == "ordinal":
            return list((column.categories or ())[low : high + 1])
        return [low] if low == high else [(low, high)]
    middle, first, last = (min(max(value, lower), upper) for value in (0.5 * (begin + end), begin, end))
    if column.kind == "datetime":
        at = [moment(value, column.arrow_type, up=False) for value in (middle, begin, end)]
        return [at[0]] if single else [(at[1], at[2])]
    return [float(f"{middle:.7g}")] if single else [(first, last)]
