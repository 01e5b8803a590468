"""Rows made to keep the constraints.

`mended` changes rows that break a constraint, as little as it can: the consequence of an implication first, numbers put in
order, the combination that agrees with most columns, the total of a sum. What a few rounds of that do not mend takes the values
of a witness (`search`) or those that a search from the row's own values on finds, in the columns of the broken constraints and of
those joined with them.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from understudy.schema.columns import Column
from understudy.schema.conditions import Allowed
from understudy.schema.constraints import (
    Check,
    Combination,
    Either,
    Numbers,
    Rising,
    Rule,
    Table,
    Total,
    any_broken,
    columns_of,
    count_rows,
)
from understudy.schema.search import TRIES, Row, candidates, components, search
from understudy.schema.values import quantum

ROUNDS = 8  # of mending, before the witness's values are taken


def table_of(row: Row) -> dict[str, Numbers]:
    """One row as a table."""
    return {name: Numbers(np.asarray([value]), np.asarray([null])) for name, (value, null) in row.items()}


def with_totals(
    rows: Table, checks: Sequence[Check], kept: Mapping[str, np.ndarray] | None = None
) -> dict[str, Numbers]:
    """The totals of sums replaced by what their parts add up to, where that lies within the total's bounds and the total is
    not `kept`.
    """
    found = dict(rows)
    for check in checks:
        if isinstance(check, Total):
            column = check.columns[0]
            sums, null = check.sums(found)
            lower, upper = column.bounds
            fits = (sums >= lower) & (sums <= upper) & ~null
            if kept is not None and column.name in kept:
                fits &= ~kept[column.name]
            own = found[column.name]
            found[column.name] = Numbers(np.where(fits, sums, own.values), own.null)
    return found


def mended(rows: Table, checks: Sequence[Check], kept: Mapping[str, np.ndarray], row: Row | None) -> dict[str, Numbers]:
    """Rows that keep all constraints; `kept` says which values must not change, and `row` is a witness if one is known.

    Rows whose kept values break a constraint by themselves stay broken.
    """
    size = count_rows(rows)
    free = {name: ~kept[name] if name in kept else np.ones(size, bool) for name in rows}
    found = {name: Numbers(own.values.copy(), own.null.copy()) for name, own in rows.items()}
    for turn in range(ROUNDS):
        if not any_broken(checks, found).any():
            return found
        for check in checks:
            _mend(found, check, free, check.broken(found), turn)
    for part in components(checks):
        names = [column.name for column in columns_of(part)]
        for place in np.flatnonzero(any_broken(part, found)).tolist():
            own = {name: (float(found[name].values[place]), bool(found[name].null[place])) for name in names}
            fixed = {name: own[name] for name in names if not free[name][place]}
            for name, (value, null) in _instead(own, fixed, part, row).items():
                found[name].values[place], found[name].null[place] = value, null
    return found


def _instead(own: Row, fixed: Row, checks: Sequence[Check], row: Row | None) -> Row:
    """What is found to go with values that must not change: the row's own values as far as a short search keeps them, then the
    witness's."""
    found = search(checks, fixed, own, TRIES // 100).row
    if found is None and row is not None:
        fallback = {name: row[name] for name in own} | fixed
        found = None if any_broken(checks, table_of(fallback))[0] else fallback
    return found or search(checks, fixed, tries=TRIES // 4).row or own


Free = Mapping[str, np.ndarray]


def _mend(rows: dict[str, Numbers], check: Check, free: Free, broken: np.ndarray, turn: int) -> None:
    """One step towards keeping a constraint in the rows that break it."""
    if not broken.any():
        return
    if isinstance(check, Rule):
        _mend_rule(rows, check, free, broken)
    elif isinstance(check, Either):
        _mend_either(rows, check, free, broken)
    elif isinstance(check, Rising):
        _mend_order(rows, check, free, broken)
    elif isinstance(check, Combination):
        _mend_combination(rows, check, free, broken)
    elif isinstance(check, Total):
        _mend_total(rows, check, free, broken, total_first=turn % 2 == 0)


def _mend_rule(rows: dict[str, Numbers], check: Rule, free: Free, broken: np.ndarray) -> None:
    """Make the consequence hold where its columns may change; else let the last condition not hold."""
    then = broken & bool(check.then)
    for one in check.then:
        then &= free[one.column.name] | one.holds(*rows[one.column.name])
    for one in check.then:
        _set(rows, one.column, then & ~one.holds(*rows[one.column.name]), *_into(one, rows[one.column.name]))
    left = broken & ~then
    for one in reversed(check.when):
        own = left & free[one.column.name]
        values = rows[one.column.name]
        outside = [c for c in candidates(one.column, [Rule((one,))]) if not _fits(one, c)]
        if outside and own.any():
            numbers, null = np.asarray([c[0] for c in outside]), np.asarray([c[1] for c in outside])
            gaps = np.where(values.null[:, None] | null, 0.0, np.abs(values.values[:, None] - numbers))
            gaps += 1e12 * (values.null[:, None] != null) + 1e9 * (values.null[:, None] & null)
            best = gaps.argmin(axis=1)
            _set(rows, one.column, own, numbers[best], null[best])
            left = left & ~own


def _mend_either(rows: dict[str, Numbers], check: Either, free: Free, broken: np.ndarray) -> None:
    """Into the box of which most conditions hold already."""
    missed = np.zeros((len(check.boxes), len(broken)))
    for place, box in enumerate(check.boxes):
        for one in box:
            missed[place] += ~one.holds(*rows[one.column.name])
    nearest = missed.argmin(axis=0)
    for place, box in enumerate(check.boxes):
        _mend_rule(rows, Rule((), box), free, broken & (nearest == place))


def _mend_order(rows: dict[str, Numbers], check: Rising, free: Free, broken: np.ndarray) -> None:
    """Sorted, where all values may change; otherwise raised to what stands before and lowered to what stands after."""
    names = [column.name for column in check.columns]
    loose = broken & np.logical_and.reduce([free[name] & ~rows[name].null for name in names])
    ordered = np.sort([rows[name].values for name in names], axis=0)
    for column, values in zip(check.columns, ordered, strict=True):
        _set(rows, column, loose, values, rows[column.name].null)
    for columns, limit in ((check.columns, np.maximum), (check.columns[::-1], np.minimum)):
        reached = rows[columns[0].name].values
        for column in columns[1:]:
            own = rows[column.name]
            _set(rows, column, broken & ~loose & free[column.name] & ~own.null, limit(own.values, reached), own.null)
            reached = np.where(own.null, reached, rows[column.name].values)


def _mend_combination(rows: dict[str, Numbers], check: Combination, free: Free, broken: np.ndarray) -> None:
    """The combination that agrees with most columns, and with all that must not change."""
    numbers = np.asarray(check.numbers)
    score = np.zeros((len(broken), len(numbers)))
    for place, column in enumerate(check.columns):
        values, null = rows[column.name]
        agrees = (values[:, None] == numbers[:, place]) & ~null[:, None]
        score += agrees * np.where(free[column.name], 1.0 + 1e-3 * (len(check.columns) - place), 1e6)[:, None]
    best = numbers[score.argmax(axis=1)]
    for place, column in enumerate(check.columns):
        own = broken & free[column.name] & ~rows[column.name].null
        _set(rows, column, own, best[:, place], np.zeros(len(own), bool))


def _mend_total(rows: dict[str, Numbers], check: Total, free: Free, broken: np.ndarray, *, total_first: bool) -> None:
    """The total from its parts, or the parts moved so that they add up to it: those of coarse steps first."""
    total, parts = check.columns[0], sorted(check.columns[1:], key=quantum, reverse=True)
    lower, upper = total.bounds
    own = rows[total.name]
    sums = check.sums(rows).values
    fits = broken & free[total.name] & (sums >= lower) & (sums <= upper) & total_first
    _set(rows, total, fits, sums, own.null)
    over = check.sums(rows).values - rows[total.name].values
    for column in parts:
        before, move = rows[column.name].values, broken & ~fits & free[column.name]
        _set(rows, column, move, before - over, rows[column.name].null)
        over = over - (before - rows[column.name].values)


def _set(
    rows: dict[str, Numbers], column: Column, where: np.ndarray, values: np.ndarray, null: np.ndarray | np.bool_
) -> None:
    """Values of some rows, rounded to those that the column can have."""
    if column.kind not in ("categorical", "boolean"):
        lower, upper = column.bounds
        step = quantum(column)
        near = np.clip(lower + step * np.rint((values - lower) / step) if step else values, lower, upper)
        values = np.where(null, values, near)
    own = rows[column.name]
    rows[column.name] = Numbers(np.where(where, values, own.values), np.where(where, null, own.null))


def _fits(one: Allowed, value: tuple[float, bool]) -> bool:
    return bool(one.holds(np.asarray([value[0]]), np.asarray([value[1]]))[0])


def _into(one: Allowed, own: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """The nearest values that a condition allows."""
    size = len(own.null)
    if one.numeric:
        if one.ranges:
            return one.nearest(np.where(own.null, one.column.bounds[0], own.values)), np.zeros(size, bool)
        return np.full(size, float(one.specials[0])), np.ones(size, bool)
    places = np.asarray([place for place, outcome in enumerate(one.column.outcomes) if outcome in one.outcomes])
    best = places[np.abs(own.values[:, None] - places).argmin(axis=1)]
    return best.astype(float), np.asarray([outcome is None for outcome in one.column.outcomes])[best]
