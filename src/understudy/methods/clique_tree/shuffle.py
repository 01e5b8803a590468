"""Rows in order of a number, at random among equals: one sort of 32-bit words.

In front stands the number, behind it the row's own number under a random permutation of w bits, so that the sorted words say
which row stands where:

    x -> d T(c T(a x + b))  modulo 2^w,      a, c, d odd,      T(x) = x xor (x >> s), its own inverse for 2 s >= w

Every step can be undone. What of the first number does not fit into 32 - w bits is cut off: rows that differ there may then
stand among each other, which costs evenness and nothing else. The four words a to d are all the chance that an order takes, so
that a program draws them for all orders at once: every call of a random generator costs a third of a second to compile.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, UInt32

WORDS = 4  # that make one order


def words(key: PRNGKeyArray, orders: int, more: int = 0) -> UInt32[Array, "orders words"]:
    """The chance of some orders, and of `more` besides."""
    return jax.random.bits(key, (orders, WORDS + more), jnp.uint32)


def shuffled(given: Int[Array, " rows"], chance: UInt32[Array, " words"]) -> Int[Array, " rows"]:
    """An order in which equal `given` stand together, at random among them."""
    rows = given.shape[0]
    bits = max((rows - 1).bit_length(), 1)
    mask, half = jnp.uint32(2**bits - 1), -(-bits // 2)
    a, b, c, d = chance[:WORDS] | jnp.asarray([1, 0, 1, 1], jnp.uint32)

    def folded(x: Array) -> Array:
        return jnp.asarray(x ^ (x >> half))

    x = folded((jnp.arange(rows, dtype=jnp.uint32) * a + b) & mask)
    x = (folded((x * c) & mask) * d) & mask
    ordered = jnp.sort((given.astype(jnp.uint32) << bits) | x)
    x = folded((ordered * inverse(d)) & mask)
    x = (folded((x * inverse(c)) & mask) - b) * inverse(a)
    return jnp.asarray(x & mask, jnp.int32)


def inverse(odd: UInt32[Array, ""]) -> UInt32[Array, ""]:
    """Modulo 2^32: an odd number is its own inverse in three bits, and every step doubles the bits that are right."""
    found = odd
    for _ in range(4):
        found = found * (2 - odd * found)
    return jnp.asarray(found)
