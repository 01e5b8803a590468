"""The list of commands, each in a file of its own that is imported only when the command is called.

A command's file has a Typer `app` (a group of sub-commands, or a single command), or a function named like the file.
A line here whose file is absent is not offered, so a part can be left out of an installation.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from understudy.errors import UsageError

COMMANDS = {
    "schema": ("schema_", "Say what is public about a table: draft, check or import a schema."),
    "plan": ("plan", "What a fit will cost and whether it can work, before any row is read."),
    "fit": ("fit", "Learn a private stand-in for a table."),
    "sample": ("sample", "Write synthetic rows from a fitted model."),
    "export": ("export", "Write parts of a model as files of their own: its released counts."),
    "answer": ("answer", "Answer a question from a model, with an interval."),
    "compare": ("compare", "Several methods under one budget that is split between them."),
    "account": ("account", "A budget for all releases about the same people, charged by every run."),
    "certificate": ("certificate", "Show a model's privacy certificate, or recompute and verify it."),
    "evidence": ("evidence", "Checklists, risks, cards and metadata of a model, for reviewers and registries."),
    "evaluate": ("evaluate", "Compare synthetic rows with held-out real ones (results are not private)."),
    "report": ("report", "Draw a saved evaluation as one self-contained page."),
    "audit": ("audit", "Attack a method to check its claim."),
    "engine": ("engine", "Where work runs: try an engine and see what is open about it."),
    "serve": ("serve", "The whole path as a page in the browser, on this machine only."),
    "demo": ("demo", "The whole path on a table that ships with a dependency."),
}
MOVED = {"bench": "`understudy bench` is now `python -m benchmarks`, run from the root of the repository"}


class LazyGroup(TyperGroup):
    """Lists commands from the table above; imports a command's file only when that command is resolved."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        for name, (file, summary) in COMMANDS.items():
            if find_spec(f"understudy.cli.{file}") is not None:
                self.commands[name] = TyperCommand(name, help=summary)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Import the file of the command that was typed."""
        if args[0] in MOVED:
            raise UsageError(MOVED[args[0]])
        name, found, rest = super().resolve_command(ctx, args)
        if name in COMMANDS and found is not None:
            found = load(name)
        return name, found, rest


def load(name: str) -> Any:
    """Import one command's file and return the runnable command."""
    file, summary = COMMANDS[name]
    module = import_module(f"understudy.cli.{file}")
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False)
        app.command(name, help=summary)(_function(module, file, name))
    # Tracebacks with local variables would print rows; understudy.cli handles exceptions instead.
    app.pretty_exceptions_enable = False
    app._add_completion = False
    loaded = typer.main.get_command(app)
    loaded.name = name
    return loaded


def _function(module: ModuleType, file: str, name: str) -> Callable[..., Any]:
    for candidate in (file, name, "main"):
        if callable(found := getattr(module, candidate, None)):
            return cast("Callable[..., Any]", found)
    raise AttributeError(f"understudy.cli.{file} has neither `app` nor a function for the command {name!r}")


def _version(wanted: bool) -> bool:
    if wanted:
        from understudy import __version__

        typer.echo(f"understudy {__version__}")
        raise typer.Exit()
    return wanted


root = typer.Typer(name="understudy", cls=LazyGroup, no_args_is_help=True, pretty_exceptions_enable=False)


@root.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the trace of an unexpected error (may show private values).")
    ] = False,
) -> None:
    """Stand-ins for sensitive tables, with a differential-privacy guarantee that survives an audit."""


def command() -> Any:
    """The root command, ready to run."""
    return typer.main.get_command(root)
