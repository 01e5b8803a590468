"""Exact counts of marginals (`understudy.questions.counts`)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from understudy.private.mapping import Block, apply
from understudy.private.noise import IntArray, NoiseSource
from understudy.questions import Clique, Counts

Exact = dict[Clique, IntArray]
PIECE = 16_384  # rows at a time, so that a column stays in the processor's cache


def cliques(question: Counts) -> list[Clique]:
    """The marginals that are counted, each once."""
    return list(dict.fromkeys(clique for table in question.tables for clique in table))


def start(question: Counts, width: int) -> Exact:
    """Counts of no rows."""
    return nothing(question.sizes, cliques(question))


def nothing(sizes: Sequence[int], wanted: Sequence[Clique]) -> Exact:
    """Zeros of the shape of every marginal."""
    return {clique: np.zeros(math.prod(sizes[node] for node in clique), np.int64) for clique in wanted}


def add(question: Counts, total: Exact, block: Block) -> None:
    """Add the rows of one block."""
    weights = unit_shares(block, question.grid) if question.grid > 1 else None
    count_block(cell_numbers(apply(question.cells, block), question.sizes), question.sizes, total, weights)


def cell_numbers(cells: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """One valid cell per row and node, or -1, whatever the map returned."""
    found = np.asarray(cells)
    if found.ndim != 2 or found.shape[1] != len(sizes) or found.dtype.kind != "i":
        raise RuntimeError("a map to cells must give one whole number per row and node")
    return np.asarray(np.clip(found, -1, np.asarray(sizes, found.dtype)[None, :] - 1))


def unit_shares(block: Block, grid: int) -> np.ndarray:
    """Steps that each row of a unit counts: `grid // rows of the unit`, so that a unit's steps never exceed `grid`."""
    if block.units is None:
        return np.full(len(block), grid, np.int64)
    return np.asarray(grid // np.bincount(block.units)[block.units])


def count_block(cells: np.ndarray, sizes: Sequence[int], total: Exact, weights: np.ndarray | None = None) -> None:
    """Add the rows' cells to every clique's counts; a row with a missing value is not counted there."""
    for first in range(0, len(cells), PIECE):
        own = None if weights is None else weights[first : first + PIECE]
        count_piece(np.asfortranarray(cells[first : first + PIECE], np.int64), sizes, total, own)


def count_piece(cells: np.ndarray, sizes: Sequence[int], total: Exact, weights: np.ndarray | None) -> None:
    """`count_block` for rows that fit into the processor's cache."""
    absent = np.asarray((cells < 0).any(axis=0))
    prefix: tuple[Clique, np.ndarray | None] = ((), None)  # cliques that begin alike follow each other
    for clique, counts in total.items():
        if prefix[0] != clique[:-1]:
            prefix = clique[:-1], joint(cells, sizes, clique[:-1])
        last = cells[:, clique[-1]]
        number = last if prefix[1] is None else prefix[1] * sizes[clique[-1]] + last
        own = weights
        if absent[list(clique)].any():
            kept = (cells[:, list(clique)] >= 0).all(axis=1)
            number, own = number[kept], None if weights is None else weights[kept]
        found = np.bincount(number, own, minlength=len(counts))
        counts += found if own is None else np.rint(found).astype(np.int64)  # below 2^53: exact


def joint(cells: np.ndarray, sizes: Sequence[int], nodes: Clique) -> np.ndarray | None:
    """The number of a combination of cells, the last node's counting fastest."""
    if not nodes:
        return None
    number = cells[:, nodes[0]]
    for node in nodes[1:]:
        number = number * sizes[node] + cells[:, node]
    return number


def release(question: Counts, total: Exact, noise: NoiseSource) -> list[Any]:
    """The tables with exact integer noise."""
    released = []
    for table, deviation in zip(question.tables, question.deviations, strict=True):
        counts = sum((total[clique] for clique in table[1:]), total[table[0]])
        noisy = counts + noise.draw("gaussian", question.grid * deviation, counts.shape)
        released.append((noisy if question.grid == 1 else noisy / question.grid).tolist())
    return released
