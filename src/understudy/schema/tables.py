"""Tables in: CSV and Parquet files, pandas, polars and PyArrow frames; images also as NPZ files and folders of PNG files.

What is wrong with a file (missing, empty, damaged, another header) is a public fact and gets one clear line. What is
odd about its contents never raises: a cell that cannot be read as its column's kind counts as missing.

CSV holds text only, so the schema decides the types: a column of codes declared as text keeps `007`. Empty cells and
the usual markers (NA, N/A, NaN, null, <NA>, #N/A) are missing, unless the schema lists the marker as a category.
Messages never quote the file's own text, because the line that does not parse may be somebody's row.
"""

import csv
import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from understudy.errors import UsageError
from understudy.schema.codec import table_columns
from understudy.schema.columns import Column
from understudy.schema.images import read_folder, read_npz
from understudy.schema.schema import Schema
from understudy.schema.types import family, value_type
from understudy.schema.values import positions

CSV_SUFFIXES = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
PARQUET_SUFFIXES = (".parquet", ".pq")
NULLS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "<NA>", "#N/A")
_ACCEPTED = {  # families of a typed source that a kind can be read from
    "continuous": ("integer", "float", "boolean"),
    "integer": ("integer", "float", "boolean"),
    "ordinal": ("string", "integer", "float", "boolean"),
    "categorical": ("string", "integer", "float", "boolean"),
    "boolean": ("boolean", "integer", "float", "string"),
    "datetime": ("datetime", "string"),
    "image": ("pixels",),
    "identifier": ("integer", "float", "string", "boolean", "datetime"),
}
_WORDS = {
    "integer": "whole numbers",
    "float": "numbers",
    "boolean": "true/false",
    "string": "text",
    "datetime": "dates",
    "pixels": "lists of whole numbers",
}


def file_format(path: str | os.PathLike[str]) -> str:
    """`csv`, `parquet` or `npz`, by the ending of the name; `folder` for a folder."""
    if Path(path).is_dir():
        return "folder"
    name = Path(path).name.lower()
    if name.endswith(".npz"):
        return "npz"
    if name.endswith(tuple(CSV_SUFFIXES)):
        return "csv"
    if name.endswith(PARQUET_SUFFIXES):
        return "parquet"
    raise UsageError(f"{str(path)!r}: the name of a table must end in .csv, .tsv (or .gz of these) or .parquet")


def read_table(path: str | os.PathLike[str], schema: Schema | None = None) -> pd.DataFrame:
    """A CSV or Parquet file as a frame; with a schema only its columns, in its order and with its types.

    NPZ files and folders of images need a schema, since it says what the arrays and the folders' names are.
    """
    found = file_format(path)
    if found in ("npz", "folder"):
        if schema is None:
            raise UsageError(f"{str(path)!r} is read by a schema; give one (--schema)")
        if found == "folder" and not any(c.kind == "image" for c in schema.columns):
            raise UsageError(f"table {str(path)!r} is not a file; a folder brings images, and the schema names none")
        _require_file(path, folder=found == "folder")
        return read_npz(path, schema) if found == "npz" else read_folder(path, schema)
    if found == "csv":
        if schema is None:
            return _to_pandas(_read_csv(path, None))
        text = read_text(path, schema)
        return _to_pandas(pa.table({c.name: _typed(text.column(c.name), c) for c in schema.columns}))
    return _to_pandas(read_parquet(path, schema))


def as_frame(table: Any, schema: Schema | None = None) -> pd.DataFrame:
    """A pandas, polars or PyArrow table (or a file) as a pandas frame with text names and a plain index."""
    if isinstance(table, str | os.PathLike):
        return read_table(table, schema)
    if type(table).__module__.split(".")[0] == "polars" and type(table).__name__ in ("DataFrame", "LazyFrame"):
        table = (table.collect() if type(table).__name__ == "LazyFrame" else table).to_arrow()
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if isinstance(table, pa.Table):
        if schema is not None:
            check_names(table.column_names, schema)
            table = table.select(list(schema.names))
            check_types(table.schema, schema)
        return _to_pandas(table)
    if not isinstance(table, pd.DataFrame):
        raise UsageError(f"a table must be a pandas, polars or PyArrow table or a file, not {type(table).__name__}")
    if schema is None:
        return table.reset_index(drop=True)
    where = table_columns(table, schema)
    frame = table.iloc[:, [where[name] for name in schema.names]].reset_index(drop=True)
    frame.columns = pd.Index(schema.names)
    return frame


def check_names(names: list[str], schema: Schema) -> None:
    """Refuse a table in which a column of the schema is absent or appears twice."""
    table_columns(pd.DataFrame(columns=pd.Index(names, dtype=object)), schema)


def check_types(found: pa.Schema, schema: Schema) -> None:
    """Refuse a typed table whose declared types cannot be read as the schema's kinds."""
    for column in schema.columns:
        kind = family(found.field(column.name).type)
        if kind == "other":
            raise column.problem(f"the table holds {found.field(column.name).type} there, which is not supported")
        if kind != "nothing" and kind not in _ACCEPTED[column.kind]:
            raise column.problem(f"the table holds {_WORDS[kind]} there, but the schema says {column.kind}")


def _require_file(path: str | os.PathLike[str], *, folder: bool = False) -> None:
    file = Path(path)
    if not file.exists():
        raise UsageError(f"table {str(path)!r} does not exist")
    if folder:
        return
    if not file.is_file():
        raise UsageError(f"table {str(path)!r} is not a file")
    try:
        with file.open("rb"):
            pass
    except OSError as error:
        raise UsageError(f"table {str(path)!r} cannot be read: {error.strerror}") from None
    if file.stat().st_size == 0:
        raise UsageError(f"table {str(path)!r} is empty")


# -- Parquet ---------------------------------------------------------------------------------------------------------


def parquet_schema(path: str | os.PathLike[str]) -> pa.Schema:
    """Names and types of a Parquet file; no row is read."""
    _require_file(path)
    try:
        found = pq.read_schema(path)
    except (pa.ArrowException, OSError):
        raise UsageError(
            f"table {str(path)!r} is not a readable Parquet file; it may be truncated or damaged"
        ) from None
    return found


def read_parquet(path: str | os.PathLike[str], schema: Schema | None) -> pa.Table:
    """A Parquet file as an Arrow table; with a schema only its columns."""
    found = parquet_schema(path)
    if schema is not None:
        check_names(found.names, schema)
        check_types(found, schema)
    elif len(set(found.names)) < len(found.names):
        raise UsageError(f"table {str(path)!r} has two columns of the same name; rename one of them")
    try:
        # ParquetFile and not read_table: a file is a file, even in a folder called like a partition (`year=2020`).
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read()
        return table if schema is None else table.select(list(schema.names))
    except (pa.ArrowException, OSError):
        raise UsageError(
            f"table {str(path)!r} is not a readable Parquet file; it may be truncated or damaged"
        ) from None


# -- CSV -------------------------------------------------------------------------------------------------------------


def csv_header(path: str | os.PathLike[str]) -> list[str]:
    """The names in the first line of a CSV file."""
    _require_file(path)
    name = str(path).lower()
    opener = gzip.open if name.endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            header = next((row for row in csv.reader(file, delimiter=_separator(path)) if row), [])
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    except (csv.Error, EOFError, OSError):
        raise UsageError(f"table {str(path)!r} is not a readable CSV file; it may be truncated or damaged") from None
    if not any(field.strip() for field in header):
        raise UsageError(f"table {str(path)!r} has no header line")
    return header


def _has_rows(path: str | os.PathLike[str]) -> bool:
    opener = gzip.open if str(path).lower().endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            records = csv.reader(file, delimiter=_separator(path))
            return sum(1 for _, row in zip(range(2), (row for row in records if row), strict=False)) > 1
    except (csv.Error, EOFError, OSError, UnicodeDecodeError):
        return True


def _separator(path: str | os.PathLike[str]) -> str:
    name = Path(path).name.lower()
    return next(mark for suffix, mark in CSV_SUFFIXES.items() if name.endswith(suffix))


def _not_utf8(path: str | os.PathLike[str]) -> UsageError:
    return UsageError(f"table {str(path)!r} is not UTF-8 text; save it again as CSV with UTF-8 encoding")


def refuse_odd_header(path: str | os.PathLike[str], header: list[str]) -> None:
    """Refuse what cannot be a header when no schema tells the names; positions only, the line may be a row."""
    hint = "does the file have a header line?"
    for index, field in enumerate(header):
        if not field.strip():
            raise UsageError(f"table {str(path)!r}: column {index + 1} has no name; {hint}")
        if field in header[:index]:
            first = header.index(field) + 1
            raise UsageError(f"table {str(path)!r}: columns {first} and {index + 1} have the same name; {hint}")
    if all(_is_number(field) for field in header):
        counted = [str(i) for i in range(len(header))], [str(i + 1) for i in range(len(header))]
        if header not in counted:
            raise UsageError(f"table {str(path)!r} has no header line: its first line holds only numbers")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_text(path: str | os.PathLike[str], schema: Schema) -> pa.Table:
    """The schema's columns of a CSV file as text, with the markers for missing values as nulls."""
    images = [c for c in schema.columns if c.kind == "image"]
    if images:
        raise images[0].problem("images cannot come from CSV; use Parquet, NPZ or a folder of PNG files")
    header = csv_header(path)
    if len(header) == 1 and len(schema.columns) > 1 and (";" in header[0] or "\t" in header[0]):
        raise UsageError(f"table {str(path)!r}: the header has one column; separate columns by commas (or use .tsv)")
    check_names(header, schema)
    table = _read_csv(path, header)
    columns = {}
    for column in schema.columns:
        text = table.column(header.index(column.name))
        declared = {str(v) for v in column.categories or ()}
        nulls = pa.array([mark for mark in NULLS if mark not in declared], pa.string())
        columns[column.name] = pc.if_else(pc.is_in(text, value_set=nulls), pa.scalar(None, pa.string()), text)
    return pa.table(columns)


def _read_csv(path: str | os.PathLike[str], header: list[str] | None) -> pa.Table:
    """All columns as text in the order of `header`; without a header as the types PyArrow guesses."""
    names = csv_header(path) if header is None else header
    if header is None:
        refuse_odd_header(path, names)
    places = [str(i) for i in range(len(names))]  # positions as names: the real ones may repeat or hold newlines
    try:
        source = pa.input_stream(str(path))  # unpacks .gz
        table = pa_csv.read_csv(
            source,
            read_options=pa_csv.ReadOptions(block_size=1 << 24),
            parse_options=pa_csv.ParseOptions(
                delimiter=_separator(path), newlines_in_values=True, ignore_empty_lines=len(names) > 1
            ),
            convert_options=pa_csv.ConvertOptions(
                strings_can_be_null=True,
                **({"null_values": list(NULLS)} if header is None else {"null_values": [""]}),
                column_types={} if header is None else dict.fromkeys(names, pa.string()),
            ),
        )
        return table if header is None else table.rename_columns(places)
    except (pa.ArrowException, OSError, UnicodeDecodeError, EOFError) as error:
        text = str(error)
    if not _has_rows(path):  # PyArrow refuses a header that no line break ends
        return pa.table({place: pa.nulls(0, pa.string()) for place in (names if header is None else places)})
    if "UTF8" in text or "utf-8" in text:
        raise _not_utf8(path)
    if "Expected" in text and "columns" in text:
        raise UsageError(
            f"table {str(path)!r}: some line has another number of fields than the header; check the quotes"
        )
    raise UsageError(f"table {str(path)!r} is not a readable CSV file; it may be truncated or damaged")


def _typed(text: pa.ChunkedArray, column: Column) -> pa.Array | pa.ChunkedArray:
    """Text as the column's type where that works for all cells, otherwise as near to it as the cells allow."""
    kind = value_type(column.arrow_type)
    if column.kind == "identifier" and column.dtype is None:
        return text  # `007` and `7` may be two persons
    if family(kind) == "string":
        return text.cast(kind)
    if column.kind == "boolean" or family(kind) == "boolean":
        codes = positions(text.to_pandas(), column)
        choice = (False, True) if column.kind == "boolean" else column.categories or ()
        return pa.array(choice, pa.bool_()).take(pa.array(np.maximum(codes, 0), mask=codes < 0)).cast(kind)
    trimmed = pc.utf8_trim_whitespace(text)
    for wanted in (kind, pa.timestamp("us") if column.kind == "datetime" else pa.float64()):
        try:
            return trimmed.cast(wanted)
        except pa.ArrowException:
            continue
    series = trimmed.to_pandas()
    if column.kind == "datetime":
        return pa.array(pd.to_datetime(series, errors="coerce", utc=True, format="ISO8601").dt.tz_localize(None))
    if column.kind == "identifier":
        return text
    return pa.array(pd.to_numeric(series, errors="coerce"), from_pandas=True)


_NULLABLE = {
    pa.int8(): pd.Int8Dtype(),
    pa.int16(): pd.Int16Dtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
    pa.uint8(): pd.UInt8Dtype(),
    pa.uint16(): pd.UInt16Dtype(),
    pa.uint32(): pd.UInt32Dtype(),
    pa.uint64(): pd.UInt64Dtype(),
}


def _to_pandas(table: pa.Table) -> pd.DataFrame:
    # Whole numbers with gaps stay whole: as floats, long person numbers would run into each other.
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
