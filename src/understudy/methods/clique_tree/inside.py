"""Where inside its cell a number lies: rows fitted to smooth tables of the counted pairs, without touching any count.

Pairs are counted in few cells, and numbers drawn independently inside them lose what goes on there: a fraud lies in the outer
hundredth of a column and shares its cell with a quarter of all rows, and outliers come together. But dependence mostly changes
smoothly. With p_ab the share of drawn rows in the cells a and b of a counted pair, and p_a, p_b those of its columns,

    g_ab = log((p_ab + e) / (p_a p_b + e)),       e: noise of a share, and one row

is taken to hold in the middle of a cell. Between the middles, and beyond the outermost ones, g is linear in the normal scores of
both columns, as it is where both are normal together. Fine cells x, y then have p_x p_y exp(g_xy), raked to the p_ab and to the
columns' own p_x, p_y.

Two rows in the same cell of a column may exchange where inside it they lie: **every count of cells stays as it is**, and so
does the column by itself. As for pairs beside the tree (`refine.py`), exchanges are made that bring fine cells of pairs nearer to
their shares, until they are as near as noise lets them be known; of a cell's noise a fine cell has its share. Cells that are no
numbers, and values that have a cell of their own, are of another kind than those beside them: they stand for themselves.

All of it is post-processing of released counts. Few rows are not fitted (`refine.LEAST_ROWS`).
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from understudy.methods.clique_tree.refine import Fitted, Targets, TreeCuts

# Fine cells: so many of equal mass, and so many on either side that end with 1/32, 1/64, ... of the rows. The finest grid with
# which all tables together have no more than `MOST` cells is taken. These and the others below are the first that were tried
# (credit at epsilon 1 and 10); of scores, those of logarithms of the tail were tried besides (docs/clique-tree.md).
GRIDS = ((16, 6), (8, 5), (4, 3))
MOST = 1 << 20
RAKES = 15
FARTHEST = 4.0  # of g, either way


class Counted(NamedTuple):
    """Pairs of nodes that were counted, and the deviation of the noise on a share of the rows."""

    left: np.ndarray
    right: np.ndarray
    noise: np.ndarray


NONE = Counted(np.zeros(0, int), np.zeros(0, int), np.zeros(0))


class ColumnOutcomes(NamedTuple):
    """A column's outcomes, those that are no numbers first: the cell of each, its share of that, and whether it is a range."""

    cell: np.ndarray
    share: np.ndarray
    numbers: np.ndarray
    wide: np.ndarray


class Fine(NamedTuple):
    """A column cut into fine cells."""

    of: np.ndarray  # [outcomes] their fine cell
    cell: np.ndarray  # [fine] the cell that holds each
    shares: np.ndarray  # [fine] of the rows
    numbers: np.ndarray  # [fine] whether it holds numbers
    alone: np.ndarray  # [fine] whether it is a single value


class Side(NamedTuple):
    """One side of a pair's table: what the g of its cells is worth for every fine cell."""

    weights: np.ndarray  # [fine, cells]
    cell: np.ndarray  # [fine]
    shares: np.ndarray  # [fine]


class Table(NamedTuple):
    """A counted pair, and the numbers of its columns that have fine cells."""

    nodes: tuple[int, int]
    columns: tuple[int | None, int | None]
    noise: float


def best_known(counted: Counted, sizes: np.ndarray, column: np.ndarray) -> Counted:
    """Of pairs that were counted twice the finer table; `column` of every node."""
    finest: dict[tuple[int, int], tuple[int, int]] = {}
    for number, (a, b) in enumerate(zip(counted.left.tolist(), counted.right.tolist(), strict=True)):
        key = int(column[a]), int(column[b])
        finest[key] = max(finest.get(key, (0, -1)), (int(sizes[a] * sizes[b]), number))
    kept = sorted(number for _, number in finest.values())
    return Counted(*(part[kept] for part in counted))


def cut(column: ColumnOutcomes, cells: np.ndarray, grid: tuple[int, int]) -> Fine:
    """Fine cells inside the cells of a column, of which these are the shares."""
    even, tails = grid
    ends = 0.5 ** np.arange(5, 5 + tails)
    edges = np.unique(np.concatenate([np.arange(1, even) / even, ends, 1.0 - ends]))
    own = column.share * cells[column.cell]
    number = own * column.numbers
    middle = (np.cumsum(number) - 0.5 * number) / max(float(number.sum()), 1e-12)
    part = np.searchsorted(edges, middle) * column.numbers
    _, first, of = np.unique(column.cell * (len(edges) + 1) + part, return_index=True, return_inverse=True)
    alone = (np.bincount(of) == 1) & ~column.wide[first]
    return Fine(of, column.cell[first], np.bincount(of, own), column.numbers[first], alone)


def side_of(fine: Fine, coarser: np.ndarray) -> Side:
    """Of a table that counts the column in coarser cells: each is one of these."""
    cell = coarser[fine.cell]
    count = int(cell.max()) + 1
    shares, numbers = np.bincount(cell, fine.shares, count), np.bincount(cell, fine.numbers, count) > 0
    value = (np.bincount(cell, fine.alone, count) > 0) & (np.bincount(cell, minlength=count) == 1)
    weights, known = np.eye(count)[cell], np.flatnonzero(numbers & ~value & (shares > 0.0))
    at = np.flatnonzero(fine.numbers & ~value[cell])
    if len(known) > 1 and len(at):
        middle, place = np.zeros(count), np.zeros(len(cell))
        middle[numbers] = scores(shares[numbers])
        place[fine.numbers] = scores(fine.shares[fine.numbers])
        below = np.clip(np.searchsorted(middle[known], place[at]) - 1, 0, len(known) - 2)
        low, high = known[below], known[below + 1]
        part = (place[at] - middle[low]) / np.maximum(middle[high] - middle[low], 1e-3)
        weights[at] = 0.0
        weights[at, low], weights[at, high] = 1.0 - part, part
    return Side(weights, cell, fine.shares)


def scores(shares: np.ndarray) -> np.ndarray:
    """Normal scores of the middles of cells in rising order."""
    own = shares / max(float(shares.sum()), 1e-12)
    return np.asarray(ndtri(np.clip(np.cumsum(own) - 0.5 * own, 1e-6, 1.0 - 1e-6)))


def shares_of(left: np.ndarray, rows: int, right: np.ndarray, columns: int) -> np.ndarray:
    """Of a pair's cells, at least so many on either side."""
    rows, columns = max(rows, int(left.max()) + 1), max(columns, int(right.max()) + 1)
    counts = np.bincount(left * columns + right, minlength=rows * columns)
    return np.asarray(counts.reshape(rows, columns) / len(left))


def smooth(table: np.ndarray, error: float, left: Side, right: Side) -> np.ndarray:
    """Shares of fine cells from those of the cells that were counted."""
    alone = np.outer(table.sum(axis=1), table.sum(axis=0))
    known = np.log((table + error) / (alone + error))
    between = np.clip(left.weights @ known @ right.weights.T, -FARTHEST, FARTHEST)
    found = np.exp(between) * np.outer(left.shares, right.shares)
    blocks = np.eye(len(table))[left.cell], np.eye(table.shape[1])[right.cell]
    for _ in range(RAKES):
        found = found * ratio(left.shares, found.sum(axis=1))[:, None]
        found = found * ratio(right.shares, found.sum(axis=0))
        found = found * ratio(table, blocks[0].T @ found @ blocks[1])[np.ix_(left.cell, right.cell)]
    return np.asarray(found)


def ratio(wanted: np.ndarray, found: np.ndarray) -> np.ndarray:
    """What to multiply by; nothing where nothing is."""
    return np.asarray(np.divide(wanted, found, out=np.zeros_like(found), where=found > 1e-15))


class Inside:
    """Moves rows about inside their cells. `shown`: the node of every column, and its outcomes if it is a number."""

    def __init__(
        self, counted: Counted, shown: Sequence[int], columns: Mapping[int, ColumnOutcomes], coarser: "Coarser"
    ) -> None:
        self.counted, self.shown, self.columns, self.coarser = counted, shown, columns, coarser

    def fit(self, cells: np.ndarray, outcomes: list[np.ndarray], random: np.random.Generator) -> list[np.ndarray]:
        """Other outcomes of the same cells: of every column, for rows with these `cells` of all nodes."""
        fine = self.cut(cells)
        if not fine:
            return outcomes
        nodes = cells.shape[1]
        place = {number: nodes + k for k, number in enumerate(fine)}
        labels = [fine[number].of[outcomes[number]] for number in fine]
        rows = np.column_stack([cells, *labels]).astype(np.int32)
        separators = np.asarray([[self.shown[number]] for number in fine])
        under = np.zeros((len(fine), rows.shape[1]), int)
        under[np.arange(len(fine)), list(place.values())] = 1
        cuts = TreeCuts(separators, np.ones_like(separators), under)
        after = Fitted(cuts, self.targets(cells, fine, place)).refine(rows, random)
        found = list(outcomes)
        for (number, at), before in zip(place.items(), labels, strict=True):
            found[number] = moved(outcomes[number], before, after[:, at], random)
        return found

    def cut(self, cells: np.ndarray) -> dict[int, Fine]:
        """Fine cells of the columns whose cells hold several."""
        shares = {
            number: np.bincount(cells[:, self.shown[number]], minlength=int(column.cell[-1]) + 1) / len(cells)
            for number, column in self.columns.items()
        }
        for grid in GRIDS:
            every = {number: cut(column, shares[number], grid) for number, column in self.columns.items()}
            kept = {number: one for number, one in every.items() if len(one.cell) > len(shares[number])}
            if self.size(kept) <= MOST:
                return kept if self.tables(kept) else {}
        return {}

    def tables(self, fine: Mapping[int, Fine]) -> list[Table]:
        """The counted pairs in which something can be moved."""
        own = {self.shown[number]: number for number in fine}
        columns = [own.get(self.coarser.finest(node)) for node in range(len(self.coarser.sizes))]
        every = zip(*(part.tolist() for part in self.counted), strict=True)
        found = (Table((a, b), (columns[a], columns[b]), noise) for a, b, noise in every)
        return [one for one in found if one.columns != (None, None)]

    def size(self, fine: Mapping[int, Fine]) -> int:
        """Cells of all tables."""
        sizes = {number: len(one.cell) for number, one in fine.items()}
        return sum(
            math.prod(
                self.coarser.sizes[node] if column is None else sizes[column]
                for node, column in zip(one.nodes, one.columns, strict=True)
            )
            for one in self.tables(fine)
        )

    def targets(self, cells: np.ndarray, fine: Mapping[int, Fine], place: Mapping[int, int]) -> Targets:
        """The smooth tables of all counted pairs, as far as something can be moved in them."""
        tables, spread, nodes = [], [], []
        known: dict[int, Side] = {}
        for one in self.tables(fine):
            a, b = one.nodes
            table = shares_of(cells[:, a], self.coarser.sizes[a], cells[:, b], self.coarser.sizes[b])
            for axis, (node, column) in enumerate(zip(one.nodes, one.columns, strict=True)):
                if node not in known:
                    shares = table.sum(axis=1 - axis)
                    itself = Side(np.eye(len(shares)), np.arange(len(shares)), shares)
                    known[node] = itself if column is None else side_of(fine[column], self.coarser.cells(node))
            left, right = known[a], known[b]
            tables.append(smooth(table, one.noise + 1.0 / len(cells), left, right))
            spread.append(one.noise * ratio(tables[-1], table[np.ix_(left.cell, right.cell)]))
            nodes.append([n if c is None else place[c] for n, c in zip(one.nodes, one.columns, strict=True)])
        sizes = [table.size for table in tables]
        return Targets(
            left=np.asarray([a for a, _ in nodes], int),
            right=np.asarray([b for _, b in nodes], int),
            stride=np.asarray([table.shape[1] for table in tables], int),
            begin=np.cumsum([0, *sizes])[:-1],
            share=np.concatenate([table.ravel() for table in tables]),
            spread=np.concatenate([part.ravel() for part in spread]),
        )


class Coarser:
    """Nodes of one column follow each other, from coarse to fine; `up` has for every cell of a node the cell of the one before
    that holds it. Node 0 is the class: how many there are is seen from the rows.
    """

    def __init__(self, sizes: Sequence[int], up: Mapping[int, np.ndarray]) -> None:
        self.sizes, self.up = list(sizes), up

    def finest(self, node: int) -> int:
        """The last node of the same column."""
        while node + 1 in self.up:
            node += 1
        return node

    def cells(self, node: int) -> np.ndarray:
        """For every cell of the column's finest node its cell of this one."""
        last = self.finest(node)
        found = np.arange(self.sizes[last])
        for level in range(last, node, -1):
            found = self.up[level][found]
        return found


def moved(outcome: np.ndarray, before: np.ndarray, after: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Outcomes with these fine cells, one of each row, given to rows that now have others: at random among equals."""
    chance = random.random((2, len(outcome)), dtype=np.float32)
    found = np.empty_like(outcome)
    found[np.lexsort((chance[0], after))] = outcome[np.lexsort((chance[1], before))]
    return found
