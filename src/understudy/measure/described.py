"""What the outcomes and cells of a column hold, in the column's own values: words for released counts.

A cell is a tuple of parts: single values, None for a missing one, and (first, last) for a range of numbers. Of whole numbers
both ends of a range belong to it; of other numbers the last one does not, but for the upper bound.
"""

from collections.abc import Iterable

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
    order = np.argsort(grouping.cell, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(grouping.cell, minlength=grouping.cells))[:-1])
    return tuple(tuple(_parts(node, column, own)) for own in parts)


def _parts(node: Node, column: Column, outcomes: np.ndarray) -> Iterable[Part]:
    if node.edges is None:
        return (column.outcomes[outcome] for outcome in outcomes.tolist())
    gap = node.gap
    found: list[Part] = [column.specials[outcome] for outcome in outcomes.tolist() if outcome < gap]
    own = outcomes[outcomes >= gap] - gap
    runs = np.split(own, np.flatnonzero(np.diff(own) > 1) + 1) if own.size else []
    for run in runs:
        found += _range(node, column, int(run[0]), int(run[-1]))
    return found


def _range(node: Node, column: Column, first: int, last: int) -> list[Part]:
    """The values from one interval to another."""
    assert node.edges is not None
    lower, upper = column.bounds
    ends = lower + np.asarray([node.edges[first], node.edges[last + 1]]) * (upper - lower)
    if column.kind in ("integer", "ordinal"):
        low, high = round(float(ends[0]) + 0.5), round(float(ends[1]) - 0.5)
        if column.kind == "ordinal":
            return list((column.categories or ())[low : high + 1])
        return [low] if low == high else [(low, high)]
    single = first == last and bool(single_values(node.edges, node.step)[first])
    middle = float(np.clip(0.5 * ends.sum(), lower, upper))
    if column.kind == "datetime":
        at = [moment(float(end), column.arrow_type, up=False) for end in (middle, *ends)]
        return [at[0]] if single else [(at[1], at[2])]
    low, high = np.clip(ends, lower, upper).tolist()
    return [float(f"{middle:.7g}")] if single else [(low, high)]
