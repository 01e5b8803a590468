"""Constraints: public facts about several columns of a row, declared in the schema and kept in every sample.

    constraints:
      - never: relationship = Husband and sex = Female           an impossible combination
      - if: age < 15                                             an implication
        then: marital in {Never-married}
      - only: [education, education-num]                         the only combinations there are
        values: [[HS-grad, 9], [Bachelors, 13]]
      - order: [admitted, discharged]                            each at most the next
      - sum: {total: [wages, rent]}                              total = wages + rent, up to the total's own rounding

Conditions are written as for `sample --where` (`conditions`), joined by `and`. A missing value fulfils no condition, and order,
sums and combinations say nothing about it; nor about codes beside numbers, which conditions can name. Constraints are
declared, never learned: the bounds and categories of their columns must be declared, too. A set that no row can fulfil is
refused when the schema is loaded (`search.witness`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa

from understudy.errors import UsageError
from understudy.schema.boxes import Boxes
from understudy.schema.columns import NUMERIC, Column
from understudy.schema.conditions import Allowed, Named, parse_conditions, parse_value
from understudy.schema.document import mapping
from understudy.schema.types import Value
from understudy.schema.values import numbers_of, quantum, specials_in

_KEYS = ("never", "if", "then", "only", "values", "order", "sum")
_SINGLE = {"halffloat": 1e-2, "float": 1e-6}  # relative precision of narrow types; 1e-12 of all others


class Numbers(NamedTuple):
    """One column of some rows as `values.numbers_of` has it: numbers or positions, and where there is no number. There the value
    is a place among `Column.specials`.
    """

    values: np.ndarray
    null: np.ndarray


Table = Mapping[str, Numbers]


@runtime_checkable
class Check(Protocol):
    """A constraint that can be tested."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that it speaks of."""
        ...

    def broken(self, rows: Table) -> np.ndarray:
        """Which rows break it."""
        ...


@dataclass(frozen=True)
class Rule:
    """Where all of `when` hold, all of `then` hold; without `then`: never all of `when`."""

    when: tuple[Allowed, ...]
    then: tuple[Allowed, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that it speaks of."""
        return tuple(dict.fromkeys(one.column for one in (*self.when, *self.then)))

    def broken(self, rows: Table) -> np.ndarray:
        """Which rows break it."""
        kept = all_hold(self.then, rows) if self.then else np.asarray(False)
        return np.asarray(all_hold(self.when, rows) & ~kept)


@dataclass(frozen=True)
class Either:
    """All conditions of at least one box hold. Not declared: what `sample --where` asks for."""

    boxes: Boxes

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that it speaks of."""
        return tuple(dict.fromkeys(one.column for box in self.boxes for one in box))

    def broken(self, rows: Table) -> np.ndarray:
        """Which rows break it."""
        return np.asarray(~np.logical_or.reduce([all_hold(box, rows) for box in self.boxes]))


def all_hold(conditions: Iterable[Allowed], rows: Table) -> np.ndarray:
    """Which rows fulfil all conditions; a missing value fulfils none but `is missing`."""
    found = np.ones(count_rows(rows), bool)
    for one in conditions:
        found &= one.holds(*rows[one.column.name])
    return found


def count_rows(rows: Table) -> int:
    """How many there are."""
    return len(next(iter(rows.values())).null)


@dataclass(frozen=True)
class Combination:
    """The columns take one of these combinations; what is missing goes with everything."""

    columns: tuple[Column, ...]
    numbers: tuple[tuple[float, ...], ...]

    def broken(self, rows: Table) -> np.ndarray:
        """Which rows break it."""
        fits = np.zeros(count_rows(rows), bool)
        for combination in self.numbers:
            own = np.ones(len(fits), bool)
            for column, number in zip(self.columns, combination, strict=True):
                values, null = rows[column.name]
                own &= null | (values == number)
            fits |= own
        return ~fits


@dataclass(frozen=True)
class Rising:
    """Each column is at most the next one."""

    columns: tuple[Column, ...]

    def broken(self, rows: Table) -> np.ndarray:
        """Which rows break it."""
        found = np.zeros(count_rows(rows), bool)
        before = [rows[column.name] for column in self.columns]
        for place, (high, no_high) in enumerate(before):
            for low, no_low in before[:place]:
                found |= (low > high) & ~no_low & ~no_high
        return found


@dataclass(frozen=True)
class Total:
    """The first column is the sum of the others, up to its own rounding."""

    columns: tuple[Column, ...]

    def sums(self, rows: Table) -> Numbers:
        """The sum of the parts, and where one of them or the total is missing."""
        parts = [rows[column.name] for column in self.columns[1:]]
        null = np.logical_or.reduce([rows[self.columns[0].name].null, *(part.null for part in parts)])
        return Numbers(np.sum([part.values for part in parts], axis=0), null)

    def broken(self, rows: Table) -> np.ndarray:
        """Which rows break it."""
        wanted, null = self.sums(rows)
        own = rows[self.columns[0].name].values
        fine = max(_SINGLE.get(str(column.arrow_type), 1e-12) for column in self.columns)
        size = np.abs(own) + sum(np.abs(rows[column.name].values) for column in self.columns[1:])
        return np.asarray((np.abs(own - wanted) > 0.5 * quantum(self.columns[0]) + fine * (1.0 + size)) & ~null)


# -- as they are declared ------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Never:
    """An impossible combination."""

    text: str

    def entry(self) -> dict[str, Any]:
        """As the schema file has it."""
        return {"never": self.text}

    def check(self, schema: Named) -> Check:
        """What can be tested."""
        return Rule(parse_conditions(self.text, schema))


@dataclass(frozen=True)
class Implies:
    """If the first, then the second."""

    when: str
    then: str

    def entry(self) -> dict[str, Any]:
        """As the schema file has it."""
        return {"if": self.when, "then": self.then}

    def check(self, schema: Named) -> Check:
        """What can be tested."""
        return Rule(parse_conditions(self.when, schema), parse_conditions(self.then, schema))


@dataclass(frozen=True)
class Only:
    """The only combinations of some columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def entry(self) -> dict[str, Any]:
        """As the schema file has it."""
        return {"only": list(self.columns), "values": [list(row) for row in self.rows]}

    def check(self, schema: Named) -> Check:
        """What can be tested."""
        columns = tuple(schema.column(name) for name in self.columns)
        for row in self.rows:
            if len(row) != len(columns):
                raise UsageError(f"each line of values needs {len(columns)} values, one for each column")
        return Combination(columns, tuple(tuple(map(parse_value, columns, row)) for row in self.rows))


@dataclass(frozen=True)
class Order:
    """Columns in rising order."""

    columns: tuple[str, ...]

    def entry(self) -> dict[str, Any]:
        """As the schema file has it."""
        return {"order": list(self.columns)}

    def check(self, schema: Named) -> Check:
        """What can be tested."""
        columns = tuple(schema.column(name) for name in self.columns)
        if len(columns) < 2 or len({column.kind == "datetime" for column in columns}) > 1:
            raise UsageError("order needs two or more columns, all of numbers or all of dates")
        _need_numbers(columns, NUMERIC, "order")
        return Rising(columns)


@dataclass(frozen=True)
class Sum:
    """A column that is the sum of others."""

    total: str
    parts: tuple[str, ...]

    def entry(self) -> dict[str, Any]:
        """As the schema file has it."""
        return {"sum": {self.total: list(self.parts)}}

    def check(self, schema: Named) -> Check:
        """What can be tested."""
        columns = tuple(schema.column(name) for name in (self.total, *self.parts))
        if not self.parts or len(set(columns)) < len(columns):
            raise UsageError("sum needs a total and its parts, all different columns")
        _need_numbers(columns, ("continuous", "integer"), "sum")
        return Total(columns)


Constraint = Never | Implies | Only | Order | Sum


def _need_numbers(columns: Sequence[Column], kinds: Sequence[str], what: str) -> None:
    for column in columns:
        if column.kind not in kinds:
            raise UsageError(f"{what} needs columns of kind {' or '.join(kinds)}, and {column.name!r} is {column.kind}")


def constraints_from(entries: object) -> tuple[Constraint, ...]:
    """The constraints of a schema file."""
    if entries is None:
        return ()
    if not isinstance(entries, list | tuple):
        raise UsageError("constraints must be a list, each with one of the keys never, if, only, order, sum")
    return tuple(_from_entry(entry, number) for number, entry in enumerate(entries, 1))


def _from_entry(entry: object, number: int) -> Constraint:
    what = f"constraint {number}"
    found = dict(mapping(entry, what, _KEYS))
    keys = set(found)
    if keys == {"never"} and isinstance(found["never"], str):
        return Never(found["never"])
    if keys == {"if", "then"} and all(isinstance(text, str) for text in found.values()):
        return Implies(found["if"], found["then"])
    if keys == {"only", "values"} and _is_lists(found["only"], found["values"], *found["values"]):
        return Only(tuple(map(str, found["only"])), tuple(map(tuple, found["values"])))
    if keys == {"order"} and _is_lists(found["order"]):
        return Order(tuple(map(str, found["order"])))
    if keys == {"sum"} and isinstance(found["sum"], Mapping) and len(found["sum"]) == 1:
        ((total, parts),) = found["sum"].items()
        if _is_lists(parts):
            return Sum(str(total), tuple(map(str, parts)))
    raise UsageError(
        f"{what} must be one of `never: CONDITION`, `if: CONDITION` with `then: CONDITION`, `only: [columns]` with "
        "`values: [[...], ...]`, `order: [columns]`, `sum: {total: [parts]}`"
    )


def _is_lists(*values: object) -> bool:
    return all(isinstance(value, list | tuple) and value for value in values)


def compiled(constraints: Iterable[Constraint], schema: Named) -> tuple[Check, ...]:
    """What can be tested; UsageError that names the constraint by its number."""
    found = []
    for number, one in enumerate(constraints, 1):
        try:
            check = one.check(schema)
            for column in check.columns:
                if not column.resolved:
                    raise UsageError(f"column {column.name!r} is estimated; a constraint needs its declared values")
        except UsageError as error:
            raise UsageError(f"constraint {number}: {str(error).removeprefix('where: ')}") from None
        found.append(check)
    return tuple(found)


def columns_of(checks: Iterable[Check]) -> tuple[Column, ...]:
    """All columns that some constraint speaks of."""
    return tuple(dict.fromkeys(column for check in checks for column in check.columns))


def numbers_in(table: pa.Table, columns: Iterable[Column]) -> dict[str, Numbers]:
    """Decoded columns as numbers."""
    found = {}
    for column in columns:
        values, null = numbers_of(table[column.name], column)
        if column.specials:
            values = np.where(null, specials_in(table[column.name], column) if column.codes else 0.0, values)
        found[column.name] = Numbers(values, null)
    return found


def any_broken(checks: Sequence[Check], rows: Table) -> np.ndarray:
    """Which rows break some constraint."""
    return np.asarray(np.logical_or.reduce([check.broken(rows) for check in checks]))
