"""The generator of the marginal methods: a Bayesian network over cells, drawn column by column.

Every column is a node with a few cells; node 0 is the class. In an order in which parents come first,

    cell_j ~ P(cell_j | cells of the parents of j)       one row of a table, looked up by the parents' cells
    outcome_j ~ P(outcome_j | cell_j)                    a cell may hold several categories or several fine intervals
    value_j = base_j[outcome] + U span_j[outcome]        numeric columns: uniform inside a fine interval

The tables are post-processing of released counts (`understudy.measure.cells`, `understudy.methods.marginals.junction`). They are
cumulative, padded to common sizes and kept in one array, so that drawing is one compiled scan over the nodes whatever the graph
is. A row of the network costs no more memory than its own cells.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.nn.copula import Params, mismatch

VALUE = -1  # code of a coordinate that holds a number


class Network(NamedTuple):
    """Released tables, post-processed. `n` nodes without the class; arrays are padded to common sizes."""

    order: Any  # [n] the node drawn in each step; 1 is the first column
    parents: Any  # [n, parents] of the node of that step; padded with 0
    strides: Any  # [n, parents]; padded with 0
    offset: Any  # [n] first row of that node in `table`
    table: Any  # [rows, cells] cumulative probabilities, 1 from the last cell on
    first: Any  # [n] first row of that node in `inner`
    inner: Any  # [all cells, outcomes] cumulative probabilities of outcomes within a cell
    base: Any  # [n, outcomes] numeric columns: lower end of an outcome's interval in [0, 1], by node
    span: Any  # [n, outcomes] and its length


@dataclass(frozen=True)
class MarginalGenerator:
    """`nodes[w]` and `codes[w]`: which node the coordinate w of a row shows, and which outcome makes it 1 (or `VALUE`)."""

    nodes: tuple[int, ...]
    codes: tuple[int, ...]
    parents: int
    rows: int  # of `table`
    cells: int
    inner: int  # rows of `inner`
    outcomes: int

    @classmethod
    def of(cls, network: Network, codec: Any) -> "MarginalGenerator":
        """The generator of a network of released marginals."""
        nodes, codes = coordinates(codec)
        rows, cells = network.table.shape
        inner, outcomes = network.inner.shape
        return cls(nodes, codes, network.parents.shape[1], rows, cells, inner, outcomes)

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
        net, rows, count = Network(**sampler), classes.shape[0], len(set(self.nodes))
        if count == 0:
            return jnp.zeros((rows, 0))

        def draw(carry: tuple[Array, Array], step: Any) -> tuple[tuple[Array, Array], None]:
            cells, outcomes = carry
            node, parents, strides, offset, first, own = step
            key_cell, key_outcome = jax.random.split(own)
            row = offset + (strides[:, None] * cells[parents]).sum(axis=0)
            cell = pick(net.table[row], jax.random.uniform(key_cell, (rows,)))
            outcome = pick(net.inner[first + cell], jax.random.uniform(key_outcome, (rows,)))
            return (cells.at[node].set(cell), outcomes.at[node - 1].set(outcome)), None

        start = jnp.zeros((count + 1, rows), jnp.int32).at[0].set(classes.astype(jnp.int32))
        key_nodes, key_inside = jax.random.split(key)
        steps = (net.order, net.parents, net.strides, net.offset, net.first, jax.random.split(key_nodes, count))
        (_, outcomes), _ = jax.lax.scan(draw, (start, start[1:]), steps)
        node = np.asarray(self.nodes) - 1
        shown, code = outcomes[node].T, np.asarray(self.codes)[None, :]
        row = (shown == code).astype(jnp.float32)
        numeric = np.flatnonzero(code[0] == VALUE)
        if len(numeric) == 0:
            return row
        interval = (node[None, numeric], shown[:, numeric])
        inside = jax.random.uniform(key_inside, (rows, len(numeric)))
        return row.at[:, numeric].set(net.base[interval] + inside * net.span[interval])

    # -- artifact --------------------------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("nodes", "codes")}

    @classmethod
    def from_dict(cls, settings: dict[str, Any], codec: Any) -> "MarginalGenerator":
        """The way back from `to_dict`."""
        return cls(*coordinates(codec), **settings)

    def mismatch(self, weights: Mapping[str, Any]) -> str:
        count = len(set(self.nodes))
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(("order", "offset", "first"), (count,))
        shapes |= dict.fromkeys(("parents", "strides"), (count, self.parents))
        shapes |= dict.fromkeys(("base", "span"), (count, self.outcomes))
        shapes |= {"table": (self.rows, self.cells), "inner": (self.inner, self.outcomes)}
        return mismatch(weights, shapes)


INTEGERS = ("order", "parents", "strides", "offset", "first")


def pick(cumulative: Float[Array, "rows k"], uniform: Float[Array, " rows"]) -> Int[Array, " rows"]:
    """How many cumulative probabilities a uniform number has passed; padding is 1 and is never passed."""
    return (uniform[:, None] >= cumulative).sum(axis=1).astype(jnp.int32)


def coordinates(codec: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
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
