"""The header of a CSV file: its first line that is not blank, and nothing after it.

The file is read as bytes and only that line is decoded, so an odd byte, an open quote or a ragged line further down, which
is somebody's row, changes nothing: neither the names nor a message. A header is one line; a quote that it leaves open is
refused instead of being looked for in the rows.
"""

import csv
import gzip
import os
from io import BufferedIOBase
from pathlib import Path

from understudy.errors import UsageError
from understudy.schema.csv_rows import SUFFIXES
from understudy.schema.facts import refuse_odd_header


def separator(path: str | os.PathLike[str]) -> str:
    """Tab for .tsv files, comma for .csv files."""
    name = Path(path).name.lower()
    return next(mark for suffix, mark in SUFFIXES.items() if name.endswith(suffix))


def open_lines(path: str | os.PathLike[str]) -> BufferedIOBase:
    """The file's bytes, unpacked if its name ends in .gz."""
    try:
        return gzip.GzipFile(path, "rb") if str(path).lower().endswith(".gz") else open(path, "rb")
    except FileNotFoundError:
        raise UsageError(f"table {str(path)!r} does not exist") from None
    except OSError as error:
        raise UsageError(f"table {str(path)!r} cannot be read: {error.strerror}") from None


def first_line(file: BufferedIOBase) -> bytes:
    """The header line of an opened file, which is left at the line after it; empty if there is none."""
    return next((line for line in file if line.strip(b"\xef\xbb\xbf\r\n \t")), b"")


def header_names(path: str | os.PathLike[str]) -> list[str]:
    """The names of the columns of a CSV file."""
    try:
        with open_lines(path) as file:
            line = first_line(file)
    except (OSError, EOFError):  # a fact about the file as a whole: not the packed format its name promises
        raise UsageError(f"table {str(path)!r} is not a readable CSV file; it may be truncated or damaged") from None
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise UsageError(
            f"table {str(path)!r}: the header is not UTF-8 text; save it again as CSV with UTF-8 encoding"
        ) from None
    if not text.strip():
        raise UsageError(f"table {str(path)!r} has no header line")
    try:
        header = next(csv.reader([text], delimiter=separator(path), strict=True))
    except csv.Error:
        raise UsageError(f"table {str(path)!r}: the header leaves a quote open; a header is one line") from None
    refuse_odd_header(path, header)
    return header
