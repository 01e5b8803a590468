"""The combining rules against simulated copies whose truth is known; the published rule for other copies is caught."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import UsageError
from understudy.infer import combine

REPEATS, COPIES = 1000, 20


def copies(random, privacy, sampling, rows_ratio=1.0):
    """One table's answer and those of its copies, in a population whose mean is 0: all of it normal, nothing else."""
    table = random.normal(0.0, math.sqrt(sampling))  # what the real rows say
    released = random.normal(table, math.sqrt(privacy))  # and what the released sums say
    own = sampling / rows_ratio  # sampling variance of a copy
    models = random.normal(released, math.sqrt(privacy), COPIES)
    return table, random.normal(models, math.sqrt(own)), np.full(COPIES, own)


def held(about, rule, privacy, sampling, ratio=1.0):
    random, count = np.random.default_rng(0), 0
    for _ in range(REPEATS):
        table, estimates, variances = copies(random, privacy, sampling, ratio)
        low, high = rule(estimates, variances)
        count += low <= (0.0 if about == "population" else table) <= high
    return count / REPEATS


def ours(about, ratio=1.0):
    def rule(estimates, variances):
        found = combine(estimates, variances, about=about, ratio=ratio)
        return found.low, found.high

    return rule


# The random numbers are seeded: these cannot fail by chance. The range is the nominal 95 % and what truncation adds.
@pytest.mark.parametrize(("privacy", "sampling", "ratio"), [(1.0, 1.0, 1.0), (4.0, 1.0, 0.5), (0.1, 1.0, 4.0)])
def test_intervals_about_the_population_hold_it_at_their_rate(privacy, sampling, ratio):
    assert 0.935 < held("population", ours("population", ratio), privacy, sampling, ratio) < 0.98


@pytest.mark.parametrize(("privacy", "sampling"), [(1.0, 1.0), (4.0, 1.0)])
def test_intervals_about_the_table_hold_its_answer_at_their_rate(privacy, sampling):
    assert 0.935 < held("table", ours("table"), privacy, sampling) < 0.985


def test_with_hardly_any_privacy_noise_they_hold_too_often_never_too_seldom():
    assert held("table", ours("table"), 0.0001, 1.0) > 0.95
    assert 0.935 < held("population", ours("population"), 0.0001, 1.0) < 0.98


def of_fully_synthetic_data(estimates, variances):
    """WRONG here: (1 + 1/m) b - vbar is about the population only if copies are drawn from its posterior."""
    found = combine(estimates, variances, about="table")
    return found.low, found.high


def naive(estimates, variances):
    """WRONG: one synthetic table taken as real rows."""
    half = 1.96 * math.sqrt(variances[0])
    return estimates[0] - half, estimates[0] + half


@pytest.mark.parametrize("wrong", [of_fully_synthetic_data, naive])
def test_wrong_rules_hold_the_population_too_seldom(wrong):
    assert held("population", wrong, 0.5, 1.0) < 0.9


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)), min_size=2, max_size=30),
    st.sampled_from(["population", "table"]),
    st.floats(0.01, 100),
)
@settings(max_examples=60, deadline=None)
def test_the_variance_is_never_negative(pairs, about, ratio):
    estimates, variances = zip(*pairs, strict=True)
    found = combine(estimates, variances, about=about, ratio=ratio)
    assert found.variance >= 0.0 and found.low <= found.estimate <= found.high and 0.0 <= found.noise <= 1.0
    assert found.truncated == (np.var(estimates, ddof=1) < np.mean(variances))


def test_copies_that_differ_less_than_their_rows_would_are_cut_off_and_said():
    found = combine([1.0, 1.0, 1.01], [4.0, 4.0, 4.0], about="table")
    assert found.truncated and 0 < found.variance < 0.01 and found.noise == 0.0
    assert combine([1.0, 3.0, 5.0], [0.1, 0.1, 0.1]).noise > 0.4


@pytest.mark.parametrize(
    ("estimates", "variances", "more"),
    [
        ([1.0], [1.0], {}),
        ([1.0, 2.0], [1.0], {}),
        ([1.0, math.nan], [1.0, 1.0], {}),
        ([1.0, 2.0], [1.0, -1.0], {}),
        ([1.0, 2.0], [1.0, 1.0], {"ratio": 0.0}),
        ([1.0, 2.0], [1.0, 1.0], {"level": 1.0}),
    ],
)
def test_what_makes_no_sense_is_refused(estimates, variances, more):
    with pytest.raises(UsageError, match="combine"):
        combine(estimates, variances, **more)


def biased(random, shift, kept, privacy=0.2, sampling=1.0, effect=6.0):
    """A fit that keeps a part of an effect and adds a shift: answers of its copies, and of tables of the model itself."""
    table = random.normal(effect, math.sqrt(sampling))
    model = kept * random.normal(table, math.sqrt(privacy)) + shift
    copies = kept * random.normal(model, math.sqrt(privacy), COPIES) + shift
    rows = math.sqrt(sampling)
    return random.normal(copies, rows), np.full(COPIES, sampling), random.normal(model, rows, COPIES)


@pytest.mark.parametrize(("shift", "kept"), [(2.0, 1.0), (-4.0, 1.0), (0.0, 0.7), (0.0, 0.5)])
def test_what_a_fit_is_off_by_is_taken_off_and_without_it_intervals_miss(shift, kept):
    random, count, left = np.random.default_rng(0), 0, 0
    for _ in range(REPEATS):
        estimates, variances, own = biased(random, shift, kept)
        found, plain = combine(estimates, variances, own=own), combine(estimates, variances)
        count += found.low <= 6.0 <= found.high
        left += plain.low <= 6.0 <= plain.high
    assert count > 0.935 * REPEATS and left < 0.5 * REPEATS


def test_where_a_fit_is_right_hardly_anything_is_moved_or_widened():
    random, count, wider = np.random.default_rng(0), 0, []
    for _ in range(REPEATS):
        estimates, variances, own = biased(random, 0.0, 1.0)
        found, plain = combine(estimates, variances, own=own), combine(estimates, variances)
        count += found.low <= 6.0 <= found.high
        wider.append((found.high - found.low) / (plain.high - plain.low))
    assert 0.935 < count / REPEATS < 0.985 and np.mean(wider) < 1.05 and np.median(wider) == 1.0


def test_own_answers_that_are_no_numbers_or_too_few_correct_nothing():
    plain = combine([1.0, 2.0, 3.0], [1.0] * 3)
    assert combine([1.0, 2.0, 3.0], [1.0] * 3, own=[9.0]) == plain
    assert combine([1.0, 2.0, 3.0], [1.0] * 3, own=[9.0, math.nan]) == plain
