"""Column shapes: is each column, seen alone, distributed as in the real table?

    numbers, dates        Kolmogorov-Smirnov   sup_x |F_real(x) - F_synthetic(x)|
    outcomes, orders      total variation      1/2 sum_v |p_real(v) - p_synthetic(v)|

over the cells that are not missing (missing rates stand beside them); an unknown category is a value of its own.
Both lie in [0, 1]: 0 the same, 1 no overlap. A column that is all missing on one side only counts as 1, on both as 0.
Histograms are for drawing; their edges span both tables, so they belong to the internal report only.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.evaluate.result import CodeShare, ColumnShape, Histogram, Summary
from understudy.evaluate.table import MISSING, UNKNOWN, Table, categories, evaluated, is_discrete
from understudy.schema import Column, Schema

BINS = 24
MOST_BARS = 20


def kolmogorov_smirnov(a: np.ndarray, b: np.ndarray) -> float:
    """Largest gap between two empirical distribution functions. NaN cells must be gone; infinities are values."""
    if a.size == 0 or b.size == 0:
        return 0.0 if a.size == b.size else 1.0
    a, b = np.sort(a), np.sort(b)
    at_a = np.abs(np.searchsorted(a, a, "right") / a.size - np.searchsorted(b, a, "right") / b.size).max()
    at_b = np.abs(np.searchsorted(a, b, "right") / a.size - np.searchsorted(b, b, "right") / b.size).max()
    return float(max(at_a, at_b))


def shares(codes: np.ndarray, outcomes: int) -> np.ndarray:
    """Share of each outcome among the cells that are not missing; unknown values last. All zero when none is left."""
    counts = np.bincount(np.where(codes == UNKNOWN, outcomes, codes)[codes != MISSING], minlength=outcomes + 1)
    return np.asarray(counts / max(1, counts.sum()))


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """Half the L1 distance of two distributions; an empty one is as far as can be from any other."""
    if p.sum() == 0 or q.sum() == 0:
        return 0.0 if p.sum() == q.sum() else 1.0
    return float(0.5 * np.abs(p - q).sum())


def distance(real: np.ndarray, synthetic: np.ndarray, column: Column) -> float:
    """Total variation for categories, Kolmogorov-Smirnov for numbers; missing cells left out."""
    if is_discrete(column):
        outcomes = len(categories(column))
        return total_variation(shares(real, outcomes), shares(synthetic, outcomes))
    return kolmogorov_smirnov(real[~np.isnan(real)], synthetic[~np.isnan(synthetic)])


def mean_distance(real: Table, synthetic: Table, schema: Schema, without: str | None = None) -> float | None:
    """Average over columns; None without rows on either side (no shape to compare)."""
    columns = [c for c in evaluated(schema) if c.name != without]
    if real.rows == 0 or synthetic.rows == 0 or not columns:
        return None
    return float(np.mean([distance(real.values[c.name], synthetic.values[c.name], c) for c in columns]))


def compare(real: Table, synthetic: Sequence[Table], schema: Schema) -> tuple[ColumnShape, ...]:
    """Every column of the schema."""
    return tuple(_column(real, synthetic, c) for c in evaluated(schema))


def _column(real: Table, synthetic: Sequence[Table], column: Column) -> ColumnShape:
    own, others = real.values[column.name], [t.values[column.name] for t in synthetic]
    discrete = is_discrete(column)
    distances = Summary.of([distance(own, o, column) for o in others], higher_is_better=False)
    numeric = {} if discrete else _moments(own, others)
    return ColumnShape(
        column=column.name,
        kind=column.kind,
        measure="total variation" if discrete else "kolmogorov-smirnov",
        distance=distances,
        histogram=_bars(own, others, column) if discrete else _bins(own, others, column),
        real_missing=missing_share(real, column),
        synthetic_missing=Summary.of([missing_share(table, column) for table in synthetic], higher_is_better=False),
        codes=_codes(real, synthetic[0], column) if synthetic else (),
        distinct_real=_distinct(own),
        distinct_synthetic=_distinct(others[0]) if others else 0,
        **numeric,
    )


def missing_share(table: Table, column: Column) -> float:
    """Share of cells without a value. A code is one: `code_shares` counts them."""
    values = table.values[column.name]
    gone = values == MISSING if values.dtype == np.int32 else np.isnan(values)
    if column.name in table.coded:
        gone &= table.coded[column.name] < 0
    return float(gone.mean()) if gone.size else 0.0


def code_shares(table: Table, column: Column) -> dict[str, float]:
    """Share of the cells that each of a column's codes takes."""
    which = table.coded.get(column.name)
    if which is None:
        return {}
    return {str(code): float(np.mean(which == place)) if which.size else 0.0 for place, code in enumerate(column.codes)}


def _codes(real: Table, synthetic: Table, column: Column) -> tuple[CodeShare, ...]:
    theirs = code_shares(synthetic, column)
    return tuple(
        CodeShare(code=code, real=share, synthetic=theirs.get(code, 0.0))
        for code, share in code_shares(real, column).items()
    )


def finite(values: np.ndarray) -> np.ndarray:
    """The cells that hold a finite number."""
    return np.asarray(values[np.isfinite(values)])


def mean_and_sd(values: np.ndarray) -> tuple[float | None, float | None]:
    """Of the finite cells; None where there are none or where squares overflow."""
    known = finite(values)
    if known.size == 0:
        return None, None
    with np.errstate(over="ignore", invalid="ignore"):
        mean, sd = float(known.mean()), float(known.std())
    return mean if np.isfinite(mean) else None, sd if np.isfinite(sd) else None


def _moments(own: np.ndarray, others: Sequence[np.ndarray]) -> dict[str, Any]:
    (mean, sd), rest = mean_and_sd(own), [mean_and_sd(o) for o in others]
    return {
        "real_mean": mean,
        "real_sd": sd,
        "synthetic_mean": Summary.of([m for m, _ in rest]),
        "synthetic_sd": Summary.of([s for _, s in rest]),
    }


def _distinct(values: np.ndarray) -> int:
    known = values[values != MISSING] if values.dtype == np.int32 else values[~np.isnan(values)]
    return int(np.unique(known).size)


def bin_edges(values: Sequence[np.ndarray], column: Column, bins: int = BINS) -> np.ndarray:
    """Even bins over the middle 99 % of the values, so that one outlier does not hide the shape; whole for integers."""
    known = [finite(v) for v in values]
    spans = [np.quantile(v, [0.005, 0.995]) for v in known if v.size]
    if not spans:
        return np.array([0.0, 1.0])
    low, high = min(s[0] for s in spans), max(s[1] for s in spans)
    if column.kind == "integer":
        low, high = np.floor(low) - 0.5, np.ceil(high) + 0.5
        step = max(1.0, np.ceil((high - low) / bins))
        return np.asarray(low + step * np.arange(int(np.ceil((high - low) / step)) + 1))
    if not high > low:
        low, high = low - 0.5 * max(abs(low), 1.0), low + 0.5 * max(abs(low), 1.0)
    return np.linspace(low, high, bins + 1)


def binned(values: np.ndarray, edges: np.ndarray) -> tuple[tuple[float, ...], float]:
    """Shares per bin of the non-missing cells, and the share beyond the outer edges."""
    known = values[~np.isnan(values)]
    if known.size == 0:
        return (0.0,) * (len(edges) - 1), 0.0
    counts = np.histogram(known, bins=edges)[0]
    return rounded(counts / known.size), round(float(1 - counts.sum() / known.size), 6)


def rounded(values: np.ndarray) -> tuple[float, ...]:
    """Six digits are finer than a bar can show, and keep the file small."""
    return tuple(round(float(v), 6) for v in values)


def _bins(own: np.ndarray, others: Sequence[np.ndarray], column: Column) -> Histogram:
    edges = bin_edges([own, *others], column)
    real, real_out = binned(own, edges)
    rest = [binned(o, edges) for o in others]
    return Histogram(
        edges=tuple(float(e) for e in edges),
        labels=None,
        real=real,
        synthetic=rounded(np.mean([s for s, _ in rest], axis=0)) if rest else (0.0,) * len(real),
        real_outside=real_out,
        synthetic_outside=float(np.mean([o for _, o in rest])) if rest else 0.0,
        is_datetime=column.kind == "datetime",
    )


def _bars(own: np.ndarray, others: Sequence[np.ndarray], column: Column) -> Histogram:
    """The most common outcomes get a bar, the rest one bar together; `outside` is the unknown categories."""
    outcomes = categories(column)
    real = shares(own, len(outcomes))
    rest = np.mean([shares(o, len(outcomes)) for o in others], axis=0) if others else np.zeros_like(real)
    order = np.arange(len(outcomes))
    if len(outcomes) > MOST_BARS:
        order = np.argsort(-np.maximum(real, rest)[:-1], kind="stable")[: MOST_BARS - 1]
    labels = [str(outcomes[i]) for i in order]
    left, right = list(real[order]), list(rest[order])
    if len(order) < len(outcomes):
        labels.append(f"{len(outcomes) - len(order)} more")
        left.append(max(0.0, real[:-1].sum() - real[order].sum()))
        right.append(max(0.0, rest[:-1].sum() - rest[order].sum()))
    return Histogram(
        edges=None,
        labels=tuple(labels),
        real=rounded(np.array(left)),
        synthetic=rounded(np.array(right)),
        real_outside=round(float(real[-1]), 6),
        synthetic_outside=round(float(rest[-1]), 6),
    )
