"""Rows of which some columns are given, to be completed by a model: read cell by cell like any table, and refused if odd.

These rows are the user's own input and no private table, so what is wrong with a cell is said, with its row. A cell that holds
nothing is to be completed; so are all columns that the table does not have. Cells are read by the schema as they are in a fit:
what a column with `other: true` does not list is `other`. Only where a fit would put up with a cell (beyond the bounds,
unreadable, a line with another number of fields) does it end here, with the way out.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy.errors import UsageError
from understudy.schema import given_ids
from understudy.schema.columns import NUMERIC, OTHER, Column
from understudy.schema.csv_rows import CsvTable, first_unread
from understudy.schema.decimal_mark import mark_hint, other_mark
from understudy.schema.document import nearest
from understudy.schema.facts import csv_header, file_format, parquet_schema
from understudy.schema.reading import arrow_table, open_table
from understudy.schema.rows import UNKNOWN, Rows
from understudy.schema.schema import Schema
from understudy.schema.types import value_type
from understudy.schema.vectors import is_text

SHOWN = 5  # rows that are named where some are refused, and values that are listed
DRAWN = "or leave the cell empty, to have it drawn"


class GivenColumn(NamedTuple):
    """The values of one column: numbers in the units of its bounds, or positions among its outcomes; and which are given."""

    column: Column
    values: np.ndarray
    known: np.ndarray
    special: np.ndarray  # of numbers: which code, -1 where it is a number

    @property
    def numeric(self) -> bool:
        """Whether the column's values have an order."""
        return self.column.kind in (*NUMERIC, "ordinal")

    def at(self, places: np.ndarray) -> "GivenColumn":
        """Of some rows, or some several times."""
        return GivenColumn(self.column, self.values[places], self.known[places], self.special[places])


class GivenRows(NamedTuple):
    """A block of rows: learned columns, and identifiers as text."""

    rows: int
    columns: tuple[GivenColumn, ...]
    identifiers: dict[str, pa.Array]


def given_rows(source: object, schema: Schema) -> Iterator[GivenRows]:
    """A file or frame that has some of the schema's columns, block by block. UsageError for cells that are no values."""
    types = _types(source)
    for name in types:
        if name not in schema.names:
            raise UsageError(f"given: the schema has no column {name!r}{nearest(name, schema.names)}")
        if schema.column(name).kind == "image":
            raise UsageError(f"given: column {name!r} is an image; leave it out, it is drawn")
    columns = [schema.column(name) for name in types]
    table = open_table(source, schema, columns=columns)
    if isinstance(table, CsvTable):
        _refuse_unread(table)
    ids = given_ids.typed(columns, table, [name for name, kind in types.items() if kind == "text"])
    first = 0
    for rows in table.blocks():
        learned = tuple(_read(rows, column, first, types) for column in columns if column.kind != "identifier")
        own = {one.name: given_ids.cast(rows.identities(one), one, first) for one in ids if one.kind == "identifier"}
        yield GivenRows(rows.count, learned, own)
        first += rows.count


def _types(source: object) -> dict[str, str]:
    """The columns' names, and whether they hold text or something else by their type; in CSV cells are anything. A name
    that stands twice is refused by whoever reads the rows."""
    if isinstance(source, str | os.PathLike):
        kind = file_format(source)
        if kind not in ("csv", "parquet"):
            raise UsageError(f"given: {str(source)!r} must be a .csv or .parquet file")
        if kind == "csv":
            return dict.fromkeys(csv_header(source), "cells")
        found = parquet_schema(source)
        return {name: _of_arrow(kind) for name, kind in zip(found.names, found.types, strict=True)}
    table = arrow_table(source, None)
    if isinstance(table, pa.Table):
        return {name: _of_arrow(kind) for name, kind in zip(table.column_names, table.schema.types, strict=True)}
    return {str(name): _of_pandas(table.iloc[:, place]) for place, name in enumerate(table.columns)}


def _of_arrow(kind: pa.DataType) -> str:
    return "text" if is_text(value_type(kind)) else "something else"


def _of_pandas(cells: "pd.Series[Any]") -> str:
    whole = cells.astype(object) if isinstance(cells.dtype, pd.CategoricalDtype) else cells
    return "text" if pd.api.types.infer_dtype(whole, skipna=True) == "string" else "something else"


def _refuse_unread(table: CsvTable) -> None:
    row = first_unread(table)
    if row is not None:
        raise UsageError(
            f"given: row {row} has not as many cells as the header has names, leaves a quote open or is not UTF-8 text; put a "
            f'cell that holds {table.separator!r} in quotes (a decimal comma: "3,14"), or save the file as UTF-8 CSV'
        )


def _read(rows: Rows, column: Column, first: int, types: Mapping[str, str]) -> GivenColumn:
    known = ~rows.is_null(column)
    if column.kind not in NUMERIC:
        values = rows.positions(column).astype(float)
        if column.other:
            values = np.where(values == UNKNOWN, float(column.outcomes.index(OTHER)), values)
        _refuse(known & (values < 0), column, first, lambda row: _unlisted(column, types[column.name]))
        return GivenColumn(column, np.maximum(values, 0.0), known, np.full(len(values), -1))
    values = rows.numbers(column)
    lower, upper = column.bounds
    special = rows.specials(column) if column.codes else np.full(len(values), -1)
    special = np.where(known & (special >= int(column.missing)), special, -1)
    _refuse(known & np.isnan(values) & (special < 0), column, first, lambda row: _unread(rows, column, row))
    with np.errstate(invalid="ignore"):
        outside = f"lies outside lower and upper ({column.lower} to {column.upper}); write one between, {DRAWN}"
        _refuse(known & ((values < lower) | (values > upper)), column, first, lambda row: outside)
        odd = column.kind == "integer"
        odd_ones = known & odd & (special < 0) & (values != np.rint(values))
        _refuse(odd_ones, column, first, lambda row: f"is not a whole number; write one, {DRAWN}")
    return GivenColumn(column, np.where(known & (special < 0), values, lower), known, special)


def _unlisted(column: Column, kind: str) -> str:
    """What is said of a category that is none."""
    values = [str(value) for value in column.outcomes if value is not None]
    listed = ", ".join(values[:SHOWN]) + (", ..." if len(values) > SHOWN else "")
    lost = kind == "something else" and any(value != value.lstrip("0") for value in values)
    zeros = "; the frame holds no text there, so that leading zeros are gone: pass the file, or read it with dtype=str"
    return f"is none of the column's values ({listed}); write one of these, {DRAWN}{zeros if lost else ''}"


def _unread(rows: Rows, column: Column, row: int) -> str:
    """What is said of a cell that is no number or date."""
    marked = column.kind != "datetime" and not np.isnan(rows.numbers(other_mark(column))[row])
    dates = f" (dates are written {column.format or '2020-12-31'})" if column.kind == "datetime" else ""
    return f"cannot be read as {column.kind}{dates}{mark_hint(column) if marked else f'; write one, {DRAWN}'}"


def _refuse(wrong: np.ndarray, column: Column, first: int, what: Callable[[int], str]) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UsageError(f"given: row {first + row + 1}, column {column.name!r}: the value {what(row)}")


@dataclass
class Impossible:
    """Rows that cannot be completed, by their numbers from 1 on, and why."""

    unseen: list[int] = field(default_factory=list)  # their values cannot occur together under the model
    broken: dict[str, list[int]] = field(default_factory=dict)  # they break a constraint on these columns by themselves

    @property
    def rows(self) -> list[int]:
        """All of them."""
        return sorted([*self.unseen, *(row for rows in self.broken.values() for row in rows)])

    def refused(self) -> UsageError:
        """What says so, and the way out."""
        reasons = {"cannot occur together under this model": self.unseen}
        reasons |= {f"break the schema's constraint on {on}": rows for on, rows in self.broken.items()}
        parts = [f"{_listed(rows)} values that {why}" for why, rows in reasons.items() if rows]
        one = len(self.rows) == 1
        return UsageError(
            f"given: {'; '.join(parts)}. Leave {'it' if one else 'them'} out of the output (skip_impossible=True), or "
            f"empty some of {'its' if one else 'their'} cells, which are drawn then"
        )


def _listed(rows: list[int]) -> str:
    first = ", ".join(map(str, rows[:SHOWN]))
    if len(rows) == 1:
        return f"row {first} holds"
    return f"{len(rows):,} rows ({first}{', ...' if len(rows) > SHOWN else ''}) hold"


def with_identifiers(table: pa.Table, found: dict[str, pa.Array]) -> pa.Table:
    """The table with given identifiers, in their type, in place of counted ones; cells that name nobody keep their number."""
    for name, own in found.items():
        place = table.column_names.index(name)
        drawn = table.column(place).combine_chunks().cast(own.type)
        index = np.arange(len(own)) + np.where(own.is_null().to_numpy(zero_copy_only=False), len(own), 0)
        both = pa.chunked_array([own, drawn]).take(pa.array(index))
        table = table.set_column(place, pa.field(name, own.type), both)
    return table
