"""In which cell is a number: how many of a column's edges are at or below it, for a whole column at a time.

Searching for each value is slow, and comparing a column with each of a hundred edges is not much quicker. So the line is cut
into equal buckets b(x) first, a rising function that a processor computes for many numbers at once:

    edges at or below x  =  edges e with b(e) < b(x)   (a table)  +  edges e <= x with b(e) = b(x)   (seldom more than one or two)

Both are exact: x < e in another bucket means b(x) < b(e). Tables come from the edges alone.
"""

from typing import Any, NamedTuple

import numpy as np

Array = Any
BUCKETS = 4096  # a power of two, so that scaling by it is exact
FEW = 24  # edges that are compared one by one
BELOW_ONE = np.nextafter(np.float32(1), np.float32(0))
MOST = 65_535  # edges that a guide counts
MOST_SHARED = 8  # edges in one bucket; beyond, each value is searched for


class Guide(NamedTuple):
    """Of every bucket: how many edges lie in lower ones, and the edges in it, row after row, NaN where there are no more."""

    below: Array
    own: Array


def guide(edges: Array) -> Guide | None:
    """None where the edges are so few, many or close that there is nothing to gain."""
    if not FEW < len(edges) <= MOST:
        return None
    narrow = narrowed(edges)
    at = bucket(narrow)
    below, times = np.searchsorted(at, np.arange(BUCKETS)), np.bincount(at, minlength=BUCKETS)
    if times.max() > MOST_SHARED:
        return None
    own = np.full((times.max(), BUCKETS), np.nan, np.float32)  # no value, not even infinity, is beyond it
    for turn in range(len(own)):
        own[turn, times > turn] = narrow[below[times > turn] + turn]
    return Guide(below.astype(np.uint16), own)


def how_many_below(values: Array, edges: Array, known: Guide | None = None) -> Array:
    """For each value how many of the rising `edges` are at or below it; 0 for what is no number. `known`: their guide."""
    if values.dtype != np.float32:
        return np.where(np.isnan(values), 0, np.searchsorted(edges, values, side="right"))
    if known is not None:
        place = bucket(values)
        cell = known.below.take(place)
        for own in known.own:
            cell += values >= own.take(place)
        return cell
    if len(edges) > FEW:
        return np.where(np.isnan(values), 0, np.searchsorted(narrowed(edges), values, side="right"))
    cell, passed = np.zeros(len(values), np.uint8), np.empty(len(values), bool)
    for edge in narrowed(edges):
        np.greater_equal(values, edge, out=passed)
        np.add(cell, passed.view(np.uint8), out=cell)
    return cell


def narrowed(edges: Array) -> Array:
    """The smallest 32-bit numbers that are not below the edges: 32-bit values are compared exactly."""
    with np.errstate(over="ignore"):  # one beyond all 32-bit numbers is infinite
        narrow = np.asarray(edges, np.float32)
    return np.where(narrow < edges, np.nextafter(narrow, np.float32(np.inf)), narrow)


def bucket(values: Array) -> Array:
    """Rising in the value; what is no number goes into the first, where no comparison holds for it."""
    place = np.fmax(values, np.float32(0))
    np.minimum(place, BELOW_ONE, out=place)
    place *= np.float32(BUCKETS)
    return place.astype(np.intp)
