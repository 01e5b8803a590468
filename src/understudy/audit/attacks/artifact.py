"""Numbers of the released artifact: class counts, marginals and weights, as they stand.

Weights of equal meaning have equal places in every fit of a method as long as shapes agree; where they do not (a method that
chooses its own structure), the first numbers of every array are taken.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from understudy.audit.shadow import Fitted

MOST = 64  # numbers of one array


def features(fitted: Fitted) -> np.ndarray:
    """One row per fit."""
    return np.asarray([one(fitted, number) for number in range(len(fitted))])


def one(fitted: Fitted, number: int) -> np.ndarray:
    """What one released artifact holds: class counts, marginals, weights."""
    marginals = fitted.marginals[number]
    arrays = [] if marginals is None else list(marginals)
    weights = [fitted.weights[number][name] for name in sorted(fitted.weights[number])]
    return head([fitted.counts[number], *arrays, *weights])


def head(arrays: Sequence[ArrayLike | None]) -> np.ndarray:
    """The first numbers of every array and its sum, padded to common sizes."""
    found: list[np.ndarray] = []
    for array in arrays:
        flat = np.zeros(0) if array is None else np.nan_to_num(np.asarray(array, np.float64)).ravel()
        found += [np.pad(flat[:MOST], (0, max(MOST - len(flat), 0))), np.asarray([flat.sum()])]
    return np.concatenate(found)
