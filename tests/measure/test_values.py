"""Numbers with a known number of decimals, and categories with thousands of values."""

from dataclasses import replace

import numpy as np
import pytest

from understudy.measure.cells import Grouping, Node, make_nodes, recut, single_values, value_count, value_step
from understudy.measure.grouping import drawable, group
from understudy.methods.clique_tree.assemble import outcomes_of
from understudy.methods.clique_tree.levels import nested
from understudy.schema import Codec, Column, Schema


def continuous(upper, decimals, lower=0.0):
    return Column(name="x", kind="continuous", lower=lower, upper=upper, decimals=decimals)


def test_decimals_say_how_far_apart_values_are():
    assert value_step(continuous(100.0, 1)) == pytest.approx(0.001)
    assert value_count(continuous(2.0, 1)) == 21 and value_count(continuous(100.0, 1)) == 0
    assert value_step(continuous(100.0, None)) == 0.0
    assert value_step(continuous(100.05, 1)) == 0.0  # a bound between two values
    assert value_step(continuous(1e9, 2)) == 0.0  # more values than 32-bit numbers can tell apart


def test_spikes_between_decimals_become_single_values():
    """Six numbers, as a density that is one of six: after two cuts nearly every row is in a cell of one value."""
    schema = Schema(columns=(continuous(4000.0, 0, 1000.0),))
    (node,) = make_nodes(Codec(schema))
    values = (np.asarray([1457, 1690, 2049, 2802, 3001, 3683]) - 1000) / 3000.0
    for _ in range(2):
        counts = np.histogram(np.repeat(values, 1000), node.edges)[0].astype(float)
        node = recut(node, counts, 200)
    held = np.histogram(values, node.edges)[0] > 0
    assert (single_values(node.edges, node.step) & held).sum() >= 5
    base, span = node.interval()
    assert np.abs(np.sort((base + 0.5 * span)[held]) - values).max() < 1e-3


@pytest.mark.parametrize("size", [3000, 20_000])
def test_rare_categories_are_merged_for_pairs_and_drawn_back_by_their_own_counts(size):
    random = np.random.default_rng(0)
    mass = 50_000.0 / np.arange(1, size + 1) ** 1.1
    node = Node("x", 0, size, True)
    noisy = np.maximum(mass + random.normal(0.0, 5.0, size), 0.0)
    finest = nested(node, noisy, 10.0, 256)[-1]
    old = group(node, noisy, 16, 5.0)
    for grouping in (finest, old):
        assert isinstance(grouping, Grouping) and grouping.cells <= 256
        rest = np.bincount(grouping.cell)[grouping.cell] > 1
        assert rest.sum() > size - 300 and mass[rest].max() < mass[~rest].min() * 1.5
    length, inner, code, *_ = outcomes_of(node, finest, noisy)
    assert length.sum() == size and sorted(code.tolist()) == list(range(size))
    last = np.diff(inner[-int(length[-1]) :], prepend=0.0)
    own = noisy[code[-int(length[-1]) :]]
    own = own + 1e-3 * max(noisy.mean(), 1.0)  # every category stays possible
    np.testing.assert_allclose(last, own / own.sum(), atol=1e-9)


def test_noise_in_a_cell_without_rows_is_drawn_beside_the_rows():
    """And not anywhere up to a far bound, where one row in a hundred is more than all others add up to."""
    node = Node("x", 0, 5, edges=np.array([0.0, 0.001, 0.002, 0.01, 0.1, 1.0]), share=np.full(5, 0.2))
    grouping = Grouping(np.array([0, 0, 1, 1, 1]), 2)
    assert drawable(node, grouping, np.array([5.0, 7.0, 0.0, 0.0, 0.0])).tolist() == [5.0, 7.0, 1.0, 0.0, 0.0]
    missing = replace(node, missing=9)
    assert drawable(missing, Grouping(np.array([2, 1, 1, 1, 0, 0]), 3), np.array([3.0, 0, 0, 0, 0, 4.0])).tolist() == [
        *(3.0, 0.0, 0.0, 1.0, 0.0, 4.0)
    ]
    assert drawable(node, grouping, np.zeros(5)).tolist() == [0.0] * 5
    assert drawable(replace(node, share=None), grouping, np.r_[1e3, np.zeros(4)]).min() > 0.0
