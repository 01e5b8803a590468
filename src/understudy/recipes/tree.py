"""From noisy counts to a tree model: the distribution of a tree that fits all counts best, weighted by their noise.

The model is P(c) prod_j P(x_j | x_parent(j), c) over a tree of columns. Its marginals mu minimise

    L(mu) = sum_r ||mu_r - y_r||^2 / (2 s_r^2)          over all measured marginals r, y_r with noise of deviation s_r,

by mirror descent on log-potentials: theta <- theta - alpha grad L(mu(theta)), with mu(theta) by one pass of messages up the tree
and one down (McKenna, Sheldon, Miklau 2019, Algorithm 1, which the package `mbi` implements for any graph; a test compares the
two). On a tree the pass is a few array operations per column, so nothing needs to be compiled: `mbi` spends 20 to 30 seconds
on compiling the same computation for Adult, this takes about two.

The descent starts from conditional tables read off the pairs' own counts; its step grows while it helps and is halved when it
does not. All of it is post-processing of released counts.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from understudy.recipes.cells import Conditional

Clique = tuple[int, ...]
SLIVER = 0.5  # rows given to every cell of the starting model, so that none is ruled out
ENOUGH = 1e-5  # relative gain of the loss in `PATIENCE` steps below which the descent ends
PATIENCE = 25


class Measured(NamedTuple):
    """Released counts of one marginal and the standard deviation of their noise."""

    clique: Clique  # (0, column) or (0, column, column); node 0 is the class
    counts: np.ndarray
    deviation: float


class Edge(NamedTuple):
    """A column and its parent in the tree; the root has none (0 stands for the class alone)."""

    child: int
    parent: int


def root_tree(columns: int, pairs: Sequence[Clique]) -> list[Edge]:
    """Parents before children, from column 1 on; columns that no pair reaches hang on the class alone."""
    near: dict[int, list[int]] = {column: [] for column in range(1, columns + 1)}
    for _, a, b in pairs:
        near[a].append(b)
        near[b].append(a)
    edges: list[Edge] = []
    seen: set[int] = set()
    for start in near:
        waiting = [] if start in seen else [Edge(start, 0)]
        while waiting:
            edge = waiting.pop()
            if edge.child not in seen:
                seen.add(edge.child)
                edges.append(edge)
                waiting += [Edge(other, edge.child) for other in near[edge.child] if other not in seen]
    return edges


class Tree:
    """Marginals and conditionals of the model for given log-potentials, one array [class, parent's cells, own cells] per edge."""

    def __init__(self, sizes: Sequence[int], edges: Sequence[Edge], total: float) -> None:
        self.sizes, self.edges, self.total = sizes, edges, total
        self.index = {edge.child: number for number, edge in enumerate(edges)}

    def shape(self, edge: Edge) -> tuple[int, int, int]:
        return self.sizes[0], self.sizes[edge.parent] if edge.parent else 1, self.sizes[edge.child]

    def marginals(self, potentials: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """mu of every edge, and log P(child | parent, class)."""
        beliefs = {edge.child: np.zeros((self.sizes[0], 1, self.sizes[edge.child])) for edge in self.edges}
        conditional: list[np.ndarray] = [np.zeros(0)] * len(self.edges)
        classes = np.zeros(self.sizes[0])
        for number in range(len(self.edges) - 1, -1, -1):
            edge = self.edges[number]
            joint = potentials[number] + beliefs[edge.child]
            message = logsumexp(joint, axis=2)
            conditional[number] = joint - message[:, :, None]
            if edge.parent:
                beliefs[edge.parent] += message[:, None, :]
            else:
                classes += message[:, 0]
        shares = self.total * np.exp(classes - logsumexp(classes))
        mus: list[np.ndarray] = []
        for number, edge in enumerate(self.edges):
            above = mus[self.index[edge.parent]].sum(axis=1) if edge.parent else shares[:, None]
            mus.append(np.exp(conditional[number]) * above[:, :, None])
        return mus, conditional


def fit_tree(sizes: Sequence[int], measured: Sequence[Measured], total: float, steps: int) -> list[Conditional]:
    """The best tree for these measurements, as tables to draw from: parents before children."""
    pairs = [item.clique for item in measured if len(item.clique) == 3]
    tree = Tree(sizes, root_tree(len(sizes) - 1, pairs), max(total, 1.0))
    if not tree.edges:
        return []
    potentials = descend(tree, measured, starting_point(tree, measured), steps)
    _, conditional = tree.marginals(potentials)
    drawn = []
    for edge, table in zip(tree.edges, conditional, strict=True):
        parents, weights = ((0, edge.parent), np.exp(table)) if edge.parent else ((0,), np.exp(table[:, 0]))
        drawn.append(Conditional(edge.child, parents, weights))
    return drawn


def starting_point(tree: Tree, measured: Sequence[Measured]) -> list[np.ndarray]:
    """P(child | parent, class) read off the noisy counts of the pair; of the root, off its own."""
    potentials = [np.zeros(tree.shape(edge)) for edge in tree.edges]
    for item in measured:
        number, swapped = place(tree, item.clique)
        kept = np.log(np.maximum(item.counts, 0.0) + SLIVER)
        if len(item.clique) == 1:
            potentials[0] += kept[:, None, None]
        elif len(item.clique) == 3:
            kept = kept.transpose(0, 2, 1) if swapped else kept
            potentials[number] += kept - logsumexp(kept, axis=2, keepdims=True)
        elif tree.edges[number].parent == 0:
            potentials[number] += (kept - logsumexp(kept, axis=1, keepdims=True))[:, None, :]
    return potentials


def descend(tree: Tree, measured: Sequence[Measured], potentials: list[np.ndarray], steps: int) -> list[np.ndarray]:
    """Mirror descent; a step that does not lower the loss is taken back and halved."""
    mus, _ = tree.marginals(potentials)
    loss, gradient = misfit(tree, measured, mus)
    step = min(item.deviation for item in measured) ** 2 / tree.total
    past = [loss]
    for _ in range(steps):
        tried = [theta - step * slope for theta, slope in zip(potentials, gradient, strict=True)]
        mus, _ = tree.marginals(tried)
        new, slope = misfit(tree, measured, mus)
        if not new < loss:
            step *= 0.5
            if step < 1e-12:
                break
            continue
        potentials, loss, gradient, step = tried, new, slope, step * 1.2
        past.append(loss)
        if len(past) > PATIENCE and past[-PATIENCE] - loss < ENOUGH * loss:
            break
    return potentials


def misfit(tree: Tree, measured: Sequence[Measured], mus: Sequence[np.ndarray]) -> tuple[float, list[np.ndarray]]:
    """L and its gradient with respect to the edges' marginals."""
    loss = 0.0
    gradient = [np.zeros_like(mu) for mu in mus]
    for item in measured:
        number, swapped = place(tree, item.clique)
        mu, precision = mus[number], item.deviation**-2
        if len(item.clique) == 1:
            off = mu.sum(axis=(1, 2)) - item.counts
            slope = off[:, None, None]
        elif len(item.clique) == 2:
            off = mu.sum(axis=1) - item.counts
            slope = off[:, None, :]
        else:
            off = mu - (item.counts.transpose(0, 2, 1) if swapped else item.counts)
            slope = off
        loss += 0.5 * precision * float((off * off).sum())
        gradient[number] += precision * slope
    return loss, gradient


def place(tree: Tree, clique: Clique) -> tuple[int, bool]:
    """The edge whose marginal holds a measured one, and whether its columns stand the other way round."""
    if len(clique) == 1:
        return 0, False
    if len(clique) == 2:
        return tree.index[clique[1]], False
    _, a, b = clique
    number = tree.index[b]
    return (number, False) if tree.edges[number].parent == a else (tree.index[a], True)
