"""In which cell is a number: how many of a column's edges are at or below it, for a whole column at a time.

Searching for each value is slow, and comparing a column with each of a hundred edges is not much quicker. So the line is cut
into buckets b(x) first, by a rising function that a processor computes for many numbers at once:

    edges at or below x  =  edges e with b(e) < b(x)   (a table)  +  edges e <= x with b(e) = b(x)   (seldom more than one or two)

Both are exact: x < e in another bucket means b(x) < b(e). Buckets are equally wide, or, where edges crowd near 0 as those of
skewed columns do, equally wide on the scale of the number's exponent: its leading bits. Values in a bucket with many edges are
searched for one by one. Tables come from the edges alone.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = Any
BUCKETS = 4096  # a power of two, so that scaling by it is exact
FEW = 24  # edges that are compared one by one
BELOW_ONE = np.nextafter(np.float32(1), np.float32(0))
LEAST = np.finfo(np.float32).tiny  # numbers below are in its bucket, 0 of either sign among them
LOW_BITS = 16  # of a number's 32 that its bucket does not look at
MOST = 65_535  # edges that a guide counts
MOST_SHARED = 4  # edges in one bucket; beyond, its values are searched for


Buckets = Callable[[Array], Array]


class Guide(NamedTuple):
    """Of every bucket: how many edges lie in lower ones, the edges in it, row after row, NaN where there are no more, and whether
    there are too many for that."""

    bucket: Buckets
    below: Array
    own: Array
    crowded: Array | None
    edges: Array


def guide(edges: Array) -> Guide | None:
    """None where the edges are so few or many that there is nothing to gain."""
    if not FEW < len(edges) <= MOST:
        return None
    narrow = narrowed(edges)
    bucket = min((by_value, by_bits), key=lambda b: crowd(np.bincount(b(narrow))))
    times = np.bincount(bucket(narrow), minlength=int(bucket(np.ones(1, np.float32))[0]) + 1)
    below, crowded = np.cumsum(times) - times, times > MOST_SHARED
    own = np.full((np.where(crowded, 0, times).max(), len(times)), np.nan, np.float32)  # no value is beyond it
    for turn in range(len(own)):
        some = (times > turn) & ~crowded
        own[turn, some] = narrow[below[some] + turn]
    return Guide(bucket, below.astype(np.uint16), own, crowded if crowded.any() else None, narrow)


def crowd(times: Array) -> tuple[int, int]:
    """What to avoid: edges in crowded buckets, then edges that share one."""
    return int(times[times > MOST_SHARED].sum()), int(times[times <= MOST_SHARED].max(initial=0))


def how_many_below(values: Array, edges: Array, known: Guide | None = None) -> Array:
    """For each value how many of the rising `edges` are at or below it; 0 for what is no number. `known`: their guide."""
    if values.dtype != np.float32:
        return search(values, edges)
    if known is not None:
        place = known.bucket(values)
        cell = known.below.take(place)
        for own in known.own:
            cell += values >= own.take(place)
        if known.crowded is not None:
            some = np.flatnonzero(known.crowded.take(place))
            cell[some] = search(values[some], known.edges)
        return cell
    if len(edges) > FEW:
        return search(values, narrowed(edges))
    cell, passed = np.zeros(len(values), np.uint8), np.empty(len(values), bool)
    for edge in narrowed(edges):
        np.greater_equal(values, edge, out=passed)
        np.add(cell, passed.view(np.uint8), out=cell)
    return cell


def search(values: Array, edges: Array) -> Array:
    """The definition."""
    return np.where(np.isnan(values), 0, np.searchsorted(edges, values, side="right"))


def narrowed(edges: Array) -> Array:
    """The smallest 32-bit numbers that are not below the edges: 32-bit values are compared exactly."""
    with np.errstate(over="ignore"):  # one beyond all 32-bit numbers is infinite
        narrow = np.asarray(edges, np.float32)
    return np.where(narrow < edges, np.nextafter(narrow, np.float32(np.inf)), narrow)


def by_value(values: Array) -> Array:
    """Rising in the value; what is no number goes into the first, where no comparison holds for it."""
    place = inside(values)
    place *= np.float32(BUCKETS)
    return place.astype(np.intp)


def by_bits(values: Array) -> Array:
    """The same by the leading bits, which for positive numbers rise with them."""
    return (inside(values).view(np.int32) >> LOW_BITS).astype(np.intp)


def inside(values: Array) -> Array:
    """Cut off at both ends of the buckets."""
    place = np.fmax(values, LEAST)
    return np.minimum(place, BELOW_ONE, out=place)
