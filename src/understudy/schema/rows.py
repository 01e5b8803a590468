"""Blocks of rows: the only form in which a table is read, by fit, evaluation, comparison and audit alike.

A `Table` is a source cut into parts that can be read independently, any number of times and in any order; a part is a
stream of `Rows`, blocks of a bounded number of rows. A column of a block is read when it is asked for, cell by cell by the
definition in `cells`, so neither the cut nor the order nor another row changes what a cell means.

Guarantee: contents never raise, warn or print. What is wrong with the *file* (missing, damaged) is a `UsageError`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.schema import vectors
from understudy.schema.columns import OTHER, Column

BLOCK = 65_536  # rows in a block
MISSING, UNKNOWN = -1, -2  # positions of cells that are missing, and of those that hold no declared value
NULLS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "<NA>", "#N/A")  # in CSV, unless declared as a category


class Rows:
    """A block of rows; `take` gives a column's raw cells. With `marked` the usual words for missing values count as such."""

    __slots__ = ("_marked", "_take", "count")

    def __init__(self, count: int, take: Callable[[str], vectors.Cells], *, marked: bool = False) -> None:
        self.count, self._take, self._marked = count, take, marked

    def __repr__(self) -> str:
        return "Rows(contents may be private)"

    def numbers(self, column: Column) -> np.ndarray:
        """float64 [n], NaN where missing or unreadable, infinities kept; datetimes in seconds since 1970 UTC."""
        cells = self._cells(column)
        if column.kind == "datetime":
            return vectors.moments(cells, column.format)
        found = vectors.numbers(cells, column.decimal)
        codes = [code for code in column.codes if not isinstance(code, str)]
        return np.where(np.isin(found, codes), np.nan, found) if codes else found

    def specials(self, column: Column) -> np.ndarray:
        """int32 [n] index into `column.specials`, -1 where a cell is a number. What is neither counts as missing where the
        column may be missing, and stays -1 otherwise, with a NaN among `numbers`.
        """
        codes, first = column.codes, int(column.missing)
        if column.kind == "ordinal":
            return np.where(self.positions(column) < 0, np.int32(first - 1), np.int32(-1))
        found = np.where(np.isnan(self.numbers(column)), np.int32(first - 1), np.int32(-1))
        if not codes:
            return found
        cells = self._cells(column)
        values = vectors.numbers(cells, column.decimal)
        words = [code for code in codes if isinstance(code, str)]
        where = vectors.positions(cells, "string", words, -1, -1) if words else np.full(self.count, -1)
        for place, code in enumerate(codes, first):
            same = where == words.index(code) if isinstance(code, str) else values == code
            found = np.where(same, np.int32(place), found)
        return np.asarray(found.astype(np.int32, copy=False))

    def keys(self, column: Column) -> pa.Array:
        """The canonical text of each cell's category, null where missing: plain text or a dictionary of texts.

        `cells.UNREADABLE` stands for what is no value of the column's type.
        """
        return vectors.keys(self._cells(column), key_family(column))

    def positions(self, column: Column) -> np.ndarray:
        """int32 [n] index among the declared values; MISSING for nulls, UNKNOWN for anything not declared."""
        wanted = declared_keys(column)
        return vectors.positions(self._cells(column), key_family(column), wanted, MISSING, UNKNOWN)

    def outcomes(self, column: Column) -> np.ndarray:
        """int32 [n] index into `column.outcomes`, with nulls and unknown values put where the schema allows them."""
        codes, allowed = self.positions(column), column.outcomes
        last_resort = allowed.index(OTHER) if column.other else 0
        null = len(allowed) - 1 if column.missing else last_resort
        unknown = last_resort if column.other or not column.missing else null
        if codes.size and codes.min() < 0:
            codes = np.where(codes == MISSING, np.int32(null), np.where(codes == UNKNOWN, np.int32(unknown), codes))
        return codes

    def pixels(self, column: Column) -> tuple[np.ndarray, np.ndarray]:
        """float32 [n, numbers] from 0 to 255, and which images could be read; the others are even grey."""
        return vectors.pixels(self._cells(column), math.prod(column.shape))

    def identities(self, column: Column) -> pa.Array:
        """The canonical text of each cell's identifier, null where a cell names nobody."""
        return vectors.identities(self._cells(column))

    def is_null(self, column: Column) -> np.ndarray:
        """Where a cell holds nothing at all."""
        return vectors.nulls(self._cells(column))

    def _cells(self, column: Column) -> vectors.Cells:
        cells = self._take(column.name)
        if not self._marked or not isinstance(cells, pa.Array):
            return cells
        declared = {str(value) for value in (*(column.categories or ()), *column.codes)}
        marks = pa.array([mark for mark in NULLS if mark not in declared], cells.type)
        return pc.if_else(pc.is_in(cells, value_set=marks), pa.scalar(None, cells.type), cells)


class Table(ABC):
    """A source of rows in `parts` that can be read on their own; each is a stream of blocks."""

    parts: int

    @property
    @abstractmethod
    def most_rows(self) -> int:
        """About how many rows there are: for choosing between memory and streaming, never for anything that is shown."""

    @abstractmethod
    def rows(self, part: int) -> Iterator[Rows]:
        """The rows of one part in their order, in blocks."""

    def of_columns(self, names: Collection[str]) -> "Table":
        """The same rows, for somebody who will ask for these columns only; the others need not be read."""
        return self

    def blocks(self) -> Iterator[Rows]:
        """All rows in their order, in blocks."""
        for part in range(self.parts):
            yield from self.rows(part)


def key_family(column: Column) -> str:
    """The family by which a column's categories are compared."""
    return column.key_family


def declared_keys(column: Column) -> list[str]:
    """The keys of the declared values, in their order."""
    return list(column.declared)
