"""Conditions on single columns, as people write them and as sets of values.

    age >= 65            = != < <= > >= with numbers and dates; = and != with categories
    town in {Ulm, Bonn}  any of these
    weight is missing    is not missing
    A and B              all of them
    (A or B) and C       what `boxes` reads; constraints take no `or`

A column is named as the schema names it, in quotes if another reading is possible; so is a value. `{"age": slice(18, 30),
"town": ["Ulm", "Bonn"], "sex": "f"}` says the same in Python (both ends of a slice belong to it, None is a missing value).

What is allowed of a column is a set of outcomes, or closed ranges of numbers in the units of its bounds (seconds since 1970
for dates, positions for ordinals); `age > 64` of whole numbers is the range from 65 on.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from understudy.errors import UsageError
from understudy.schema.cells import key, moment, number
from understudy.schema.columns import NUMERIC, Column
from understudy.schema.decimal_mark import mark_hint, other_mark
from understudy.schema.document import nearest
from understudy.schema.types import Value
from understudy.schema.values import quantum

Where = str | Iterable[str] | Mapping[str, object] | None
Range = tuple[float, float]
_JOIN = re.compile(r"(?:\s+|(?<=\)))(and|or)(?:\s+|(?=\())", re.IGNORECASE)
_SIGN = re.compile(
    r"\s*(?:(!=|<=|>=|==?|<|>)|(in)\s*[{\[(]|(is not missing|is missing)(?=[)\s]*(?:$|(?<=[)\s])(?:and|or)[(\s])))\s*",
    re.IGNORECASE,
)
# Quotes around a whole value: what stands in them is no `and`, no `or` and no parenthesis.
_QUOTED = re.compile(r"""(?:^|(?<=[\s,{\[(]))("[^"]*"|'[^']*')(?=\s*(?:[,)}\]]|$|\s(?:and|or)[(\s]))""", re.IGNORECASE)
_COMMA = re.compile(r"\d,\d")
EXAMPLE = 'e.g. "age >= 65 and town in {Ulm, Bonn}"'


@runtime_checkable
class Named(Protocol):
    """Columns by name, as a schema has them."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of all columns."""
        ...

    def column(self, name: str) -> Column:
        """The column of this name; UsageError if there is none."""
        ...


@dataclass(frozen=True)
class Allowed:
    """The values of one column that a condition allows."""

    column: Column
    outcomes: frozenset[Value | None] = frozenset()  # of categories and truth values, None: missing; of numbers codes
    ranges: tuple[Range, ...] = ()  # of numbers, dates and ordinals; closed, rising, disjoint
    missing: bool = False  # of numbers, dates and ordinals

    @property
    def numeric(self) -> bool:
        """Whether the column's values have an order."""
        return self.column.kind in (*NUMERIC, "ordinal")

    @property
    def specials(self) -> tuple[int, ...]:
        """The places among `Column.specials` that are allowed."""
        each = enumerate(self.column.specials)
        return tuple(place for place, one in each if (self.missing if one is None else one in self.outcomes))

    @property
    def empty(self) -> bool:
        """Whether nothing is allowed."""
        return not (self.outcomes or self.ranges or self.missing)

    def __and__(self, other: "Allowed") -> "Allowed":
        pairs = ((max(a[0], b[0]), min(a[1], b[1])) for a in self.ranges for b in other.ranges)
        ranges = tuple(sorted(pair for pair in pairs if pair[0] <= pair[1]))
        return Allowed(self.column, self.outcomes & other.outcomes, ranges, self.missing and other.missing)

    def __or__(self, other: "Allowed") -> "Allowed":
        ranges: list[Range] = []
        for low, high in sorted((*self.ranges, *other.ranges)):
            if ranges and not (after := _ranges(">", ranges[-1][1], self.column)):
                break  # the range before reaches the column's last value
            if ranges and low <= after[0][0]:
                ranges[-1] = ranges[-1][0], max(ranges[-1][1], high)
            else:
                ranges.append((low, high))
        return Allowed(self.column, self.outcomes | other.outcomes, tuple(ranges), self.missing or other.missing)

    def __invert__(self) -> "Allowed":
        """All other values of the column, with a missing one and codes."""
        if not self.numeric:
            return Allowed(self.column, frozenset(self.column.outcomes) - self.outcomes)
        codes, gap = frozenset(self.column.codes) - self.outcomes, self.column.missing and not self.missing
        start, upper = self.column.bounds
        ranges: list[Range] = []
        for low, high in self.ranges:
            ranges += [(start, min(end, math.nextafter(low, -math.inf))) for _, end in _ranges("<", low, self.column)]
            after = _ranges(">", high, self.column)
            # A step that is lost in double precision (nanoseconds) still leaves the end itself.
            start = max(start, after[0][0], math.nextafter(high, math.inf)) if after else math.inf
        pairs = (*ranges, (start, upper))
        return Allowed(self.column, codes, tuple(pair for pair in pairs if pair[0] <= pair[1]), gap)

    def holds(self, values: np.ndarray, null: np.ndarray) -> np.ndarray:
        """Which of these numbers (see `constraints.numbers_in`) or outcomes' positions are allowed."""
        if self.numeric:
            inside, slack = np.zeros(len(values), bool), 1e-6 * quantum(self.column)  # 0.1 + 0.2 is not 0.3
            for low, high in self.ranges:
                inside |= (values >= low - slack) & (values <= high + slack)
            return np.asarray(np.where(null, np.isin(values, self.specials), inside))
        return np.isin(values, [place for place, value in enumerate(self.column.outcomes) if value in self.outcomes])

    def nearest(self, values: np.ndarray) -> np.ndarray:
        """Numbers moved into the ranges, each to the nearest allowed one."""
        best, gap = values, np.full(len(values), np.inf)
        for low, high in self.ranges:
            moved = np.clip(values, low, high)
            closer = np.abs(moved - values) < gap
            best, gap = np.where(closer, moved, best), np.where(closer, np.abs(moved - values), gap)
        return np.asarray(best)


def parse_conditions(where: Where, schema: Named) -> tuple[Allowed, ...]:
    """What is allowed of every column that is named, at most once each; UsageError that says what is not understood."""
    if where is None:
        return ()
    if isinstance(where, Mapping):
        found = [_from_value(schema.column(str(name)), value) for name, value in where.items()]
    else:
        parts = [part for text in texts_of(where) for part in tokens(text, schema)]
        if "or" in parts:
            raise UsageError("where: conditions are joined by `and` here, not by `or`; write a line for each")
        found = [part for part in parts if isinstance(part, Allowed)]
    by_name: dict[str, Allowed] = {}
    for one in found:
        name = one.column.name
        by_name[name] = by_name[name] & one if name in by_name else one
    for one in by_name.values():
        if one.empty:
            raise UsageError(f"where: no value of column {one.column.name!r} fulfils all conditions on it")
    return tuple(by_name.values())


def texts_of(where: str | Iterable[str]) -> list[str]:
    """All of which hold."""
    return [where] if isinstance(where, str) else list(where)


def tokens(text: str, schema: Named) -> list[Allowed | str]:
    """Conditions, and what stands between them: `and`, `or`, `(`, `)`. Parentheses are closed as often as opened."""
    found: list[Allowed | str] = []
    rest, depth = text.strip(), 0
    while True:
        while rest.startswith("(") and not _names_column(rest, schema):
            rest, depth = rest[1:].lstrip(), depth + 1
            found.append("(")
        column, rest = _take_column(rest, schema)
        sign = _SIGN.match(rest)
        if sign is None:
            raise UsageError(f"where: after column {column.name!r} stands {rest!r}; write a comparison, {EXAMPLE}")
        rest = rest[sign.end(3) if sign[3] else sign.end() :]
        join = _next_join(rest, schema)
        own, rest = (rest, "") if join is None else (rest[: join.start()], rest[join.end() :])
        closed = min(depth, _closing(("(" if sign[0].rstrip().endswith("(") else "") + own))
        for _ in range(closed):
            own = own.rstrip().removesuffix(")")
        found += [_condition(column, sign, own.strip()), *")" * closed]
        depth -= closed
        if join is None:
            break
        found.append(join[1].lower())
    if depth:
        raise UsageError(f"where: {text!r} opens a parenthesis that is not closed")
    return found


def _next_join(text: str, schema: Named) -> re.Match[str] | None:
    """The first `and` or `or` that another condition follows, and that stands in no quotes."""
    quoted = [span.span(1) for span in _QUOTED.finditer(text)]
    for join in _JOIN.finditer(text):
        within = any(start < join.start() < end for start, end in quoted)
        if not within and _names_column(text[join.end() :].lstrip("( "), schema):
            return join
        if not within and _names_column(text[join.end() :], schema):  # a name that begins with a parenthesis
            return join
    return None


def _closing(text: str) -> int:
    """How many parentheses at the end of a value close what was opened before it."""
    bare = _QUOTED.sub("", text)
    last = re.search(r"[)\s]*$", bare)
    return max(min(bare.count(")") - bare.count("("), last[0].count(")") if last else 0), 0)


def _condition(column: Column, sign: re.Match[str], text: str) -> Allowed:
    if sign[3] and text:
        raise UsageError(f"where: {text!r} stands after {sign[3]!r} of column {column.name!r}; {EXAMPLE}")
    if sign[3]:
        return _missing(column, allowed="not" not in sign[3].lower())
    return _listed(column, text) if sign[2] else _compared(column, sign[1].replace("==", "="), _unquoted(text))


def _take_column(text: str, schema: Named) -> tuple[Column, str]:
    """The column that a text begins with, and what follows: the longest name that a comparison can follow."""
    quoted = re.match(r"""(?:"([^"]*)"|'([^']*)')""", text)
    if quoted and (name := quoted[1] if quoted[1] is not None else quoted[2]) in schema.names:
        return _learned(schema.column(name)), text[quoted.end() :]
    known = sorted(schema.names, key=len, reverse=True)
    for name in known:
        if text.startswith(name) and _SIGN.match(text[len(name) :]):
            return _learned(schema.column(name)), text[len(name) :]
    for name in known:
        rest = text[len(name) :]
        if text.startswith(name) and not re.match(r"\w", rest):
            raise UsageError(
                f"where: after column {name!r} stands {rest.strip()!r}; write a comparison, a range as two of them, {EXAMPLE}"
            )
    word = re.split(r"\s*(?:!=|<=|>=|=|<|>|\s)", text, maxsplit=1)[0]
    raise UsageError(f"where: {text!r} begins with no column of the schema{nearest(word, schema.names)}; {EXAMPLE}")


def _names_column(text: str, schema: Named) -> bool:
    try:
        _take_column(text, schema)
    except UsageError:
        return False
    return True


def _learned(column: Column) -> Column:
    if column.kind in ("identifier", "image"):
        raise UsageError(f"where: column {column.name!r} is of kind {column.kind}, which no condition can be put on")
    if not column.resolved:
        raise UsageError(f"where: column {column.name!r} still has an estimate to be made")
    return column


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def _listed(column: Column, text: str) -> Allowed:
    if not text or text[-1] not in "}])":
        raise UsageError(f"where: the list of values of column {column.name!r} does not end; {EXAMPLE}")
    words = re.findall(r"""\s*(?:"([^"]*)"|'([^']*)'|([^,]+))\s*(?:,|$)""", text[:-1])
    found = [_compared(column, "=", (a or b or c).strip()) for a, b, c in words]
    _refuse_unclear(column, text[:-1], found)
    return _any_of(found, column)


def _refuse_unclear(column: Column, text: str, found: list[Allowed]) -> None:
    """`in {71,5}` is 71 and 5, or 71.5 with a decimal comma: refused where the schema has such commas, and where one of the
    two is beyond the bounds."""
    if column.kind != "continuous" or not _COMMA.search(_QUOTED.sub("", text)):
        return
    if column.decimal == ",":
        raise UsageError(
            f"where: of the list {text!r} of column {column.name!r} it is not clear which commas are decimal; put numbers in "
            'quotes, {"3,14", "2"}, or a space after a comma between numbers'
        )
    if any(one.empty for one in found):
        raise UsageError(
            f"where: the list {text!r} of column {column.name!r} names a number beyond its bounds; a comma stands between "
            "numbers, a decimal mark is a point"
        )


def _any_of(parts: list[Allowed], column: Column) -> Allowed:
    if not parts:
        raise UsageError(f"where: the list of values of column {column.name!r} is empty")
    ranges = sorted({one for part in parts for one in part.ranges})
    outcomes = frozenset(value for part in parts for value in part.outcomes)
    return Allowed(column, outcomes, tuple(ranges), any(part.missing for part in parts))


def _from_value(column: Column, value: object) -> Allowed:
    _learned(column)
    if isinstance(value, slice):
        parts = [
            _compared(column, sign, end) for sign, end in ((">=", value.start), ("<=", value.stop)) if end is not None
        ]
        return parts[0] if len(parts) == 1 else parts[0] & parts[1] if parts else _missing(column, allowed=False)
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return _missing(column, allowed=True) if value is None else _compared(column, "=", value)
    return _any_of([_from_value(column, one) for one in value], column)


def _missing(column: Column, *, allowed: bool) -> Allowed:
    if allowed and not column.missing:
        raise UsageError(f"where: column {column.name!r} is never missing")
    if column.kind in (*NUMERIC, "ordinal"):
        return Allowed(column, missing=True) if allowed else Allowed(column, frozenset(column.codes), (column.bounds,))
    return Allowed(column, frozenset({None} if allowed else {value for value in column.outcomes if value is not None}))


def _compared(column: Column, sign: str, value: object) -> Allowed:
    if column.kind in NUMERIC:
        code = _code(column, value)
        if code is not None and sign in ("=", "!="):
            return Allowed(column, frozenset([code])) if sign == "=" else _other_than(column, code)
        read = moment(value, column.format) if column.kind == "datetime" else number(value, column.decimal)
        if math.isnan(read):
            shape = "a date" if column.kind == "datetime" else "a number"
            marked = column.kind != "datetime" and not math.isnan(number(value, other_mark(column).decimal))
            hint = mark_hint(column) if marked else ""
            raise UsageError(f"where: column {column.name!r} is {column.kind}, and {value!r} is not {shape}{hint}")
        return Allowed(column, ranges=_ranges(sign, read, column))
    place = _position(column, value)
    if column.kind == "ordinal":
        return Allowed(column, ranges=_ranges(sign, float(place), column))
    if sign not in ("=", "!="):
        raise UsageError(f"where: column {column.name!r} is {column.kind}, its values have no order; use = or !=")
    own = frozenset([column.outcomes[place]])
    return Allowed(column, own if sign == "=" else frozenset(column.outcomes) - own - {None})


def _code(column: Column, value: object) -> Value | None:
    """The code that a text or number means, if it means one."""
    return next((code for code in column.codes if value == code or str(value).strip() == str(code)), None)


def _other_than(column: Column, code: Value) -> Allowed:
    return Allowed(column, frozenset(column.codes) - {code}, (column.bounds,))


def _position(column: Column, value: object) -> int:
    """Which declared value a text or object means, by the way cells are read."""
    values = column.outcomes if column.kind != "ordinal" else column.categories or ()
    wanted = key(value, column.key_family)
    if wanted in column.places:
        return column.places[wanted]
    for place, known in enumerate(values):
        if known is not None and str(known) == str(value):
            return place
    shown = [str(known) for known in values if known is not None]
    listed = ", ".join(shown[:10]) + (", ..." if len(shown) > 10 else "")
    raise UsageError(f"where: column {column.name!r} has no value {str(value)!r}; it has {listed}")


def _ranges(sign: str, value: float, column: Column) -> tuple[Range, ...]:
    """Closed ranges of the values that the column can have."""
    lower, upper = column.bounds
    step = quantum(column)

    def above(least: float, *, strict: bool) -> float:
        if not step:
            return math.nextafter(least, math.inf) if strict else least
        steps = (least - lower) / step
        whole = math.ceil(steps - 1e-9)
        return lower + step * (whole + (strict and abs(whole - steps) < 1e-9))

    def below(most: float, *, strict: bool) -> float:
        if not step:
            return math.nextafter(most, -math.inf) if strict else most
        steps = (most - lower) / step
        whole = math.floor(steps + 1e-9)
        return lower + step * (whole - (strict and abs(whole - steps) < 1e-9))

    strict = sign in ("<", ">", "!=")
    down, up = (lower, below(value, strict=strict)), (above(value, strict=strict), upper)
    found = {"=": (up[0], down[1]), "<": down, "<=": down, ">": up, ">=": up}
    both = [down, up] if sign == "!=" else [found[sign]]
    clipped = [(max(low, lower), min(high, upper)) for low, high in both]
    return tuple((low, high) for low, high in clipped if low <= high)


def parse_value(column: Column, value: object) -> float:
    """One value of a column as a number: in the units of its bounds, or its position among the outcomes."""
    if value is None:
        raise UsageError(f"column {column.name!r}: a missing value cannot be listed; it goes with everything")
    if _learned(column).kind not in NUMERIC:
        return float(_position(column, value))
    found = _compared(column, "=", value)
    if not found.ranges:
        raise UsageError(f"column {column.name!r} never has the value {value!r}")
    return found.ranges[0][0]
