"""Poisson samples of units: every unit takes part in a round by its own coin, whatever the others do.

The coins come from the round's secret stream (`stream.py`), one word per unit, so a unit is in with probability q
exactly and independently of all others and of all other rounds. That is what the price of a Poisson sample assumes; a
batch of fixed size, a shuffled table read in pieces, or a sample with replacement is another mechanism with another
price.

A sample has no fixed size and a compiled program has fixed shapes. Here nothing is cut off: the members of the sample
are put in front of a list as long as the table, and the caller goes through it in pieces until the list is done
(`pieces`). So there is no truncation to be accounted for. How many pieces a round took is private, and so is the
number of units; neither is ever released. Large samples are drawn stripe by stripe, by whoever keeps the units
(`unit_stripes.py`), with streams of coins that are made from the round's (`secrets_of_stripes`).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int

from understudy.private import stream
from understudy.private.blocks import Blocks
from understudy.private.noise import IntArray


class Units(NamedTuple):
    """Rows sorted by unit; unit u owns rows first[u] ... first[u] + size[u] - 1. No table is empty."""

    rows: Any  # [rows, width]
    classes: Any  # [rows]
    first: Any  # [units]
    size: Any  # [units]


class Members(NamedTuple):
    """A piece of a sample: the rows of some units, padded, and which places hold a row."""

    rows: Float[Array, "units per_unit width"]
    classes: Int[Array, "units per_unit"]
    present: Float[Array, "units per_unit"]


def by_unit(blocks: Blocks) -> Units:
    """All rows, in the order of their units."""
    whole = blocks.gathered()
    if len(whole) == 0:  # a place that never takes part
        return Units(np.zeros((1, blocks.width), np.float32), *(np.zeros(1, np.int32) for _ in range(3)))
    units = np.arange(len(whole)) if whole.units is None else whole.units
    _, first, count = np.unique(units, return_index=True, return_counts=True)
    return Units(
        np.asarray(whole.rows, np.float32),
        np.asarray(whole.classes, np.int32),
        first.astype(np.int32),
        count.astype(np.int32),
    )


FIRST_COIN = 1 << 31  # block of a round's stream where the coins of streamed units begin, far beyond its noise
END_OF_STREAM = 1 << 32  # the block counter has 32 bits; the next would be the first of the noise


def gather(blocks: Blocks, tape: IntArray, rate: float) -> tuple[Units, Any]:
    """One pass over a table that is not held: the rows of all units that take part in some of the tape's rounds, and who takes
    part when [rounds, units].

    Every unit has a coin of its own in every round, as in a table that is held. Nothing is cut off: the arrays are as long as
    the sample needs and a little longer (`padded`), and their length stays inside.
    """
    rows, classes, sizes, taken, at = [], [], [], [], 0
    for block in blocks:
        units = np.arange(len(block)) if block.units is None else block.units
        count = int(units.max(initial=-1)) + 1
        places, begin = coin_places(count), FIRST_COIN + at
        at += places // 16
        if FIRST_COIN + at > END_OF_STREAM:
            raise RuntimeError("a table of more than 2^34 units needs a stream with a longer counter")
        drawn = stream.coins_of_rounds(jnp.asarray(tape, jnp.int32), np.uint32(begin), places, rate)
        coins = np.asarray(drawn)[:, :count]
        some = np.asarray(coins.any(axis=0))
        kept = np.flatnonzero(some[units])
        rows.append(np.asarray(block.rows, np.float32)[kept])
        classes.append(np.asarray(block.classes, np.int32)[kept])
        sizes.append(np.bincount(units, minlength=count)[some])
        taken.append(coins[:, some])
    members = np.concatenate([np.zeros((len(tape), 0), bool), *taken], axis=1)
    return assembled(rows, classes, sizes, blocks.width), padded(members.T).T


def assembled(rows: Sequence[Any], classes: Sequence[Any], sizes: Sequence[Any], width: int) -> Units:
    """Units from the rows, classes and units' sizes of several blocks, with empty places at the end."""
    size = np.concatenate([np.zeros(0, np.int64), *sizes])
    first = np.cumsum(size) - size
    return Units(
        padded(np.concatenate([np.zeros((0, width), np.float32), *rows])),
        padded(np.concatenate([np.zeros(0, np.int32), *classes])),
        padded(first.astype(np.int32)),
        padded(size.astype(np.int32)),
    )


def secrets_of_stripes(secret: ArrayLike, stripes: int) -> IntArray:
    """For every stripe of units a key and nonce that its coins in one round are drawn with, made from the round's secret.

    Each is a block of the round's own stream, beyond its noise. So whoever has one knows the coins of that stripe in that round,
    and neither the noise nor other coins: that would take the stream's key.
    """
    bits = np.asarray(words(jnp.asarray(secret, jnp.int32), 16 * stripes, np.uint32(FIRST_COIN)))
    found: IntArray = bits.view(np.int32).reshape(stripes, 16)[:, : stream.WORDS].astype(np.int64)
    return found


words = jax.jit(stream.words, static_argnums=1)


def coin_places(units: int) -> int:
    """Coins are drawn for whole blocks of the stream, and for few different numbers of units, so that programs are shared."""
    return max(1024, 1 << (max(units, 1) - 1).bit_length())


def padded(array: Any) -> Any:
    """Empty places at the end, so that chunks of about equal samples fit the same compiled program. A unit of no rows never
    takes part.
    """
    step = 1 << max(10, (8 * math.isqrt(len(array) + 1)).bit_length())
    spare = -(len(array) + 1) % step + 1
    return np.pad(array, [(0, spare)] + [(0, 0)] * (array.ndim - 1))


def pieces(
    data: Units,
    chosen: Bool[Array, " units"],
    size: int,
    per_unit: int,
    add: Callable[[Any, Members], Any],
    start: Any,
) -> Any:
    """`start` plus what `add` makes of every piece of the sample, until the sample is used up. `size`, `per_unit` are public."""
    places = -(-chosen.shape[0] // size) * size
    chosen = chosen & (data.size > 0)
    (order,) = jnp.nonzero(chosen, size=places, fill_value=0)
    total = chosen.sum()

    def one(number: Array, carry: Any) -> Any:
        place = number * size + jnp.arange(size)
        unit = jax.lax.dynamic_slice_in_dim(order, number * size, size)
        slot = jnp.arange(per_unit)
        owned = slot[None, :] < data.size[unit][:, None]
        # An empty place of a unit repeats the unit's first row, never a row of somebody else.
        row = data.first[unit][:, None] + jnp.where(owned, slot[None, :], 0)
        present = owned & (place < total)[:, None]
        return add(carry, Members(data.rows[row], data.classes[row], present.astype(jnp.float32)))

    return jax.lax.fori_loop(0, -(-total // size), one, start)
