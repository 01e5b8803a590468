"""GroundHog (Stadler, Oprisanu, Troncoso 2022): minimum, maximum, mean, median and standard deviation of every column."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from understudy.audit.attacks.numbers import numbers
from understudy.schema import Schema


def features(tables: Sequence[pd.DataFrame], schema: Schema) -> np.ndarray:
    """Minimum, maximum, mean, median and deviation of every column, one row per table."""
    found = []
    for table in tables:
        values = numbers(table, schema)
        if len(values) == 0:
            values = np.zeros((1, values.shape[1]))
        found.append(
            np.concatenate([values.min(0), values.max(0), values.mean(0), np.median(values, 0), values.std(0)])
        )
    return np.asarray(found)
