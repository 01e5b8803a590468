"""Which method fits a table, judged from public facts and our own benchmark.

Facts come from the schema, the budget and a public number of rows; no row is read, so advice is free. Experience is what
`python -m benchmarks run` measured on public tables (`adviser.json`, written by `python -m benchmarks adviser`): for each table,
method and epsilon how much of the real rows' gain over chance was kept,

    kept = (score on synthetic - chance) / (score on real - chance).

Tables are near when they offer as much signal per class, s = mu rows / (rows per unit x classes) with mu the Gaussian
parameter of the budget, as many columns, and as many numeric ones; weights fall off as a Gaussian kernel. The method with
the least weighted regret (its `kept` against the best on the same table and budget) is recommended, and the weighted
mean and range of its `kept` is what to expect.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Any

from understudy.accounting import Budget
from understudy.accounting.gaussian import mu as gaussian_mu
from understudy.schema import Schema

AUTO = "auto"
TYPICAL_ROWS = 10_000  # assumed where the number of rows is not public
NUMERIC = ("continuous", "integer", "ordinal", "datetime")
COUNT_SHARE = 0.1  # of the squared loss goes to class counts (plan.HISTOGRAM_WEIGHT)
SIGNAL_SCALE, WIDTH_SCALE, KIND_SCALE = 0.5, 0.5, 0.4  # decades, decades, share of columns
NEAR = 0.3  # total weight below which no benchmark table counts as similar
USEFUL = 0.3  # of the gain over chance; below it a model trained on the stand-in says little about people


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What advice rests on: public, all of it."""

    epsilon: float
    delta: float
    rows: int | None
    columns: int
    numeric: float  # share of the columns
    classes: int  # 1 without a class label
    rows_per_unit: int
    label: str

    @property
    def signal(self) -> float:
        """mu rows / (rows per unit x classes): how far one class stands above the noise of one answer."""
        rows = self.rows or TYPICAL_ROWS
        return gaussian_mu(self.epsilon, self.delta) * rows / (self.rows_per_unit * self.classes)


@dataclass(frozen=True, kw_only=True)
class Experience:
    """One benchmarked table, method and budget; means over seeds."""

    title: str
    method: str
    facts: Facts
    metric: str
    score: float
    sd: float | None
    seeds: int
    real: float
    chance: float
    seconds: float

    @property
    def kept(self) -> float:
        """Share of the gain over chance that models of synthetic rows kept."""
        return (self.score - self.chance) / (self.real - self.chance)

    @property
    def place(self) -> tuple[str, float]:
        """Methods are compared at the same place: one table, one budget."""
        return self.title, self.facts.epsilon


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What one method is expected to keep, and how far it fell behind the best one on similar tables."""

    method: str
    kept: float
    lowest: float
    highest: float
    regret: float
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Advice:
    """A recommendation with its reasons."""

    method: str
    why: str  # two sentences
    expect: str
    useful: bool
    similar: tuple[str, ...]  # titles of the benchmark tables it rests on, nearest first
    outlook: tuple[Outlook, ...]  # best first

    def to_dict(self) -> dict[str, object]:
        """As JSON values."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The choice and the outlook in words."""
        return [f"{self.method}: {self.why}", self.expect]


def facts_of(schema: Schema, epsilon: float, delta: float = 1e-5, rows: int | None = None) -> Facts:
    """The public facts of a fit. `rows` overrides the schema's own public count."""
    Budget(epsilon, delta)  # refuses what cannot be a budget
    features = schema.features
    numeric = sum(column.kind in NUMERIC for column in features)
    classified = schema.label_kind in ("binary", "multiclass")
    label = schema.column(schema.label) if classified and schema.label is not None else None
    classes = max(2, len(label.categories or ())) if label is not None else 1
    return Facts(
        epsilon=epsilon,
        delta=delta,
        rows=rows or schema.rows,
        columns=max(len(features), 1),
        numeric=numeric / max(len(features), 1),
        classes=classes,
        rows_per_unit=schema.max_rows_per_unit,
        label=schema.label_kind,
    )


def advise(
    schema: Schema,
    *,
    epsilon: float,
    delta: float = 1e-5,
    rows: int | None = None,
    experience: Sequence[Experience] | None = None,
) -> Advice:
    """The method to take for a table with this schema, and what to expect of it."""
    facts = facts_of(schema, epsilon, delta, rows)
    known = shipped() if experience is None else tuple(experience)
    weights = [nearness(facts, one.facts) for one in known]
    outlook = sorted(outlooks(known, weights), key=lambda one: (one.regret, -one.kept))
    near = dict(sorted(zip((one.title for one in known), weights, strict=True), key=lambda pair: pair[1]))
    similar = tuple(title for title, weight in reversed(near.items()) if weight > 0.1)[:3]
    hopeless = too_little(facts)
    if not outlook or sum(near.values()) < NEAR:
        return without_experience(facts, hopeless)
    best = outlook[0]
    useful = not hopeless and best.kept >= USEFUL
    return Advice(
        method=best.method,
        why=reasons(facts, outlook, similar),
        expect=hopeless or expectation(facts, best, useful),
        useful=useful,
        similar=similar,
        outlook=tuple(outlook),
    )


def nearness(facts: Facts, other: Facts) -> float:
    """Gaussian kernel over signal, width and kind of columns; 1 for a table like this one."""
    apart = (
        math.log10(facts.signal / other.signal) / SIGNAL_SCALE,
        math.log10(facts.columns / other.columns) / WIDTH_SCALE,
        (facts.numeric - other.numeric) / KIND_SCALE,
    )
    return math.exp(-0.5 * sum(step * step for step in apart))


def outlooks(known: Sequence[Experience], weights: Sequence[float]) -> list[Outlook]:
    """Weighted means per method. Regret is taken within a place, so a method gains nothing from running on easy tables."""
    best: dict[tuple[str, float], float] = {}
    for one in known:
        best[one.place] = max(best.get(one.place, -math.inf), one.kept)
    found = []
    total = sum({one.place: weight for one, weight in zip(known, weights, strict=True)}.values())
    for method in dict.fromkeys(one.method for one in known):
        runs = [(one, weight) for one, weight in zip(known, weights, strict=True) if one.method == method]
        mass = sum(weight for _, weight in runs)
        if mass < 0.5 * total or mass == 0.0:
            continue  # it was hardly tried on tables like this one
        near = [one.kept for one, weight in runs if weight > 0.1] or [one.kept for one, _ in runs]
        found.append(
            Outlook(
                method=method,
                kept=sum(weight * one.kept for one, weight in runs) / mass,
                lowest=min(near),
                highest=max(near),
                regret=sum(weight * (best[one.place] - one.kept) for one, weight in runs) / mass,
                seconds=sum(weight * one.seconds for one, weight in runs) / mass,
            )
        )
    return found


def too_little(facts: Facts) -> str:
    """Why nothing can work, if so: the noise on the count of a class is a good part of the class itself."""
    if facts.rows is None:
        return ""
    noise = facts.rows_per_unit / (gaussian_mu(facts.epsilon, facts.delta) * math.sqrt(COUNT_SHARE))
    size = facts.rows / facts.classes
    if noise < 0.2 * size:
        return ""
    return (
        f"No method will give something useful: even the number of rows of a class is known only to +-{noise:,.0f} of about "
        f"{size:,.0f}. What would help: more rows, a larger epsilon, fewer rows per unit, fewer classes."
    )


def reasons(facts: Facts, outlook: Sequence[Outlook], similar: Sequence[str]) -> str:
    """Why this method, in words: what it kept on which tables, and what stood second."""
    best = outlook[0]
    names = ", ".join(similar)
    first = f"On the benchmark tables most like this one ({names}) it kept most of what real rows give"
    if len(outlook) > 1:
        behind = outlook[1]
        first += f", {best.kept:.0%} of the gain over chance against {behind.kept:.0%} for {behind.method}"
    assumed = (
        ""
        if facts.rows
        else f" (assuming {TYPICAL_ROWS:,}; say how many rows you expect, or `rows` in the schema if it is public)"
    )
    second = (
        f"Compared by public facts only: {facts.columns} columns, {facts.numeric:.0%} of them numeric, "
        f"{facts.rows or TYPICAL_ROWS:,} rows{assumed}, {_classes(facts)}, epsilon {facts.epsilon:g}"
    )
    return f"{first}. {second}."


def expectation(facts: Facts, best: Outlook, useful: bool) -> str:
    """What to expect of this fit, in words, with what limits the guess."""
    span = (
        f"{best.lowest:.0%} to {best.highest:.0%}" if best.highest - best.lowest >= 0.01 else f"about {best.kept:.0%}"
    )
    told = f"Expect classifiers to keep {span} of their gain over chance (they did on those tables)"
    if facts.classes == 1:
        told += "; those tables have a class label, this one has none, so take it as a rough guide"
    if not useful:
        told += ". That is too little to be of use: more rows or a larger epsilon would help"
    return told + "."


def without_experience(facts: Facts, hopeless: str) -> Advice:
    """A rule of thumb where no benchmark table is similar."""
    many = facts.columns > 100 and facts.numeric > 0.5
    method = "mean-embedding" if many else "mst"
    why = (
        "It needs one answer for all columns together, which is what many numeric columns ask for."
        if many
        else "It measures columns in pairs and keeps counts exact up to noise, which suits few or categorical columns."
    )
    return Advice(
        method=method,
        why=f"{why} No benchmark table is like this one ({facts.columns} columns, epsilon {facts.epsilon:g}): a rule of thumb.",
        expect=hopeless or "What to expect is not known; evaluate a fit on public rows of the same form first.",
        useful=not hopeless,
        similar=(),
        outlook=(),
    )


def _classes(facts: Facts) -> str:
    return "no class label" if facts.classes == 1 else f"{facts.classes} classes"


@cache
def shipped() -> tuple[Experience, ...]:
    """The results that come with the package."""
    text = resources.files("understudy").joinpath("adviser.json").read_text(encoding="utf-8")
    return tuple(from_dict(one) for one in json.loads(text)["results"])


def from_dict(one: Mapping[str, Any]) -> Experience:
    """One row of the experience file."""
    return Experience(**{**one, "facts": Facts(**one["facts"])})
