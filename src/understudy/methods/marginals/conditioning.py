"""Exact draws given anything about any columns: conditioning in the tree, without rejection, however rare.

The tables of a marginal model are P(v | S_v) of every node v given the nodes S_v drawn before it, in an order in which all of
S_v but its last node u lies within S_u: the elimination tree of `junction`. What is known about a column is a weight
w(o) in [0, 1] of each of its outcomes o (the part of the outcome's values that is allowed), for a node

    l_v(cell) = sum_o P(o | cell) w(o)                                                         likelihood of a cell
    m_v(S_v) = sum_v P(v | S_v) l_v(v) prod_c m_c                    message to u, from the last drawn node to the first
    P(v | S_v, known) = P(v | S_v) l_v(v) prod_c m_c / m_v(S_v)

and the class has P(class) times the messages that arrive there. Drawing from these tables in the old order gives rows with
exactly the model's distribution given what is known. The product of all messages is the probability of what is known: 0 means
that it cannot happen under the model, as its artifact keeps it (in single precision).

Cells without likelihood are taken out of all tables beforehand, so that the more is known the quicker it is. All of it is
post-processing of released counts.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from understudy.methods.marginals.junction import align

PHI = 0.6180339887498949  # i PHI modulo 1 spreads evenly for every run of i


class Step(NamedTuple):
    """P(node | parents): `weights[parents' cells..., own cells]`."""

    node: int
    parents: tuple[int, ...]
    weights: np.ndarray


class Leaf(NamedTuple):
    """A column: the node that shows it, and for each of its outcomes the cell, the share of the cell, and the interval."""

    node: int
    cell: np.ndarray
    share: np.ndarray
    base: np.ndarray
    span: np.ndarray


class Tree:
    """All tables of a model; node 0 is the class. Steps have parents before children."""

    def __init__(self, prior: np.ndarray, steps: Sequence[Step], leaves: Mapping[str, Leaf]) -> None:
        self.prior, self.steps, self.leaves = prior, tuple(steps), dict(leaves)
        self.sizes = {0: len(prior)} | {step.node: step.weights.shape[-1] for step in steps}
        place = {step.node: number for number, step in enumerate(steps)} | {0: -1}
        self.above = {s.node: max(s.parents, key=place.__getitem__) for s in steps if s.parents}
        # Which cells of a node and of one of its parents can go together at all: what is known of one tells of the other.
        self.supports: list[tuple[int, int, np.ndarray]] = [
            (parent, step.node, support(step.weights, axis))
            for step in steps
            for axis, parent in enumerate(step.parents)
        ]

    def given(self, known: Mapping[int, np.ndarray]) -> "Given | None":
        """The tables given likelihoods of nodes' cells; None if that cannot happen."""
        ones = {node: np.ones(size) for node, size in self.sizes.items()}
        kept = {node: np.flatnonzero(known.get(node, ones[node]) > 0.0) for node in self.sizes}
        kept[0] = kept[0][self.prior[kept[0]] > 0.0]
        self._narrow(kept)
        if not all(len(own) for own in kept.values()):
            return None
        arrived: dict[int, list[tuple[np.ndarray, tuple[int, ...]]]] = {node: [] for node in self.sizes}
        log_mass, steps = 0.0, []
        for step in reversed(self.steps):
            scope = (*step.parents, step.node)
            joint = step.weights[np.ix_(*(kept[node] for node in scope))]
            if step.node in known:
                joint = joint * known[step.node][kept[step.node]]
            for message, axes in arrived[step.node]:
                joint = joint * align(message, axes, scope)
            mass = joint.sum(axis=-1)
            top = float(mass.max())
            if top <= 0.0:
                return None
            log_mass += math.log(top)
            steps.append(Step(step.node, step.parents, joint))
            if step.parents:
                arrived[self.above[step.node]].append((mass / top, step.parents))
        prior = self.prior[kept[0]] * known.get(0, ones[0])[kept[0]]
        for message, _ in arrived[0]:
            prior = prior * message
        if prior.sum() <= 0.0:
            return None
        return Given(prior / prior.sum(), tuple(reversed(steps)), kept, log_mass + math.log(prior.sum()))

    def _narrow(self, kept: dict[int, np.ndarray]) -> None:
        """Take out cells that nothing kept can go with: down the tree and up again."""
        whole = {node: len(own) == self.sizes[node] for node, own in kept.items()}
        if all(whole.values()):
            return
        for parent, node, support in (*reversed(self.supports), *self.supports):
            for a, b, table in ((parent, node, support), (node, parent, support.T)):
                if len(kept[a]) < self.sizes[a] and len(kept[a]):
                    kept[b] = kept[b][table[kept[a]].any(axis=0)[kept[b]]]


def support(weights: np.ndarray, axis: int) -> np.ndarray:
    """Which cells of a parent and of the node itself go together for some cells of the other parents."""
    others = tuple(place for place in range(weights.ndim - 1) if place != axis)
    return np.asarray((weights > 0.0).any(axis=others))


class Given(NamedTuple):
    """Tables given what is known, over the cells that are kept; `log_mass` is the logarithm of its probability."""

    prior: np.ndarray
    steps: tuple[Step, ...]
    kept: dict[int, np.ndarray]
    log_mass: float

    def draw(self, rows: int, random: np.random.Generator) -> dict[int, np.ndarray]:
        """The cells of every node of so many rows. Each row has the distribution of the tables; among rows with the same
        parents the draws are spread evenly, as the generator of the clique tree does it.
        """
        here = {0: pick(np.broadcast_to(self.prior, (1, len(self.prior))), np.zeros(rows, np.int64), random)}
        for step in self.steps:
            shape = step.weights.shape[:-1]
            given = np.zeros(rows, np.int64)
            for parent, size in zip(step.parents, shape, strict=True):
                given = given * size + here[parent]
            here[step.node] = pick(step.weights.reshape(-1, step.weights.shape[-1]), given, random)
        return {node: self.kept[node][cells] for node, cells in here.items()}


def pick(weights: np.ndarray, given: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """For every row one entry of `weights[given]`, with these weights."""
    used, place = np.unique(given, return_inverse=True)
    sums = np.cumsum(weights[used], axis=1)
    totals = sums[:, -1]
    # One rising line of all used rows: row r lies between r and r + 1.
    line = (sums / np.where(totals > 0.0, totals, 1.0)[:, None] + np.arange(len(used))[:, None]).ravel()
    found = np.searchsorted(line, place + evenly(place, random), side="right") - place * sums.shape[1]
    last = sums.shape[1] - 1 - np.argmax(weights[used][:, ::-1] > 0.0, axis=1)
    first = np.argmax(weights[used] > 0.0, axis=1)
    return np.asarray(np.clip(found, first[place], last[place]))


def evenly(given: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Uniform numbers in [0, 1) that are spread evenly among rows with the same `given`."""
    order = np.lexsort((random.random(len(given)), given))
    found = np.empty(len(given))
    found[order] = (random.random() + PHI * np.arange(len(given))) % 1.0
    return found
