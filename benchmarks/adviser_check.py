"""Does the adviser advise well? Each table is left out in turn and its results are forecast from the others.

    python -m benchmarks.adviser_check

For every use and every place (a table at a budget) where at least two methods ran: what the recommended method kept there against
the best one (regret), beside what always taking the same method would have cost at the places where that one ran. Then, for every
figure that is forecast: how far results of a table left out lay outside the range of near tables, nine times in ten, and how
often they lie inside the range that is stated; of all methods' results, and of those of the recommended one. `margins` is what
`python -m benchmarks adviser` writes beside the results. As they are set on the tables on which they are checked, the last column
sets them without the table that is looked at. Written as tables for docs/adviser.md.
"""

import math
import statistics
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from understudy.adviser.advice import NEAR, recommend
from understudy.adviser.experience import (
    FORECAST,
    LIMITS,
    UNIT,
    USES,
    Experience,
    by_table,
    nearness,
    outlooks,
    ranked,
    shipped,
    shipped_margins,
    value,
)

HELD = 0.9  # of the results of tables left out have to lie inside the ranges


def places(known: Sequence[Experience]) -> dict[tuple[str, float], dict[str, Experience]]:
    """Methods by place."""
    found: dict[tuple[str, float], dict[str, Experience]] = {}
    for one in known:
        found.setdefault(one.place, {})[one.method] = one
    return found


def check(use: str) -> dict[str, Any]:
    """Regrets of one use, where there is a choice."""
    known = [one for one in shipped() if one.use == use]
    own: list[float] = []
    fixed: dict[str, list[float]] = {}
    for methods in places(known).values():
        if len(methods) < 2:
            continue
        best = max(one.kept for one in methods.values())
        some = next(iter(methods.values()))
        chosen = recommend(some.facts, [one for one in known if one.table != some.table], tuple(methods))
        if chosen is not None:
            own.append(best - methods[chosen.method].kept)
            for name, one in methods.items():
                fixed.setdefault(name, []).append(best - one.kept)
    return {"places": len(own), "regret": own, "fixed": fixed}


class Missed(NamedTuple):
    """One figure of one result whose table was left out."""

    table: str
    recommended: bool  # of the method that the others recommend there
    away: float  # how far outside the range of near tables, before that is widened
    width: float  # of the range, not widened


def left_out(known: Sequence[Experience], use: str) -> dict[str, list[Missed]]:
    """By figure, all results that would be forecast."""
    found: dict[str, list[Missed]] = {name: [] for name in FORECAST[use]}
    every = [one for one in known if one.use == use]
    bare = {use: dict.fromkeys(FORECAST[use], 0.0)}
    for methods in places(every).values():
        some = next(iter(methods.values()))
        others = [one for one in every if one.table != some.table]
        weights = [nearness(some.facts, one.facts, use) for one in others]
        if sum(by_table(others, weights).values()) < NEAR:
            continue  # there a rule of thumb is given, and no range
        first = next(iter(ranked(others, weights)), None)
        for outlook in outlooks(others, weights, bare):
            ranges = {"kept": (outlook.lowest, outlook.highest)} | dict(outlook.measures)
            for name, (low, high) in ranges.items():
                seen = value(methods[outlook.method], name) if outlook.method in methods else None
                if seen is not None:
                    chosen = first is not None and first.method == outlook.method
                    found[name].append(Missed(some.table, chosen, max(low - seen, seen - high, 0.0), high - low))
    return found


def margin(missed: Sequence[Missed]) -> float | None:
    """The least that holds for nine in ten of all results and of those of the recommended method; None where there are none."""
    found = []
    for some in (missed, [one for one in missed if one.recommended]):
        if some:
            found.append(sorted(one.away for one in some)[math.ceil(HELD * len(some)) - 1])
    return math.ceil(max(found) * 100 - 1e-9) / 100 if found else None


def margins(known: Sequence[Experience]) -> dict[str, dict[str, float]]:
    """By use and figure, what ranges have to be widened by."""
    found: dict[str, dict[str, float]] = {}
    for use in USES:
        for name, missed in left_out(known, use).items():
            if (needed := margin(missed)) is not None:
                found.setdefault(use, {})[name] = needed
    return found


def nested(missed: Sequence[Missed]) -> int:
    """How many lie inside a range whose margin was set without any result of their table."""
    inside = 0
    for table in {one.table for one in missed}:
        without = margin([one for one in missed if one.table != table])
        inside += sum(one.table == table and without is not None and one.away <= without for one in missed)
    return inside


def regrets() -> list[str]:
    lines = ["| use | places | adviser's regret | always the same method |", "| --- | --- | --- | --- |"]
    for use in USES:
        found = check(use)
        if not found["places"]:
            lines.append(f"| {use} | 0 | | |")
            continue
        fixed = {name: values for name, values in found["fixed"].items() if len(values) >= 0.5 * found["places"]}
        others = ", ".join(
            f"{name} {statistics.fmean(values):.3f} ({len(values)})"
            for name, values in sorted(fixed.items(), key=lambda pair: statistics.fmean(pair[1]))
        )
        lines.append(f"| {use} | {found['places']} | {statistics.fmean(found['regret']):.3f} | {others} |")
    return lines


def ranges() -> list[str]:
    lines = [
        "| use | figure | margin | width, median | stated range held | of the recommended one | margin set without the table |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for use in USES:
        for name, missed in left_out(shipped(), use).items():
            needed = shipped_margins().get(use, {}).get(name)
            if needed is None:
                continue
            least, most = LIMITS.get(name, UNIT)
            chosen = [one for one in missed if one.recommended]
            width = statistics.median(min(most - least, one.width + 2 * needed) for one in chosen or missed)
            held = [f"{sum(one.away <= needed for one in some)} of {len(some)}" for some in (missed, chosen)]
            lines.append(
                f"| {use} | {name} | {needed:g} | {width:.2f} | {held[0]} | {held[1]} | {nested(missed)} of {len(missed)} |"
            )
    return lines


def main() -> None:
    sys.stdout.write("\n".join([*regrets(), "", *ranges()]) + "\n")


if __name__ == "__main__":
    main()
