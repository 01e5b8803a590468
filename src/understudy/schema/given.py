"""Rows of which some columns are given, to be completed by a model: read cell by cell like any table, and refused if odd.

These rows are the user's own input and no private table, so what is wrong with a cell is said, with its row. A cell that holds
nothing is to be completed; so are all columns that the table does not have.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.errors import UsageError
from understudy.schema.columns import NUMERIC, Column
from understudy.schema.document import nearest
from understudy.schema.facts import csv_header, file_format, parquet_schema
from understudy.schema.reading import arrow_table, open_table
from understudy.schema.rows import Rows
from understudy.schema.schema import Schema

SHOWN = 5  # rows that are named where some are refused


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
    names = _names(source)
    for name in names:
        if name not in schema.names:
            raise UsageError(f"given: the schema has no column {name!r}{nearest(name, schema.names)}")
        if schema.column(name).kind == "image":
            raise UsageError(f"given: column {name!r} is an image; leave it out, it is drawn")
    columns = [schema.column(name) for name in names]
    first = 0
    for rows in open_table(source, schema, columns=columns).blocks():
        learned = tuple(_read(rows, column, first) for column in columns if column.kind != "identifier")
        ids = {column.name: rows.identities(column) for column in columns if column.kind == "identifier"}
        yield GivenRows(rows.count, learned, ids)
        first += rows.count


def _names(source: object) -> list[str]:
    if isinstance(source, str | os.PathLike):
        kind = file_format(source)
        if kind not in ("csv", "parquet"):
            raise UsageError(f"given: {str(source)!r} must be a .csv or .parquet file")
        return csv_header(source) if kind == "csv" else list(parquet_schema(source).names)
    table = arrow_table(source, None)
    return table.column_names if isinstance(table, pa.Table) else [str(name) for name in table.columns]


def _read(rows: Rows, column: Column, first: int) -> GivenColumn:
    known = ~rows.is_null(column)
    if column.kind not in NUMERIC:
        values = rows.positions(column).astype(float)
        _refuse(known & (values < 0), column, first, "is none of the column's values")
        return GivenColumn(column, np.maximum(values, 0.0), known, np.full(len(values), -1))
    values = rows.numbers(column)
    lower, upper = column.bounds
    special = rows.specials(column) if column.codes else np.full(len(values), -1)
    special = np.where(known & (special >= int(column.missing)), special, -1)
    _refuse(known & np.isnan(values) & (special < 0), column, first, f"cannot be read as {column.kind}")
    with np.errstate(invalid="ignore"):
        _refuse(known & ((values < lower) | (values > upper)), column, first, "lies outside lower and upper")
        odd = column.kind == "integer"
        _refuse(known & odd & (special < 0) & (values != np.rint(values)), column, first, "is not a whole number")
    return GivenColumn(column, np.where(known & (special < 0), values, lower), known, special)


def _refuse(wrong: np.ndarray, column: Column, first: int, what: str) -> None:
    if wrong.any():
        raise UsageError(f"given: row {first + int(np.argmax(wrong)) + 1}, column {column.name!r}: the value {what}")


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
    """The table with given identifiers in place of counted ones; cells that name nobody keep their number."""
    for name, ids in found.items():
        place = table.column_names.index(name)
        kind = table.schema.field(place).type
        try:
            own = ids.cast(pa.large_string()).cast(kind)
        except pa.ArrowException:
            raise UsageError(f"given: column {name!r} holds identifiers that are not of its type {kind}") from None
        drawn = table.column(place).combine_chunks()
        table = table.set_column(place, table.schema.field(place), pc.coalesce(own, drawn))
    return table
