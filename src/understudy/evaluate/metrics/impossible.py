"""Impossible rows: synthetic rows that hold a pair of values no real row holds, on public bins.

    share of rows t for which some pair of columns (a, b) has no real row r with r_a = t_a and r_b = t_b

Most of them are merely rare, so held-out real rows are the floor to read the share against: they have such pairs, too. A
husband who is a woman, or a first grader with a doctorate, is what it is meant to find.
"""

from collections.abc import Sequence

import numpy as np

from understudy.evaluate.codes import Codes
from understudy.evaluate.metrics.marginals import Pair, PairCounts
from understudy.evaluate.result import ImpossiblePair

SHOWN = 10


def share(codes: Codes, counts: PairCounts, real: PairCounts) -> float | None:
    """Share of rows with at least one such pair; `counts` are the pair counts of these rows."""
    if codes.rows == 0:
        return None
    impossible = np.zeros(codes.rows, dtype=bool)
    for pair, table in counts.items():
        unseen = (real[pair] == 0) & (table > 0)
        if unseen.any():
            impossible |= unseen.reshape(-1)[codes.joint(pair)]
    return float(impossible.mean())


def worst(names: Sequence[str], tables: Sequence[PairCounts], real: PairCounts) -> tuple[ImpossiblePair, ...]:
    """The pairs of columns in which it happens most often."""
    shares: dict[Pair, float] = {
        pair: float(np.mean([table[pair][counts == 0].sum() / max(1, table[pair].sum()) for table in tables]))
        for pair, counts in real.items()
    }
    ranked = sorted((pair for pair in shares if shares[pair] > 0), key=lambda pair: -shares[pair])[:SHOWN]
    return tuple(ImpossiblePair(columns=(names[i], names[j]), share=round(shares[i, j], 6)) for i, j in ranked)
