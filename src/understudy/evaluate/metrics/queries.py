"""Counting and range queries over three columns, as an analyst would ask them.

A query is made from a real row drawn at random and three columns: a discrete column has to equal the row's value, a number or an
ordinal to lie in a range of bins around it (missing: to be missing). So every query is about rows that exist. Its
answer is the share of rows that meet all three conditions; the measure is the mean over 200 queries of

    |answer of synthetic rows - answer of real rows| / max(answer of real rows, 0.01)

A relative error: without the division the many small answers would hide in a mean of a few large ones, and without the
floor of one percent a handful of rows would decide.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.evaluate.codes import Codes

QUERIES = 200
LEAST = 0.01


@dataclass(frozen=True)
class Condition:
    """Codes from `low` to `high` of one column."""

    column: int
    low: int
    high: int


def draw(real: Codes, seed: int, count: int = QUERIES) -> list[tuple[Condition, ...]]:
    """Queries about rows of this table."""
    rng = np.random.default_rng([seed, 200])
    width = min(3, len(real.names))
    found = []
    for row in rng.integers(real.rows, size=count):
        chosen = np.sort(rng.choice(len(real.names), size=width, replace=False))
        found.append(tuple(_condition(real, int(i), int(real.columns[i][row]), rng) for i in chosen))
    return found


def _condition(real: Codes, column: int, value: int, rng: np.random.Generator) -> Condition:
    last = real.values[column] - 1  # the codes behind it have no order
    if not real.ordered[column] or value > last:
        return Condition(column, value, value)
    return Condition(column, int(rng.integers(value + 1)), int(rng.integers(value, last + 1)))


def answers(codes: Codes, queries: Sequence[tuple[Condition, ...]]) -> np.ndarray:
    """The share of rows that meet each query."""
    found = []
    for conditions in queries:
        met = np.ones(codes.rows, dtype=bool)
        for one in conditions:
            column = codes.columns[one.column]
            met &= column == one.low if one.low == one.high else (column >= one.low) & (column <= one.high)
        found.append(met.mean() if codes.rows else 0.0)
    return np.array(found)


def error(real: np.ndarray, other: np.ndarray) -> float:
    """Mean relative error of the answers."""
    return float((np.abs(other - real) / np.maximum(real, LEAST)).mean())
