"""GNMax costs against 60-digit values and exact divergences; the filter against the exact loss of adaptive runs."""

import math
from pathlib import Path

import dp_accounting as dpa
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import g_pate_rounds
from benchmarks.g_pate_rounds import published_questions, questions, renyi_questions
from understudy.accounting import Budget, delta, gaussian, lattice, pate2018
from understudy.accounting.filter import noise_for, units_between
from understudy.errors import UsageError

from . import referee

SQRT2 = math.sqrt(2)


# -- the published costs ----------------------------------------------------------------------------------------------------
def test_data_independent_costs_are_those_of_two_gaussians():
    """sigma 600 against sensitivity sqrt(2), sigma 1500 against sensitivity 1, as dp_accounting prices them."""
    for order in (1.5, 2, 8, 64):
        for ours, multiplier in (
            (pate2018.gnmax(order, 600), 600 / math.sqrt(2)),
            (pate2018.threshold(order, 1500), 1500),
        ):
            accountant = dpa.rdp.RdpAccountant([order]).compose(dpa.GaussianDpEvent(multiplier))
            assert ours == pytest.approx(accountant._rdp[0], rel=1e-12)
    assert pate2018.gnmax(10, 100) == pytest.approx(1e-3) and pate2018.threshold(10, 100) == pytest.approx(5e-4)


@pytest.mark.parametrize("votes", [(90, 10), (60, 30, 10), (40, 40, 20), (100, 0, 0, 0), (5, 5)])
@pytest.mark.parametrize("sigma", [5.0, 20.0, 40.0])
def test_wrong_answers_are_at_most_as_likely_as_the_bound_says(votes, sigma):
    exact = 1 - referee.argmax_probabilities(votes, sigma)[votes.index(max(votes))]
    bound = math.exp(pate2018.log_wrong_answer(votes, sigma))
    assert exact <= bound + 1e-12
    if len(votes) == 2:
        assert bound == pytest.approx(float(exact), rel=1e-9)  # two bins: the union bound is the truth


def test_wrong_answers_of_huge_majorities_keep_their_logarithm():
    """erfc underflows at 27; the logarithm goes on, from above."""
    for gap in (10, 30, 45, 60, 400):
        with mp.workdps(50):
            exact = mp.log(mp.erfc(mp.mpf(gap) / 2) / 2)
        ours = pate2018.log_wrong_answer((gap, 0), 1.0)
        assert float(exact) <= ours + 1e-12 * abs(ours) and ours == pytest.approx(float(exact), rel=1e-2)
    assert pate2018.log_wrong_answer((7,), 1.0) == -math.inf and pate2018.data_dependent(5, 1.0, -math.inf) == 0.0


@pytest.mark.parametrize("sigma", [2.0, 40.0, 600.0])
@pytest.mark.parametrize("log_q", [-0.01, -0.7, -3.0, -8.0, -40.0, -300.0])
@pytest.mark.parametrize("order", [1.1, 2.0, 7.0, 33.0, 400.0])
def test_theorem_7_agrees_with_sixty_digits(order, sigma, log_q):
    with mp.workdps(60):
        wanted = referee.theorem_7(order, sigma, mp.e ** mp.mpf(log_q))
    flat = order / sigma**2
    ours = pate2018.data_dependent(order, sigma, log_q)
    if wanted is None:
        assert ours == flat
    else:
        assert ours == pytest.approx(min(flat, wanted), rel=1e-7, abs=1e-15)


def test_clear_votes_at_the_highest_order_do_not_overflow():
    """q = e^-2000 and an order just below mu1: the second term of the sum is e^1975 times the first."""
    with mp.workdps(60):
        wanted = referee.theorem_7(45.0, 1.0, mp.e ** mp.mpf(-2000))
    assert pate2018.data_dependent(45.0, 1.0, -2000.0) == pytest.approx(float(wanted), rel=1e-7)


def test_renyi_prices_convert_as_in_the_papers():
    """epsilon = rdp + log(1/delta) / (order - 1)."""
    assert pate2018.epsilon(0.25, 11, 1e-5) == pytest.approx(0.25 + math.log(1e5) / 10)


def test_golden_values():
    """Frozen from the 60-digit referee: (order, sigma, votes) -> RDP."""
    golden = {
        (8.0, 40.0, (290, 60, 20)): 1.1963272610465933e-05,
        (20.0, 100.0, (1100, 500, 400)): 2.36416381324468e-06,
        (3.0, 20.0, (180, 70)): 4.0702755160071666e-05,
        (30.0, 40.0, (400, 40)): 3.661875614727775e-09,
        (4.0, 600.0, (2100, 0)): 4.0
        / 600.0**2,  # even unanimous, 2,100 teachers are too few for noise of 600: the flat bound
    }
    for (order, sigma, votes), wanted in golden.items():
        ours = pate2018.data_dependent(order, sigma, pate2018.log_wrong_answer(votes, sigma))
        assert ours == pytest.approx(wanted, rel=1e-6)


def test_each_condition_can_fail_and_then_the_flat_bound_is_used():
    sigma = 4.0
    flat = lambda order: pate2018.gnmax(order, sigma)  # noqa: E731
    narrow = -1 / sigma**2 * 0.9  # mu2 = 0.95: not above 1
    assert pate2018.data_dependent(1.5, sigma, narrow) == flat(1.5)
    likely = -20.0
    mu1 = sigma * math.sqrt(20) + 1
    assert pate2018.data_dependent(mu1 * 1.001, sigma, likely) == flat(mu1 * 1.001)  # order above mu1
    assert pate2018.data_dependent(2.0, sigma, likely) < 0.01 * flat(
        2.0
    )  # the same q, an order below: valid, and small
    assert referee.theorem_7(2.0, 1.2, mp.mpf("0.3")) is None  # q above its limit
    assert pate2018.data_dependent(2.0, 1.2, math.log(0.3)) == pate2018.gnmax(2.0, 1.2)
    for log_q in (0.0, 0.5, math.nan):
        assert pate2018.data_dependent(2.0, sigma, log_q) == flat(2.0)


@settings(max_examples=25, deadline=None)
@given(
    votes=st.lists(st.integers(0, 60), min_size=2, max_size=3).filter(lambda v: sum(v) > 0),
    sigma=st.floats(3.0, 30.0),
    order=st.sampled_from([1.5, 2.0, 4.0, 9.0]),
)
def test_no_neighbour_is_further_away_than_the_bounds_say(votes, sigma, order):
    """Exact Renyi divergence of the arg-max on all neighbours, both ways for the flat bound."""
    here = referee.argmax_probabilities(votes, sigma)
    dependent = pate2018.data_dependent(order, sigma, pate2018.log_wrong_answer(votes, sigma))
    for other in referee.neighbours(votes):
        there = referee.argmax_probabilities(other, sigma)
        assert referee.renyi(here, there, order) <= dependent + 1e-9
        assert referee.renyi(there, here, order) <= pate2018.gnmax(order, sigma) + 1e-9


def test_sensitivity_one_would_under_count():
    """Mutant: (a, a / (2 sigma^2)) for the arg-max. A vote that moves from one of two bins to the other costs more."""
    sigma, order = 2.0, 16.0
    worst = max(
        referee.renyi(referee.two_bins(gap, sigma), referee.two_bins(gap - 2, sigma), order) for gap in range(-60, 60)
    )
    assert 1.5 * order / (2 * sigma**2) < worst <= pate2018.gnmax(order, sigma)


def test_nonsense_is_refused():
    for sigma in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(UsageError, match="sigma"):
            pate2018.gnmax(2.0, sigma)
    with pytest.raises(UsageError, match="units=0"):
        noise_for(10.0, 0, 1.0)
    with pytest.raises(UsageError, match="so little noise"):
        noise_for(0.01, 1, 1.0)


# -- units of the filter ---------------------------------------------------------------------------------------------------
@given(unit=st.floats(0.3, 1e5), units=st.integers(1, 40), square=st.sampled_from([1, 2, 4, 20]))
def test_noise_of_a_question_costs_its_units_and_hardly_less(unit, units, square):
    """The guarantee of the whole filter: squared mu of the question <= units x squared mu of the unit, integer noise included."""
    sigma = noise_for(unit, units, math.sqrt(square))
    allowed = units * lattice.mu_one(unit) ** 2
    spent = square * lattice.mu_one(sigma) ** 2
    assert spent <= allowed
    assert spent >= allowed * (1 - 1e-6) or sigma < 0.5


def test_real_noise_rule_would_break_the_promise_on_small_integers():
    """Mutant: sigma = sensitivity unit / sqrt(units), right for real noise, costs more than its units on integers."""
    unit, units = 2.0, 20
    wrong = math.sqrt(2) * unit / math.sqrt(units)
    assert 2 * lattice.mu_one(wrong) ** 2 > units * lattice.mu_one(unit) ** 2
    assert noise_for(unit, units, math.sqrt(2)) > wrong


def test_units_of_the_published_noise():
    assert units_between(1500, 600) == 13  # 12.5 rounded up
    assert units_between(3000, 1000) == 18 and units_between(600, 100) == 72 and units_between(1, 100) == 1


# -- the filter is sound: exact loss of adaptive runs ------------------------------------------------------------------------
class Run:
    """Confident-GNMax on two bins, exact under two neighbouring tables, where the answers decide how many questions follow."""

    def __init__(self, unit, answer_units, allowance, *, unanswered_free=False, sensitivity=SQRT2, tie=False):
        self.here, self.there, self.needed = ((2, 1), (1, 2), -100) if tie else ((3, 0), (2, 1), 4)
        self.test = referee.integer_gaussian(noise_for(unit, 1, 1.0))
        self.answer = referee.integer_gaussian(noise_for(unit, answer_units, sensitivity))
        self.price, self.allowance, self.free = answer_units, allowance, unanswered_free

    def passing(self, votes, needed):
        return math.fsum(p for x, p in self.test.items() if max(votes) + x >= needed)

    def winning(self, votes):
        a, b = votes
        return math.fsum(p * q for x, p in self.answer.items() for y, q in self.answer.items() if a + x >= b + y)

    def ask(self, history):
        """A neighbour's teacher has moved its vote. At most 14 answers, to keep the tree small."""
        spent, pending = 0, False
        for answer in history:
            if pending:
                spent, pending = spent + self.price, False
            elif answer == 1:
                spent, pending = spent + 1, True
            else:
                spent += 0 if self.free else 1
        if len(history) >= 14:
            return None
        if pending:
            p, q = self.winning(self.here), self.winning(self.there)
            return {1: (p, q), 0: (1 - p, 1 - q)}
        if spent + 1 + self.price > self.allowance:
            return None
        p, q = self.passing(self.here, self.needed), self.passing(self.there, self.needed)
        return {1: (p, q), 0: (1 - p, 1 - q)}

    def excess(self, unit, epsilons=(0.1, 0.5, 1.0, 1.5)):
        """How far the exact delta lies above what N units claim, at worst; at most 0 for a sound filter."""
        transcripts = referee.paths(self.ask)
        mu = math.sqrt(self.allowance) * lattice.mu_one(unit)
        return max(referee.delta(transcripts, e) - gaussian.delta(mu, e) for e in epsilons)


def test_adaptive_runs_lose_no_more_than_their_units():
    for unit, price, allowance in [(2.0, 2, 6), (3.0, 4, 11), (1.5, 1, 5), (4.0, 3, 9)]:
        assert Run(unit, price, allowance).excess(unit) <= 1e-12


def test_dropping_the_cost_of_unanswered_questions_is_caught():
    """Mutant: a question without consensus is free, so that it can be repeated for ever."""
    assert Run(1.0, 2, 3, unanswered_free=True).excess(1.0) > 1e-3
    assert Run(1.0, 2, 3).excess(1.0) <= 1e-12


def test_sensitivity_one_in_the_filter_is_caught():
    """Mutant: noise of the arg-max for sensitivity 1. At a tie the vote that moves decides, and the claim is exceeded."""
    assert Run(2.0, 8, 9, sensitivity=1.0, tie=True).excess(2.0) > 0.1
    assert Run(2.0, 8, 9, tie=True).excess(2.0) <= 1e-12


def test_the_price_of_the_announced_units_is_the_claim():
    """What plan and ledger hold (N units) is priced as N mu_1^2, the number that the filter's theorem needs."""
    unit, count = 37.0, 1234
    event = dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(unit), count)
    mu = math.sqrt(count) * lattice.mu_one(unit)
    for epsilon in (0.5, 1.0, 3.0):
        assert delta(event, epsilon) == pytest.approx(gaussian.delta(mu, epsilon), rel=1e-9)


# -- how many questions ------------------------------------------------------------------------------------------------------
def test_the_gaussian_filter_pays_for_more_questions_than_the_renyi_filter():
    for epsilon in (0.5, 1.0, 10.0):
        for answered in (0.0, 0.5, 1.0):
            ours = questions(Budget(epsilon, 1e-5), 1500, 600, answered)
            renyi, order = renyi_questions(Budget(epsilon, 1e-5), 1500, 600, answered)
            assert 0.6 * ours < renyi < ours and 1 < order < 1024


def test_questions_are_as_many_as_the_ledger_would_take():
    budget = Budget(1.0, 1e-5)
    count = math.floor(questions(budget, 1500, 600, 1.0))
    events = [
        dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(1500.0), count),
        dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(600.0 / math.sqrt(2)), count),
    ]
    assert delta(events, 1.0) <= 1e-5 * (1 + 1e-6)
    assert count == 11975


def test_published_analysis_allows_more_only_where_consensus_is_clear():
    budget = Budget(10.0, 1e-5)
    split, clear = (1000, 900, 100), (1950, 30, 20)
    sound = renyi_questions(budget, 600, 100, 1.0)[0]
    assert published_questions(budget, 600, 100, clear, 1.0) > 10 * sound
    assert published_questions(budget, 600, 100, split, 1.0) < 1.05 * sound
    assert np.isfinite(sound)


def test_the_documented_table_is_what_the_script_prints():
    printed = g_pate_rounds.table() + g_pate_rounds.report_table()
    page = (Path(__file__).resolve().parents[2] / "docs" / "g-pate.md").read_text(encoding="utf-8")
    assert [line for line in printed if line not in page] == []
