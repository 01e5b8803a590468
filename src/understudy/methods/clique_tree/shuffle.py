"""Rows in order of a number, at random among equals: one sort of 32-bit words.

In front stands the number, behind it the row's own number under a random permutation of w bits, so that the sorted words say
which row stands where:

    x -> d T(c T(a x + b))  modulo 2^w,      a, c, d odd,      T(x) = x xor (x >> s), its own inverse for 2 s >= w

Every step can be undone. What of the first number does not fit into 32 - w bits is cut off: rows that differ there may then
stand among each other, which costs evenness and nothing else. The four words a to d are all the chance that an order takes.
"""

import numpy as np

WORDS = 4  # that make one order
MODULUS = 1 << 32


def words(random: np.random.Generator, orders: int, more: int = 0) -> np.ndarray:
    """The chance of some orders, and of `more` besides: [orders, words]."""
    return random.integers(0, MODULUS, (orders, WORDS + more), dtype=np.uint32)


def shuffled(given: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """An order in which equal `given` stand together, at random among them."""
    rows = len(given)
    bits = max((rows - 1).bit_length(), 1)
    mask, half = (1 << bits) - 1, -(-bits // 2)
    a, b, c, d = (int(word) for word in chance[:WORDS])
    a, c, d = a | 1, c | 1, d | 1

    def folded(x: np.ndarray) -> np.ndarray:
        return np.asarray(x ^ (x >> half))

    x = folded((np.arange(rows, dtype=np.uint32) * a + b) & mask)
    x = (folded((x * c) & mask) * d) & mask
    x |= given.astype(np.uint32) << bits
    x.sort()
    x = folded((x * pow(d, -1, MODULUS)) & mask)
    x = (folded((x * pow(c, -1, MODULUS)) & mask) - b) * pow(a, -1, MODULUS)
    return np.asarray(x & mask, np.int64)
