"""A table in the form metrics can count: one array per column, odd contents already named.

    numeric kinds (continuous, integer, datetime)   float64, NaN = missing, infinities kept (they are violations)
    discrete kinds (categorical, ordinal, boolean)  int32 index into the schema's categories, -1 missing, -2 unknown

Values come from the one reader (`schema.reading`), so a cell means the same here as to the fit. Identifiers are left out:
they are regenerated, never learned. Nothing here raises on contents; a column that a frame lacks is all missing and is
listed in `absent`. Files are read block by block and dropped before anything is computed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy.schema import Column, Schema
from understudy.schema.columns import OTHER
from understudy.schema.reading import MISSING, UNKNOWN, Rows, open_table

__all__ = ["MISSING", "UNKNOWN", "Table", "categories", "evaluated", "is_discrete", "keys", "prepare"]


@dataclass(frozen=True, kw_only=True)
class Table:
    """Columns as arrays: category indices (int32) or numbers (float64), and which columns were absent.

    A code beside numbers (999: not asked) is NaN among them; `coded` says which one it is, by its place in the column's
    `codes` (-1: none), for the columns that have some.
    """

    rows: int
    values: dict[str, np.ndarray]
    absent: tuple[str, ...] = ()
    coded: dict[str, np.ndarray] = field(default_factory=dict)

    def take(self, index: np.ndarray) -> "Table":
        """The rows of an index or a mask."""
        values = {name: column[index] for name, column in self.values.items()}
        coded = {name: column[index] for name, column in self.coded.items()}
        rows = int(index.sum()) if index.dtype == bool else len(index)
        return Table(rows=rows, values=values, absent=self.absent, coded=coded)

    def sample(self, most: int | None, seed: int) -> "Table":
        """At most `most` rows, drawn without replacement."""
        if most is None or self.rows <= most:
            return self
        index = np.random.default_rng(seed).choice(self.rows, size=most, replace=False)
        return self.take(np.sort(index))


def evaluated(schema: Schema) -> tuple[Column, ...]:
    """Columns that carry information: all but identifiers."""
    return tuple(c for c in schema.columns if c.kind != "identifier")


def is_discrete(column: Column) -> bool:
    """Whether a column is compared by categories."""
    return column.kind in ("categorical", "ordinal", "boolean") or column.categories is not None


def categories(column: Column) -> tuple[Any, ...]:
    """Outcomes of a discrete column in schema order; the catch-all `other` is one of them where allowed."""
    return tuple(v for v in column.outcomes if v is not None)


def prepare(source: object, schema: Schema) -> Table:
    """A frame or file as the fit reads it; a column that a pandas frame lacks is all missing."""
    wanted = evaluated(schema)
    absent = _absent(source, wanted)
    present = [column for column in wanted if column.name not in absent]
    found: dict[str, list[np.ndarray]] = {column.name: [] for column in present}
    coded: dict[str, list[np.ndarray]] = {column.name: [] for column in present if column.codes}
    count = 0
    for rows in open_table(source, schema, columns=present).blocks():
        count += rows.count
        for column in present:
            found[column.name].append(codes(rows, column) if is_discrete(column) else rows.numbers(column))
            if column.codes:
                coded[column.name].append(np.maximum(rows.specials(column) - int(column.missing), -1))
    values = {c.name: np.concatenate([_nothing(c, 0), *found[c.name]]) for c in present}
    count = len(source) if isinstance(source, pd.DataFrame) else count
    values |= {c.name: _nothing(c, count) for c in wanted if c.name in absent}
    which = {name: np.concatenate([np.zeros(0, np.int32), *parts]) for name, parts in coded.items()}
    return Table(rows=count, values=values, absent=absent, coded=which)


def keys(source: object, schema: Schema, columns: Sequence[Column]) -> list[str]:
    """The categories that some columns hold, column by column in the order of their text."""
    absent = _absent(source, columns)
    present = [column for column in columns if column.name not in absent]
    found: dict[str, set[str | None]] = {column.name: set() for column in present}
    for rows in open_table(source, schema, columns=present).blocks():
        for column in present:
            texts = rows.keys(column)
            found[column.name] |= set(texts.unique().cast(pa.large_string()).to_pylist())
    return [text for texts in found.values() for text in sorted(t for t in texts if t is not None)]


def codes(rows: Rows, column: Column) -> np.ndarray:
    """Index of each cell among the categories; what is not declared is `other` where the schema has it."""
    found = rows.positions(column)
    if column.other:
        found = np.where(found == UNKNOWN, np.int32(categories(column).index(OTHER)), found)
    return found


def _absent(source: object, columns: Sequence[Column]) -> tuple[str, ...]:
    if not isinstance(source, pd.DataFrame):
        return ()
    names = {str(name) for name in source.columns}
    return tuple(column.name for column in columns if column.name not in names)


def _nothing(column: Column, count: int) -> np.ndarray:
    return np.full(count, MISSING, np.int32) if is_discrete(column) else np.full(count, np.nan)
