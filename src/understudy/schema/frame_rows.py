"""Frames as tables of rows: slices of pandas, polars and PyArrow tables.

A typed column is read by its type, a column of objects cell by cell. The types are facts about the frame; what pandas or
polars made of a file before we saw it (an empty cell that turned whole numbers into floats) is out of our hands, which is
why columns of floats are refused as identifiers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy.schema.rows import BLOCK, Rows, Table
from understudy.schema.vectors import Cells, Coded

_PART = 16  # blocks in a part


def _parts(count: int, block: int) -> int:
    return max(1, -(-count // (_PART * block)))


@dataclass(frozen=True, kw_only=True)
class ArrowTable(Table):
    """The rows of a PyArrow table, and of a polars frame by way of one."""

    table: pa.Table
    block: int = BLOCK

    @property
    def parts(self) -> int:  # type: ignore[override]
        """How many parts the table is read in."""
        return _parts(self.table.num_rows, self.block)

    @property
    def most_rows(self) -> int:
        return int(self.table.num_rows)

    def rows(self, part: int) -> Iterator[Rows]:
        size = _PART * self.block
        for batch in self.table.slice(part * size, size).to_batches(max_chunksize=self.block):
            yield Rows(batch.num_rows, batch.column)


@dataclass(frozen=True, kw_only=True)
class FrameTable(Table):
    """The rows of a pandas frame; `columns` holds the columns to read by name."""

    columns: dict[str, "pd.Series[Any]"]
    count: int
    block: int = BLOCK

    @property
    def parts(self) -> int:  # type: ignore[override]
        """How many parts the frame is read in."""
        return _parts(self.count, self.block)

    @property
    def most_rows(self) -> int:
        return self.count

    def rows(self, part: int) -> Iterator[Rows]:
        size = _PART * self.block
        for first in range(part * size, min((part + 1) * size, self.count), self.block):
            stop = min(first + self.block, self.count)
            yield Rows(stop - first, partial(self._cells, first, stop))

    def _cells(self, first: int, stop: int, name: str) -> Cells:
        return cells_of(self.columns[name].array[first:stop])


def whole_frame(frame: pd.DataFrame) -> Rows:
    """All rows of a frame as one block, for callers that hold it in memory anyway."""
    return Rows(len(frame), lambda name: cells_of(frame[name].array))


def cells_of(values: Any) -> Cells:
    """The cells of a pandas array: by its type where that has one reading, else as objects."""
    if isinstance(values, pd.arrays.NumpyExtensionArray):
        values = values.to_numpy()
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return Coded(np.asarray(values.codes, np.int64), cells_of(dtype.categories.array))
    if isinstance(dtype, pd.DatetimeTZDtype):
        return cells_of(values.tz_convert("UTC").tz_localize(None))
    if isinstance(dtype, np.dtype):
        if dtype.kind in "biu" or dtype in (np.float16, np.float32, np.float64):
            return pa.array(values, from_pandas=False)
        if dtype.kind == "M":
            return pa.array(np.asarray(values))
    elif isinstance(dtype, pd.ArrowDtype):
        return _joined(values.__arrow_array__())
    elif isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow":
        return _joined(pa.array(values, pa.large_string(), from_pandas=True))
    elif hasattr(dtype, "numpy_dtype") and hasattr(values, "__arrow_array__"):  # Int64, Float64, boolean
        return pa.array(values)
    return list(values)


def _joined(array: pa.Array | pa.ChunkedArray) -> Cells:
    if isinstance(array, pa.Array):
        return array
    if array.num_chunks == 1:
        return array.chunk(0)
    if pa.types.is_dictionary(array.type):  # dictionaries that differ from chunk to chunk
        return array.to_pylist()
    return array.combine_chunks()
