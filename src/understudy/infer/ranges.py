"""Ranges of a number as groups: those that are asked for (`by age at 40, 65`), or the cells that the model released.

A model counts a number in cells, within which it knows no difference. So the groups of `by age` are cells of the released table
that counts `age` together with most of what is asked about (as the model was fitted to it, if that is kept), neighbours joined
until there are at most `MOST` of about as many rows each, and of codes one group each. Groups of other ends share cells with each
other, which the answer says.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from understudy.artifact import Model
from understudy.errors import UsageError
from understudy.infer.codes import OfSpecials
from understudy.infer.condition import Between, Condition, between
from understudy.infer.question import Question
from understudy.released import Part, Released
from understudy.schema import Column

MOST = 8  # groups, besides those of codes


def groups(question: Question, model: Model) -> list[Condition]:
    """The groups of `by` where it names a column of numbers or dates, each as a condition."""
    assert question.by is not None
    column = model.resolved.column(question.by)
    if question.cuts:
        found = between(column.name, question.cuts)
    else:
        found = _released(column, question, model)
    places = {place: code for place, code in enumerate(column.specials) if code is not None}
    codes = [OfSpecials(column.name, "=", code, column, frozenset([place])) for place, code in places.items()]
    return [*codes, *found]


def _released(column: Column, question: Question, model: Model) -> list[Between]:
    tables = [one for one in model.released if one.cells and column.name in one.columns and _ranges(one, column)]
    if not tables or column.kind == "datetime":
        raise UsageError(
            f"question: by {column.name!r} needs the ends of its groups, e.g. by {column.name} at {_example(column)}"
            + ("" if column.kind == "datetime" else f"; method {model.method!r} counted it in no cells of its own")
        )
    wanted = set(question.columns)
    best = max(tables, key=lambda one: (len(wanted & one.named), one.fitted, -len(one.named)))
    ranges, mass = _ranges(best, column), _mass(best, column)
    order = sorted(range(len(ranges)), key=lambda place: ranges[place])
    lows, whole = [ranges[place][0] for place in order], column.kind == "integer"
    firsts = _joined(np.maximum(np.asarray([mass[place] for place in order]), 0.0))
    starts = [lows[place] for place in firsts]
    ends = [low - 1 if whole else low for low in starts[1:]] + [max(high for _, high in ranges)]
    last = len(starts) - 1
    return [
        Between(column.name, "in", (low, high), closed=whole or place == last)
        for place, (low, high) in enumerate(zip(starts, ends, strict=True))
    ]


def _ranges(table: Released, column: Column) -> list[tuple[float, float]]:
    """The range of every cell of numbers, from its first value to its last; none where cells cannot be told apart as ranges."""
    found = []
    for cell in table.cells[table.columns.index(column.name)]:
        parts = [part if isinstance(part, tuple) else (part, part) for part in cell if not _special(part, column)]
        if parts and len(parts) < len(cell):  # codes and numbers in one
            return []
        if parts:
            found.append((min(low for low, _ in parts), max(high for _, high in parts)))
    rising = sorted(found)
    return found if all(one[1] <= other[0] for one, other in itertools.pairwise(rising)) else []


def _mass(table: Released, column: Column) -> list[float]:
    """The released count of each of these cells."""
    axis = table.columns.index(column.name)
    counts = table.values.sum(axis=tuple(other for other in range(table.values.ndim) if other != axis))
    cells = zip(table.cells[axis], counts.tolist(), strict=True)
    return [count for cell, count in cells if not _special(cell[0], column)]


def _special(part: Part, column: Column) -> bool:
    """A code or a gap, not a number or a range of numbers."""
    return part is None or (not isinstance(part, tuple) and part in column.codes)


def _joined(mass: np.ndarray) -> Sequence[int]:
    """The first cell of each group of neighbours."""
    if len(mass) <= MOST:
        return range(len(mass))
    before = (np.cumsum(mass) - mass) / max(float(mass.sum()), 1e-9)
    return sorted({0, *(int(np.argmin(np.abs(before - part / MOST))) for part in range(1, MOST))})


def _example(column: Column) -> str:
    if column.kind == "datetime":
        return str(column.lower)[:10] + ", " + str(column.upper)[:10]
    low, high = column.bounds
    return f"{low + (high - low) / 3:.3g}, {low + 2 * (high - low) / 3:.3g}"
