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

A step that does not lower the loss ends the momentum (adaptive restart; O'Donoghue, Candes 2015); without momentum it is
halved.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from understudy.methods.clique_tree.sparse import believed_empty
from understudy.methods.clique_tree.tree import Beliefs, CliqueTree
from understudy.methods.marginals.junction import Clique

PATIENCE = 25
ROUGHLY, ENOUGH = 1e-2, 1e-5  # relative gain of the loss in `PATIENCE` passes below which each of the two parts ends
SMALLEST = 1e-14  # step
NOTHING = 1e-6  # rows that a cell has to start with, and to stay with, that is believed empty
SLIVER = 0.05  # rows that every cell has to start with, in deviations of its noise


class Measured(NamedTuple):
    """Released counts of one marginal, nodes in rising order, and the deviation of their noise: one, or one per cell."""

    nodes: Clique
    counts: np.ndarray
    deviation: np.ndarray | float
    possible: np.ndarray | None = None  # 0 for cells that no row can fall into (`zeros.py`)


Direction = Callable[[Sequence[Measured], Beliefs], list[np.ndarray]]


def descend(
    tree: CliqueTree,
    measured: Sequence[Measured],
    passes: int,
    told: Callable[[int, float], None] | None = None,
) -> Beliefs:
    """The model after at most so many passes over the tree."""
    theta = [start(item) for item in measured]
    measured = [item if len(item.nodes) == 1 else item._replace(counts=settled(item, tree.total)) for item in measured]
    gradient = min(float(np.min(item.deviation)) for item in measured) ** 2 / tree.total
    state = State(theta, tree.run(theta), 0)
    for direction, step, enough in ((proportional, 0.3, ROUGHLY), (slope, gradient, ENOUGH)):
        state = walk(tree, measured, state, direction, step, enough, passes, told)
    return state.beliefs


class State(NamedTuple):
    """Log-potentials, their marginals, and the passes that were taken."""

    theta: list[np.ndarray]
    beliefs: Beliefs
    passes: int


def walk(
    tree: CliqueTree,
    measured: Sequence[Measured],
    state: State,
    direction: Direction,
    step: float,
    enough: float,
    passes: int,
    told: Callable[[int, float], None] | None,
) -> State:
    """Steps along one kind of direction, until they gain next to nothing."""
    theta, beliefs, number = state
    loss, down = misfit(measured, beliefs), direction(measured, beliefs)
    ahead, momentum, past = theta, 0, [loss]
    while number < passes and step > SMALLEST:
        number += 1
        tried = [table - step * one for table, one in zip(ahead, down, strict=True)]
        weight = momentum / (momentum + 3.0)
        jump = [new + weight * (new - old) for new, old in zip(tried, theta, strict=True)]
        found = tree.run(jump)
        new = misfit(measured, found)
        if not new < loss * (1.0 + 1e-12):
            if momentum:
                momentum, ahead = 0, theta
                beliefs = tree.run(theta)
                loss, down = misfit(measured, beliefs), direction(measured, beliefs)
            else:
                step *= 0.5
            continue
        theta, ahead, beliefs, loss, down = tried, jump, found, new, direction(measured, found)
        momentum, step = momentum + 1, step * 1.1
        past.append(loss)
        if told is not None:
            told(number, loss)
        if len(past) > PATIENCE and past[-PATIENCE] - loss < enough * loss:
            break
    return State(ahead if momentum else theta, beliefs, number)


def start(item: Measured) -> np.ndarray:
    """Of a column its shares; of a pair what its counts show beyond independence.

    A pair's cell that does not stand out from its noise starts with next to nothing: most cells of strongly dependent columns
    are empty, and the descent takes long to empty them.
    """
    noise = np.asarray(item.deviation, float)
    kept = np.maximum(item.counts - noise * (item.counts.ndim > 1), 0.0) + SLIVER * noise
    if kept.ndim == 1:
        return np.asarray(np.log(kept))
    kept[believed_empty(item.counts, float(noise.max()))] = NOTHING
    margins = [kept.sum(axis=axis, keepdims=True) for axis in range(kept.ndim)]
    return np.asarray(np.log(kept) + np.log(kept.sum()) - sum(np.log(one) for one in margins))


def misfit(measured: Sequence[Measured], beliefs: Beliefs) -> float:
    """L."""
    off = [(mu - item.counts) / item.deviation for item, mu in zip(measured, beliefs.found, strict=True)]
    return 0.5 * sum(float((one * one).sum()) for one in off)


def slope(measured: Sequence[Measured], beliefs: Beliefs) -> list[np.ndarray]:
    """The gradient of L with respect to the marginals."""
    return [(mu - item.counts) / np.square(item.deviation) for item, mu in zip(measured, beliefs.found, strict=True)]


def proportional(measured: Sequence[Measured], beliefs: Beliefs) -> list[np.ndarray]:
    """What every cell has too much, as a part of itself where it stands out from the noise."""
    return [
        (mu - item.counts) * mu / np.square(mu + item.deviation)
        for item, mu in zip(measured, beliefs.found, strict=True)
    ]


def settled(item: Measured, total: float) -> np.ndarray:
    """Counts of a pair without negative entries and without rows in cells that are believed empty (`sparse.py`)."""
    empty = believed_empty(item.counts, float(np.max(item.deviation)))
    found = np.zeros(item.counts.shape)
    if item.possible is not None:
        empty |= item.possible == 0.0
    found[~empty] = projected(item.counts[~empty], total)
    return found


def projected(counts: np.ndarray, total: float) -> np.ndarray:
    """The nearest table without negative entries that adds up to `total`: max(counts - t, 0)."""
    falling = np.sort(counts.ravel())[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    t = excess[np.flatnonzero(falling > excess)[-1]]
    return np.asarray(np.maximum(counts - t, 0.0))
