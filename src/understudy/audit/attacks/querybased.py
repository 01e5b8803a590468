"""Querybased (Houssiau et al. 2022): how often every combination of values occurs.

On a small domain all combinations are counted; on a larger one, single values and pairs of values of coarse cells.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from understudy.audit.attacks.histogram import cells
from understudy.schema import Schema

LARGEST = 4096  # combinations that are counted


def features(tables: Sequence[pd.DataFrame], schema: Schema) -> np.ndarray:
    """Shares of all cells of the whole table, or of all pairs of columns where that is too many; one row per table."""
    found = []
    for table in tables:
        codes, sizes = cells(table, schema)
        if np.prod(np.asarray(sizes, float)) <= LARGEST:
            found.append(shares(codes, sizes, range(len(sizes))))
            continue
        pairs = [(i, j) for i in range(len(sizes)) for j in range(i)]
        while sum(sizes[i] * sizes[j] for i, j in pairs) > LARGEST:
            pairs = pairs[::2]
        alone = [shares(codes, sizes, [i]) for i in range(len(sizes))]
        found.append(np.concatenate([*alone, *(shares(codes, sizes, pair) for pair in pairs)]))
    return np.asarray(found)


def shares(codes: np.ndarray, sizes: Sequence[int], columns: Sequence[int]) -> np.ndarray:
    """Share of the rows in every cell of a marginal."""
    number = np.zeros(len(codes), np.int64)
    for column in columns:
        number = number * sizes[column] + codes[:, column]
    counts = np.bincount(number, minlength=int(np.prod([sizes[column] for column in columns])))
    return counts / max(len(codes), 1)
