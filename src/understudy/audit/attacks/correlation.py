"""Correlation features: Pearson correlations of all pairs of columns, constant columns counting as uncorrelated."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from understudy.audit.attacks.numbers import numbers
from understudy.schema import Schema


def features(tables: Sequence[pd.DataFrame], schema: Schema) -> np.ndarray:
    """Pearson correlations of all pairs of columns, one row per table."""
    found = []
    for table in tables:
        values = numbers(table, schema)
        centred = values - values.mean(axis=0) if len(values) else values
        spread = np.sqrt((centred * centred).sum(axis=0))
        unit = centred / np.where(spread > 0.0, spread, 1.0)
        found.append((unit.T @ unit)[np.triu_indices(values.shape[1], 1)])
    return np.asarray(found)
