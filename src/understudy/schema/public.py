"""What the cells of a table say that its holder calls public: kinds, bounds, categories, gaps, the number of rows.

Read block by block like any other table; nothing is kept but what the draft states. Nothing here is private: `draft` comes
here with `public_data` only.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.schema.cells import UNREADABLE
from understudy.schema.columns import Column, text_column
from understudy.schema.estimates import usable_bounds, usable_categories
from understudy.schema.kinds import SORTS, cell_kind, decide
from understudy.schema.reading import Rows, open_table
from understudy.schema.schema import CLASS_KINDS, Schema
from understudy.schema.types import EXACT_INTEGERS

MOST_CATEGORIES = 200  # a longer list is free text or an identifier, and no reader would check it
_DAY = len("2020-12-31")


def coarse_types(table: object, names: Sequence[str]) -> dict[str, pa.DataType]:
    """The narrowest coarse type that all cells of a column fit: the votes of `kinds`, exact and without a threshold."""
    columns = tuple(text_column(name) for name in names)
    votes, longest = np.zeros((len(columns), len(SORTS)), np.int64), [0] * len(columns)
    for rows in open_table(table, Schema(columns=columns)).blocks() if columns else ():
        for number, column in enumerate(columns):
            for text in different(rows.keys(column)):
                votes[number, cell_kind(text)] += 1
                longest[number] = max(longest[number], len(text.strip()))
    dates = {True: pa.date32(), False: pa.timestamp("us")}
    types = {"boolean": pa.bool_(), "integer": pa.int64(), "continuous": pa.float64()}
    return {
        column.name: dates[size == _DAY] if kind == "datetime" else types.get(kind, pa.string())
        for column, kind, size in zip(columns, decide(votes, 0.0), longest, strict=True)
    }


def different(keys: pa.Array) -> list[str]:
    """The texts in a block, once each and without nulls."""
    found: list[str] = keys.cast(pa.large_string()).unique().drop_null().to_pylist()
    return found


@dataclass
class Seen:
    """What one column has shown so far."""

    column: Column
    gaps: bool = False
    low: float = np.inf
    high: float = -np.inf
    values: set[str] = field(default_factory=set)

    def add(self, rows: Rows) -> None:
        """Look at more rows."""
        if self.column.kind in ("continuous", "integer", "datetime"):
            numbers = rows.numbers(self.column)
            self.gaps |= bool(np.isnan(numbers).any())
            finite = numbers[np.isfinite(numbers)]
            self.low, self.high = min(self.low, finite.min(initial=np.inf)), max(self.high, finite.max(initial=-np.inf))
        elif self.column.kind in ("categorical", "boolean"):
            keys = rows.keys(self.column).cast(pa.large_string())
            self.gaps |= bool(keys.null_count or pc.any(pc.equal(keys, UNREADABLE)).as_py())
            if len(self.values) <= MOST_CATEGORIES:
                self.values.update(text for text in different(keys) if text != UNREADABLE)

    def stated(self, is_label: bool) -> Column:
        """The column with its bounds or categories, and whether cells are missing."""
        if self.column.kind == "identifier":
            return self.column
        column = replace(self.column, missing=self.gaps and not (is_label and self.column.kind in CLASS_KINDS))
        if column.kind == "boolean":
            return column
        if column.kind == "categorical":
            values = usable_categories(column, self.values, None)
            listed = values and len(self.values) <= MOST_CATEGORIES
            return replace(column, estimate=None, categories=tuple(sorted(values))) if listed else column
        if self.low > self.high:  # no number at all
            return column
        if column.kind == "integer" and max(abs(self.low), abs(self.high)) > EXACT_INTEGERS:
            return Column(name=column.name, kind="identifier", dtype=column.dtype)
        lower, upper = usable_bounds(column, float(self.low), float(self.high))
        return replace(column, estimate=None, lower=lower, upper=upper)


def stated(table: object, columns: Sequence[Column], label: str | None) -> tuple[dict[str, Column], int]:
    """The columns with everything that the cells say, and the number of rows."""
    seen, count = [Seen(column) for column in columns], 0
    for rows in open_table(table, Schema(columns=tuple(columns))).blocks() if columns else ():
        count += rows.count
        for one in seen:
            one.add(rows)
    return {one.column.name: one.stated(one.column.name == label) for one in seen}, count
