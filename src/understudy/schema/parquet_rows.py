"""Parquet as a table of rows: one file, or a folder of files with the same columns. A part is a row group, read in batches; a
file is closed between reads.

Only the schema's columns are read. Text that the file holds as a dictionary stays one, so a category is looked up once for
each different text. Memory is bounded by a block of rows, however large a row group is.
"""

import bisect
import itertools
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileType

from understudy.errors import UsageError
from understudy.schema import storage
from understudy.schema.rows import BLOCK, Rows, Table
from understudy.schema.vectors import is_text

ENDINGS = (".parquet", ".pq")
_BUFFER = 1 << 20  # bytes of a column that are held at once


def damaged(path: str | os.PathLike[str]) -> UsageError:
    """The error for a file that cannot be read."""
    why = "gone, truncated or damaged" if storage.is_address(path) else "truncated or damaged"
    return UsageError(f"table {storage.shown(path)!r} is not a readable Parquet file; it may be {why}")


def parquet_files(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The files of a table: itself, or the Parquet files that stand in a folder, by name. Hidden ones are nobody's."""
    if not is_folder(path):
        return (str(path),)
    far = storage.is_address(path)
    every = storage.names_in(path) if far else [entry.name for entry in Path(path).iterdir()]
    names = sorted(name for name in every if name.lower().endswith(ENDINGS) and not name.startswith("."))
    return tuple(storage.inside(path, name) if far else str(Path(path) / name) for name in names)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path, or an address, is a folder."""
    if storage.is_address(path):
        return bool(storage.about(path).type == FileType.Directory)
    return Path(path).is_dir()


def parquet_file(path: str, **how: Any) -> pq.ParquetFile:
    """An open file, wherever it is."""
    place = storage.place_of(path)
    return pq.ParquetFile(place.path, filesystem=place.system, **how)


@dataclass(frozen=True, kw_only=True)
class ParquetTable(Table):
    """The rows of Parquet files; `wanted` are the columns to read, `listed` those of them read as dictionaries.

    `ends`: how many row groups the files have, up to and including each. A part is read from its own file alone.
    """

    files: tuple[str, ...]
    ends: tuple[int, ...]
    wanted: tuple[str, ...]
    listed: tuple[str, ...]
    count: int
    block: int = BLOCK

    @property
    def parts(self) -> int:  # type: ignore[override]
        """Row groups of all files."""
        return self.ends[-1]

    @property
    def most_rows(self) -> int:
        return self.count

    def of_columns(self, names: Collection[str]) -> "ParquetTable":
        wanted = tuple(name for name in self.wanted if name in names) or self.wanted[:1]
        return replace(self, wanted=wanted, listed=tuple(name for name in self.listed if name in wanted))

    def rows(self, part: int) -> Iterator[Rows]:
        number = bisect.bisect_right(self.ends, part)
        path, group = self.files[number], part - (self.ends[number - 1] if number else 0)
        try:
            with parquet_file(
                path, read_dictionary=self.listed, buffer_size=_BUFFER, page_checksum_verification=True
            ) as file:
                for batch in file.iter_batches(self.block, row_groups=[group], columns=list(self.wanted)):
                    yield Rows(batch.num_rows, batch.column)
        except (pa.ArrowException, OSError):
            raise damaged(path) from None


def open_parquet(path: str | os.PathLike[str], wanted: tuple[str, ...], block: int) -> ParquetTable:
    """The table in files whose columns have been checked; reads their footers only."""
    files, groups, count = parquet_files(path), [], 0
    listed = wanted
    for name in files:
        try:
            with parquet_file(name) as file:
                types, about = file.schema_arrow, file.metadata
                listed = tuple(n for n in listed if _as_dictionary(types.field(n).type, about, n))
        except (pa.ArrowException, OSError):
            raise damaged(name) from None
        groups.append(about.num_row_groups)
        count += about.num_rows
    ends = tuple(itertools.accumulate(groups))
    return ParquetTable(files=files, ends=ends, wanted=wanted, listed=listed, count=count, block=block)


def _as_dictionary(kind: pa.DataType, about: pq.FileMetaData, name: str) -> bool:
    """Whether a column is read as a dictionary. One that was written from a dictionary with short numbers always is: left to its
    own type PyArrow cannot read a row group that has more texts than those count to, and one row may bring the text too many."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return is_text(kind) and _has_dictionary(about, name)


def _has_dictionary(about: pq.FileMetaData, name: str) -> bool:
    if not about.num_row_groups:
        return False
    group = about.row_group(0)
    columns = (group.column(i) for i in range(group.num_columns))
    return any(c.path_in_schema == name and any("DICTIONARY" in e for e in c.encodings) for c in columns)
