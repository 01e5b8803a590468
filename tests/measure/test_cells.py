"""Cells: where they are cut, which hold a single value, how they are grouped, tails."""

import numpy as np
import pytest

from understudy.measure.cells import (
    Grouping,
    Node,
    distribution,
    estimate,
    first_edges,
    interval_count,
    recut,
    single_values,
    snap,
    with_edges,
)
from understudy.measure.grouping import cell_map, group, neighbours
from understudy.measure.marginals import released_marginals
from understudy.measure.tails import with_tails
from understudy.private.mapping import Block, apply


def counted(node: Node, values: np.ndarray) -> np.ndarray:
    rows = np.asarray(values, np.float32)[:, None]
    cell = apply(cell_map([node], None), Block(rows, np.zeros(len(rows), np.int32)))[:, 1]
    return np.bincount(cell, minlength=node.size).astype(float)


def column(step: float = 0.0, zero: float | None = None) -> Node:
    return with_edges(Node("x", 0, 0, edges=np.zeros(1), step=step), first_edges(step, zero))


def test_missing_values_are_an_outcome_of_their_own() -> None:
    rows = np.array([[0.5, 1.0], [0.5, 0.0]], np.float32)
    node = Node("x", 0, 2, edges=np.array([0.0, 0.4, 1.0]), missing=1)
    assert apply(node.cell(None), Block(rows, np.zeros(2, np.int32))).tolist() == [[0], [2]]


def test_whole_numbers_are_cut_half_way_and_held_alone() -> None:
    np.testing.assert_allclose(
        snap(np.array([0.0, 0.0101, 0.0102, 0.5, 1.0]), 0.001), [-0.0005, 0.0005, 0.0105, 0.5005, 1.0005]
    )
    edges = snap(np.linspace(0, 1, 9), 1.0 / 3.0)
    assert single_values(edges, 1.0 / 3.0).all()
    base, span = Node("x", 0, 4, edges=edges, step=1.0 / 3.0).interval()
    np.testing.assert_allclose(base, np.arange(4) / 3.0)
    assert not span.any()


def test_bounds_and_zero_are_cells_of_their_own() -> None:
    """The 32-bit numbers 0, 1/3 and 1, and their neighbours, which are in other cells; drawn rows have the value itself."""
    zero = np.float32(1.0 / 3.0)
    node = column(zero=1.0 / 3.0)
    for value in (np.float32(0.0), zero, np.float32(1.0)):
        close = [v for v in (np.nextafter(value, np.float32(2)), np.nextafter(value, np.float32(-1))) if 1e-12 < v <= 1]
        own, *others = (int(np.flatnonzero(counted(node, np.array([v])))[0]) for v in (value, *close))
        assert own not in others
        base, span = node.interval()
        assert span[own] == 0.0 and np.float32(base[own]) == value


def test_a_value_many_rows_share_becomes_a_cell_of_its_own() -> None:
    """Half of the rows at 40 of 1..99, the others anywhere: after two cuts 40 is alone, as is every number once cells suffice."""
    rng = np.random.default_rng(0)
    values = np.where(rng.random(20_000) < 0.5, 39, rng.integers(0, 99, 20_000)) / 98.0
    for intervals, all_single in ((24, False), (99, True)):
        node = column(step=1.0 / 98.0)
        for _ in range(2):
            node = recut(node, counted(node, values), intervals)
        base, span = node.interval()
        assert np.isclose(base[span == 0.0] * 98.0, 39.0).any()
        assert (span == 0.0).all() == all_single
        assert node.size <= intervals + 2


def test_a_column_of_few_numbers_ends_with_these_numbers() -> None:
    """Five of 22,271 numbers with noise of 60 on every count: after two cuts each is alone. Seeded."""
    rng, step = np.random.default_rng(0), 1.0 / 22_270
    numbers = np.asarray([2.0, 7_383.0, 9_901.0, 14_157.0, 22_269.0]) * step
    values, node = np.repeat(numbers, [1300, 2300, 1200, 1500, 1300]), column(step=step)
    for _ in range(2):
        node = recut(node, estimate(node, counted(node, values) + rng.normal(0.0, 60.0, node.size), 60.0, 7_600.0), 22)
    base, span = node.interval()
    single, mass = span == 0.0, counted(node, values)
    assert node.size <= 200 and mass[single].sum() == len(values)
    np.testing.assert_allclose(np.sort(base[single & (mass > 0)]), numbers, atol=0.1 * step)


def test_recut_finds_a_narrow_column_in_wide_bounds() -> None:
    """A standard normal within bounds of +-1,000: after two cuts the middle cells are narrower than a standard deviation."""
    values = np.random.default_rng(0).normal(size=20_000) / 2_000 + 0.5
    node = column()
    for _ in range(3):
        node = recut(node, counted(node, values), 32)
        assert node.share is not None and round(node.share.sum(), 9) in (0.0, 1.0)  # 0: only looked at more closely
        assert node.edges is not None and (np.diff(node.edges) > 0.0).all()
    assert np.sort(np.diff(node.edges))[:20].max() < 1.0 / 2_000


def test_cells_up_to_far_bounds_grow_from_narrow_to_wide() -> None:
    """The same column: of rows beyond the outermost quantile few lie in a cell that is wide. (With one cell up to the bound
    3 % of the rows would be drawn evenly from up to +-1,000.)"""
    values = np.random.default_rng(0).normal(size=20_000) / 2_000 + 0.5
    node = column()
    for _ in range(3):
        node = recut(node, counted(node, values), 32)
    assert node.edges is not None
    far = np.diff(node.edges) > 10.0 / 2_000
    assert counted(node, values)[far].sum() / len(values) < 1e-3


def test_cells_grow_with_rows_and_budget() -> None:
    assert interval_count(40_000.0, 16.0) == 100
    assert interval_count(40_000.0, 4.0) == 200 == interval_count(40_000.0, 0.16)
    assert interval_count(700.0, 100.0) == 5
    assert interval_count(0.0, 1e9) == 4


def test_counts_are_believed_only_above_their_noise() -> None:
    node = Node("x", 0, 4, edges=np.linspace(0, 1, 5), share=np.full(4, 0.25))
    np.testing.assert_allclose(
        estimate(node, np.array([400.0, 100.0, 300.0, 200.0]), 1.0, 1_000.0), [400, 100, 300, 200], rtol=0.01
    )
    drowned = estimate(node, np.array([400.0, 100.0, 300.0, 200.0]), 1e3, 1_000.0)
    np.testing.assert_allclose(drowned, 250.0, atol=10.0)


def test_where_values_are_cells_of_their_own_no_noise_is_believed_far_out() -> None:
    """Values 0 to 60 one by one, and a cell up to a far bound that holds two deviations of noise. What looks at cells of several
    values alone finds the empty one usual."""
    step = 1e-6
    edges = np.r_[(np.arange(62) - 0.5) * step, 1.0 + 0.5 * step]
    node = Node("x", 0, 62, edges=edges, step=step, share=np.r_[np.full(61, 1.0 / 61.0), 0.0])
    counts = np.r_[np.full(61, 100.0), 20.0]
    assert estimate(node, counts, 10.0, 6_120.0)[-1] == 0.0
    assert estimate(node, np.r_[counts[:-1], 60.0], 10.0, 6_160.0)[-1] > 30.0


def test_no_noise_is_believed_beyond_an_empty_range() -> None:
    """The bound itself and narrow cells beside it, far from the rows: together they have to stand out, or one of them."""
    edges = np.r_[0.0, 0.01, 0.02, 0.03, 0.04, 0.97, 0.98, 0.99, 1.0]
    node = Node("x", 0, 8, edges=edges, share=np.r_[np.full(4, 0.25), np.zeros(4)])

    def beyond(*counts: float) -> float:
        return float(estimate(node, np.r_[np.full(4, 300.0), 5.0, counts], 10.0, 1_200.0)[5:].sum())

    assert beyond(25.0, -10.0, 20.0) == 0.0
    assert beyond(80.0, -10.0, 0.0) > 60.0 and beyond(30.0, 30.0, 30.0) > 60.0
    turned = estimate(node, np.r_[-40.0, 20.0, 15.0, 10.0, 5.0, 2_000.0, 0.0, 0.0], 10.0, 2_000.0)
    assert turned[5] > 1_900.0 and turned[:4].sum() == 0.0  # most of the rows may lie at either end


def test_half_of_the_rows_at_a_bound_do_not_make_noise_of_the_other_half() -> None:
    """Sixty narrow cells of 40 rows with noise of 100, an empty cell beside the bound, and half of the rows on it."""
    edges = np.r_[0.0, 1e-30, np.linspace(1e-3, 1.3e-3, 61), 1.0]
    rest = np.r_[0.5, 0.0, np.full(60, 0.5 / 60), 0.0]
    node = Node("x", 0, 63, edges=edges, share=np.zeros(63), rest=rest)
    noise = np.random.default_rng(0).normal(0.0, 100.0, 60)
    counts = np.r_[2_500.0, 20.0, 40.0 + noise - noise.mean(), 30.0]
    assert estimate(node, counts, 100.0, 4_900.0)[2:62].sum() > 2_000.0


def test_wide_cells_that_hold_rows_together_are_no_empty_range() -> None:
    """A tail of 25 rows in each of nine wide cells with noise of 10, two and a half deviations, and nothing beyond it."""
    edges = np.r_[np.linspace(0.0, 0.01, 11), np.linspace(0.1, 1.0, 10)]
    node = Node("x", 0, 20, edges=edges, share=np.r_[np.full(10, 0.08), np.full(10, 0.02)])
    tail = estimate(node, np.r_[np.full(10, 100.0), np.full(10, 25.0)], 10.0, 1_250.0)[10:]
    assert tail.sum() > 200.0
    half = estimate(node, np.r_[np.full(10, 100.0), np.full(5, 25.0), -5.0, 5.0, -8.0, 8.0, 0.0], 10.0, 1_125.0)[10:]
    assert half[:5].sum() > 90.0 and half[6:].sum() == 0.0


@pytest.mark.parametrize("zeros", [0, 1_500])
def test_few_rows_in_bounds_a_thousand_times_as_wide_stay_together(zeros: int) -> None:
    """1,500 costs of about 700 in bounds up to 1,000,000, as noisy as at epsilon 1, alone or beside as many zeros. Narrow cells
    to show a few numbers show nothing here, as there are none; the rows are where they were seen before. Forty seeds."""
    far, last = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        values, node = np.r_[np.zeros(zeros), rng.exponential(7e-4, 1_500)], column()
        for noise in (67.0, 67.0):
            node = recut(
                node, estimate(node, counted(node, values) + rng.normal(0.0, noise, node.size), noise, 1_500.0), 12
            )
        mass = estimate(node, counted(node, values) + rng.normal(0.0, 37.0, node.size), 37.0, 1_500.0 + zeros)
        assert node.edges is not None
        middle = 0.5 * (node.edges[1:] + node.edges[:-1])
        far.append(mass[middle > 0.02].sum() / mass.sum())
        last.append(mass[-1] / mass.sum())
    assert np.mean(far) < 0.002 and max(far) < 0.05 and max(last) == 0.0


def test_categories_add_up_to_the_rows() -> None:
    """Two hundred codes of ten rows beside one of three thousand, noise of 60: they add up. Seeded."""
    true = np.r_[3_000.0, np.full(200, 10.0)]
    noisy = true + np.random.default_rng(0).normal(0.0, 60.0, 201)
    found = estimate(Node("x", 0, 201, onehot=True), noisy, 60.0, 5_000.0)
    assert found.min() >= 0.0 and found.sum() == pytest.approx(5_000.0)
    assert abs(found[0] - 3_000.0) < 200.0


def test_few_values_stay_themselves_and_many_are_merged_around_the_heavy_ones() -> None:
    """The rule by mass alone put sixteen values into seven cells whatever the budget."""
    mass = np.array([1, 2, 3, 5, 5, 8, 10, 15, 320, 220, 40, 30, 160, 50, 20, 12], float)
    node = Node("education-num", 0, 16, edges=(np.arange(17) - 0.5) / 15.0, step=1.0 / 15.0)
    assert group(node, mass, 16, 1.0).cells == 16
    cell = neighbours(mass, 7)
    assert cell.max() <= 6 and (np.diff(cell) >= 0).all()
    assert (cell == cell[8]).sum() <= 2 and cell[9] != cell[8] and cell[12] not in (cell[9], cell[8])


def test_tails_are_short_in_wide_bounds_and_left_alone_in_tight_ones() -> None:
    edges, mass = with_tails(np.array([0.0, 0.49, 0.5, 0.51, 1.0]), np.array([0.01, 0.49, 0.49, 0.01]), 0.0)
    share = np.concatenate([[0.0], np.cumsum(mass)])
    assert (np.diff(edges) >= 0).all() and (mass >= 0).all() and mass.sum() == pytest.approx(1.0)
    drawn = np.interp(np.linspace(0, 1, 100_001), share, edges)
    assert np.quantile(drawn, 0.001) > 0.47 and drawn.std() < 0.02
    tight, same = with_tails(np.linspace(0, 1, 5), np.full(4, 0.25), 0.0)
    np.testing.assert_allclose((tight, np.r_[0, same]), (np.linspace(0, 1, 5), [0, 0.25, 0.25, 0.25, 0.25]))


def test_distribution_functions_hold_atoms_and_rates() -> None:
    numeric, town = column(), Node("town", 1, 3, onehot=True)
    numeric = recut(numeric, counted(numeric, np.r_[np.zeros(200), np.linspace(0.01, 0.99, 700), np.ones(100)]), 16)
    mass = counted(numeric, np.r_[np.zeros(200), np.linspace(0.01, 0.99, 700), np.ones(100)])
    marginals = released_marginals([numeric, town], [mass, np.array([900.0, 100.0, 0.0])], 4, 0.01)
    drawn = marginals.from_uniform(np.tile(np.linspace(0, 1, 1001, dtype=np.float32)[:, None], (1, 4)))[:, 0]
    assert abs((drawn == 0.0).mean() - 0.2) < 0.01 and abs((drawn == 1.0).mean() - 0.1) < 0.01
    np.testing.assert_allclose(marginals.rates[1:], [0.9, 0.1, 0.0025], atol=0.003)
    seen = apply(marginals.row_map, Block(np.zeros((1, 4), np.float32), np.zeros(1, np.int32)))
    np.testing.assert_allclose(seen[0, 0], -1.28, atol=0.01)  # the middle of the first fifth


def test_grouped_cells_are_those_of_the_outcomes() -> None:
    """Neighbours are compared with fewer edges, other groupings looked up: both say what the outcome's own cell is."""
    rng = np.random.default_rng(0)
    rows = np.stack([rng.random(200), np.arange(200) % 10 == 0], axis=1).astype(np.float32)
    block = Block(rows, np.zeros(200, np.int32))
    for missing in (None, 1):
        node = Node("x", 0, 8, edges=np.linspace(0, 1, 9), missing=missing)
        outcome = apply(node.cell(None), block)[:, 0]
        for cells in ([0, 0, 1, 1, 1, 2, 2, 3], [0, 1, 0, 1, 2, 2, 0, 1]):
            cell = np.asarray(cells if missing is None else [0, *(c + 1 for c in cells)])
            np.testing.assert_array_equal(
                apply(node.cell(Grouping(cell, int(cell.max()) + 1)), block)[:, 0], cell[outcome]
            )


def test_shares_end_at_one_and_never_above():
    """A sum of all cells that rounds below the last partial sum gave a share above 1, whose normal score is NaN."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        shares = distribution(rng.lognormal(0.0, 3.0, size=(3, 97)))
        assert (shares[:, 0] == 0.0).all() and (shares[:, -1] == 1.0).all()
        assert (shares <= 1.0).all() and (np.diff(shares, axis=1) >= 0.0).all()
