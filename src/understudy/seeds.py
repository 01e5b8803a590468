"""Seeds of any size: generators of random numbers take 32 or 64 bits, people type dates and telephone numbers.

Seeds from 0 to 2^32 - 1 are what they are. Of others NumPy gets 256 bits, and what takes 32 gets 32 (`folded`). What is drawn
in pieces gives every piece a seed of `BITS` (`piece`): of 32 bits, two of 77,000 pieces would be the same in half of all samples.
Public randomness only: privacy noise has no seed.
"""

import hashlib

import numpy as np

LARGEST = 2**32 - 1
BITS = 128  # of the seed of a piece, or of a sample without a seed


def folded(seed: int) -> int:
    """A seed that every generator takes."""
    if 0 <= seed <= LARGEST:
        return seed
    return int.from_bytes(_hashed(seed)[:4], "big")


def _hashed(seed: int) -> bytes:
    return hashlib.sha256(str(seed).encode()).digest()


def sequence(seed: int | None, *spawn: int) -> np.random.SeedSequence:
    """NumPy's seed of any number; None: of the operating system."""
    if seed is not None and not 0 <= seed <= LARGEST:
        seed = int.from_bytes(_hashed(seed), "big")
    return np.random.SeedSequence(seed, spawn_key=spawn)


def piece(found: np.random.SeedSequence) -> int:
    """The seed of a piece, with all the randomness that a seed can have."""
    return int.from_bytes(found.generate_state(BITS // 32, np.uint32).tobytes(), "little")


def rng(seed: int | None, *spawn: int) -> np.random.Generator:
    """NumPy's generator for any number; None: seeded by the operating system."""
    return np.random.default_rng(sequence(seed, *spawn))
