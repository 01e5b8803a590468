"""Rows fitted to counts beside the tree: the pair arrives, what the tree holds stays, and few rows are left alone."""

import numpy as np
import pytest

from understudy.methods.clique_tree import refine
from understudy.methods.clique_tree.assemble import hanging
from understudy.methods.clique_tree.descent import Measured, projected
from understudy.methods.clique_tree.pairs import averaged
from understudy.methods.clique_tree.refine import Fitted, Targets, TreeCuts, paired
from understudy.methods.clique_tree.shuffle import shuffled, words
from understudy.methods.clique_tree.targets import raked, targets_of
from understudy.methods.clique_tree.tree import JunctionTree
from understudy.methods.marginals.junction import Graph

ROWS, CELLS = 2000, 4
DEPENDENT = np.eye(CELLS) * 0.15 + 0.1 / CELLS  # shares of a pair that the tree has no room for


def distance(cells, a, b, shares):
    counts = np.zeros((CELLS, CELLS))
    np.add.at(counts, (cells[:, a], cells[:, b]), 1.0)
    return float(np.abs(counts / counts.sum() - shares).sum()) / 2.0


def chain():
    """1 - 2 - 3: nodes 1 and 3 can be exchanged among rows that agree in node 2."""
    cuts = TreeCuts(np.asarray([[2], [2]]), np.ones((2, 1), int), np.asarray([[0, 1, 0, 0], [0, 0, 0, 1]]))
    targets = Targets(*(np.asarray([one]) for one in (1, 3, CELLS, 0)), DEPENDENT.ravel(), np.zeros(16))
    return Fitted(cuts, targets)


@pytest.mark.parametrize("rows", [ROWS, ROWS + 1])
def test_rows_take_on_a_pair_that_the_tree_does_not_hold(rows):
    rng = np.random.default_rng(0)
    begin = np.c_[np.zeros((rows, 1), int), rng.integers(0, CELLS, (rows, 3))].astype(np.int32)
    before = begin.copy()
    found = chain().refine(begin, np.random.default_rng(0))
    np.testing.assert_array_equal(begin, before)
    assert distance(begin, 1, 3, DEPENDENT) > 0.4 and distance(found, 1, 3, DEPENDENT) < 0.03
    for a, b in ((0, 1), (1, 2), (2, 3)):  # all that the chain holds, to the row
        np.testing.assert_array_equal(*(np.bincount(x[:, a] * CELLS + x[:, b]) for x in (begin, found)))
    np.testing.assert_array_equal(begin[:, 2], found[:, 2])  # the separator stays in its row


def test_the_loss_is_followed_to_the_last_exchange(monkeypatch):
    """Slopes are changed exchange by exchange; after all of them they are those of the counts."""
    held = {}

    def kept(cut, weight, slope, pairs, some):
        held["slope"], held["weight"] = slope, weight
        return exchanged(cut, weight, slope, pairs, some)

    exchanged = refine.exchanged
    monkeypatch.setattr(refine, "exchanged", kept)
    rng, fitted = np.random.default_rng(3), chain()
    found = fitted.refine(rng.integers(0, CELLS, (ROWS, 4)).astype(np.int32), rng)
    off = fitted.targets.counts(found) - DEPENDENT.ravel() * ROWS
    np.testing.assert_allclose(held["slope"][:-1], 2.0 * held["weight"][:-1] * off, atol=1e-9)
    assert held["slope"][-1] == 0.0


def test_partners_agree_in_their_separator():
    given = np.random.default_rng(1).integers(0, 5, 101)
    rows = np.stack([given, np.arange(101)], axis=1)
    cells, row, agree = paired(rows, np.arange(101), given, words(np.random.default_rng(1), 1)[0])
    np.testing.assert_array_equal(cells[:, 1], row)  # whole rows move
    assert sorted(row.tolist()) == list(range(101)) and int(agree.sum()) >= 45
    np.testing.assert_array_equal(cells[:100:2, 0] == cells[1:100:2, 0], agree)


@pytest.mark.parametrize("rows", [1, 2, 3, 1000, 65_536])
def test_an_order_groups_equals_and_is_another_one_each_time(rows):
    given = np.random.default_rng(2).integers(0, 7, rows)
    one, two = (shuffled(given, chance) for chance in words(np.random.default_rng(2), 2))
    for order in (one, two):
        assert sorted(order.tolist()) == list(range(rows))
        assert (np.diff(given[order]) >= 0).all()
    if rows >= 1000:  # places of the same rows in two orders within a group: as good as unrelated
        ranks = [np.argsort(order)[given == 3] for order in (one, two)]
        assert abs(np.corrcoef(*ranks)[0, 1]) < 5.0 / np.sqrt(rows / 7) and (one != two).mean() > 0.9


def test_what_hangs_on_a_node():
    graph = Graph([1, 2, 2, 2, 2], [(1, 2), (2, 3), (3, 4)])
    for node in graph.order[:-1]:
        below = set(np.flatnonzero(hanging(graph, node)).tolist())
        for (
            other
        ) in graph.order:  # every clique lies within the nodes below and the separator, or outside of those below
            clique = set(graph.scope[other])
            assert clique <= below | set(graph.later[node]) or not clique & below


def test_counts_beside_the_tree_are_settled_on_its_margins():
    rng = np.random.default_rng(1)
    margins = [np.asarray([500.0, 300.0, 200.0]), np.asarray([600.0, 400.0])]
    noisy = np.outer(*margins) / 1000.0 + rng.normal(0.0, 60.0, (3, 2))
    found = raked(Measured((1, 2), noisy, 60.0), margins)
    assert (found >= 0.0).all()
    for axis in (0, 1):
        np.testing.assert_allclose(found.sum(axis=1 - axis), margins[axis], rtol=1e-6)
    np.testing.assert_allclose(projected(np.asarray([5.0, -3.0, 1.0]), 4.0), [4.0, 0.0, 0.0])


def test_targets_are_the_pairs_beside_the_tree():
    tree = JunctionTree([1, 2, 2, 2], [(1, 2), (3,)], [], 100.0)
    beliefs = tree.run([np.log([[40.0, 10.0], [10.0, 40.0]]), np.zeros(2)])
    found = targets_of(tree, beliefs, [Measured((1, 3), np.asarray([[30.0, 20.0], [20.0, 30.0]]), 4.0)])
    np.testing.assert_array_equal((found.left, found.right, found.stride, found.begin), ([1], [3], [2], [0]))
    np.testing.assert_allclose(found.share, [0.3, 0.2, 0.2, 0.3], atol=1e-4)
    np.testing.assert_allclose(found.spread, 0.04)
    assert not targets_of(tree, beliefs, []).share.size


def test_a_noisy_answer_moves_a_guess_as_far_as_it_can_be_trusted():
    for noise, found in ((1e9, 100.0), (1e-9, 300.0), (100.0, 200.0)):
        assert averaged(100.0, 300.0, noise) == pytest.approx(found)
