"""`schema init`: a commented first schema from header and types.

What enters the draft:
- Parquet: the names and types in the file's own schema. No row is read.
- CSV: the names in the header and, since CSV has no types, one of five coarse kinds for each column (whole numbers,
  numbers, dates, true/false, text): the narrowest that all cells fit. The draft says so and asks the holder to
  confirm it, since using a schema declares these kinds public.
- Never a value, a minimum, a maximum, a category, a row count or whether something is missing: those are marked
  `estimate` or left to the holder, unless `public_data` says that the table is public.
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from understudy.errors import UsageError
from understudy.schema import tables
from understudy.schema.columns import Column
from understudy.schema.document import column_entry, nearest
from understudy.schema.estimates import usable_bounds, usable_categories
from understudy.schema.schema import CLASS_KINDS, Schema
from understudy.schema.sdv import share_estimates
from understudy.schema.text import flow, scalar
from understudy.schema.types import EXACT_INTEGERS, FAMILIES, Kind, family, parse_type
from understudy.schema.values import is_null, to_numbers, to_texts

MOST_CATEGORIES = 200  # a longer list is free text or an identifier, and no reader would check it

_HEAD = """\
# What is public about {file}. Drafted from {source}; read every line before use.
# Whatever stands here is treated as public and costs no budget. Whatever says `estimate` is found privately and is
# paid for from epsilon, so declare bounds and categories wherever they are known without looking at the data.
#   bounds        write `lower: 0, upper: 120` for `bounds: estimate`; columns may share one: `{{estimate: NAME}}`
#   categories    write `categories: [a, b, c]` for `categories: estimate`; `other: true` collects the rest
#   missing       add `missing: true` where a value may be absent
#   kinds         continuous, integer, ordinal, categorical, boolean, datetime, identifier (regenerated, never learned)
# Delete the lines of columns that should not be released. Then run: understudy schema check
"""


def draft(
    path: str | os.PathLike[str], label: str | None = None, unit: str | None = None, public_data: bool = False
) -> str:
    """The text of a schema file for the table at `path`; `Schema.load` accepts it as it stands."""
    names, types = _names_and_types(path)
    for role, name in (("--label", label), ("--unit", unit)):
        if name is not None and name not in names:
            raise UsageError(f"{role} {name!r} is not a column of {str(path)!r}{nearest(name, names)}")
    if label is not None and label == unit:
        raise UsageError(f"column {label!r} cannot be both label and unit")
    left_out: dict[str, str] = {}
    drafted: list[Column] = []
    for name, kind in zip(names, types, strict=True):
        column = _column(name, kind, name == label, name == unit)
        if column is None:
            image = family(kind) == "pixels"
            left_out[name] = "say its size: {kind: image, height: H, width: W}" if image else f"{kind} is not supported"
            continue
        drafted.append(column)
    frame = tables.read_table(path, Schema(columns=tuple(drafted))) if public_data else None
    if frame is not None:
        drafted = [_public(c, frame[c.name], c.name == label) for c in drafted]
    notes = {c.name: _note(c, c.name == label, c.name == unit) for c in drafted}
    is_csv = tables.file_format(path) == "csv"
    source = "header and types only" if frame is None else "its contents, as a public table"
    lines = [_HEAD.format(file=ascii(Path(path).name), source=source)]
    if is_csv:
        lines.append(
            "# CSV has no types: the kinds below are guessed from the cells and become public by being stated here.\n"
        )
    lines.append("understudy: schema\n")
    if frame is not None:
        lines.append(f"rows: {len(frame)}\n")
    else:
        lines.append("# rows: 1000             the number of rows, only if it is public\n")
    if label is not None:
        lines.append(
            f"label: {flow({'column': label})}   # add `positive: VALUE` to say which class is the positive one\n"
        )
    if unit is not None:
        lines.append(f"unit: {flow({'column': unit, 'max_rows': 1})}   # most rows of one person; more are dropped\n")
    lines.append("columns:\n")
    for column in share_estimates(tuple(drafted)):
        note = f"   # {notes[column.name]}" if notes[column.name] else ""
        lines.append(f"  {scalar(column.name)}: {flow(column_entry(column))}{note}\n")
    lines += [f"  # {scalar(name)}: left out, {why}\n" for name, why in left_out.items()]
    return "".join(lines)


def _names_and_types(path: str | os.PathLike[str]) -> tuple[list[str], list[pa.DataType]]:
    if tables.file_format(path) == "parquet":
        found = tables.parquet_schema(path)
        if len(set(found.names)) < len(found.names):
            raise UsageError(f"table {str(path)!r} has two columns of the same name; rename one of them")
        if "" in found.names:
            raise UsageError(f"table {str(path)!r} has a column without a name")
        return list(found.names), list(found.types)
    header = tables.csv_header(path)
    tables.refuse_odd_header(path, header)
    cells = tables._read_csv(path, header)
    return header, [_coarse(column) for column in cells.columns]


def _coarse(cells: pa.ChunkedArray) -> pa.DataType:
    """The narrowest coarse type that all cells fit; text when there are none."""
    nulls = pa.array(list(tables.NULLS), pa.string())
    cells = pc.utf8_trim_whitespace(pc.drop_null(pc.if_else(pc.is_in(cells, value_set=nulls), None, cells)))
    if len(cells) == 0:
        return pa.string()
    if pc.any(pc.match_substring_regex(cells, r"^[-+]?0[0-9]")).as_py():
        return pa.string()  # leading zeros: codes, not numbers
    lowered = pc.utf8_lower(cells)
    if pc.all(pc.is_in(lowered, value_set=pa.array(["true", "false"]))).as_py():
        return pa.bool_()
    for kind in (pa.int64(), pa.float64(), pa.date32(), pa.timestamp("us")):
        try:
            cells.cast(kind)
        except pa.ArrowException:
            continue
        return kind
    return pa.string()


def _column(name: str, kind: pa.DataType, is_label: bool, is_unit: bool) -> Column | None:
    group = family(kind)
    dtype = _dtype(kind)
    if group in ("other", "nothing", "pixels"):
        return Column(name=name, kind="identifier") if is_unit else None
    if is_unit:
        return Column(name=name, kind="identifier", dtype=dtype if group in FAMILIES["identifier"] else None)
    if is_label and group in ("integer", "string"):  # the usual label is a class, even when it is stored as a number
        return Column(name=name, kind="categorical", estimate=name, dtype=dtype)
    if group == "boolean":
        return Column(name=name, kind="boolean", dtype=dtype)
    if group == "string":
        return Column(name=name, kind="categorical", estimate=name, dtype=dtype)
    kinds: dict[str, Kind] = {"integer": "integer", "float": "continuous", "datetime": "datetime"}
    return Column(name=name, kind=kinds[group], estimate=name, dtype=dtype)


def _dtype(kind: pa.DataType) -> str | None:
    try:
        return str(kind) if parse_type(str(kind)) == kind else None
    except UsageError:
        return None  # comes back as the natural type of its kind


def _note(column: Column, is_label: bool, is_unit: bool) -> str:
    if is_unit:
        return "names the protected person; never learned, regenerated"
    if column.estimate is None:
        return ""
    if is_label and column.kind == "categorical":
        return "label: list its classes if they are public; for a number to predict use kind integer"
    if column.kind == "categorical":
        return "text: if these are names or free text, delete the line or use kind identifier"
    return ""


def _public(column: Column, series: pd.Series, is_label: bool) -> Column:
    """The column with bounds, categories and missingness copied from a table that its holder calls public."""
    if column.kind == "identifier":
        return column
    column = replace(column, missing=bool(is_null(series).any()) and not (is_label and column.kind in CLASS_KINDS))
    if column.kind == "boolean":
        return column
    if column.kind == "categorical":
        values = usable_categories(column, to_texts(series, column)[0], None)
        if not 0 < len(values) <= MOST_CATEGORIES:
            return column
        return replace(column, estimate=None, categories=tuple(sorted(values)))
    numbers = to_numbers(series, column)
    numbers = numbers[np.isfinite(numbers)]
    if numbers.size == 0:
        return column
    low, high = float(numbers.min()), float(numbers.max())
    if column.kind == "integer" and max(abs(low), abs(high)) > EXACT_INTEGERS:
        return Column(name=column.name, kind="identifier", dtype=column.dtype)
    lower, upper = usable_bounds(column, low, high)
    return replace(column, estimate=None, lower=lower, upper=upper)
