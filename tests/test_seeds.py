"""Seeds of any size are taken everywhere, and small ones mean what they mean to NumPy."""

import numpy as np
import pytest

from understudy.seeds import BITS, LARGEST, folded, piece, rng, sequence


@pytest.mark.parametrize("seed", [-1, -(2**80), LARGEST + 1, 2**200])
def test_every_whole_number_is_a_seed(seed):
    assert 0 <= folded(seed) <= LARGEST
    assert rng(seed).integers(1 << 62) == rng(seed).integers(1 << 62) != rng(seed + 1).integers(1 << 62)
    assert list(sequence(seed).generate_state(2)) == list(sequence(seed).generate_state(2))


def test_small_seeds_are_what_they_are():
    assert rng(7).integers(1 << 62) == np.random.default_rng(7).integers(1 << 62)
    assert rng(7, 1).integers(1 << 62) != rng(7, 2).integers(1 << 62)


def test_without_a_seed_every_generator_is_another():
    """False failures: 1 in 2^62."""
    assert rng(None).integers(1 << 62) != rng(None).integers(1 << 62)


def test_large_seeds_and_pieces_keep_more_than_32_bits():
    """The mutant folds them to 32 bits, of which some pieces here have the same: rows of both would be the same."""
    found = [piece(sequence(5, number)) for number in range(150_000)]
    assert len(set(found)) == len(found) and max(found).bit_length() > BITS - 8
    short = dict(zip(map(folded, found), found, strict=True))
    alike = [(one, short[folded(one)]) for one in found if short[folded(one)] != one]
    assert alike and all(rng(one).integers(1 << 62) != rng(other).integers(1 << 62) for one, other in alike)
