"""`understudy sample`: write synthetic rows from a fitted model, in constant memory."""

import time
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli._output import AsJson, Overwrite, Quiet, options, show, writable_file
from understudy.cli._progress import bar
from understudy.errors import UsageError
from understudy.files import write_atomically

app = typer.Typer()
GRID = 100  # images in a grid unless --rows says otherwise


@app.command(help="Write synthetic rows from a fitted model. Needs the model folder only.")
def sample(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by 'understudy fit'.")],
    out: Annotated[Path, typer.Option("--out", help="File to write: .csv or .parquet; .png for a grid of images.")],
    rows: Annotated[
        int | None,
        typer.Option("--rows", min=0, help="How many rows. (default: the table's noisy count)"),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same rows.")] = None,
    where: Annotated[
        str | None,
        typer.Option("--where", metavar="LABEL=VALUE", help='Only rows with this label, e.g. "income=>50K".'),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Write rows of a model to a file, batch by batch."""
    if out.exists() and not overwrite:
        raise UsageError(f"--out {str(out)!r} exists already; choose another name or add --overwrite")
    writable_file(out)

    import understudy as us
    from understudy.condition import parse_where
    from understudy.schema import open_writer

    loaded = us.load(model)
    with options("where"):  # refused before the file is opened
        parse_where(where, loaded.codec.schema)
    count = loaded.rows if rows is None else rows
    out.parent.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    if out.suffix.lower() == ".png":
        from understudy.evaluate.images import sample_grid

        with options("rows"):
            count, picture = sample_grid(loaded, GRID if rows is None else rows, seed, where)
        write_atomically(out, picture)
        if not quiet:
            show({"out": str(out), "rows": count}, lambda: f"wrote a grid of {count:,} images to {out}", as_json)
        return
    with bar("sampling", count, quiet or as_json) as advance, open_writer(out, loaded.codec) as writer:
        for batch in loaded.sample_arrow(count, seed=seed, where=where):
            writer.write(batch)
            advance(batch.num_rows)
    seconds = time.perf_counter() - started
    if not quiet:
        show(
            {"out": str(out), "rows": count, "columns": len(loaded.schema.columns), "seconds": round(seconds, 3)},
            lambda: f"wrote {count:,} rows to {out} in {seconds:.1f} s",
            as_json,
        )
