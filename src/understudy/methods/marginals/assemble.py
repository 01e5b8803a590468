"""From fitted conditional tables to what the generator draws from: cells first, then the outcome within a cell."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from understudy.measure.cells import Grouping, Node
from understudy.measure.grouping import cumulative, drawable
from understudy.methods.marginals.generator import Network


class Conditional(NamedTuple):
    """One node's table given its parents: `weights[parents' cells..., own cells]`."""

    node: int
    parents: tuple[int, ...]
    weights: np.ndarray


def assemble(nodes: list[Node], groups: list[Grouping], masses: list[np.ndarray], drawn: list[Conditional]) -> Network:
    """Pad and stack what the generator draws from; `drawn` lists parents before children (node 0 is the class)."""
    count = len(nodes)
    outcomes = max((node.outcomes for node in nodes), default=1)
    inner = [
        cumulative(
            np.where(grouping.cell == np.arange(grouping.cells)[:, None], drawable(node, grouping, mass), 0.0),
            outcomes,
        )
        for node, grouping, mass in zip(nodes, groups, masses, strict=True)
    ]
    base, span = np.zeros((count, outcomes)), np.zeros((count, outcomes))
    for number, node in enumerate(nodes):
        base[number, : node.outcomes], span[number, : node.outcomes] = node.interval()
    return Network(
        **stacked(drawn, [grouping.cells for grouping in groups]),
        inner=np.concatenate(inner) if inner else np.ones((0, outcomes)),
        base=base,
        span=span,
    )


def stacked(drawn: list[Conditional], sizes: Sequence[int]) -> dict[str, np.ndarray]:
    """The conditional tables of all nodes as one, and where each node's begins; `sizes` are the nodes' cells."""
    count, cells = len(sizes), max(sizes, default=1)
    most_parents = max((len(step.parents) for step in drawn), default=0) or 1
    parents, strides = np.zeros((count, most_parents)), np.zeros((count, most_parents))
    tables: list[np.ndarray] = []
    offset: list[int] = []
    for number, step in enumerate(drawn):
        shape = step.weights.shape[:-1]
        parents[number, : len(shape)] = step.parents
        strides[number, : len(shape)] = [math.prod(shape[place + 1 :]) for place in range(len(shape))]
        offset.append(sum(len(table) for table in tables))
        tables.append(cumulative(step.weights.reshape(-1, step.weights.shape[-1]), cells))
    order, starts = np.asarray([step.node for step in drawn], int), np.cumsum([0, *sizes])[:-1]
    return {
        "order": order,
        "parents": parents,
        "strides": strides,
        "offset": np.asarray(offset, int),
        "table": np.concatenate(tables) if tables else np.ones((0, cells)),
        "first": starts[order - 1] if count else np.zeros(0, int),
    }
