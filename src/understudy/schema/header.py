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
OTHERS = (";", "\t", "|")  # separators that a header may show instead of a comma
LONGEST_LINE = 1 << 20
BOM = b"\xef\xbb\xbf"


def read_header(path: str | os.PathLike[str]) -> tuple[list[str], int, str]:
    """The names in the header, the number of bytes up to its end, and what separates columns."""
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
        mark = separator(path, line.decode("utf-8"))
        found = next(csv.reader([line.decode("utf-8")], delimiter=mark, strict=True), [])
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
    return found, end, mark


def separator(path: str | os.PathLike[str], header: str) -> str:
    """Tab for .tsv files, comma for .csv files; where the header has none of these, what else it has most of.

    Decided by the header alone, which is public; never by a row.
    """
    name = Path(path).name.lower()
    usual = next(mark for suffix, mark in SUFFIXES.items() if name.endswith(suffix))
    most = max((usual, ",", *OTHERS), key=header.count)
    return most if usual not in header and most in header else usual


def is_packed(path: str | os.PathLike[str]) -> bool:
    """Whether a file is compressed, by its name."""
    return str(path).lower().endswith(".gz")


def open_bytes(path: str | os.PathLike[str]) -> io.BufferedIOBase:
    """The file's bytes, unpacked if its name ends in .gz."""
    return gzip.GzipFile(path) if is_packed(path) else open(path, "rb")


def damaged(path: str | os.PathLike[str]) -> UsageError:
    """The error for a file that cannot be read."""
    return UsageError(f"table {str(path)!r} is not a readable CSV file; it may be truncated or damaged")
