"""Any number of rows from a model into files: blocks that any worker can draw, the same for any number of them.

    block b = rows b * 65,536 ... of a sample, drawn with random numbers of (seed, b)      (`drawing.py`)

A block depends on the model, the seed, the number of rows and b, on nothing that was drawn before it. So a file of a
billion rows is the same whoever draws which block (on machines of one kind: another processor or version of NumPy or JAX may
round otherwise). Drawing is post-processing and costs no privacy; a worker needs the model and nothing else.

| `out` | what is written | who writes |
| --- | --- | --- |
| a file, `.parquet` or `.csv` | one file, blocks in their order | this process; workers draw |
| a folder (a name without an ending) | `part-00000.parquet`, ..., of `PART` blocks each | every worker its own parts |

Both appear whole or not at all.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from understudy.artifact import Model, load
from understudy.engine import Engine, Inline, opened
from understudy.errors import UsageError
from understudy.manifest import model_digest
from understudy.sampling.condition import Where
from understudy.sampling.drawing import BATCH
from understudy.schema import Codec, open_writer
from understudy.seeds import BITS

PART = 16  # blocks in a part: a million rows
PAYS = 4_000_000  # rows from which on to start worker processes pays, unless an engine was named
PAYS_FITTED = 2 * BATCH  # where rows are fitted to counts after they are drawn: a block takes some twenty seconds then
OnProgress = Callable[[int], None]


class Saved(NamedTuple):
    """A model that workers load for themselves: its folder, and the digest of what must be there."""

    folder: str
    digest: str


@dataclass(frozen=True)
class Drawing:
    """What a worker needs to draw any block. `model`: the model itself, or where every worker finds it."""

    model: Model | Saved
    rows: int
    seed: int
    where: Where
    batch: int  # rows in a block
    part: int  # blocks in a part

    @property
    def blocks(self) -> range:
        """Their numbers; a sample of no rows has one, which is empty."""
        return range(max(-(-self.rows // self.batch), 1))

    @property
    def parts(self) -> range:
        """Their numbers."""
        return range(-(-len(self.blocks) // self.part))

    def loaded(self) -> Model:
        """The model."""
        return loaded_once(self.model) if isinstance(self.model, Saved) else self.model

    def tables(self, blocks: slice) -> Iterator[pa.Table]:
        """Some of the blocks."""
        return self.loaded().sample_arrow(self.rows, self.batch, seed=self.seed, where=self.where, blocks=blocks)


@lru_cache(maxsize=1)
def loaded_once(saved: Saved) -> Model:
    """The model in a folder, checked and loaded once in every worker."""
    if model_digest(saved.folder) != saved.digest:
        raise UsageError(f"{saved.folder!r} holds another model for a worker than for the process that started it")
    return load(saved.folder)


def draw_block(drawing: Drawing, number: int) -> pa.Table:
    """One block: a worker's task where one file is written."""
    return next(drawing.tables(slice(number, number + 1)))


def write_part(drawing: Drawing, folder: Path, number: int) -> int:
    """One part of a folder, whole or not at all: a worker's task. Returns its number of rows."""
    rows = 0
    with open_writer(folder / f"part-{number:05}.parquet", drawing.loaded().codec) as writer:
        for table in drawing.tables(slice(number * drawing.part, (number + 1) * drawing.part)):
            writer.write(table)
            rows += table.num_rows
    return rows


def write_rows(
    model: Model,
    out: str | Path,
    rows: int,
    *,
    seed: int | None = None,
    where: Where = None,
    engine: str | Engine | None = None,
    folder: str | Path | None = None,
    on_progress: OnProgress | None = None,
) -> Path:
    """Write `rows` rows of a model to a file or a folder of parts. `on_progress` hears how many rows were written.

    `folder`: where the model is saved, so that workers load it from there; otherwise it is sent to them.
    """
    if rows < 0:
        raise UsageError(f"rows={rows} must not be negative")
    drawing = Drawing(model, rows, secrets.randbits(BITS) if seed is None else seed, where, BATCH, PART)
    target, heard = Path(out), on_progress or (lambda _: None)
    with opened(engine) as running:
        pays = PAYS_FITTED if getattr(model.generator, "fitted_afterwards", False) else PAYS
        used = Inline() if running.by_default and rows < pays else running
        if folder is not None and not isinstance(used, Inline):
            drawing = replace(drawing, model=Saved(str(Path(folder).resolve()), model_digest(folder)))
        if target.suffix:
            write_file(drawing, model.codec, target, used, heard)
        else:
            write_folder(drawing, target, used, heard)
    return target


def write_file(drawing: Drawing, codec: Codec, target: Path, engine: Engine, on_progress: OnProgress) -> None:
    """All blocks in their order."""
    with open_writer(target, codec) as writer:
        for table in engine.map_partitions(partial(draw_block, drawing), drawing.blocks):
            writer.write(table)
            on_progress(table.num_rows)


def write_folder(drawing: Drawing, target: Path, engine: Engine, on_progress: OnProgress) -> None:
    """All parts, into a hidden folder beside the target that takes its name at the end."""
    if target.exists() and not (target.is_dir() and all(part.match("part-*.parquet") for part in target.iterdir())):
        raise UsageError(f"{str(target)!r} holds something else than parts of a sample; choose another name")
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{target.name[:80]}-", dir=target.parent)).resolve()
    try:
        for written in engine.map_partitions(partial(write_part, drawing, scratch), drawing.parts):
            on_progress(written)
        os.chmod(scratch, 0o755)
        if target.exists():
            shutil.rmtree(target)
        os.replace(scratch, target)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
