"""Questions as people write them: `mean(hours) by sex where age > 40 and city = "Ulm"`.

    what         mean(column), median(column), quantile(column, 0.9), share(column = value), share(column is missing), count()
    by column    one answer for each of its values; of numbers for each range: `by age at 40, 65`, or cells of the model
    where        conditions joined by `and`: = != < <= > >=, `is missing`, `is not missing`; texts with spaces in quotes.
                 A code beside numbers is asked for with = and != (`pay = N`), and is no number to any other comparison

Names are matched exactly; a name with spaces stands in quotes as well.
"""

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd

from understudy.errors import UsageError
from understudy.infer.codes import OfSpecials
from understudy.infer.condition import MISSING, OPERATORS, THERE, Condition, between
from understudy.infer.run import mean, proportion, quantile
from understudy.schema import Column, Schema
from understudy.schema.cells import moment, number

NUMBERS = ("continuous", "integer")
TOKEN = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|(<=|>=|!=|[=<>(),])|([^\s=<>!(),"']+))""")
MOST_NAMED = 12  # columns or values that a message lists
EXAMPLE = "e.g. mean(hours) by sex where age > 40"


@dataclass(frozen=True)
class Question:
    """What is asked, of which column, for which groups and rows."""

    what: str
    column: str | None
    share: float | None = None  # of a quantile
    value: Condition | None = None  # of a share
    by: str | None = None
    where: tuple[Condition, ...] = ()
    ranged: bool = False  # whether `by` names numbers or dates, whose groups are ranges (`ranges.groups`)
    cuts: tuple[Any, ...] = ()  # where those are cut; none: at ends of the model's cells

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the answer depends on."""
        named = (self.column, self.by, *(condition.column for condition in self.where))
        return tuple(dict.fromkeys(name for name in named if name is not None))

    def on(self, rows: pd.DataFrame) -> dict[str, tuple[float, float]]:
        """Estimate and variance on one table, for every group."""
        (found,) = self.on_each(rows, [len(rows)], [len(rows)])
        return found

    def on_each(
        self, rows: pd.DataFrame, lengths: Sequence[int], totals: Sequence[float | int]
    ) -> list[dict[str, tuple[float, float]]]:
        """The same on several tables, which stand one below the other: many times quicker than one after the other.

        `totals`: how many rows each of the counted tables has.
        """
        kept = np.ones(len(rows), bool)
        for condition in self.where:
            kept &= condition.holds(rows).to_numpy()
        values = np.zeros(len(rows), bool)
        if self.what != "count":
            values, there = self._values(rows)
            kept &= there
        groups, ends = list(self._groups(rows)), np.cumsum(lengths)
        found = []
        for first, end, total in zip(ends - lengths, ends, totals, strict=True):
            here = slice(first, end)
            own = {name: group[here] for name, group in groups if group[here].any() or self.by is None}
            if self.what == "count":
                found.append({name: _scaled(proportion(kept[here] & group), total) for name, group in own.items()})
            else:
                found.append({name: self._estimate(values[here][kept[here] & group]) for name, group in own.items()})
        return found

    def _groups(self, rows: pd.DataFrame) -> Iterator[tuple[str, np.ndarray]]:
        if self.by is None:
            yield "", np.ones(len(rows), bool)
            return
        if self.ranged and not self.cuts:
            raise UsageError(
                f"question: by {self.by!r} of a table needs the ends of its groups, e.g. by {self.by} at 40, 65"
            )
        if self.ranged:
            for one in between(self.by, self.cuts):
                yield str(one), one.holds(rows).to_numpy()
            return
        codes, names = pd.factorize(rows[self.by])  # a missing value is in no group
        for code in sorted(range(len(names)), key=lambda code: str(names[code])):
            yield f"{self.by}={names[code]}", codes == code

    def _values(self, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """What is averaged in every row, and whether there is something."""
        column = rows[self.column]
        there = column.notna().to_numpy()
        if self.value is not None:
            return self.value.holds(rows).to_numpy(), self.value.there(rows)
        return column.astype(float).to_numpy(), there

    def _estimate(self, values: np.ndarray) -> tuple[float, float]:
        if self.value is not None:
            return proportion(values)
        return mean(values) if self.share is None else quantile(values, self.share)


def _scaled(pair: tuple[float, float], scale: float | int) -> tuple[float, float]:
    return pair[0] * scale, pair[1] * scale**2


def parse(text: str, schema: Schema) -> Question:
    """Read a question about a table with this schema; UsageError that says what is not understood."""
    words = _Words(text)
    what = words.next("what is asked").lower()
    if what not in ("mean", "median", "quantile", "share", "count"):
        raise UsageError(f"question: {what!r} is not known; ask for mean, median, quantile, share or count, {EXAMPLE}")
    words.expect("(")
    column, share, value = None, None, None
    if what == "share":
        value = _condition(words, schema)
        column = value.column
    elif what != "count":
        column = _column(words, schema)
        if schema.column(column).kind not in NUMBERS:
            raise UsageError(
                f"question: column {column!r} is {schema.column(column).kind}; {what} needs numbers, share() does not"
            )
        share = {"median": 0.5}.get(what)
    if what == "quantile":
        words.expect(",")
        share = _number(words.next("a share such as 0.9"))
        if not 0 < share < 1:
            raise UsageError(f"question: the quantile {share:g} must lie between 0 and 1")
    words.expect(")")
    by, ranged, cuts = None, False, ()
    if words.take("by"):
        by = _column(words, schema)
        ranged = schema.column(by).kind in (*NUMBERS, "datetime")
        cuts = _cuts(words, schema.column(by))
    where: list[Condition] = []
    if words.take("where"):
        where.append(_condition(words, schema))
        while words.take("and"):
            where.append(_condition(words, schema))
    words.end()
    return Question(what, column, share, value, by, tuple(where), ranged, cuts)


class _Words:
    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        place = 0
        while place < len(text.rstrip()):
            found = TOKEN.match(text, place)
            if found is None:
                raise UsageError(f"question: cannot read {text[place:].strip()!r}; {EXAMPLE}")
            self.words.append(next(part for part in found.groups() if part is not None))
            place = found.end()

    def next(self, wanted: str) -> str:
        if not self.words:
            raise UsageError(f"question: it ends where {wanted} should stand; {EXAMPLE}")
        return self.words.pop(0)

    def expect(self, sign: str) -> None:
        found = self.next(repr(sign))
        if found != sign:
            raise UsageError(f"question: {found!r} stands where {sign!r} should; {EXAMPLE}")

    def take(self, word: str) -> bool:
        found = bool(self.words) and self.words[0].lower() == word
        if found:
            self.words.pop(0)
        return found

    def end(self) -> None:
        if self.words and self.words[0].lower() == "or":
            raise UsageError(f"question: conditions of a question are joined by `and`, not by `or`; {EXAMPLE}")
        if self.words:
            raise UsageError(f"question: cannot read {' '.join(self.words)!r}; {EXAMPLE}")


def _column(words: _Words, schema: Schema) -> str:
    name = words.next("a column")
    names = [column.name for column in schema.columns]
    if name not in names:
        raise UsageError(f"question: there is no column {name!r}{_near(name, names)}")
    if schema.column(name).kind in ("identifier", "image"):
        raise UsageError(f"question: column {name!r} is {schema.column(name).kind} and is not learned")
    return name


def number_codes(column: Column) -> list[float]:
    """Codes beside numbers that look like numbers."""
    return [float(code) for code in column.codes if not isinstance(code, str)]


def _number(word: str, column: Column | None = None) -> float:
    found = number(word)
    if math.isnan(found):
        codes = f"; its codes are {', '.join(map(str, column.codes))}" if column is not None and column.codes else ""
        raise UsageError(
            f"question: {word!r} is not a number{f' of column {column.name!r}' if column is not None else ''}{codes}"
        )
    return found


def _condition(words: _Words, schema: Schema) -> Condition:
    name = _column(words, schema)
    sign = words.next("a comparison")
    if sign.lower() == "is":
        return _about_gaps(words, schema.column(name))
    if sign == ")":
        raise UsageError(f"question: after {name!r} a comparison is missing, e.g. {name} = VALUE or {name} is missing")
    if sign not in OPERATORS:
        raise UsageError(f"question: {sign!r} is no comparison; use one of {' '.join(OPERATORS)}, or `is missing`")
    word, column = words.next("a value"), schema.column(name)
    if column.kind in NUMBERS:
        code = next((place for place, one in enumerate(column.specials) if _is_code(word, one)), None)
        if code is None:
            return Condition(name, sign, _number(word, column))
        if sign not in ("=", "!="):
            raise UsageError(f"question: {word!r} is a code of column {name!r} and has no order; use = or !=")
        return OfSpecials(name, sign, column.specials[code], column, frozenset([code]))
    if column.kind == "datetime":
        return Condition(name, sign, _date(word, column))
    if sign not in ("=", "!=") and column.kind != "ordinal":
        raise UsageError(f"question: column {name!r} is {column.kind}, its values have no order; use = or !=")
    for place, outcome in enumerate(column.outcomes):
        spelled = {str(outcome)} | ({("false", "true")[place]} if column.kind == "boolean" else set())
        if word in spelled or (column.kind == "boolean" and word.lower() in spelled):
            return Condition(name, sign, outcome)
    raise UsageError(f"question: column {name!r} has no value {word!r}{_near(word, map(str, column.outcomes))}")


def _about_gaps(words: _Words, column: Column) -> Condition:
    sign = THERE if words.take("not") else MISSING
    words.expect("missing")
    if not column.missing:
        raise UsageError(f"question: column {column.name!r} is never missing")
    if column.codes:
        return OfSpecials(column.name, sign, None, column, frozenset([0]))  # a code is no gap
    return Condition(column.name, sign, None)


def _cuts(words: _Words, column: Column) -> tuple[Any, ...]:
    """The ends of groups after `at`, which rise."""
    if not words.take("at"):
        return ()
    if column.kind not in (*NUMBERS, "datetime"):
        raise UsageError(
            f"question: column {column.name!r} is {column.kind}, its values are groups by themselves; leave out `at`"
        )
    found: list[Any] = []
    while not found or words.take(","):
        word = words.next("an end of a group")
        found.append(_date(word, column) if column.kind == "datetime" else _number(word, column))
    if any(one >= other for one, other in itertools.pairwise(found)):
        raise UsageError(f"question: the ends of groups of {column.name!r} must rise, each above the one before")
    return tuple(found)


def _date(word: str, column: Column) -> pd.Timestamp:
    seconds = moment(word, column.format)
    if math.isnan(seconds):
        raise UsageError(f"question: {word!r} is not a date of column {column.name!r}, such as 2020-12-31")
    return pd.Timestamp(seconds, unit="s", tz=getattr(column.arrow_type, "tz", None))


def _is_code(word: str, special: object) -> bool:
    """Whether a word means a code."""
    if isinstance(special, int | float):
        return number(word) == special
    return special is not None and word == special


def _near(word: str, known: Iterable[str]) -> str:
    """What may have been meant; otherwise what there is."""
    names = list(known)
    close = get_close_matches(word, names, n=1)
    more = ", ..." if len(names) > MOST_NAMED else ""
    return f"; did you mean {close[0]!r}?" if close else f"; there is {', '.join(names[:MOST_NAMED])}{more}"
