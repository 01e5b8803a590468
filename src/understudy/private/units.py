"""Rows of one unit brought together, and at most `max_rows_per_unit` of them kept.

    unit(row) = BLAKE2b_key(canonical text of the id)      64 bits, with a key from the operating system that is thrown away

Which rows of a unit are kept depends on that unit's own rows and on fresh secret bits (the smallest lottery numbers win), never on
the order or the number of other people's rows. A row whose id is missing is left out: a rule that looks at that row alone.

Tables that are small enough stay in memory. Others are spread into private files by their unit's number: folder mode 0700, files
0600, beside the checkpoint, removed at the end and, after a crash, at the next start. Each file holds whole units, so the
cap is per file, and every later pass reads file by file.
"""

import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from understudy.schema import Schema
from understudy.schema.reading import Rows

IN_MEMORY = 4_000_000  # cells that may be brought together in memory
ROWS_PER_FILE = 200_000
BLOCK = 65_536
PREFIX = "understudy-rows-"


@dataclass
class Spread:
    """Parts of whole units; each yields (rows, number of each row's unit within the block)."""

    most_rows: int
    parts: list[Callable[[], Iterator[Any]]]
    folder: Path | None = None
    closed: bool = field(default=False)

    def close(self) -> None:
        if self.folder is not None and not self.closed:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.closed = True

    def __del__(self) -> None:
        self.close()


def bring_together(table: Any, schema: Schema, folder: str | Path | None) -> Spread:
    """Group the rows of a source by unit, in memory or in private files."""
    key = secrets.token_bytes(32)
    cells = table.most_rows * len(schema.columns)
    if cells <= IN_MEMORY:
        blocks = [block for number in range(table.parts) for block in kept_blocks(table, number, schema, key)]
        whole = concatenated(blocks, schema)
        kept = at_most(whole, schema.max_rows_per_unit)
        return Spread(kept.num_rows, [lambda: cut(kept, schema)])
    return spread(table, schema, folder, key)


def kept_blocks(table: Any, number: int, schema: Schema, key: bytes) -> Iterator[pa.RecordBatch]:
    """Canonical rows of one part with their unit, rows without an id left out."""
    column = schema.column(schema.unit or "")
    for rows in table.rows(number):
        units, present = hash_units(rows.identities(column), key)
        yield with_units(rows.canonical().take(pa.array(np.flatnonzero(present))), units[present])


def with_units(batch: pa.RecordBatch, units: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*batch.columns, pa.array(units)], [*batch.schema.names, UNIT])


UNIT = "\x00unit"  # no column of a schema has a name with NUL in it


def hash_units(ids: pa.Array, key: bytes) -> tuple[Any, Any]:
    """64-bit keyed BLAKE2b of every id, and where there is one; equal texts get equal numbers."""
    coded = ids if pa.types.is_dictionary(ids.type) else ids.dictionary_encode()
    names = coded.dictionary.to_pylist()
    hashed = np.zeros(len(names) + 1, np.uint64)
    for number, text in enumerate(names):
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=8).digest()
        hashed[number] = int.from_bytes(digest, "little")
    code = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return hashed[code], code >= 0


def concatenated(blocks: list[pa.RecordBatch], schema: Schema) -> pa.Table:
    if not blocks:
        return pa.table({UNIT: pa.array([], pa.uint64())})
    return pa.Table.from_batches(blocks).unify_dictionaries().combine_chunks()


def at_most(rows: pa.Table, most: int) -> pa.Table:
    """Sorted by unit, at most `most` rows of each, chosen by lottery."""
    units = rows.column(UNIT).to_numpy()
    lottery = np.frombuffer(secrets.token_bytes(8 * len(units)), np.uint64)
    order = np.lexsort((lottery, units))
    ordered = units[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, bool)
    rank = np.arange(len(ordered)) - np.maximum.accumulate(np.where(first, np.arange(len(ordered)), 0))
    return rows.take(pa.array(order[rank < most]))


def cut(rows: pa.Table, schema: Schema) -> Iterator[Any]:
    """Blocks of about `BLOCK` rows that never part a unit."""
    from understudy.private.table import Raw

    units = rows.column(UNIT).to_numpy() if rows.num_rows else np.zeros(0, np.uint64)
    first = 0
    while first < len(units):
        last = min(first + BLOCK, len(units))
        while last < len(units) and units[last] == units[last - 1]:
            last += 1
        own = units[first:last]
        number = np.cumsum(np.concatenate([[0], own[1:] != own[:-1]]))
        yield Raw(Rows.of_canonical(rows.slice(first, last - first).combine_chunks(), schema), number)
        first = last


# -- files ---------------------------------------------------------------------------------------------------------------------


def spread(table: Any, schema: Schema, folder: str | Path | None, key: bytes) -> Spread:
    """Write every row to the file of its unit, then cap and sort file by file."""
    home = private_folder(folder)
    try:
        files = max(-(-table.most_rows // ROWS_PER_FILE), 1)
        scattered = scatter(table, schema, home, files, key)
        most = 0
        for path in scattered:
            kept = at_most(read_file(path), schema.max_rows_per_unit)
            most += kept.num_rows
            write_file(path, kept)
    except BaseException:
        shutil.rmtree(home, ignore_errors=True)
        raise
    parts = [(lambda path=path: cut(read_file(path), schema)) for path in scattered]
    return Spread(most, parts, home)


def private_folder(folder: str | Path | None) -> Path:
    """A new folder of mode 0700; what an earlier run left behind in the same place goes."""
    base = Path(folder) if folder is not None else Path(tempfile.gettempdir())
    base.mkdir(parents=True, exist_ok=True)
    if folder is not None:
        for old in base.glob(f"{PREFIX}*"):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))


def scatter(table: Any, schema: Schema, home: Path, files: int, key: bytes) -> list[Path]:
    """Rows by unit modulo the number of files, in batches large enough for a file."""
    paths = [home / f"{number}.arrow" for number in range(files)]
    sinks: list[Any] = [None] * files
    waiting: list[pa.RecordBatch] = []
    try:
        for part in range(table.parts):
            for batch in kept_blocks(table, part, schema, key):
                waiting.append(batch)
                if sum(one.num_rows for one in waiting) >= ROWS_PER_FILE * 4:
                    flush(waiting, schema, paths, sinks)
        flush(waiting, schema, paths, sinks)
    finally:
        for sink in sinks:
            if sink is not None:
                sink[1].close()
                sink[0].close()
    return [path for path in paths if path.exists()]


def flush(waiting: list[pa.RecordBatch], schema: Schema, paths: list[Path], sinks: list[Any]) -> None:
    if not waiting:
        return
    rows = concatenated([plain(batch) for batch in waiting], schema)
    waiting.clear()
    which = (rows.column(UNIT).to_numpy() % np.uint64(len(paths))).astype(np.int64)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(paths) + 1))
    rows = rows.take(pa.array(order))
    for number in np.flatnonzero(np.diff(ends)).tolist():
        if sinks[number] is None:
            raw = opened(paths[number])
            sinks[number] = raw, pa.ipc.new_stream(raw, rows.schema)
        sinks[number][1].write_table(rows.slice(ends[number], ends[number + 1] - ends[number]))


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Dictionaries as text: files of one stream must agree."""
    columns = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def opened(path: Path) -> Any:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def read_file(path: Path) -> pa.Table:
    with pa.memory_map(str(path)) as source:
        return pa.ipc.open_stream(source).read_all().combine_chunks()


def write_file(path: Path, rows: pa.Table) -> None:
    scratch = path.with_suffix(".part")
    with opened(scratch) as raw, pa.ipc.new_stream(raw, rows.schema) as sink:
        sink.write_table(rows)
    os.replace(scratch, path)
