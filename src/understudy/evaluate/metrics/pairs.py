"""Signed associations within one table: what a release report draws, and what ranks features by the label.

    number, order, two values  x  the same     Pearson correlation, in [-1, 1]
    several unordered values   x  the same     Cramer's V, in [0, 1]
    number ...                 x  several      correlation ratio (eta), in [0, 1]

over the rows where both cells are present. A constant column has no association (None). Two-valued columns count as
0/1 (the second category is 1), so that their correlations keep a sign. Sums run over blocks of rows: memory does not
grow with the table.
"""

from collections.abc import Sequence

import numpy as np

from understudy.evaluate.result import Matrix
from understudy.evaluate.table import Table, categories, evaluated, is_discrete
from understudy.schema import Column, Schema

MOST_COLUMNS = 60  # of the heat map; wider tables show evenly spaced columns and the label
_BLOCK = 65_536


def is_numeric(column: Column) -> bool:
    """Whether Pearson's correlation makes sense: numbers, ranks and two-valued columns."""
    return not is_discrete(column) or column.kind == "ordinal" or len(categories(column)) <= 2


def as_numbers(values: np.ndarray) -> np.ndarray:
    """Float column with NaN where there is no finite value."""
    if values.dtype == np.int32:
        return np.where(values < 0, np.nan, values.astype(np.float64))
    return np.where(np.isfinite(values), values, np.nan)


def measure(a: Column, b: Column) -> str:
    """Which association belongs to a pair of columns."""
    if is_numeric(a) and is_numeric(b):
        return "pearson"
    return "correlation-ratio" if is_numeric(a) or is_numeric(b) else "cramers-v"


def matrix(table: Table, columns: Sequence[Column]) -> np.ndarray:
    """Association of all pairs, NaN where undefined; ones on the diagonal of columns that vary."""
    out = np.full((len(columns), len(columns)), np.nan)
    numeric = [i for i, c in enumerate(columns) if is_numeric(c)]
    grouped = [i for i, c in enumerate(columns) if not is_numeric(c)]
    if numeric:
        out[np.ix_(numeric, numeric)] = pearson([table.values[columns[i].name] for i in numeric])
    for i in grouped:
        own, size = table.values[columns[i].name], len(categories(columns[i]))
        for j in grouped:
            if j >= i:
                other = table.values[columns[j].name]
                out[i, j] = out[j, i] = cramers_v(own, other, size, len(categories(columns[j])))
        for j in numeric:
            out[i, j] = out[j, i] = correlation_ratio(own, as_numbers(table.values[columns[j].name]), size)
    return out


def pearson(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Pairwise-complete correlations from block sums of standardised columns."""
    width = len(columns)
    centre, scale = np.zeros(width), np.ones(width)
    for j, column in enumerate(columns):  # standardise first: sums of squares of raw dates or prices cancel badly
        known = as_numbers(column)
        known = known[~np.isnan(known)]
        if known.size:
            with np.errstate(over="ignore", invalid="ignore"):
                centre[j], spread = known.mean(), known.std()
            # a spread below rounding error of the mean is a constant column
            if not np.isfinite(centre[j]):
                centre[j] = 0.0
            scale[j] = spread if np.isfinite(spread) and spread > 1e-12 * max(abs(centre[j]), 1e-300) else np.inf
    n, sx, sxx, sxy = (np.zeros((width, width)) for _ in range(4))
    for start in range(0, len(columns[0]), _BLOCK):
        block = np.stack([as_numbers(c[start : start + _BLOCK]) for c in columns], axis=1)
        mask = (~np.isnan(block)).astype(np.float64)
        z = np.where(mask > 0, (block - centre) / scale, 0.0)
        n += mask.T @ mask
        sx += z.T @ mask  # sum of x_i over rows where j is present
        sxx += (z * z).T @ mask
        sxy += z.T @ z
    with np.errstate(divide="ignore", invalid="ignore"):
        cov = sxy - sx * sx.T / n
        var = sxx - sx * sx / n
        out = cov / np.sqrt(var * var.T)
    out[~np.isfinite(out) | (np.minimum(var, var.T) <= 1e-9)] = np.nan
    return np.clip(out, -1.0, 1.0)


def cramers_v(a: np.ndarray, b: np.ndarray, size_a: int, size_b: int) -> float:
    """Cramér's V of two categorical columns, without bias correction; NaN where one of them does not vary."""
    both = (a >= 0) & (b >= 0)
    counts = np.bincount(a[both].astype(np.int64) * size_b + b[both], minlength=size_a * size_b)
    counts = counts.reshape(size_a, size_b).astype(np.float64)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if min(counts.shape) < 2:
        return float("nan")
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    chi2 = float(((counts - expected) ** 2 / expected).sum())
    return float(np.sqrt(min(1.0, chi2 / counts.sum() / (min(counts.shape) - 1))))


def correlation_ratio(groups: np.ndarray, numbers: np.ndarray, size: int) -> float:
    """The correlation ratio eta of a number over groups; NaN where it does not vary."""
    both = (groups >= 0) & ~np.isnan(numbers)
    if not both.any():
        return float("nan")
    values = numbers[both]
    with np.errstate(over="ignore", invalid="ignore"):
        values = values - values.mean()
        spread = float((values**2).sum())
    count = np.bincount(groups[both], minlength=size)
    total = np.bincount(groups[both], weights=values, minlength=size)
    if not np.isfinite(spread):
        return float("nan")
    if spread <= 0 or (count > 0).sum() < 2:
        return float("nan")
    between = float((total[count > 0] ** 2 / count[count > 0]).sum())
    return float(np.sqrt(min(1.0, between / spread)))


def drawn_columns(schema: Schema) -> tuple[Column, ...]:
    """Columns whose pairs are computed: all, or evenly spaced ones and the label in a wide table."""
    columns = evaluated(schema)
    if len(columns) <= MOST_COLUMNS:
        return columns
    kept = {int(i) for i in np.linspace(0, len(columns) - 1, MOST_COLUMNS).round()}
    return tuple(c for i, c in enumerate(columns) if i in kept or c.name == schema.label)


def label_association(table: Table, schema: Schema) -> dict[str, float | None]:
    """Absolute association of every other column with the label: the feature importance of PATE-GAN's appendix."""
    label = schema.column(str(schema.label))
    others = [c for c in evaluated(schema) if c.name != label.name]
    if is_numeric(label):
        numeric = [c for c in others if is_numeric(c)]
        row = dict(
            zip(
                [c.name for c in numeric],
                [_with_label(table.values[c.name], table.values[label.name]) for c in numeric],
                strict=True,
            )
        )
    else:
        row = {}
    for column in others:
        if column.name not in row:
            row[column.name] = float(matrix(table, (column, label))[0, 1])
    return {c.name: abs(row[c.name]) if np.isfinite(row[c.name]) else None for c in others}


def _with_label(values: np.ndarray, label: np.ndarray) -> float:
    return float(pearson([values, label])[0, 1])


def as_matrix(values: np.ndarray) -> Matrix:
    """For the file: five decimals, null where undefined."""
    return tuple(tuple(None if np.isnan(v) else round(float(v), 5) for v in row) for row in values)
