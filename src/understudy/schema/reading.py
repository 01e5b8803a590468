"""One reader for every source: files and frames as blocks of rows that know nothing of each other.

    for rows in open_table("patients.parquet", schema).blocks():
        rows.numbers(column), rows.positions(column), rows.identities(column), ...

`open_table` looks at facts about the file or frame only (header, types, size) and refuses what is wrong with them in one
line. From then on nothing depends on what a row holds but that row's own values; see `cells` for the definition.

| source | a part is | held in memory |
| --- | --- | --- |
| CSV, TSV | a range of bytes (packed: the whole) | some megabytes of lines |
| Parquet, a folder of Parquet files | a row group | a block of rows |
| pandas, polars, PyArrow | a slice | the frame, as it was given |
| NPZ, folder of PNG files | a slice | the images |
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy.errors import UsageError
from understudy.schema.columns import Column
from understudy.schema.csv_rows import CsvTable
from understudy.schema.facts import (
    check_types,
    column_places,
    file_format,
    parquet_schema,
    refuse_float_identifier,
    require_file,
)
from understudy.schema.frame_rows import ArrowTable, FrameTable
from understudy.schema.header import read_header
from understudy.schema.images import read_folder, read_npz
from understudy.schema.parquet_rows import open_parquet
from understudy.schema.rows import BLOCK, MISSING, UNKNOWN, Rows, Table
from understudy.schema.schema import Schema

__all__ = ["BLOCK", "MISSING", "UNKNOWN", "Rows", "Table", "open_table"]


def open_table(source: object, schema: Schema, *, columns: Sequence[Column] | None = None, block: int = BLOCK) -> Table:
    """The schema's columns (or some of them) of a file or frame, to be read in blocks of at most `block` rows.

    Files: CSV, TSV, .gz of these, Parquet or a folder of such files, NPZ, a folder of PNG files. Frames: pandas, polars, PyArrow.
    """
    wanted = schema.columns if columns is None else columns
    if not isinstance(source, str | os.PathLike):
        return _open_frame(source, wanted, block)
    found = file_format(source)
    if found in ("npz", "folder"):
        return _open_frame(image_frame(source, schema), wanted, block)
    if found == "csv":
        require_file(source)
    return _open_csv(source, wanted, block) if found == "csv" else _open_parquet(source, wanted, block)


def _open_frame(source: object, columns: Sequence[Column], block: int) -> Table:
    names = [column.name for column in columns]
    table = arrow_table(source, names)
    if isinstance(table, pa.Table):
        places = column_places(table.column_names, names)
        table = table.select(list(places.values()))
        check_types(table.schema, columns)
        return ArrowTable(table=table, block=block)
    places = column_places(table.columns, names)
    for column in columns:
        if column.kind == "identifier":
            _refuse_floats(table.dtypes.iloc[places[column.name]], column)
    series = {name: table.iloc[:, place] for name, place in places.items()}
    return FrameTable(columns=series, count=len(table), block=block)


def arrow_table(source: Any, names: Sequence[str] | None) -> pa.Table | pd.DataFrame:
    """A polars or PyArrow table as a PyArrow table (of the named columns); a pandas frame as it is."""
    if type(source).__module__.split(".")[0] == "polars" and type(source).__name__ in ("DataFrame", "LazyFrame"):
        frame = source.collect() if type(source).__name__ == "LazyFrame" else source
        frame = frame if names is None else frame.select(list(column_places(frame.columns, names)))
        for name, dtype in frame.schema.items():
            if str(dtype) in ("Object", "Int128", "UInt128"):  # those that Arrow has no type for
                raise UsageError(f"column {name!r}: the table holds polars {dtype} there, which is not supported")
        return frame.to_arrow()
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if not isinstance(source, pa.Table | pd.DataFrame):
        raise UsageError(f"a table must be a pandas, polars or PyArrow table or a file, not {type(source).__name__}")
    return source


def image_frame(path: str | os.PathLike[str], schema: Schema) -> pd.DataFrame:
    """The frame in an NPZ file or a folder of images."""
    folder = Path(path).is_dir()
    if folder and not any(column.kind == "image" for column in schema.columns):
        raise UsageError(f"table {str(path)!r} is not a file; a folder brings images, and the schema names none")
    require_file(path, folder=folder)
    return read_folder(path, schema) if folder else read_npz(path, schema)


def _open_csv(path: str | os.PathLike[str], columns: Sequence[Column], block: int) -> CsvTable:
    for column in columns:
        if column.kind == "image":
            raise column.problem("images cannot come from CSV; use Parquet, NPZ or a folder of PNG files")
    header, start, separator = read_header(path)
    wanted = tuple(column_places(header, [column.name for column in columns]))
    size = os.path.getsize(path)
    return CsvTable(
        path=str(path), names=tuple(header), wanted=wanted, start=start, size=size, separator=separator, block=block
    )


def _open_parquet(path: str | os.PathLike[str], columns: Sequence[Column], block: int) -> Table:
    found = parquet_schema(path)
    wanted = tuple(column_places(found.names, [column.name for column in columns]))
    check_types(found, columns)
    return open_parquet(path, wanted, block)


def _refuse_floats(dtype: Any, column: Column) -> None:
    values = dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype
    if values is not dtype and not len(dtype.categories):
        return  # of no categories at all pandas says any type
    if isinstance(values, pd.ArrowDtype) and (
        pa.types.is_floating(values.pyarrow_dtype) or pa.types.is_decimal(values.pyarrow_dtype)
    ):
        refuse_float_identifier(column, values.pyarrow_dtype)
    elif isinstance(values, np.dtype | pd.Float32Dtype | pd.Float64Dtype) and values.kind == "f":
        refuse_float_identifier(column, pa.float64())
