"""What may be known of a table without looking at a row: its file, its header, its declared types.

These are facts about the *file* or frame, so whatever is wrong with them is refused in one line (`UsageError`) that names a
file, a column of the schema or a position, and never quotes the file's own text: the line taken for a header may be a row.
"""

import difflib
import math
import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow.fs import FileType

from understudy.errors import UsageError
from understudy.schema import storage
from understudy.schema.cells import number
from understudy.schema.columns import Column
from understudy.schema.header import SUFFIXES, read_header
from understudy.schema.parquet_rows import ENDINGS, damaged, is_folder, parquet_file, parquet_files
from understudy.schema.types import family, value_type

MOST_PRESENT = 4  # times as many columns as are absent: then the first line is a header, and no row of cells
_ACCEPTED = {  # families of a typed source that a kind can be read from
    "continuous": ("integer", "float", "boolean"),
    "integer": ("integer", "float", "boolean"),
    "ordinal": ("string", "integer", "float", "boolean"),
    "categorical": ("string", "integer", "float", "boolean"),
    "boolean": ("boolean", "integer", "float", "string"),
    "datetime": ("datetime", "string"),
    "image": ("pixels",),
    "identifier": ("integer", "string", "boolean", "datetime"),
}
_WORDS = {
    "integer": "whole numbers",
    "float": "numbers",
    "boolean": "true/false",
    "string": "text",
    "datetime": "dates",
    "pixels": "lists of whole numbers",
}


_DATE = re.compile(r"[0-9]{1,4}([-./])[0-9]{1,2}\1[0-9]{1,4}(?:[T ].*)?")  # 1980-05-01 10:30, 1.5.1980, 5/1/80


def file_format(path: str | os.PathLike[str]) -> str:
    """`csv`, `parquet` or `npz`, by the ending of the name; a folder of Parquet files is `parquet`, any other `folder`."""
    if is_folder(path):
        return "parquet" if parquet_files(path) else "folder"
    name = Path(storage.shown(path)).name.lower()
    if storage.is_address(path) and not name.endswith(ENDINGS):
        raise UsageError(
            f"table {storage.shown(path)!r}: only Parquet files, or a folder of them, are read from an address"
        )
    if name.endswith(".npz"):
        return "npz"
    if name.endswith(tuple(SUFFIXES)):
        return "csv"
    if name.endswith(ENDINGS):
        return "parquet"
    raise UsageError(f"{str(path)!r}: the name of a table must end in .csv, .tsv (or .gz of these) or .parquet")


def require_file(path: str | os.PathLike[str], *, folder: bool = False) -> None:
    """UsageError unless the path is a file (or a folder, where one is meant)."""
    if storage.is_address(path):
        if storage.about(path).type == FileType.NotFound:
            raise UsageError(f"table {storage.shown(path)!r} does not exist")
        return
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


def parquet_schema(path: str | os.PathLike[str]) -> pa.Schema:
    """Names and types of a Parquet file, or of a folder of them that all have the same; no row is read."""
    found: pa.Schema | None = None
    for file in parquet_files(path):
        require_file(file)
        try:
            with parquet_file(file) as opened:
                own = opened.schema_arrow
        except (pa.ArrowException, OSError):
            raise damaged(file) from None
        found = own if found is None else found
        if not own.equals(found):
            name = Path(storage.shown(file)).name
            raise UsageError(f"table {storage.shown(path)!r}: {name!r} has other columns or types than the first file")
    if found is None:
        raise UsageError(f"table {storage.shown(path)!r} holds no Parquet files")
    return found


def csv_header(path: str | os.PathLike[str]) -> list[str]:
    """The names in the first line of a CSV file."""
    require_file(path)
    return read_header(path)[0]


def refuse_odd_header(path: str | os.PathLike[str], header: list[str], named: Container[str] = ()) -> None:
    """Refuse what cannot be a header when no schema tells the names; positions only, the line may be a row.

    A line of which every name that could be a value is `named` by a schema is the header that the schema was written for.
    """
    hint = "does the file have a header line?"
    for index, field in enumerate(header):
        if not field.strip():
            raise UsageError(f"table {str(path)!r}: column {index + 1} has no name; {hint}")
        if field in header[:index]:
            first = header.index(field) + 1
            raise UsageError(f"table {str(path)!r}: columns {first} and {index + 1} have the same name; {hint}")
    places = [index for index, field in enumerate(header) if is_value(field)]
    if all(header[place] in named for place in places) or counted(header, places):
        return
    if len(places) == len(header) > 1:
        raise UsageError(f"table {str(path)!r} has no header line: its first line holds only numbers and dates")
    one = len(places) == 1
    which = f"column {places[0] + 1} has" if one else f"columns {places[0] + 1} and {places[1] + 1}"
    which += "" if one else " have" if len(places) == 2 else " and more have"
    raise UsageError(
        f"table {str(path)!r}: {which} a number or a date for a name, as in a row, and a row must not become the public names "
        "of columns; add a header line, or begin such names with a letter"
    )


def is_value(field: str) -> bool:
    """Whether a field is what cells hold and names are not: a number, also with a comma, a currency or a per cent, or a date."""
    text = field.strip()
    bare = text.strip("$€£%").strip()
    return any(not math.isnan(number(bare, mark)) for mark in ".,") or _DATE.fullmatch(text) is not None


def counted(header: list[str], places: list[int]) -> bool:
    """Numbers that people do use as names: 0, 1, 2 or 1, 2, 3 and so on, and years one after the other.

    Beside words at least three, next to each other: `Anna, Boston, 1` is a row.
    """
    names = [header[index] for index in places]
    if not all(name.isascii() and name.isdigit() for name in names):
        return False
    if len(names) < len(header) and (len(names) < 3 or places[-1] - places[0] != len(places) - 1):
        return False
    values = [int(name) for name in names]
    follows = values == list(range(values[0], values[0] + len(values)))
    return follows and (values[0] in (0, 1) or (len(values) > 1 and 1800 < values[0] < 2200))


def column_places(found: Iterable[Any], wanted: Sequence[str]) -> dict[str, int]:
    """Where each wanted column stands among the names found; names that are not text are compared as text."""
    where: dict[str, int] = {}
    twice: set[str] = set()
    for index, name in enumerate(found):
        text = name if isinstance(name, str) else str(name)
        if text in where:
            twice.add(text)
        where[text] = index
    absent = [name for name in wanted if name not in where]
    if absent:
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        hint = "; does the table have a header line?" if len(absent) == len(wanted) else ""
        if len(wanted) >= MOST_PRESENT * len(absent):
            hint = _alike(absent[0], where)
        if len(where) == 1 < len(wanted):
            hint = "; it has one column only: is there a header line, and a comma, a semicolon, a tab or | between columns?"
        raise UsageError(f"column {absent[0]!r}{more} of the schema is not in the table{hint}")
    for name in wanted:
        if name in twice:
            raise UsageError(f"column {name!r} appears twice in the table; rename one of them")
    return {name: where[name] for name in wanted}


def _alike(name: str, where: Mapping[str, int]) -> str:
    """A hint at the place of the closest name, or nothing. The name itself is not said."""
    close = difflib.get_close_matches(name, where, n=1)
    return f"; column {where[close[0]] + 1} of the table is called nearly so" if close else ""


def check_types(found: pa.Schema, columns: Iterable[Column]) -> None:
    """Refuse a typed table whose declared types cannot be read as the columns' kinds."""
    for column in columns:
        stored = found.field(column.name).type
        kind = family(stored)
        if kind == "other":
            raise column.problem(f"the table holds {stored} there, which is not supported")
        if column.kind == "identifier" and kind == "float":
            refuse_float_identifier(column, stored)
        elif kind != "nothing" and kind not in (*_ACCEPTED[column.kind], *(("string",) if column.has_words else ())):
            raise column.problem(f"the table holds {_WORDS[kind]} there, but the schema says {column.kind}")


def refuse_float_identifier(column: Column, stored: pa.DataType) -> None:
    """Floats name nobody, since long numbers run together in them; whole decimals do."""
    exact = value_type(stored)
    if not pa.types.is_decimal(exact) or exact.scale > 0:
        raise column.problem(
            "the table holds floating-point numbers there, in which long identifiers run together; "
            "pass the file, or read it with dtype=str"
        )
