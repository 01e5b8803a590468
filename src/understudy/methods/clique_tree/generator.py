"""The generator of the clique tree: columns drawn one after the other, with as little chance as possible.

    cell_j ~ P(cell_j | cells of the parents of j)       one row of a table, looked up by the parents' cells
    outcome_j ~ P(outcome_j | cell_j)                    a cell may hold several categories or several fine intervals
    value_j = base_j[outcome] + U span_j[outcome]        numeric columns: uniform inside a fine interval

**Low-variance draws.** Rows are sorted by their parents' cells, in random order among equals, and the i-th of them draws with
u_i = U + i phi modulo 1 (phi the golden ratio, U uniform). Every u_i is uniform, so that each row has exactly the model's
distribution; but the u's of rows with the same parents are spread evenly over [0, 1), so that a table of n rows holds a cell
of probability p about n p times, within one or two, and not n p +- sqrt(n p). All of it is post-processing of released counts.

Tables are cumulative and lie one after the other in flat arrays; a draw is a binary search.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from understudy.methods.clique_tree.inside import NONE, Coarser, ColumnOutcomes, Counted, Inside
from understudy.methods.clique_tree.refine import LEAST_ROWS, Fitted, Targets, TreeCuts
from understudy.methods.clique_tree.shuffle import shuffled, words
from understudy.methods.marginals.generator import VALUE, OfTables, coordinates
from understudy.nn.copula import mismatch
from understudy.schema import Codec
from understudy.schema.drawn import Drawn

GOLDEN = 2654435769  # 2^32 / golden ratio, odd: i GOLDEN mod 2^32 spreads evenly for every run of i


class Network(NamedTuple):
    """Released tables, post-processed. `n` nodes without the class, in the order in which they are drawn."""

    column: np.ndarray  # [columns] the node that shows each column: its finest level
    order: np.ndarray  # [n] the node drawn in each step; 0 is the class
    parents: np.ndarray  # [n, parents]; padded with 0
    strides: np.ndarray  # [n, parents]; padded with 0
    offset: np.ndarray  # [n] start of that node's tables in `table`
    width: np.ndarray  # [n] cells of that node
    below: np.ndarray  # [n, nodes] 1 for that node and those that hang on it
    table: np.ndarray  # cumulative probabilities of cells
    first: np.ndarray  # [n] number of the node's first cell among all cells
    coarser: np.ndarray  # [all cells] the cell of the same column's next coarser node that holds it; -1: there is none
    start: np.ndarray  # [all cells] first outcome of a cell in the arrays below
    length: np.ndarray  # [all cells] outcomes of a cell
    inner: np.ndarray  # [all outcomes] cumulative probabilities within a cell
    code: np.ndarray  # [all outcomes] number of the outcome in its column
    base: np.ndarray  # [all outcomes] lower end of its interval in [0, 1]
    span: np.ndarray  # [all outcomes] and its length
    left: np.ndarray  # [tables] pairs that rows are fitted to (`refine.Targets`)
    right: np.ndarray
    stride: np.ndarray
    begin: np.ndarray
    share: np.ndarray
    spread: np.ndarray
    counted_left: np.ndarray  # [pairs] that were counted at all (`inside.Counted`)
    counted_right: np.ndarray
    counted_noise: np.ndarray

    @property
    def counted(self) -> Counted:
        """What numbers are fitted to inside their cells."""
        return Counted(self.counted_left, self.counted_right, self.counted_noise)

    @property
    def targets(self) -> Targets:
        """What rows are fitted to."""
        return Targets(self.left, self.right, self.stride, self.begin, self.share, self.spread)


INTEGERS = (
    "column", "order", "parents", "strides", "offset", "width", "below", "first", "coarser", "start", "length", "code",
    "left", "right", "stride", "begin", "counted_left", "counted_right",
)  # fmt: skip

# Models of older versions do not say which pairs were counted.
UNKNOWN = {f"counted_{name}": value for name, value in NONE._asdict().items()}


@dataclass(frozen=True)
class CliqueTreeGenerator(OfTables):
    """Its settings are the lengths of the flat arrays."""

    integers: ClassVar[tuple[str, ...]] = INTEGERS

    steps: int
    parents: int
    entries: int  # of `table`
    cells: int  # of all columns together
    outcomes: int
    tables: int  # that rows are fitted to
    wanted: int  # cells of all of them
    pairs: int = 0  # counted, in the tree or beside it

    @classmethod
    def of(cls, network: Network, codec: Codec) -> "CliqueTreeGenerator":
        """The generator of a network of released counts."""
        sizes = *network.parents.shape, len(network.table), len(network.start), len(network.inner)
        steps, parents, entries, cells, outcomes = sizes
        wanted = len(network.left), len(network.share), len(network.counted_left)
        return cls(*coordinates(codec), steps, parents, entries, cells, outcomes, *wanted)

    @property
    def fitted_afterwards(self) -> bool:
        """Whether drawn rows are fitted to counts beside the tree, which takes seconds for a block of rows."""
        return self.tables > 0

    def columns(self, sampler: Mapping[str, Any]) -> "Tables":
        """What draws rows, column by column."""
        return Tables(self, Network(**{name: np.asarray(value) for name, value in (UNKNOWN | dict(sampler)).items()}))

    # -- artifact --------------------------------------------------------------------------------------------------------
    @classmethod
    def from_dict(cls, settings: dict[str, Any], codec: Codec) -> "CliqueTreeGenerator":
        """The way back from `to_dict`. Models of older versions say more."""
        known = {field.name for field in fields(cls)}
        return cls(*coordinates(codec), **{name: value for name, value in settings.items() if name in known})

    def mismatch(self, weights: Mapping[str, Any]) -> str:
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("order", "offset", "width", "first"), (self.steps,))
        shapes |= dict.fromkeys(("parents", "strides"), (self.steps, self.parents)) | {
            "column": (len(set(self.nodes)),),
            "below": (self.steps, self.steps + 1),
        }
        shapes |= dict.fromkeys(("left", "right", "stride", "begin"), (self.tables,))
        shapes |= dict.fromkeys(("share", "spread"), (self.wanted,))
        shapes |= dict.fromkeys(("coarser", "start", "length"), (self.cells,))
        shapes |= dict.fromkeys(("inner", "code", "base", "span"), (self.outcomes,))
        counted = dict.fromkeys(UNKNOWN, (self.pairs,)) if self.pairs or UNKNOWN.keys() & weights.keys() else {}
        return mismatch(weights, shapes | counted | {"table": (self.entries,)})


class Tables:
    """The network, ready to be drawn from."""

    def __init__(self, generator: CliqueTreeGenerator, net: Network) -> None:
        nodes, codes = np.asarray(generator.nodes), np.asarray(generator.codes)
        self.net, self.fitted = net, Fitted(TreeCuts(net.parents, net.strides, net.below), net.targets)
        self.steps = [
            Step(int(node), tuple((int(p), int(n)) for p, n in zip(parents, strides, strict=True) if n), offset, width)
            for node, parents, strides, offset, width in zip(
                net.order, net.parents, net.strides, net.offset.tolist(), net.width.tolist(), strict=True
            )
        ]
        first, width = (dict(zip(net.order.tolist(), part.tolist(), strict=True)) for part in (net.first, net.width))
        self.shown = []
        for number, node in enumerate(net.column.tolist(), 1):
            own, at = codes[nodes == number], slice(first[node], first[node] + width[node])
            gap = int((own >= 0).sum()) if (own == VALUE).any() else None
            self.shown.append(Shown(node, net.start[at], net.length[at], gap))
        self.inside = Inside(net.counted, [one.node for one in self.shown], self._numbers(), self._coarser())

    def __call__(self, classes: np.ndarray, random: np.random.Generator) -> list[Drawn]:
        """Rows of these classes."""
        if not self.steps:
            return []
        cells = self.cells(classes, random)
        if len(classes) >= LEAST_ROWS:
            cells = self.fitted.refine(cells, random)
        chance = words(random, len(self.shown), more=1)
        places = [self._outcome(one, cells[:, one.node], own) for one, own in zip(self.shown, chance, strict=True)]
        if len(classes) >= LEAST_ROWS:
            places = self.inside.fit(cells, places, random)
        return [self._column(one, place, random) for one, place in zip(self.shown, places, strict=True)]

    def cells(self, classes: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Cells of all nodes given those of the class, with little chance: [rows, nodes]."""
        cells = np.zeros((len(self.steps) + 1, len(classes)), np.int32)
        cells[0] = classes
        for step, own in zip(self.steps, words(random, len(self.steps), more=1), strict=True):
            given = np.zeros(len(classes), np.int32)
            for parent, stride in step.parents:
                given += stride * cells[parent]
            start = step.offset + given * step.width
            cells[step.node] = search(self.net.table, start, step.width, evenly(given, own), step.width)
        return np.ascontiguousarray(cells.T)

    def _outcome(self, one: "Shown", cell: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """Number of the outcome among those of its column, cell by cell."""
        start, length = one.start.take(cell), one.length.take(cell)
        found = search(self.net.inner, start, length, evenly(cell, chance), int(one.length.max()))
        return np.asarray(start + found - one.start[0])

    def _column(self, one: "Shown", outcome: np.ndarray, random: np.random.Generator) -> Drawn:
        place = one.start[0] + outcome
        code = self.net.code.take(place).astype(np.int32)
        if one.gap is None:
            return Drawn(code)
        inside = random.random(len(place), dtype=np.float32)
        value = self.net.base.take(place) + inside * self.net.span.take(place)
        return Drawn(np.where(code < one.gap, code, -1).astype(np.int32) if one.gap else None, value)

    def _numbers(self) -> dict[int, ColumnOutcomes]:
        """The outcomes of every column of numbers."""
        found = {}
        for number, one in enumerate(self.shown):
            if one.gap is not None:
                cell, at = (
                    np.repeat(np.arange(len(one.length)), one.length),
                    slice(one.start[0], one.start[0] + one.length.sum()),
                )
                sums = np.asarray(self.net.inner[at], float)
                share = sums - np.where(np.diff(cell, prepend=-1) > 0, 0.0, np.r_[0.0, sums[:-1]])
                found[number] = ColumnOutcomes(cell, share, self.net.code[at] >= one.gap, self.net.span[at] > 0.0)
        return found

    def _coarser(self) -> Coarser:
        """Which coarse cells hold fine ones."""
        net, up = self.net, {}
        sizes = dict(zip(net.order.tolist(), zip(net.first.tolist(), net.width.tolist(), strict=True), strict=True))
        for node, (first, width) in sizes.items():
            own = net.coarser[first : first + width]
            if (own >= 0).all():
                up[node] = own
        return Coarser([1, *(sizes[node][1] for node in sorted(sizes))], up)


class Step(NamedTuple):
    """How one node is drawn."""

    node: int
    parents: tuple[tuple[int, int], ...]  # nodes and strides
    offset: int
    width: int


class Shown(NamedTuple):
    """How one column is shown: its node, the outcomes of every cell, and how many of them are no numbers (None: categories)."""

    node: int
    start: np.ndarray
    length: np.ndarray
    gap: int | None


def evenly(given: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Uniform numbers that are spread evenly among rows with the same `given`; the last word of chance is their shift."""
    steps = np.arange(len(given), dtype=np.uint32) * GOLDEN + chance[-1]
    found = np.empty(len(given), np.float32)
    found[shuffled(given, chance)] = (steps >> 8).astype(np.float32) * np.float32(2.0**-24)
    return found


def search(table: np.ndarray, start: np.ndarray, length: Any, uniform: np.ndarray, widest: int) -> np.ndarray:
    """How many of the `length` rising entries from `start` a uniform number has passed; the last is 1 and is never passed."""
    low = np.zeros_like(start)
    high = np.broadcast_to(np.asarray(length - 1, start.dtype), start.shape)
    for _ in range((widest - 1).bit_length()):
        middle = (low + high) // 2
        passed = uniform >= table.take(start + middle)
        low, high = np.where(passed, middle + 1, low), np.where(passed, high, middle)
    return low
