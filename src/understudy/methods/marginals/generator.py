"""The generator of the marginal methods: a Bayesian network over cells, drawn column by column.

Every column is a node with a few cells; node 0 is the class. In an order in which parents come first,

    cell_j ~ P(cell_j | cells of the parents of j)       one row of a table, looked up by the parents' cells
    outcome_j ~ P(outcome_j | cell_j)                    a cell may hold several categories or several fine intervals
    value_j = base_j[outcome] + U span_j[outcome]        numeric columns: uniform inside a fine interval

The tables are post-processing of released counts (`understudy.measure.cells`, `understudy.methods.marginals.junction`). They are
cumulative, padded to common sizes and kept in one array; to draw from them each becomes alias tables (`alias.py`). A row of the
network costs no more memory than its own cells and outcomes.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray

from understudy.conversation import Silent
from understudy.methods.marginals.alias import Alias, alias
from understudy.nn.copula import mismatch
from understudy.schema import Codec
from understudy.schema.drawn import Drawn

VALUE = -1  # code of a coordinate that holds a number
MOST_AT_ONCE = 1 << 18  # entries of a table of outcomes given the parents
PIECE = 16_384  # rows drawn at a time: what is in use stays in the cache, which halves the time


class Network(NamedTuple):
    """Released tables, post-processed. `n` nodes without the class; arrays are padded to common sizes."""

    order: np.ndarray  # [n] the node drawn in each step; 1 is the first column
    parents: np.ndarray  # [n, parents] of the node of that step; padded with 0
    strides: np.ndarray  # [n, parents]; padded with 0
    offset: np.ndarray  # [n] first row of that node in `table`
    table: np.ndarray  # [rows, cells] cumulative probabilities, 1 from the last cell on
    first: np.ndarray  # [n] first row of that node in `inner`
    inner: np.ndarray  # [all cells, outcomes] cumulative probabilities of outcomes within a cell
    base: np.ndarray  # [n, outcomes] numeric columns: lower end of an outcome's interval in [0, 1], by node
    span: np.ndarray  # [n, outcomes] and its length


@dataclass(frozen=True)
class OfTables(Silent):
    """A generator that is released tables and nothing else: `hints` is a tuple of arrays, those called `integers` whole numbers.

    `nodes[w]` and `codes[w]`: which node the coordinate w of a row shows, and which outcome makes it 1 (or `VALUE`).
    """

    integers: ClassVar[tuple[str, ...]]

    nodes: tuple[int, ...]
    codes: tuple[int, ...]

    def init(self, key: PRNGKeyArray, hints: Any) -> Any:
        """Nothing is learned beyond the released tables, which are traced where an audit begins many fits at once."""
        whole = {name: getattr(hints, name).astype(np.int32) for name in self.integers}
        return type(hints)(*(value.astype(np.float32) for value in hints))._replace(**whole)

    def sampler(self, state: Any) -> dict[str, Any]:
        return dict(state._asdict())

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("nodes", "codes")}


@dataclass(frozen=True)
class MarginalGenerator(OfTables):
    """Its settings are the sizes of the padded arrays."""

    integers: ClassVar[tuple[str, ...]] = ("order", "parents", "strides", "offset", "first")

    parents: int
    rows: int  # of `table`
    cells: int
    inner: int  # rows of `inner`
    outcomes: int

    @classmethod
    def of(cls, network: Network, codec: Codec) -> "MarginalGenerator":
        """The generator of a network of released marginals."""
        nodes, codes = coordinates(codec)
        rows, cells = network.table.shape
        inner, outcomes = network.inner.shape
        return cls(nodes, codes, network.parents.shape[1], rows, cells, inner, outcomes)

    def columns(self, sampler: Mapping[str, Any]) -> "Tables":
        """What draws rows, column by column."""
        return Tables(self, Network(**{name: np.asarray(value) for name, value in sampler.items()}))

    # -- artifact --------------------------------------------------------------------------------------------------------
    @classmethod
    def from_dict(cls, settings: dict[str, Any], codec: Codec) -> "MarginalGenerator":
        """The way back from `to_dict`."""
        return cls(*coordinates(codec), **settings)

    def mismatch(self, weights: Mapping[str, Any]) -> str:
        count = len(set(self.nodes))
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("order", "offset", "first"), (count,))
        shapes |= dict.fromkeys(("parents", "strides"), (count, self.parents))
        shapes |= dict.fromkeys(("base", "span"), (count, self.outcomes))
        shapes |= {"table": (self.rows, self.cells), "inner": (self.inner, self.outcomes)}
        return mismatch(weights, shapes)


class Drawing(NamedTuple):
    """How one node is drawn."""

    node: int
    parents: tuple[tuple[int, int], ...]  # nodes and strides
    cells: Alias | None  # None: no other node asks for its cell, so that its outcome is drawn at once
    outcomes: Alias  # given the cell, or given the parents
    gap: int | None  # outcomes that are no numbers; None: categories
    base: np.ndarray
    span: np.ndarray


class Tables:
    """The network, ready to be drawn from: a block of rows in pieces that stay in the processor's cache."""

    def __init__(self, generator: MarginalGenerator, net: Network) -> None:
        nodes, codes = np.asarray(generator.nodes), np.asarray(generator.codes)
        ends, firsts = np.append(net.offset, len(net.table)), np.append(np.sort(net.first), len(net.inner))
        parents = set(net.parents[net.strides > 0].tolist())
        self.steps = []
        for number, node in enumerate(net.order.tolist()):
            first = net.first[number]
            size = firsts[np.searchsorted(firsts, first, side="right")] - first
            own = codes[nodes == node]
            cells = shares(net.table[ends[number] : ends[number + 1], :size])
            outcomes = trimmed(shares(net.inner[first : first + size]))
            at_once = node not in parents and len(cells) * outcomes.shape[1] <= MOST_AT_ONCE
            self.steps.append(
                Drawing(
                    node,
                    tuple((int(p), int(s)) for p, s in zip(net.parents[number], net.strides[number], strict=True) if s),
                    None if at_once else alias(cells),
                    alias(cells @ outcomes if at_once else outcomes),
                    int((own >= 0).sum()) if (own == VALUE).any() else None,
                    net.base[node - 1],
                    net.span[node - 1],
                )
            )

    def __call__(self, classes: np.ndarray, random: np.random.Generator) -> list[Drawn]:
        """Rows of these classes."""
        pieces = [self._piece(classes[at : at + PIECE], random) for at in range(0, max(len(classes), 1), PIECE)]
        return [Drawn.joined(parts) for parts in zip(*pieces, strict=True)]

    def _piece(self, classes: np.ndarray, random: np.random.Generator) -> list[Drawn]:
        cells = {0: classes.astype(np.int64)}
        found: dict[int, Drawn] = {}
        for step in self.steps:
            row = np.zeros(len(classes), np.int64)
            for parent, stride in step.parents:
                row += cells[parent] * stride
            if step.cells is not None:
                row = cells[step.node] = step.cells.draw(row, random)
            found[step.node] = self._shown(step, step.outcomes.draw(row, random), random)
        return [found[node] for node in sorted(found)]

    @staticmethod
    def _shown(step: Drawing, outcome: np.ndarray, random: np.random.Generator) -> Drawn:
        if step.gap is None:
            return Drawn(outcome.astype(np.int32))
        place = step.base.take(outcome, mode="clip")
        if step.span.any():
            place += random.random(len(outcome), dtype=np.float32) * step.span.take(outcome, mode="clip")
        code = np.where(outcome < step.gap, outcome, -1).astype(np.int32) if step.gap else None
        return Drawn(code, place)


def shares(cumulative: np.ndarray) -> np.ndarray:
    """Probabilities from their sums."""
    return np.diff(cumulative.astype(np.float64), axis=1, prepend=0.0)


def trimmed(weights: np.ndarray) -> np.ndarray:
    """Without the outcomes at the end that no row has: padding."""
    return weights[:, : int(np.flatnonzero(weights.any(axis=0))[-1]) + 1]


def coordinates(codec: Codec) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Node and code of every coordinate of an encoded row; nodes are counted from 1 in the order of the columns."""
    numbers: dict[str, int] = {}
    nodes: list[int] = []
    codes: list[int] = []
    for block in codec.blocks:
        node = numbers.setdefault(block.column, len(numbers) + 1)
        nodes += [node] * block.size
        if block.part == "missing":  # flags follow each other, one for each outcome that is no number
            codes.append(codes[-1] + 1)
        elif block.head == "numeric":
            codes.append(VALUE)
        else:
            codes += [1] if block.head == "binary" else range(block.size)
    return tuple(nodes), tuple(codes)
