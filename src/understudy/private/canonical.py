"""Rows in canonical form: every cell already read, so that blocks can be joined, sorted, kept in files and read back as
they were.

    continuous, integer, datetime    float64, NaN where missing         (datetimes in seconds)
    codes beside numbers             which one, in a column of its own
    categorical, ordinal, boolean    the canonical text, null where missing
    image                            a list of float32, null where it cannot be read

Identifiers are not kept: the unit has become a number by then.
"""

from functools import partial

import numpy as np
import pyarrow as pa

from understudy.schema import Column, Schema
from understudy.schema.reading import Rows

LISTED = ("categorical", "ordinal", "boolean")
SPECIAL = "\x00special "  # before a column's name; no column of a schema has a name with NUL in it


class CanonicalRows(Rows):
    """Rows whose columns are those of a canonical table."""

    __slots__ = ()

    def __init__(self, table: pa.Table) -> None:
        super().__init__(table.num_rows, partial(whole_column, table))

    def numbers(self, column: Column) -> np.ndarray:
        """Of a column, as they were read."""
        return np.asarray(self._take(column.name), np.float64)

    def specials(self, column: Column) -> np.ndarray:
        """Of a column, as they were read: its numbers no longer tell codes from missing values."""
        return np.asarray(self._take(SPECIAL + column.name), np.int32) if column.codes else super().specials(column)

    def keys(self, column: Column) -> pa.Array:
        """Of a column, as they were read."""
        found: pa.Array = self._take(column.name)
        return found


def whole_column(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column in one piece."""
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def canonical(rows: Rows, schema: Schema) -> pa.Table:
    """A block of rows in canonical form."""
    cells = {column.name: _cells(rows, column) for column in schema.columns if column.kind != "identifier"}
    codes = {SPECIAL + column.name: pa.array(rows.specials(column)) for column in schema.columns if column.codes}
    return pa.table(cells | codes)


def _cells(rows: Rows, column: Column) -> pa.Array:
    if column.kind in LISTED:
        keys = rows.keys(column)
        texts = keys.dictionary_decode() if pa.types.is_dictionary(keys.type) else keys
        return texts.cast(pa.large_string())  # one type for all blocks, however each of them holds its text
    if column.kind == "image":
        values, known = rows.pixels(column)
        size = values.shape[1]
        lists = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), size)
        return lists.take(pa.array(np.arange(len(values)), mask=~known))
    return pa.array(rows.numbers(column), pa.float64())
