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

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

LEAST = 1000  # rows
BLOCKS = 128  # of exchanges in a sweep; those of one block are judged at once, by the counts before any of them
SWEEPS = 4  # per cut

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


def refine(cells: Cells, cuts: Cuts, targets: Targets, key: PRNGKeyArray) -> Cells:
    """The same cells in every clique of the tree, exchanged between rows so that the targets are met."""
    rows = cells.shape[1]
    wanted = targets.share * rows
    weight = 1.0 / (wanted + (targets.spread * rows) ** 2 + 1.0)
    counts = jnp.zeros_like(wanted).at[targets.places(cells)].add(1.0)
    slope = (
        2.0 * weight * (counts - wanted)
    )  # a row more in a cell changes L by weight + slope, one less by weight - slope

    def exchange(slope: Array, places: tuple[Array, Array]) -> tuple[Array, Array]:
        old, new = places  # [block, 2 rows, tables]
        same = (old[:, 0] == new[:, 0]) | (old[:, 0] == new[:, 1])  # the two rows agree in one of the columns
        change = (slope[new] + weight[new] - slope[old] + weight[old]).sum(axis=1)
        taken = jnp.where(same, 0.0, change).sum(axis=1) < 0.0
        moved = jnp.where(taken, 2.0, 0.0)[:, None, None]
        return slope.at[old].add(-moved * weight[old]).at[new].add(moved * weight[new]), taken

    def sweep(carry: tuple[Array, Array], now: tuple[Cuts, PRNGKeyArray]) -> tuple[tuple[Array, Array], None]:
        (cells, slope), (cut, own) = carry, now
        first, second, agree = partners((cut.strides[:, None] * cells[cut.parents]).sum(axis=0), own)
        inside = (cut.below > 0)[:, None]
        one, two = cells[:, first], cells[:, second]
        new_one, new_two = jnp.where(inside, two, one), jnp.where(inside, one, two)
        old = jnp.stack([targets.places(one), targets.places(two)])
        new = jnp.where(agree[None, None, :], jnp.stack([targets.places(new_one), targets.places(new_two)]), old)
        slope, taken = jax.lax.scan(exchange, slope, (blocks(old), blocks(new)))
        swapped = (taken.ravel()[: len(first)] & agree)[None, :]
        cells = cells.at[:, first].set(jnp.where(swapped, new_one, one))
        return (cells.at[:, second].set(jnp.where(swapped, new_two, two)), slope), None

    number = cuts.below.shape[0]
    key_order, key_sweeps = jax.random.split(key)
    order = jax.random.permutation(key_order, jnp.tile(jnp.arange(number), SWEEPS))
    each = Cuts(*(part[order] for part in cuts))
    (cells, _), _ = jax.lax.scan(sweep, (cells, slope), (each, jax.random.split(key_sweeps, len(order))))
    return cells


def partners(
    given: Int[Array, " rows"], key: PRNGKeyArray
) -> tuple[Int[Array, " pairs"], Int[Array, " pairs"], Bool[Array, " pairs"]]:
    """Two rows and two rows at random among those with the same separator, and whether they agree in it."""
    rows = given.shape[0]
    key_tie, key_shift = jax.random.split(key)
    tie = jax.random.bits(key_tie, (rows,), jnp.uint32)
    _, _, at = jax.lax.sort((given, tie, jnp.arange(rows, dtype=jnp.int32)), num_keys=2)
    at = jnp.roll(at, jax.random.randint(key_shift, (), 0, 2))[
        : rows // 2 * 2
    ]  # else a group's first would always be one
    first, second = at[0::2], at[1::2]
    return first, second, given[first] == given[second]


def blocks(places: Int[Array, "two tables pairs"]) -> Int[Array, "blocks block two tables"]:
    """In blocks; what the last ones lack is filled up with exchanges that change nothing, which are never taken."""
    size = max(-(-places.shape[2] // BLOCKS), 1)
    full = jnp.pad(places.transpose(2, 0, 1), ((0, -places.shape[2] % size), (0, 0), (0, 0)))
    return full.reshape(-1, size, *full.shape[1:])
