"""Two- and three-way marginals: total variation between joint distributions of small sets of columns.

Numeric columns are cut at the real rows' quantiles (10 bins for pairs, 5 for triples), the rarest outcomes of long
lists share one bin, missing is a bin. All sets where there are few, a seeded sample of them otherwise.
`noise` is the same figure between two random halves of the real rows, scaled to the sizes compared: below it nothing
can be seen.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from understudy.evaluate.result import MarginalError, Marginals, Summary
from understudy.evaluate.table import Table, categories, evaluated, is_discrete
from understudy.schema import Column, Schema

BINS = {2: 10, 3: 5}
MOST_SETS = {2: 600, 3: 300}
MOST_OUTCOMES = {2: 30, 3: 10}
_WORST = 10


def compare(real: Table, synthetic: Sequence[Table], schema: Schema, ways: int, seed: int) -> Marginals | None:
    """Total variation over sets of `ways` columns; None where there are too few columns or no rows."""
    columns = evaluated(schema)
    if len(columns) < ways or real.rows == 0:
        return None
    sets = choose_sets(len(columns), ways, seed)
    used = sorted({i for s in sets for i in s})
    cuts = {i: _cut(real.values[columns[i].name], columns[i], ways) for i in used}
    own = {i: cuts[i](real.values[columns[i].name]) for i in used}
    runs = [
        distances(own, {i: cuts[i](t.values[columns[i].name]) for i in used}, sets, real.rows, t.rows)
        for t in synthetic
    ]
    noise = _noise(own, sets, real.rows, [t.rows for t in synthetic], seed)
    mean = np.mean(runs, axis=0) if runs else np.zeros(len(sets))
    order = np.argsort(-mean, kind="stable")[:_WORST]
    possible = math.comb(len(columns), ways)
    return Marginals(
        ways=ways,
        sets=len(sets),
        sets_possible=possible,
        bins=BINS[ways],
        mean=Summary.of([float(r.mean()) for r in runs], higher_is_better=False),
        worst=Summary.of([float(r.max()) for r in runs], higher_is_better=False),
        noise=noise,
        worst_sets=tuple(
            MarginalError(columns=tuple(columns[i].name for i in sets[k]), distance=round(float(mean[k]), 6))
            for k in order
        ),
        notes=(f"{len(sets)} of {possible} sets of columns, drawn at random",) if len(sets) < possible else (),
    )


def choose_sets(columns: int, ways: int, seed: int) -> list[tuple[int, ...]]:
    """All sets of columns, or a seeded sample of them where they are too many."""
    most = MOST_SETS[ways]
    if math.comb(columns, ways) <= most:
        return list(itertools.combinations(range(columns), ways))
    rng = np.random.default_rng([seed, ways])
    chosen: set[tuple[int, ...]] = set()
    while len(chosen) < most:
        chosen.add(tuple(sorted(int(i) for i in rng.choice(columns, size=ways, replace=False))))
    return sorted(chosen)


def distances(
    own: dict[int, np.ndarray],
    other: dict[int, np.ndarray],
    sets: Sequence[tuple[int, ...]],
    own_rows: int,
    other_rows: int,
) -> np.ndarray:
    """Total variation per set, from bin numbers per column."""
    if own_rows == 0 or other_rows == 0:
        return np.ones(len(sets))
    out = np.empty(len(sets))
    for k, chosen in enumerate(sets):
        sizes = [int(max(own[i].max(), other[i].max())) + 1 for i in chosen]
        p, q = (np.bincount(_joint(side, chosen, sizes), minlength=math.prod(sizes)) for side in (own, other))
        out[k] = 0.5 * np.abs(p / own_rows - q / other_rows).sum()
    return out


def _joint(side: dict[int, np.ndarray], chosen: tuple[int, ...], sizes: Sequence[int]) -> np.ndarray:
    cell = side[chosen[0]].astype(np.int32)
    for i, size in zip(chosen[1:], sizes[1:], strict=True):
        cell = cell * size + side[i]
    return cell


def _cut(real: np.ndarray, column: Column, ways: int) -> Callable[[np.ndarray], np.ndarray]:
    """A function from values to bin numbers, its edges fixed by the real rows."""
    if is_discrete(column):
        outcomes, most = len(categories(column)), MOST_OUTCOMES[ways]
        counts = np.bincount(real[real >= 0], minlength=outcomes)
        kept = np.sort(np.argsort(-counts, kind="stable")[:most])
        # bins: 0 missing, 1 unknown, 2 rare, then the kept outcomes; codes -2 and -1 index the end of the table
        table = np.full(outcomes + 2, 2, dtype=np.int16)
        table[kept] = 3 + np.arange(len(kept))
        table[-1], table[-2] = 0, 1
        return lambda values: table[values]
    known = real[np.isfinite(real)]
    edges = np.unique(np.quantile(known, np.linspace(0, 1, BINS[ways] + 1)[1:-1])) if known.size else np.array([0.0])

    def bins(values: np.ndarray) -> np.ndarray:
        found = np.searchsorted(edges, values, side="left") + 1
        return np.where(np.isnan(values), 0, found).astype(np.int16)

    return bins


def _noise(
    own: dict[int, np.ndarray], sets: list[tuple[int, ...]], rows: int, others: list[int], seed: int
) -> float | None:
    """Halves have rows/2 each; total variation from sampling shrinks with sqrt(1/n + 1/m)."""
    if rows < 4 or not others:
        return None
    order = np.random.default_rng(seed).permutation(rows)
    one, two = order[: rows // 2], order[rows // 2 :]
    first, second = {i: v[one] for i, v in own.items()}, {i: v[two] for i, v in own.items()}
    halves = distances(first, second, sets, len(one), len(two))
    size = float(np.mean([1 / rows + 1 / max(1, m) for m in others]))
    return float(halves.mean() * math.sqrt(size / (1 / len(one) + 1 / len(two))))
