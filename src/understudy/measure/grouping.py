"""Outcomes grouped into fewer cells by released counts: those in which columns meet. Public: nothing here sees a row.

What a column's outcomes are, and how its axis is cut into them, is said in `cells.py`.
"""

from collections.abc import Sequence

import numpy as np

from understudy.measure.cells import Grouping, Node
from understudy.questions import Step
from understudy.questions.row_maps import Label, joined


def group(node: Node, mass: np.ndarray, most: int, noise: float) -> Grouping:
    """At most `most` cells (and one for missing numbers) by released counts: all outcomes where there are no more of them,
    otherwise neighbours that together hold no more than a value that stays alone, or common categories and the rest.
    """
    positive = np.maximum(mass, 0.0)
    if not node.ordered:
        common = np.argsort(-positive, kind="stable")[: most - 1 if node.size > most else most]
        common = common[positive[common] > 3.0 * noise] if node.size > 2 else common
        cell = np.full(node.size, -1)
        cell[np.sort(common)] = np.arange(len(common))
        rest = cell < 0
        cell[rest] = len(common)
        return Grouping(cell, len(common) + bool(rest.any()))
    offset = node.gap
    cell = neighbours(positive[offset:], most)
    return Grouping(np.r_[np.arange(offset), cell + offset], int(cell.max()) + 1 + offset)


def neighbours(mass: np.ndarray, most: int) -> np.ndarray:
    """The cell of every outcome, in order: at most `most` cells, each as full as needed and no fuller."""
    if len(mass) <= most:
        return np.arange(len(mass))
    room = float(mass.sum()) / most
    while True:
        cell, number, held = np.zeros(len(mass), int), 0, 0.0
        for place, own in enumerate(mass.tolist()):
            if held > 0.0 and held + own > room:
                number, held = number + 1, 0.0
            cell[place], held = number, held + own
        if number < most:
            return cell
        room *= 1.1


def cumulative(weights: np.ndarray, width: int) -> np.ndarray:
    """Rows of cumulative probabilities, padded with 1; a row without weight is uniform."""
    positive = np.maximum(np.asarray(weights, np.float64), 0.0)
    empty = positive.sum(axis=1) <= 0.0
    positive[empty] = 1.0
    sums = np.cumsum(positive, axis=1)
    padded = np.ones((len(positive), width))
    padded[:, : positive.shape[1]] = sums / sums[:, -1:]
    last = positive.shape[1] - 1 - np.argmax(positive[:, ::-1] > 0.0, axis=1)
    padded[np.arange(width)[None, :] >= last[:, None]] = 1.0
    return padded


def positive(node: Node, mass: np.ndarray) -> np.ndarray:
    """Weights of outcomes: noisy counts cut off at zero; a category or listed value always stays possible."""
    kept = np.maximum(np.asarray(mass, float), 0.0)
    return np.asarray(kept if node.share is not None else kept + 1e-3 * max(float(kept.mean()), 1.0))


def drawable(node: Node, grouping: Grouping, mass: np.ndarray) -> np.ndarray:
    """Weights of a column's outcomes within their cells.

    Noise may put rows into a cell of which every outcome is believed empty. They get the outcome that is nearest to rows, and
    not just any up to a far bound.
    """
    kept = positive(node, mass)
    rows = node.gap + np.flatnonzero(kept[node.gap :])
    for cell in np.flatnonzero(np.bincount(grouping.cell, kept, grouping.cells) <= 0.0) if len(rows) else ():
        own = np.flatnonzero(grouping.cell == cell)
        away = np.abs(own[:, None] - rows[None, :]).min(axis=1)
        kept[own[away.argmin()]] = 1.0
    return kept


def cell_map(nodes: list[Node], groups: Sequence[Grouping | None] | None) -> Step:
    """Map of a row to cells: node 0 is the class, then the columns."""
    each = [None] * len(nodes) if groups is None else groups
    return joined(Label(), *(node.cell(grouping) for node, grouping in zip(nodes, each, strict=True)))


def cells_of(nodes: list[Node], classes: int) -> tuple[int, ...]:
    """Outcomes of the class and of every column."""
    return (classes, *(node.outcomes for node in nodes))
