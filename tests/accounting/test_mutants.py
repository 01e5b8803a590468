"""The right versions pass the checks that every wrong version fails."""

import pytest

from understudy.accounting import Budget
from understudy.errors import UsageError

from . import judge


def test_our_prices_pass():
    assert judge.problems(judge.gaussian_price, judge.true_gaussian, judge.GAUSSIAN_GRID) == []
    assert judge.problems(judge.laplace_price, judge.true_laplace, judge.LAPLACE_GRID) == []
    assert judge.delta_problems(judge.delta_by_power) == []


@pytest.mark.parametrize("wrong", judge.WRONG_GAUSSIAN, ids=lambda f: f.__name__)
def test_wrong_gaussian_prices_under_count(wrong):
    assert any("under-counts" in line for line in judge.problems(wrong, judge.true_gaussian, judge.GAUSSIAN_GRID))


@pytest.mark.parametrize("wrong", judge.WRONG_LAPLACE, ids=lambda f: f.__name__)
def test_wrong_laplace_prices_under_count(wrong):
    assert any("under-counts" in line for line in judge.problems(wrong, judge.true_laplace, judge.LAPLACE_GRID))


@pytest.mark.parametrize("wrong", judge.WRONG_DELTAS, ids=lambda f: f.__name__)
def test_wrong_deltas_fail(wrong):
    assert judge.delta_problems(wrong)


def test_a_delta_by_xor_does_not_even_make_a_budget():
    with pytest.raises(UsageError, match="delta=-15"):
        Budget(1.0, judge.ten_to_the_minus_five_by_xor(5))
