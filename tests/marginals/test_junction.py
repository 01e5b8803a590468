"""Estimation and drawing, against a brute-force model and against mbi."""

import itertools
import random
import warnings

import jax
import numpy as np
import pytest

from understudy.measure.cells import Grouping, Node
from understudy.measure.grouping import cumulative, group
from understudy.methods.marginals.assemble import assemble
from understudy.methods.marginals.generator import MarginalGenerator
from understudy.methods.marginals.junction import Graph, Measured, Model, all_pairs, merge, misfit, tables

SIZES = [2, 3, 4, 2, 3]  # class and four columns
TREE = [(0, 1, 2), (0, 2, 3), (0, 1, 4)]
LOOP = [(0, 1, 2), (0, 2, 3), (3, 4), (0, 1, 4)]  # a cycle of four columns, one of its pairs without the class
TOTAL = 1000.0
AXES = range(len(SIZES))


def measurements(pairs, seed=0, noise=5.0):
    """Noisy marginals of a random table; they do not quite fit together."""
    rng = np.random.default_rng(seed)
    joint = rng.gamma(0.5, 1.0, SIZES)
    joint *= TOTAL / joint.sum()
    cliques = [(0,), *((0, node) for node in range(1, 5)), *pairs]
    return [
        Measured(c, joint.sum(axis=tuple(set(AXES) - set(c))) + rng.normal(0, noise, [SIZES[n] for n in c]), noise)
        for c in cliques
    ]


def model_of(pairs, **options):
    model = Model(SIZES, TOTAL)
    model.add(measurements(pairs, **options))
    return model


def whole(model):
    """The product of all tables, cell by cell."""
    joint = np.zeros(SIZES)
    for cell in itertools.product(*map(range, SIZES)):
        joint[cell] = sum(table[tuple(cell[node] for node in clique)] for clique, table in model.theta.items())
    return TOTAL * np.exp(joint) / np.exp(joint).sum()


@pytest.mark.parametrize("pairs", [TREE, LOOP])
def test_messages_give_the_marginals_of_the_whole_product(pairs):
    model = model_of(pairs)
    rng = np.random.default_rng(2)
    model.theta = {clique: rng.normal(size=table.shape) for clique, table in model.theta.items()}
    joint, beliefs = whole(model), model.beliefs()
    for clique in model.theta:
        assert np.allclose(beliefs.marginal(clique), joint.sum(axis=tuple(set(AXES) - set(clique))))
    every = all_pairs(beliefs)
    assert sorted(every) == [(0, a, b) for a in range(1, 5) for b in range(a + 1, 5)]
    for clique, found in every.items():
        assert np.allclose(found, joint.sum(axis=tuple(set(AXES) - set(clique))))


def test_the_gradient_is_that_of_the_loss():
    """Mirror descent steps along the slope with respect to mu: compared with finite differences."""
    measured = measurements(TREE)
    model = model_of(TREE)
    beliefs = model.beliefs()
    loss, slope = misfit(measured, beliefs)
    for clique, place in (((0, 1, 2), (0, 0, 1)), ((0, 2, 3), (1, 2, 1))):
        item = next(item for item in measured if item.clique == clique)
        counts = item.counts.copy()
        counts[place] -= 1e-4  # as good as raising mu
        moved = [item._replace(counts=counts) if other is item else other for other in measured]
        assert (misfit(moved, beliefs)[0] - loss) / 1e-4 == pytest.approx(slope[clique][place], rel=1e-3)


@pytest.mark.parametrize("pairs", [TREE, LOOP])
def test_the_fit_is_as_good_as_mbi(pairs):
    """mbi minimises the same loss over the same models; neither may be better by more than 1 %."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mbi
    measured = measurements(pairs)
    domain = mbi.Domain(tuple("abcde"), tuple(SIZES))
    clique_of = lambda clique: tuple("abcde"[node] for node in clique)  # noqa: E731
    theirs = [mbi.LinearMeasurement(m.counts.ravel(), clique_of(m.clique), stddev=m.deviation) for m in measured]
    with jax.enable_x64(True):
        oracle = mbi.marginal_oracles.message_passing_stable
        peer = mbi.estimation.MirrorDescent(marginal_oracle=oracle).estimate(
            domain, theirs, known_total=TOTAL, iters=3000
        )
        held = {m.clique: np.asarray(peer.project(clique_of(m.clique)).datavector(flatten=False)) for m in measured}
    theirs = sum(((held[m.clique] - m.counts) ** 2).sum() / (2 * m.deviation**2) for m in measured)
    model = model_of(pairs)
    beliefs = model.descend(3000)
    assert misfit(measured, beliefs)[0] == pytest.approx(theirs, rel=0.01)
    assert all(mu.sum() == pytest.approx(TOTAL) for mu in beliefs.mus.values())


def test_counts_of_the_same_marginal_are_averaged_by_their_precision():
    one, other = Measured((0, 1), np.full((2, 3), 10.0), 1.0), Measured((0, 1), np.full((2, 3), 20.0), 2.0)
    (found,) = merge([one, other])
    assert np.allclose(found.counts, 12.0)
    assert found.deviation == pytest.approx(0.8**0.5)


def test_the_cells_of_a_larger_model_are_known_before_it_is_built():
    """300 random graphs: the size foretold for one more pair is the size of the graph that holds it."""
    rng = random.Random(0)
    for _ in range(300):
        count = rng.randint(3, 9)
        sizes = [2, *(rng.randint(2, 5) for _ in range(count))]
        cliques = [(0, node) for node in range(1, count + 1)]
        cliques += [(0, *sorted(rng.sample(range(1, count + 1), 2))) for _ in range(rng.randint(0, 2 * count))]
        graph = Graph(sizes, cliques)
        a, b = rng.sample(range(1, count + 1), 2)
        assert graph.cells_with(a, b) == Graph(sizes, [*cliques, (a, b)], graph.order).cells
        for clique in cliques:
            home = graph.home(clique)
            assert set(clique) <= set(graph.scope[home])


@pytest.mark.parametrize("pairs", [TREE, LOOP])
def test_drawn_rows_follow_the_model(pairs):
    """20,000 rows: a share is off by 0.02 (more than 5 standard deviations) with probability below 1e-6."""
    model = model_of(pairs, noise=1.0)
    beliefs = model.descend(300)
    nodes = [Node(f"x{i}", 0, size, onehot=True) for i, size in enumerate(SIZES[1:])]
    groups = [Grouping(np.arange(size), size) for size in SIZES[1:]]
    network = assemble(nodes, groups, [np.ones(size) for size in SIZES[1:]], tables(beliefs))
    rows, cells = network.table.shape
    places = [(node + 1, code) for node, size in enumerate(SIZES[1:]) for code in range(size)]
    owner, codes = (tuple(part) for part in zip(*places, strict=True))
    generator = MarginalGenerator(owner, codes, network.parents.shape[1], rows, cells, *network.inner.shape)
    state = generator.init(jax.random.key(0), network)
    classes = np.repeat([0, 1], 10_000)
    drawn = generator.columns(generator.sampler(state))(classes, np.random.default_rng(1))
    cell = [column.code for column in drawn]
    joint = whole(model)
    for own in (0, 1):
        pick = classes == own
        for a, b in itertools.combinations(range(4), 2):
            seen = np.histogram2d(cell[a][pick], cell[b][pick], bins=(SIZES[a + 1], SIZES[b + 1]))[0]
            expected = joint[own].sum(axis=tuple(set(range(4)) - {a, b}))
            assert np.abs(seen / pick.sum() - expected / expected.sum()).max() < 0.02


def test_a_cell_without_weight_is_never_drawn_and_padding_is_never_reached():
    table = cumulative(np.array([[0.0, 2.0, 2.0, 0.0], [0.0, 0.0, 0.0, 0.0]]), 6)
    assert table[0].tolist() == [0.0, 0.5, 1.0, 1.0, 1.0, 1.0]
    assert table[1].tolist() == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]


def test_groups_hold_every_outcome_once():
    listed = Node("a", 0, 10, onehot=True)
    found = group(listed, np.array([100, 0, 0, 90, 0, 80, 0, 0, 1, -5.0]), 4, 5.0)
    assert found.cells == 4
    assert found.cell[[0, 3, 5]].tolist() == [0, 1, 2]
    assert set(found.cell[[1, 2, 4, 6, 7, 8, 9]]) == {3}
    ordered = Node("b", 0, 8, edges=np.linspace(0, 1, 9), missing=1)
    found = group(ordered, np.array([50, 10, 10, 10, 10, 10, 10, 10, 10.0]), 4, 1.0)
    assert found.cell.tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert found.cells == 5


def test_columns_that_no_pair_reaches_hang_on_the_class():
    model = Model(SIZES, TOTAL)
    model.add([item for item in measurements(TREE) if len(item.clique) < 3])
    drawn = tables(model.descend(20))
    assert sorted(step.node for step in drawn) == [1, 2, 3, 4]
    assert all(step.parents == (0,) for step in drawn)
