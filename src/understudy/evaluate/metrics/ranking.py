"""Synthetic ranking agreement (SRA).

Jordon et al. 2019, Eq. 8. With A_i the score of model i in setting A and C_i in setting C:

    SRA = 1 / (L (L - 1))  sum_j sum_{k != j}  1[ (A_j - A_k) (C_j - C_k) > 0 ]

Ties: the inequality is strict, so a pair tied on either side counts as no agreement, and a stand-in on which every
model scores 0.5 gets 0. We keep that, and report beside it the share of tied pairs and the agreement among the pairs
that are tied on neither side. Scores are compared exactly as computed. Undefined scores leave the item out.

The feature version ranks columns by their absolute association with the label: Pearson correlation for numbers and
two-valued columns (the paper's), the correlation ratio or Cramer's V where either side has several unordered values.

(The published values are multiples of 1/55, which is what eleven models give; twelve give multiples of 1/66.)
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from understudy.evaluate.result import RankingAgreement, Summary


class Agreement(NamedTuple):
    """Share of pairs in the same order, share of tied pairs, and the agreement among the others."""

    value: float | None
    tied: float | None
    without_ties: float | None


def agreement(real: Sequence[float | None], synthetic: Sequence[float | None]) -> Agreement:
    """Eq. 8 with its tie figures; None below two defined items."""
    pairs = [(a, c) for a, c in zip(real, synthetic, strict=True) if a is not None and c is not None]
    if len(pairs) < 2:
        return Agreement(None, None, None)
    a, c = np.array(pairs, dtype=np.float64).T
    upper = np.triu_indices(len(pairs), k=1)
    sign = np.sign(a[upper[0]] - a[upper[1]]) * np.sign(c[upper[0]] - c[upper[1]])
    tied = sign == 0
    return Agreement(
        value=float((sign > 0).mean()),
        tied=float(tied.mean()),
        without_ties=float((sign[~tied] > 0).mean()) if not tied.all() else None,
    )


def compare(
    of: str, items: Sequence[str], real: Sequence[float | None], runs: Sequence[Sequence[float | None]]
) -> RankingAgreement:
    """Agreement of each run with the real ranking."""
    found = [agreement(real, run) for run in runs]
    notes = []
    if any(f.tied for f in found):
        notes.append("tied pairs count as no agreement (Eq. 8 is strict); see the share of ties")
    means = [Summary.of([r[i] for r in runs]).mean for i in range(len(items))]
    return RankingAgreement(
        of=of,
        value=Summary.of([f.value for f in found]),
        items=tuple(items),
        real=tuple(real),
        synthetic=tuple(means),
        tied_pairs=Summary.of([f.tied for f in found], higher_is_better=False),
        without_ties=Summary.of([f.without_ties for f in found]),
        notes=tuple(notes),
    )
