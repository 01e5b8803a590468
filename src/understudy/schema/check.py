"""Does a table fit its schema? Columns are named, values and counts never.

The answer depends on the rows, so it is for the holder of the table and no part of a release. Nothing here stops a
fit: what does not fit is clamped, or treated as missing or `other`.
"""

import os
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy.schema.codec import table_columns
from understudy.schema.columns import Column
from understudy.schema.images import readable
from understudy.schema.schema import Schema
from understudy.schema.tables import as_frame, csv_header, file_format, parquet_schema, read_text
from understudy.schema.values import MISSING, UNKNOWN, is_null, positions, to_numbers


def check(table: Any, schema: Schema, *, strict: bool = False) -> list[str]:
    """What does not fit, one line for each column and cause; an empty list when everything fits.

    `table` is a frame or a file; a CSV file is judged by its text, so unreadable cells are seen as such. `strict` is
    for tables we wrote ourselves: other columns, another order and other types count as problems too.
    """
    problems: list[str] = []
    if isinstance(table, str | os.PathLike):
        found = file_format(table)
        frame = read_text(table, schema).to_pandas() if found == "csv" else as_frame(table, schema)
        names = csv_header(table) if found == "csv" else frame.columns
        names = list(parquet_schema(table).names if found == "parquet" else names)
    else:
        names = [str(name) for name in table.columns] if not isinstance(table, pa.Table) else table.column_names
        frame = as_frame(table, schema)
    known = set(schema.names)
    if strict and list(names) != list(schema.names):
        problems.append("the table has other columns, or another order of columns, than the schema")
    elif extra := [name for name in names if name not in known]:
        more = f" and {len(extra) - 1} more" if len(extra) > 1 else ""
        problems.append(f"column {extra[0]!r}{more}: not in the schema; it will be ignored")
    where = table_columns(frame, schema)
    for column in schema.columns:
        series = frame.iloc[:, where[column.name]]
        if strict:
            problems += _types(series, column)
        problems += [f"column {column.name!r}: {what}" for what in _contents(series, column)]
    if schema.unit is not None and len(frame):
        largest = frame.iloc[:, where[schema.unit]].value_counts(dropna=True).max()
        if largest > schema.max_rows_per_unit:
            problems.append(
                f"column {schema.unit!r}: some unit has more than {schema.max_rows_per_unit} rows (max_rows); "
                "the surplus is dropped at random"
            )
    return problems


def _types(series: pd.Series, column: Column) -> list[str]:
    wanted = column.arrow_type
    found = pa.array(series.iloc[:0]).type if not isinstance(series.dtype, np.dtype) else None
    kinds = {wanted, pa.large_string()} if wanted == pa.string() else {wanted, pa.string()}
    if found is None:
        fits = _same(series.dtype, wanted)
    else:
        fits = found in kinds if pa.types.is_string(wanted) or pa.types.is_large_string(wanted) else found == wanted
        fits = fits or (pa.types.is_dictionary(wanted) and pa.types.is_dictionary(found))
    return [] if fits else [f"column {column.name!r}: its type is not {wanted}"]


def _same(dtype: np.dtype, wanted: pa.DataType) -> bool:
    if dtype.kind == "O":
        return not pa.types.is_integer(wanted) and not pa.types.is_floating(wanted)
    if pa.types.is_date(wanted):
        return dtype.kind == "M"
    try:
        return pa.from_numpy_dtype(dtype) == wanted
    except pa.ArrowException:
        return False


def _contents(series: pd.Series, column: Column) -> list[str]:
    if column.kind == "identifier":
        return []
    if column.kind == "image":
        unreadable = not readable(series, column).all()
        return ["holds images of another size, or none; they count as grey"] if unreadable else []
    null = is_null(series)
    problems = []
    if null.any() and not column.missing:
        problems.append("holds missing values, which the schema does not allow (`missing: true`)")
    if column.kind in ("continuous", "integer", "datetime"):
        values = to_numbers(series, column)
        if (np.isnan(values) & ~null).any():
            shape = "ISO dates" if column.kind == "datetime" else "numbers"
            problems.append(f"holds values that cannot be read as {shape}; they count as missing")
        if np.isinf(values).any():
            problems.append("holds infinite values; they are clamped to the bounds")
        finite = values[np.isfinite(values)]
        if column.kind == "integer" and (finite != np.rint(finite)).any():
            problems.append("holds numbers that are not whole; they are rounded")
        if column.resolved and _outside(finite, column):
            problems.append("holds values outside lower and upper; they are clamped")
    elif column.resolved:
        codes = positions(series, column)
        if not column.other and ((codes == UNKNOWN) | ((codes == MISSING) & ~null)).any():
            problems.append("holds values that are not among its categories")
    return problems


def _outside(values: np.ndarray, column: Column) -> bool:
    # A float32 column holds its bounds only to float32 precision, so they are compared as that.
    lower, upper = column.bounds
    kind = column.arrow_type
    if pa.types.is_floating(kind):
        lower, upper = (float(np.dtype(kind.to_pandas_dtype()).type(x)) for x in (lower, upper))
    return bool(((values < lower) | (values > upper)).any())
