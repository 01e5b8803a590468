"""Marginals of a graphical model on a clique tree, for any graph.

The model is a product of tables exp(theta_r) over measured marginals r. Nodes are eliminated one after the other, node 0 (the
class, if there is one) last: node v leaves behind the clique of itself and its later neighbours S_v. Messages go up the
elimination tree, marginals come down it, and P(v | S_v) is what rows are drawn from. Any node can be the last one without
larger cliques, so that the class costs no more there than elsewhere; parts of the graph that do not hang together have roots
of their own.

A column may be several nodes, one for each level of its cells that some count uses (`levels.py`). Each is linked to the next
finer one by a fixed factor of 0 and 1, so that columns meet in large cliques by their coarse cells, and fine cells hang on
them.

Arithmetic is in double precision and not in logarithms: only the measured tables, which are small, go through exp, and the
large arrays of cliques are multiplied and added up. exp(theta) is kept between e^-60 and 1 and messages have largest entry
1, so that nothing underflows before a clique has ten tables at their smallest.

**Several models at once.** Copies of a model (`redraw.py`) have the same tree and other log-potentials. Most cliques are small,
and a pass over them is mostly the way from one to the next; so a pass takes any number of models, which are the first axis of
all arrays. The tables of a model stand one after the other in one row of numbers.
"""

import math
from collections.abc import Sequence
from functools import cache, cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np

from understudy.methods.marginals.junction import Clique, Graph, align

LEAST_POTENTIAL = -60.0  # of a log-potential below the largest of its table


class Link(NamedTuple):
    """A fixed factor of 0 and 1: which cells of two nodes can go together."""

    nodes: Clique
    possible: np.ndarray


class Beliefs(NamedTuple):
    """What a pass over the tree found: the measured tables, log Z, and every node's clique marginal."""

    found: list[np.ndarray]
    log_z: float
    mus: dict[int, np.ndarray]


class Several(NamedTuple):
    """The same of several models, which are the first axis; the tables of a model one after the other."""

    found: np.ndarray
    log_z: np.ndarray
    mus: dict[int, np.ndarray]


class JunctionTree:
    """The graph of some tables, and one pass of messages over it."""

    def __init__(self, sizes: Sequence[int], tables: Sequence[Clique], links: Sequence[Link], total: float) -> None:
        self.graph = Graph(sizes, [*tables, *(link.nodes for link in links)])
        self.tables, self.links, self.total = list(tables), list(links), max(total, 1.0)
        self.homes = [self._home(nodes) for nodes in self.tables]
        self.fixed: dict[int, list[np.ndarray]] = {node: [] for node in self.graph.order}
        for link in links:
            home = self._home(link.nodes)
            self.fixed[home].append(align(link.possible, link.nodes, self.graph.scope[home])[None])
        ends = np.cumsum([0, *(math.prod(self.graph.shape(nodes)) for nodes in self.tables)])
        self.places = [slice(a, b) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
        self.width = int(ends[-1])

    def _home(self, nodes: Clique) -> int:
        """The smallest clique that holds these nodes."""
        graph = self.graph
        fitting = [v for v in graph.order if set(nodes) <= set(graph.scope[v])]
        return min(fitting, key=lambda v: graph.weigh(v, graph.later[v]))

    @cached_property
    def _up(self) -> dict[int, "View"]:
        """How a node's message is seen in the clique above."""
        graph = self.graph
        return {v: View.of(graph.later[v], graph.scope[up], graph.sizes) for v, up in graph.above.items()}

    @cached_property
    def _down(self) -> dict[int, "SumOut"]:
        """How a node's separator is summed from the clique above."""
        graph = self.graph
        return {v: SumOut.of(graph.scope[up], graph.later[v], graph.sizes) for v, up in graph.above.items()}

    @cached_property
    def _tables(self) -> list[tuple["View", "SumOut"]]:
        """How every table is seen in its clique, and summed from it."""
        graph = self.graph
        return [
            (View.of(nodes, graph.scope[home], graph.sizes), SumOut.of(graph.scope[home], nodes, graph.sizes))
            for nodes, home in zip(self.tables, self.homes, strict=True)
        ]

    def run(self, theta: Sequence[np.ndarray]) -> Beliefs:
        """Marginals of the model with these log-potentials."""
        return self.beliefs(self.run_all(self.flat(theta)[None]), 0)

    def flat(self, tables: Sequence[np.ndarray]) -> np.ndarray:
        """The tables of a model one after the other."""
        return np.concatenate(
            [
                np.zeros(0),
                *(
                    np.broadcast_to(one, self.graph.shape(nodes)).ravel()
                    for one, nodes in zip(tables, self.tables, strict=True)
                ),
            ]
        )

    def beliefs(self, several: Several, number: int) -> Beliefs:
        """Of one of them."""
        found = [
            several.found[number, place].reshape(self.graph.shape(nodes))
            for nodes, place in zip(self.tables, self.places, strict=True)
        ]
        mus = {node: mu[number] for node, mu in several.mus.items()}
        return Beliefs(found, float(several.log_z[number]), mus)

    def run_all(self, theta: np.ndarray) -> Several:
        """Marginals of several models, one in each row of log-potentials."""
        graph, models = self.graph, len(theta)
        parts = {node: list(fixed) for node, fixed in self.fixed.items()}
        log_z = np.zeros(models)
        for home, place, (view, _) in zip(self.homes, self.places, self._tables, strict=True):
            values = theta[:, place]
            top = values.max(axis=1)
            log_z += top
            parts[home].append(view(np.exp(np.maximum(values - top[:, None], LEAST_POTENTIAL))))
        joints: dict[int, np.ndarray] = {}
        sums: dict[int, np.ndarray] = {}
        for node in graph.order:
            joint = product(parts.pop(node), (models, *graph.shape(graph.scope[node])))
            joints[node], mass = joint, joint @ ones(joint.shape[-1])
            sums[node] = mass
            top = mass.reshape(models, -1).max(axis=1)
            log_z += np.log(top)
            if graph.later[node]:
                parts[graph.above[node]].append(self._up[node](mass.reshape(models, -1) / top[:, None]))
        mus: dict[int, np.ndarray] = {}
        for node in reversed(graph.order):
            joint, mass = joints.pop(node), sums.pop(node)
            held = self._down[node](mus[graph.above[node]]) if graph.later[node] else np.full(models, self.total)
            joint *= np.divide(held, mass, out=np.zeros_like(mass), where=mass > 0.0)[..., None]
            mus[node] = joint
        found = np.empty((models, self.width))
        for home, place, (_, onto) in zip(self.homes, self.places, self._tables, strict=True):
            found[:, place] = onto(mus[home]).reshape(models, -1)
        return Several(found, log_z, mus)


def product(parts: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """All factors multiplied, small ones first among themselves; in the order of their axes, so that sums need no copy."""
    first, *others = sorted(parts, key=lambda part: part.size) or [np.ones(())]
    joint = first
    for part in others:
        joint = np.multiply(joint, part, order="C")
    return joint if joint.shape == shape and others else np.array(np.broadcast_to(joint, shape), order="C")


@cache
def ones(length: int) -> np.ndarray:
    """A product with them is a sum, and faster."""
    return np.ones(length)


class View(NamedTuple):
    """Tables over some nodes seen as tables over a clique that holds them: axes moved, others of length 1."""

    before: tuple[int, ...]
    axes: tuple[int, ...]
    after: tuple[int, ...]

    @classmethod
    def of(cls, scope: Clique, wider: Clique, sizes: Sequence[int]) -> "View":
        """Of tables over `scope` in a clique over `wider`."""
        moved = [scope.index(node) for node in wider if node in scope]
        after = tuple(sizes[node] if node in scope else 1 for node in wider)
        return cls(tuple(sizes[node] for node in scope), (0, *(place + 1 for place in moved)), after)

    def __call__(self, tables: np.ndarray) -> np.ndarray:
        """Of several models."""
        models = len(tables)
        return tables.reshape(models, *self.before).transpose(self.axes).reshape(models, *self.after)


class SumOut(NamedTuple):
    """Tables of a clique added up over what is not in `onto`: neighbouring axes at once, by products."""

    steps: tuple[tuple[int, int, int], ...]  # cells before, on and after the axes that are added up
    kept: tuple[int, ...]
    axes: tuple[int, ...]

    @classmethod
    def of(cls, scope: Clique, onto: Clique, sizes: Sequence[int]) -> "SumOut":
        """Of tables over `scope`; axes in the order of `onto`."""
        runs = [(held, list(nodes)) for held, nodes in groupby(scope, key=lambda node: node in onto)]
        steps, after = [], 1
        for place, (held, nodes) in reversed(list(enumerate(runs))):
            own = math.prod(sizes[node] for node in nodes)
            if held:
                after *= own
            else:
                steps.append((math.prod(sizes[node] for _, ahead in runs[:place] for node in ahead), own, after))
        kept = [node for node in scope if node in onto]
        return cls(tuple(steps), tuple(sizes[node] for node in kept), (0, *(kept.index(node) + 1 for node in onto)))

    def __call__(self, tables: np.ndarray) -> np.ndarray:
        """Of several models."""
        models = len(tables)
        for before, own, after in self.steps:
            if after == 1:
                tables = tables.reshape(models * before, own) @ ones(own)
            else:
                tables = ones(own) @ tables.reshape(models * before, own, after)
        return tables.reshape(models, *self.kept).transpose(self.axes)


def summed(array: np.ndarray, scope: Clique, onto: Clique) -> np.ndarray:
    """One table added up over the nodes that are not in `onto`; axes in the order of `onto`."""
    sizes = dict(zip(scope, array.shape, strict=True))
    every = [sizes.get(node, 1) for node in range(max(scope) + 1)]
    return np.asarray(SumOut.of(scope, onto, every)(array[None])[0])
