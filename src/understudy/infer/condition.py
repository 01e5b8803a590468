"""One condition of a question: a comparison of a column with a value, a range, or whether there is a value."""

import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MISSING, THERE = "is missing", "is not missing"


@dataclass(frozen=True)
class Condition:
    """One comparison of a column with a value, or whether there is one."""

    column: str
    sign: str
    value: Any

    def __str__(self) -> str:
        return f"{self.column} {self.sign}" if self.about_gaps else f"{self.column} {self.sign} {self.value}"

    @property
    def group(self) -> str:
        """As a group of `by`."""
        return f"{self.column}{self.sign}{self.value}"

    @property
    def about_gaps(self) -> bool:
        """Whether it asks for a missing value, and not for one that is there."""
        return self.sign in (MISSING, THERE)

    def holds(self, rows: pd.DataFrame) -> pd.Series:
        """Row by row; of a missing value no comparison holds."""
        column = rows[self.column]
        if self.about_gaps:
            return column.isna() if self.sign == MISSING else column.notna()
        return (OPERATORS[self.sign](column, self.value) & column.notna()).fillna(False).astype(bool)

    def there(self, rows: pd.DataFrame) -> np.ndarray:
        """Where there is something to compare."""
        return np.asarray(rows[self.column].notna().to_numpy() | self.about_gaps)


@dataclass(frozen=True)
class Between(Condition):
    """A range: from its first value up to its last, which belongs to it only where `closed`. An open end is None."""

    closed: bool = False

    def __str__(self) -> str:
        return self.group

    @property
    def group(self) -> str:
        """As a group of `by`."""
        low, high = self.value
        if high is None:
            return f"{self.column} from {figure(low)}"
        start = "" if low is None else f"from {figure(low)} "
        return f"{self.column} {start}{'to' if self.closed else 'below'} {figure(high)}"

    def holds(self, rows: pd.DataFrame) -> pd.Series:
        """Row by row; a missing value is in no range."""
        own, (low, high) = rows[self.column], self.value
        inside = own.notna()
        if low is not None:
            inside &= (own >= low).fillna(False)
        if high is not None:
            inside &= ((own <= high) if self.closed else (own < high)).fillna(False)
        return inside.astype(bool)


def between(name: str, cuts: Sequence[Any]) -> list[Between]:
    """The ranges that some ends cut a column into; each end begins the range after it."""
    ends = [None, *cuts, None]
    return [Between(name, "in", pair) for pair in itertools.pairwise(ends)]


def figure(value: Any) -> str:
    """A number or a date as one writes it."""
    if isinstance(value, pd.Timestamp):
        return str(value.date()) if value == value.normalize() else value.isoformat(sep=" ")
    return f"{value:.9g}"
