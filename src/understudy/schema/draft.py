"""`schema init`: a commented first schema that looks at nobody's rows.

What enters the draft:
- CSV: the names in the header. CSV has no types, so every kind is open (`?`) and must be said before the schema loads: in
  the file, or by `kinds` (`*` for all that is open).
- Parquet: the names and types in the file's own schema. No row is read.
- Frames: the names and dtypes; an object column says nothing, so its kind is open.
- Never a value, a minimum, a maximum, a category, a row count or whether something is missing: those are marked
  `estimate` or left to the holder.

Two ways look at cells. `public_data` says that the table is public and reads it in full. `found` brings kinds that were found
privately (`understudy.kinds`), and the draft then carries their price.

Without `public_data` the text is a function of header, types and arguments: one row more or less cannot change a byte.
"""

import os
import sys
from collections.abc import Container, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from understudy.errors import UsageError
from understudy.schema import public
from understudy.schema.document import OPEN, nearest
from understudy.schema.facts import csv_header, file_format, parquet_schema, refuse_odd_header
from understudy.schema.paid import PaidKinds
from understudy.schema.schema import CLASS_KINDS
from understudy.schema.sketch import SAID, TEXT_NOTE, Entry, of_kind, write
from understudy.schema.types import FAMILIES, family, parse_type

REST = "*"  # in `kinds`: every column whose kind is open
_OF_FAMILY = {
    "integer": "integer",
    "float": "continuous",
    "boolean": "boolean",
    "string": "categorical",
    "datetime": "datetime",
}
_LABEL_NOTE = "label: list its classes if they are public; for a number to predict use kind integer"
_OPEN_LABEL = "label: say categorical for classes, integer or continuous for a number to predict"

Types = dict[str, pa.DataType | None]  # None: nothing says what the column holds


class FoundKinds(NamedTuple):
    """Kinds (or `?`) of columns that were found privately, the columns with gaps, and what that cost."""

    kinds: Mapping[str, str]
    gaps: frozenset[str]
    paid: PaidKinds


def draft(
    table: Any,
    label: str | None = None,
    unit: str | None = None,
    public_data: bool = False,
    *,
    kinds: Mapping[str, str] | None = None,
    max_rows: int = 1,
    found: FoundKinds | None = None,
    named: Container[str] = (),
) -> str:
    """The text of a schema file for a table: a CSV or Parquet file, or a pandas, polars or PyArrow frame.

    `kinds` says the kind of columns by name; `max_rows` is the most rows of one `unit`; `named` are names of
    columns that a schema has made public already, so that a header of years or numbers is known to be one.
    """
    types = public_types(table, named)
    said = dict(kinds or {})
    check_roles(types, label, unit, said)
    if public_data:
        types = types | public.coarse_types(table, [name for name, kind in types.items() if kind is None])
    entries = [_entry(name, kind, said, found, name == label, name == unit) for name, kind in types.items()]
    count = None
    if public_data:
        known, count = public.stated(table, [e.column for e in entries if e.column is not None], label)
        entries = [replace(e, column=known.get(e.name)) for e in entries]
    is_file = isinstance(table, str | os.PathLike)
    source = "the header only" if is_file and file_format(table) == "csv" else "names and types only"
    if found is not None:
        source = "the header, and kinds that were found privately and paid for"
    return write(
        entries,
        what=ascii(Path(table).name) if is_file else "a table",
        source="its contents, as a public table" if public_data else source,
        rows=count,
        label=label,
        unit=unit,
        max_rows=max_rows,
        paid=None if found is None else found.paid,
    )


def check_roles(names: Types, label: str | None, unit: str | None, said: Mapping[str, str]) -> None:
    """Refuse names that the table does not have, and kinds that do not exist, before anything is asked of it."""
    for role, name in (("label", label), ("unit", unit), *(("kind", name) for name in said if name != REST)):
        if name is not None and name not in names:
            raise UsageError(f"{role}: {name!r} is not a column of the table{nearest(name, names)}")
    if label is not None and label == unit:
        raise UsageError(f"column {label!r} cannot be both label and unit")
    for name, kind in said.items():
        if kind not in SAID:
            raise UsageError(f"column {name!r}: {kind!r} is no kind{nearest(kind, SAID)}; use one of {', '.join(SAID)}")
    if unit is not None and said.get(unit, "identifier") != "identifier":
        raise UsageError(f"unit column {unit!r} names persons and is never learned: its kind is identifier")


# -- names and types -------------------------------------------------------------------------------------------------


def public_types(table: object, named: Container[str] = ()) -> Types:
    """As `column_types`, where the names become public: what may be a row is refused as a header, names of a schema (`named`)
    aside, which are public already."""
    found = column_types(table)
    if isinstance(table, str | os.PathLike) and file_format(table) == "csv":
        refuse_odd_header(table, csv_header(table), named)
    return found


def column_types(table: object) -> Types:
    """Names and declared types of a file or frame; no row is read."""
    if isinstance(table, str | os.PathLike):
        if file_format(table) == "csv":
            return dict.fromkeys(csv_header(table))
        if file_format(table) != "parquet":
            raise UsageError(f"{str(table)!r}: a schema is drafted from CSV and Parquet files; write images' by hand")
        found = parquet_schema(table)
        pairs = list(zip(found.names, found.types, strict=True))
    elif isinstance(table, pd.DataFrame):
        pairs = [(str(name), _type_of_dtype(table.iloc[:0, i])) for i, name in enumerate(table.columns)]
    elif isinstance(table, pa.Table | pa.RecordBatch):
        pairs = list(zip(table.schema.names, table.schema.types, strict=True))
    elif type(table).__module__.split(".")[0] == "polars" and hasattr(table, "collect_schema"):
        pairs = [(name, _type_of_polars(kind)) for name, kind in table.collect_schema().items()]
    else:
        raise UsageError(f"a table must be a pandas, polars or PyArrow table or a file, not {type(table).__name__}")
    if len({name for name, _ in pairs}) < len(pairs):
        raise UsageError("the table has two columns of the same name; rename one of them")
    if any(not name for name, _ in pairs):
        raise UsageError("the table has a column without a name")
    return dict(pairs)


def _type_of_dtype(empty: pd.Series) -> pa.DataType | None:
    if empty.dtype == object:
        return None
    try:
        return pa.array(empty, from_pandas=True).type
    except (pa.ArrowException, TypeError, ValueError):
        return pa.binary()  # a dtype without a counterpart: left out as unsupported


def _type_of_polars(kind: object) -> pa.DataType | None:
    polars = sys.modules["polars"]
    return None if kind == polars.Object else polars.Series("", [], dtype=kind).to_arrow().type


def _entry(
    name: str,
    kind: pa.DataType | None,
    said: Mapping[str, str],
    found: FoundKinds | None,
    is_label: bool,
    is_unit: bool,
) -> Entry:
    group, dtype = ("", None) if kind is None else (family(kind), _dtype(kind))
    if is_unit:
        note = "names the protected person; never learned, regenerated"
        return of_kind(name, "identifier", dtype=dtype if group in FAMILIES["identifier"] else None, note=note)
    if group in ("other", "pixels"):
        why = "say its size: {kind: image, height: H, width: W}" if group == "pixels" else f"{kind} is not supported"
        return Entry(name=name, left_out=True, note=why)
    gap = False
    if name in said:
        wanted = said[name]
        return of_kind(name, wanted, dtype=dtype if group in FAMILIES[wanted] else None)  # type: ignore[index]
    wanted = _OF_FAMILY.get(group, OPEN)
    if wanted == OPEN and found is not None and name in found.kinds:
        wanted, gap = found.kinds[name], name in found.gaps
        dtype = "int64" if is_label and wanted == "integer" else None
    if wanted == OPEN:
        note = _OPEN_LABEL if is_label and REST not in said else ""
        return of_kind(name, said.get(REST, OPEN), note=note)
    if is_label and wanted == "integer":  # the usual label is a class, even when it is stored as a number
        wanted = "categorical"
    if wanted != "categorical":
        return of_kind(name, wanted, missing=gap and not (is_label and wanted in CLASS_KINDS), dtype=dtype)
    return of_kind(name, wanted, missing=gap and not is_label, dtype=dtype, note=_LABEL_NOTE if is_label else TEXT_NOTE)


def _dtype(kind: pa.DataType) -> str | None:
    if pa.types.is_dictionary(kind):  # how wide its numbers are tells how many different values there were
        kind = pa.dictionary(pa.int32(), kind.value_type, ordered=kind.ordered)
    try:
        return str(kind) if parse_type(str(kind)) == kind else None
    except UsageError:
        return None  # comes back as the natural type of its kind
