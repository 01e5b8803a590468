"""Parquet as a table of rows: a part is a row group, read in batches; the file is closed between reads.

Only the schema's columns are read. Text that the file holds as a dictionary stays one, so a category is looked up once for
each different text. Memory is bounded by a block of rows, however large a row group is.
"""

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from understudy.errors import UsageError
from understudy.schema.rows import BLOCK, Rows, Table
from understudy.schema.vectors import is_text

_BUFFER = 1 << 20  # bytes of a column that are held at once


def damaged(path: str | os.PathLike[str]) -> UsageError:
    """The error for a file that cannot be read."""
    return UsageError(f"table {str(path)!r} is not a readable Parquet file; it may be truncated or damaged")


@dataclass(frozen=True, kw_only=True)
class ParquetTable(Table):
    """The rows of a Parquet file; `wanted` are the columns to read, `listed` those of them read as dictionaries."""

    path: str
    wanted: tuple[str, ...]
    listed: tuple[str, ...]
    parts: int
    count: int
    block: int = BLOCK

    @property
    def most_rows(self) -> int:
        return self.count

    def of_columns(self, names: Collection[str]) -> "ParquetTable":
        wanted = tuple(name for name in self.wanted if name in names) or self.wanted[:1]
        return replace(self, wanted=wanted, listed=tuple(name for name in self.listed if name in wanted))

    def rows(self, part: int) -> Iterator[Rows]:
        try:
            with pq.ParquetFile(
                self.path, read_dictionary=self.listed, buffer_size=_BUFFER, page_checksum_verification=True
            ) as file:
                for batch in file.iter_batches(self.block, row_groups=[part], columns=list(self.wanted)):
                    yield Rows(batch.num_rows, batch.column)
        except (pa.ArrowException, OSError):
            raise damaged(self.path) from None


def open_parquet(path: str | os.PathLike[str], wanted: tuple[str, ...], block: int) -> ParquetTable:
    """The table in a file whose columns have been checked; reads the footer only."""
    try:
        with pq.ParquetFile(path) as file:
            types, about = file.schema_arrow, file.metadata
            listed = tuple(n for n in wanted if is_text(types.field(n).type) and _has_dictionary(about, n))
            return ParquetTable(
                path=str(path),
                wanted=wanted,
                listed=listed,
                parts=about.num_row_groups,
                count=about.num_rows,
                block=block,
            )
    except (pa.ArrowException, OSError):
        raise damaged(path) from None


def _has_dictionary(about: pq.FileMetaData, name: str) -> bool:
    if not about.num_row_groups:
        return False
    group = about.row_group(0)
    columns = (group.column(i) for i in range(group.num_columns))
    return any(c.path_in_schema == name and any("DICTIONARY" in e for e in c.encodings) for c in columns)
