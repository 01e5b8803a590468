"""Does a table fit its schema? Columns are named, values and counts never.

The answer depends on the rows, so it is for the holder of the table and no part of a release. Nothing here stops a
fit: what does not fit is clamped, or treated as missing or `other`.

A table is looked at block by block. Rows of a unit may stand anywhere, so units are counted by a 64-bit hash of their id;
of tables too long for that, some of the units in each of several passes over the unit column.
"""

import os
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy.schema.columns import OTHER, Column
from understudy.schema.constraints import Numbers, columns_of
from understudy.schema.facts import csv_header, file_format, parquet_schema
from understudy.schema.reading import MISSING, UNKNOWN, Rows, Table, open_table
from understudy.schema.schema import Schema
from understudy.schema.tables import as_frame

COUNTED = 1 << 23  # rows whose units are counted in one pass
ROUNDED = 0.01  # by which a public number of rows may be off: less than noise would move it


def check(table: Any, schema: Schema, *, strict: bool = False) -> list[str]:
    """What does not fit, one line for each column and cause; an empty list when everything fits.

    `table` is a frame or a file; a CSV file is judged by its text, so unreadable cells are seen as such. `strict` is
    for pandas frames we wrote ourselves: other columns, another order and other types count as problems too.
    """
    problems: list[str] = []
    opened = open_table(table, schema)
    names = _names(table, schema)
    known = set(schema.names)
    if strict and list(names) != list(schema.names):
        problems.append("the table has other columns, or another order of columns, than the schema")
    elif extra := [name for name in names if name not in known]:
        more = f" and {len(extra) - 1} more" if len(extra) > 1 else ""
        problems.append(f"column {extra[0]!r}{more}: not in the schema; it will be ignored")
    found: dict[str, dict[str, None]] = {column.name: {} for column in schema.columns}
    label = schema.column(schema.label) if schema.label is not None and schema.label_kind != "numeric" else None
    seen: set[int] = set()
    breaks: dict[int, None] = {}
    count = 0
    for rows in opened.blocks():
        count += rows.count
        breaks |= dict.fromkeys(_broken(rows, schema))
        if label is not None and label.resolved:
            seen |= set(rows.positions(label).tolist())
        for column in schema.columns:
            found[column.name] |= dict.fromkeys(_contents(rows, column, schema))
    if not count and isinstance(table, str | os.PathLike):
        return [*problems, "the table holds no rows, only a header"]
    if schema.rows is not None and not strict and abs(count - schema.rows) > ROUNDED * schema.rows:
        few = "fewer" if count < schema.rows else "more"
        problems.append(
            f"the table has {few} rows than `rows` says; what is counted is believed to add up to that number"
        )
    if label is not None and label.resolved and not strict:
        classes = 2 if label.kind == "boolean" else len(label.categories or ())
        if len([code for code in seen if code >= 0]) < classes:
            found[label.name][
                "some of its classes do not occur; are they written as in the table (1 or yes, Yes or yes)?"
            ] = None
    typed = as_frame(table.head(0), schema) if strict else None
    for column in schema.columns:
        if typed is not None:
            problems += _types(typed[column.name], column)
        problems += [f"column {column.name!r}: {what}" for what in found[column.name]]
    problems += [f"constraint {number}: some rows break it; in every sample it holds" for number in sorted(breaks)]
    if schema.unit is not None and _too_many_rows(
        open_table(table, schema, columns=[schema.column(schema.unit)]), schema
    ):
        problems.append(
            f"column {schema.unit!r}: some unit has more than {schema.max_rows_per_unit} rows (max_rows); "
            "the surplus is dropped at random"
        )
    return problems


def _broken(rows: Rows, schema: Schema) -> list[int]:
    """The numbers of constraints that some rows break."""
    if not rows.count or not schema.checks:
        return []
    found = {column.name: _numbers(rows, column) for column in columns_of(schema.checks)}
    return [number for number, one in enumerate(schema.checks, 1) if one.broken(found).any()]


def _numbers(rows: Rows, column: Column) -> Numbers:
    if column.kind in ("continuous", "integer", "datetime"):
        values = rows.numbers(column)
        null = np.isnan(values)
        return Numbers(np.where(null, rows.specials(column) if column.codes else 0.0, values), null)
    if column.kind == "ordinal":
        places = rows.positions(column)
        return Numbers(
            np.maximum(places, 0).astype(float), places < 0
        )  # what is missing is the only special, of place 0
    places = rows.outcomes(column)
    return Numbers(places.astype(float), np.asarray([value is None for value in column.outcomes])[places])


def remarks(table: object, schema: Schema) -> list[str]:
    """What the header and the types of a table say about it, without a look at any row: may be shown to anybody."""
    open_table(table, schema)
    names = _names(table, schema)
    extra = [name for name in names if name not in set(schema.names)]
    more = f" and {len(extra) - 1} more" if len(extra) > 1 else ""
    return [f"column {extra[0]!r}{more}: not in the schema; it will be ignored"] if extra else []


def _names(table: Any, schema: Schema) -> list[str]:
    if not isinstance(table, str | os.PathLike):
        return table.column_names if isinstance(table, pa.Table) else [str(name) for name in table.columns]
    found = file_format(table)
    if found == "csv":
        return csv_header(table)
    return list(parquet_schema(table).names if found == "parquet" else schema.names)


def _too_many_rows(table: Table, schema: Schema) -> bool:
    """Whether some unit has more rows than it may; `COUNTED` rows or so are remembered at a time."""
    column = schema.column(schema.unit or "")
    passes = table.most_rows // COUNTED + 1
    for turn in range(passes):
        units = [np.zeros(0, np.uint64)]
        for rows in table.blocks():
            hashed = _hashes(rows.identities(column))
            units.append(hashed[hashed % np.uint64(passes) == turn])
        if np.unique(np.concatenate(units), return_counts=True)[1].max(initial=0) > schema.max_rows_per_unit:
            return True
    return False


def _hashes(ids: pa.Array) -> np.ndarray:
    """64 bits of every id; cells that name nobody are left out."""
    coded = ids.drop_null() if pa.types.is_dictionary(ids.type) else ids.drop_null().dictionary_encode()
    names = coded.dictionary.to_numpy(zero_copy_only=False).astype(object)
    return np.asarray(pd.util.hash_array(names, categorize=False)[coded.indices.to_numpy()])


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
        return bool(pa.from_numpy_dtype(dtype) == wanted)
    except pa.ArrowException:
        return False


def _contents(rows: Rows, column: Column, schema: Schema) -> list[str]:
    if column.kind == "identifier":
        nobody = column.name == schema.unit and rows.identities(column).null_count > 0
        return ["some rows name no unit; they are left out"] if nobody else []
    if column.kind == "image":
        unreadable = not rows.pixels(column)[1].all()
        return ["holds images of another size, or none; they count as grey"] if unreadable else []
    null = rows.is_null(column)
    problems = []
    if null.any() and not column.missing:
        problems.append(
            f"holds missing values, which a label cannot be; they count as {_instead(column)}"
            if column.name == schema.label
            else f"holds missing values; without `missing: true` they count as {_instead(column)}"
        )
    if column.kind in ("continuous", "integer", "datetime"):
        values = rows.numbers(column)
        read = null | (rows.specials(column) >= int(column.missing)) if column.codes else null
        if (np.isnan(values) & ~read).any():
            comma = (
                'with a decimal comma? say `decimal: ","` at the top of the schema; ' if column.decimal == "." else ""
            )
            shape = f"numbers ({comma}words or codes beside them? say `codes: [...]`)"
            if column.kind == "datetime":
                shape = (
                    f"dates of the form {column.format}" if column.format else 'ISO dates (say `format: "%d.%m.%Y"`)'
                )
            problems.append(f"holds values that cannot be read as {shape}; they count as missing")
        if np.isinf(values).any():
            problems.append("holds infinite values; they are clamped to the bounds")
        finite = values[np.isfinite(values)]
        if column.kind == "integer" and (finite != np.rint(finite)).any():
            problems.append("holds numbers that are not whole; they are rounded")
        if column.resolved and _outside(finite, column):
            problems.append(
                "holds values outside lower and upper; they are clamped"
                + (" (codes such as 999? say `codes: [999]`)" if column.kind != "datetime" else "")
            )
    elif column.resolved:
        codes = rows.positions(column)
        if not column.other and ((codes == UNKNOWN) | ((codes == MISSING) & ~null)).any():
            problems.append(f"holds {_strange(column)}")
    return problems


def _strange(column: Column) -> str:
    """What to call values that no category has, what becomes of them, and the way out."""
    become = "they count as missing" if column.missing else f"they count as {_instead(column)}"
    if column.kind == "boolean":
        return f"other words than true/false, yes/no, t/f or 1/0; {become} (say `kind: categorical` and list the words)"
    return f"values that are not among its categories; {become} (list them, or collect them with `other: true`)"


def _instead(column: Column) -> str:
    """What a missing cell becomes in a column that may not be missing (see `Codec`)."""
    if column.kind in ("continuous", "integer", "datetime"):
        return "the middle of the bounds"
    if column.kind == "boolean":
        return "false"
    return f"the category {OTHER!r}" if column.other else "the first category"


def _outside(values: np.ndarray, column: Column) -> bool:
    # A float32 column holds its bounds only to float32 precision, so they are compared as that.
    lower, upper = column.bounds
    kind = column.number_type
    if pa.types.is_floating(kind):
        lower, upper = (float(np.dtype(kind.to_pandas_dtype()).type(x)) for x in (lower, upper))
    return bool(((values < lower) | (values > upper)).any())
