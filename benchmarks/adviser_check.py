"""Does the adviser advise well? Each table is left out in turn and its results are forecast from the others.

    python -m benchmarks.adviser_check

For every use and every place (a table at a budget) where at least two methods ran: what the recommended method kept there against
the best one (regret), beside what always taking the same method would have cost at the places where that one ran, and how often
what it kept lies inside the forecast range. Then, for the measures that `plan` states beside it: how far results of a table left
out lay outside the range of near tables, nine times in ten (what `experience.MEASURE_MARGINS` is set to), and how often they
lie inside the range that is stated. Written as tables for docs/adviser.md.
"""

import math
import statistics
import sys
from collections.abc import Sequence
from typing import Any

from understudy.adviser.advice import recommend
from understudy.adviser.experience import (
    EVERYTHING,
    MEASURE_MARGINS,
    NEAR_ENOUGH,
    USES,
    Experience,
    nearness,
    outlooks,
    shipped,
)


def places(known: Sequence[Experience]) -> dict[tuple[str, float], dict[str, Experience]]:
    """Methods by place, where there is a choice."""
    found: dict[tuple[str, float], dict[str, Experience]] = {}
    for one in known:
        found.setdefault(one.place, {})[one.method] = one
    return {place: methods for place, methods in found.items() if len(methods) > 1}


def check(use: str) -> dict[str, Any]:
    """Regrets and coverage of one use."""
    known = [one for one in shipped() if one.use == use]
    own: list[float] = []
    fixed: dict[str, list[float]] = {}
    inside: list[bool] = []
    for (title, _), methods in places(known).items():
        best = max(one.kept for one in methods.values())
        facts = next(iter(methods.values())).facts
        chosen = recommend(facts, [one for one in known if one.title != title], tuple(methods))
        if chosen is not None:
            own.append(best - methods[chosen.method].kept)
            inside.append(chosen.lowest <= methods[chosen.method].kept <= chosen.highest)
            for name, one in methods.items():
                fixed.setdefault(name, []).append(best - one.kept)
    return {"places": len(own), "regret": own, "fixed": fixed, "inside": inside}


def outside(name: str) -> list[float]:
    """How far a measure of each result lay outside the stated range, without the margin that is added to it; smallest first."""
    known = [one for one in shipped() if one.use == EVERYTHING]
    found = []
    for one in known:
        others = [each for each in known if each.title != one.title]
        for outlook in outlooks(others, [nearness(one.facts, each.facts, one.use) for each in others]):
            if outlook.method == one.method and name in outlook.measures and name in one.measures:
                values = [each.measures[name] for each in near(one, others)]
                found.append(max(min(values) - one.measures[name], one.measures[name] - max(values), 0.0))
    return sorted(found)


def near(one: Experience, others: Sequence[Experience]) -> list[Experience]:
    """Results of the same method that an outlook's range rests on."""
    same = [each for each in others if each.method == one.method]
    return [each for each in same if nearness(one.facts, each.facts, one.use) > NEAR_ENOUGH] or same


def main() -> None:
    lines = [
        "| use | places | adviser's regret | always the same method | forecast held |",
        "| --- | --- | --- | --- | --- |",
    ]
    for use in USES:
        found = check(use)
        if not found["places"]:
            lines.append(f"| {use} | 0 | | | |")
            continue
        fixed = {name: values for name, values in found["fixed"].items() if len(values) >= 0.5 * found["places"]}
        others = ", ".join(
            f"{name} {statistics.fmean(values):.3f} ({len(values)})"
            for name, values in sorted(fixed.items(), key=lambda pair: statistics.fmean(pair[1]))
        )
        lines.append(
            f"| {use} | {found['places']} | {statistics.fmean(found['regret']):.3f} | {others} | "
            f"{sum(found['inside'])} of {len(found['inside'])} |"
        )
    lines += [
        "",
        "| measure | results | outside by, nine in ten | margin | stated range held |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, margin in MEASURE_MARGINS.items():
        away = outside(name)
        inside = sum(one <= margin for one in away)
        nine = away[math.ceil(0.9 * len(away)) - 1]
        lines.append(f"| {name} | {len(away)} | {nine:.3f} | {margin:g} | {inside} of {len(away)} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
