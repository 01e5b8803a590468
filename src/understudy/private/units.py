"""Rows of one unit brought together, and at most `max_rows_per_unit` of them kept.

    unit(row) = BLAKE2b_key(canonical text of the id)      64 bits, with a key from the operating system that is thrown away

Which rows of a unit are kept depends on that unit's own rows and on fresh secret bits (the smallest lottery numbers
win, in every batch and in the end), never on the order or the number of other people's rows. A row whose id is missing
is left out, and so is one whose id lies outside the schema's range of people: rules that look at that row alone.

Tables that are small enough stay in memory. Others are spread into private files by their unit's number: folder mode
0700, files 0600, beside the checkpoint, removed at the end and, after a crash, at the next start (`understudy.scratch`).
Each file holds whole units, so the cap is per file, and every later pass reads file by file. Batches are capped before they
are written, so one unit of millions of rows does not make a file that memory cannot hold.
"""

import hashlib
import itertools
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from understudy.engine import Engine
from understudy.people import People
from understudy.private.blocks import unit_cuts
from understudy.private.canonical import CanonicalRows, canonical
from understudy.private.passes import PIECES, Ticker, Told, dealt
from understudy.schema import Schema
from understudy.schema.csv_rows import CsvTable
from understudy.schema.parquet_rows import ParquetTable
from understudy.schema.reading import Rows, Table
from understudy.scratch import Scratch, private_folder

IN_MEMORY = 4_000_000  # cells that may be brought together in memory
ROWS_PER_FILE = 200_000
MOST_FILES = 512  # all are open at once
BLOCK = 65_536
PREFIX = "understudy-rows-"
UNIT, LOTTERY = "\x00unit", "\x00lottery"  # no column of a schema has a name with NUL in it


class Raw(NamedTuple):
    """Rows as they were read; `units` numbers their unit within the block, None where every row is its own."""

    rows: Rows
    units: Any


Part = Callable[[], Iterator[Raw]]


@dataclass
class Spread:
    """Parts of whole units, and the folder that holds them, if any."""

    most_rows: int
    parts: list[Part]
    home: Scratch | None = None

    def close(self) -> None:
        """Delete the private files."""
        if self.home is not None:
            self.home.remove()

    def __del__(self) -> None:
        self.close()


def bring_together(
    table: Table, schema: Schema, folder: str | Path | None, told: Told | None = None, engine: Engine | None = None
) -> Spread:
    """Group the rows of a source by unit, in memory or in private files. The latter is a shuffle between an engine's workers."""
    key = secrets.token_bytes(32)
    cells = table.most_rows * len(schema.columns)
    if cells > IN_MEMORY:
        return spread(table, schema, folder, key, told, engine)
    ticker = Ticker(table.parts, told)
    blocks: list[pa.Table] = []
    for number in range(table.parts):
        blocks += kept_blocks(table, number, schema, key)
        ticker.done()
    ticker.finish()
    kept = at_most(joined(blocks), schema.max_rows_per_unit)
    return Spread(kept.num_rows, [lambda: cut(kept)])


def kept_blocks(table: Table, number: int, schema: Schema, key: bytes) -> Iterator[pa.Table]:
    """Canonical rows of one part with their unit and lottery number; rows without an id, or of others, left out."""
    column = schema.column(schema.unit or "")
    for rows in table.rows(number):
        units, present = hash_units(rows.identities(column), key, schema.people)
        lottery = np.frombuffer(secrets.token_bytes(8 * len(units)), np.uint64)
        whole = canonical(rows, schema).append_column(UNIT, pa.array(units)).append_column(LOTTERY, pa.array(lottery))
        yield whole if present.all() else whole.filter(pa.array(present))


def hash_units(ids: pa.Array, key: bytes, people: People | None = None) -> tuple[Any, Any]:
    """64-bit keyed BLAKE2b of every id, and where there is one of `people`; equal texts get equal numbers."""
    coded = ids if pa.types.is_dictionary(ids.type) else ids.dictionary_encode()
    names = coded.dictionary.to_pylist()
    hashed, counts = np.zeros(len(names) + 1, np.uint64), np.zeros(len(names) + 1, bool)
    for number, text in enumerate(names):
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=8).digest()
        hashed[number] = int.from_bytes(digest, "little")
        counts[number] = people is None or people.holds(text)
    code = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return hashed[code], counts[code]


def joined(blocks: list[pa.Table]) -> pa.Table:
    """Blocks as one table."""
    if not blocks:
        return pa.table({name: pa.array([], pa.uint64()) for name in (UNIT, LOTTERY)})
    return pa.concat_tables(blocks).combine_chunks()


def at_most(rows: pa.Table, most: int) -> pa.Table:
    """Sorted by unit, at most `most` rows of each, chosen by lottery."""
    return rows.take(pa.array(winners(rows, most))).drop_columns([LOTTERY])


def winners(rows: pa.Table, most: int) -> np.ndarray:
    """Places of the `most` rows of each unit with the smallest lottery numbers, sorted by unit."""
    units = rows.column(UNIT).to_numpy()
    order = np.lexsort((rows.column(LOTTERY).to_numpy(), units))
    ordered = units[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, bool)
    rank = np.arange(len(ordered)) - np.maximum.accumulate(np.where(first, np.arange(len(ordered)), 0))
    return order[rank < most]


def cut(rows: pa.Table) -> Iterator[Raw]:
    """Blocks of about `BLOCK` rows that never part a unit."""
    units = rows.column(UNIT).to_numpy()
    cuts = unit_cuts(len(units), units, BLOCK)
    for first, last in itertools.pairwise(cuts):
        own = units[first:last]
        number = np.cumsum(np.concatenate([[0], own[1:] != own[:-1]]))
        yield Raw(CanonicalRows(rows.slice(first, last - first)), number)


@dataclass(frozen=True)
class UnitFile:
    """Rows of one private file, in blocks of whole units."""

    path: Path
    portable = True

    def __call__(self) -> Iterator[Raw]:
        return cut(read_file(self.path))


# -- files ---------------------------------------------------------------------------------------------------------------------


def spread(
    table: Table, schema: Schema, folder: str | Path | None, key: bytes, told: Told | None, engine: Engine | None
) -> Spread:
    """Write every row to the file of its unit, then cap and sort file by file; an engine's workers do both."""
    home = private_folder(folder, PREFIX)
    files = min(max(-(-table.most_rows // ROWS_PER_FILE), 1), MOST_FILES)
    shuffle = Shuffle(table, schema, home.folder.resolve(), files, key, ROWS_PER_FILE)
    try:
        if engine is None or not isinstance(table, CsvTable | ParquetTable):
            ticker = Ticker(table.parts, told)
            shuffle.scatter(range(table.parts), ticker.done)
            kept = [shuffle.settle(number) for number in range(files)]
        else:
            pieces = dealt(range(table.parts), PIECES * engine.workers)
            ticker = Ticker(len(pieces), told)
            for _ in engine.map_partitions(shuffle.scatter, pieces):
                ticker.done()
            kept = list(engine.map_partitions(shuffle.settle, range(files)))
        ticker.finish()
    except BaseException:
        home.remove()
        raise
    return Spread(sum(kept), [UnitFile(shuffle.file(number)) for number, rows in enumerate(kept) if rows], home)


@dataclass(frozen=True, repr=False)  # nothing that prints it shows the key
class Shuffle:
    """What workers need to bring the rows of units together. `key` is secret: it is shared with workers and thrown away.

    Each piece of the table is scattered into files of its own, and each file is settled from all pieces; both appear whole or
    not at all, so that a step can be repeated when its worker died, and repeated at the same time.
    """

    table: Table
    schema: Schema
    home: Path
    files: int
    key: bytes
    waiting: int  # rows that a file gets at once

    def file(self, number: int) -> Path:
        """Where whole units end up."""
        return self.home / f"{number}.arrow"

    def scatter(self, parts: Sequence[int], told: Callable[[], None] | None = None) -> None:
        """Rows of some parts by unit modulo the number of files, in batches large enough for a file."""
        scratch = f".{secrets.token_hex(4)}.part"
        first = parts[0] if parts else 0
        paths = [self.home / f"{number}-{first}{scratch}" for number in range(self.files)]
        sinks: list[Any] = [None] * self.files
        waiting: list[pa.Table] = []
        try:
            for part in parts:
                for batch in kept_blocks(self.table, part, self.schema, self.key):
                    waiting.append(batch)
                    if sum(one.num_rows for one in waiting) >= self.waiting:
                        flush(waiting, paths, sinks, self.schema.max_rows_per_unit)
                if told is not None:
                    told()
            flush(waiting, paths, sinks, self.schema.max_rows_per_unit)
        finally:
            for sink in sinks:
                if sink is not None:
                    sink[1].close()
                    sink[0].close()
        for path in paths:
            if path.exists():
                os.replace(path, str(path).removesuffix(scratch) + ".arrow")

    def settle(self, number: int) -> int:
        """The pieces of one file together, at most so many rows of each unit; returns how many rows there are."""
        pieces = sorted(self.home.glob(f"{number}-*.arrow"))
        if self.file(number).exists():  # by a worker that died after it was done
            return int(read_file(self.file(number)).num_rows)
        if not pieces:
            return 0
        kept = at_most(joined([read_file(piece) for piece in pieces]), self.schema.max_rows_per_unit)
        write_file(self.file(number), kept)
        for piece in pieces:
            piece.unlink(missing_ok=True)
        return int(kept.num_rows)


def flush(waiting: list[pa.Table], paths: list[Path], sinks: list[Any], most: int) -> None:
    """Write what waits to the files of its units, at most `most` rows of each."""
    rows = joined(waiting)
    waiting.clear()
    units = rows.column(UNIT).to_numpy()
    ordered = np.sort(units)
    kept = winners(rows, most) if (ordered[most:] == ordered[:-most]).any() else np.arange(len(units))
    which = (units[kept] % np.uint64(len(paths))).astype(np.int64)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(paths) + 1))
    rows = rows.take(pa.array(kept[order]))
    for number in np.flatnonzero(np.diff(ends)).tolist():
        if sinks[number] is None:
            raw = opened(paths[number])
            sinks[number] = raw, pa.ipc.new_stream(raw, rows.schema)
        sinks[number][1].write_table(rows.slice(ends[number], ends[number + 1] - ends[number]))


def opened(path: Path) -> pa.NativeFile:
    """A new file that only its owner may read."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def read_file(path: Path) -> pa.Table:
    """Rows of a private file."""
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_stream(source).read_all().combine_chunks()


def write_file(path: Path, rows: pa.Table) -> None:
    """Rows into a private file, whole or not at all."""
    scratch = path.with_suffix(f".{secrets.token_hex(4)}.part")
    with opened(scratch) as raw, pa.ipc.new_stream(raw, rows.schema) as sink:
        sink.write_table(rows)
    os.replace(scratch, path)
