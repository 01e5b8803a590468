"""What the papers printed, as data: one CSV per paper in `published/`, with sources and known gaps in
`published/sources.json`.

A row is one printed number. `model` is a classifier or `average`; `epsilon` is infinite where the method has no
privacy; `variant` names what a table varies (teachers, hyper-parameters, an ablation, "best of 25"). Cells that could
not be read are left out and listed as `left_out`.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from understudy.errors import UsageError

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True, kw_only=True)
class Printed:
    """One number as printed."""

    paper: str
    table: str
    dataset: str
    method: str
    setting: str
    model: str
    metric: str
    epsilon: float | None
    delta: float | None
    variant: str
    value: float
    sd: float | None


def papers() -> dict[str, dict[str, Any]]:
    """Citation, table titles, gaps and remarks of each paper."""
    return json.loads((FOLDER / "sources.json").read_text(encoding="utf-8"))


@cache
def rows(paper: str) -> tuple[Printed, ...]:
    """Every number of one paper."""
    if paper not in papers():
        raise UsageError(f"unknown paper {paper!r}; there are: {', '.join(papers())}")
    text = (FOLDER / f"{paper}.csv").read_text(encoding="utf-8")
    return tuple(_printed(paper, row) for row in csv.DictReader(text.splitlines()))


def look_up(paper: str, **wanted: object) -> tuple[Printed, ...]:
    """The numbers whose fields equal `wanted`, e.g. `look_up("pate-gan", table="2", metric="auroc", epsilon=1.0)`."""
    return tuple(row for row in rows(paper) if all(getattr(row, field) == value for field, value in wanted.items()))


def _printed(paper: str, row: dict[str, str]) -> Printed:
    def number(field: str) -> float | None:
        return float(row[field]) if row[field] else None

    return Printed(
        paper=paper,
        table=row["table"],
        dataset=row["dataset"],
        method=row["method"],
        setting=row["setting"],
        model=row["model"],
        metric=row["metric"],
        epsilon=number("epsilon"),
        delta=number("delta"),
        variant=row["variant"],
        value=float(row["value"]),
        sd=number("sd"),
    )
