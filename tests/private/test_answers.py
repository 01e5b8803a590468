"""Sensitivity of every single answer, measured on neighbouring tables with the noise switched off; mutants must exceed it."""

import math

import dp_accounting as dpa
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from understudy.accounting import epsilon
from understudy.private.answers import categories, counts, products, sums
from understudy.private.answers.sums import LENGTH, per_unit_and_group
from understudy.private.noise import SecureNoise, SeededNoise
from understudy.questions import ColumnBounds, ColumnCategories, Counts, Products, Sums, class_counts
from understudy.questions.bounds import NUMBERS, covering
from understudy.questions.row_maps import Cuts, Places
from understudy.questions.sums import FINE, SUM_GRID, WEIGHT
from understudy.schema import Column, Schema

from ..wall import NoNoise, ask, ask_cells

OPEN = Schema(columns=(Column(name="x", kind="continuous", lower=0, upper=1),))
DATES = Schema(columns=(Column(name="x", kind="datetime", lower="2000-01-01", upper="2001-01-01"),))
KEYS = Schema(columns=(Column(name="x", kind="categorical", categories=("a",)),))


def bounds_of(values, noise=None):
    return ask_cells(ColumnBounds(("x",), 5.0, 1), pd.DataFrame({"x": values}), OPEN, noise)


def years_of(values):
    return ask_cells(ColumnBounds(("x",), 5.0, 1, datetimes=True), pd.DataFrame({"x": values}), DATES)


def vectors(rows, width):
    floats = st.floats(-5, 5, width=32) | st.sampled_from([float("inf"), float("nan"), 1e30])
    return st.lists(st.lists(floats, min_size=width, max_size=width), min_size=rows, max_size=rows)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 12).flatmap(lambda n: st.tuples(vectors(n, 3), st.lists(st.integers(0, 3), min_size=n, max_size=n))),
    st.booleans(),
)
def test_noisy_sum_moves_by_at_most_the_grid_when_a_unit_leaves(case, average):
    rows, units = np.array(case[0], np.float64), np.array(case[1], np.uint64)
    classes = (np.arange(len(rows)) % 2).astype(np.int32)
    stay = units != units[0]

    def total(keep):
        noise = NoNoise()
        question = Sums.by_class(Places(), 2, 1.0, average=average)
        value = ask(question, rows[keep], classes[keep], units[keep], noise)
        assert noise.scales == [SUM_GRID * 1.0]
        return np.rint(value * SUM_GRID).astype(np.int64)

    moved = total(np.ones(len(rows), bool)) - total(stay)
    assert (moved.astype(object) ** 2).sum() <= SUM_GRID**2


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8).flatmap(lambda n: vectors(n, 4)))
def test_grid_vectors_never_exceed_norm_one(rows):
    with np.errstate(all="ignore"):
        steps = sums.on_grid(np.array(rows))
        alone = steps * sums.weights(sums.lengths(steps))[:, None]
        pairs = [products.on_grid(np.array(rows), owner)[0] for owner in (None, np.arange(len(rows)))]
    for steps, grid in ((alone, SUM_GRID), *((pair, products.PRODUCT_GRID) for pair in pairs)):
        assert (steps.astype(np.int64).astype(object) ** 2).sum(axis=1).max() <= grid**2


@pytest.mark.parametrize("units", [None, [0, 1, 2], [0, 0, 1]])
def test_products_of_short_vectors_come_with_a_quarter_of_their_squared_norm(units):
    """All lengths are below 1, so nothing is clipped, and all numbers are on the grid."""
    rows = np.asarray([[0.5, 0.25, 0.0], [0.25, -0.5, 0.5], [0.0, 0.0, 0.125]])
    classes = np.zeros(3, np.int32)
    found = ask(Products(Places(), 1, 1.0), rows, classes, None if units is None else np.asarray(units), NoNoise())
    pairs = [(rows[:, i] * rows[:, j]).sum() for i, j in ((0, 1), (0, 2), (1, 2))]
    assert found.tolist() == [[*pairs, (rows**2).sum() / 4]]
    nothing = ask(Products(Places(np.arange(0)), 1, 1.0), rows, classes, None, NoNoise())
    assert nothing.tolist() == [[0.0]]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, 1 << 26), min_size=1, max_size=6))
def test_a_weight_is_the_largest_that_keeps_the_norm(steps):
    """In whole numbers of any size: w |t| <= W F, and one more step would be too much, but for what rounding squares up costs."""
    length = sums.lengths(np.asarray([steps], float))[0]
    weight = int(sums.weights(np.asarray([length]))[0])
    square = sum(step * step for step in steps)
    assert weight * weight * square <= SUM_GRID**2
    more = square + len(steps) * FINE**2 // LENGTH
    assert weight == WEIGHT or (weight + 2) ** 2 * more > SUM_GRID**2


def test_noisy_sum_without_clipping_is_caught():
    """Mutant: the clipped copy is made, the raw copy is summed."""
    steps = sums.on_grid(np.full((1, 4), 3.0))
    clipped, raw = (float(w) * steps for w in (sums.weights(sums.lengths(steps))[0], WEIGHT))
    assert (raw**2).sum() > SUM_GRID**2 >= (clipped**2).sum()


def test_noisy_sum_is_the_class_sum_up_to_the_grid():
    rng = np.random.default_rng(0)
    rows, classes = rng.normal(size=(20_000, 3)) * 0.3, rng.integers(0, 4, 20_000).astype(np.int32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    found = ask(Sums.by_class(Places(), 4, 1.0), rows, classes)
    exact = np.stack([rows[classes == c].sum(axis=0) for c in range(4)])
    assert np.abs(found - exact).max() < 20_000 / FINE


def test_rows_of_a_unit_are_added_before_clipping():
    summed, classes, owner = per_unit_and_group(np.eye(3), np.array([0, 0, 1]), np.zeros(3, np.int64))
    assert summed.tolist() == [[1, 1, 0], [0, 0, 1]]
    assert classes.tolist() == [0, 1] and owner.tolist() == [0, 0]


def test_averaged_rows_of_a_unit_weigh_one_in_all():
    rows, classes, units = np.ones((5, 1)), np.array([0, 0, 1, 1, 0], np.int32), np.array([0, 0, 0, 0, 1])
    assert ask(Sums.by_class(Places(), 2, 1.0, average=True), rows, classes, units).ravel().tolist() == [1.5, 0.5]


def counted(question, classes, noise=None):
    return ask(question, np.zeros((len(classes), 1), np.float32), classes, noise=noise)[0]


def test_class_counts_move_by_at_most_the_rows_of_a_unit():
    noise = NoNoise()
    question = class_counts(2, 2.0, rows_per_unit=3)
    full = counted(question, [0, 1, 1, 1], noise)
    less = counted(question, [0], noise)
    assert np.linalg.norm(full - less) <= 3
    assert noise.scales == [6.0, 6.0]
    assert question.event == dpa.GaussianDpEvent(2.0)


def test_exact_label_counts_are_told_from_noisy_ones():
    """Mutant `labels`: training counts copied as they are. 64 releases all exact has probability below 1e-60 with noise."""
    classes = np.repeat(np.arange(2, dtype=np.int32), [30, 10])
    noisy = [counted(class_counts(2, 3.7, 1), classes, SecureNoise()) for _ in range(64)]
    copied = [counted(class_counts(2, 3.7, 1), classes) for _ in range(64)]
    exact = np.array([30, 10])
    assert any((release != exact).any() for release in noisy)
    assert not any((release != exact).any() for release in copied)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.floats(0, 1, width=32), min_size=3, max_size=3), min_size=1, max_size=10), st.integers(2, 6)
)
def test_counts_of_columns_move_by_at_most_one_cell_a_column(rows, cells):
    values = np.array(rows, np.float32)
    edges = np.sort(np.random.default_rng(cells).random((3, cells - 1)), axis=1)
    cell = Cuts(np.arange(3), tuple(edges), np.full(3, -1))
    question = Counts.of_cliques(cell, (cells,) * 3, [(0,), (1,), (2,)], 1.0, 1)
    full, less = (np.stack(ask(question, part)) for part in (values, values[1:]))
    assert np.linalg.norm(full - less) <= math.sqrt(3) + 1e-9
    assert np.abs(full - less).sum(axis=1).max() <= 1
    assert question.deviations == pytest.approx([math.sqrt(3)] * 3)


def test_bounds_cover_the_bulk_and_give_up_a_lone_outlier():
    values = np.concatenate([np.random.default_rng(0).uniform(10, 90, 5000), [1e12, -np.inf, np.nan]])
    lower, upper = bounds_of(values, SeededNoise(0))  # noise that makes a range wider is part of the method, and rare
    assert 0 < lower <= 12 and 90 <= upper <= 130


def test_bounds_do_not_follow_one_person():
    """Mutant `metadata`: minimum and maximum read from the data move with one row; ours do not, given the same noise."""
    values = np.full(2000, 50.0)
    with_outlier = np.append(values, 1e9)
    ours = [bounds_of(v) for v in (values, with_outlier)]
    read_off = [(v.min(), v.max()) for v in (values, with_outlier)]
    assert ours[0] == ours[1]
    assert read_off[0] != read_off[1]


def test_combinations_of_more_cells_than_short_numbers_hold_are_counted_apart():
    """The first two of three columns have 301 x 301 combinations with what is missing: beyond 16 bits."""
    sizes, rng = (300, 300, 2), np.random.default_rng(0)
    cells = np.column_stack([rng.integers(-1, size, 2000) for size in sizes])
    total = counts.nothing(sizes, [(0, 1, 2)])
    counts.count_block(cells, sizes, total)
    wanted = np.zeros(sizes, np.int64)
    present = cells[(cells >= 0).all(axis=1)]
    np.add.at(wanted, tuple(present.T), 1)
    assert (total[0, 1, 2] == wanted.ravel()).all() and wanted.sum() > 900


def test_a_map_that_returns_cells_that_are_not_there_reaches_no_other_table():
    assert counts.cell_numbers(np.array([-9, -1, 0, 3, 4, 99]), 5).tolist() == [0, 0, 1, 4, 4, 4]


def test_bounds_of_nothing_are_public_numbers():
    assert bounds_of(np.zeros(0)) == (0.0, 1.0)
    lower, upper = years_of(pd.to_datetime(np.zeros(0), unit="s"))
    assert lower < upper
    assert covering(NUMBERS, np.zeros(len(NUMBERS) - 1, np.int64), 1.0) == (0.0, 1.0)


def test_bounds_end_at_zero_where_the_cell_around_it_is_the_outermost():
    around = int(np.flatnonzero((NUMBERS[:-1] < 0.0) & (NUMBERS[1:] > 0.0))[0])
    for begin, end in ((around, around + 4), (around - 3, around + 1)):
        noisy = np.zeros(len(NUMBERS) - 1, np.int64)
        noisy[begin:end] = 10_000
        lower, upper = covering(NUMBERS, noisy, 1.0)
        assert lower == (0.0 if begin == around else NUMBERS[begin])
        assert upper == (0.0 if end == around + 1 else NUMBERS[end])


def test_bounds_of_dates_come_back_as_whole_years():
    lower, upper = years_of(pd.to_datetime(np.full(1000, 1.5e9), unit="s"))
    assert lower <= 1.5e9 <= upper and upper - lower == pytest.approx(365 * 86400, rel=0.01)


def test_a_category_of_one_person_stays_unnamed():
    question = ColumnCategories(("x",), 5.0, 1e-6, 1)
    assert ask_cells(question, pd.DataFrame({"x": ["common"] * 2000 + ["only one"]}), KEYS) == ("common",)
    assert ask_cells(question, pd.DataFrame({"x": np.zeros(0, object)}), KEYS) == ()


def test_texts_counted_share_by_share_are_those_counted_at_once(monkeypatch):
    """However many passes there are; and no pass holds many more texts than it should."""
    texts = [f"text {i % 400}" for i in range(3000)] + [f"rare {i}" for i in range(3000)] + ["long" * 300] * 99
    frame = pd.DataFrame({"x": texts})
    question = ColumnCategories(("x",), 1.0, 1e-6, 1)
    whole = ask_cells(question, frame, KEYS)
    held, inner = [], categories.start
    monkeypatch.setattr(categories, "start", lambda *words: held.append(inner(*words)) or held[-1])
    monkeypatch.setattr(categories, "MOST_TEXTS", 500)
    assert ask_cells(question, frame, KEYS) == whole and not any("long" in text for text in whole)
    sizes = [len(total) for total in held if total]
    assert len(sizes) == 13 and sum(sizes) == 3400 and max(sizes) < 500  # 262 sd 16 each


@pytest.mark.parametrize("sigma,delta,rows", [(3.0, 1e-6, 1), (20.0, 1e-8, 4), (1.0, 1e-5, 10)])
def test_a_lone_key_passes_the_threshold_with_probability_at_most_delta(sigma, delta, rows):
    """Exact tail of the discrete Gaussian, summed, against the delta that is charged."""
    question = ColumnCategories(("x",), sigma, delta, rows)
    reach = int(60 * question.scale) + 60
    weights = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * question.scale**2))
    tail = weights[np.arange(-reach, reach + 1) + 1 >= question.threshold].sum() / weights.sum()
    assert rows * tail <= delta
    # One unit moves m counts by one: L2 sqrt(m), hence noise multiplier sigma; and the threshold's delta is in the price.
    assert question.scale / math.sqrt(rows) == pytest.approx(sigma)
    assert epsilon(question.event, delta / 2) == math.inf


def test_threshold_agrees_with_opendp():
    """OpenDP's own thresholded release charges no more delta for our threshold than we do."""
    import opendp.prelude as dp

    question = ColumnCategories(("x",), 10.0, 1e-6, 1)
    domain = dp.map_domain(dp.atom_domain(T="String"), dp.atom_domain(T="i64"))
    metric = dp.l02inf_distance(dp.absolute_distance(T="i64"))
    theirs = dp.m.make_gaussian_threshold(domain, metric, scale=question.scale, threshold=question.threshold)
    rho, delta = theirs.map((1, 1, 1))
    assert rho == pytest.approx(1 / (2 * 10.0**2))
    assert delta <= 1e-6


def test_noise_of_every_answer_is_independent():
    """Correlation between two coordinates of one release over 500 releases; shared noise gives 1. False failure: 1e-6."""
    draws = np.array([counted(class_counts(2, 5.0, 1), [], SecureNoise()) for _ in range(500)])
    assert abs(np.corrcoef(draws.T)[0, 1]) < stats.norm.isf(5e-7) / math.sqrt(500)
