"""Exact mean distances of groups of marginals (`understudy.questions.mean_distances`)."""

from typing import Any

import numpy as np

from understudy.private.answers.counts import Exact, count_block, nothing, unit_shares
from understudy.private.mapping import Block, apply
from understudy.private.noise import NoiseSource
from understudy.questions import MeanDistances
from understudy.questions.mean_distances import FINE, Expected


def start(question: MeanDistances, width: int) -> Exact:
    """Counts of no rows."""
    return nothing(question.sizes, sorted({one.clique for group in question.groups for one in group}))


def add(question: MeanDistances, total: Exact, block: Block) -> None:
    """Add the rows of one block."""
    weights = unit_shares(block, question.grid) if question.grid > 1 else None
    count_block(apply(question.cells, block), question.sizes, total, weights)


def release(question: MeanDistances, total: Exact, noise: NoiseSource) -> list[Any]:
    """Means in steps of 1 / (|g| grid FINE), as whole numbers of any length."""
    released = []
    for group in question.groups:
        exact = sum(off(total[one.clique], one, question.grid) for one in group)
        step = len(group) * FINE * question.grid
        drawn = int(noise.draw("gaussian", step * question.deviation, (1,))[0])
        released.append((exact + drawn) / step)
    return released


def off(counts: np.ndarray, expected: Expected, grid: int) -> int:
    """How far one marginal's distance is from the one expected, in steps of the grid."""
    distance = int(np.abs(FINE * counts - grid * expected.counts).sum())
    return abs(distance - grid * expected.distance)
