"""An opaque handle on the training rows: a list of parts, each read and encoded by itself, never all at once.

    bytes --cell by cell--> rows --bounded per unit--> parts --row maps--> whole numbers, added up

`PrivateTable` has no `repr` of its contents, no length, no iteration, no attribute that a caller outside
`understudy.private` should touch. Without a unit column every row is a unit and the parts are those of the source
(row groups of a Parquet file, pieces of a CSV file, slices of a frame), read again for every question. With one, rows
are first brought together by unit and cut to `max_rows_per_unit` (`units.py`); a row without an id is left out,
whoever else is in the table.

Tables whose encoded rows fit into `IN_MEMORY` are kept encoded, so that small fits read once.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from understudy.engine import Engine
from understudy.private.blocks import Blocks, held
from understudy.private.mapping import Block, ReadBlock
from understudy.private.passes import Told
from understudy.private.units import Part, Raw, Spread, bring_together
from understudy.schema import Codec, Schema
from understudy.schema.csv_rows import CsvTable
from understudy.schema.parquet_rows import ParquetTable
from understudy.schema.reading import Table, open_table

IN_MEMORY = 1 << 28  # bytes of encoded rows
PAYS = 100_000_000  # cells of a table from which on to start worker processes pays, unless an engine was named


class PrivateTable:
    """The rows, behind the wall. Reading it is the privilege of `understudy.private`."""

    __slots__ = ("_schema", "_sources", "_spread", "_table")

    def __init__(self, source: object, schema: Schema) -> None:
        """Looks at facts about the file or frame; no row is read before `open`."""
        self._schema, self._table = schema, open_table(source, schema)
        self._spread: Spread | None = None
        self._sources: Sequence[Part] = [WholeRows(self._table, number) for number in range(self._table.parts)]

    def open(self, folder: str | Path | None = None, told: Told | None = None, engine: Engine | None = None) -> None:
        """Bring the rows of every unit together. `folder`: where private files may be written if memory is too small."""
        if self._schema.unit is not None and self._spread is None:
            self._spread = bring_together(self._table, self._schema, folder, told, engine)

    def close(self) -> None:
        """Remove private files, if any were written."""
        if self._spread is not None:
            self._spread.close()

    def __repr__(self) -> str:
        return "PrivateTable(contents are private)"

    def __len__(self) -> NoReturn:
        raise TypeError("the number of rows is private; ask the curator for a noisy count")

    def __iter__(self) -> NoReturn:
        raise TypeError("the rows are private")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private table cannot be copied out of the process")

    # -- for understudy.private only ------------------------------------------------------------------------------
    @property
    def _parts(self) -> Sequence[Part]:
        self.open()
        return self._sources if self._spread is None else self._spread.parts

    def _parts_of(self, columns: Sequence[str]) -> Sequence[Part]:
        """The parts, for a question about these columns as they were read."""
        self.open()
        if self._spread is not None:
            return self._spread.parts
        narrow = self._table.of_columns(columns)
        return [WholeRows(narrow, number) for number in range(narrow.parts)]

    @property
    def _most_rows(self) -> int:
        """About how many rows there are: for what memory has to hold, never for anything that is shown."""
        return self._table.most_rows if self._spread is None else self._spread.most_rows

    @property
    def _pays(self) -> bool:
        """Whether workers are worth their start. It shows in the time that a fit takes and in nothing else."""
        return self._table.most_rows * len(self._schema.columns) >= PAYS

    def _blocks(self, codec: Codec) -> Blocks:
        """The rows encoded: held if they fit into memory, otherwise read and encoded again in every pass."""
        parts = tuple(EncodedPart(part, codec) for part in self._parts)
        narrow = partial(narrow_parts, self._table, codec) if self._spread is None else None
        streamed = Blocks(parts, codec.width, self._schema.unit is None, narrow=narrow)
        if 4 * self._most_rows * max(codec.width, 1) > IN_MEMORY:
            return streamed
        return held(streamed.gathered())


@dataclass(frozen=True)
class EncodedPart:
    """Blocks of encoded rows from blocks of rows as they were read; `only`: the columns that were read, None: all."""

    part: Part
    codec: Codec
    only: frozenset[str] | None = None

    @property
    def portable(self) -> bool:
        """Whether another process can read it from what it names."""
        return getattr(self.part, "portable", False)

    def __call__(self) -> Iterator[Block]:
        for raw in self.part():
            yield ReadBlock(raw.rows, self.codec, raw.units, self.only)


def narrow_parts(table: Table, codec: Codec, places: frozenset[int]) -> tuple[Callable[[], Iterator[Block]], ...]:
    """The parts of a table without units, of which only the columns of some places and the class are read."""
    only = codec.columns_of(places)
    narrow = table.of_columns(only)
    return tuple(EncodedPart(WholeRows(narrow, number), codec, only) for number in range(table.parts))


@dataclass(frozen=True)
class WholeRows:
    """One part of a table in which every row is a unit."""

    table: Table
    number: int

    @property
    def portable(self) -> bool:
        """Whether another process can read it from what it names: a path, which columns, and where the part lies."""
        return isinstance(self.table, CsvTable | ParquetTable)

    def __call__(self) -> Iterator[Raw]:
        for rows in self.table.rows(self.number):
            yield Raw(rows, None)
