"""Seeds of any size are taken everywhere, and small ones mean what they mean to NumPy."""

import numpy as np
import pytest

from understudy.seeds import LARGEST, folded, rng, sequence


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
