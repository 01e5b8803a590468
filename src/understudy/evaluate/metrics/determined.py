"""Pairs of columns of which one determines the other, such as education and its number.

Found from the real rows: a determines b when the most frequent b of each value of a covers at least 99.5 % of the rows, b's own
most frequent value covers at most 90 % (else nothing is said), and there are at least ten rows per value of a (else every column
of single values would determine all others). The measure is the share of synthetic rows with b = f(a), averaged over these
pairs, each taken as (a, b); a row with a value of `a` that no real row has does not follow.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.evaluate.metrics.marginals import Pair, PairCounts

FOLLOWS, TRIVIAL, ROWS_PER_VALUE = 0.995, 0.9, 10


@dataclass(frozen=True)
class Dependence:
    """`best[a]` is the value of the second column that belongs to a; -1 where a does not occur."""

    pair: Pair
    turned: bool  # the second column of the pair determines the first
    best: np.ndarray

    def columns(self, names: Sequence[str]) -> tuple[str, str]:
        """What determines, and what is determined."""
        first, second = (names[i] for i in self.pair)
        return (second, first) if self.turned else (first, second)

    def agreement(self, counts: PairCounts) -> float | None:
        """Share of rows that follow; None without rows."""
        table = counts[self.pair].T if self.turned else counts[self.pair]
        known = self.best >= 0
        total = table.sum()
        return float(table[np.flatnonzero(known), self.best[known]].sum() / total) if total else None


def find(real: PairCounts) -> list[Dependence]:
    """All dependences among the counted pairs."""
    return [found for pair, counts in real.items() for found in _of_pair(pair, counts)]


def _of_pair(pair: Pair, counts: np.ndarray) -> Iterator[Dependence]:
    for turned, table in ((False, counts), (True, counts.T)):
        total, values = table.sum(), int((table.sum(axis=1) > 0).sum())
        if total < ROWS_PER_VALUE * values or values < 2 or table.sum(axis=0).max() > TRIVIAL * total:
            continue
        if table.max(axis=1).sum() >= FOLLOWS * total:
            yield Dependence(pair, turned, np.where(table.sum(axis=1) > 0, table.argmax(axis=1), -1))
