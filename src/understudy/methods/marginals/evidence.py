"""What a condition says about the outcomes of a column: how much of each is allowed, and which part of its interval.

Positions are those of the encoded axis, [0, 1]. A range of values that lie `step` apart reaches half a step beyond its ends:
what is drawn there is rounded into it. Of any numbers a single value has no length; where nothing but single values is
allowed, each stands for the interval that holds it, and is what is drawn.

An outcome that is one number is kept in single precision, so it may lie beside the number that it stands for. It is taken
for the shortest number near it that a condition names: then it is on one side of `< 3` and `>= 3`, and the right one.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from understudy.measure.cells import spacing
from understudy.methods.marginals.conditioning import Leaf
from understudy.schema import Column
from understudy.schema.conditions import Allowed
from understudy.schema.values import quantum

Piece = tuple[float, float]


class Evidence(NamedTuple):
    """Of one column: the allowed part of every outcome, and where it lies if that is not all of its interval."""

    weights: np.ndarray
    pieces: dict[int, list[Piece]]

    def values(self, leaf: Leaf, outcomes: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """Numbers drawn evenly within what is allowed of their outcomes."""
        found = leaf.base[outcomes] + uniform * leaf.span[outcomes]
        for outcome, pieces in self.pieces.items():
            own = outcomes == outcome
            low, high = np.asarray(pieces).T
            ends = np.cumsum(high - low)
            along = uniform[own] * ends[-1] if ends[-1] > 0.0 else np.zeros(int(own.sum()))
            piece = np.minimum(np.searchsorted(ends, along, side="right"), len(pieces) - 1)
            found[own] = low[piece] + along - (ends - (high - low))[piece]
        return np.asarray(found)


def everything(leaf: Leaf) -> Evidence:
    """Nothing is known."""
    return Evidence(np.ones(len(leaf.cell)), {})


def evidence(leaf: Leaf, allowed: Allowed, named: Sequence[float], *, points: bool) -> Evidence:
    """What a condition says about a column. `named`: numbers at which it or others on the column end. `points`: single values
    stand for their intervals where nothing else is allowed; otherwise they have their probability, which is 0.
    """
    column = allowed.column
    if not allowed.numeric:
        return Evidence(np.asarray([value in allowed.outcomes for value in column.outcomes], float), {})
    gap = len(column.specials)
    weights, pieces = np.zeros(len(leaf.cell)), {}
    weights[:gap] = [allowed.missing if code is None else code in allowed.outcomes for code in column.specials]
    lengths, single_points = ranges_of(allowed)
    single = single_outcomes(leaf, column)
    for outcome in range(gap, len(weights)):
        low, high = leaf.base[outcome], leaf.base[outcome] + leaf.span[outcome]
        if single[outcome]:
            weights[outcome] = includes(allowed, leaf.base[outcome], named)
            continue
        parts = [(max(a, low), min(b, high)) for a, b in lengths if max(a, low) < min(b, high)]
        weights[outcome] = min(sum(b - a for a, b in parts) / (high - low), 1.0)
        if 0.0 < weights[outcome] < 1.0 - 1e-12:
            pieces[outcome] = parts
    if points and single_points and not lengths and not weights[gap:].any():
        for point, _ in single_points:
            outcome = int(outcome_of(leaf, column, np.asarray([point]))[0])
            weights[outcome] = 1.0
            pieces.setdefault(outcome, []).append((point, point))
    return Evidence(weights, pieces)


def ends_of(conditions: Iterable[Allowed]) -> list[float]:
    """The numbers at which conditions on one column begin or cease to hold, on either side."""
    return sorted({end for one in conditions for own in (one, ~one) for pair in own.ranges for end in pair})


def includes(allowed: Allowed, place: float, named: Sequence[float]) -> bool:
    """Whether an outcome that is one number is allowed."""
    lower, width = scale(allowed.column)
    number, near = lower + width * place, width * tolerance(place, allowed.column)
    close = [end for end in named if abs(end - number) <= near]
    if close:
        meant = min(close, key=lambda end: (len(repr(end)), abs(end - number)))
        return any(low <= meant <= high for low, high in allowed.ranges)
    half = 0.5 * quantum(allowed.column)
    return any(low - half <= number <= high + half for low, high in allowed.ranges)


def ranges_of(allowed: Allowed) -> tuple[list[Piece], list[Piece]]:
    """Ranges with a length, and single points, on the encoded axis."""
    lower, width = scale(allowed.column)
    half = 0.5 * quantum(allowed.column) / width
    found = [((a - lower) / width - half, (b - lower) / width + half) for a, b in allowed.ranges]
    return [one for one in found if one[0] < one[1]], [one for one in found if one[0] >= one[1]]


def scale(column: Column) -> tuple[float, float]:
    """Lower bound, and the length that is encoded as 1."""
    lower, upper = column.bounds
    return lower, max(upper - lower, 1e-300) if column.kind != "ordinal" else max(upper, 1.0)


def single_outcomes(leaf: Leaf, column: Column) -> np.ndarray:
    """Which outcomes are one number; missing values and codes are none."""
    found = leaf.span == 0.0
    found[: len(column.specials)] = False
    return np.asarray(found)


def tolerance(place: float, column: Column) -> float:
    """How far an encoded value may be from the number that it stands for."""
    return 1e-9 if quantum(column) else 2.0 * float(spacing(np.asarray(place)))


def outcome_of(leaf: Leaf, column: Column, places: np.ndarray) -> np.ndarray:
    """The outcome that holds each encoded number: a value of its own if there is one, else the interval."""
    single = np.flatnonzero(single_outcomes(leaf, column))
    spread = np.flatnonzero(leaf.span > 0.0)
    half = 0.5 * quantum(column) / scale(column)[1]
    found = np.full(len(places), -1)
    if spread.size:
        order = spread[np.argsort(leaf.base[spread])]
        found = order[np.clip(np.searchsorted(leaf.base[order], places, side="right") - 1, 0, None)]
    if single.size:
        order = single[np.argsort(leaf.base[single])]
        right = np.clip(np.searchsorted(leaf.base[order], places), 0, len(order) - 1)
        left = np.clip(right - 1, 0, None)
        closer = np.abs(leaf.base[order[left]] - places) <= np.abs(leaf.base[order[right]] - places)
        near = order[np.where(closer, left, right)]
        reach = np.maximum(half, 2.0 * spacing(leaf.base[near]))
        found = np.where((np.abs(leaf.base[near] - places) <= reach) | (found < 0), near, found)
    return found


def cell_of(leaf: Leaf, outcomes: np.ndarray) -> np.ndarray:
    """The cells of outcomes; an outcome that the model believes empty counts to the cell of the one before it."""
    known = np.where(leaf.cell >= 0, np.arange(len(leaf.cell)), -1)
    filled = np.maximum.accumulate(known)
    filled[filled < 0] = int(np.argmax(leaf.cell >= 0))
    return np.asarray(leaf.cell[filled[outcomes]])
