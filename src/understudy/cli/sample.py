"""`understudy sample`: write synthetic rows from a fitted model, in constant memory."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from understudy.cli._output import (
    AsJson,
    EngineName,
    Overwrite,
    Quiet,
    counted,
    options,
    show,
    writable_file,
    writable_folder,
)
from understudy.errors import UsageError
from understudy.files import write_atomically
from understudy.progress import bar

if TYPE_CHECKING:
    from collections.abc import Callable

    from understudy.artifact import Model

app = typer.Typer()
SHOWN = 10  # rows that are named of those that were left out
IMAGES = 100  # images in a grid unless --rows says otherwise


@app.command(help="Write synthetic rows from a fitted model. Needs the model folder only.")
def sample(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by 'understudy fit'.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            help="File to write: .csv or .parquet; .png for a grid of images; a name without ending: a folder of Parquet parts.",
        ),
    ],
    rows: Annotated[
        int | None,
        typer.Option("--rows", min=0, help="How many rows. (default: the table's noisy count)"),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same rows.")] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="CONDITION", help='Only such rows, e.g. "age >= 65 or town in {Ulm, Bonn}".'),
    ] = None,
    given: Annotated[
        Path | None,
        typer.Option("--given", help="Complete these rows: a .csv or .parquet with some of the columns."),
    ] = None,
    skip_impossible: Annotated[
        bool,
        typer.Option("--skip-impossible", help="With --given: leave out rows whose values cannot occur together."),
    ] = False,
    copies: Annotated[
        int | None,
        typer.Option("--copies", min=2, help="So many stand-ins that differ by privacy noise too: NAME-01.csv, ..."),
    ] = None,
    engine: EngineName = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write rows of a model to a file, batch by batch."""
    files = [out] if copies is None else [out.with_stem(f"{out.stem}-{n:02}") for n in range(1, copies + 1)]
    for file in files:
        if file.exists() and not overwrite:
            raise UsageError(f"--out {str(file)!r} exists already; choose another name or add --overwrite")
    if out.suffix:
        writable_file(out)
    else:
        writable_folder(out, overwrite)
    if model.resolve() in out.resolve().parents:
        raise UsageError(
            f"--out {str(out)!r} lies in the model folder, which would no longer verify; choose another place"
        )

    import understudy as us

    loaded = us.load(model)
    with options("where"):  # refused before the file is opened
        found = loaded.conditions(where)
        if loaded.needs_tree(found):
            loaded.under(found)
    if given is not None and (where or copies is not None or rows is not None or out.suffix.lower() == ".png"):
        raise UsageError(
            "--given completes the rows of a file, to .csv or .parquet, without --where, --copies or --rows"
        )
    if skip_impossible and given is None:
        raise UsageError("--skip-impossible is about rows of --given; conditions of --where are met by all rows")
    if copies is not None and (where or out.suffix.lower() not in (".csv", ".parquet")):
        raise UsageError("--copies writes whole tables, .csv or .parquet, without --where")
    count = loaded.rows if rows is None else rows
    if given is not None:
        written = _completed(loaded, given, out, model, seed, skip_impossible)
    elif copies is not None:
        written = _copied(loaded, files, count, seed)
    elif out.suffix.lower() == ".png":
        written = _pictured(loaded, out, IMAGES if rows is None else rows, seed, where)
    else:
        written = _drawn(loaded, out, model, count, seed, where, engine, quiet or as_json)
    if not quiet:
        show(written.record, lambda: written.text, as_json)


class _Written(NamedTuple):
    """What is said at the end, for machines and for people."""

    record: dict[str, object]
    text: str


def _drawn(
    model: "Model",
    out: Path,
    folder: Path,
    rows: int,
    seed: int | None,
    where: list[str] | None,
    engine: str | None,
    silent: bool,
) -> _Written:
    """Rows of their own, and the note that says which model they are of."""
    from understudy import manifest
    from understudy.sampling import to_files

    out.parent.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    with bar("sampling", rows, silent) as advance, options("rows", "engine", "where"):
        to_files.write_rows(model, out, rows, seed=seed, where=where, engine=engine, folder=folder, on_progress=advance)
    asked = where or []
    words = " and ".join(asked if len(asked) == 1 else [f"({one})" for one in asked])
    manifest.write(out, folder, rows, words, people=model.people)
    seconds = time.perf_counter() - started
    return _Written(
        {"out": str(out), "rows": rows, "columns": len(model.schema.columns), "seconds": round(seconds, 3)},
        f"wrote {counted(rows, 'row')} to {out} in {seconds:.1f} s",
    )


def _pictured(model: "Model", out: Path, images: int, seed: int | None, where: list[str] | None) -> _Written:
    """A grid of images."""
    from understudy.evaluate.images import sample_grid

    out.parent.mkdir(parents=True, exist_ok=True)
    with options("rows"):
        count, picture = sample_grid(model, images, seed, where)
    write_atomically(out, picture)
    return _Written({"out": str(out), "rows": count}, f"wrote a grid of {counted(count, 'image')} to {out}")


def _completed(
    model: "Model", given: Path, out: Path, folder: Path, seed: int | None, skip_impossible: bool
) -> _Written:
    """The rows of a file with all their columns."""
    from understudy import manifest

    skipped: list[int] = []
    count = _complete(model, given, out, seed, skipped.extend if skip_impossible else None)
    manifest.write(out, folder, count, f"given {given.name}")  # as many rows of a person as the caller gave
    text = f"completed {counted(count, 'row')} to {out}"
    if skipped:
        more = ", ..." if len(skipped) > SHOWN else ""
        text += f", left out {counted(len(skipped), 'row')}: {', '.join(map(str, skipped[:SHOWN]))}{more}"
    return _Written({"out": str(out), "rows": count} | ({"skipped": skipped} if skip_impossible else {}), text)


def _complete(
    model: "Model", given: Path, out: Path, seed: int | None, on_skipped: "Callable[[list[int]], None] | None"
) -> int:
    """Write the rows of a file with all their columns; how many there are."""
    from itertools import chain

    from understudy.schema import open_writer
    from understudy.schema.given_ids import with_types

    with options("given", "skip_impossible"):
        tables = model.complete_arrow(given, seed=seed, on_skipped=on_skipped)
        head = next(tables, None)  # the first block is read before the file is opened
    if head is None:
        raise UsageError(f"--given {str(given)!r} holds no rows")
    out.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with options("given", "skip_impossible"), open_writer(out, with_types(model.codec, head.schema)) as writer:
        for table in chain([head], tables):
            writer.write(table)
            count += table.num_rows
    return count


def _copied(model: "Model", files: list[Path], rows: int, seed: int | None) -> _Written:
    """One file for each model that could have been fitted."""
    from understudy.schema import open_writer
    from understudy.seeds import sequence

    seeds = sequence(seed).generate_state(len(files))
    with options("copies"):
        drawn = model.redrawn(len(files), seed=seed)
    files[0].parent.mkdir(parents=True, exist_ok=True)
    for file, one, own in zip(files, drawn, seeds, strict=True):
        with open_writer(file, one.codec) as writer:
            for batch in one.sample_arrow(rows, seed=int(own)):
                writer.write(batch)
    text = f"wrote {len(files)} copies of {rows:,} rows, {files[0]} to {files[-1].name}; combine them with understudy.infer"
    return _Written({"out": [str(file) for file in files], "rows": rows}, text)
