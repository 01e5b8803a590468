"""Exact counts of marginals (`understudy.questions.counts`)."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from understudy.private.mapping import Block, apply
from understudy.private.noise import IntArray, NoiseSource
from understudy.questions import Clique, Counts

Exact = dict[Clique, IntArray]
Marginal = tuple[
    Clique, tuple[int, ...], tuple[int, ...] | None
]  # a clique, the axes to add up over, its order of the others
PRESENT = (slice(1, None),) * 64  # every cell but the first, for as many nodes as a clique can have
TOGETHER = 1 << 13  # cells of marginals that are counted together: few beside the rows of a block


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
    count_block(apply(question.cells, block), question.sizes, total, weights)


def unit_shares(block: Block, grid: int) -> np.ndarray:
    """Steps that each row of a unit counts: `grid // rows of the unit`, so that a unit's steps never exceed `grid`."""
    if block.units is None:
        return np.full(len(block), grid, np.int64)
    return np.asarray(grid // np.bincount(block.units)[block.units])


def count_block(cells: np.ndarray, sizes: Sequence[int], total: Exact, weights: np.ndarray | None = None) -> None:
    """Add the rows' cells to every clique's counts; a row with a missing value is not counted there."""
    found = np.asarray(cells)
    if found.ndim != 2 or found.shape[1] != len(sizes) or found.dtype.kind != "i":
        raise RuntimeError("a map to cells must give one whole number per row and node")
    wider = [size + 1 for size in sizes]  # what is missing has a cell of its own, the first
    columns = {node: cell_numbers(found[:, node], wider[node]) for node in sorted({n for own in total for n in own})}
    prefix: tuple[Clique, np.ndarray | None] = ((), None)  # sets that begin alike follow each other
    for nodes, marginals in cover(tuple(sizes), tuple(total)):
        if prefix[0] != nodes[:-1]:
            prefix = nodes[:-1], joint(columns, wider, nodes[:-1])
        shape = tuple(wider[node] for node in nodes)
        number = fused(prefix[1], columns[nodes[-1]], math.prod(shape), shape[-1])
        counts = np.bincount(number, weights, math.prod(shape)).reshape(shape)
        if weights is not None:
            counts = np.rint(counts).astype(np.int64)  # below 2^53: exact
        for clique, others, order in marginals:
            present = counts.sum(axis=others)[PRESENT[: len(clique)]]  # without rows that miss one of its values
            total[clique] += (present if order is None else present.transpose(order)).ravel()


def cell_numbers(cells: np.ndarray, size: int) -> np.ndarray:
    """One valid cell per row whatever the map returned, counted from 1; 0 where it is missing."""
    return np.asarray(np.add(np.clip(cells, -1, size - 2), 1, dtype=np.intp).astype(code_type(size)))


def code_type(cells: int) -> type[np.unsignedinteger[Any]] | type[np.intp]:
    """Short numbers are quicker."""
    return np.uint16 if cells <= 1 << 16 else np.intp


def joint(columns: dict[int, np.ndarray], sizes: Sequence[int], nodes: Clique) -> np.ndarray | None:
    """The number of a combination of cells, the last node's counting fastest."""
    number, cells = None, 1
    for node in nodes:
        cells *= sizes[node]
        number = fused(number, columns[node], cells, sizes[node])
    return number


def fused(before: np.ndarray | None, last: np.ndarray, cells: int, size: int) -> np.ndarray:
    """The same with one node more, which makes `cells` combinations."""
    if before is None:
        return last
    number: np.ndarray = np.multiply(before, size, dtype=code_type(cells))
    np.add(number, last, out=number)
    return number


@lru_cache(maxsize=64)
def cover(sizes: tuple[int, ...], cliques: tuple[Clique, ...]) -> list[tuple[Clique, list[Marginal]]]:
    """Sets of nodes with few enough cells to be counted together, and the cliques that are sums over each: three pairs of
    sixteen cells cost little more than one. Greedy: a set grows by the node that brings most cliques."""
    masks: dict[int, list[Clique]] = {}
    left: dict[int, set[int]] = {}  # by node
    for clique in cliques:
        masks.setdefault(mask := sum(1 << node for node in clique), []).append(clique)
        for node in clique:
            left.setdefault(node, set()).add(mask)
    found: list[tuple[Clique, list[Marginal]]] = []
    for mask, alike in masks.items():
        if mask not in left[alike[0][0]]:
            continue
        nodes = grown(alike[0], sizes, left)
        whole = sum(1 << node for node in nodes)
        own = {one for node in nodes for one in left[node] if not one & ~whole}
        for node in nodes:
            left[node] -= own
        within = tuple(sorted(nodes))
        found.append((within, [marginal(clique, within) for one in own for clique in masks[one]]))
    return sorted(found, key=lambda one: one[0])


def grown(nodes: Clique, sizes: tuple[int, ...], left: dict[int, set[int]]) -> Clique:
    """A set of nodes with others, as long as they bring cliques and their cells are few."""
    while True:
        room = TOGETHER // math.prod(sizes[node] + 1 for node in nodes)
        others = ~sum(1 << node for node in nodes)
        gain = Counter([mask & others for node in nodes for mask in left[node]])
        one_more = {new.bit_length() - 1: times for new, times in gain.items() if new and not new & (new - 1)}
        fits = {node: times for node, times in one_more.items() if sizes[node] < room}
        if not fits:
            return nodes
        nodes = (*nodes, max(fits, key=lambda node: (fits[node], -sizes[node], node)))


def marginal(clique: Clique, nodes: Clique) -> Marginal:
    """How a clique's counts follow from those of a set of nodes around it."""
    order = None if list(clique) == sorted(clique) else tuple(np.argsort(np.argsort(clique)).tolist())
    return clique, tuple(place for place, node in enumerate(nodes) if node not in clique), order


def release(question: Counts, total: Exact, noise: NoiseSource) -> list[Any]:
    """The tables with exact integer noise."""
    released = []
    for table, deviation in zip(question.tables, question.deviations, strict=True):
        counts = sum((total[clique] for clique in table[1:]), total[table[0]])
        noisy = counts + noise.draw(question.noise, question.grid * deviation, counts.shape)
        released.append((noisy if question.grid == 1 else noisy / question.grid).tolist())
    return released
