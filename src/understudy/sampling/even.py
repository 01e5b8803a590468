"""Classes of drawn rows: shares without chance."""

import numpy as np


def even_classes(random: np.random.Generator, weights: np.ndarray, rows: int) -> np.ndarray:
    """Classes in random order, each within one row of its share: independent draws would stray by the root of their number."""
    place = (np.arange(rows) + random.random()) / max(rows, 1)
    last = int(np.flatnonzero(weights > 0.0)[-1])
    found = np.minimum(np.searchsorted(np.cumsum(weights) / np.sum(weights), place, side="right"), last)
    return np.asarray(random.permutation(found.astype(np.int32)))
