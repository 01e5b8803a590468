"""The right versions pass the checks that every wrong version fails."""

import math

import pytest

from understudy.accounting import Budget, pate
from understudy.errors import UsageError

from . import judge


def test_our_prices_pass():
    assert judge.problems(judge.gaussian_price, judge.true_gaussian, judge.GAUSSIAN_GRID) == []
    assert judge.problems(judge.laplace_price, judge.true_laplace, judge.LAPLACE_GRID) == []
    assert judge.moments_problems(pate.data_independent) == []
    assert judge.delta_problems(judge.delta_by_power) == []


@pytest.mark.parametrize("wrong", judge.WRONG_GAUSSIAN, ids=lambda f: f.__name__)
def test_wrong_gaussian_prices_under_count(wrong):
    assert any("under-counts" in line for line in judge.problems(wrong, judge.true_gaussian, judge.GAUSSIAN_GRID))


@pytest.mark.parametrize("wrong", judge.WRONG_LAPLACE, ids=lambda f: f.__name__)
def test_wrong_laplace_prices_under_count(wrong):
    assert any("under-counts" in line for line in judge.problems(wrong, judge.true_laplace, judge.LAPLACE_GRID))


@pytest.mark.parametrize("wrong", judge.WRONG_MOMENTS, ids=lambda f: f.__name__)
def test_wrong_moments_accountants_fail(wrong):
    found = judge.moments_problems(wrong)
    direction = "over-counts" if wrong in (judge.missing_log, judge.multiplies_by_the_order) else "counts"
    assert any(direction in line for line in found)


def test_the_off_by_one_order_under_counts_everywhere():
    found = judge.moments_problems(judge.order_off_by_one)
    assert len(found) == 4 and all("under-counts" in line for line in found)


@pytest.mark.parametrize("wrong", judge.WRONG_DELTAS, ids=lambda f: f.__name__)
def test_wrong_deltas_fail(wrong):
    assert judge.delta_problems(wrong)


def test_a_delta_by_xor_does_not_even_make_a_budget():
    with pytest.raises(UsageError, match="delta=-15"):
        Budget(1.0, judge.ten_to_the_minus_five_by_xor(5))


def test_published_bound_needs_its_condition_on_q():
    """Theorem 3 without its condition would certify less than nothing: the bound falls below zero or is undefined."""
    gamma, q = 0.5, 0.4
    assert q > math.expm1(2 * gamma) / math.expm1(4 * gamma)
    assert pate.moment(5, gamma, q) == pate.moment(5, gamma)
    assert 1 - math.exp(2 * gamma) * q < 0  # what the formula would take to the power l
