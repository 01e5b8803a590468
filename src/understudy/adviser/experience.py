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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
# What near tables kept is widened by this much for a forecast: as far as a table left out lay outside, nine times in ten
# (`python -m benchmarks.adviser_check`; the tables of experience.json).
MARGINS = {LABEL: 0.18, EVERYTHING: 0.35, COUNTS: 0.37}
# The same for single measures, and the values that each can have.
MEASURE_MARGINS = {"two-way": 0.09, "told-apart": 0.3, "other-targets": 0.31}
LIMITS = {"two-way": (0.0, 1.0), "told-apart": (0.5, 1.0), "other-targets": (-1.0, 1.0)}
# Of the weight of all near places: a method that ran at fewer is not recommended. With 0.5 one place where only others had run
# ruled the best method out (`python -m benchmarks.adviser_check`: regret for the label 0.037; 0.004 with 0.25 and 0.35).
TRIED = 0.3
NEAR_ENOUGH = 0.1  # weight from which on a table's results make up a range
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
        if mass < TRIED * total or mass == 0.0:
            continue  # it was hardly tried on tables like this one
        near = [one.kept for one, weight in runs if weight > NEAR_ENOUGH] or [one.kept for one, _ in runs]
        found.append(
            Outlook(
                method=method,
                kept=sum(weight * one.kept for one, weight in runs) / mass,
                lowest=max(0.0, min(near) - MARGINS[runs[0][0].use]),
                highest=max(near) + MARGINS[runs[0][0].use],
                regret=sum(weight * (best[one.place] - one.kept) for one, weight in runs) / mass,
                seconds=sum(weight * one.seconds for one, weight in runs) / mass,
                measures=_ranges([one for one, weight in runs if weight > NEAR_ENOUGH] or [one for one, _ in runs]),
            )
        )
    return found


def _ranges(runs: Sequence[Experience]) -> dict[str, tuple[float, float]]:
    """The range of each measure on near tables, widened as far as tables left out have shown to be needed."""
    found = {
        name: [one.measures[name] for one in runs if name in one.measures] for one in runs for name in one.measures
    }
    ranges = {}
    for name, values in found.items():
        if name in MEASURE_MARGINS:
            margin, (least, most) = MEASURE_MARGINS[name], LIMITS[name]
            ranges[name] = (max(least, min(values) - margin), min(most, max(values) + margin))
    return ranges


@cache
def shipped() -> tuple[Experience, ...]:
    """The results that come with the package."""
    text = resources.files("understudy.adviser").joinpath("experience.json").read_text(encoding="utf-8")
    return tuple(from_dict(one) for one in json.loads(text)["results"])


def from_dict(one: Mapping[str, Any]) -> Experience:
    """One row of the experience file."""
    return Experience(**{**one, "facts": Facts(**one["facts"])})
