"""`understudy plan`: what a fit will cost and whether it can work, before any row is read."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType

from understudy.cli._output import AsJson, options, show
from understudy.cli._recipe import (
    DEFAULT_DELTA,
    Config,
    Delta,
    Epsilon,
    Focus,
    Method,
    Request,
    Rows,
    Setting,
    Use,
    WorkloadFile,
    estimator,
    flagged,
    request,
    resolve,
    weights,
)

if TYPE_CHECKING:
    from understudy.accounting.plan import Plan
    from understudy.adviser.advice import Advice

app = typer.Typer()


@app.command(help="What a fit will cost and whether it can work, before any row is read.")
def plan(
    schema: Annotated[Path | None, typer.Argument(metavar="SCHEMA", help="Schema file.")] = None,
    method: Method = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rows: Rows = None,
    use: Use = "everything",
    focus: Focus = None,
    workload: WorkloadFile = None,
    pairs: Setting = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Print what a fit would ask, what each answer costs, and what to expect of it."""
    wanted = request(
        config=config,
        schema=schema,
        method=method,
        epsilon=epsilon,
        delta=delta,
        rows=rows,
        focus=focus,
        workload=workload,
        pairs=pairs,
        schema_is="SCHEMA",
    )
    from rich.console import Group

    from understudy.schema import Schema

    loaded = Schema.load(wanted.schema)
    resolved, advice = resolve(wanted, loaded, use)
    with options("focus", "workload"):
        made = estimator(resolved).plan(loaded, rows=wanted.rows)
    said = {} if advice is None else {"advice": advice.to_dict()}
    show(summary(made) | said, lambda: Group(table(made), *recommendation(advice)), as_json)
    if not as_json:  # not through the table's console, which would break the line
        typer.echo(f"\nnext: {next_command(resolved, weights(focus, workload), pairs or (), config)}")


def next_command(wanted: Request, weights: Mapping[str, object], pairs: Sequence[str], config: Path | None) -> str:
    """The fit that was planned, with the method that was found; FILE stands for the table unless a file names it."""
    if config is not None:
        words = ["--config", str(config), "--method", wanted.method]
    else:
        words = [str(wanted.data or "FILE"), "--schema", str(wanted.schema), "--method", wanted.method]
        words += ["--epsilon", f"{wanted.epsilon:g}"]
        words += [] if wanted.delta == DEFAULT_DELTA else ["--delta", f"{wanted.delta:g}"]
    words += [] if wanted.rows is None else ["--rows", str(wanted.rows)]
    words += [word for name, value in weights.items() for word in (f"--{name}", str(value))]
    return shlex.join(["understudy", "fit", *words, *(word for pair in pairs for word in ("--set", pair))])


def recommendation(advice: "Advice | None") -> list[RenderableType]:
    """Which method the adviser took and why, where it was asked."""
    if advice is None:
        return []
    from rich.text import Text

    style = "" if advice.useful else "bold red"
    return [
        Text(),
        Text("Which method?", style="bold"),
        Text(advice.lines()[0]),
        Text(flagged(advice.lines()[1]), style=style),
    ]


def summary(made: "Plan") -> dict[str, object]:
    """The plan as JSON, with the recomputed total and shares beside the announced events."""
    return {
        **made.to_dict(),
        "epsilon_planned": made.epsilon,
        "shares": [
            {"purpose": purpose, "share": share, "epsilon_alone": alone} for purpose, share, alone in made.shares()
        ],
    }


def table(made: "Plan") -> RenderableType:
    """The plan for people: costs first, then the recipe, then the verdict."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from understudy.accounting.events import describe

    costs = Table(title=f"Plan for {made.method}", title_justify="left", title_style="bold", box=None, pad_edge=False)
    for heading in ("purpose", "noise, in units of the sensitivity"):
        costs.add_column(heading)
    for heading in ("share", "epsilon alone"):
        costs.add_column(heading, justify="right")
    noise = {charge.purpose: describe(charge.event).replace(" times the sensitivity", "") for charge in made.charges}
    for line in made.lines():
        each = " each" * (line.alike > 1)
        costs.add_row(line.title, noise.get(line.purpose, ""), f"{line.share:.1%}", f"{line.epsilon:.4g}{each}")
    costs.add_row("all together", "", "", f"{made.epsilon:.4g}", style="bold")

    recipe = Table(title="Recipe", title_justify="left", title_style="bold", box=None, pad_edge=False)
    recipe.show_header = False
    recipe.add_column()
    recipe.add_column()
    settings = made.parameters.get("settings", made.parameters)
    for name, value in flat(settings):
        recipe.add_row(name, value)

    budget = f"budget: epsilon {made.budget.epsilon:g}, delta {made.budget.delta:g}; protects {made.unit}"
    parts: list[RenderableType] = [costs, Text(), Text(budget), Text(), recipe]
    if not made.valid:
        parts += [Text(), Text(f"NOT A VALID GUARANTEE: {made.void_reason}", style="bold red")]
    if made.notes:
        parts += [Text(), Text("Can it work?", style="bold"), *(Text(f"- {note}") for note in made.notes)]
    return Group(*parts)


def flat(parameters: Mapping[str, object], prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as lines of a table."""
    lines: list[tuple[str, str]] = []
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            lines += flat(value, f"{prefix}{name} / ")
        elif name == "pairs" and isinstance(value, Sequence):  # of a workload
            lines += [(f"{prefix}{' and '.join(one['columns'])}", _short(one["weight"])) for one in value]
        else:
            lines.append((f"{prefix}{name}", _short(value)))
    return lines


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        value = ", ".join(_short(item) for item in value)
    text = str(value)
    return text if len(text) <= 90 else text[:87] + "..."
