"""Kinds of columns from votes of cells.

A CSV cell reads as one of seven sorts, by its own letters alone (`cell_kind`):

| sort | cells |
| --- | --- |
| empty | nothing, or a marker of a missing value |
| truth | true, false |
| whole | up to 15 digits with a sign: every such number is exact in 64 bits |
| number | with a point or an exponent |
| date | ISO date or time |
| text | anything else |
| code | digits that are no number: leading zeros, or more than 15 digits |

The votes of a table are the counts [columns, sorts]. A sort is *present* in a column if its count exceeds the threshold

    t = deviation sqrt(2 ln(cells of the vote / 0.01)),

which noise of that deviation alone passes anywhere with probability below 1 % (subgaussian tail, union bound); exact votes
have deviation 0. The kind is the narrowest one that holds all sorts present; without any it stays open (`?`). Cells of a
sort below the threshold are overlooked, which is what makes the answer private: they count as missing later.
"""

import math
import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from understudy.schema.document import OPEN
from understudy.schema.rows import NULLS

SORTS = ("empty", "truth", "whole", "number", "date", "text", "code")
EMPTY, TRUTH, WHOLE, NUMBER, DATE, TEXT, CODE = range(len(SORTS))
FALSE_ALARM = 0.01

_SHAPES = re.compile(
    r"(?P<code>[-+]?(?:0[0-9]+|[1-9][0-9]{15,}))|(?P<whole>[-+]?[0-9]+)|(?P<truth>(?i:true|false))"
    r"|(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:]{5,8}(?:\.[0-9]+)?(?:Z|[-+][0-9]{2}:?[0-9]{2})?)?)"
    r"|(?P<number>[-+]?(?:(?:0|[1-9][0-9]*)\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?)"
)
_EMPTY = frozenset(NULLS)

Votes = np.ndarray[tuple[int, ...], np.dtype[np.int64]]  # [columns, sorts]


def cell_kind(cell: str | None) -> int:
    """The sort that one cell reads as: a function of this cell alone, which never raises."""
    if cell is None:
        return EMPTY
    cell = cell.strip()
    if cell in _EMPTY:
        return EMPTY
    shape = _SHAPES.fullmatch(cell)
    if shape is None:
        return TEXT
    sort = SORTS.index(str(shape.lastgroup))
    return TEXT if sort == DATE and not _in_calendar(cell) else sort


def _in_calendar(cell: str) -> bool:
    try:
        datetime.fromisoformat(cell)
    except ValueError:
        return False
    return True


def decide(votes: Votes, deviation: float) -> list[str]:
    """The kind of every column, `?` where no sort of cell stands out from noise of this deviation."""
    return [_kind(frozenset(np.flatnonzero(row).tolist()) - {EMPTY}) for row in votes > threshold(votes, deviation)]


def gaps(votes: Votes, deviation: float) -> list[bool]:
    """Whether the empty cells of every column stand out from the noise."""
    return [bool(count > threshold(votes, deviation)) for count in votes[:, EMPTY]]


def threshold(votes: Votes, deviation: float) -> float:
    """What noise of this deviation exceeds anywhere in the votes with probability below FALSE_ALARM."""
    return deviation * math.sqrt(2.0 * math.log(max(votes.size, 1) / FALSE_ALARM))


def _kind(present: frozenset[int]) -> str:
    if not present:
        return OPEN
    for kind, sorts in (
        ("boolean", {TRUTH}),
        ("integer", {WHOLE}),
        ("continuous", {WHOLE, NUMBER}),
        ("datetime", {DATE}),
    ):
        if present <= sorts:
            return kind
    return "categorical"


def vote_deviation(sigma: float, columns: int, max_rows: int) -> float:
    """Deviation of the noise with multiplier `sigma`: a row's votes have norm sqrt(columns), a unit has `max_rows` rows."""
    return sigma * max_rows * math.sqrt(columns)


def estimate_kinds(noisy_votes: Votes, sigma: float, names: Sequence[str], max_rows: int = 1) -> dict[str, str]:
    """Kinds (or `?`) by name from released votes; `sigma` is the noise multiplier. Post-processing."""
    deviation = vote_deviation(sigma, len(names), max_rows)
    return dict(zip(names, decide(noisy_votes, deviation), strict=True))


def estimate_gaps(noisy_votes: Votes, sigma: float, names: Sequence[str], max_rows: int = 1) -> frozenset[str]:
    """Names of the columns in which empty cells stand out, from the same released votes."""
    found = gaps(noisy_votes, vote_deviation(sigma, len(names), max_rows))
    return frozenset(name for name, gap in zip(names, found, strict=True) if gap)
