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
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from understudy.methods.marginals.junction import Clique, Graph, align

LEAST = -60.0  # of a log-potential below the largest of its table


class Link(NamedTuple):
    """A fixed factor of 0 and 1: which cells of two nodes can go together."""

    nodes: Clique
    possible: np.ndarray


class Beliefs(NamedTuple):
    """What a pass over the tree found: the measured tables, log Z, and every node's clique marginal."""

    found: list[np.ndarray]
    log_z: float
    mus: dict[int, np.ndarray]


class CliqueTree:
    """The graph of some tables, and one pass of messages over it."""

    def __init__(self, sizes: Sequence[int], tables: Sequence[Clique], links: Sequence[Link], total: float) -> None:
        self.graph = Graph(sizes, [*tables, *(link.nodes for link in links)])
        self.tables, self.total = list(tables), max(total, 1.0)
        self.homes = [self._home(nodes) for nodes in self.tables]
        self.fixed: dict[int, list[np.ndarray]] = {node: [] for node in self.graph.order}
        for link in links:
            home = self._home(link.nodes)
            self.fixed[home].append(align(link.possible, link.nodes, self.graph.scope[home]))

    def _home(self, nodes: Clique) -> int:
        """The smallest clique that holds these nodes."""
        graph = self.graph
        fitting = [v for v in graph.order if set(nodes) <= set(graph.scope[v])]
        return min(fitting, key=lambda v: graph.weigh(v, graph.later[v]))

    def run(self, theta: Sequence[np.ndarray]) -> Beliefs:
        """Marginals of the model with these log-potentials."""
        graph, scope = self.graph, self.graph.scope
        parts = {node: list(fixed) for node, fixed in self.fixed.items()}
        log_z = 0.0
        for nodes, home, values in zip(self.tables, self.homes, theta, strict=True):
            top = float(values.max())
            log_z += top
            factor = np.exp(np.maximum(values - top, LEAST))
            parts[home].append(align(factor, nodes, scope[home]))
        joints: dict[int, np.ndarray] = {}
        sums: dict[int, np.ndarray] = {}
        for node in graph.order:
            joint = product(parts.pop(node), graph.shape(scope[node]))
            joints[node], mass = joint, joint @ np.ones(joint.shape[-1])
            sums[node] = mass
            top = float(mass.max())
            log_z += math.log(top)
            if graph.later[node]:
                up = graph.above[node]
                parts[up].append(align(mass / top, graph.later[node], scope[up]))
        mus: dict[int, np.ndarray] = {}
        for node in reversed(graph.order):
            joint = joints.pop(node)
            if not graph.later[node]:
                joint *= self.total / sums[node]
            else:
                up = graph.above[node]
                held = summed(mus[up], scope[up], graph.later[node])
                joint *= np.divide(held, sums[node], out=np.zeros_like(held), where=sums[node] > 0.0)[..., None]
            mus[node] = joint
        found = [summed(mus[home], scope[home], nodes) for nodes, home in zip(self.tables, self.homes, strict=True)]
        return Beliefs(found, log_z, mus)


def product(parts: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """All factors multiplied, small ones first among themselves."""
    if not parts:
        return np.ones(shape)
    parts = sorted(parts, key=lambda part: part.size)
    joint = parts[0]
    for part in parts[1:]:
        joint = joint * part
    return np.ascontiguousarray(np.broadcast_to(joint, shape)) if joint.shape != shape else joint.copy()


def summed(array: np.ndarray, scope: Clique, onto: Clique) -> np.ndarray:
    """Added up over the nodes that are not in `onto`; axes in the order of `onto`. One axis at a time, the last by a product."""
    kept = list(scope)
    for node in [n for n in scope if n not in onto][::-1]:
        axis = kept.index(node)
        before, own, after = math.prod(array.shape[:axis]), array.shape[axis], math.prod(array.shape[axis + 1 :])
        rest = array.shape[:axis] + array.shape[axis + 1 :]
        if after == 1:
            array = (array.reshape(before, own) @ np.ones(own)).reshape(rest)
        elif before == 1:
            array = (np.ones(own) @ array.reshape(own, after)).reshape(rest)
        else:
            array = array.reshape(before, own, after).sum(axis=1).reshape(rest)
        kept.pop(axis)
    return array.transpose([kept.index(node) for node in onto])
