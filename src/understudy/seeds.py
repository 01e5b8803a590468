"""Seeds of any size: generators of random numbers take 32 or 64 bits, people type dates and telephone numbers.

Seeds from 0 to 2^32 - 1 are what they are; others are hashed to that range. Public randomness only: privacy noise has no seed.
"""

import hashlib

import numpy as np

LARGEST = 2**32 - 1


def folded(seed: int) -> int:
    """A seed that every generator takes."""
    if 0 <= seed <= LARGEST:
        return seed
    return int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:4], "big")


def sequence(seed: int | None, *spawn: int) -> np.random.SeedSequence:
    """NumPy's seed of any number; None: of the operating system."""
    return np.random.SeedSequence(None if seed is None else folded(seed), spawn_key=spawn)


def rng(seed: int | None, *spawn: int) -> np.random.Generator:
    """NumPy's generator for any number; None: seeded by the operating system."""
    return np.random.default_rng(sequence(seed, *spawn))
