"""What is asked about columns one by one: cells of numbers, and noisy counts of every column's outcomes.

Number 0 is the class (a column of one outcome where there is none), then come the columns in the order of the schema.

The rows of a unit share a weight of 1 (`understudy.questions.counts`), so counts add up to units.
"""

import math
from typing import NamedTuple

import numpy as np

from understudy.accounting import Plan
from understudy.measure.cells import Grouping, Node
from understudy.measure.grouping import cells_of
from understudy.measure.one_way import ask_one_way
from understudy.methods.clique_tree.levels import nested
from understudy.questions import Step
from understudy.questions.row_maps import Label, joined
from understudy.recipe import Curator
from understudy.schema import Codec

ONE_WAY = "one-way marginals"
HISTOGRAM = "class histogram"
OWN_CELL = 2.0  # outcomes with fewer rows than so many deviations of their noise share a cell with others


class Columns(NamedTuple):
    """Released counts of all columns, and what follows from them."""

    nodes: list[Node]  # without the class
    classes: int
    rows: float
    counts: list[np.ndarray]  # of outcomes, as released; the class first
    noise: list[float]
    masses: list[np.ndarray]  # the same as believed
    levels: list[list[Grouping]]
    pair_noise: float  # that a table of pairs will have, roughly

    @property
    def numbers(self) -> range:
        """Of the columns that can depend on others."""
        return range(0 if self.classes > 1 else 1, len(self.levels))

    @property
    def names(self) -> list[str | None]:
        """Of the columns by number; 0 is the class, which has none here."""
        return [None, *(node.column for node in self.nodes)]

    @property
    def class_weight(self) -> float:
        """Mean of N / (K n_c) over the K classes: 1 where they are even. One that noise hides counts with that many rows."""
        seen = np.maximum(self.masses[0], max(self.noise[0], 1.0))
        return float(np.mean(seen.sum() / (len(seen) * seen)))

    def shares(self, number: int, level: int) -> np.ndarray:
        """Believed shares of a column's cells."""
        grouping = self.levels[number][level]
        cells = np.bincount(grouping.cell, np.maximum(self.masses[number], 0.0), minlength=grouping.cells) + 1e-9
        return np.asarray(cells / cells.sum())

    def alone(self, number: int) -> np.ndarray:
        """Believed rows in whatever of a column is counted for itself: every category, or a number's finest cells, which share
        their outcomes evenly."""
        if number and self.nodes[number - 1].share is None:
            return np.asarray(np.maximum(self.masses[number], 0.0))
        return self.rows * self.shares(number, -1)

    def step(self, number: int, level: int | None) -> Step:
        """Map of a row to its cell of a column at a level, or to its outcome."""
        grouping = None if level is None else self.levels[number][level]
        return Label() if number == 0 else self.nodes[number - 1].cell(grouping)


def ask_columns(curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan, pair_noise: float) -> Columns:
    """`pair_noise` is the noise that a table of pairs will have, roughly: it limits how fine cells can be."""
    rows, classes = max(float(counts.sum()), 1.0), codec.class_count
    nodes, _, found, masses, noise = ask_one_way(curator, codec, rows, plan, ONE_WAY, share=True)
    own = plan.parameters["noise"].get(HISTOGRAM, 0.0)
    most = max(int(math.sqrt(2.0 * rows / pair_noise)), 4)
    levels = [nested(node, mass, OWN_CELL * noise, most) for node, mass in zip(nodes, masses, strict=True)]
    label = Grouping(np.arange(classes), classes)
    by_class = np.asarray(counts, float)
    noises = [own, *(noise for _ in nodes)]
    counted, believed, cells = [by_class, *found], [by_class, *masses], [[label], *levels]
    return Columns(nodes, classes, rows, counted, noises, believed, cells, pair_noise)


def level_map(columns: Columns, keys: list[tuple[int, int | None]]) -> tuple[Step, tuple[int, ...]]:
    """Map of a row to its cells of some columns at some levels (None: outcomes), and how many cells each has."""
    sizes = cells_of(columns.nodes, columns.classes)
    return (
        joined(*(columns.step(*key) for key in keys)),
        tuple(sizes[n] if level is None else columns.levels[n][level].cells for n, level in keys),
    )


def averaged(a: np.ndarray, noise_a: float, b: np.ndarray, noise_b: float) -> tuple[np.ndarray, float]:
    """Two releases of the same counts, averaged by their precision."""
    first, second = max(noise_a, 1e-3) ** -2, noise_b**-2
    return (first * a + second * b) / (first + second), (first + second) ** -0.5
