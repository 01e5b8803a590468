"""Classes of drawn rows: within one row of their shares, in random order, none that has no share."""

import numpy as np
import pytest

from understudy.sampling.even import even_classes


@pytest.mark.parametrize("weights", [[0.3, 0.7, 0.0], [0.0, 1.0, 0.0], [1e-7, 0.5, 0.5 - 1e-7]])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_every_class_is_within_one_row_of_its_share(weights, rows):
    drawn = even_classes(np.random.default_rng(rows), np.asarray(weights), rows)
    counts = np.bincount(drawn, minlength=3)
    assert np.abs(counts - rows * np.asarray(weights)).max() <= 1.001
    assert not counts[np.asarray(weights) == 0.0].any()


def test_one_row_has_every_class_with_its_probability():
    """200 single rows, seeded: 6 deviations of a binomial are 42."""
    drawn = [int(even_classes(np.random.default_rng(seed), np.asarray([0.4, 0.6]), 1)[0]) for seed in range(200)]
    assert abs(sum(drawn) - 120) < 42


def test_the_order_says_nothing():
    drawn = even_classes(np.random.default_rng(0), np.asarray([0.5, 0.5]), 1000)
    assert abs(int(drawn[:500].sum()) - 250) < 48  # 6 deviations of a hypergeometric
