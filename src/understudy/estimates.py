"""Bounds and categories that the schema leaves open: what they cost, what will be found, and what was found.

An estimate is one paid question (`questions/bounds.py`, `questions/categories.py`). All of them together take the share
0.1 sqrt(n) of the squared privacy loss, n their number, so that the noise of one grows with n^(1/4) rather than sqrt(n). What a
question can see follows from its noise alone: a range needs so many values, a category so many units. Both are public,
so `plan` and the adviser can say before a row is read which columns a table of N rows would lose; N rows are taken for
as few units as they can be of, each with as many rows as count of one. Columns that share an
estimate (`{estimate: NAME}`) add up their counts and their noise alike: with Gaussian noise sharing gains only where the
columns hold the same values, which nothing public says, so columns are asked one by one unless the schema says otherwise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import dp_accounting as dpa

from understudy.errors import UsageError
from understudy.questions import ColumnBounds, ColumnCategories
from understudy.questions.bounds import nothing
from understudy.released import Released
from understudy.schema import Column, Schema
from understudy.schema.columns import NUMERIC, OTHER
from understudy.schema.estimates import usable_bounds

THRESHOLD_DELTA = 0.1  # share of delta that private categories may use, all together
ONE, MOST = 0.1, 0.45  # shares of the squared loss: of one estimate, and of all together at most
LIST_WEIGHT = 2.0  # of a list of categories against a pair of bounds: each category must stand out by itself
COMMON = 0.2  # a category held by this share of the units should be found, or the list is of little use
NAMED = 8  # columns that a sentence names
LONG = 40  # characters of a category that a sentence shows


def share(wanted: float | None, schema: Schema) -> float:
    """The share of the squared loss that estimates are paid from; `wanted` is the user's own."""
    count = len(schema.estimates)
    if wanted is None:
        return min(ONE * math.sqrt(count), MOST)
    if count and not 0.0 < wanted < 0.8:
        raise UsageError(
            f"estimate_share={wanted} must lie between 0 and 0.8: the schema's estimates are paid from "
            "it, and the rest must be left to learn from"
        )
    return wanted


def weights(schema: Schema, total: float) -> dict[str, float]:
    """The share of every group of estimates."""
    asked = {g: LIST_WEIGHT if columns[0].kind == "categorical" else 1.0 for g, columns in schema.estimates.items()}
    return {group: total * weight / sum(asked.values()) for group, weight in asked.items()}


def question(schema: Schema, group: str, delta: float, z: float) -> ColumnBounds | ColumnCategories:
    """The question that finds one group's bounds or categories, with noise multiplier `z`."""
    columns, rows = schema.estimates[group], schema.max_rows_per_unit
    names = tuple(column.name for column in columns)
    if columns[0].kind == "categorical":
        lists = sum(members[0].kind == "categorical" for members in schema.estimates.values())
        return ColumnCategories(names, z, THRESHOLD_DELTA * delta / lists, rows)
    whole = all(column.kind == "integer" for column in columns)
    return ColumnBounds(names, z, rows, datetimes=columns[0].kind == "datetime", whole=whole)


def event(schema: Schema, group: str, delta: float, z: float) -> dpa.DpEvent:
    """The price of `question`."""
    return question(schema, group, delta, z).event


# -- before the fit: what will be found ----------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class Prospect:
    """What one column's estimate can see. `rows_needed`: from how many rows on it is of use."""

    column: str
    kind: str  # "bounds" or "categories"
    seen_from: float  # values of a column, or units that hold a category
    rows_needed: float
    rows_per_unit: int  # at most

    def found(self, rows: int) -> bool:
        """Whether anything of the column is found in a table of `rows` rows."""
        return rows >= self.rows_needed if self.kind == "bounds" else rows / self.rows_per_unit >= 2.0 * self.seen_from

    def kept(self, rows: int) -> float:
        """About which share of the column a table of `rows` rows keeps: a rough guide for the adviser.

        Bounds that are not found leave a constant, and tails are clamped on the way there. Of a list whose k-th value is held by
        half as many units as the one before, values down to `seen_from` units are kept.
        """
        if self.kind == "bounds":
            return min(1.0, rows / self.rows_needed)
        return 1.0 - self.seen_from * self.rows_per_unit / rows if self.found(rows) else 0.0


def prospects(schema: Schema, delta: float, noise: Mapping[str, float]) -> list[Prospect]:
    """For every column that is estimated. `noise` has the multiplier of every purpose."""
    found, each = [], schema.max_rows_per_unit
    for group, columns in schema.estimates.items():
        asked = question(schema, group, delta, noise[f"estimate {group}"])
        bounds = isinstance(asked, ColumnBounds)
        seen = asked.needed if isinstance(asked, ColumnBounds) else float(asked.threshold)
        needed = seen if bounds else seen / COMMON * each
        kind = "bounds" if bounds else "categories"
        found += [
            Prospect(column=c.name, kind=kind, seen_from=seen, rows_needed=needed, rows_per_unit=each) for c in columns
        ]
    return found


@dataclass(frozen=True, kw_only=True)
class Toll:
    """What a schema's estimates take from a fit, for the adviser: from public facts, and roughly."""

    count: int  # columns that are estimated
    learning: float  # share of the squared loss that is left to learn from
    rows_needed: int  # from how many rows on they are of use
    lost: tuple[str, ...]  # columns that would not be found; empty where the number of rows is not known
    kept: float  # about which share of the table's columns, and of the label, is kept
    most: float  # the same, if rare categories do not matter


def toll(schema: Schema, mu: float, delta: float, rows: int | None) -> Toll:
    """The toll at the Gaussian parameter `mu` of the whole budget; the rest of a plan has weight 1, as methods weigh it."""
    total = share(None, schema)
    factor = math.sqrt(1.0 + total) / mu
    parts = weights(schema, total)
    known = prospects(schema, delta, {f"estimate {group}": factor / math.sqrt(w) for group, w in parts.items()})
    needed = math.ceil(max((one.rows_needed for one in known), default=0))
    if rows is None:
        return Toll(count=len(known), learning=1 / (1 + total), rows_needed=needed, lost=(), kept=1.0, most=1.0)
    lost = tuple(one.column for one in known if not one.found(rows))
    columns = [column.name for column in schema.columns if column.kind != "identifier" and column.name != schema.label]

    def whole(shares: Mapping[str, float]) -> float:
        features = [shares.get(name, 1.0) for name in columns]
        mean = sum(features) / len(features) if features else 1.0  # a label alone loses nothing but itself
        return mean * shares.get(schema.label or "", 1.0)

    return Toll(
        count=len(known),
        learning=1 / (1 + total),
        rows_needed=needed,
        lost=lost,
        kept=whole({one.column: one.kept(rows) for one in known}),
        most=whole({one.column: float(one.found(rows)) for one in known}),
    )


def notes(schema: Schema, delta: float, noise: Mapping[str, float], rows: int | None) -> list[str]:
    """What the plan says about its estimates: what will not be found, and what to declare instead."""
    known = prospects(schema, delta, noise)
    if not known:
        return []
    bounds = [one for one in known if one.kind == "bounds"]
    lists = [one for one in known if one.kind == "categories"]
    said = []
    if bounds:
        said.append(
            f"estimated bounds need about {max(one.rows_needed for one in bounds):,.0f} values of a column and clamp what lies "
            "beyond; bounds that you know are better and free"
        )
    if lists:
        seen = max(one.seen_from for one in lists)
        said.append(
            f"estimated categories are seen from about {seen:,.0f} {_part(schema, seen, rows)} on, rarer ones are lost; a list "
            "that you know is better and free"
        )
        mixed = [one.name for one in (schema.column(each.column) for each in lists) if not (one.other or one.missing)]
        if mixed:
            said.append(
                f"MIXED UP: rarer values of {_names(mixed)} would count as the first category that is found; `other: true` keeps "
                "them apart"
            )
    if rows is None:
        needed = max(one.rows_needed for one in known)
        return [*said, f"{_count(len(known))} estimated, which is of use from about {needed:,.0f} rows on"]
    lost = [one.column for one in (*bounds, *lists) if not one.found(rows)]
    poor = [one.column for one in lists if one.found(rows) and one.rows_needed > rows]
    if lost:
        said.append(
            f"NOT FOUND in {rows:,} rows at this budget, so constant: {_names(lost)}; declare them in the schema"
        )
    if poor:
        said.append(f"only the commonest values are found in {rows:,} rows of: {_names(poor)}; declare their lists")
    return said


def _part(schema: Schema, seen: float, rows: int | None) -> str:
    """Who must hold a category, and which part of a table of `rows` rows that is."""
    who, each = ("rows" if schema.unit is None else "units"), schema.max_rows_per_unit
    if not rows or seen * each >= rows:
        return who
    if each == 1:
        return f"{who} ({_share(seen / rows)} of {rows:,} rows)"
    return f"units ({_share(seen * each / rows)} of the {rows / each:,.0f} that {rows:,} rows are with {each} each)"


def _share(part: float) -> str:
    """A percentage with as many digits as a small one needs."""
    return f"{part:.0%}" if part >= 0.01 else f"{100.0 * part:.1g}%"


# -- after the fit: what was found ---------------------------------------------------------------------------------------
def found(schema: Schema, resolved: Schema, tables: Sequence[Released] = ()) -> list[str]:
    """What was estimated, in words, from released values: columns that were lost first. `tables` are released counts."""
    estimated = [column for columns in schema.estimates.values() for column in columns]
    pairs = [(column, resolved.column(column.name)) for column in estimated]
    unseen = [column.name for column, now in pairs if column.kind in NUMERIC and not _was_found(column, now)]
    single = [now.name for column, now in pairs if column.kind not in NUMERIC and len(now.categories or ()) < 2]
    said = []
    if unseen:
        said.append(
            f"NOT FOUND: the bounds of {_names(unseen)}; {'it was' if len(unseen) == 1 else 'they were'} set to a stand-in, "
            f"and values were clamped to it ({_ranges(resolved, unseen)})"
        )
    if single:
        became = ", ".join(f"{name} {_rest(resolved.column(name))}" for name in single[:NAMED]) + _more(len(single))
        said.append(
            f"LOST: the categories of {_names(single)}; at most one was found, and all other values became: {became}; declare "
            "the lists that you know, they are free"
        )
    ranges = [column.name for column, _ in pairs if column.kind in NUMERIC and column.name not in unseen]
    if ranges:
        said.append(f"estimated bounds: {_ranges(resolved, ranges)}")
    lists = [now for column, now in pairs if column.kind not in NUMERIC and now.name not in single]
    if lists:
        counts = ", ".join(
            f"{now.name} {len(now.categories or ())} (any other became {_rest(now)}{_so_many(now, tables)})"
            for now in lists[:NAMED]
        )
        said.append(f"estimated categories: {counts}{_more(len(lists))}")
    grids = [
        now for column, now in zip(schema.columns, resolved.columns, strict=True) if now.decimals != column.decimals
    ]
    if grids:
        shown = ", ".join(f"{now.name} {now.decimals}" for now in grids[:NAMED])
        said.append(f"decimals found, to which numbers are rounded: {shown}{_more(len(grids))}")
    return said


def lost(schema: Schema, resolved: Schema) -> list[str]:
    """Names of the columns whose estimate found nothing, or one category only."""
    pairs = [(column, resolved.column(column.name)) for columns in schema.estimates.values() for column in columns]
    return [
        now.name
        for column, now in pairs
        if (not _was_found(column, now) if column.kind in NUMERIC else len(now.categories or ()) < 2)
    ]


def _rest(now: Column) -> str:
    """What values without a category of their own became, see docs/schema.md."""
    if now.other or now.missing:
        return repr(OTHER) if now.other else "missing"
    first = str((now.categories or ("",))[0])
    return repr(first if len(first) <= LONG else first[:LONG] + "...")


def _so_many(now: Column, tables: Sequence[Released]) -> str:
    """How many rows have what others became, as far as it was released: with those that had it before."""
    value = OTHER if now.other else None if now.missing else (now.categories or ("",))[0]
    for one in tables:
        if one.columns == (now.name,) and one.cells and (value,) in one.cells[0]:
            count, total = float(one.values[one.cells[0].index((value,))]), max(float(one.values.sum()), 1.0)
            kept = "" if now.other or now.missing else "; `other: true` keeps them apart"
            share = min(max(count / total, 0.0), 1.0)
            return f", which {share:.0%} of the {'people' if one.people else 'rows'} have now{kept}"
    return ""


def _was_found(column: Column, now: Column) -> bool:
    asked = ColumnBounds((column.name,), 1.0, 1, datetimes=column.kind == "datetime", whole=column.kind == "integer")
    return (now.lower, now.upper) != tuple(usable_bounds(column, *nothing(asked.edges)))


def _ranges(resolved: Schema, names: Sequence[str]) -> str:
    shown = [resolved.column(name) for name in names[:NAMED]]
    return "; ".join(f"{c.name} {_short(c.lower)} to {_short(c.upper)}" for c in shown) + _more(len(names))


def _short(bound: object) -> str:
    return f"{bound:.4g}" if isinstance(bound, float) else str(bound)


def _names(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + _more(len(names))


def _more(count: int) -> str:
    return f" and {count - NAMED} more" if count > NAMED else ""


def _count(number: int) -> str:
    return "one column is" if number == 1 else f"{number} columns are"
