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

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from understudy.methods.clique_tree.refine import LEAST, Cuts, Targets, refine
from understudy.methods.clique_tree.shuffle import shuffled, words
from understudy.methods.marginals.generator import VALUE, coordinates
from understudy.nn.copula import Params, mismatch

GOLDEN = 2654435769  # 2^32 / golden ratio, odd: i GOLDEN mod 2^32 spreads evenly for every run of i


class Network(NamedTuple):
    """Released tables, post-processed. `n` nodes without the class, in the order in which they are drawn."""

    column: Any  # [columns] the node that shows each column: its finest level
    order: Any  # [n] the node drawn in each step; 0 is the class
    parents: Any  # [n, parents]; padded with 0
    strides: Any  # [n, parents]; padded with 0
    offset: Any  # [n] start of that node's tables in `table`
    width: Any  # [n] cells of that node
    below: Any  # [n, nodes] 1 for that node and those that hang on it
    table: Any  # cumulative probabilities of cells
    first: Any  # [n] number of the node's first cell among all cells
    coarser: Any  # [all cells] the cell of the same column's next coarser node that holds it; -1: there is none
    start: Any  # [all cells] first outcome of a cell in the arrays below
    length: Any  # [all cells] outcomes of a cell
    inner: Any  # [all outcomes] cumulative probabilities within a cell
    code: Any  # [all outcomes] number of the outcome in its column
    base: Any  # [all outcomes] lower end of its interval in [0, 1]
    span: Any  # [all outcomes] and its length
    left: Any  # [tables] pairs that rows are fitted to (`refine.Targets`)
    right: Any
    stride: Any
    begin: Any
    share: Any
    spread: Any

    @property
    def targets(self) -> Targets:
        """What rows are fitted to."""
        return Targets(self.left, self.right, self.stride, self.begin, self.share, self.spread)


INTEGERS = (
    "column", "order", "parents", "strides", "offset", "width", "below", "first", "coarser", "start", "length", "code",
    "left", "right", "stride", "begin",
)  # fmt: skip


@dataclass(frozen=True)
class CliqueTreeGenerator:
    """`nodes[w]` and `codes[w]`: which node the coordinate w of a row shows, and which outcome makes it 1 (or `VALUE`)."""

    nodes: tuple[int, ...]
    codes: tuple[int, ...]
    steps: int
    parents: int
    entries: int  # of `table`
    cells: int  # of all columns together
    outcomes: int
    widest: int  # cells of a column, and outcomes of a cell, at most
    tables: int  # that rows are fitted to
    wanted: int  # cells of all of them

    @classmethod
    def of(cls, network: Network, codec: Any) -> "CliqueTreeGenerator":
        """The generator of a network of released counts."""
        widest = max(int(np.max(network.width, initial=1)), int(np.max(network.length, initial=1)))
        sizes = *network.parents.shape, len(network.table), len(network.start), len(network.inner)
        steps, parents, entries, cells, outcomes = sizes
        wanted = len(network.left), len(network.share)
        return cls(*coordinates(codec), steps, parents, entries, cells, outcomes, widest, *wanted)

    def init(self, key: PRNGKeyArray, hints: Network) -> Network:
        """Nothing is learned beyond the released tables."""
        whole = {name: jnp.asarray(getattr(hints, name)).astype(jnp.int32) for name in INTEGERS}
        return Network(*(jnp.asarray(value, jnp.float32) for value in hints))._replace(**whole)

    def query(self, state: Network, key: PRNGKeyArray) -> Params:
        """Nothing is asked in rounds."""
        return {}

    def update(self, state: Network, query: Params, answer: Any, key: PRNGKeyArray) -> tuple[Network, Params]:
        return state, {}

    def sampler(self, state: Network) -> Params:
        return dict(state._asdict())

    def sample(self, sampler: Params, classes: Int[Array, " rows"], key: PRNGKeyArray) -> Float[Array, "rows width"]:
        net, rows, count = Network(**sampler), classes.shape[0], self.steps
        if count == 0:
            return jnp.zeros((rows, 0))
        begin = jnp.zeros((count + 1, rows), jnp.int32).at[0].set(classes.astype(jnp.int32))
        key_cells, key_refine, key_outcomes, key_inside = jax.random.split(key, 4)
        cells = self.draw(net, begin, key_cells)
        if self.tables and rows >= LEAST:
            cells = refine(cells, Cuts(net.parents, net.strides, net.below), net.targets, key_refine)

        first = net.first[jnp.argsort(net.order)][net.column - 1]

        def outcome(carry: None, column: Any) -> tuple[None, Array]:
            node, first, own = column
            start = net.start[first + cells[node]]
            length = net.length[first + cells[node]]
            return carry, start + search(net.inner, start, length, evenly(cells[node], own), self.widest)

        chance = words(key_outcomes, len(set(self.nodes)), more=1)
        _, places = jax.lax.scan(outcome, None, (net.column, first, chance))
        shown = places[np.asarray(self.nodes) - 1].T
        row: Array = (net.code[shown] == np.asarray(self.codes)[None, :]).astype(jnp.float32)
        numeric = np.flatnonzero(np.asarray(self.codes) == VALUE)
        if len(numeric) == 0:
            return jnp.asarray(row)
        inside = jax.random.uniform(key_inside, (rows, len(numeric)))
        row = row.at[:, numeric].set(net.base[shown[:, numeric]] + inside * net.span[shown[:, numeric]])
        return row

    def draw(self, net: Network, cells: Int[Array, "nodes rows"], key: PRNGKeyArray) -> Int[Array, "nodes rows"]:
        """Cells of all nodes given those of the class, with little chance."""

        def step(cells: Array, now: Any) -> tuple[Array, None]:
            node, parents, strides, offset, width, own = now
            given = (strides[:, None] * cells[parents]).sum(axis=0)
            uniform = evenly(given, own)
            return cells.at[node].set(search(net.table, offset + given * width, width, uniform, self.widest)), None

        steps = (net.order, net.parents, net.strides, net.offset, net.width, words(key, self.steps, more=1))
        found, _ = jax.lax.scan(step, cells, steps)
        return found

    # -- artifact --------------------------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("nodes", "codes")}

    @classmethod
    def from_dict(cls, settings: dict[str, Any], codec: Any) -> "CliqueTreeGenerator":
        """The way back from `to_dict`."""
        return cls(*coordinates(codec), **settings)

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
        return mismatch(weights, shapes | {"table": (self.entries,)})


def evenly(given: Int[Array, " rows"], chance: UInt32[Array, " words"]) -> Float[Array, " rows"]:
    """Uniform numbers that are spread evenly among rows with the same `given`; the last word of chance is their shift."""
    rows = given.shape[0]
    steps = jnp.arange(rows, dtype=jnp.uint32) * jnp.uint32(GOLDEN) + chance[-1]
    return jnp.zeros(rows).at[shuffled(given, chance)].set((steps >> 8).astype(jnp.float32) * jnp.float32(2.0**-24))


def search(
    table: Float[Array, " entries"],
    start: Int[Array, " rows"],
    length: Any,
    uniform: Float[Array, " rows"],
    widest: int,
) -> Int[Array, " rows"]:
    """How many of the `length` rising entries from `start` a uniform number has passed; the last is 1 and is never passed."""
    low = jnp.zeros_like(start)
    high = jnp.broadcast_to(length - 1, start.shape)
    for _ in range(math.ceil(math.log2(max(widest, 2)))):
        middle = (low + high) // 2
        passed = uniform >= table[start + middle]
        low, high = jnp.where(passed, middle + 1, low), jnp.where(passed, high, middle)
    return low
