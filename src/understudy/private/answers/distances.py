"""Exact distances of marginals from what is known of them (`understudy.questions.distances`)."""

from typing import Any

import numpy as np

from understudy.private.answers.counts import Exact, count_block, nothing, unit_shares
from understudy.private.mapping import Block, apply
from understudy.private.noise import NoiseSource
from understudy.questions import Distances
from understudy.questions.distances import FINE, Blocks, Known


def start(question: Distances, width: int) -> Exact:
    """Counts of no rows."""
    return nothing(question.sizes, list(dict.fromkeys(question.cliques)))


def add(question: Distances, total: Exact, block: Block) -> None:
    """Add the rows of one block."""
    weights = unit_shares(block, question.grid) if question.grid > 1 else None
    count_block(apply(question.cells, block), question.sizes, total, weights)


def release(question: Distances, total: Exact, noise: NoiseSource) -> list[Any]:
    """Distances in steps of 1 / (grid FINE), as whole numbers."""
    pairs = zip(question.cliques, question.known, strict=True)
    exact = np.asarray([distance(total[clique], known, question.grid) for clique, known in pairs], np.int64)
    noisy = exact + noise.draw("gaussian", FINE * question.grid * question.deviation, exact.shape)
    return (noisy / (FINE * question.grid)).tolist()  # type: ignore[no-any-return]


def distance(counts: np.ndarray, known: Known, grid: int) -> int:
    """How far counts are from what is known, in steps of the grid."""
    if isinstance(known, Blocks):
        whole = np.zeros(int(known.block.max(initial=0)) + 1, np.int64)
        np.add.at(whole, known.block, counts)
        expected = known.share * whole[known.block]
    else:
        expected = FINE * grid * np.asarray(known, np.int64).ravel()
    return int(np.abs(FINE * counts - expected).sum())
