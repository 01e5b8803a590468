"""Maximum mean discrepancy, unbiased.

Gretton et al. 2012, Eq. 3 (the U-statistic), with the Gaussian kernel k(x, y) = exp(-|x - y|^2 / (2 s^2)):

    MMD^2 = 1/(n(n-1)) sum_{i != j} k(x_i, x_j) + 1/(m(m-1)) sum_{i != j} k(y_i, y_j) - 2/(nm) sum_{i,j} k(x_i, y_j)

s is the median distance between real rows (2,000 of them at most). Unbiased: it is zero on average when the tables
agree, so small negative values are normal. Rows are features scaled to [0, 1] on the real rows, at most 10,000 a side
(the size RDP-CGAN uses). The kernel matrix is summed in blocks and never held. `noise` is the value between two halves
of the real rows.
"""

from collections.abc import Sequence

import numpy as np

from understudy.evaluate import features
from understudy.evaluate.result import Mmd, Summary
from understudy.evaluate.table import Table
from understudy.schema import Schema

MAX_ROWS = 10_000
_BLOCK = 1_000
_MEDIAN_ROWS = 2_000


def unbiased(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float | None:
    """The U-statistic above; None below two rows a side."""
    n, m = len(x), len(y)
    if n < 2 or m < 2:
        return None
    within_x = (kernel_sum(x, x, bandwidth) - n) / (n * (n - 1))
    within_y = (kernel_sum(y, y, bandwidth) - m) / (m * (m - 1))
    return within_x + within_y - 2 * kernel_sum(x, y, bandwidth) / (n * m)


def kernel_sum(x: np.ndarray, y: np.ndarray, bandwidth: float) -> float:
    """Sum of k over all pairs; the diagonal of k(x, x) is counted as exactly one."""
    same = x is y
    y_norm = (y * y).sum(axis=1)
    total = 0.0
    for start in range(0, len(x), _BLOCK):
        block = x[start : start + _BLOCK]
        squared = (block * block).sum(axis=1)[:, None] + y_norm - 2 * block @ y.T
        np.maximum(squared, 0.0, out=squared)
        if same:
            own = np.arange(len(block))
            squared[own, start + own] = 0.0
        squared *= -1 / (2 * bandwidth**2)
        total += float(np.exp(squared, out=squared).sum(dtype=np.float64))
    return total


def median_distance(rows: np.ndarray) -> float:
    """Median distance over distinct pairs; the mean where more than half coincide, one where all do."""
    rows = rows[:_MEDIAN_ROWS]
    if len(rows) < 2:
        return 1.0
    norm = (rows * rows).sum(axis=1)
    squared = np.maximum(norm[:, None] + norm - 2 * rows @ rows.T, 0.0)
    distances = np.sqrt(squared[np.triu_indices(len(rows), k=1)])
    for candidate in (float(np.median(distances)), float(distances.mean())):
        if candidate > 1e-6:
            return candidate
    return 1.0


def compare(real: Table, synthetic: Sequence[Table], schema: Schema, seed: int, most: int = MAX_ROWS) -> Mmd:
    """Unbiased squared discrepancy of each synthetic table, and between two halves of the real rows."""
    own = real.sample(most, seed)
    encoder = features.fit(own, schema)
    rows = np.random.default_rng(seed).permutation(encoder.apply(own).astype(np.float64))
    bandwidth = median_distance(rows)
    values = [unbiased(rows, encoder.apply(t.sample(most, seed)).astype(np.float64), bandwidth) for t in synthetic]
    half = len(rows) // 2
    return Mmd(
        value=Summary.of(values, higher_is_better=False),
        noise=unbiased(rows[:half], rows[half:], bandwidth),
        bandwidth=bandwidth,
        real_rows=len(rows),
        synthetic_rows=min([most, *(t.rows for t in synthetic)]),
    )
