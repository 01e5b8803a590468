"""A row that keeps all constraints, or what speaks against there being one.

For every column the values are tried at which some constraint changes its answer (ends of ranges, listed values, one value that
is not named, missing, codes), and for the last part of a sum what is left over. With orders, implications and combinations these
values suffice: if any row keeps all constraints, moving each number down to the nearest such value keeps them too.

Columns that no constraint joins are looked at apart. Of the others the one with fewest values left comes next, and where a column
has none left, the search goes back to a column that is to blame for it (Prosser's conflict-directed backjumping with forward
checking): columns that have nothing to do with a dead end are not tried again and again. What it has met when it ends is a set of
constraints that contradict each other. It ends in one of three ways, and running out of tries is no contradiction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from understudy.errors import UsageError
from understudy.schema.columns import Column
from understudy.schema.conditions import Allowed
from understudy.schema.constraints import (
    Check,
    Combination,
    Either,
    Numbers,
    Rising,
    Rule,
    Total,
    any_broken,
    columns_of,
)
from understudy.schema.values import quantum

TRIES = 20_000  # values that the search looks at, in each set of columns that constraints join; some seconds
SHRUNK = 12  # constraints against each other of which as many as can be are left out, one at a time
SHOWN = 12  # constraints and columns that a message names

Row = dict[str, tuple[float, bool]]  # a number or position of each column, and whether it is missing


class Found(NamedTuple):
    """A row; or none, and the constraints that rule it out; or neither, since the tries ran out."""

    row: Row | None
    against: tuple[Check, ...] = ()


class Contradiction(UsageError):
    """Constraints of which is proven that no row keeps all."""

    def __init__(self, against: Sequence[Check], among: Sequence[Check]) -> None:
        self.numbers = sorted(among.index(check) + 1 for check in against)
        names = listed([repr(column.name) for column in columns_of(against)], ", ")
        which = listed(self.numbers)
        one = len(self.numbers) == 1
        super().__init__(
            f"constraint{'s' * (not one)} {which} (on {names}): no row can keep {'it' if one else 'all of them'}; "
            f"{'it contradicts' if one else 'they contradict each other, or'} the bounds and categories of "
            f"{'its' if one else 'their'} columns"
        )


def listed(things: Sequence[object], last: str = " and ") -> str:
    """A, B and C, of many the first few."""
    texts = [str(one) for one in things]
    if len(texts) > SHOWN:
        return f"{', '.join(texts[:SHOWN])} and {len(texts) - SHOWN:,} more"
    return last.join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def witness(checks: Sequence[Check], tries: int = TRIES) -> Row | None:
    """A row that keeps all constraints, of the columns that they speak of; None if none was found in so many tries.

    Contradiction, with few of the constraints, if there is none.
    """
    row: Row | None = {}
    for part in components(checks):
        found = search(part, tries=tries)
        if found.against:
            raise Contradiction(_fewest(found.against), checks)
        row = None if row is None or found.row is None else row | found.row
    return row


def _fewest(against: tuple[Check, ...]) -> tuple[Check, ...]:
    """Some of these that contradict each other without the rest, if that is quickly found."""
    for one in against if len(against) <= SHRUNK else ():
        less = tuple(check for check in against if check is not one)
        found = [search(part, tries=TRIES // 20).against for part in components(less)]
        if any(found):
            return _fewest(next(own for own in found if own))
    return against


def components(checks: Sequence[Check]) -> list[list[Check]]:
    """Constraints that have columns in common, directly or by others, together."""
    found: list[tuple[set[str], list[Check]]] = []
    for check in checks:
        names, own = {column.name for column in check.columns}, [check]
        apart = []
        for other_names, others in found:
            if names & other_names:
                names, own = names | other_names, others + own
            else:
                apart.append((other_names, others))
        found = [*apart, (names, own)]
    return [own for _, own in found]


def candidates(column: Column, checks: Sequence[Check]) -> list[tuple[float, bool]]:
    """Values of one column that stand for all of them."""
    if column.kind in ("categorical", "boolean"):
        gap = len(column.outcomes) - 1 if column.missing else -1
        return [(float(place), place == gap) for place in range(len(column.outcomes))]
    lower, upper = column.bounds
    near, reached = [column], {column.name}
    for one in near:  # an order or a sum carries ends of one column to another
        for check in checks:
            if isinstance(check, Rising | Total) and any(other.name == one.name for other in check.columns):
                near += [other for other in check.columns if other.name not in reached]
                reached |= {other.name for other in check.columns}
    ends = {end for one in near for end in one.bounds}
    for check in checks:
        for allowed in conditions_of(check):
            if allowed.column.name in reached:
                step = quantum(allowed.column)  # just outside of a range, a condition does not hold
                ends |= {end for a, b in allowed.ranges for end in (a, b, _beside(a, -1, step), _beside(b, 1, step))}
        if isinstance(check, Combination):
            for place, own in enumerate(check.columns):
                if own.name in reached:
                    ends |= {row[place] for row in check.numbers}
                    ends |= {_beside(row[place], 1, quantum(own)) for row in check.numbers}
    for one in near:
        base, step = one.bounds[0], quantum(one)
        if step:  # values between two that the column can have, moved to both
            ends |= {base + step * whole for end in ends for whole in _around((end - base) / step)}
    step = quantum(column)
    fits = {end for end in ends if lower <= end <= upper and (not step or _whole((end - lower) / step))}
    return [*((number, False) for number in sorted(fits)), *((float(k), True) for k in range(len(column.specials)))]


def _around(steps: float) -> tuple[float, ...]:
    return (float(np.rint(steps)),) if _whole(steps) else (float(np.floor(steps)), float(np.ceil(steps)))


def _whole(steps: float) -> bool:
    return bool(abs(steps - np.rint(steps)) < 1e-6)


def conditions_of(check: Check) -> tuple[Allowed, ...]:
    """Conditions on single columns that a constraint is made of."""
    if isinstance(check, Rule):
        return (*check.when, *check.then)
    return tuple(one for box in check.boxes for one in box) if isinstance(check, Either) else ()


def _beside(end: float, sign: int, step: float) -> float:
    return end + sign * step if step else float(np.nextafter(end, sign * np.inf))


def search(checks: Sequence[Check], fixed: Mapping[str, tuple[float, bool]] | None = None, own: Row | None = None,
           tries: int = TRIES) -> Found:  # fmt: skip
    """Values of all columns that keep the constraints together with the fixed ones, tried from `own` values on."""
    known = dict(fixed or {})
    late: list[str | None] = [None]
    settled, found = True, list[Check]()
    for last in late:  # what a sum leaves over is known for the column that comes last: each of its columns in turn
        one = _Search(checks, known, own or {}, tries, last)
        try:
            against = one.run()
        except (_OutOfTries, RecursionError):  # hundreds of columns that one constraint joins
            settled = False
            continue
        if against is None:
            return Found(one.row)
        if not against:
            return Found(None)
        if last is None:
            sums = [check for check in against if isinstance(check, Total)]
            late += [column.name for check in sums for column in check.columns if column.name not in known]
            settled = not sums or _one_sum(sums, against)
            found = against
    return Found(None, tuple(found)) if settled else Found(None)


def _one_sum(sums: Sequence[Total], against: Sequence[Check]) -> bool:
    """Whether the ends of ranges and what is left over suffice: a single sum, of columns of one step that no order joins."""
    names = {column.name for column in sums[0].columns}
    orders = [check for check in against if isinstance(check, Rising)]
    joined = any(column.name in names for check in orders for column in check.columns)
    return len(sums) == 1 and not joined and len({quantum(column) for column in sums[0].columns}) == 1


class _OutOfTries(Exception):
    """The search has looked at as many values as it may."""


@dataclass(frozen=True)
class _Part:
    """A piece of a constraint, which follows from it, and the constraint."""

    check: Check
    names: frozenset[str]
    whole: Check


def _parts(check: Check) -> list[_Part]:
    """Smaller pieces rule values out earlier: pairs of an order and of combinations, each consequence by itself."""
    pieces: list[Check] = [check]
    if isinstance(check, Rising):
        pieces = [Rising(pair) for pair in combinations(check.columns, 2)]
    elif isinstance(check, Rule) and check.then:
        pieces = [Rule(check.when, (one,)) for one in check.then]
    elif isinstance(check, Combination) and len(check.columns) > 2:
        for a, b in combinations(range(len(check.columns)), 2):
            pairs = tuple(dict.fromkeys((row[a], row[b]) for row in check.numbers))
            pieces.append(Combination((check.columns[a], check.columns[b]), pairs))
    return [_Part(piece, frozenset(column.name for column in piece.columns), check) for piece in pieces]


class _Blame(NamedTuple):
    """Why values of a column are gone: chosen columns, and constraints."""

    names: frozenset[str] = frozenset()
    checks: tuple[Check, ...] = ()

    def __or__(self, other: "_Blame") -> "_Blame":
        more = tuple(one for one in other.checks if not any(one is own for own in self.checks))
        return _Blame(self.names | other.names, self.checks + more)


class _Search:
    def __init__(self, checks: Sequence[Check], fixed: Row, own: Row, tries: int, last: str | None) -> None:
        self.parts = [part for check in checks for part in _parts(check)]
        self.columns = {column.name: column for column in columns_of(checks)}
        self.row: Row = {name: fixed[name] for name in self.columns if name in fixed}
        self.left, self.last = tries, last
        self.tables: dict[int, np.ndarray] = {}
        self.by_name = {name: [part for part in self.parts if name in part.names] for name in self.columns}
        self.live: dict[str, Numbers] = {}
        for name, column in self.columns.items():
            if name not in self.row:
                values = candidates(column, checks)
                values = [own[name], *(value for value in values if value != own[name])] if name in own else values
                self.live[name] = Numbers(np.asarray([v for v, _ in values], float), np.asarray([n for _, n in values]))

    def run(self) -> list[Check] | None:
        """None where `row` is found; else the constraints against it, none of them where fixed values break one."""
        done = [part for part in self.parts if part.names <= self.row.keys()]
        table = {name: Numbers(np.asarray([value]), np.asarray([null])) for name, (value, null) in self.row.items()}
        if done and any_broken([part.check for part in done], table)[0]:
            return []
        live, why = dict(self.live), dict.fromkeys(self.live, _Blame())
        for name in self.live:
            live[name], why[name] = self._pruned(name, live[name], why[name], self.by_name[name])
        blame = self._settled(live, why)
        return None if blame is None else list(blame.checks)

    def _settled(self, live: dict[str, Numbers], why: dict[str, _Blame]) -> _Blame | None:
        """None where all columns have a value; else why they cannot."""
        open_ = [name for name in self.columns if name not in self.row]
        if not open_:
            return None
        name = min(open_, key=lambda one: (len(live[one].null) > 0, one == self.last, len(live[one].null)))
        blame = why[name]
        for value, null in zip(live[name].values.tolist(), live[name].null.tolist(), strict=True):
            self.left -= 1
            if self.left < 0:
                raise _OutOfTries
            self.row[name] = value, null
            own = self._ahead(name, live, why)
            if own is None:
                return None
            del self.row[name]
            if name not in own.names:
                return own  # another value here changes nothing
            blame |= own
        return blame._replace(names=blame.names - {name})

    def _ahead(self, name: str, live: dict[str, Numbers], why: dict[str, _Blame]) -> _Blame | None:
        """What a chosen value rules out in other columns, and the search from there on."""
        touched: dict[str, list[_Part]] = {}
        for part in self.by_name[name]:
            rest = part.names - self.row.keys()
            if len(rest) == 1:
                touched.setdefault(next(iter(rest)), []).append(part)
        if touched:
            live, why = dict(live), dict(why)
        for other, parts in touched.items():
            live[other], why[other] = self._pruned(other, live[other], why[other], parts)
            if not len(live[other].null):
                return why[other]
        return self._settled(live, why)

    def _pruned(self, name: str, own: Numbers, why: _Blame, parts: Sequence[_Part]) -> tuple[Numbers, _Blame]:
        """Values that parts of constraints leave of a column, whose other columns all have one."""
        ready = [part for part in parts if part.names - self.row.keys() == {name}]
        for part in ready:
            if isinstance(part.check, Total):
                own, why = self._left_over(part.check, name, own), why | self._because(part, name)
                ready = [one for one in self.by_name[name] if one.names - self.row.keys() == {name}]
        for part in ready:
            broken = self._breaking(part, name, own)
            if broken.any():
                own, why = Numbers(own.values[~broken], own.null[~broken]), why | self._because(part, name)
        return own, why

    def _breaking(self, part: _Part, name: str, own: Numbers) -> np.ndarray:
        """Which values of a column break a part of a constraint beside the others' chosen ones."""
        check = part.check
        if not isinstance(check, Combination):
            return check.broken(self._beside(part, name, own))
        table = self.tables.setdefault(id(check), np.asarray(check.numbers))  # thousands of lines, perhaps
        fits, place = np.ones(len(table), np.bool_), 0
        for number, column in enumerate(check.columns):
            if column.name == name:
                place = number
            elif not self.row[column.name][1]:
                fits &= table[:, number] == self.row[column.name][0]
        return np.asarray(~((own.null & fits.any()) | np.isin(own.values, table[fits, place])))

    def _because(self, part: _Part, name: str) -> _Blame:
        return _Blame(frozenset(part.names & self.row.keys()) - {name}, (part.whole,))

    def _beside(self, part: _Part, name: str, own: Numbers) -> dict[str, Numbers]:
        """Rows with all values of a column, and the others' chosen one."""
        size = len(own.null)
        rows = {name: own}
        for other in part.names - {name}:
            value, null = self.row[other]
            rows[other] = Numbers(np.full(size, value), np.full(size, null))
        return rows

    def _left_over(self, check: Total, name: str, own: Numbers) -> Numbers:
        """The values of a column of a sum, and what it has to be."""
        total, *parts = (column.name for column in check.columns)
        if name == total:
            rest = sum(self.row[one][0] for one in parts)
        else:
            rest = self.row[total][0] - sum(self.row[one][0] for one in parts if one != name)
        column = self.columns[name]
        lower, upper = column.bounds
        step = quantum(column)
        rest = lower + step * float(np.rint((rest - lower) / step)) if step else rest
        if not lower <= rest <= upper:
            return own
        return Numbers(np.append(own.values, rest), np.append(own.null, False))
