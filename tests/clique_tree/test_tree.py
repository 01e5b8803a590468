"""The tree against brute force, levels, the forecast against simulation, and draws with little chance."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from understudy.measure.cells import Grouping, Node
from understudy.methods.clique_tree import descent
from understudy.methods.clique_tree.columns import Columns
from understudy.methods.clique_tree.descent import Measured, descend, descend_all, forest
from understudy.methods.clique_tree.forecast import noise_errors, sampling_distance
from understudy.methods.clique_tree.generator import evenly, search
from understudy.methods.clique_tree.levels import Layout, coarsen, kept_apart, nested
from understudy.methods.clique_tree.pairs import ask_pairs
from understudy.methods.clique_tree.select import Candidate, Pairs, Selection
from understudy.methods.clique_tree.shuffle import words
from understudy.methods.clique_tree.tree import JunctionTree, Link

SIZES = [2, 3, 4, 2, 3]
GRAPHS = {
    "tree": [(0, 1), (1, 2), (1, 3), (3, 4)],
    "cycle": [(0, 1), (1, 2), (2, 3), (0, 3), (4,)],
    "apart": [(0,), (1, 2), (3, 4)],
    "triple": [(0, 1, 2), (2, 4), (3,)],
}


@pytest.mark.parametrize("name", GRAPHS)
def test_marginals_are_those_of_the_whole_product(name):
    tables, rng = GRAPHS[name], np.random.default_rng(0)
    theta = [rng.normal(size=[SIZES[n] for n in nodes]) for nodes in tables]
    joint = np.zeros(SIZES)
    for cell in itertools.product(*map(range, SIZES)):
        joint[cell] = sum(t[tuple(cell[n] for n in nodes)] for nodes, t in zip(tables, theta, strict=True))
    joint = np.exp(joint)
    found = JunctionTree(SIZES, tables, [], 100.0).run(theta)
    assert found.log_z == pytest.approx(np.log(joint.sum()))
    for nodes, mu in zip(tables, found.found, strict=True):
        rest = tuple(n for n in range(len(SIZES)) if n not in nodes)
        np.testing.assert_allclose(mu, 100.0 * joint.sum(axis=rest) / joint.sum())


def test_the_descent_finds_consistent_counts():
    rng = np.random.default_rng(1)
    joint = rng.gamma(0.5, 1.0, SIZES)
    joint *= 1000.0 / joint.sum()
    tables = GRAPHS["cycle"]
    measured = [Measured(nodes, joint.sum(axis=tuple(n for n in range(5) if n not in nodes)), 5.0) for nodes in tables]
    found = descend(JunctionTree(SIZES, tables, [], 1000.0), measured, 800)
    assert max(np.abs(mu - item.counts).max() for mu, item in zip(found.found, measured, strict=True)) < 2.0


def test_models_fitted_together_are_those_fitted_alone():
    """To what rounding leaves: sums of one table and of several may be added up in another order."""
    rng, tables = np.random.default_rng(6), GRAPHS["triple"]
    each = [
        [Measured(nodes, rng.gamma(0.5, 100.0, [SIZES[n] for n in nodes]), 5.0) for nodes in tables[1:]]
        for _ in range(4)
    ]
    tree = JunctionTree(SIZES, tables[1:], [], 1000.0)
    together = list(descend_all(tree, each, 60))
    for counts, found in zip(each, together, strict=True):
        alone = descend(tree, counts, 60)
        for one, two in zip(alone.found, found.found, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-6)
        for node in alone.mus:
            np.testing.assert_allclose(alone.mus[node], found.mus[node], rtol=1e-6)


def test_where_tables_form_loops_the_descent_begins_near_its_end(monkeypatch):
    """Five columns that nearly agree, all pairs counted. The wrong version begins with what all pairs show."""
    random, rows = np.random.default_rng(0), 20_000
    first = random.choice(6, rows, p=[0.6, 0.3, 0.06, 0.02, 0.01, 0.01])
    codes = [first, *(np.where(random.random(rows) < 0.05, random.permutation(first), first) for _ in range(4))]
    tables = [(node,) for node in range(5)] + list(itertools.combinations(range(5), 2))
    counts = [np.histogramdd([codes[n] for n in nodes], bins=[range(7)] * len(nodes))[0] for nodes in tables]
    tree = JunctionTree([6] * 5, tables, [], float(rows))
    noisy = [Measured(n, c + 10.0 * random.standard_normal(c.shape), 10.0) for n, c in zip(tables, counts, strict=True)]

    def off():
        found = descend(tree, noisy, 100).found
        return max(float(np.abs(one - true).max()) for one, true in zip(found, counts, strict=True))

    assert off() < 200.0
    monkeypatch.setattr(descent, "forest", lambda tree, counts: [True] * len(counts))
    assert off() > 4_000.0


def test_the_strongest_pairs_that_form_no_loop_are_begun_with():
    """A chain of three columns, of which the second has two levels: the weakest pair closes a loop through the levels."""
    strong, weak = np.diag([50.0, 50.0]), np.asarray([[30.0, 20.0], [20.0, 30.0]])
    link = Link((1, 2), np.eye(2))
    tree = JunctionTree([2] * 4, [(0,), (0, 1), (2, 3), (0, 3)], [link], 100.0)
    assert forest(tree, [strong.sum(axis=0), strong, strong, weak]) == [True, True, True, False]
    assert forest(tree, [strong.sum(axis=0), strong, weak, strong]) == [True, True, False, True]
    apart = JunctionTree([2] * 4, [(0,), (0, 1), (2, 3), (0, 3)], [], 100.0)
    assert all(forest(apart, [strong.sum(axis=0), strong, strong, weak]))


def test_a_fine_level_lies_within_its_coarse_one():
    fine, coarse = Grouping(np.asarray([0, 1, 2, 3]), 4), Grouping(np.asarray([0, 0, 1, 1]), 2)
    layout = Layout([[Grouping(np.arange(1), 1)], [coarse, fine]], [(1, 0), (1, 1)])
    tree = JunctionTree(layout.sizes, [(1,), (2,)], layout.links, 10.0)
    found = tree.run([np.log([1.0, 3.0]), np.log([1.0, 1.0, 1.0, 2.0])])
    np.testing.assert_allclose(found.found[1].reshape(2, 2).sum(axis=1), found.found[0])
    assert isinstance(layout.links[0], Link)


@pytest.mark.filterwarnings("error")
def test_a_first_value_beside_an_outcome_without_width_is_no_division_by_zero():
    edges = np.array([0.0, 0.25, 0.25, 0.5, 1.0])
    node = Node("x", 0, 4, edges=edges, step=0.25, share=np.full(4, 0.25))
    kept_apart(node, np.array([900.0, 0.0, 50.0, 50.0]), 10.0)


@pytest.mark.parametrize("is_ordered", [True, False])
def test_levels_are_nested(is_ordered):
    rng = np.random.default_rng(2)
    mass = rng.gamma(0.3, 1000.0, 40)
    edges = np.arange(41) / 40.0 if is_ordered else None
    levels = nested(Node("x", 0, 40, not is_ordered, edges), mass, 10.0, 64)
    assert [one.cells for one in levels] == sorted({one.cells for one in levels})
    for coarse, fine in itertools.pairwise(levels):
        np.testing.assert_array_equal(coarsen(fine, coarse)[fine.cell], coarse.cell)


@pytest.mark.parametrize(("most", "cells"), [(49, 32), (50, 50), (60, 50)])
def test_the_finest_level_has_all_values_where_there_is_room(most, cells):
    node = Node("x", 0, 50, False, np.arange(51) / 50.0)
    assert nested(node, np.full(50, 1000.0), 10.0, most)[-1].cells == cells


def test_rare_codes_share_a_cell_with_their_neighbours():
    """One common code among forty rare ones: the others in runs of the schema's order, each of which stands out."""
    mass = np.full(41, 30.0)
    mass[20] = 3000.0
    finest = nested(Node("x", 0, 41, True), mass, 100.0, 16)[-1]
    runs = np.delete(finest.cell, 20)
    assert finest.cells == 1 + 8 and (np.diff(runs) >= 0).all() and finest.cell[20] not in runs
    assert np.bincount(finest.cell, mass).min() > 100.0


def test_a_wrong_marginal_is_not_dependence():
    """Codes and a flag without dependence; the released marginal of the codes is wrong by half of the rows of one code."""
    true, believed = np.asarray([4000.0, 3000.0, 2000.0, 1000.0]), np.asarray([2000.0, 5000.0, 2000.0, 1000.0])
    flag = np.asarray([6000.0, 4000.0])
    nodes = [Node("codes", 0, 4, True), Node("flag", 4, 2, True)]
    groups = [[Grouping(np.arange(size), size)] for size in (1, 4, 2)]
    masses = [np.asarray([1e4]), believed, flag]
    columns = Columns(nodes, 1, 1e4, masses, [1.0, 1.0, 1.0], masses, groups, 20.0)
    exact = {(0,): true, (1,): flag, (0, 1): np.outer(true, flag) / 1e4}

    class Answers:
        def ask(self, purpose, question):
            pairs = zip(question.cliques, question.known, strict=True)
            return SimpleNamespace(value=np.asarray([np.abs(exact[c] - known).sum() for c, known in pairs]))

    found = ask_pairs(Answers(), columns, (1e-6, 1e-6), 1, {(1, 2): 1.0}, set())
    assert found.distances[1, 2] == 0.0
    assert np.abs(exact[0, 1] - np.outer(believed, flag) / 1e4).sum() == 4000.0  # what it looks like otherwise


def test_the_forecast_is_what_noise_does():
    """Against 2,000 draws of noise and projections onto the simplex; the mean's own deviation is below 0.2 %."""
    rng = np.random.default_rng(3)
    counts, noise = np.r_[np.zeros(60), rng.gamma(0.5, 100.0, 40)], 20.0
    errors = []
    for _ in range(2000):
        noisy = counts + rng.normal(0.0, noise, 100)
        low, high = -1000.0, 1000.0
        for _ in range(40):
            t = 0.5 * (low + high)
            low, high = (t, high) if np.maximum(noisy - t, 0.0).sum() > counts.sum() else (low, t)
        errors.append(np.abs(np.maximum(noisy - t, 0.0) - counts).sum())
    assert noise_errors(counts, np.asarray([noise]))[0] == pytest.approx(np.mean(errors), rel=0.05)


def test_chance_alone_shows_this_distance():
    """False failure: 6 deviations of a mean over 4,000 tables, below 1e-8."""
    expected = np.asarray([0.2, 1.0, 3.5, 40.0])
    drawn = np.random.default_rng(4).poisson(expected, (4000, 4))
    seen = np.abs(drawn - expected).sum(axis=1)
    assert abs(seen.mean() - sampling_distance(expected)) < 6.0 * seen.std() / 4000**0.5


def pairs_of(distance):
    levels = [[Grouping(np.arange(1), 1)], *([Grouping(np.arange(4), 4)] for _ in range(3))]
    even = np.full((4, 4), 1000.0 / 16.0)
    found = Pairs([], {}, {})
    for pair in ((1, 2), (1, 3), (2, 3)):
        found.candidates.append(Candidate(pair, (0, 0), even, 0.0, 1.0))
        found.distances[pair] = distance
        found.relative.update(dict.fromkeys((pair, pair[::-1]), distance / 1500.0))
    base = [Candidate((n,), (0,), even.sum(axis=0), 0.0, 1.0) for n in (1, 2, 3)]
    return levels, base, found


@pytest.mark.parametrize(("distance", "sigma", "chosen"), [(600.0, 2.0, 3), (600.0, 200.0, 0), (5.0, 20.0, 0)])
def test_pairs_are_chosen_where_they_are_worth_their_noise(distance, sigma, chosen):
    levels, base, found = pairs_of(distance)
    selection = Selection(levels, base, sigma, 10_000)
    selection.run(found)
    assert len(selection.chosen) == chosen
    assert sum(one.budget for one in selection.tables()) == pytest.approx(1.0)


def test_an_industry_stands_for_its_sector_and_not_the_other_way_round():
    """Node 1 determines node 2, which says half of it; what pairs with node 3 are worth follows."""
    levels, base, found = pairs_of(600.0)
    found.relative[1, 2], found.relative[2, 1] = 1.0, 0.5**0.5
    selection = Selection(levels, base, 2.0, 10_000)
    selection.distances, selection.relative = found.distances, found.relative
    pairs = {one.nodes: one for one in found.candidates}
    selection.chosen[1, 2] = pairs[1, 2]
    selection.connect(pairs[1, 2])
    assert selection.stands_for[1, 2] == 1.0 and selection.stands_for[2, 1] == pytest.approx(0.5)
    selection.chosen[1, 3] = pairs[1, 3]
    selection.connect(pairs[1, 3])
    assert selection.residual((2, 3)) == pytest.approx(0.0)
    del selection.chosen[1, 3]
    selection.chosen[2, 3] = pairs[2, 3]
    selection.connect(pairs[2, 3])
    assert selection.residual((1, 3)) == pytest.approx(300.0)


def test_a_tree_keeps_to_its_cells():
    levels, base, found = pairs_of(600.0)
    selection = Selection(levels, base, 2.0, 30)
    selection.run(found)
    assert len(selection.chosen) == 1 and selection.cells_with() <= 30
    assert set(selection.chosen) | set(selection.beside) == set(
        found.distances
    )  # what has no room there is counted beside it
    assert [one.beside for one in selection.tables()] == [False] * 4 + [True] * 2
    assert sum(one.budget for one in selection.tables()) == pytest.approx(1.0)


def test_draws_have_the_right_shares_with_little_chance():
    """2,000 rows of each of two parents: every count within 2 of its expectation, where independent draws stray by 20."""
    table = np.asarray([0.1, 0.4, 1.0, 0.7, 0.9, 1.0])
    given = np.random.default_rng(5).permutation(np.repeat([0, 1], 2000))
    uniform = evenly(given, words(np.random.default_rng(0), 1, more=1)[0])
    cell = search(table, given * 3, 3, uniform, 3)
    for parent, shares in enumerate(([0.1, 0.3, 0.6], [0.7, 0.2, 0.1])):
        counts = np.bincount(cell[given == parent], minlength=3)
        assert np.abs(counts - 2000.0 * np.asarray(shares)).max() <= 3.0
    order = np.argsort(uniform)
    assert abs(np.corrcoef(np.arange(4000), order)[0, 1]) < 0.1  # nothing is left of the order of rows


def test_a_search_finds_every_cell_and_never_passes_the_last():
    for width in (1, 2, 3, 8, 9):
        table = np.arange(1, width + 1) / width
        uniform = (np.arange(width) + 0.5) / width
        found = search(np.r_[0.5, table], np.ones(width, int), width, uniform, width)
        np.testing.assert_array_equal(found, np.arange(width))


def test_an_outermost_value_of_many_rows_stays_alone_at_every_level():
    """A tenth of the rows at 0, the others spread over 1 to 99: the coarsest level has a cell for 0. Without so many at 0 it
    would share one with its neighbours."""
    node = Node("x", 0, 100, edges=(np.arange(101) - 0.5) / 99.0, step=1.0 / 99.0, share=np.full(100, 0.01))
    for first, alone in ((1_000.0, True), (150.0, False)):
        mass = np.r_[first, np.full(99, 90.0)]
        coarsest = nested(node, mass, 20.0, 64)[0]
        assert coarsest.cells == 4 and ((coarsest.cell == 0).sum() == 1) == alone
