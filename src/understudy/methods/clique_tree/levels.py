"""Nested cells of a column: every level joins cells of the finer one.

    ordered outcomes     the two neighbours that hold fewest rows together are joined, again and again; an outermost value of many
                         rows stays alone for as long as others can be joined
    categories           the common ones keep a cell of their own, runs of the others share one

A pair of columns is counted at the level that its rows and its noise allow. In the model a column is one node for each level
that some count uses, each linked to the next finer one.
"""

import math
from collections.abc import Iterable

import numpy as np

from understudy.measure.cells import Grouping, Node, single_values
from understudy.methods.clique_tree.tree import Link

# The first that was tried. It gains little: NIST Massachusetts at (1, 1e-5), three fits with the same noise, strong associations
# are off by 0.1115 with it and 0.1135 without, two-way distances by 0.0600 and 0.0602.
DENSER = 4.0  # times the rows per value beside it
SMALLEST = np.finfo(float).tiny  # of an outcome's width: a column that was cut twice may end with two equal edges
LADDER = (4, 8, 16, 32, 64, 128, 256)  # cells of a column at each level; twice as many halve what is lost inside a cell


def nested(node: Node, mass: np.ndarray, noise: float, most: int) -> list[Grouping]:
    """Groupings of a column's outcomes with at most 4, 8, 16, ... cells, as far as its outcomes stand out from the noise; the
    finest one has all that do if they are no more than `most`."""
    positive = np.maximum(np.asarray(mass, float), 0.0)
    finest = Neighbours(node, positive, noise) if node.ordered else Common(positive, noise)
    found: list[Grouping] = []
    for cells in LADDER:
        if found and cells > most:
            break
        found.append(finest(cells))
        if len(found) > 1 and found[-1].cells == found[-2].cells:
            found.pop()
            break
    whole = finest(most)
    if found[-1].cells < whole.cells == finest(len(mass)).cells:  # nothing is joined that need not be
        found.append(whole)
    return found


class Neighbours:
    """Neighbours joined by mass. Missing values and codes keep their cells."""

    def __init__(self, node: Node, mass: np.ndarray, noise: float) -> None:
        self.gap = node.gap
        own = mass[self.gap :]
        # first outcome of every cell, and its rows; values that are kept apart count as if they held all
        edges, sums = list(range(len(own))), list(own + own.sum() * kept_apart(node, own, noise))
        self.history: list[list[int]] = [list(edges)]
        while len(edges) > 2:
            both = np.asarray(sums[:-1]) + np.asarray(sums[1:])
            at = int(np.argmin(both))
            sums[at] += sums.pop(at + 1)
            edges.pop(at + 1)
            self.history.append(list(edges))
            if min(sums) < noise:
                self.history = [list(edges)]
        self.size = len(own)

    def __call__(self, cells: int) -> Grouping:
        edges = next((e for e in self.history if len(e) + self.gap <= cells), self.history[-1])
        cell = np.searchsorted(np.asarray(edges), np.arange(self.size), side="right") - 1
        return Grouping(np.r_[np.arange(self.gap), cell + self.gap], len(edges) + self.gap)


def kept_apart(node: Node, mass: np.ndarray, noise: float) -> np.ndarray:
    """Whether the first or last value of a number that was cut holds far more rows than those beside it.

    Nothing earned, a weight of zero for people without a household, what is cut off at a bound: such values are often of another
    kind than all others, and other columns tell them from their neighbours.
    """
    found = np.zeros(len(mass), bool)
    if node.edges is None or node.share is None or len(mass) < 3:
        return found
    single, width = single_values(node.edges, node.step), np.diff(node.edges)
    for end, beside in ((0, 1), (-1, -2)):
        usual = mass[beside] * width[end] / max(width[beside], SMALLEST)
        found[end] = single[end] and mass[end] > max(noise, DENSER * usual)
    return found


class Common:
    """Common categories, and runs of the others in the order of the schema.

    Codes of industries, diagnoses or regions are listed next to their kin, so a run of rare ones says more than one cell for all
    of them would. A run stands out from the noise as a common category does.
    """

    def __init__(self, mass: np.ndarray, noise: float) -> None:
        self.order = np.argsort(-mass, kind="stable")
        self.mass = mass
        self.common = int((mass > noise).sum()) if len(mass) > 2 else len(mass)
        rest = float(mass[self.order[self.common :]].sum())
        self.runs = 1 << max(int(math.log2(max(rest / max(noise, 1e-9), 1.0))), 0)  # as many as would stand out
        rare = np.where(np.isin(np.arange(len(mass)), self.order[: self.common]), 0.0, mass)
        passed = (np.cumsum(rare) - 0.5 * rare) / max(rest, 1e-9)
        self.place = np.minimum(
            (passed * self.runs).astype(int), self.runs - 1
        )  # the run of every category, if it is rare

    def __call__(self, cells: int) -> Grouping:
        size = len(self.mass)
        if self.common == size <= cells:
            return Grouping(np.arange(size), size)
        runs = self.runs
        while runs > 1 and runs > cells // 2:
            runs //= 2
        kept = min(self.common, cells - runs)
        cell = kept + self.place * runs // self.runs
        cell[np.sort(self.order[:kept])] = np.arange(kept)
        _, cell = np.unique(cell, return_inverse=True)
        return Grouping(cell, int(cell.max()) + 1)


def coarsen(fine: Grouping, coarse: Grouping) -> np.ndarray:
    """Which coarse cell every fine cell belongs to."""
    found = np.zeros(fine.cells, int)
    found[fine.cell] = coarse.cell
    return found


class Layout:
    """The nodes of a model: the class, and every column at each level that some count uses, coarse before fine."""

    def __init__(self, levels: list[list[Grouping]], used: Iterable[tuple[int, int]]) -> None:
        self.keys = sorted({(0, 0), *used})
        self.number = {key: place for place, key in enumerate(self.keys)}
        self.groups = [levels[column][level] for column, level in self.keys]
        self.sizes = [grouping.cells for grouping in self.groups]
        self.links = [
            Link((at, at + 1), possible(self.groups[at], self.groups[at + 1]))
            for at in range(len(self.keys) - 1)
            if self.keys[at][0] == self.keys[at + 1][0]
        ]
        self.finest = {column: place for place, (column, _) in enumerate(self.keys)}  # the last one of a column


def possible(coarse: Grouping, fine: Grouping) -> np.ndarray:
    """1 where a fine cell lies in a coarse one."""
    return np.asarray(np.arange(coarse.cells)[:, None] == coarsen(fine, coarse)[None, :], float)
