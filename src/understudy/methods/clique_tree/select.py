"""Which pairs to count, at which level, and with which part of the budget: from released distances, before any count is asked.

A candidate i is a pair of columns at a level of cells. Counted with noise of deviation s_i its error is forecast as

    lost_i + e_i(f_i s_i),     lost_i: distance at the finest level asked less that at this one;  e_i: `forecast.noise_errors`.

The columns are counted, too, and a table of a x b cells with known margins has (a - 1) (b - 1) numbers left to be wrong: so
much of the noise's square stays. Other tables of these columns tell part of the rest, as one model is fitted to all (`SHARED`):

    f_i = SHARED sqrt((a - 1) (b - 1) / (a b))      1 for a column

A pair (a, b) that is not counted is wrong by its distance from independence, less what counted pairs bring along. Column c
stands for column a by r^2, r being the distance of (a, c) over the one that it would have if c determined a; along a path of
counted pairs the r^2 are multiplied. A counted pair (c, d) explains of (a, b) the share by which c stands for a times that
by which d stands for b: all of it where c determines a, as a level of education does its number, and next to nothing where r
is 0.3. An industry stands for its sector, and the sector for less of the industry.

**Budget.** Minimising sum_i w_i c_i s_i, where c_i are the cells of table i and w_i its weight, under sum_i 1 / s_i^2 = B gives
B_i = 1 / s_i^2 proportional to (w_i c_i)^(2/3), so s_i = sigma sqrt(Q / q_i) with q_i = (w_i c_i)^(2/3) and Q their sum.

**Choice.** Greedy: the candidate with the largest fall of the forecast total error per q_i, until the total no longer falls. A
pair chosen earlier may be taken again at a finer level. Candidates that would take the clique tree beyond its cells are
counted beside it when no other one is left among the best: rows are fitted to them afterwards (`refine.py`).
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from understudy.measure.cells import Grouping
from understudy.methods.clique_tree.forecast import noise_errors
from understudy.methods.clique_tree.levels import Layout
from understudy.methods.marginals.junction import Clique, Graph

GRID = np.geomspace(
    1.0, 100.0, 16
)  # deviations at which errors are forecast, over that of a table with the whole budget
# Set on Adult at (1, 1e-5), one fit each: two-way distances between 0.026 and 0.027 for 0.3 and 0.8, and for 0, 0.5 and 1.
MEMORY = 0.3  # how much the growth of the tree counts against a candidate: its gain is divided by growth to this power
THRIFT = 0.5  # and its price
# Set on Adult and NIST Massachusetts at (1, 1e-5), two and three fits each. For 1, 0.7, 0.5, 0.35 two-way distances are 0.0215,
# 0.0200, 0.0210, 0.0215 and 0.0603, 0.0599, 0.0612, 0.0620; associations are off by 0.015, 0.014, 0.013, 0.013 and 0.060, 0.058,
# 0.054, 0.055. Without any f_i: 0.0214 and 0.0618, 0.017 and 0.062.
SHARED = 0.7  # of a table's noise that is left where other tables are fitted, too
LOOK = 12  # candidates whose effect on the tree is looked at in each step


class Candidate(NamedTuple):
    """A column, a pair of columns at a level, or three columns at a level each."""

    nodes: Clique
    levels: tuple[int, ...]
    expected: np.ndarray  # counts if columns were independent
    lost: float  # of its distance from there, inside its cells
    weight: float

    @property
    def keys(self) -> list[tuple[int, int]]:
        """Node and level of both columns."""
        return list(zip(self.nodes, self.levels, strict=True))

    @property
    def free(self) -> float:
        """f_i: of its noise what other counts do not tell."""
        if len(self.nodes) == 1:
            return 1.0
        return SHARED * math.sqrt(math.prod(1.0 - 1.0 / max(size, 2) for size in self.expected.shape))

    @property
    def price(self) -> float:
        """q_i."""
        return float((self.weight * self.expected.size) ** (2.0 / 3.0))


class Pairs(NamedTuple):
    """Candidates at all levels, and the pairs' distances: in rows, and for (c, a) over that of a column c that determines a."""

    candidates: list[Candidate]
    distances: dict[Clique, float]
    relative: dict[Clique, float]


class Chosen(NamedTuple):
    """A table to count: nodes and their levels."""

    keys: list[tuple[int, int]]
    budget: float
    beside: bool = False  # the tree has no room for it: rows are fitted to it afterwards


@dataclass
class Selection:
    """What has been chosen so far and what it is forecast to be worth."""

    levels: list[list[Grouping]]  # of every node
    base: list[Candidate]  # counted in any case: every column
    sigma: float  # of one table that has the whole budget
    most_cells: int
    together: bool = True  # False: f_i = 1, as if every table were fitted by itself
    chosen: dict[Clique, Candidate] = field(default_factory=dict)  # held by the tree
    beside: dict[Clique, Candidate] = field(default_factory=dict)  # not held; a pair may be both, coarse in the tree

    def __post_init__(self) -> None:
        count = len(self.levels)
        self.stands_for = np.eye(count)  # [c, a] of node c for node a, along the best path
        self.explained = np.zeros((count, count))  # share of a pair's distance that counted pairs bring along
        self.distances: dict[Clique, float] = {}
        self.relative: dict[Clique, float] = {}
        self.errors: dict[int, np.ndarray] = {}

    def forecast(self, item: Candidate) -> np.ndarray:
        """e_i on the grid, over its weight."""
        key = id(item)
        if key not in self.errors:
            left = item.free if self.together else 1.0
            self.errors[key] = noise_errors(item.expected, left * self.sigma * GRID)
        return self.errors[key]

    def items(self) -> list[Candidate]:
        """All that is to be counted."""
        return [*self.base, *self.chosen.values(), *self.beside.values()]

    def residual(self, nodes: Clique) -> float:
        """What is wrong with a pair or a triple that is not counted. What pairs explain is not in a triple's distance."""
        return self.distances[nodes] * (1.0 - float(self.explained[nodes]) if len(nodes) == 2 else 1.0)

    def run(self, pairs: Pairs) -> None:
        """Choose, one candidate after the other."""
        self.distances, self.relative = pairs.distances, pairs.relative
        open_to = [one for one in pairs.candidates if pairs.distances[one.nodes] > 0.0]
        cells, too_large = self.cells_with(), set[int]()
        while open_to:
            gains = self.gains(open_to)
            first = [number for number in np.argsort(-gains)[:LOOK] if gains[number] > 0.0]
            if not first:
                break
            looked = [number for number in first if id(open_to[number]) not in too_large]
            grown = {number: self.cells_with(open_to[number]) for number in looked}
            fitting = [number for number in looked if grown[number] <= self.most_cells]
            too_large |= {id(open_to[number]) for number in looked} - {id(open_to[number]) for number in fitting}
            if fitting:
                best = max(fitting, key=lambda number: gains[number] * (cells / max(grown[number], cells)) ** MEMORY)
                found, cells = open_to[best], grown[best]
                self.chosen[found.nodes] = found
            else:
                found = open_to[first[0]]
                self.beside[found.nodes] = found
            self.connect(found)
            open_to = [one for one in open_to if one.nodes != found.nodes or one.expected.size > found.expected.size]

    def tie(self, candidates: Sequence[Candidate], sums: Iterable[Sequence[int]]) -> None:
        """Count the parts of a total with each other where they are counted with the total.

        Parts that tell nothing of each other both tell of their sum, and a tree in which they hang on it alone has them rise
        together. They are counted in cells as fine as those that the coarser one of them has beside the total.
        """
        every = {**self.beside, **self.chosen}
        for total, *parts in sums:
            level = {part: max(one.levels) for part in parts if (one := every.get(paired(total, part))) is not None}
            for pair in itertools.combinations(sorted(level), 2):
                open_to = [one for one in candidates if one.nodes == pair]
                if pair in every or not open_to:
                    continue
                wanted = min(level[part] for part in pair)
                found = min(open_to, key=lambda one: abs(max(one.levels) - wanted))
                (self.chosen if self.cells_with(found) <= self.most_cells else self.beside)[pair] = found
                self.connect(found)

    def held(self, count: int) -> set[tuple[tuple[int, int], ...]]:
        """So many columns and levels, any of which some clique of the tree holds together."""
        layout, graph = self.tree()
        scopes = (sorted(scope) for scope in graph.scope.values())
        return {
            tuple(layout.keys[n] for n in some) for scope in scopes for some in itertools.combinations(scope, count)
        }

    def add(self, candidates: Sequence[Candidate], distances: Mapping[Clique, float]) -> None:
        """Count those of some candidates that pay; the tree holds all of them, at these distances if they are not counted."""
        self.distances, open_to = {**self.distances, **distances}, list(candidates)
        while open_to:
            gains = self.gains(open_to)
            found = open_to[int(np.argmax(gains))]
            if gains.max() <= 0.0:
                break
            self.chosen[found.nodes] = found
            open_to = [one for one in open_to if one.nodes != found.nodes or one.expected.size > found.expected.size]

    def tables(self) -> list[Chosen]:
        """What to count, with its part of the budget: columns first."""
        items = self.items()
        total, inside = sum(item.price for item in items), len(items) - len(self.beside)
        return [Chosen(item.keys, item.price / total, number >= inside) for number, item in enumerate(items)]

    @property
    def total(self) -> float:
        """Forecast error of all columns and pairs in rows, counted or not, each alike."""
        items = self.items()
        prices = np.asarray([item.price for item in items])
        errors = at(np.asarray([self.forecast(item) for item in items]), np.sqrt(prices.sum() / prices))
        # A pair that is counted twice is as good as it is beside the tree, where it is finer.
        held = {item.nodes: error + item.lost for item, error in zip(items, errors.tolist(), strict=True)}
        return math.fsum(held.values()) + math.fsum(self.residual(pair) for pair in self.distances if pair not in held)

    def gains(self, candidates: list[Candidate]) -> np.ndarray:
        """Fall of the forecast total error per price, if each candidate were counted besides (or instead of its coarser self)."""
        items = self.items()
        prices = np.asarray([item.price for item in items])
        doubled = [item.nodes in self.beside and item is not self.beside[item.nodes] for item in items]
        weights = np.asarray([0.0 if twice else item.weight for item, twice in zip(items, doubled, strict=True)])
        tables = np.asarray([self.forecast(item) for item in items])
        lost = np.asarray([item.lost for item in items])
        place = {item.nodes: number for number, item in enumerate(items)}
        whole = prices.sum()
        now = (weights * (at(tables, np.sqrt(whole / prices)) + lost)).sum()
        own_price = np.asarray([one.price for one in candidates])
        own_weight = np.asarray([one.weight for one in candidates])
        old = np.asarray([place.get(one.nodes, -1) for one in candidates])
        extra = own_price - np.where(old < 0, 0.0, prices[old])
        # All that is counted already shares what is left; prices repeat, so that few shares have to be looked at.
        each, number = np.unique(extra, return_inverse=True)
        then = np.stack([weights * (at(tables, np.sqrt((whole + more) / prices)) + lost) for more in each])
        forecast = np.asarray([self.forecast(one) for one in candidates])
        own = at(forecast, np.sqrt((whole + extra) / own_price)) + np.asarray([one.lost for one in candidates])
        without = np.where(
            old < 0, [self.residual(one.nodes) for one in candidates] * own_weight, then[number, np.maximum(old, 0)]
        )
        fall = now - then.sum(axis=1)[number] - own_weight * own + without
        return np.asarray(fall / np.maximum(extra, 1e-9) ** THRIFT)

    def cells_with(self, *more: Candidate) -> int:
        """Cells of the model if these were counted, too."""
        return self.tree(*more)[1].cells

    def tree(self, *more: Candidate) -> tuple[Layout, Graph]:
        """The model's nodes and cliques, if these were counted, too."""
        every = {**self.chosen, **{one.nodes: one for one in more}}.values()
        layout = Layout(self.levels, (key for item in every for key in item.keys))
        cliques = [tuple(layout.number[key] for key in item.keys) for item in every]
        return layout, Graph(layout.sizes, [*cliques, *(link.nodes for link in layout.links)])

    def connect(self, one: Candidate) -> None:
        """What the counted pairs explain of all others, now that this one is among them."""
        a, b = one.nodes
        for c, d in ((a, b), (b, a)):
            through = self.stands_for[:, [c]] * self.relative[c, d] ** 2 * self.stands_for[[d], :]
            self.stands_for = np.maximum(self.stands_for, through)
        self.explained = np.zeros_like(self.stands_for)
        for c, d in {**self.chosen, **self.beside}:
            both = np.outer(self.stands_for[c], self.stands_for[d])
            self.explained = np.maximum(self.explained, np.maximum(both, both.T))


def paired(a: int, b: int) -> Clique:
    """The name of a pair."""
    return min(a, b), max(a, b)


def at(tables: np.ndarray, deviations: np.ndarray | float) -> np.ndarray:
    """Forecast errors [n, grid] at a deviation each."""
    place = np.log(np.atleast_1d(deviations) / GRID[0]) / np.log(GRID[1] / GRID[0])
    place = np.clip(place, 0.0, len(GRID) - 1.001)
    low = place.astype(int)
    part = place - low
    rows = np.arange(len(tables))
    return np.asarray(tables[rows, low] * (1.0 - part) + tables[rows, low + 1] * part)
