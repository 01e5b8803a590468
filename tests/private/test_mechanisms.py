"""Sensitivity of every mechanism, measured on neighbouring tables with the noise switched off; mutants must exceed it."""

import math

import dp_accounting as dpa
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from understudy.private.mechanisms.bounds import NUMBERS, PrivateBounds, covering
from understudy.private.mechanisms.categories import PrivateCategories
from understudy.private.mechanisms.column_histograms import ColumnHistograms
from understudy.private.mechanisms.histogram import ClassHistogram
from understudy.private.mechanisms.noisy_sum import GRID, NoisySum, on_grid, per_unit_and_class

from understudy.accounting import Budget, Charge, Ledger, Plan, epsilon
from understudy.private import Curator, PrivateTable
from understudy.private.noise import SecureNoise
from understudy.schema import Codec, Column, Schema


class NoNoise:
    """Zeros instead of noise, and a note of the scales that were asked for."""

    void_reason = "test"

    def __init__(self):
        self.scales = []

    def draw(self, kind, scale, shape):
        self.scales.append(scale)
        return np.zeros(shape, np.int64)

    def secret(self, size):
        return bytes(size)


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
        value = NoisySum(1.0, average).release(rows[keep], classes[keep], 2, units[keep], lambda x: x, noise)
        assert noise.scales == [GRID * 1.0]
        return np.rint(value * GRID).astype(np.int64)

    moved = total(np.ones(len(rows), bool)) - total(stay)
    assert (moved.astype(object) ** 2).sum() <= GRID**2


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 8).flatmap(lambda n: vectors(n, 4)))
def test_grid_vectors_never_exceed_norm_one(rows):
    steps = on_grid(np.array(rows), np.arange(len(rows)))
    assert (steps.astype(object) ** 2).sum(axis=1).max() <= GRID**2


def test_noisy_sum_without_clipping_is_caught():
    """Mutant: the clipped copy is made, the raw copy is summed."""
    raw = np.full((1, 4), 3.0)
    assert ((raw * GRID).astype(np.int64) ** 2).sum() > GRID**2 >= (on_grid(raw, np.zeros(1, np.int64)) ** 2).sum()


def test_noisy_sum_is_the_class_sum_up_to_the_grid():
    rng = np.random.default_rng(0)
    rows, classes = rng.normal(size=(20_000, 3)) * 0.3, rng.integers(0, 4, 20_000).astype(np.int32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    found = NoisySum(1.0).release(rows, classes, 4, None, lambda x: x, NoNoise())
    exact = np.stack([rows[classes == c].sum(axis=0) for c in range(4)])
    assert np.abs(found - exact).max() < 20_000 / GRID


def test_rows_of_a_unit_are_added_before_clipping():
    sums, classes, owner = per_unit_and_class(np.eye(3), np.array([0, 0, 1]), np.array([5, 5, 5], np.uint64))
    assert sums.tolist() == [[1, 1, 0], [0, 0, 1]]
    assert classes.tolist() == [0, 1] and owner.tolist() == [0, 0]


def test_averaged_rows_of_a_unit_weigh_one_in_all():
    sums, _, _ = per_unit_and_class(
        np.ones((5, 1)), np.array([0, 0, 1, 1, 0]), np.array([5, 5, 5, 5, 9], np.uint64), True
    )
    assert sorted(sums.ravel()) == [0.5, 0.5, 1.0]


def test_class_histogram_moves_by_at_most_the_rows_of_a_unit():
    noise = NoNoise()
    mechanism = ClassHistogram(2.0, max_rows_per_unit=3)
    full = mechanism.release(np.array([0, 1, 1, 1], np.int32), 2, noise)
    less = mechanism.release(np.array([0], np.int32), 2, noise)
    assert np.linalg.norm(full - less) <= 3
    assert noise.scales == [6.0, 6.0]
    assert mechanism.event == dpa.GaussianDpEvent(2.0)


def test_exact_label_counts_are_told_from_noisy_ones():
    """Mutant `labels`: training counts copied as they are. 64 releases all exact has probability below 1e-60 with noise."""
    classes = np.repeat(np.arange(2, dtype=np.int32), [30, 10])
    noisy = [ClassHistogram(3.7, 1).release(classes, 2, SecureNoise()) for _ in range(64)]
    copied = [ClassHistogram(3.7, 1).release(classes, 2, NoNoise()) for _ in range(64)]
    exact = np.array([30, 10])
    assert any((release != exact).any() for release in noisy)
    assert not any((release != exact).any() for release in copied)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.floats(0, 1, width=32), min_size=3, max_size=3), min_size=1, max_size=10), st.integers(2, 6)
)
def test_column_histograms_move_by_at_most_one_cell_a_column(rows, cells):
    values = np.array(rows, np.float32)
    edges = np.sort(np.random.default_rng(cells).random((3, cells + 1)), axis=1)
    edges[:, 0], edges[:, -1] = 0, 1
    mechanism = ColumnHistograms(1.0, 1, 3)
    full, less = (mechanism.cells(part, edges, NoNoise()) for part in (values, values[1:]))
    assert np.linalg.norm(full - less) <= math.sqrt(3) + 1e-9
    assert np.abs(full - less).sum(axis=1).max() <= 1
    assert mechanism.deviation == pytest.approx(math.sqrt(3))


def underpriced(columns, numeric, discrete):
    """Whether a question that one row moves further than its noise covers is answered. Coordinates: x, y, a, b, c."""
    numbers = tuple(Column(name=name, kind="continuous", lower=0, upper=1) for name in "xy")
    schema = Schema(columns=(*numbers, Column(name="z", kind="categorical", categories=("a", "b", "c"))))
    mechanism = ColumnHistograms(1.0, 1, columns)
    plan = Plan("m", Budget(100.0, 1e-5), "one row", (Charge("cells", mechanism.event), Charge("all", mechanism.event)))
    rows = pd.DataFrame({"x": [0.1, 0.9], "y": [0.2, 0.7], "z": ["a", "b"]})
    edges = np.tile(np.linspace(0.0, 1.0, 4), (len(numeric), 1))
    answers = []
    for table in (rows, rows[1:]):
        curator = Curator(PrivateTable(table, schema), schema, Ledger(plan), NoNoise())
        curator.adopt(Codec(schema))
        try:
            if len(numeric):
                curator.column_cells("cells", mechanism, np.asarray(numeric, np.int32), edges)
            found = curator.column_marginals(
                "all", mechanism, np.asarray(numeric, np.int32), edges, np.asarray(discrete, np.int32)
            )
        except RuntimeError as refused:
            assert "priced for fewer columns" in str(refused)
            return False
        answers.append(np.concatenate([np.ravel(part) for part in found.value]))
    moved = answers[0] - answers[1]
    return bool((moved**2).sum() > columns)


@pytest.mark.parametrize(
    "numeric,discrete,columns",
    [
        ([0, 1], [2, 3, 4], 3),
        ([0, 1], [], 2),
        ([], [2, 3, 4], 1),
        ([0, 0], [2], 3),
        ([0], [2, 2], 3),
        ([0], [3, 2, 2], 3),
    ],
)
def test_histograms_of_more_columns_than_were_priced_are_refused(numeric, discrete, columns, monkeypatch):
    assert not underpriced(columns, numeric, discrete)
    assert not underpriced(columns - 1, numeric, discrete)
    monkeypatch.setattr(ColumnHistograms, "check", lambda self, *asked: None)  # mutant: nobody looks
    assert not underpriced(columns, numeric, discrete) and underpriced(columns - 1, numeric, discrete)


def test_bounds_cover_the_bulk_and_give_up_a_lone_outlier():
    values = np.concatenate([np.random.default_rng(0).uniform(10, 90, 5000), [1e12, -np.inf, np.nan]])
    lower, upper = PrivateBounds(5.0, 1, 1).release(values, SecureNoise())
    assert 0 < lower <= 12 and 90 <= upper <= 130


def test_bounds_do_not_follow_one_person():
    """Mutant `metadata`: minimum and maximum read from the data move with one row; ours do not, given the same noise."""
    values = np.full(2000, 50.0)
    with_outlier = np.append(values, 1e9)
    ours = [PrivateBounds(5.0, 1, 1).release(v, NoNoise()) for v in (values, with_outlier)]
    read_off = [(v.min(), v.max()) for v in (values, with_outlier)]
    assert ours[0] == ours[1]
    assert read_off[0] != read_off[1]


def test_bounds_of_nothing_are_public_numbers():
    assert PrivateBounds(5.0, 1, 1).release(np.zeros(0), NoNoise()) == (0.0, 1.0)
    lower, upper = PrivateBounds(5.0, 1, 1, datetimes=True).release(np.zeros(0), NoNoise())
    assert lower < upper
    assert covering(NUMBERS, np.zeros(len(NUMBERS) - 1, np.int64), 1.0) == (0.0, 1.0)


def test_bounds_of_dates_come_back_as_whole_years():
    seconds = np.full(1000, 1.5e9)
    lower, upper = PrivateBounds(5.0, 1, 1, datetimes=True).release(seconds, NoNoise())
    assert lower <= 1.5e9 <= upper and upper - lower == pytest.approx(365 * 86400, rel=0.01)


def test_a_category_of_one_person_stays_unnamed():
    mechanism = PrivateCategories(5.0, 1e-6, 1)
    keys = ["common"] * 2000 + ["only one"]
    units = np.arange(len(keys), dtype=np.uint64)
    assert mechanism.release(keys, units, NoNoise()) == ("common",)
    assert mechanism.release([], units[:0], NoNoise()) == ()


@pytest.mark.parametrize("sigma,delta,rows", [(3.0, 1e-6, 1), (20.0, 1e-8, 4), (1.0, 1e-5, 10)])
def test_a_lone_key_passes_the_threshold_with_probability_at_most_delta(sigma, delta, rows):
    """Exact tail of the discrete Gaussian, summed, against the delta that is charged."""
    mechanism = PrivateCategories(sigma, delta, rows)
    reach = int(60 * mechanism.scale) + 60
    weights = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * mechanism.scale**2))
    tail = weights[np.arange(-reach, reach + 1) + 1 >= mechanism.threshold].sum() / weights.sum()
    assert rows * tail <= delta
    # One unit moves m counts by one: L2 sqrt(m), hence noise multiplier sigma; and the threshold's delta is in the price.
    assert mechanism.scale / math.sqrt(rows) == pytest.approx(sigma)
    assert epsilon(mechanism.event, delta / 2) == math.inf


def test_threshold_agrees_with_opendp():
    """OpenDP's own thresholded release charges no more delta for our threshold than we do."""
    import opendp.prelude as dp

    mechanism = PrivateCategories(10.0, 1e-6, 1)
    domain = dp.map_domain(dp.atom_domain(T="String"), dp.atom_domain(T="i64"))
    metric = dp.l02inf_distance(dp.absolute_distance(T="i64"))
    theirs = dp.m.make_gaussian_threshold(domain, metric, scale=mechanism.scale, threshold=mechanism.threshold)
    rho, delta = theirs.map((1, 1, 1))
    assert rho == pytest.approx(1 / (2 * 10.0**2))
    assert delta <= 1e-6


def test_noise_of_every_answer_is_independent():
    """Correlation between two coordinates of one release over 4,000 releases; false failure 1e-6."""
    draws = np.array([ClassHistogram(5.0, 1).release(np.zeros(0, np.int32), 2, SecureNoise()) for _ in range(4000)])
    assert abs(np.corrcoef(draws.T)[0, 1]) < stats.norm.isf(5e-7) / math.sqrt(4000)
