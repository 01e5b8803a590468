"""The model of largest entropy that fits all released counts best, weighted by their noise.

Its marginals mu minimise L(mu) = sum_r ||mu_r - y_r||^2 / (2 s_r^2) over all marginals of distributions, by mirror descent
(McKenna, Sheldon, Miklau 2019) with momentum in the log-potentials:

    theta+ = v - alpha d,        v+ = theta+ + beta_k (theta+ - theta),     beta_k = (k - 1) / (k + 2),

first with d = (mu_r - y_r) mu_r / (mu_r + s_r)^2, then with d = (mu_r - y_r) / s_r^2, the gradient. The gradient alone is slow
where counts are many times their noise: alpha is limited by the largest cell, and a cell of a thousandth of its rows takes
a thousand times as long. The first direction moves the logarithm of every such cell by the same part of what it lacks, as
proportional fitting does, and leaves cells below their noise to the gradient.

**Without negative counts.** Of a pair not y but its projection onto tables without negative entries that add up to N is fitted:
most cells of strongly dependent columns are empty, and half of them would ask for more rows than there are. Cells that are
empty by what the others show (`sparse.py`) start and stay with next to nothing.

**Where it starts.** Without loops the best model is the product of the columns' shares and of what every pair shows beyond
independence. Where pairs form loops that product counts what goes round a loop more than once, and from there it is far: so
the strongest pairs that form no loop (`forest`) start with what they show, and the others with nothing.

A step that does not lower the loss ends the momentum (adaptive restart; O'Donoghue, Candes 2015); without momentum it is
halved.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import rel_entr

from understudy.measure.shrinkage import projected
from understudy.methods.clique_tree.sparse import believed_empty
from understudy.methods.clique_tree.tree import Beliefs, JunctionTree
from understudy.methods.marginals.junction import Clique

PATIENCE = 25
# Relative gain of the loss in `PATIENCE` passes below which each of the two parts ends. Set on 5,000 rows of Adult and of NIST
# Massachusetts (the populations of benchmarks/coverage.py) at epsilon 3: the loss is 112 and 111 after 200 passes, 107 and 105
# after 600; with 0.01 for the first part it is 131 and 113, and from what all pairs show 125 (150 passes) and 176 (600).
ROUGHLY, ENOUGH = 0.2, 1e-5
SMALLEST = 1e-14  # step
NOTHING = 1e-6  # rows that a cell has to start with, and to stay with, that is believed empty
SLIVER = 0.05  # rows that every cell has to start with, in deviations of its noise


class Measured(NamedTuple):
    """Released counts of one marginal, nodes in rising order, and the deviation of their noise: one, or one per cell."""

    nodes: Clique
    counts: np.ndarray
    deviation: np.ndarray | float
    possible: np.ndarray | None = None  # 0 for cells that no row can fall into (`zeros.py`)


class Observed(NamedTuple):
    """What several models are fitted to, one row for each, and the deviation of its noise, the same for all."""

    values: np.ndarray
    deviation: np.ndarray

    def misfit(self, found: np.ndarray) -> np.ndarray:
        """L of every model."""
        off = (found - self.values) / self.deviation
        return np.asarray(0.5 * np.einsum("mc,mc->m", off, off))

    def slope(self, found: np.ndarray) -> np.ndarray:
        """The gradient of L with respect to the marginals."""
        return np.asarray((found - self.values) / self.deviation**2)

    def proportional(self, found: np.ndarray) -> np.ndarray:
        """What every cell has too much, as a part of itself where it stands out from the noise."""
        return np.asarray((found - self.values) * found / (found + self.deviation) ** 2)

    def of(self, models: np.ndarray) -> "Observed":
        """Those of some of the models."""
        return Observed(self.values[models], self.deviation)


Direction = Callable[[Observed, np.ndarray], np.ndarray]


def descend(tree: JunctionTree, measured: Sequence[Measured], passes: int) -> Beliefs:
    """The model after at most so many passes over the tree."""
    (found,) = descend_all(tree, [measured], passes)
    return found


def descend_all(tree: JunctionTree, each: Sequence[Sequence[Measured]], passes: int) -> Iterator[Beliefs]:
    """The models of several sets of counts of the same marginals with the same noise, all at once."""
    theta = descended(tree, each, passes)
    several = tree.run_all(theta)
    return (tree.beliefs(several, number) for number in range(len(theta)))


def descended(tree: JunctionTree, each: Sequence[Sequence[Measured]], passes: int) -> np.ndarray:
    """Log-potentials after the descent, one row for each set of counts."""
    begin, values = [], []
    for measured in each:
        empty = [np.zeros(item.counts.shape, bool) if len(item.nodes) == 1 else unlikely(item) for item in measured]
        both = list(zip(measured, empty, strict=True))
        settle = [item.counts if len(item.nodes) == 1 else settled(item, tree.total, none) for item, none in both]
        values.append(tree.flat(settle))
        kept = forest(tree, settle)
        shown = [start(item, none) for item, none in both]
        begin.append(tree.flat([one if own else one * none for one, own, none in zip(shown, kept, empty, strict=True)]))
    deviation = tree.flat([np.asarray(item.deviation, float) for item in each[0]])
    counts, theta = Observed(np.stack(values), deviation[None]), np.stack(begin)
    walkers = Walkers(theta, tree.run_all(theta).found, np.zeros(len(theta), int))
    gradient = float(deviation.min(initial=1.0)) ** 2 / tree.total
    for direction, step, enough in ((Observed.proportional, 0.3, ROUGHLY), (Observed.slope, gradient, ENOUGH)):
        walk(tree, counts, walkers, direction, step, enough, passes)
    return walkers.theta


@dataclass
class Walkers:
    """Log-potentials of several models, their marginals, and the passes that each took."""

    theta: np.ndarray
    found: np.ndarray
    passes: np.ndarray


def walk(
    tree: JunctionTree,
    counts: Observed,
    models: Walkers,
    direction: Direction,
    first: float,
    enough: float,
    passes: int,
) -> None:
    """Steps along one kind of direction, each model until they gain it next to nothing."""
    ahead, theta = models.theta, models.theta.copy()
    loss, down = counts.misfit(models.found), direction(counts, models.found)
    number = len(ahead)
    step, momentum, back = np.full(number, first), np.zeros(number, int), np.zeros(number, bool)
    past, gains = np.full((number, PATIENCE), np.inf), np.zeros(number, int)
    past[:, 0] = loss
    live = np.flatnonzero(models.passes < passes)
    while len(live):
        weight = momentum[live] / (momentum[live] + 3.0)
        tried = ahead[live] - step[live, None] * down[live]
        jump = tried + weight[:, None] * (tried - theta[live])
        again = back[live]  # after a step that did not lower the loss: where it began, without momentum
        tried[again] = jump[again] = theta[live[again]]
        found, own = tree.run_all(jump).found, counts.of(live)
        new = own.misfit(found)
        taken = again | (new < loss[live] * (1.0 + 1e-12))
        kept, left = live[taken], live[~taken]
        theta[kept], ahead[kept], models.found[kept] = tried[taken], jump[taken], found[taken]
        loss[kept], down[kept] = new[taken], direction(own.of(taken), found[taken])
        models.passes[live] += ~again
        step[left[momentum[left] == 0]] *= 0.5
        back[:] = False
        back[left] = momentum[left] > 0
        momentum[left] = 0
        won = live[taken & ~again]
        momentum[won] += 1
        step[won] *= 1.1
        gains[won] += 1
        before = past[won, (gains[won] + 1) % PATIENCE]
        past[won, gains[won] % PATIENCE] = loss[won]
        ended = (models.passes >= passes) | (step <= SMALLEST)
        ended[won] |= (gains[won] >= PATIENCE) & (before - loss[won] < enough * loss[won])
        live = live[~ended[live]]


def forest(tree: JunctionTree, counts: Sequence[np.ndarray]) -> list[bool]:
    """Which tables form no loop: all columns, and of the pairs those that depend most on each other.

    Nodes are one where a link says of every cell of the second in which cell of the first it lies: levels of a column are.
    """
    group = list(range(len(tree.graph.sizes)))

    def join(nodes: Clique) -> bool:
        one, other = (group[node] for node in nodes)
        group[:] = [other if own == one else own for own in group]
        return one != other

    for link in tree.links:
        if len(link.nodes) == 2 and (link.possible.sum(axis=0) == 1.0).all():
            join(link.nodes)
    kept = [len(nodes) == 1 for nodes in tree.tables]
    pairs = [place for place, nodes in enumerate(tree.tables) if len(nodes) == 2]
    for place in sorted(pairs, key=lambda place: -information(counts[place])):
        kept[place] = join(tree.tables[place])
    return kept


def information(counts: np.ndarray) -> float:
    """Mutual information of a pair, times its rows."""
    rows = max(float(counts.sum()), 1.0)
    alone = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / rows
    return float(np.sum(rel_entr(counts, alone)))


def unlikely(item: Measured) -> np.ndarray:
    """Cells of a pair that are believed empty (`sparse.py`)."""
    return believed_empty(item.counts, float(np.max(item.deviation)))


def start(item: Measured, empty: np.ndarray) -> np.ndarray:
    """Of a column its shares; of a pair what its counts show beyond independence.

    A pair's cell that does not stand out from its noise starts with next to nothing: most cells of strongly dependent columns
    are empty, and the descent takes long to empty them.
    """
    noise = np.asarray(item.deviation, float)
    kept = np.maximum(item.counts - noise * (item.counts.ndim > 1), 0.0) + SLIVER * noise
    if kept.ndim == 1:
        return np.asarray(np.log(kept))
    kept[empty] = NOTHING
    # A value all of whose cells are believed empty says nothing about what it goes with.
    margins = [np.maximum(kept.sum(axis=axis, keepdims=True), noise) for axis in range(kept.ndim)]
    return np.asarray(np.log(kept) + np.log(kept.sum()) - sum(np.log(one) for one in margins))


def settled(item: Measured, total: float, empty: np.ndarray) -> np.ndarray:
    """Counts of a pair without negative entries and without rows in cells that are believed empty."""
    never = np.zeros(item.counts.shape, bool) if item.possible is None else item.possible == 0.0
    none = empty | never
    kept = ~never if none.all() else ~none  # rows are somewhere, whatever noise makes of so few
    found = np.zeros(item.counts.shape)
    found[kept] = projected(item.counts[kept], total)
    return found
