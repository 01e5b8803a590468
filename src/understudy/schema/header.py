"""The header of a CSV file: its first line that is not blank, and nothing after it.

The file is read as bytes and only that line is decoded, so an odd byte, an open quote or a ragged line further down, which
is somebody's row, changes nothing: neither the names nor a message. A header is one line; a quote that it leaves open is
refused instead of being looked for in the rows.
"""

import csv
import gzip
import io
import os
import zlib
from pathlib import Path

from understudy.errors import UsageError

SUFFIXES = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
LONGEST_LINE = 1 << 20
BOM = b"\xef\xbb\xbf"


def read_header(path: str | os.PathLike[str]) -> tuple[list[str], int]:
    """The names in the header, and the number of bytes up to its end."""
    line, end = b"", 0
    try:
        with open_bytes(path) as file:
            while not line and (raw := file.readline(LONGEST_LINE + 1)):
                line = raw.removeprefix(BOM if end == 0 else b"").strip(b"\r\n")
                end += len(raw)
    except (EOFError, OSError, zlib.error):
        raise damaged(path) from None
    if len(line) > LONGEST_LINE:
        raise damaged(path)
    try:
        found = next(csv.reader([line.decode("utf-8")], delimiter=separator(path), strict=True), [])
    except UnicodeDecodeError:
        raise UsageError(
            f"table {str(path)!r}: the header is not UTF-8 text; save it again as CSV with UTF-8 encoding"
        ) from None
    except csv.Error:
        raise UsageError(
            f"table {str(path)!r}: the header leaves a quote open or holds a line break; a header is one line"
        ) from None
    if not any(field.strip() for field in found):
        raise UsageError(f"table {str(path)!r} has no header line")
    return found, end


def separator(path: str | os.PathLike[str]) -> str:
    """Tab for .tsv files, comma for .csv files."""
    name = Path(path).name.lower()
    return next(mark for suffix, mark in SUFFIXES.items() if name.endswith(suffix))


def is_packed(path: str | os.PathLike[str]) -> bool:
    return str(path).lower().endswith(".gz")


def open_bytes(path: str | os.PathLike[str]) -> io.BufferedIOBase:
    """The file's bytes, unpacked if its name ends in .gz."""
    return gzip.GzipFile(path) if is_packed(path) else open(path, "rb")


def damaged(path: str | os.PathLike[str]) -> UsageError:
    return UsageError(f"table {str(path)!r} is not a readable CSV file; it may be truncated or damaged")
