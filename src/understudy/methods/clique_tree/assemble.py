"""From the fitted model to the flat tables that rows are drawn from: cells first, then the outcome within a cell."""

import math

import numpy as np

from understudy.measure.cells import Grouping, Node
from understudy.measure.grouping import drawable
from understudy.methods.clique_tree.generator import Network
from understudy.methods.clique_tree.inside import NONE, Counted
from understudy.methods.clique_tree.levels import Layout, coarsen
from understudy.methods.clique_tree.refine import Targets
from understudy.methods.clique_tree.tree import Beliefs, JunctionTree
from understudy.methods.marginals.junction import Graph


def assemble(
    tree: JunctionTree,
    beliefs: Beliefs,
    layout: Layout,
    nodes: list[Node],
    masses: list[np.ndarray],
    targets: Targets,
    counted: Counted = NONE,
) -> Network:
    """Nodes in the order of drawing: parents before children; node 0 is the class."""
    first = np.cumsum([0, *layout.sizes[1:]])
    inner = []
    for place, (column, _) in enumerate(layout.keys[1:], 1):
        shown = layout.finest[column] == place
        own = outcomes_of(nodes[column - 1], layout.groups[place], masses[column - 1]) if shown else ()
        inner.append(own or (np.ones(layout.sizes[place]), *np.zeros((4, layout.sizes[place]))))
    length = np.concatenate([part[0] for part in inner]) if inner else np.zeros(0)
    given = conditionals(tree, beliefs)
    order = given["order"]
    return Network(
        **given,
        column=np.asarray([layout.finest[column] for column in range(1, len(nodes) + 1)], int),
        width=np.asarray([layout.sizes[node] for node in order], int),
        first=first[order - 1] if len(order) else np.zeros(0, int),
        coarser=np.concatenate([coarser_cells(layout, place) for place in range(1, len(layout.keys))] or [np.zeros(0)]),
        below=np.asarray([hanging(tree.graph, node) for node in order.tolist()], int).reshape(
            len(order), len(layout.sizes)
        ),
        start=np.cumsum(length) - length,
        length=length,
        **{
            name: np.concatenate([part[number] for part in inner]) if inner else np.zeros(0)
            for number, name in enumerate(("inner", "code", "base", "span"), 1)
        },
        **targets._asdict(),
        **{f"counted_{name}": part for name, part in counted._asdict().items()},
    )


def conditionals(tree: JunctionTree, beliefs: Beliefs) -> dict[str, np.ndarray]:
    """The tables P(node | its parents) one after the other, and where each begins."""
    graph = tree.graph
    order = [node for node in reversed(graph.order) if node]
    most = max((len(graph.later[node]) for node in order), default=0) or 1
    parents, strides = np.zeros((len(order), most)), np.zeros((len(order), most))
    tables: list[np.ndarray] = []
    offset: list[int] = []
    for number, node in enumerate(order):
        weights = beliefs.mus[node]
        shape = weights.shape[:-1]
        parents[number, : len(shape)] = graph.later[node]
        strides[number, : len(shape)] = [math.prod(shape[place + 1 :]) for place in range(len(shape))]
        offset.append(sum(len(table) for table in tables))
        tables.append(cumulative(weights.reshape(-1, weights.shape[-1])).ravel())
    return {
        "order": np.asarray(order, int),
        "parents": parents,
        "strides": strides,
        "offset": np.asarray(offset, int),
        "table": np.concatenate(tables) if tables else np.zeros(0),
    }


def coarser_cells(layout: Layout, place: int) -> np.ndarray:
    """For every cell of a node the cell of the same column's next coarser node; -1 where there is none."""
    if layout.keys[place][0] != layout.keys[place - 1][0]:
        return np.full(layout.sizes[place], -1)
    return coarsen(layout.groups[place], layout.groups[place - 1])


def hanging(graph: Graph, node: int) -> np.ndarray:
    """1 for a node and all whose way up the tree leads through it."""
    found = np.zeros(len(graph.sizes), int)
    found[node] = 1
    for other in reversed(graph.order):  # what is above comes first
        if other in graph.above and found[graph.above[other]]:
            found[other] = 1
    return found


def cumulative(weights: np.ndarray) -> np.ndarray:
    """Rows of cumulative probabilities, 1 from the last positive entry on; a row without weight is uniform."""
    positive = np.maximum(weights, 0.0)
    positive = np.where(positive.sum(axis=1, keepdims=True) > 0.0, positive, 1.0)
    sums = np.cumsum(positive, axis=1)
    found = sums / sums[:, -1:]
    last = positive.shape[1] - 1 - np.argmax(positive[:, ::-1] > 0.0, axis=1)
    found[np.arange(positive.shape[1])[None, :] >= last[:, None]] = 1.0
    return np.asarray(found)


def outcomes_of(node: Node, grouping: Grouping, mass: np.ndarray) -> tuple[np.ndarray, ...]:
    """Outcomes of a column cell by cell: how many in each, their cumulative probabilities, numbers, intervals."""
    kept = drawable(node, grouping, mass)
    code = np.argsort(grouping.cell, kind="stable")
    length = np.bincount(grouping.cell, minlength=grouping.cells)
    base, span = node.interval()
    parts = np.split(kept[code], np.cumsum(length)[:-1])
    inner = np.concatenate([cumulative(part[None, :])[0] for part in parts])
    return length, inner, code, base[code], span[code]
