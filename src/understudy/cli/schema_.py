"""`understudy schema`: say what is public about a table."""

import json
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli._output import AsJson, Overwrite, show, writable_file
from understudy.errors import UsageError
from understudy.files import write_atomically

app = typer.Typer(no_args_is_help=True, help="Say what is public about a table: draft, check or import a schema.")


@app.command()
def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV or Parquet table.")],
    label: Annotated[str | None, typer.Option("--label", help="Column to predict.")] = None,
    unit: Annotated[str | None, typer.Option("--unit", help="Column that names the protected person.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Schema file to write.  [default: FILE with the ending .yaml]")
    ] = None,
    public_data: Annotated[
        bool,
        typer.Option("--public-data", help="The table is public: copy bounds and categories from its contents."),
    ] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write a commented draft from header and types only; no value of the table enters it."""
    from understudy.schema import draft

    out = out or file.with_suffix(".yaml")
    if out.exists() and not overwrite:
        raise UsageError(f"--out {str(out)!r} exists already; choose another name or add --overwrite")
    writable_file(out)
    text = draft(file, label=label, unit=unit, public_data=public_data)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(out, text)
    show(
        {"schema": str(out), "public_data": public_data},
        lambda: f"wrote {out}\nRead it, fill in what is marked, then: understudy schema check {file} --schema {out}",
        as_json,
    )


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV or Parquet table.")],
    schema: Annotated[Path, typer.Option("--schema", help="Schema file.")],
    as_json: AsJson = False,
) -> None:
    """Say whether a table fits its schema, by column, never by value. Exit code 1 if it does not.

    The answer depends on the private rows: it is for the holder of the table only.
    """
    from understudy.schema import Schema
    from understudy.schema import check as problems_of

    problems = problems_of(file, Schema.load(schema))
    show(
        {"fits": not problems, "problems": problems},
        lambda: "\n".join(problems) if problems else f"{file} fits {schema}",
        as_json,
    )
    if problems:
        raise typer.Exit(1)


@app.command("import-sdv")
def import_sdv(
    file: Annotated[Path, typer.Argument(metavar="METADATA", help="SDV metadata JSON of one table.")],
    out: Annotated[Path, typer.Option("--out", help="Schema file to write.")],
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Turn SDV metadata into a schema. SDV has no bounds or categories, so those are marked `estimate`."""
    from understudy.schema import from_sdv

    if out.exists() and not overwrite:
        raise UsageError(f"--out {str(out)!r} exists already; choose another name or add --overwrite")
    writable_file(out)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise UsageError(f"{str(file)!r} is not valid JSON") from None
    imported = from_sdv(content)
    imported.save(out)
    show(
        {"schema": str(out), "columns": len(imported.columns)},
        lambda: f"wrote {out} ({len(imported.columns)} columns); read it before use",
        as_json,
    )
