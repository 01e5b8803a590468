"""Seeds of any size: generators of random numbers take 32 or 64 bits, people type dates and telephone numbers.

Seeds from 0 to 2^32 - 1 are what they are; others are hashed to that range. Public randomness only: privacy noise has no seed.
"""

import hashlib

LARGEST = 2**32 - 1


def folded(seed: int) -> int:
    """A seed that every generator takes."""
    if 0 <= seed <= LARGEST:
        return seed
    return int.from_bytes(hashlib.sha256(str(seed).encode()).digest()[:4], "big")
