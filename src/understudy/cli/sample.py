"""`understudy sample`: write synthetic rows from a fitted model, in constant memory."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli._output import AsJson, Overwrite, Quiet, show, writable_file
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
        typer.Option("--rows", min=0, help="How many rows.  [default: the table's noisy count]"),
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
    if out.exists() and not overwrite:
        raise UsageError(f"--out {str(out)!r} exists already; choose another name or add --overwrite")
    writable_file(out)

    import understudy as us
    from understudy.schema import open_writer

    loaded = us.load(model)
    condition = parse_where(where, loaded.resolved)
    count = loaded.rows if rows is None else rows
    out.parent.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    if out.suffix.lower() == ".png":
        from understudy.evaluate.images import sample_grid

        count, picture = sample_grid(loaded, GRID if rows is None else rows, seed, condition)
        write_atomically(out, picture)
        if not quiet:
            show({"out": str(out), "rows": count}, lambda: f"wrote a grid of {count:,} images to {out}", as_json)
        return
    with bar("sampling", count, quiet or as_json) as advance, open_writer(out, loaded.codec) as writer:
        for batch in loaded.sample_arrow(count, seed=seed, where=condition):
            writer.write(batch)
            advance(batch.num_rows)
    seconds = time.perf_counter() - started
    if not quiet:
        show(
            {"out": str(out), "rows": count, "columns": len(loaded.schema.columns), "seconds": round(seconds, 3)},
            lambda: f"wrote {count:,} rows to {out} in {seconds:.1f} s",
            as_json,
        )


def parse_where(text: str | None, schema: Any) -> dict[str, Any] | None:
    """`label=value` as a condition on the schema's label, with the value in the label's own type."""
    if text is None:
        return None
    if schema.label is None:
        raise UsageError("--where needs a label, and this model was fitted without one")
    # A column name may contain '=', so match the known name and not the first sign.
    name = schema.label
    prefix, separator, value = text[: len(name)], text[len(name) : len(name) + 1], text[len(name) + 1 :]
    if prefix != name or separator != "=":
        raise UsageError(f"--where {text!r} must read {name}=VALUE: conditions are on the label {name!r}")
    column = schema.column(name)
    choices = (
        column.categories if column.categories is not None else ((False, True) if column.kind == "boolean" else ())
    )
    for choice in choices:
        if value in (str(choice), str(choice).lower()) or (column.kind == "boolean" and value == str(int(choice))):
            return {name: choice}
    if choices:
        shown = ", ".join(str(choice) for choice in choices[:10]) + (", ..." if len(choices) > 10 else "")
        raise UsageError(f"--where: label {name!r} has no value {value!r}; it has {shown}")
    raise UsageError(f"--where: label {name!r} is {column.kind}; conditions need a label with classes")
