"""Draws from many small distributions at once: two look-ups a draw, however many outcomes there are (Walker 1977, Vose 1991).

A distribution over k outcomes becomes k buckets of the same probability, each shared by two outcomes:

    s = k U,  bucket b = floor(s)        outcome = b if s < edge[b], else other[b]

The buckets of all rows of a table lie one after the other. Outcomes without weight are never drawn; probabilities are right to
about 2^-24, the resolution of a 32-bit uniform number. There is nothing but NumPy's random numbers, look-ups and single additions
and products, so that draws are the same on every processor.
"""

from typing import NamedTuple

import numpy as np


class Alias(NamedTuple):
    """Tables of the rows of a matrix of weights."""

    size: int  # outcomes of a row
    edge: np.ndarray  # float32 [rows * size]: bucket + the part of it that is its own outcome's
    outcome: np.ndarray  # int64 [2 * rows * size]: the bucket's own outcome, and the other one

    def draw(self, row: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """One outcome from each of these rows (int64, as the answer is)."""
        if self.size == 1:
            return np.zeros_like(row)
        place = random.random(len(row), dtype=np.float32)
        place *= np.float32(self.size)  # below `size`, also rounded: U is at most 1 - 2^-24
        bucket = place.astype(np.int64)
        bucket += row * self.size
        other = place >= self.edge.take(bucket, mode="clip")  # `clip` spares NumPy a copy; nothing is clipped
        bucket += bucket
        bucket += other
        return self.outcome.take(bucket, mode="clip")


def alias(weights: np.ndarray) -> Alias:
    """The tables of a matrix of weights [rows, outcomes]; a row without any weight is taken as even."""
    rows, size = weights.shape
    weights = np.maximum(weights.astype(np.float64), 0.0)
    weights[weights.sum(axis=1) <= 0.0] = 1.0
    order = np.argsort(weights, axis=1, kind="stable")
    left = np.take_along_axis(weights, order, axis=1) * (size / weights.sum(axis=1))[:, None]
    own, other = np.ones((rows, size)), np.tile(np.arange(size), (rows, 1))
    every, low, high = np.arange(rows), np.zeros(rows, np.int64), np.full(rows, size - 1)
    for _ in range(size - 1):  # each time one outcome gets its bucket, which the largest one left fills up
        spent = left[every, high] < 1.0
        closed, donor = np.where(spent, high, low), np.where(spent, high - 1, high)
        share = np.clip(left[every, closed], 0.0, 1.0)
        own[every, closed], other[every, closed] = share, donor
        left[every, donor] -= 1.0 - share
        low, high = low + ~spent, high - spent
    back = np.argsort(order, axis=1)
    own = np.take_along_axis(own, back, axis=1)
    other = np.take_along_axis(np.take_along_axis(order, other, axis=1), back, axis=1)
    # Rounding must not bring back what has no weight.
    own[weights == 0.0] = 0.0
    other = np.where(np.take_along_axis(weights, other, axis=1) > 0.0, other, weights.argmax(axis=1)[:, None])
    bucket = np.broadcast_to(np.arange(size), (rows, size))
    edge = (bucket + own).astype(np.float32)
    return Alias(size, edge.ravel(), np.stack([bucket, other], axis=2).astype(np.int64).ravel())
