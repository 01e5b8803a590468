"""How many decimals the numbers of a column have, where the schema does not say so: found in the first answer about its cells.

Weights in tenths, prices in cents, counts that a file holds as floating-point numbers because some are missing: most columns of
numbers lie on a grid, and rows drawn between its points are told from real ones at once. So beside the cells a column is asked

    outcome d of a number      the fewest decimals it can be written with, d = 0, 1, 2, 3; one more outcome: any number
    bounds and zero            an outcome of their own, as they lie on every grid

It has d decimals if the numbers that need more do not stand out from the noise while those that need no more hold `CLEARLY` times
as many rows as could hide there: of smooth numbers next to none lie on a grid, so a few rows off it are rounded at worst.

**Price.** One more table of the same question (`understudy.questions.counts`, budgets), so its price is what it was; the noise on
the other tables grows a little. What follows from the counts is post-processing.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from understudy.measure.cells import STANDS_OUT, Grouping, Node, respread, snap, with_edges
from understudy.schema import Column

# First values: SHARE, MOST and CLEARLY.
SHARE = 0.25  # of the squared privacy loss that this table has, where the cells of a column have 1
MOST = 3  # decimals that are looked for
POINTS = 1 << 15  # of a grid: every number is compared with twice as many edges
ALL_POINTS = 1 << 20  # of all grids: every worker holds their edges, 16 MB of them
CLEARLY = 3.0
# Of the axis: numbers so near to a point of the grid lie on it, as encoded values are 32-bit numbers; of smooth ones 3 % at most.
ON_GRID = 2.0**-21


class Grids(NamedTuple):
    """The axis of a column cut around the points of its grids, and which of the outcomes above every piece belongs to."""

    node: Node
    outcome: Grouping
    decimals: tuple[int, ...]  # of the first outcomes


def grids(node: Node, column: Column, columns: int = 1) -> Grids | None:
    """Of a column of any numbers among so many; None where the schema knows better or no grid is wide enough to be seen."""
    if column.kind != "continuous" or column.decimals is not None:
        return None
    lower, upper = column.bounds
    most = min(POINTS, ALL_POINTS // columns)
    known = [d for d in range(MOST + 1) if 2 <= (upper - lower) * 10.0**d < most and _on_grid((lower, upper), d)]
    if not known:
        return None
    finest = known[-1]
    first, last = (round(bound * 10.0**finest) for bound in (lower, upper))
    ticks = np.arange(first, last + 1)
    level = np.full(len(ticks), len(known) - 1)
    for number, d in reversed(list(enumerate(known))):
        level[ticks % 10 ** (finest - d) == 0] = number
    anything, apart = len(known), len(known) + 1
    level[[0, -1]], level[ticks == 0] = apart, apart
    points = (ticks - first) / (last - first)
    edges = np.sort(np.concatenate([[0.0, 1.0], points[1:] - ON_GRID, points[:-1] + ON_GRID]))
    piece = np.full(len(edges) - 1, anything)
    piece[::2] = level
    outcome = Grouping(np.r_[np.full(node.gap, apart), piece], len(known) + 2)
    return Grids(with_edges(node, edges), outcome, tuple(known))


def _on_grid(bounds: tuple[float, float], decimals: int) -> bool:
    steps = np.asarray(bounds) * 10.0**decimals
    return bool(np.abs(steps - np.rint(steps)).max() < 1e-6)


def worth_asking(rows: float, noise: float) -> bool:
    """Whether a column could be found to lie on a grid: all of its rows against what hides a single outcome."""
    return rows > CLEARLY * STANDS_OUT * noise


def decimals_of(asked: Grids, counts: np.ndarray, noise: float) -> int | None:
    """The fewest decimals with which nearly all numbers can be written, as far as released counts tell."""
    numbers = counts[: len(asked.decimals) + 1]
    for known, decimals in enumerate(asked.decimals, 1):
        hidden = STANDS_OUT * noise * math.sqrt(len(numbers) - known)
        if numbers[known:].sum() <= hidden and numbers[:known].sum() > CLEARLY * hidden:
            return decimals
    return None


def on_grid(node: Node, column: Column, decimals: int | None) -> Node:
    """A column whose numbers have so many decimals: its cells begin and end between two of them."""
    if decimals is None or node.edges is None or node.share is None:
        return node
    lower, upper = column.bounds
    step = 10.0**-decimals / (upper - lower)
    edges = snap(node.edges, step)
    known = (part if part is not None and part.any() else None for part in (node.share, node.rest))
    share, rest = (None if part is None else respread(part, node.edges, edges) for part in known)
    return with_edges(replace(node, step=step, decimals=decimals), edges, share, rest)


def found_decimals(nodes: list[Node]) -> dict[str, int]:
    """Of the columns that were found to have some."""
    return {node.column: node.decimals for node in nodes if node.decimals is not None}
