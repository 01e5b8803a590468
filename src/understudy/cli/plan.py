"""`understudy plan`: what a fit will cost and whether it can work, before any row is read."""

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli._output import AsJson, show
from understudy.cli._recipe import Config, Delta, Epsilon, Method, Setting, estimator, request

app = typer.Typer()


@app.command(help="What a fit will cost and whether it can work, before any row is read.")
def plan(
    schema: Annotated[Path | None, typer.Argument(metavar="SCHEMA", help="Schema file.")] = None,
    method: Method = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    pairs: Setting = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    wanted = request(config=config, schema=schema, method=method, epsilon=epsilon, delta=delta, pairs=pairs)
    from understudy.schema import Schema

    made = estimator(wanted).plan(Schema.load(wanted.schema))
    show(summary(made), lambda: table(made), as_json)


def summary(made: Any) -> dict[str, Any]:
    """The plan as JSON, with the recomputed total and shares beside the announced events."""
    return made.to_dict() | {
        "epsilon_planned": made.epsilon,
        "shares": [
            {"purpose": purpose, "share": share, "epsilon_alone": alone} for purpose, share, alone in made.shares()
        ],
    }


def table(made: Any) -> Any:
    """The plan for people: costs first, then the recipe, then the verdict."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    costs = Table(title=f"Plan for {made.method}", title_justify="left", title_style="bold", box=None, pad_edge=False)
    for heading, justify in (("purpose", "left"), ("noise", "left"), ("share", "right"), ("epsilon alone", "right")):
        costs.add_column(heading, justify=justify)  # type: ignore[arg-type]
    detail: dict[str, list[str]] = {}
    for charge in made.charges:
        detail.setdefault(charge.purpose, []).append(charge.detail or type(charge.event).__name__)
    for purpose, share, alone in made.shares():
        costs.add_row(purpose, "; ".join(detail.get(purpose, [])), f"{share:.1%}", f"{alone:.4g}")
    costs.add_section()
    total = f"{made.epsilon:.4g} of {made.budget.epsilon:g} (delta {made.budget.delta:g})"
    costs.add_row("all together", "", "", total, style="bold")

    recipe = Table(
        title="Recipe", title_justify="left", title_style="bold", box=None, pad_edge=False, show_header=False
    )
    recipe.add_column()
    recipe.add_column()
    for name, value in made.parameters.items():
        recipe.add_row(str(name), _short(value))

    parts: list[Any] = [costs, Text(), Text(f"protected: {made.unit}"), Text(), recipe]
    if not made.valid:
        parts += [Text(), Text(f"NOT A VALID GUARANTEE: {made.void_reason}", style="bold red")]
    if made.notes:
        parts += [Text(), Text("Can it work?", style="bold"), *(Text(f"- {note}") for note in made.notes)]
    return Group(*parts)


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 90 else text[:87] + "..."
