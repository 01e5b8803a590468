"""Random neighbours of `benchmarks.audit_random`: no answer moves further than was paid for, and wrong versions are seen."""

from unittest import mock

import numpy as np
import pandas as pd
import pytest

import understudy as us
from benchmarks import audit_random
from understudy.audit.used import used
from understudy.methods.clique_tree import few_rows, gaps
from understudy.methods.clique_tree.select import Selection

from ..audit.mutants import OneMarginalForAll, QuietSelection


@pytest.mark.parametrize("seed", range(12))
def test_no_answer_of_random_neighbours_uses_more_than_it_costs(seed):
    own = audit_random.pair(seed)
    estimator = audit_random.estimator_of("clique-tree", own.schema, audit_random.EPSILONS[seed % 4], seed)
    assert used(estimator, own, fits=2, seed=seed).worst <= 1.0 + audit_random.ALLOWED


def test_rows_that_miss_much_are_asked_for_apart():
    """Of small labelled tables, whatever their released number."""
    pairs = {seed: audit_random.pair(seed) for seed in range(80)}
    few = [seed for seed, own in pairs.items() if "gap1" in own.schema.names and own.schema.label and seed % 4 < 3]
    kinds = []
    with mock.patch.object(few_rows, "GAPS_STAND_OUT", -np.inf):
        for seed in few[:8]:
            with mock.patch.object(gaps.Apart, "__call__", autospec=True, side_effect=gaps.Apart.__call__) as apart:
                how = us.CliqueTree(epsilon=audit_random.EPSILONS[seed % 4], passes=2)
                found = used(how, pairs[seed], fits=1, seed=seed)
            assert found.worst <= 1.0 + audit_random.ALLOWED
            kinds.append(apart.called)
    assert sum(kinds) > 2


def test_three_columns_at_once_are_among_what_is_counted():
    """With much budget, for rows and persons, with a label and without, and with a workload."""
    kinds = set()
    for seed in (3, 15, 31, 43):
        own = audit_random.pair(seed)
        estimator = audit_random.estimator_of("clique-tree", own.schema, 1000.0, seed)
        with mock.patch.object(Selection, "tables", autospec=True, side_effect=Selection.tables) as tables:
            assert used(estimator, own, fits=1, seed=seed).worst <= 1.0 + audit_random.ALLOWED
        (selection,) = (one.args[0] for one in tables.call_args_list)
        assert any(len(nodes) == 3 for nodes in selection.chosen)
        kinds |= {("unit", own.schema.unit), ("label", own.schema.label)}
        kinds.add(("workload", bool(audit_random.workload(own.schema, seed))))
    assert len(kinds) == 6


def test_weights_are_none_or_from_unwanted_to_a_thousand():
    said = [audit_random.workload(audit_random.pair(seed).schema, seed) for seed in range(40)]
    assert {} in said and {0.0, 1000.0} <= {weight for one in said for weight in one.get("columns", {}).values()}


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
