"""`understudy answer`: a question to a model, answered with an interval."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli._output import AsJson, options, show
from understudy.progress import bar

if TYPE_CHECKING:
    from understudy.infer.ask import Answered
    from understudy.infer.rules import About

app = typer.Typer()


@app.command(help="Answer a question about the table from a model, with an interval that knows the privacy noise.")
def answer(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by 'understudy fit'.")],
    question: Annotated[
        str,
        typer.Argument(metavar="QUESTION", help="e.g. 'mean(hours) by sex where age > 40'; also share(), median()."),
    ],
    copies: Annotated[int, typer.Option("--copies", help="How many copies of the stand-in to ask.")] = 20,
    level: Annotated[float, typer.Option("--level", help="Of the interval.")] = 0.95,
    table: Annotated[
        bool, typer.Option("--table", help="The interval is about the table that was fitted, not about its population.")
    ] = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same answer.")] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate, interval, the part of its width that is privacy noise, and a warning where it rests on the model."""
    from understudy.artifact import load
    from understudy.infer.ask import answer as ask

    about: About = "table" if table else "population"
    with options("copies", "level"), bar("making copies", 3 * copies, as_json, timed=True) as on_progress:
        found = ask(load(model), question, copies=copies, seed=seed, about=about, level=level, on_progress=on_progress)
    show(found.to_dict(), lambda: "\n".join(lines(found)), as_json)


def lines(found: "Answered") -> list[str]:
    """For people."""
    said = []
    for one in found.lines:
        combined = one.combined
        name = f"{one.group}: " if one.group else ""
        said.append(
            f"{name}{figure(combined.estimate)}  ({combined.level:.0%} interval {figure(combined.low)} to "
            f"{figure(combined.high)}; "
            f"{combined.noise:.0%} of its width is privacy noise)"
        )
    return [*said, *(f"note: {remark}" for remark in found.remarks)]


def figure(value: float) -> str:
    """Four digits, and of large numbers all before the point: a count is not read as 3e+04."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"
