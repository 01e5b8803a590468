"""Marginals: total variation between the joint distributions of one, two and three columns.

    distance(S) = 1/2 sum over cells c of S of |share of real rows in c - share of synthetic rows in c|

on public bins (`evaluate.codes`; missing is an outcome). The measures are means over all columns, over all pairs of columns,
and over 100 triples drawn at random. Beyond 60 columns the pairs are those of 60 columns, evenly spaced, and the label.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from understudy.evaluate.codes import MOST_DENSE, Codes

TRIPLES = 100
MOST_COLUMNS = 60

Pair = tuple[int, int]
PairCounts = Mapping[Pair, np.ndarray]


def pairs_of(names: Sequence[str], label: str | None) -> list[Pair]:
    """The pairs that are counted: all of them, or those of evenly spaced columns and the label."""
    kept = set(range(len(names)))
    if len(names) > MOST_COLUMNS:
        kept = {int(i) for i in np.linspace(0, len(names) - 1, MOST_COLUMNS).round()}
        kept |= {i for i, name in enumerate(names) if name == label}
    return list(itertools.combinations(sorted(kept), 2))


def triples_of(columns: int, most: int, seed: int) -> list[tuple[int, ...]]:
    """All triples of columns, or a seeded sample of them without repetition."""
    if math.comb(columns, 3) <= most:
        return list(itertools.combinations(range(columns), 3))
    rng = np.random.default_rng([seed, 3])
    chosen: set[tuple[int, ...]] = set()
    while len(chosen) < most:
        chosen.add(tuple(sorted(int(i) for i in rng.choice(columns, size=3, replace=False))))
    return sorted(chosen)


def count_pairs(codes: Codes, pairs: Sequence[Pair]) -> PairCounts:
    """The contingency table of every pair: what several measures are computed from."""
    return {pair: codes.counts(pair) for pair in pairs}


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """From counts; a table without rows is as far as can be from any other."""
    n, m = p.sum(), q.sum()
    if n == 0 or m == 0:
        return float(n != m)
    return float(0.5 * np.abs(p / n - q / m).sum())


def one_way(real: Codes, other: Codes) -> np.ndarray:
    """Distance of every column."""
    return np.array([total_variation(real.counts((i,)), other.counts((i,))) for i in range(len(real.names))])


def uniform(real: Codes) -> np.ndarray:
    """Distance of every column from one whose outcomes are equally frequent (missing and unknown ones apart)."""
    found = []
    for i, (size, values) in enumerate(zip(real.sizes, real.values, strict=True)):
        even = np.where(np.arange(size) < max(1, values), 1.0, 0.0)
        found.append(total_variation(real.counts((i,)), even))
    return np.array(found)


def two_way(real: PairCounts, other: PairCounts) -> np.ndarray:
    """Distance of every counted pair."""
    return np.array([total_variation(real[pair], other[pair]) for pair in real])


def of_sets(real: Codes, other: Codes, sets: Sequence[Sequence[int]]) -> np.ndarray:
    """Distance of any sets of columns."""
    return np.array([_distance(real, other, chosen) for chosen in sets])


def _distance(real: Codes, other: Codes, chosen: Sequence[int]) -> float:
    if real.rows == 0 or other.rows == 0:
        return float(real.rows != other.rows)
    if math.prod(real.sizes[i] for i in chosen) <= MOST_DENSE:
        return total_variation(real.counts(chosen), other.counts(chosen))
    cells, places = np.unique(np.concatenate([real.joint(chosen), other.joint(chosen)]), return_inverse=True)
    p = np.bincount(places[: real.rows], minlength=len(cells))
    return total_variation(p, np.bincount(places[real.rows :], minlength=len(cells)))
