"""From noisy counts to a model: the distribution of largest entropy that fits all counts best, weighted by their noise.

The model is a product of tables exp(theta_r) over the measured marginals r. Its own marginals mu minimise

    L(mu) = sum_r ||mu_r - y_r||^2 / (2 s_r^2)          over all measured marginals r, y_r with noise of deviation s_r,

by mirror descent: theta_r <- theta_r - alpha (mu_r - y_r) / s_r^2 (McKenna, Sheldon, Miklau 2019, Algorithm 1; the package `mbi`
implements it for JAX, and a test compares the two).

mu comes from eliminating one node after the other, the class last. Node v leaves behind the clique of itself and its later
neighbours S_v, and P(v | S_v): messages go up the elimination tree, marginals come down it, and the conditional tables
are what rows are drawn from. The tree of MST is the case |S_v| <= 2 (the class and one column). Nothing is compiled, because
every added marginal changes the graph: compiling one graph takes `mbi` longer than all of this takes to run.

Time and memory are proportional to the sum of the cliques' cells (`Graph.cells`), which callers bound before they measure.
All of it is post-processing of released counts.
"""

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from understudy.methods.marginals.assemble import Conditional

Clique = tuple[int, ...]
SLIVER = 0.5  # rows given to every cell of a starting table, so that none is ruled out
ENOUGH = 1e-5  # relative gain of the loss in `PATIENCE` steps below which the descent ends
PATIENCE = 25


class Measured(NamedTuple):
    """Released counts of one marginal and the standard deviation of their noise."""

    clique: Clique  # nodes in rising order; node 0 is the class
    counts: np.ndarray
    deviation: float


def merge(measured: Iterable[Measured]) -> list[Measured]:
    """One item per marginal: counts of the same marginal averaged by their precision."""
    found: dict[Clique, Measured] = {}
    for item in measured:
        if item.clique in found:
            known = found[item.clique]
            a, b = known.deviation**-2, item.deviation**-2
            item = Measured(item.clique, (a * known.counts + b * item.counts) / (a + b), (a + b) ** -0.5)
        found[item.clique] = item
    return list(found.values())


class Graph:
    """An elimination order of the nodes that keeps cliques small, and the clique each node leaves behind."""

    def __init__(self, sizes: Sequence[int], cliques: Iterable[Clique], order: Sequence[int] = ()) -> None:
        self.sizes = tuple(sizes)
        near = neighbours(len(self.sizes), cliques)
        self.order: list[int] = []  # elimination; the class, node 0, is last
        self.later: dict[int, Clique] = {}
        given = iter(order)
        left = set(range(1, len(self.sizes)))
        cost = {node: self.weigh(node, near[node]) for node in left}
        while left:
            node = next(given) if order else min(left, key=lambda v: (cost[v], v))
            left.remove(node)
            around = near[node]
            self.order.append(node)
            self.later[node] = tuple(sorted(around))
            for other in around:
                near[other] |= around
                near[other] -= {other, node}
                if other:
                    cost[other] = self.weigh(other, near[other])
        self.order.append(0)
        self.later[0] = ()

    def weigh(self, node: int, around: Iterable[int]) -> int:
        """Cells of the clique that removing a node would make."""
        return self.sizes[node] * math.prod(self.sizes[other] for other in around)

    @cached_property
    def cells(self) -> int:
        """Cells of all cliques together: what one pass of messages reads and writes."""
        return sum(self.weigh(node, self.later[node]) for node in self.order)

    def cells_with(self, a: int, b: int) -> int:
        """Cells if columns a and b were neighbours, too, and the order stayed: b joins the cliques on the way from a to it."""
        if self.place[a] > self.place[b]:
            a, b = b, a
        node, joined, cells = a, {b}, self.cells
        while node:
            own = set(self.scope[node])
            new = joined - own
            if not new:
                break
            before = self.weigh(node, self.later[node])
            cells += before * (math.prod(self.sizes[other] for other in new) - 1)
            around = (own | new) - {node}
            node = min(around, key=self.place.__getitem__)
            joined = around - {node}
        return cells

    @cached_property
    def place(self) -> dict[int, int]:
        """Position of every node in the order."""
        return {node: number for number, node in enumerate(self.order)}

    @cached_property
    def scope(self) -> dict[int, Clique]:
        """Axes of the arrays of each node's clique: the node itself last."""
        return {node: (*self.later[node], node) for node in self.order}

    @cached_property
    def above(self) -> dict[int, int]:
        """The node whose clique holds all of S_v: the first of S_v to be eliminated. The class has none."""
        return {v: min(self.later[v], key=self.place.__getitem__) for v in self.order if self.later[v]}

    def home(self, clique: Clique) -> int:
        """The node whose clique holds a measured marginal."""
        return min(clique, key=self.place.__getitem__)

    def shape(self, scope: Clique) -> tuple[int, ...]:
        """Of a table over some nodes."""
        return tuple(self.sizes[node] for node in scope)


def neighbours(count: int, cliques: Iterable[Clique]) -> list[set[int]]:
    """Nodes that share a clique, for every node."""
    near: list[set[int]] = [set() for _ in range(count)]
    for clique in cliques:
        for node in clique:
            near[node].update(clique)
    for node in range(count):
        near[node].discard(node)
    return near


def align(array: np.ndarray, scope: Clique, wider: Clique) -> np.ndarray:
    """An array over `scope` seen as one over `wider`, which holds all of it: axes moved, others of length 1."""
    moved = array.transpose([scope.index(node) for node in wider if node in scope])
    lengths = iter(moved.shape)
    return moved.reshape([next(lengths) if node in scope else 1 for node in wider])


def project(array: np.ndarray, scope: Clique, onto: Clique) -> np.ndarray:
    """Summed over what is not in `onto`, axes in the order of `onto`."""
    kept = tuple(node for node in scope if node in onto)
    summed = array.sum(axis=tuple(place for place, node in enumerate(scope) if node not in onto))
    return np.asarray(summed.transpose([kept.index(node) for node in onto]))


class Beliefs(NamedTuple):
    """Marginals of every node's clique, and P(node | later neighbours), both over `graph.scope[node]`."""

    graph: Graph
    mus: dict[int, np.ndarray]
    conditionals: dict[int, np.ndarray]

    def marginal(self, clique: Clique) -> np.ndarray:
        """Of a marginal that lies within one clique."""
        home = self.graph.home(clique)
        return project(self.mus[home], self.graph.scope[home], clique)


class Model:
    """Log-potentials on the measured marginals."""

    def __init__(self, sizes: Sequence[int], total: float) -> None:
        self.sizes, self.total = tuple(sizes), max(total, 1.0)
        self.measured: list[Measured] = []
        self.theta: dict[Clique, np.ndarray] = {}
        self.graph = Graph(self.sizes, [])

    def add(self, items: Sequence[Measured]) -> None:
        """Take in new counts. New tables start from the dependence that their own counts show beyond their margins."""
        self.measured = merge([*self.measured, *items])
        for item in items:
            if item.clique not in self.theta:
                self.theta[item.clique] = start(item.clique, item.counts)
        fresh, kept = Graph(self.sizes, self.theta), Graph(self.sizes, self.theta, self.graph.order)
        self.graph = min(fresh, kept, key=lambda graph: graph.cells)

    def beliefs(self, theta: dict[Clique, np.ndarray] | None = None) -> Beliefs:
        """Marginals of all cliques, by passing messages."""
        graph, scope = self.graph, self.graph.scope
        parts: dict[int, list[tuple[np.ndarray, Clique]]] = {node: [] for node in graph.order}
        for clique, table in (self.theta if theta is None else theta).items():
            parts[graph.home(clique)].append((table, clique))
        conditionals: dict[int, np.ndarray] = {}
        for node in graph.order:
            joint = np.zeros(graph.shape(scope[node]))
            for table, axes in parts[node]:
                joint += align(table, axes, scope[node])
            peak = joint.max(axis=-1, keepdims=True)
            joint -= peak
            np.exp(joint, out=joint)
            mass = joint.sum(axis=-1, keepdims=True)
            joint /= mass
            conditionals[node] = joint
            if node:
                parts[graph.above[node]].append(((peak + np.log(mass))[..., 0], graph.later[node]))
        mus = {0: self.total * conditionals[0]}
        for node in reversed(graph.order[:-1]):
            up = graph.above[node]
            mus[node] = conditionals[node] * project(mus[up], scope[up], graph.later[node])[..., None]
        return Beliefs(graph, mus, conditionals)

    def descend(self, steps: int) -> Beliefs:
        """Mirror descent; a step that does not lower the loss is taken back and halved."""
        beliefs = self.beliefs()
        loss, slope = misfit(self.measured, beliefs)
        step = min(item.deviation for item in self.measured) ** 2 / self.total
        past = [loss]
        for _ in range(steps):
            tried = {clique: table - step * slope[clique] for clique, table in self.theta.items()}
            found = self.beliefs(tried)
            new, ahead = misfit(self.measured, found)
            if not new < loss:
                step *= 0.5
                if step < 1e-12:
                    break
                continue
            self.theta, beliefs, loss, slope, step = tried, found, new, ahead, step * 1.2
            past.append(loss)
            if len(past) > PATIENCE and past[-PATIENCE] - loss < ENOUGH * loss:
                break
        return beliefs


def start(clique: Clique, counts: np.ndarray) -> np.ndarray:
    """A table to start from: of a column its shares given the class, of a pair what it shows beyond independence."""
    kept = np.maximum(counts, 0.0) + SLIVER
    columns = tuple(axis for axis, node in enumerate(clique) if node)
    if not columns:
        return np.asarray(np.log(kept))
    margins = [kept.sum(axis=tuple(o for o in columns if o != axis), keepdims=True) for axis in columns]
    whole = kept.sum(axis=columns, keepdims=True)
    if len(columns) == 1:
        return np.asarray(np.log(kept / whole))
    return np.asarray(np.log(kept) + (len(columns) - 1) * np.log(whole) - sum(np.log(margin) for margin in margins))


def misfit(measured: Sequence[Measured], beliefs: Beliefs) -> tuple[float, dict[Clique, np.ndarray]]:
    """L and its gradient with respect to the marginals."""
    loss, slope = 0.0, {}
    for item in measured:
        off = beliefs.marginal(item.clique) - item.counts
        loss += 0.5 * float((off * off).sum()) / item.deviation**2
        slope[item.clique] = off / item.deviation**2
    return loss, slope


def fit_model(sizes: Sequence[int], measured: Sequence[Measured], total: float, steps: int) -> list[Conditional]:
    """The best model for these measurements, as tables to draw from: parents before children."""
    model = Model(sizes, total)
    model.add(measured)
    return tables(model.descend(steps))


def tables(beliefs: Beliefs) -> list[Conditional]:
    """P(node | later neighbours) of every column, in the order in which rows are drawn."""
    graph = beliefs.graph
    return [Conditional(node, graph.later[node], beliefs.conditionals[node]) for node in reversed(graph.order[:-1])]


def all_pairs(beliefs: Beliefs) -> dict[Clique, np.ndarray]:
    """The model's counts of every pair of columns per class, whether or not the pair lies within a clique.

    For each column a, P(a, clique of v) goes from clique to clique: up from a's own by P(a | S) mu, then down by P(v | S).
    """
    graph, scope, mus = beliefs.graph, beliefs.graph.scope, beliefs.mus
    busy = set(graph.above.values())  # cliques that others hang on
    found: dict[Clique, np.ndarray] = {}
    for a in graph.order[:-1]:
        joint: dict[int, tuple[np.ndarray, Clique]] = {a: (mus[a], scope[a])}
        node = a
        while node:
            up, later = graph.above[node], graph.later[node]
            held = project(*joint[node], (*later, a))
            below = np.maximum(held.sum(axis=-1, keepdims=True), 1e-300)
            axes = (*scope[up], a)
            joint[up] = align(held / below, (*later, a), axes) * mus[up][..., None], axes
            node = up
        for v in reversed(graph.order[:-1]):
            if v not in joint:
                later = graph.later[v]
                if a in later:
                    joint[v] = mus[v], scope[v]
                elif v in busy:
                    held = project(*joint[graph.above[v]], (*later, a))
                    axes = (*scope[v], a)
                    joint[v] = align(held, (*later, a), axes) * beliefs.conditionals[v][..., None], axes
                else:
                    if v > a:  # the other order was or will be computed from v's side
                        held = project(*joint[graph.above[v]], (*later, a))
                        found[0, a, v] = contract(held, beliefs.conditionals[v], later)
                    continue
            if v > a:
                found[0, a, v] = project(*joint[v], (0, a, v))
    return found


def contract(held: np.ndarray, conditional: np.ndarray, later: Clique) -> np.ndarray:
    """sum over S without the class of P(S, a) P(v | S): [class, a, v]."""
    first = later.index(0)
    held = np.moveaxis(held, first, 0).reshape(held.shape[first], -1, held.shape[-1])
    conditional = np.moveaxis(conditional, first, 0).reshape(held.shape[0], -1, conditional.shape[-1])
    return np.asarray(np.matmul(held.transpose(0, 2, 1), conditional))
