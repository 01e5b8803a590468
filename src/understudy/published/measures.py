"""What the marginals of people's rows are compared with: expected counts from a stand-in, on public cells.

    one-way, two-way, three-way   1/2 ||n / N - p||_1, mean over all columns, all pairs, 100 triples (`metrics.marginals`)
    association                   | 1/2 ||n / N - p_a p_b||_1 - the stand-in's own |, mean over all pairs: how far a pair is from
                                  independent columns, in people and in the stand-in
    query                         1/2 ||n / N - p||_1 of the 2 x 2 x 2 table of three conditions, mean over 100 such questions

with p the stand-in's shares. Cells are public: categories (beyond 24 the stand-in's rare ones share a cell), 20 bins of equal
width between public bounds, missing as an outcome. Queries are made from rows of the stand-in, as `evaluate.metrics.queries`
makes them from real ones. Each measure is a mean of numbers that one row moves by at most 1 / (2 N), so it may be
released with noise for one row (`understudy.questions.mean_distances`).

Not here: telling real from synthetic rows, and predicting other columns, need models that learn from real rows; impossible
rows and determined pairs are found by empty cells, and one person can empty or fill a cell that holds any share of the
stand-in. Their sensitivity is not bounded by one row; of impossible rows the other side is published (`unseen.py`).
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.evaluate.metrics.marginals import TRIPLES, pairs_of, triples_of
from understudy.measure.cells import Grouping, Node, make_nodes
from understudy.questions import Clique, Step
from understudy.questions.mean_distances import Expected
from understudy.questions.row_maps import Label, LookUp, joined
from understudy.schema import Codec

Carry = Callable[
    [Step, np.ndarray, np.ndarray], np.ndarray
]  # a row map on public rows and classes, as the wall does it
MEASURES = ("one-way", "two-way", "three-way", "association", "query")
BINS, MOST_OUTCOMES, QUERIES = 20, 24, 100


@dataclass(frozen=True, eq=False)
class Cells:
    """Public cells of every column: node 0 is the class, then come the columns."""

    names: tuple[str, ...]
    steps: tuple[Step, ...]
    sizes: tuple[int, ...]
    ordered: tuple[bool, ...]
    gaps: tuple[int, ...]  # how many cells at the beginning are no numbers: missing, codes

    @property
    def numbers(self) -> list[int]:
        """Nodes that vary; a table without a class label has one class."""
        return [number for number, size in enumerate(self.sizes) if number or size > 1]


def public_cells(codec: Codec, rows: np.ndarray, carry: Carry) -> Cells:
    """Cells of a resolved schema; `rows` of a stand-in decide which categories of a long list share one."""
    steps: list[Step] = [Label()]
    names, sizes, ordered, gaps = [codec.schema.label or ""], [codec.class_count], [False], [0]
    for node in make_nodes(codec):
        if node.share is not None:  # to be cut
            node = replace(node, size=BINS, edges=np.linspace(0.0, 1.0, BINS + 1), share=None)
        grouping = grouped(node, rows, carry)
        names.append(node.column)
        steps.append(node.cell(grouping))
        sizes.append(node.outcomes if grouping is None else grouping.cells)
        ordered.append(node.ordered and grouping is None)
        gaps.append(node.gap)
    return Cells(tuple(names), tuple(steps), tuple(sizes), tuple(ordered), tuple(gaps))


def grouped(node: Node, rows: np.ndarray, carry: Carry) -> Grouping | None:
    """The stand-in's rare outcomes in one cell; None where there are few enough."""
    if node.ordered or node.outcomes <= MOST_OUTCOMES:
        return None
    found = carry(node.cell(None), rows, np.zeros(len(rows), np.int32))[:, 0]
    common = np.argsort(-np.bincount(found, minlength=node.outcomes), kind="stable")[: MOST_OUTCOMES - 1]
    cell = np.full(node.outcomes, MOST_OUTCOMES - 1)
    cell[np.sort(common)] = np.arange(MOST_OUTCOMES - 1)
    return Grouping(cell, MOST_OUTCOMES)


@dataclass(frozen=True, eq=False)
class Asked:
    """Cells and sets of columns that all stand-ins are measured on."""

    cells: Cells
    pairs: tuple[Clique, ...]
    triples: tuple[Clique, ...]
    queries: tuple[tuple[Step, Step, Step], ...]  # to 0 or 1 each

    @property
    def step(self) -> Step:
        """Map of a row to its cells and to the conditions that it meets."""
        return joined(*self.cells.steps, *itertools.chain.from_iterable(self.queries))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of all nodes: columns, then conditions."""
        return (*self.cells.sizes, *(2 for _ in range(3 * len(self.queries))))

    def cliques(self, measure: str) -> list[Clique]:
        """The marginals of one measure."""
        if measure == "one-way":
            return [(number,) for number in self.cells.numbers]
        if measure == "query":
            first = len(self.cells.sizes)
            return [(first + 3 * k, first + 3 * k + 1, first + 3 * k + 2) for k in range(len(self.queries))]
        return list(self.triples if measure == "three-way" else self.pairs)

    @property
    def measures(self) -> list[str]:
        """Those that have something to measure in so many columns."""
        return [measure for measure in MEASURES if self.cliques(measure)]


def ask(codec: Codec, rows: np.ndarray, classes: np.ndarray, carry: Carry, seed: int = 0) -> Asked:
    """What all stand-ins are measured on, from the schema and the rows of the first."""
    cells = public_cells(codec, rows, carry)
    numbers = cells.numbers
    pairs = tuple((numbers[a], numbers[b]) for a, b in pairs_of([cells.names[n] for n in numbers], codec.schema.label))
    triples = triples_of(len(numbers), TRIPLES, seed) if len(numbers) > 2 else []
    return Asked(
        cells,
        pairs,
        tuple(tuple(numbers[at] for at in one) for one in triples),
        queries(cells, carry(joined(*cells.steps), rows, classes), seed) if len(numbers) > 2 and len(rows) else (),
    )


def queries(cells: Cells, codes: np.ndarray, seed: int) -> tuple[tuple[Step, Step, Step], ...]:
    """Three conditions each, around a row of the stand-in: the same category, or a range of bins."""
    random, found = np.random.default_rng([seed, 200]), []
    for row in random.integers(len(codes), size=QUERIES):
        chosen = np.sort(random.choice(cells.numbers, size=3, replace=False))
        a, b, c = (condition(cells, int(node), int(codes[row, node]), random) for node in chosen)
        found.append((a, b, c))
    return tuple(found)


def condition(cells: Cells, node: int, value: int, random: np.random.Generator) -> Step:
    """Whether a row's cell lies in a range around a value."""
    met, least = np.zeros(cells.sizes[node], np.int64), cells.gaps[node]
    low = high = value
    if cells.ordered[node] and value >= least:
        low, high = int(random.integers(least, value + 1)), int(random.integers(value, cells.sizes[node]))
    met[low : high + 1] = 1
    return LookUp(cells.steps[node], (met,))


@dataclass(frozen=True, eq=False)
class Reference:
    """The stand-in's shares of every marginal, and its own distances from independence."""

    asked: Asked
    shares: dict[Clique, np.ndarray]
    dependence: dict[Clique, float]  # 1/2 ||q - p_a p_b||_1 on as many rows as there are people

    @classmethod
    def of(cls, asked: Asked, codes: np.ndarray, people: int, seed: int = 0) -> "Reference":
        """From the stand-in's cells; `people`: about how many there are."""
        every = dict.fromkeys(clique for measure in asked.measures for clique in asked.cliques(measure))
        every |= dict.fromkeys((number,) for number in asked.cells.numbers)
        shares = {clique: share(codes, asked.sizes, clique) for clique in every}
        few = codes[np.random.default_rng([seed, 7]).permutation(len(codes))[: max(people, 1)]]
        apart = {pair: 0.5 * gap(share(few, asked.sizes, pair), product(shares, pair)) for pair in asked.pairs}
        return cls(asked, shares, apart)

    def expected(self, measure: str, people: float) -> tuple[Expected, ...]:
        """What is expected of so many people."""
        if measure == "association":
            return tuple(
                Expected.of(pair, people * product(self.shares, pair), 2.0 * people * self.dependence[pair])
                for pair in self.asked.pairs
            )
        return tuple(Expected.of(one, people * self.shares[one]) for one in self.asked.cliques(measure))

    def value(self, measure: str, codes: np.ndarray) -> float:
        """The measure of public rows: what would be released for them, without noise."""
        sizes = self.asked.sizes
        if measure == "association":
            each = [
                abs(0.5 * gap(share(codes, sizes, pair), product(self.shares, pair)) - self.dependence[pair])
                for pair in self.asked.pairs
            ]
        else:
            each = [0.5 * gap(share(codes, sizes, one), self.shares[one]) for one in self.asked.cliques(measure)]
        return float(np.mean(each))


def share(codes: np.ndarray, sizes: Sequence[int], clique: Clique) -> np.ndarray:
    """Shares of rows in every cell of a marginal."""
    number = np.zeros(len(codes), np.int64)
    for node in clique:
        number = number * sizes[node] + codes[:, node]
    whole = int(np.prod([sizes[node] for node in clique]))
    return np.asarray(np.bincount(number, minlength=whole) / max(len(codes), 1))


def product(shares: dict[Clique, np.ndarray], pair: Clique) -> np.ndarray:
    """Shares of a pair if its columns were independent."""
    return np.outer(shares[(pair[0],)], shares[(pair[1],)]).ravel()


def gap(one: np.ndarray, other: np.ndarray) -> float:
    """L1 distance."""
    return float(np.abs(one - other).sum())
