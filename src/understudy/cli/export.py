"""`understudy export`: parts of a model as files of their own."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli._output import AsJson, Overwrite, Quiet, show, writable_file
from understudy.errors import UsageError

app = typer.Typer(no_args_is_help=True)


@app.callback()
def export() -> None:
    """Parts of a model as files of their own."""


@app.command(help="Write the noisy counts that a fit released, with the deviation of their noise.")
def counts(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by 'understudy fit'.")],
    out: Annotated[Path, typer.Option("--out", help="File to write: .parquet or .csv.")],
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """One line for each cell of each released table."""
    if out.suffix.lower() not in (".parquet", ".csv"):
        raise UsageError(f"--out {str(out)!r} must end in .parquet or .csv")
    if out.exists() and not overwrite:
        raise UsageError(f"--out {str(out)!r} exists already; choose another name or add --overwrite")
    writable_file(out)
    if model.resolve() in out.resolve().parents:
        raise UsageError(
            f"--out {str(out)!r} lies in the model folder, which would no longer verify; choose another place"
        )

    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    import understudy as us
    from understudy import manifest
    from understudy.export import counts_arrow
    from understudy.files import write_atomically

    found = counts_arrow(us.load(model))
    sink = pa.BufferOutputStream()
    (pq.write_table if out.suffix.lower() == ".parquet" else pc.write_csv)(found, sink)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, sink.getvalue().to_pybytes())
    manifest.write(out, model, found.num_rows)
    tables = int(found["table"].to_numpy().max())
    if not quiet:
        show(
            {"out": str(out), "tables": tables, "counts": found.num_rows},
            lambda: f"wrote {found.num_rows:,} counts of {tables:,} released tables to {out}",
            as_json,
        )
