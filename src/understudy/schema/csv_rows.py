"""CSV as a table of rows: one line is one row, whatever the other lines hold.

A line ends at a line feed (a carriage return before it is dropped). Without a quote character it is split at the delimiter;
with one it is parsed on its own by the rules of CSV, so a line break inside quotes is no part of a cell. `fields` is the
definition. A line that cannot be parsed, has another number of fields than the header, or is longer than 1 MiB is a row of
missing cells; a cell that is not UTF-8 is missing. Blank lines are no rows, unless there is only one column.

A part is a range of bytes and owns the lines that begin in it. Ordinary lines of a block go through PyArrow's parser with
quoting switched off, the others one by one; a property test shows that this equals `fields` line by line.
"""

import csv
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from understudy.schema.header import BOM, LONGEST_LINE, damaged, is_packed, open_bytes
from understudy.schema.rows import BLOCK, Rows, Table


def fields(line: bytes, delimiter: str, count: int) -> list[str | None]:
    """The cells of one line, without its line end."""
    nothing: list[str | None] = [None] * count
    if len(line) > LONGEST_LINE:
        return nothing
    text = line.decode("utf-8", "surrogateescape")
    found = text.split(delimiter)
    if '"' in text:
        try:
            found = next(csv.reader([text], delimiter=delimiter, strict=True), [])
        except csv.Error:  # an open quote, or text after a closing one
            return nothing
    return [_valid(cell) for cell in found] if len(found) == count else nothing


def _valid(cell: str) -> str | None:
    try:
        cell.encode()
    except UnicodeEncodeError:  # bytes that are not UTF-8
        return None
    return cell


@dataclass(frozen=True, kw_only=True)
class CsvTable(Table):
    """The rows of a CSV file. `names` is its header, `wanted` the columns to read, `start` where the first row begins."""

    path: str
    names: tuple[str, ...]
    wanted: tuple[str, ...]
    start: int
    size: int
    separator: str = ","
    block: int = BLOCK
    part_bytes: int = 1 << 26
    read_bytes: int = 1 << 23

    @property
    def parts(self) -> int:  # type: ignore[override]
        """Ranges of bytes; a packed file cannot be entered in its middle."""
        return 1 if is_packed(self.path) else max(1, -(-(self.size - self.start) // self.part_bytes))

    @cached_property
    def most_rows(self) -> int:
        """All lines are counted: a guess by the length of some would be one long line's to decide."""
        lines = 1
        try:
            with open_bytes(self.path) as file:
                while data := file.read(self.read_bytes):
                    lines += data.count(b"\n")
        except (EOFError, OSError, zlib.error):
            raise damaged(self.path) from None
        return lines

    def rows(self, part: int) -> Iterator[Rows]:
        for lines in self._lines(part):
            yield from self._blocks(lines)

    def _lines(self, part: int) -> Iterator[bytes]:
        """Whole lines, each with its line feed, some megabytes at a time."""
        begin = self.start + part * self.part_bytes
        end = begin + self.part_bytes if part + 1 < self.parts else None
        rest = b""
        try:
            with open_bytes(self.path) as file:
                place = self._enter(file, begin, first=part == 0)
                while end is None or place < end:
                    data = file.read(self.read_bytes if end is None else min(self.read_bytes, end - place))
                    if not data:
                        break
                    place += len(data)
                    whole, feed, rest = (rest + data).rpartition(b"\n")
                    rest = rest[: LONGEST_LINE + 2]  # longer than any row, also if it seems to end in a carriage return
                    if feed:
                        yield whole + feed
                while rest and (data := file.readline(LONGEST_LINE)):  # the last line of this part ends in the next
                    rest = rest[: LONGEST_LINE + 2] + data
                    if data.endswith(b"\n"):
                        break
        except (EOFError, OSError, zlib.error):
            raise damaged(self.path) from None
        if rest:
            yield rest if rest.endswith(b"\n") else rest + b"\n"

    def _enter(self, file: io.BufferedIOBase, begin: int, *, first: bool) -> int:
        """Go to the first line that begins at or after `begin`; where that is."""
        if first:
            if is_packed(self.path):
                file.read(begin)
            else:
                file.seek(begin)
            return begin
        file.seek(begin - 1)
        place = begin - 1
        while data := file.readline(LONGEST_LINE):
            place += len(data)
            if data.endswith(b"\n"):
                break
        return place

    def _blocks(self, lines: bytes) -> Iterator[Rows]:
        columns = parse(lines, self.separator, len(self.names), [self.names.index(n) for n in self.wanted])
        cells = dict(zip(self.wanted, columns, strict=True))
        count = len(columns[0]) if columns else 0
        for first in range(0, count, self.block):
            size = min(self.block, count - first)
            piece = {name: column.slice(first, size) for name, column in cells.items()}
            yield Rows(size, piece.__getitem__, marked=True)


def parse(lines: bytes, delimiter: str, count: int, places: list[int]) -> list[pa.Array]:
    """The text of the columns at `places`, of whole lines of `count` fields each; null where `fields` gives None."""
    data = np.frombuffer(lines, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1])
    last = ends - ((ends > starts) & (data[ends - 1] == ord("\r")))
    ordinary = (_within(data, ord(delimiter), starts, last) == count - 1) & (last - starts <= LONGEST_LINE)
    # PyArrow ends lines at a lone carriage return too, and drops a byte order mark in front: both go one by one.
    ordinary &= (_within(data, ord('"'), starts, last) == 0) & (_within(data, ord("\r"), starts, last) == 0)
    ordinary &= data[starts] != BOM[0]
    rows = np.ones(len(ends), bool) if count == 1 else last > starts
    odd = np.flatnonzero(rows & ~ordinary)
    ordinary &= rows
    if ordinary.all():
        return _ordinary(lines, delimiter, count, places)
    plain = _ordinary(data[np.repeat(ordinary, ends + 1 - starts)].tobytes(), delimiter, count, places)
    if not odd.size:
        return plain
    found = [fields(lines[starts[i] : last[i]], delimiter, count) for i in odd]
    order = np.empty(int(rows.sum()), np.int64)
    rank = np.cumsum(rows) - 1
    order[rank[ordinary]] = np.arange(int(ordinary.sum()))
    order[rank[odd]] = int(ordinary.sum()) + np.arange(len(odd))
    return [
        pa.concat_arrays([column, pa.array([row[place] for row in found], column.type)]).take(pa.array(order))
        for column, place in zip(plain, places, strict=True)
    ]


def first_unread(table: CsvTable) -> int | None:
    """The first row, from 1 on, of whose line something cannot be read, so that cells of it would be missing. Of the caller's own
    file, never of a private table: what it says depends on the rows."""
    row, count = 0, len(table.names)
    for part in range(table.parts):
        for lines in table._lines(part):
            for line in lines.removesuffix(b"\n").split(b"\n"):
                cut = line.removesuffix(b"\r")
                row += bool(cut) or count == 1
                if (cut or count == 1) and None in fields(cut, table.separator, count):
                    return row
    return None


def _within(data: np.ndarray, mark: int, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """How often a byte occurs in each line."""
    found = np.flatnonzero(data == mark)
    if not found.size:
        return np.zeros(len(starts), np.int64)
    return np.searchsorted(found, ends) - np.searchsorted(found, starts)


def _ordinary(lines: bytes, delimiter: str, count: int, places: list[int]) -> list[pa.Array]:
    if not lines:
        return [pa.nulls(0, pa.large_string()) for _ in places]
    names = [str(i) for i in range(count)]
    wanted = [names[place] for place in places]
    table = pa_csv.read_csv(
        pa.BufferReader(lines),
        read_options=pa_csv.ReadOptions(use_threads=False, column_names=names, block_size=len(lines) + 1),
        parse_options=pa_csv.ParseOptions(
            delimiter=delimiter, quote_char=False, escape_char=False, ignore_empty_lines=False
        ),
        convert_options=pa_csv.ConvertOptions(
            check_utf8=False, strings_can_be_null=False, include_columns=wanted,
            column_types=dict.fromkeys(wanted, pa.large_string()),
        ),
    )  # fmt: skip
    return [table.column(name).combine_chunks() for name in wanted]
