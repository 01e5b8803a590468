"""Rows fitted to the counts of pairs that the clique tree has no room for, without touching what the tree holds.

Cut the tree above a node v: the nodes below the cut meet the others in the separator S_v alone. Two rows with the same cells
in S_v may therefore exchange all their cells below the cut: **every count of the tree's cliques stays as it is**, and with it
all that rows drawn with little chance have right. What changes are pairs across the cut, which the tree has only as its
separators imply. For a table t beside the tree with C_c rows in its cells and the target Y_c = n p_c

    L = sum_t sum_c (C_c - Y_c)^2 / v_c,        v_c = Y_c + (n s_t / N)^2 + 1

weighs a cell by the variance of a draw and of its noise (deviation s_t on counts of N units). A sweep takes one cut, makes
pairs of rows that agree in its separator, and exchanges those for which L falls.

**When it ends.** Rows nearer to noisy counts than these are to the truth follow the noise (the discrepancy principle of
Morozov), so rounds of sweeps over all cuts end once the mean of |C - Y| falls below `NEAR_ENOUGH` of the mean deviation, or a
round takes less than `LITTLE` of L. With a small budget that is one round or two, with a large one as many as it takes.

All of it is post-processing of released counts. Few rows are not refined (`LEAST_ROWS`): tables of a hundred cells say nothing
about them.
"""

import math
from typing import NamedTuple

import numpy as np

from understudy.methods.clique_tree.shuffle import shuffled, words

LEAST_ROWS = 1000  # rows
BLOCKS = 128  # of exchanges in a sweep; those of one block are judged at once, by the counts before any of them
SWEEPS = 4  # per cut and round
ROUNDS = 12  # at most
# Adult, one fit at epsilon 100: strong associations are off by 0.008, 0.004 and 0.002 after 1, 4 and 12 rounds (pairs by 0.0067,
# 0.0060, 0.0056); at epsilon 1, six fits each, pairs by 0.0209 after one round and 0.0214 where only `LITTLE` ended them.
NEAR_ENOUGH = 0.5
LITTLE = 0.05
PIECE = 1 << 19  # cells of tables that are looked up at a time: what is in use stays in the cache


class Targets(NamedTuple):
    """Tables of pairs that rows are fitted to, one after the other in flat arrays."""

    left: np.ndarray  # [tables] first node
    right: np.ndarray  # [tables] second node
    stride: np.ndarray  # [tables] cells of the second node
    begin: np.ndarray  # [tables] first cell
    share: np.ndarray  # [cells] believed share of the rows
    spread: np.ndarray  # [cells] deviation of its noise

    def counts(self, cells: np.ndarray) -> np.ndarray:
        """Rows in the cells of all tables."""
        found = np.zeros(len(self.share))
        for left, right, stride, begin in zip(*(part.tolist() for part in self[:4]), strict=True):
            found += np.bincount(begin + cells[:, left] * stride + cells[:, right], minlength=len(found))
        return found


class TreeCuts(NamedTuple):
    """Where the tree can be cut: separators as in `generator.Network`, and which nodes lie below."""

    parents: np.ndarray  # [cuts, parents]
    strides: np.ndarray  # [cuts, parents]
    below: np.ndarray  # [cuts, nodes] 1: is exchanged


class TreeCut(NamedTuple):
    """One of them, and the tables that it goes through: an exchange leaves the others as they are."""

    separator: tuple[tuple[int, int], ...]  # nodes and strides
    under: np.ndarray  # nodes that are exchanged
    below: np.ndarray  # [tables] the table's node below the cut
    above: np.ndarray  # and the other one
    step_below: np.ndarray  # from one cell of that node to the next
    step_above: np.ndarray
    begin: np.ndarray

    @classmethod
    def of(cls, parents: np.ndarray, strides: np.ndarray, under: np.ndarray, targets: Targets) -> "TreeCut":
        """A cut above these nodes."""
        left, right = under[targets.left] > 0, under[targets.right] > 0
        one = np.ones_like(targets.stride)
        found = (
            np.where(left, targets.left, targets.right),
            np.where(left, targets.right, targets.left),
            np.where(left, targets.stride, one),
            np.where(left, one, targets.stride),
            targets.begin,
        )
        separator = tuple((int(p), int(n)) for p, n in zip(parents, strides, strict=True) if n)
        return cls(separator, np.flatnonzero(under), *(part[left != right].astype(np.int32) for part in found))

    def given(self, cells: np.ndarray) -> np.ndarray:
        """One number for the cells of the separator, in every row."""
        found = np.zeros(len(cells), np.int32)
        for node, stride in self.separator:
            found += stride * cells[:, node]
        return found

    def places(self, pairs: np.ndarray, nowhere: int) -> np.ndarray:
        """For pairs of rows [pairs, 2, nodes] the cells that gain a row by an exchange, then those that lose one, in all tables;
        `nowhere` where nothing changes: [pairs, 4 tables]."""
        one, two = pairs[:, 0], pairs[:, 1]
        a_one, a_two = (self.step_below * row.take(self.below, axis=1) + self.begin for row in (one, two))
        b_one, b_two = (self.step_above * row.take(self.above, axis=1) for row in (one, two))
        found = np.stack([a_two + b_one, a_one + b_two, a_one + b_one, a_two + b_two], axis=1)
        same = (a_one == a_two) | (b_one == b_two)
        found[np.broadcast_to(same[:, None], found.shape)] = nowhere
        return found.reshape(len(pairs), -1)


class Fitted:
    """Where rows may be exchanged, and what for."""

    def __init__(self, cuts: TreeCuts, targets: Targets) -> None:
        every = [TreeCut.of(*cut, targets) for cut in zip(*cuts, strict=True)] if len(targets.left) else []
        self.cuts, self.targets = [cut for cut in every if len(cut.below)], targets

    def refine(self, cells: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """The same cells in every clique of the tree, exchanged between rows so that the targets are met: [rows, nodes]."""
        if not self.cuts:
            return cells
        rows, sweeps = len(cells), SWEEPS * len(self.cuts)
        wanted, noise = (np.asarray(part, float) * rows for part in (self.targets.share, self.targets.spread))
        weight = 1.0 / (wanted + noise**2 + 1.0)
        slope = 2.0 * weight * (self.targets.counts(cells) - wanted)
        # one row more in a cell changes L by weight + slope, one less by weight - slope; the last cell is nowhere
        weight, slope = np.append(weight, 0.0), np.append(slope, 0.0)
        row, loss = np.arange(rows), math.inf
        for _ in range(ROUNDS):
            each = random.permutation(np.arange(sweeps)) // SWEEPS
            for number, chance in zip(each.tolist(), words(random, sweeps), strict=True):
                cells, row = self.sweep(self.cuts[number], weight, slope, cells, row, chance)
            off = 0.5 * slope[:-1] / weight[:-1]
            before, loss = loss, float(off @ (weight[:-1] * off))
            if np.abs(off).sum() < NEAR_ENOUGH * noise.sum() or loss > (1.0 - LITTLE) * before:
                break
        found = np.empty_like(cells)
        found[row] = cells
        return found

    def sweep(
        self,
        cut: TreeCut,
        weight: np.ndarray,
        slope: np.ndarray,
        cells: np.ndarray,
        row: np.ndarray,
        chance: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Exchanges through one cut; `slope` is changed in place. Rows and their numbers, in the order of the pairs."""
        cells, row, agree = paired(cells, row, cut.given(cells), chance)
        pairs = cells[: 2 * len(agree)].reshape(len(agree), 2, -1)  # a view
        taken = exchanged(cut, weight, slope, pairs, np.flatnonzero(agree))
        one, two = (pairs[taken[:, None], place, cut.under] for place in (0, 1))
        pairs[taken[:, None], 0, cut.under], pairs[taken[:, None], 1, cut.under] = two, one
        return cells, row


def paired(
    cells: np.ndarray, row: np.ndarray, given: np.ndarray, chance: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whole rows with the same separator next to each other, at random among them; whether the two of each pair agree in it."""
    at = shuffled(given, chance)
    pairs = given[at[: len(at) // 2 * 2]].reshape(-1, 2)
    return cells.take(at, axis=0), row[at], pairs[:, 0] == pairs[:, 1]


def exchanged(cut: TreeCut, weight: np.ndarray, slope: np.ndarray, pairs: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Which of some pairs exchange what is below the cut, block by block; `slope` is changed in place."""
    tables = len(cut.below)
    block = max(-(-len(some) // BLOCKS), 1)
    piece = block * max(PIECE // (4 * tables * block), 1)
    sign = np.repeat([1.0, -1.0], 2 * tables)
    found = []
    for first in range(0, len(some), piece):
        own = some[first : first + piece]
        places = cut.places(pairs[own], len(slope) - 1)
        heavy = weight.take(places)
        least, moved = heavy.sum(axis=1), heavy * (2.0 * sign)
        for at in range(0, len(own), block):
            now = slice(at, at + block)
            better = least[now] + slope.take(places[now]) @ sign < 0.0
            if better.any():
                np.add.at(slope, places[now][better], moved[now][better])
                found.append(own[now][better])
    return np.concatenate([np.zeros(0, int), *found])
