"""Noise for long vectors: ChaCha20 keyed by the operating system, turned into normal numbers inside the compiled step.

A gradient has thousands of coordinates in every round, too many for a tape of exact integers. The tape carries 44
secret bytes per round instead, a fresh key and nonce, and the compiled step expands them with the block function of
RFC 8439 (20 rounds, 32-bit block counter). Without the key the stream cannot be told from random bits, which no
generator with a 32- or 64-bit seed offers.

    coins      one word w per unit, heads where w < floor(2^32 q): probability q exactly, up to rounding q down to 2^-32
    normals    Box and Muller 1958:   r = sqrt(-2 log u),   (r cos t, r sin t);   u has 64 bits, t has 32

u comes from two words, and -log u is taken from whichever of u and 1 - u is small, so that both ends keep full relative
precision: the largest number possible is 9.5, beyond which a normal lies with probability 2e-21. The results are 32-bit
floating-point numbers, not exact Gaussians: see the note on floating point in `mechanisms/noisy_gradient.py`.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, UInt32

from understudy.private.noise import IntArray, NoiseSource

WORDS = 11  # of a round's secret: 8 of key, 3 of nonce
CONSTANTS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)  # "expand 32-byte k"


def secrets_of_rounds(rounds: int, noise: NoiseSource) -> IntArray:
    """The tape: for every round a key and a nonce of its own, as signed 32-bit words."""
    words = np.frombuffer(noise.secret(4 * WORDS * rounds), np.int32)
    return words.reshape(rounds, WORDS).astype(np.int64)


def words(secret: Int[Array, " words"], count: int, first_block: ArrayLike = 0) -> UInt32[Array, " count"]:
    """`count` words of the stream, from the start of block `first_block`."""
    blocks = -(-count // 16)
    counter = jnp.arange(blocks, dtype=jnp.uint32) + jnp.asarray(first_block, jnp.uint32)
    return chacha20(jax.lax.bitcast_convert_type(secret.astype(jnp.int32), jnp.uint32), counter).reshape(-1)[:count]


def chacha20(secret: UInt32[Array, " words"], counter: UInt32[Array, " blocks"]) -> UInt32[Array, "blocks 16"]:
    """The block function for every counter. State as four rows of four words, so that a row is one vector operation."""
    blocks = counter.shape[0]

    def spread(row: Array) -> Array:
        return jnp.broadcast_to(row[:, None], (4, blocks))

    last = jnp.concatenate([counter[None, :], jnp.broadcast_to(secret[8:, None], (3, blocks))])
    start = (spread(jnp.asarray(CONSTANTS, jnp.uint32)), spread(secret[:4]), spread(secret[4:8]), last)

    def double_round(_: ArrayLike, state: tuple[Array, ...]) -> tuple[Array, ...]:
        state = quarters(*state)
        a, b, c, d = quarters(*(jnp.roll(row, -shift, axis=0) for shift, row in enumerate(state)))
        return a, jnp.roll(b, 1, axis=0), jnp.roll(c, 2, axis=0), jnp.roll(d, 3, axis=0)

    done = jax.lax.fori_loop(0, 10, double_round, start)
    return jnp.concatenate([row + first for row, first in zip(done, start, strict=True)]).T


def quarters(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array, Array, Array]:
    """Four quarter rounds side by side."""
    a = a + b
    d = turn(d ^ a, 16)
    c = c + d
    b = turn(b ^ c, 12)
    a = a + b
    d = turn(d ^ a, 8)
    c = c + d
    b = turn(b ^ c, 7)
    return a, b, c, d


def turn(x: Array, by: int) -> Array:
    """Words rotated to the left."""
    return jnp.asarray((x << jnp.uint32(by)) | (x >> jnp.uint32(32 - by)))


def coins(bits: UInt32[Array, " n"], rate: float) -> Bool[Array, " n"]:
    """Independent coins that show heads with probability `rate`, rounded down to a multiple of 2^-32."""
    if rate >= 1.0:
        return jnp.ones(bits.shape, bool)
    heads: Bool[Array, " n"] = bits < jnp.uint32(math.floor(rate * 2.0**32))
    return heads


@partial(jax.jit, static_argnums=(2, 3))
def coins_of_rounds(
    secrets: Int[Array, "rounds words"], first_block: ArrayLike, count: int, rate: float
) -> Bool[Array, "rounds count"]:
    """`coins` of many rounds at once, from block `first_block` of every round's stream."""
    drawn: Bool[Array, "rounds count"] = jax.vmap(lambda secret: coins(words(secret, count, first_block), rate))(
        secrets
    )
    return drawn


def normals(bits: UInt32[Array, " words"], count: int) -> Float[Array, " count"]:
    """Standard normal numbers, two from every three words."""
    pairs = -(-count // 2)
    high, low, angle = bits[: 3 * pairs].reshape(3, pairs)
    small = jnp.where(high < jnp.uint32(1 << 31), unit(high, low), unit(~high, ~low))
    loss = jnp.where(high < jnp.uint32(1 << 31), -jnp.log(small), -jnp.log1p(-small))
    radius = jnp.sqrt(2.0 * loss)
    theta = angle.astype(jnp.float32) * np.float32(2.0 * math.pi * 2.0**-32)
    return jnp.concatenate([radius * jnp.cos(theta), radius * jnp.sin(theta)])[:count]


def normal_words(count: int) -> int:
    """Words that `normals` takes for `count` numbers."""
    return 3 * (-(-count // 2))


def unit(high: Array, low: Array) -> Array:
    """(high 2^32 + low + 1/2) / 2^64, never 0."""
    return (high.astype(jnp.float32) + (low.astype(jnp.float32) + 0.5) * np.float32(2.0**-32)) * np.float32(2.0**-32)
