"""The published moments accountant: as the papers have it, and unlike the wrong versions of it."""

import math
from collections import Counter

import pytest

from understudy.audit import recount

from . import moments


def test_published_moments_are_those_of_the_papers():
    """Written twice: with powers in the package, with logarithms here."""
    gaps, gamma = Counter({0: 3, 2: 10, 40: 200}), 0.02
    ours = recount.published_moments(gaps, gamma)
    for order in moments.ORDERS:
        theirs = sum(n * moments.moment(order, gamma, moments.wrong_answer(gap, gamma)) for gap, n in gaps.items())
        assert ours[order - 1] == pytest.approx(theirs, rel=1e-9)


def test_the_published_accountant_passes():
    assert moments.problems(moments.ours) == []


@pytest.mark.parametrize("wrong", moments.WRONG, ids=lambda f: f.__name__)
def test_wrong_moments_accountants_fail(wrong):
    found = moments.problems(wrong)
    direction = "over-counts" if wrong in (moments.missing_log, moments.multiplies_by_the_order) else "counts"
    assert any(direction in line for line in found)


def test_the_off_by_one_order_under_counts_everywhere():
    found = moments.problems(moments.order_off_by_one)
    assert len(found) == 4 and all("under-counts" in line for line in found)


def test_published_bound_needs_its_condition_on_q():
    """Theorem 3 without its condition would certify less than nothing: the bound falls below zero or is undefined."""
    gamma, gap = 0.5, 1
    q = moments.wrong_answer(gap, gamma)
    assert q > math.expm1(2 * gamma) / math.expm1(4 * gamma)
    assert recount.published_moments({gap: 1}, gamma) == recount.published_moments({0: 1}, gamma)
    assert 1 - math.exp(2 * gamma) * q < 0  # what the formula would take to the power l


def test_published_accountant_reproduces_its_closed_form():
    """T = 10,000 answers at (1, 1e-5) need noise of 980 votes, where exact Gaussian accounting needs 373."""
    assert moments.ours(1 / 980, 10_000, 1e-5) == pytest.approx(1.0, rel=0.01)


def test_clear_votes_are_cheaper_in_the_published_accountant():
    unclear, clear = ({gap: 100} for gap in (0, 80))
    assert sum(recount.published_moments(clear, 0.2)) < sum(recount.published_moments(unclear, 0.2))


def test_published_wrong_answer_bound_covers_the_noise():
    """Two Laplace variables of scale 1/gamma: Pr[difference > gap] = (2 + gamma gap) e^(-gamma gap) / 4, exactly."""
    gamma, gap = 0.3, 7.0
    x = [i * 0.001 for i in range(-60_000, 60_001)]
    density = [gamma / 2 * math.exp(-gamma * abs(v)) for v in x]
    beyond = [0.5 * math.exp(-gamma * (gap + v)) if gap + v > 0 else 1 - 0.5 * math.exp(gamma * (gap + v)) for v in x]
    total = math.fsum(d * b for d, b in zip(density, beyond, strict=True)) * 0.001
    assert moments.wrong_answer(gap, gamma) == pytest.approx(total, rel=1e-3)
