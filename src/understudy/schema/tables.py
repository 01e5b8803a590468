"""Whole tables as pandas frames, for those who want to look at one: reports, demonstrations, attacks, tests.

Nothing private is read this way; `reading` is the reader, and a frame made here means the same to it as the file does. CSV
holds text only, so the schema decides the types; a column whose cells do not all fit keeps the wider type of its kind.
"""

import os
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from understudy.errors import UsageError
from understudy.schema.cells import UNREADABLE
from understudy.schema.columns import Column, text_column
from understudy.schema.decode import marked, specials_of
from understudy.schema.facts import (
    check_types,
    column_places,
    csv_header,
    file_format,
    parquet_schema,
    refuse_odd_header,
)
from understudy.schema.parquet_rows import damaged, parquet_file, parquet_files
from understudy.schema.reading import arrow_table, image_frame, open_table
from understudy.schema.rows import Rows
from understudy.schema.schema import Schema
from understudy.schema.types import family, value_type

__all__ = ["as_frame", "read_table"]


def read_table(path: str | os.PathLike[str], schema: Schema | None = None) -> pd.DataFrame:
    """A CSV or Parquet file as a frame; with a schema only its columns, in its order and with its types.

    NPZ files and folders of images need a schema, since it says what the arrays and the folders' names are.
    """
    found = file_format(path)
    if found in ("npz", "folder"):
        if schema is None:
            raise UsageError(f"{str(path)!r} is read by a schema; give one")
        return image_frame(path, schema)
    if found == "csv":
        if schema is None:
            return to_pandas(_guessed(path))
        blocks = list(open_table(path, schema).blocks())
        return to_pandas(pa.table({c.name: _typed(blocks, c) for c in schema.columns}))
    return to_pandas(_read_parquet(path, schema))


def as_frame(table: object, schema: Schema | None = None) -> pd.DataFrame:
    """A pandas, polars or PyArrow table (or a file) as a pandas frame with text names and a plain index."""
    if isinstance(table, str | os.PathLike):
        return read_table(table, schema)
    found = arrow_table(table, None if schema is None else schema.names)
    if isinstance(found, pa.Table):
        if schema is not None:
            found = found.select(list(column_places(found.column_names, schema.names).values()))
            check_types(found.schema, schema.columns)
        return to_pandas(found)
    if schema is None:
        return found.reset_index(drop=True)
    frame = found.iloc[:, list(column_places(found.columns, schema.names).values())].reset_index(drop=True)
    frame.columns = pd.Index(schema.names)
    return frame


def _read_parquet(path: str | os.PathLike[str], schema: Schema | None) -> pa.Table:
    found = parquet_schema(path)
    if schema is not None:
        column_places(found.names, schema.names)
        check_types(found, schema.columns)
    elif len(set(found.names)) < len(found.names):
        raise UsageError(f"table {str(path)!r} has two columns of the same name; rename one of them")
    try:
        # ParquetFile and not read_table: a file is a file, even in a folder called like a partition (`year=2020`).
        whole = []
        for name in parquet_files(path):
            with parquet_file(name, page_checksum_verification=True) as file:
                whole.append(file.read())
        table = pa.concat_tables(whole) if len(whole) > 1 else whole[0]
        return table if schema is None else table.select(list(schema.names))
    except (pa.ArrowException, OSError):
        raise damaged(path) from None


# -- CSV ---------------------------------------------------------------------------------------------------------------
def _guessed(path: str | os.PathLike[str]) -> pa.Table:
    """A CSV file without a schema: each column has the first of a few types that all its cells fit."""
    names = csv_header(path)
    refuse_odd_header(path, names)
    schema = Schema(columns=tuple(text_column(name) for name in names))
    blocks = list(open_table(path, schema).blocks())
    kinds = (pa.int64(), pa.float64(), pa.bool_(), pa.timestamp("us"), pa.string())
    return pa.table({c.name: _first_cast(_joined(blocks, c, Rows.keys), kinds) for c in schema.columns})


def _first_cast(cells: pa.ChunkedArray, kinds: Sequence[pa.DataType]) -> pa.ChunkedArray:
    for kind in kinds:
        try:
            return cells.cast(kind)
        except pa.ArrowException:
            continue
    return cells


def _joined(blocks: list[Rows], column: Column, read: Callable[[Rows, Column], pa.Array]) -> pa.ChunkedArray:
    return pa.chunked_array([read(rows, column).cast(pa.large_string()) for rows in blocks], pa.large_string())


def _typed(blocks: list[Rows], column: Column) -> pa.ChunkedArray:
    """A column of text in its declared type where all cells fit, otherwise in a wider one; the values are the reader's."""
    kind = value_type(column.arrow_type)
    if column.kind in ("continuous", "integer", "datetime"):
        numbers = np.concatenate([np.zeros(0), *(rows.numbers(column) for rows in blocks)])
        if column.codes:
            special = np.concatenate([np.zeros(0, np.int32), *(rows.specials(column) for rows in blocks)])
            return _coded(numbers, special, column)
        if column.kind == "datetime":
            micros = np.where(np.isnan(numbers), 0, numbers) * 1e6
            stamps = pa.array(np.rint(micros).astype(np.int64), pa.timestamp("us"), mask=np.isnan(numbers))
            return _first_cast(pa.chunked_array([stamps]), (kind, pa.timestamp("us")))
        cells = pa.chunked_array([pa.array(numbers, mask=np.isnan(numbers))])
        return _first_cast(cells, (kind, pa.float64()))
    if column.kind == "identifier":
        return _joined(blocks, column, Rows.identities)  # text: `007` and `7` are two persons, whatever the dtype
    keys = _joined(blocks, column, Rows.keys)
    if family(kind) == "string":
        return keys.cast(kind)
    known = pc.if_else(pc.equal(keys, UNREADABLE), pa.scalar(None, keys.type), keys)
    if column.kind == "boolean" or family(kind) == "boolean":
        return _first_cast(known.cast(pa.bool_()), (kind,))
    return _first_cast(known, (kind, pa.float64()))


def _coded(numbers: np.ndarray, special: np.ndarray, column: Column) -> pa.ChunkedArray:
    """Numbers with their codes: text where a code is, else numbers, in a wider type if they do not all fit."""
    known = np.isfinite(numbers) | (special >= 0)
    whole = column.kind == "integer" and bool((numbers[special < 0][known[special < 0]] % 1 == 0).all())
    values = pa.array(np.where(np.isfinite(numbers), numbers, 0.0))
    values = values.cast(pa.int64()) if whole else values
    kind = pa.string() if column.has_words else values.type
    words = pa.array(specials_of(column), kind).take(pa.array(np.maximum(special, 0), mask=special < 0))
    texts = marked(values, column) if column.has_words else values
    return pa.chunked_array([pc.if_else(pa.array(known & (special < 0)), texts.cast(kind), words)])


_NULLABLE = {getattr(pa, n.lower())(): getattr(pd, f"{n}Dtype")() for n in
             ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")}  # fmt: skip


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """A frame in which whole numbers with gaps stay whole: as floats, long person numbers would run into each other."""
    gaps = [
        field.name
        for field, values in zip(table.schema, table.columns, strict=True)
        if field.type in _NULLABLE and values.null_count
    ]
    options = {"date_as_object": False, "ignore_metadata": True}
    if not gaps:
        return table.to_pandas(**options)
    plain = table.drop_columns(gaps).to_pandas(**options)
    with_gaps = table.select(gaps).to_pandas(types_mapper=_NULLABLE.get, **options)
    return pd.concat([plain, with_gaps], axis=1)[table.column_names]
