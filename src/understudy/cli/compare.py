"""`understudy compare`: several methods on one table under one budget, and what choosing between them costs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli._output import AsJson, Quiet, as_options, options, settings, show
from understudy.cli._recipe import DEFAULT_DELTA, NO_ACCOUNT, AccountFile, Focus, Seed, WorkloadFile, check_options
from understudy.errors import UsageError
from understudy.progress import FitProgress

if TYPE_CHECKING:
    from rich.console import Group

    from understudy.compare import Comparison

app = typer.Typer()


@app.command(
    help="Fit several methods or settings under one budget that is split between them; choose on held-out rows, paid for."
)
def compare(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV or Parquet table to learn from.")],
    schema: Annotated[Path, typer.Option("--schema", help="Schema file: what is public.")],
    epsilon: Annotated[float, typer.Option("--epsilon", help="Privacy budget of all fits together.")],
    out: Annotated[
        Path,
        typer.Option("--out", help="Folder: one model folder per method. Run again to go on after an interruption."),
    ],
    methods: Annotated[str, typer.Option("--methods", help="Comma-separated.")] = "mst,mean-embedding",
    delta: Annotated[float, typer.Option("--delta", help="Failure probability.")] = DEFAULT_DELTA,
    real: Annotated[
        Path | None,
        typer.Option(
            "--real", help="Held-out rows of other people: makes a choice, paid with epsilon by those people."
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--vary",
            metavar="NAME=VALUE,VALUE",
            help="An option to try with several values, e.g. teachers=50,200. Repeatable.",
        ),
    ] = None,
    focus: Focus = None,
    workload: WorkloadFile = None,
    account: AccountFile = None,
    seed: Seed = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fit several methods under one budget and show the models side by side."""
    for option, path in (("FILE", file), ("--schema", schema), ("--real", real)):
        if path is not None and not path.is_file():
            raise UsageError(f"{option} {str(path)!r}: there is no such file")
    names = [name.strip() for name in methods.split(",")]
    if not all(names):
        raise UsageError(
            f"--methods {methods!r} has an empty name; separate names by single commas, e.g. mst,mean-embedding"
        )
    from understudy.compare import compare as run
    from understudy.schema import Schema

    words = options("methods", "vary", "real", "out", "account", "epsilon", "delta", "focus", "workload")
    with FitProgress(epsilon, quiet or as_json) as progress, words, what_is_left(out):
        found = run(
            file,
            Schema.load(schema),
            methods=names,
            vary=values_of(vary or (), names),
            epsilon=epsilon,
            delta=delta,
            out=out,
            real=real,
            seed=seed,
            progress=progress,
            account=account,
            focus=focus,
            workload=workload,
        )
    if as_json or not quiet:
        show(found.to_dict(), lambda: table(found, account is None), as_json)


def values_of(pairs: Sequence[str], methods: Sequence[str]) -> dict[str, list[object]]:
    """`--vary teachers=50,200` as a dictionary of lists, every value checked for every method."""
    from understudy.compare.candidates import check_methods

    check_methods(methods)
    found: dict[str, list[object]] = {}
    for pair in pairs:
        name, separator, values = pair.partition("=")
        if not separator or not name.strip() or not all(value.strip() for value in values.split(",")):
            raise UsageError(f"--vary {pair!r} is not of the form name=value,value, e.g. --vary teachers=50,200")
        for value in values.split(","):
            for option, one in settings([f"{name}={value}"]).items():
                check_value(pair, option, one, methods)
                found.setdefault(option, []).append(one)
    return found


def check_value(pair: str, option: str, value: object, methods: Sequence[str]) -> None:
    """Refuse an option that one of the methods does not have, or a value that is none of its own."""
    try:
        for method in methods:
            check_options(method, {option: value})
    except UsageError as error:
        raise UsageError(f"--vary {pair!r}: {error}") from None


@contextmanager
def what_is_left(out: Path) -> Iterator[None]:
    """Interrupted, a comparison says how it goes on."""
    from understudy.compare import RECORD

    try:
        yield
    except KeyboardInterrupt:
        if (out / RECORD).exists():
            typer.echo(
                f"stopped; {out} may hold private state of an unfinished fit, keep it secret. The same command goes on where it "
                "can and charges nothing twice.",
                err=True,
            )
        raise


def table(found: "Comparison", alone: bool = False) -> "Group":
    """Methods, models and scores as a table for the terminal."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    rows = Table(box=None, pad_edge=False)
    for heading in ("method", "model"):
        rows.add_column(heading, overflow="fold")  # settings differ at their ends
    for heading in ("epsilon of its fit", "expected to keep*", "with the whole budget*"):
        rows.add_column(heading, justify="right")
    for one in found.entries:
        mark = " (chosen)" if one.method == found.chosen else ""
        rows.add_row(one.method + mark, one.folder, f"{one.epsilon:.4g}", _share(one.kept), _share(one.kept_alone))
    note = "* of a classifier's gain over chance, from the benchmark tables most like this one; nothing was measured on your rows"
    return Group(
        rows,
        Text(note, style="dim"),
        Text(),
        *(Text(f"- {as_options(line, 'real')}") for line in [*found.lines(), *([NO_ACCOUNT] if alone else [])]),
    )


def _share(value: float | None) -> str:
    return "not known" if value is None else f"{value:.0%}"
