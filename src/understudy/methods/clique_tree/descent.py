"""The model of largest entropy that fits all released counts best, weighted by their noise.

Its marginals mu minimise L(mu) = sum_r ||mu_r - y_r||^2 / (2 s_r^2) over all marginals of distributions, by mirror descent
(McKenna, Sheldon, Miklau 2019) with momentum in the log-potentials:

    theta+ = v - alpha (mu_r(v) - y_r) / s_r^2,        v+ = theta+ + beta_k (theta+ - theta),     beta_k = (k - 1) / (k + 2).

A step that does not lower the loss ends the momentum (adaptive restart; O'Donoghue, Candes 2015); without momentum it is
halved.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from understudy.methods.clique_tree.tree import Beliefs, CliqueTree
from understudy.methods.marginals.junction import Clique

PATIENCE = 25
ENOUGH = 1e-5  # relative gain of the loss in `PATIENCE` passes below which the descent ends
SLIVER = 0.05  # rows that every cell has to start with, in deviations of its noise


class Measured(NamedTuple):
    """Released counts of one marginal, nodes in rising order, and the deviation of their noise: one, or one per cell."""

    nodes: Clique
    counts: np.ndarray
    deviation: np.ndarray | float


def descend(
    tree: CliqueTree,
    measured: Sequence[Measured],
    passes: int,
    told: Callable[[int, float], None] | None = None,
) -> Beliefs:
    """The model after at most so many passes over the tree."""
    theta = [start(item) for item in measured]
    beliefs = tree.run(theta)
    loss, slope = misfit(measured, beliefs)
    ahead, momentum = theta, 0
    step = min(float(np.min(item.deviation)) for item in measured) ** 2 / tree.total
    past = [loss]
    for number in range(passes):
        tried = [table - step * one for table, one in zip(ahead, slope, strict=True)]
        weight = momentum / (momentum + 3.0)
        jump = [new + weight * (new - old) for new, old in zip(tried, theta, strict=True)]
        found = tree.run(jump)
        new, new_slope = misfit(measured, found)
        if not new < loss * (1.0 + 1e-12):
            if momentum:
                momentum, ahead = 0, theta
                beliefs = tree.run(theta)
                loss, slope = misfit(measured, beliefs)
            else:
                step *= 0.5
            if step < 1e-14:
                break
            continue
        theta, ahead, beliefs, loss, slope = tried, jump, found, new, new_slope
        momentum, step = momentum + 1, step * 1.1
        past.append(loss)
        if told is not None:
            told(number, loss)
        if len(past) > PATIENCE and past[-PATIENCE] - loss < ENOUGH * loss:
            break
    return beliefs


def start(item: Measured) -> np.ndarray:
    """Of a column its shares; of a pair what its counts show beyond independence.

    A pair's cell that does not stand out from its noise starts with next to nothing: most cells of strongly dependent columns
    are empty, and the descent takes long to empty them.
    """
    noise = np.asarray(item.deviation, float)
    kept = np.maximum(item.counts - noise * (item.counts.ndim > 1), 0.0) + SLIVER * noise
    if kept.ndim == 1:
        return np.asarray(np.log(kept))
    margins = [kept.sum(axis=axis, keepdims=True) for axis in range(kept.ndim)]
    return np.asarray(np.log(kept) + np.log(kept.sum()) - sum(np.log(one) for one in margins))


def misfit(measured: Sequence[Measured], beliefs: Beliefs) -> tuple[float, list[np.ndarray]]:
    """L and its gradient with respect to the marginals."""
    loss, slope = 0.0, []
    for item, mu in zip(measured, beliefs.found, strict=True):
        off = (mu - item.counts) / item.deviation
        loss += 0.5 * float((off * off).sum())
        slope.append(off / item.deviation)
    return loss, slope
