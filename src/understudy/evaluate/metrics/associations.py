"""Association of every pair of columns, and how far the synthetic rows miss it.

Cramer's V with the bias correction of Bergsma (2013) on the public bins of `evaluate.codes`, missing cells included: with n rows
and r x c outcomes that occur,

    phi2 = max(0, chi2 / n - (r-1)(c-1)/(n-1)),   r' = r - (r-1)^2/(n-1),   c' = c - (c-1)^2/(n-1),
    V = sqrt(phi2 / min(r'-1, c'-1))                                  0 = independent, 1 = one determines the other

One measure for all kinds of columns sees dependence of any form, does not mind outliers, and shares its counts with the two-way
marginals; it has no sign. A column that does not vary is associated with nothing (0). The measures are the means of
|V synthetic - V real| over all pairs, and over the strong ones, V real >= 0.3.
"""

from collections.abc import Sequence

import numpy as np

from understudy.evaluate.metrics.marginals import Pair, PairCounts
from understudy.evaluate.result import Associations, Matrix

STRONG = 0.3


def cramers_v(counts: np.ndarray) -> float:
    """Of one contingency table."""
    seen = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(np.float64)
    n = seen.sum()
    if n < 2 or min(seen.shape) < 2:
        return 0.0
    rows, columns = seen.shape
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / n
    phi2 = (seen**2 / expected).sum() / n - 1.0
    corrected = max(0.0, phi2 - (rows - 1) * (columns - 1) / (n - 1))
    width = min(rows - (rows - 1) ** 2 / (n - 1), columns - (columns - 1) ** 2 / (n - 1)) - 1.0
    return float(np.sqrt(min(1.0, corrected / width))) if width > 0 else 0.0


def vector(counts: PairCounts) -> np.ndarray:
    """Association of every counted pair."""
    return np.array([cramers_v(table) for table in counts.values()])


def errors(real: np.ndarray, other: np.ndarray) -> tuple[float, float | None]:
    """Mean absolute difference over all pairs, and over the strong ones; None where none is strong."""
    gap, strong = np.abs(other - real), real >= STRONG
    return float(gap.mean()), float(gap[strong].mean()) if strong.any() else None


def describe(
    names: Sequence[str], pairs: Sequence[Pair], real: np.ndarray, others: Sequence[np.ndarray]
) -> Associations:
    """The matrices that a report draws."""
    used = sorted({i for pair in pairs for i in pair})
    mean = np.mean(others, axis=0)
    return Associations(
        columns=tuple(names[i] for i in used),
        real=_matrix(used, pairs, real, 1.0),
        synthetic=_matrix(used, pairs, mean, 1.0),
        difference=_matrix(used, pairs, mean - real, 0.0),
        strong=int((real >= STRONG).sum()),
    )


def _matrix(used: Sequence[int], pairs: Sequence[Pair], values: np.ndarray, diagonal: float) -> Matrix:
    place = {column: k for k, column in enumerate(used)}
    out = np.eye(len(used)) * diagonal
    for (i, j), value in zip(pairs, values, strict=True):
        out[place[i], place[j]] = out[place[j], place[i]] = value
    return tuple(tuple(round(float(v), 5) for v in row) for row in out)
