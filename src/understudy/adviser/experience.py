"""What our methods kept on public tables: the results behind the adviser, and how near a table is to one of them.

Three uses of a stand-in are told apart, each with its own measure of what was kept:

    label        (score on synthetic - chance) / (score on real - chance) of classifiers for the label
    everything   mean over the whole-table measures of `MEASURES["everything"]` of the share of dependence kept
    counts       the same over the measures that count

For a measure whose value is v, and i for columns without dependence, the share kept is 1 - v / i, for the AUROC of telling rows
apart 1 - (v - 1/2) / (i - 1/2), for other columns as targets the share of the gain itself; each cut to [0, 1], so that one bad
measure does not outweigh the others.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import resources
from typing import Any

from understudy.accounting.gaussian import mu as gaussian_mu

EVERYTHING, LABEL, COUNTS = "everything", "label", "counts"
USES = (EVERYTHING, LABEL, COUNTS)
MEASURES: Mapping[str, tuple[str, ...]] = {
    EVERYTHING: ("two-way", "three-way", "association", "query", "told-apart", "other-targets"),
    COUNTS: ("two-way", "three-way", "query"),
}
TYPICAL_ROWS = 10_000  # assumed where the number of rows is not public
# What is forecast for each use, and the values that it can have. "kept" is the share that is kept; a share above one is all.
FORECAST: Mapping[str, tuple[str, ...]] = {
    EVERYTHING: ("kept", "two-way", "told-apart", "other-targets"),
    LABEL: ("kept",),
    COUNTS: ("kept", "two-way", "three-way", "query"),
}
LIMITS = {"kept": (0.0, 1.0), "told-apart": (0.5, 1.0), "other-targets": (-1.0, 1.0)}
UNIT = (0.0, 1.0)
CUT = 0.05  # of the weight of near results that a range leaves out at either end, before the margin is added
# A method is compared with the one that ran on most near tables where both ran; less than this, and it is not recommended.
TRIED = 0.25  # of the weight of all near tables
TABLES = 3
SEVERAL = 1.5  # tables of one weight that the near ones must be worth: (sum w)^2 / sum w^2
SIGNAL_SCALE, WIDTH_SCALE, KIND_SCALE = 0.5, 0.5, 0.4  # decades, decades, share of columns


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
    learning: float = 1.0  # share of the squared loss that the schema's estimates leave
    classes_declared: bool = True

    @cached_property  # a search for a root, asked for once per known result
    def mu(self) -> float:
        """The Gaussian parameter of the budget, of what estimates leave of it."""
        return gaussian_mu(self.epsilon, self.delta) * math.sqrt(self.learning)

    def signal(self, use: str) -> float:
        """mu rows / rows per unit: how far the rows stand above the noise of one answer; for the label, the rows of a class."""
        apart = self.classes if use == LABEL else 1
        return self.mu * (self.rows or TYPICAL_ROWS) / (self.rows_per_unit * apart)


@dataclass(frozen=True, kw_only=True)
class Experience:
    """One benchmarked table, method and budget; means over seeds."""

    title: str
    method: str
    facts: Facts
    metric: str
    score: float
    real: float
    chance: float
    seconds: float
    use: str = LABEL
    measures: Mapping[str, float] = field(default_factory=dict)  # means of the whole-table measures, by name

    @property
    def kept(self) -> float:
        """Share of what real rows give that the synthetic ones kept, in the terms of its use."""
        return (self.score - self.chance) / (self.real - self.chance)

    @property
    def table(self) -> str:
        """The table: one that is protected in two ways has two titles, the second after a comma."""
        return self.title.split(",")[0]

    @property
    def place(self) -> tuple[str, float]:
        """Methods are compared at the same place: one table, one budget."""
        return self.title, self.facts.epsilon


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What one method is expected to keep, and how much more than the method that ran on most similar tables."""

    method: str
    kept: float
    lowest: float
    highest: float
    tried: float  # weight of the near tables on which it ran
    seconds: float
    lead: float | None = None  # over the one that ran on most near tables, where both ran; None: on too few tables
    measures: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # lowest and highest to expect


def whole_kept(use: str, figures: Mapping[str, float | None], independent: Mapping[str, float | None]) -> float | None:
    """Share of the dependence between columns that was kept; None where no measure of the use is known."""
    shares = []
    for name in MEASURES[use]:
        value, worst = figures.get(name), independent.get(name)
        if value is None or worst is None:
            continue
        if name == "other-targets":
            share = value
        else:
            best = 0.5 if name == "told-apart" else 0.0
            share = 1.0 - (value - best) / (worst - best) if worst > best else 0.0
        shares.append(min(1.0, max(0.0, share)))
    return sum(shares) / len(shares) if shares else None


def nearness(facts: Facts, other: Facts, use: str) -> float:
    """Gaussian kernel over signal, width and kind of columns; 1 for a table like this one."""
    apart = (
        math.log10(facts.signal(use) / other.signal(use)) / SIGNAL_SCALE,
        math.log10(facts.columns / other.columns) / WIDTH_SCALE,
        (facts.numeric - other.numeric) / KIND_SCALE,
    )
    return math.exp(-0.5 * sum(step * step for step in apart))


def by_table(known: Sequence[Experience], weights: Sequence[float]) -> dict[str, float]:
    """How near each table is, at the nearest of its budgets."""
    near: dict[str, float] = {}
    for one, weight in zip(known, weights, strict=True):
        near[one.table] = max(weight, near.get(one.table, 0.0))
    return near


def ranked(
    known: Sequence[Experience], weights: Sequence[float], takes: Callable[[str], bool] = lambda method: True
) -> list[Outlook]:
    """Outlooks of the methods that will do, best first.

    Who ran on most near tables is where one starts, and another comes before it for what it kept more *where both ran*: a method
    gains nothing from easy tables, nor from weak company. That has to be seen on `TABLES` tables, or on all that there are.
    """
    found = [one for one in outlooks(known, weights) if takes(one.method)]
    if not found:
        return []
    widest = max(found, key=lambda one: (one.tried, one.kept))
    least = min(TABLES, len({one.table for one in known if one.method == widest.method}))
    found = [replace(one, lead=lead(known, weights, one.method, widest.method, least)) for one in found]
    return sorted(found, key=lambda one: (one.lead is None, -(one.lead or 0.0), -one.kept))


def lead(known: Sequence[Experience], weights: Sequence[float], first: str, second: str, least: int) -> float | None:
    """How much more the first method kept than the second where both ran; None where that is on too few tables."""
    kept: dict[tuple[str, float], dict[str, tuple[Experience, float]]] = {}
    for one, weight in zip(known, weights, strict=True):
        kept.setdefault(one.place, {})[one.method] = one, weight
    both = [(found[first], found[second][0]) for found in kept.values() if first in found and second in found]
    total = sum(weight for (_, weight), _ in both)
    if len({one.table for (one, _), _ in both}) < least or not total:
        return None
    near = by_table([one for (one, _), _ in both], [weight for (_, weight), _ in both]).values()
    if sum(near) ** 2 < min(least, SEVERAL) * sum(weight * weight for weight in near):
        return None  # all but one of these tables are far
    return float(sum(weight * (one.kept - other.kept) for (one, weight), other in both) / total)


def outlooks(
    known: Sequence[Experience],
    weights: Sequence[float],
    margins: Mapping[str, Mapping[str, float]] | None = None,
) -> list[Outlook]:
    """Weighted means and ranges of methods that were tried near by, widened by `margins` (by default the shipped ones)."""
    added, near, found = shipped_margins() if margins is None else margins, by_table(known, weights), []
    for method in dict.fromkeys(one.method for one in known):
        runs = [(one, weight) for one, weight in zip(known, weights, strict=True) if one.method == method]
        mass = sum(weight for _, weight in runs)
        tried = sum(by_table([one for one, _ in runs], [weight for _, weight in runs]).values())
        if tried < TRIED * sum(near.values()) or mass == 0.0:
            continue  # it was hardly tried on tables like this one
        use = runs[0][0].use
        ranges = {name: widened(name, use, spread(runs, name), added) for name in FORECAST[use] if has(runs, name)}
        lowest, highest = ranges.pop("kept")
        found.append(
            Outlook(
                method=method,
                kept=sum(weight * one.kept for one, weight in runs) / mass,
                lowest=lowest,
                highest=highest,
                tried=tried,
                seconds=sum(weight * one.seconds for one, weight in runs) / mass,
                measures=ranges,
            )
        )
    return found


def value(one: Experience, name: str) -> float | None:
    """A figure that is forecast, within its limits."""
    found = one.kept if name == "kept" else one.measures.get(name)
    least, most = LIMITS.get(name, UNIT)
    return None if found is None else min(most, max(least, found))


def has(runs: Sequence[tuple[Experience, float]], name: str) -> bool:
    """Whether any of these runs has the figure."""
    return any(value(one, name) is not None for one, _ in runs)


def spread(runs: Sequence[tuple[Experience, float]], name: str) -> tuple[float, float]:
    """Where the figure lies on near tables, without `CUT` of their weight at either end."""
    known = sorted((found, weight) for one, weight in runs if (found := value(one, name)) is not None)
    total = sum(weight for _, weight in known)
    ends = []
    for order in (known, known[::-1]):
        below, end = 0.0, order[-1][0]
        for figure, weight in order:
            below += weight
            if below > CUT * total:
                end = figure
                break
        ends.append(end)
    return ends[0], ends[1]


def widened(
    name: str, use: str, ends: tuple[float, float], margins: Mapping[str, Mapping[str, float]]
) -> tuple[float, float]:
    """A range with its margin, within the limits of the figure; all of them where no margin is known."""
    least, most = LIMITS.get(name, UNIT)
    margin = margins.get(use, {}).get(name, most - least)
    return max(least, ends[0] - margin), min(most, ends[1] + margin)


@cache
def _file() -> Mapping[str, Any]:
    text = resources.files("understudy.adviser").joinpath("experience.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


@cache
def shipped() -> tuple[Experience, ...]:
    """The results that come with the package."""
    return tuple(from_dict(one) for one in _file()["results"])


def shipped_margins() -> Mapping[str, Mapping[str, float]]:
    """By how much ranges have to be widened, by use and figure: as far as results of tables left out lay outside, nine times in
    ten (`benchmarks.adviser_check`), written with the results."""
    found: Mapping[str, Mapping[str, float]] = _file().get("margins", {})
    return found


def from_dict(one: Mapping[str, Any]) -> Experience:
    """One row of the experience file."""
    return Experience(**{**one, "facts": Facts(**one["facts"])})
