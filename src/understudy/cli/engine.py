"""`understudy engine`: where work runs, and what is open about it."""

from typing import Annotated

import typer

from understudy.cli._output import AsJson, options, show

app = typer.Typer(no_args_is_help=True, help="Where work runs: try an engine and see what is open about it.")


@app.callback()
def _group() -> None:
    """A group, so that 'check' is a word of its own."""


@app.command()
def check(
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            envvar="UNDERSTUDY_ENGINE",
            metavar="NAME",
            help="inline, processes, processes:N, ray, ray:N, ray@HOST:PORT. (default: ray, started on this machine)",
            show_default=False,
        ),
    ] = "ray",
    as_json: AsJson = False,
) -> None:
    """Start or join an engine, look at its ports, token, dashboard and files. Exit code 1 if something is open."""
    from understudy.engine import check as checks

    with options("engine"):
        checks.require_linux()
        found = checks.findings(engine)
    closed = all(finding.ok for finding in found)
    verdict = "Nothing is open that should not be." if closed else "Something is OPEN: see above and docs/cluster.md."
    lines = [f"{'ok  ' if finding.ok else 'OPEN'}  {finding.check}: {finding.detail}" for finding in found]
    show(
        {"engine": engine, "closed": closed, "findings": [finding._asdict() for finding in found]},
        lambda: "\n".join([*lines, verdict]),
        as_json,
    )
    if not closed:
        raise typer.Exit(1)
