"""Estimation and drawing, against a brute-force model and against mbi."""

import itertools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.generators.marginal_model import MarginalGenerator
from understudy.recipes.cells import Conditional, Grouping, Node, assemble, cumulative, group
from understudy.recipes.tree import Measured, Tree, descend, fit_tree, misfit, root_tree, starting_point

SIZES = [2, 3, 4, 2, 3]  # class and four columns
PAIRS = [(0, 1, 2), (0, 2, 3), (0, 1, 4)]
TOTAL = 1000.0


def measurements(seed=0, noise=5.0):
    """Noisy marginals of a random table; the pairs do not quite fit together."""
    rng = np.random.default_rng(seed)
    joint = rng.gamma(0.5, 1.0, SIZES)
    joint *= TOTAL / joint.sum()
    cliques = [(0,), *((0, node) for node in range(1, 5)), *PAIRS]
    axes = range(len(SIZES))
    return [
        Measured(c, joint.sum(axis=tuple(set(axes) - set(c))) + rng.normal(0, noise, [SIZES[n] for n in c]), noise)
        for c in cliques
    ]


def fitted(measured, steps=3000):
    tree = Tree(SIZES, root_tree(4, PAIRS), TOTAL)
    potentials = descend(tree, measured, starting_point(tree, measured), steps)
    return tree, potentials


def test_messages_give_the_marginals_of_the_whole_product():
    tree = Tree(SIZES, root_tree(4, PAIRS), TOTAL)
    rng = np.random.default_rng(2)
    potentials = [rng.normal(size=tree.shape(edge)) for edge in tree.edges]
    joint = np.zeros(SIZES)
    for cell in itertools.product(*map(range, SIZES)):
        for edge, theta in zip(tree.edges, potentials, strict=True):
            joint[cell] += theta[cell[0], cell[edge.parent] if edge.parent else 0, cell[edge.child]]
    joint = TOTAL * np.exp(joint) / np.exp(joint).sum()
    for edge, mu in zip(tree.edges, tree.marginals(potentials)[0], strict=True):
        kept = (0, edge.parent, edge.child) if edge.parent else (0, edge.child)
        axes = {"abcde"[node]: node for node in kept}
        expected = np.einsum("abcde->" + "".join(axes), joint)
        assert np.allclose(mu.reshape(expected.shape), expected)


def test_the_gradient_is_that_of_the_loss():
    """Mirror descent steps along the slope with respect to mu: compared with finite differences."""
    tree, measured = Tree(SIZES, root_tree(4, PAIRS), TOTAL), measurements()
    mus, _ = tree.marginals(starting_point(tree, measured))
    loss, gradient = misfit(tree, measured, mus)
    for number, place in ((0, (0, 0, 1)), (1, (1, 2, 1)), (3, (0, 1, 0))):
        moved = [mu.copy() for mu in mus]
        moved[number][place] += 1e-4
        assert (misfit(tree, measured, moved)[0] - loss) / 1e-4 == pytest.approx(gradient[number][place], rel=1e-3)


def test_the_fit_is_as_good_as_mbi():
    """mbi minimises the same loss over the same models; neither may be better by more than 1 %."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mbi
    measured = measurements()
    domain = mbi.Domain(tuple("abcde"), tuple(SIZES))
    clique_of = lambda clique: tuple("abcde"[node] for node in clique)  # noqa: E731
    theirs = [mbi.LinearMeasurement(m.counts.ravel(), clique_of(m.clique), stddev=m.deviation) for m in measured]
    with jax.enable_x64(True):
        oracle = mbi.marginal_oracles.message_passing_stable
        model = mbi.estimation.MirrorDescent(marginal_oracle=oracle).estimate(
            domain, theirs, known_total=TOTAL, iters=3000
        )
        held = {m.clique: np.asarray(model.project(clique_of(m.clique)).datavector(flatten=False)) for m in measured}
    peer = sum(((held[m.clique] - m.counts) ** 2).sum() / (2 * m.deviation**2) for m in measured)
    tree, potentials = fitted(measured)
    mus, _ = tree.marginals(potentials)
    assert misfit(tree, measured, mus)[0] == pytest.approx(peer, rel=0.01)
    worst = max(float(np.abs(mu.reshape(-1).sum() - TOTAL)) for mu in mus)
    assert worst < 1e-6


def test_drawn_rows_follow_the_model():
    """20,000 rows: a share is off by 0.02 (more than 5 standard deviations) with probability below 1e-6."""
    measured = measurements(noise=1.0)
    drawn = fit_tree(SIZES, measured, TOTAL, 500)
    nodes = [Node(f"x{i}", 0, size, onehot=True) for i, size in enumerate(SIZES[1:])]
    groups = [Grouping(np.arange(size), size) for size in SIZES[1:]]
    network = assemble(nodes, groups, [np.ones(size) for size in SIZES[1:]], drawn)
    rows, cells = network.table.shape
    places = [(node + 1, code) for node, size in enumerate(SIZES[1:]) for code in range(size)]
    owner, codes = (tuple(part) for part in zip(*places, strict=True))
    generator = MarginalGenerator(owner, codes, network.parents.shape[1], rows, cells, *network.inner.shape)
    state = generator.init(jax.random.key(0), network)
    classes = jnp.asarray(np.repeat([0, 1], 10_000))
    row = np.asarray(jax.jit(generator.sample)(generator.sampler(state), classes, jax.random.key(1, impl="rbg")))
    starts = np.cumsum([0, *SIZES[1:]])
    cell = [row[:, starts[i] : starts[i + 1]].argmax(axis=1) for i in range(4)]
    tree, potentials = fitted(measured, 500)
    mus, _ = tree.marginals(potentials)
    for edge, mu in zip(tree.edges, mus, strict=True):
        if not edge.parent:
            continue
        for own in (0, 1):
            pick = np.asarray(classes) == own
            seen = np.histogram2d(cell[edge.parent - 1][pick], cell[edge.child - 1][pick], bins=mu.shape[1:])[0]
            assert np.abs(seen / pick.sum() - mu[own] / mu[own].sum()).max() < 0.02


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
    edges = root_tree(4, [(0, 2, 3)])
    assert {(edge.child, edge.parent) for edge in edges} == {(1, 0), (2, 0), (3, 2), (4, 0)}
    measured = [item for item in measurements() if len(item.clique) < 3]
    assert all(isinstance(step, Conditional) and step.parents == (0,) for step in fit_tree(SIZES, measured, TOTAL, 20))
