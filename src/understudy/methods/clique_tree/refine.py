"""Rows fitted to the counts of pairs that the clique tree has no room for, without touching what the tree holds.

Cut the tree above a node v: the nodes below the cut meet the others in the separator S_v alone. Two rows with the same cells
in S_v may therefore exchange all their cells below the cut: **every count of the tree's cliques stays as it is**, and with it
all that rows drawn with little chance have right. What changes are pairs across the cut, which the tree has only as its
separators imply. For a table t beside the tree with C_c rows in its cells and the target Y_c = n p_c

    L = sum_t sum_c (C_c - Y_c)^2 / v_c,        v_c = Y_c + (n s_t / N)^2 + 1

weighs a cell by the variance of a draw and of its noise (deviation s_t on counts of N units). A sweep takes one cut, makes
pairs of rows that agree in its separator, and exchanges those for which L falls.

All of it is post-processing of released counts. Few rows are not refined (`LEAST`): tables of a hundred cells say nothing
about them.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray, UInt32

from understudy.methods.clique_tree.shuffle import shuffled, words

LEAST = 1000  # rows
BLOCKS = 128  # of exchanges in a sweep; those of one block are judged at once, by the counts before any of them
SWEEPS = 4  # per cut
CHUNK = 8  # tables that are looked at together

Cells = Int[Array, "nodes rows"]


class Targets(NamedTuple):
    """Tables of pairs that rows are fitted to, one after the other in flat arrays."""

    left: Any  # [tables] first node
    right: Any  # [tables] second node
    stride: Any  # [tables] cells of the second node
    begin: Any  # [tables] first cell
    share: Any  # [cells] believed share of the rows
    spread: Any  # [cells] deviation of its noise

    def places(self, cells: Cells) -> Int[Array, "tables rows"]:
        """The cell of every row in every table."""
        return jnp.asarray(self.begin[:, None] + cells[self.left] * self.stride[:, None] + cells[self.right])


class Cuts(NamedTuple):
    """Where the tree can be cut: separators as in `generator.Network`, and which nodes lie below."""

    parents: Any  # [cuts, parents]
    strides: Any  # [cuts, parents]
    below: Any  # [cuts, nodes] 1: is exchanged


class Across(NamedTuple):
    """The tables that a cut goes through, first of all tables: an exchange leaves the others as they are."""

    used: Any  # [tables] whether the cut goes through it
    below: Any  # its node below the cut
    above: Any  # and the other one
    step_below: Any  # from one cell of that node to the next
    step_above: Any
    begin: Any

    @classmethod
    def of(cls, below: Int[Array, " nodes"], targets: Targets) -> "Across":
        """Tables in chunks; the last one is filled up."""
        left, right = below[targets.left] > 0, below[targets.right] > 0
        order = jnp.argsort(left == right)
        one = jnp.ones_like(targets.stride)
        found = cls(
            left != right,
            jnp.where(left, targets.left, targets.right),
            jnp.where(left, targets.right, targets.left),
            jnp.where(left, targets.stride, one),
            jnp.where(left, one, targets.stride),
            targets.begin,
        )
        return cls(*(jnp.pad(part[order], (0, -len(order) % CHUNK)) for part in found))

    def chunk(self, number: Int[Array, ""]) -> "Across":
        """The tables of one chunk."""
        return Across(*(jax.lax.dynamic_slice_in_dim(part, number * CHUNK, CHUNK) for part in self))

    def places(self, one: Array, two: Array) -> tuple[Array, Array, Array]:
        """Cells of two rows as they are and after an exchange, [2, pairs, tables], and whether anything changes."""
        a_one, a_two = (self.step_below[None] * row[:, self.below] + self.begin[None] for row in (one, two))
        b_one, b_two = (self.step_above[None] * row[:, self.above] for row in (one, two))
        moves = self.used[None] & (a_one != a_two) & (b_one != b_two)
        return jnp.stack([a_one + b_one, a_two + b_two]), jnp.stack([a_two + b_one, a_one + b_two]), moves


def refine(cells: Cells, cuts: Cuts, targets: Targets, key: PRNGKeyArray) -> Cells:
    """The same cells in every clique of the tree, exchanged between rows so that the targets are met."""
    rows = cells.shape[1]
    wanted = targets.share * rows
    weight = 1.0 / (wanted + (targets.spread * rows) ** 2 + 1.0)
    counts = jnp.zeros_like(wanted).at[targets.places(cells)].add(1.0)
    slope = (
        2.0 * weight * (counts - wanted)
    )  # one row more in a cell changes L by weight + slope, one less by weight - slope

    def sweep(now: Sorted, slope: Array, cut: Cuts, own: UInt32[Array, " words"]) -> tuple[Sorted, Array]:
        now, agree = now.paired((cut.strides[None, :] * now.cells[:, cut.parents]).sum(axis=1), own)
        one, two = now.cells[0 : 2 * len(agree) : 2], now.cells[1 : 2 * len(agree) : 2]
        judged = partial(exchange, Across.of(cut.below, targets), weight)
        slope, taken = jax.lax.scan(judged, slope, (blocks(one), blocks(two), blocks(agree)))
        moved = taken.ravel()[: len(agree), None] & (cut.below > 0)[None]
        both = jnp.stack([jnp.where(moved, two, one), jnp.where(moved, one, two)], axis=1)
        return now.with_pairs(both.reshape(-1, both.shape[2])), slope

    def step(carry: tuple[Sorted, Array], now: tuple[Cuts, Array]) -> tuple[tuple[Sorted, Array], None]:
        through = (now[0].below[targets.left] != now[0].below[targets.right]).any()
        return jax.lax.cond(through, lambda: sweep(*carry, *now), lambda: carry), None

    number = cuts.below.shape[0]
    chance = words(key, SWEEPS * number, more=1)
    order = jnp.argsort(chance[:, -1]) % number
    each = Cuts(*(part[order] for part in cuts))
    begin = Sorted(cells.T, jnp.arange(rows, dtype=jnp.int32))
    (found, _), _ = jax.lax.scan(step, (begin, slope), (each, chance))
    return jnp.zeros_like(found.cells).at[found.row].set(found.cells).T


class Sorted(NamedTuple):
    """Rows in an order of their own, whole rows one after the other; `row` is where each belongs."""

    cells: Int[Array, "rows nodes"]
    row: Int[Array, " rows"]

    def paired(
        self, given: Int[Array, " rows"], chance: UInt32[Array, " words"]
    ) -> tuple["Sorted", Bool[Array, " pairs"]]:
        """Rows with the same separator next to each other, at random among them; whether the two of each pair agree in it."""
        at = shuffled(given, chance)
        pairs = given[at[: len(at) // 2 * 2]].reshape(-1, 2)
        return Sorted(self.cells[at], self.row[at]), pairs[:, 0] == pairs[:, 1]

    def with_pairs(self, cells: Int[Array, "paired nodes"]) -> "Sorted":
        """These cells in the first rows; a last row without partner stays."""
        return self._replace(cells=jnp.concatenate([cells, self.cells[len(cells) :]]))


def exchange(
    across: Across, weight: Array, slope: Array, pairs: tuple[Array, Array, Array]
) -> tuple[Array, Bool[Array, " pairs"]]:
    """Which of a block's pairs exchange what is below the cut, and the slopes after that."""
    one, two, agree = pairs
    chunks = -(-across.used.sum() // CHUNK)

    def judged(chunk: Array, change: Array) -> Array:
        old, new, moves = across.chunk(chunk).places(one, two)
        each = (slope[new] + weight[new] - slope[old] + weight[old]).sum(axis=0)
        return jnp.asarray(change + jnp.where(moves, each, 0.0).sum(axis=1))

    taken = (jax.lax.fori_loop(0, chunks, judged, jnp.zeros(agree.shape)) < 0.0) & agree

    def moved(chunk: Array, slope: Array) -> Array:
        old, new, moves = across.chunk(chunk).places(one, two)
        by = jnp.where(moves & taken[:, None], 2.0, 0.0)[None]
        return jnp.asarray(slope.at[old].add(-by * weight[old]).at[new].add(by * weight[new]))

    return jax.lax.fori_loop(0, chunks, moved, slope), taken


def blocks(pairs: Array) -> Array:
    """In blocks; what the last ones lack is filled up with pairs that do not agree."""
    size = max(-(-len(pairs) // BLOCKS), 1)
    full = jnp.pad(pairs, ((0, -len(pairs) % size), *[(0, 0)] * (pairs.ndim - 1)))
    return full.reshape(-1, size, *pairs.shape[1:])
