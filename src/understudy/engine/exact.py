"""Sums of workers: what they may look like, and how they are added up.

A sum is whole numbers in one of four forms: a number, an array of 64-bit integers, a dictionary of such arrays, or a `Counter`
of texts. A worker's sum must have the form of the sum of no rows; anything else (another shape or type, a float, so
also a NaN) is named in words that say nothing about its contents.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np


def problem(value: Any, like: Any) -> str:
    """What is wrong with a worker's sum, or nothing. `like`: the sum of no rows."""
    if isinstance(like, Counter):
        whole = isinstance(value, Counter) and all(type(k) is str and type(v) is int for k, v in value.items())
        return "" if whole else "something else than counts of texts"
    if isinstance(like, dict):
        if not isinstance(value, dict) or value.keys() != like.keys():
            return "sums of other groups than were asked for"
        return next(filter(None, (problem(value[key], like[key]) for key in like)), "")
    if not isinstance(value, np.ndarray | np.integer | int) or isinstance(value, bool):
        return "something else than whole numbers"
    found, wanted = np.asarray(value), np.asarray(like)
    if found.dtype != wanted.dtype or found.dtype.kind != "i":
        return "something else than whole numbers"
    return "" if found.shape == wanted.shape else "a sum of another shape"


def together(total: Any, others: Iterable[Any]) -> Any:
    """Sums of several workers, added up."""
    for other in others:
        total = merged(total, other)
    return total


def merged(one: Any, other: Any) -> Any:
    """Two sums added up, whatever holds them."""
    if isinstance(one, Counter):
        one.update(other)
        return one
    if isinstance(one, dict):
        return {key: one[key] + other[key] for key in one}
    return np.asarray(one + other)
