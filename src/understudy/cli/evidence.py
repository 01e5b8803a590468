"""`understudy evidence`: what outsiders ask for, written from a model whose certificate verifies."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli._output import AsJson, Overwrite, options, show, writable_folder

app = typer.Typer()


@app.command(help="Write checklists, risks, cards and metadata of a model, for reviewers and registries.")
def evidence(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by 'understudy fit'.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the files.")],
    sample: Annotated[
        Path | None, typer.Option("--sample", help="Synthetic rows of this model: adds metadata (Croissant) for them.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write the evidence folder of a model."""
    from understudy.evidence import write

    writable_folder(out, overwrite)
    with options("out"):
        paths = write(model, out, sample)
    lines = [*(f"wrote {path}" for path in paths), "next: replace every FILL IN by what only you know"]
    show({"files": [str(path) for path in paths]}, lambda: "\n".join(lines), as_json)
