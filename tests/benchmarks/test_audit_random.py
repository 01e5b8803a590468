"""Random neighbours of `benchmarks.audit_random`: no answer moves further than was paid for, and wrong versions are seen."""

import pandas as pd
import pytest

import understudy as us
from benchmarks import audit_random
from understudy.audit.used import used

from ..audit.mutants import OneMarginalForAll, QuietSelection


@pytest.mark.parametrize("seed", range(12))
def test_no_answer_of_random_neighbours_uses_more_than_it_costs(seed):
    estimator = us.CliqueTree(epsilon=audit_random.EPSILONS[seed % 4], passes=2)
    assert used(estimator, audit_random.pair(seed), fits=2, seed=seed).worst <= 1.0 + audit_random.ALLOWED


def test_they_are_neighbours_of_every_kind():
    pairs = [audit_random.pair(seed) for seed in range(60)]
    assert {len(one.without) for one in pairs} == set(audit_random.OTHERS)
    assert {one.schema.label for one in pairs} == {None, audit_random.LABEL}
    for one in pairs:
        pd.testing.assert_frame_equal(one.with_[: len(one.without)], one.without)
        target = one.with_[len(one.without) :]
        assert 1 <= len(target) <= one.schema.max_rows_per_unit
        if one.schema.unit is not None:
            assert not set(target[audit_random.WHO]) & set(one.without[audit_random.WHO])


@pytest.mark.parametrize("mutant", [QuietSelection, OneMarginalForAll])
def test_wrong_versions_are_seen(mutant):
    assert max(used(mutant(epsilon=1.0, passes=2), audit_random.pair(seed), fits=1).worst for seed in range(4)) > 1.5
