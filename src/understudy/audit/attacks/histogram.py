"""Histogram features: the share of rows in every cell of every column."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from understudy.audit.attacks.numbers import learned, numbers
from understudy.schema import Schema

CELLS = 10  # of a numeric column, between its public bounds


def features(tables: Sequence[pd.DataFrame], schema: Schema) -> np.ndarray:
    """Shares of every category or bin of every column, one row per table."""
    found = []
    for table in tables:
        codes, sizes = cells(table, schema)
        counts = [np.bincount(codes[:, j], minlength=size) for j, size in enumerate(sizes)]
        found.append(np.concatenate(counts) / max(len(table), 1))
    return np.asarray(found)


def cells(table: pd.DataFrame, schema: Schema) -> tuple[np.ndarray, list[int]]:
    """The cell of every value, and the number of cells of every column; cell 0 is for what is missing or unknown."""
    values = numbers(table, schema)
    codes, sizes = np.zeros(values.shape, np.int64), []
    for j, column in enumerate(learned(schema)):
        if column.kind in ("continuous", "integer", "datetime"):
            lower, upper = column.bounds if column.resolved else (0.0, 1.0)
            count = int(min(CELLS, upper - lower + 1)) if column.kind == "integer" else CELLS
            place = np.floor((values[:, j] - lower) / max(upper - lower, 1e-12) * (count - 1e-9))
            inside = (values[:, j] >= lower) & (values[:, j] <= upper)
            codes[:, j] = np.where(inside, np.clip(place, 0, count - 1) + 1, 0)
        else:
            count = len(column.outcomes) if column.resolved else CELLS
            codes[:, j] = np.clip(values[:, j] + 1, 0, count)
        sizes.append(count + 1)
    return codes, sizes
