"""`understudy report`: draw a saved evaluation as self-contained pages."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli._output import AsJson, options, show


class Kind(StrEnum):
    """Which pages are drawn."""

    internal = "internal"
    release = "release"
    both = "both"


def report(
    result: Annotated[Path, typer.Argument(metavar="RESULT.json", help="Written by 'understudy evaluate'.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the pages.")],
    kind: Annotated[
        Kind,
        typer.Option("--kind", help="internal compares with real rows (do not share); release does not."),
    ] = Kind.both,
    as_json: AsJson = False,
) -> None:
    """Draw a saved evaluation; no table is read."""
    from understudy import report as reports

    with options("out"):
        paths = reports.write(result, out, kind.value)
    pages = [
        {"kind": name, "path": str(path), "compares_with_real_rows": name == "internal"}
        for path, name in ((path, reports.kind_of(path)) for path in paths)
    ]
    remarks = {"internal": "not private: do not share", "release": "certificate, schema, synthetic rows only"}
    show({"pages": pages}, lambda: "\n".join(f"{one['path']}  ({remarks[str(one['kind'])]})" for one in pages), as_json)
