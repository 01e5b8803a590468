"""Rows in which much is missing at once, of a table that is asked for class means (`few_rows.py`).

Who does not answer a part of a questionnaire leaves a block of columns empty: in one row of eight or of a hundred, but in ten
or twenty columns. Such a row is long, so class means would clip it; and it is most of the dependence that a small table shows.
With y_j in {0, 1} whether column j is missing, over the k columns that allow it and have it in less than half of the rows,

    G(x) = 1  if  sum_j y_j >= t,          t the least number >= 2 that independent columns with the released rates reach in
                                           less than `SELDOM` of the rows

is a public map of a row. The rows with G = 1 are counted beside the columns (`few_rows.ask_again`). If they stand out, class
means are asked of the other rows, and of these in the same answer the sum of ((2 y - 1) / sqrt(k), 1), weighted to a length of
1: one more group of rows of the same `Sums`, whose guarantee does not depend on how a row finds its group and its vector.

In the model the columns of the block hang on one of them, the hub, which is nearly always missing where G = 1: by pairs of it and
every other one, made of the two kinds of rows. All that is made of answers is post-processing.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from understudy.measure.cells import Node
from understudy.measure.class_moments import means_of, presence
from understudy.measure.shrinkage import shrink
from understudy.methods.clique_tree.columns import Columns
from understudy.methods.clique_tree.descent import Measured
from understudy.questions import Step, Sums
from understudy.questions.row_maps import Binned, Constant, Equals, Label, Linear, LookUp, joined
from understudy.recipe import Curator
from understudy.schema import Codec, Schema

# The first that were tried, but for the part of the budget that the count of such rows has (`few_rows.ask_again`): half of it was
# too much on Adult cut to 300 rows. Looked at on cervical cancer.
SELDOM = 0.01
USUAL = 0.5  # of the rows; a column that is missing more often says little by it
GAPS_STAND_OUT = 2.0  # deviations of the count of such rows
CONSTANT = 0.2  # of the squared length of their vectors: shows how many they are
ESTIMATED = 1.0  # deviation that a fit is told of tables that are estimates already: none of their cells is noise
LEAST_MORE = 0.05  # that a column is missing more often in them than in others, to hang on the hub


class Gaps(NamedTuple):
    """Which rows they are: those that miss at least so many of some columns."""

    nodes: list[Node]
    numbers: list[int]  # of the columns; 0 is the class
    least: int

    @property
    def missing(self) -> Step:
        """y, a 0 or 1 for every one of the columns."""
        return joined(*(Equals(node.cell(None), missing_outcome(node)) for node in self.nodes))

    @property
    def kind(self) -> Step:
        """G."""
        total = Linear(self.missing, np.ones((1, len(self.nodes))), np.zeros(1))
        return Binned(total, (np.asarray([self.least - 0.5]),))


def missing_outcome(node: Node) -> int:
    """The outcome that says so: the first one of numbers, the last category."""
    return 0 if node.ordered else node.outcomes - 1


def gaps_of(codec: Codec, columns: Columns) -> Gaps | None:
    """None where independent columns would be missing together as often, or too few can be."""
    found = [
        (node, number, rate)
        for number, node in enumerate(columns.nodes, 1)
        if codec.schema.column(node.column).missing
        and (rate := float(columns.masses[number][missing_outcome(node)]) / columns.rows) < USUAL
    ]
    if len(found) < 2:
        return None
    nodes, numbers, rates = zip(*found, strict=True)
    several = np.ones(1)  # chances of 0, 1, 2, ... missing values
    for rate in np.clip(rates, 0.0, 1.0).tolist():
        several = np.convolve(several, [1.0 - rate, rate])
    beyond = several[::-1].cumsum()[::-1]  # of so many or more
    least = max(int(np.argmax(np.append(beyond, 0.0) < SELDOM)), 2)
    return Gaps(list(nodes), list(numbers), least) if least <= len(nodes) else None


class Apart:
    """Asks for means of all rows but those with G = 1, and for what is missing in these: stands for `clipped_means`."""

    def __init__(self, gaps: Gaps, rows: float, deviation: float, most: float) -> None:
        self.gaps, self.deviation, self.most = gaps, deviation, most
        self.rows = min(rows, most)
        self.rates, self.error = np.zeros(len(gaps.nodes)), 1.0

    def others(self, columns: Columns) -> Columns:
        """Believed rows in the outcomes of every column, without those with G = 1, in which all are taken to be missing."""
        found = [np.maximum(mass, 0.0) for mass in columns.masses]
        for number, at in self.places:
            found[number][at] = max(found[number][at] - self.rows, 0.0)
        return columns._replace(masses=found)

    def __call__(
        self,
        curator: Curator,
        schema: Schema,
        purpose: str,
        sigma: float,
        features: Step,
        radius: float,
        counts: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Noisy means [classes, width] and their error [classes], over `counts` rows."""
        (constant, length), classes = presence(schema, radius), len(counts)
        own = joined(features, Constant(np.asarray([constant]))) / length
        group = Label() * self.either(1, 0) + self.either(0, classes)
        vector = joined(own * self.either(1.0, 0.0), self.missing * self.either(0.0, 1.0))
        sums = curator.ask(purpose, Sums(vector, classes + 1, sigma, group, average=True)).value
        flags = len(self.gaps.nodes)
        self.hear(sums[-1, -flags - 1 :], sigma)
        sums = sums[:-1, : -flags - 1] * length
        present = sums[:, -1] / constant if constant else None
        return means_of(sums[:, :-1], present, sigma * length, counts)

    def either(self, other: float, apart: float) -> Step:
        """One number for rows with G = 0, another for those with G = 1."""
        return LookUp(self.gaps.kind, (np.asarray([other, apart]),))

    @property
    def places(self) -> list[tuple[int, int]]:
        """The columns, and their outcomes that say they are missing."""
        return [(n, missing_outcome(node)) for node, n in zip(self.gaps.nodes, self.gaps.numbers, strict=True)]

    @property
    def missing(self) -> Step:
        """A vector of length 1: what is missing, and a constant."""
        flags = (self.gaps.missing - 0.5) * (2.0 * math.sqrt((1.0 - CONSTANT) / len(self.gaps.nodes)))
        return joined(flags, Constant(np.asarray([math.sqrt(CONSTANT)])))

    def hear(self, sums: np.ndarray, sigma: float) -> None:
        """How many rows they are, and how often every column is missing in them."""
        rows, noise = sums[-1] / math.sqrt(CONSTANT), sigma / math.sqrt(CONSTANT)
        both = self.deviation**-2 + noise**-2
        found = (self.rows * self.deviation**-2 + rows * noise**-2) / both
        self.rows = float(np.clip(found, noise, self.most))
        scale = 0.5 * math.sqrt(len(self.gaps.nodes) / (1.0 - CONSTANT)) / self.rows
        self.rates, self.error = 0.5 + scale * sums[:-1], scale * sigma

    def block(self, usual: np.ndarray) -> np.ndarray:
        """Rates of missing values in these rows: near 1, or near the `usual` ones, as far as noise lets tell."""
        often = self.rates > 0.5
        rates = np.where(often, 1.0, usual)
        for own in (often, ~often):
            rates[own] += shrink((self.rates - rates)[own], self.error)
        return np.clip(rates, 0.0, 1.0)

    def with_them(
        self, rows: float, shares: Sequence[np.ndarray], counts: np.ndarray
    ) -> tuple[list[np.ndarray], list[Measured]]:
        """All `rows` of every column by class, and of the hub with every other column of the block.

        `shares` [classes, outcomes] are those of rows with G = 0, of which every class has a part in proportion to `counts`.
        """
        part = (counts / counts.sum())[:, None]
        few, many = self.rows * part, (rows - self.rows) * part
        usual = np.asarray([(part * shares[n - 1]).sum(axis=0)[k] for n, k in self.places])
        rates = self.block(usual)
        hub = self.gaps.numbers[int(np.argmax(rates - usual))]
        apart = {n: with_rate(shares[n - 1], k, rate) for (n, k), rate in zip(self.places, rates.tolist(), strict=True)}
        tables = [rows * part * own for own in shares]
        for number, own in apart.items():
            tables[number - 1] = many * shares[number - 1] + few * own
        block = [n for n, more in zip(apart, rates > usual + LEAST_MORE, strict=True) if more or n == hub]
        pairs = [(min(hub, n), max(hub, n)) for n in block if n != hub]
        return tables, [
            Measured((a, b), (many * shares[a - 1]).T @ shares[b - 1] + (few * apart[a]).T @ apart[b], ESTIMATED)
            for a, b in pairs
        ]


def with_rate(shares: np.ndarray, place: int, rate: float) -> np.ndarray:
    """Shares [classes, outcomes] of which one is this, and the others as they were among each other."""
    found = np.where(np.arange(shares.shape[1]) == place, 0.0, shares)
    found *= (1.0 - rate) / np.maximum(found.sum(axis=1, keepdims=True), 1e-12)
    found[:, place] = rate
    return found
