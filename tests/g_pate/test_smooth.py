"""Smooth sensitivity of the data-dependent price: against 60 digits, against PATE 2018, and by trying all neighbours."""

import itertools
import math
import os

import dp_accounting as dpa
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr
from scipy.stats import kstest
from scipy.stats import t as student

from understudy.accounting import EpsilonDeltaDpEvent, delta, pate2018, pure, smooth

from . import referee, referee_smooth


def counts(gaps, teachers):
    """One ensemble's answers by gap."""
    return np.bincount(np.asarray(gaps, int), minlength=teachers + 1)[None, :].astype(np.int64)


# -- the price of one answer -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("sigma", [1.0, 1.4, 3.0, 6.0])
def test_integer_noise_errs_no_more_often_than_the_bound_says(sigma):
    for gap in range(1, 15):
        exact, ours = referee_smooth.wrong(gap, sigma), math.exp(smooth.log_wrong(gap, 2, sigma))
        assert exact <= ours * (1 + 1e-12)
        assert math.exp(smooth.log_wrong(gap, 5, sigma)) == pytest.approx(min(4 * ours, 1.0))
    assert smooth.log_wrong(0, 2, sigma) == 0.0 and smooth.log_wrong(50, 2, 0.9) == 0.0


def test_the_bound_for_real_noise_is_too_small_for_integers():
    """Mutant: the paper's erfc(gap / (2 sigma)) / 2 without the one vote."""
    short = [g for g in range(1, 15) if referee_smooth.wrong(g, 3.0) > math.erfc(g / 6.0) / 2]
    assert len(short) == 14


def test_votes_of_more_bins_are_covered_by_their_gap():
    """q of the gap is at least the paper's sum over all rivals, and at most bins - 1 times that, one vote apart."""
    for votes in referee_smooth.all_votes(14, 3):
        gap = referee_smooth.gap(votes)
        if gap >= 1:
            ours = smooth.log_wrong(gap + 1, 3, 2.0)
            paper = pate2018.log_wrong_answer(votes, 2.0)
            assert paper <= ours + 1e-12 <= paper + math.log(2.001) + 1e-12


@pytest.mark.parametrize(("order", "sigma", "bins"), [(2.0, 1.5, 2), (7.0, 10.0, 4), (20.0, 40.0, 2), (60.0, 5.0, 3)])
def test_prices_are_those_of_sixty_digits_rounded_up_to_the_grid(order, sigma, bins):
    """Gaps on both sides of every condition; the table never lies below the exact value, and at most two steps above."""
    table = smooth.price_table(order, sigma, bins, 400)
    flat = order / sigma**2
    kinds = set()
    for gap in (*range(0, 60, 3), 100, 150, 250, 400):
        q = mp.e ** mp.mpf(smooth.log_wrong(gap, bins, sigma))
        exact = referee_smooth.beta(order, sigma, q) / flat * smooth.PRICE_STEPS
        assert exact <= table[gap] <= min(exact + 2, smooth.PRICE_STEPS)
        kinds.add("flat" if table[gap] == smooth.PRICE_STEPS else "less")
    assert kinds == {"flat", "less"}


def test_prices_are_flat_where_nothing_is_known():
    assert (smooth.price_table(3.0, 0.9, 2, 50) == smooth.PRICE_STEPS).all()  # noise below one vote
    assert (
        smooth.price_table(24.0, 1000.0, 10, 4000) == smooth.PRICE_STEPS
    ).all()  # the paper's MNIST noise at epsilon 1
    assert smooth.price_table(2.0, 1.5, 2, 0).tolist() == [smooth.PRICE_STEPS]


def test_a_test_costs_what_the_paper_says_in_the_same_steps():
    for order in (2.0, 17.0):
        found = smooth.renyi(smooth.consensus_price(300.0, 70.0), order, 70.0)
        assert found == pytest.approx(pate2018.threshold(order, 300.0), rel=1e-4)
        assert found >= pate2018.threshold(order, 300.0)


# -- golden values -------------------------------------------------------------------------------------------------------------
# (order, sigma, gap) with two bins -> local sensitivity by Algorithm 3 of PATE 2018 (the larger change of the price between q,
# B_U(q) and B_L(q)) as a share of the price whatever the votes; 60 digits, `referee_smooth.algorithm_3`.
ALGORITHM_3 = {
    (2.0, 1.5, 6): 0.5137093996139286,
    (2.0, 1.5, 8): 0.12949979091597322,
    (7.0, 10.0, 50): 0.009740645195047888,
    (7.0, 10.0, 60): 0.0011621405295487647,
    (20.0, 40.0, 180): 0.004751801530803578,
    (20.0, 40.0, 250): 9.71668358474526e-05,
    (20.0, 40.0, 300): 2.3430840953623595e-06,
}


@pytest.mark.parametrize(("case", "wanted"), ALGORITHM_3.items())
def test_two_bins_have_the_local_sensitivity_of_the_paper(case, wanted):
    """One vote apart (integer noise), and within the two steps by which prices are rounded."""
    order, sigma, gap = case
    table = smooth.price_table(order, sigma, 2, 400)
    found = smooth.local_sensitivities(table, counts([gap + 1], 400), 1)[0] / smooth.PRICE_STEPS
    assert found == pytest.approx(wanted, rel=1e-5, abs=2 / smooth.PRICE_STEPS)


@pytest.mark.slow
def test_frozen_values_are_those_of_the_referee():
    for (order, sigma, gap), wanted in ALGORITHM_3.items():
        q = mp.e ** referee_smooth.log_q(gap, 2, sigma)
        assert referee_smooth.algorithm_3(order, sigma, 2, q) / (order / sigma**2) == pytest.approx(wanted, rel=1e-9)


def test_smooth_sensitivity_is_that_of_the_definition():
    table = smooth.price_table(2.0, 1.5, 2, 24)
    for gaps in ([24], [7, 7, 12], [0, 1, 2, 24, 20], [9] * 6):
        local = smooth.local_sensitivities(table, counts(gaps, 24), 1)
        for rate in (0.02, 0.3, 2.0):
            assert smooth.smooth(local, rate) == pytest.approx(
                referee_smooth.smooth(table.tolist(), gaps, rate), rel=1e-12
            )


def test_distances_beyond_reach_count_with_the_largest_step(monkeypatch):
    """A short reach gives more, never less, and stays smooth."""
    table = smooth.price_table(2.0, 1.5, 2, 24)
    whole = [smooth.local_sensitivities(table, counts([g] * 3, 24), 1) for g in range(25)]
    monkeypatch.setattr(smooth, "REACH", 4)
    short = [smooth.local_sensitivities(table, counts([g] * 3, 24), 1) for g in range(25)]
    assert all(len(found) == 5 for found in short)
    for rate in (0.1, 0.5):
        s = [smooth.smooth(found, rate) for found in short]
        assert all(a >= smooth.smooth(b, rate) for a, b in zip(s, whole, strict=True))
        assert max(s[g] / s[g + 2] for g in range(23)) <= math.exp(rate) * (1 + 1e-12)
        assert max(s[g + 2] / s[g] for g in range(23)) <= math.exp(rate) * (1 + 1e-12)


def without_least(local, beta):
    """Mutant: as smooth as floating point lets it be."""
    return max(math.exp(-beta * distance) * here for distance, here in enumerate(local))


def told_apart(bound):
    """How many pairs of neighbours, whose votes were so clear that steps of the price are hundreds of tables away, differ in
    whether their number has noise at all."""
    clear = [
        [0] * distance + [7] for distance in range(700, 760)
    ]  # what is d tables away from one is d + 1 from the other
    with_noise = [smooth.raised(1000, bound(local, 1.0), b"\xff" * smooth.COIN) > 1000 for local in clear]
    return sum(one != other for one, other in itertools.pairwise(with_noise))


def test_the_noise_of_very_clear_votes_does_not_vanish_for_one_of_two_neighbours():
    assert told_apart(smooth.smooth) == 0
    s = [smooth.smooth([0] * distance + [7], 1.0) for distance in range(700, 760)]
    assert min(s) > 0 and max(a / b for a, b in itertools.pairwise(s)) <= math.e * (1 + 1e-12)


def test_noise_that_vanishes_is_caught():
    assert told_apart(without_least) == 1


# -- all neighbours, by trying them ----------------------------------------------------------------------------------------------
VOTES = {(teachers, bins): referee_smooth.all_votes(teachers, bins) for teachers, bins in ((20, 2), (16, 3))}


@pytest.mark.parametrize(("teachers", "bins"), VOTES)
@pytest.mark.parametrize(("order", "sigma"), [(2.0, 1.5), (5.0, 1.2), (3.0, 2.5)])
def test_no_neighbour_is_further_away_than_the_local_sensitivity(teachers, bins, order, sigma):
    """Every histogram of the ensemble and every vote that could change, for one question."""
    table = smooth.price_table(order, sigma, bins, teachers)
    local = [smooth.local_sensitivities(table, counts([g], teachers), 1) for g in range(teachers + 1)]
    moved, worst = 0, 0
    for votes in VOTES[teachers, bins]:
        here = referee_smooth.gap(votes)
        for other in referee.neighbours(votes):
            there = referee_smooth.gap(other)
            change = abs(int(table[here] - table[there]))
            assert change <= local[here][0]
            assert all(a <= b for a, b in zip(local[here], [*local[there][1:], local[there][-1]], strict=True))
            moved, worst = max(moved, abs(here - there)), max(worst, change)
    assert moved == 2 and worst > 0  # a gap that is taken to move by 1 only would miss these


def neighbouring_runs(seed, teachers, ensembles, touched, questions):
    """Two runs with the same answers: one unit moved a vote in some questions of at most `touched` ensembles."""
    rng = np.random.default_rng(seed)
    here = rng.multinomial(teachers, rng.dirichlet([2.0, 0.6, 0.6]), (ensembles, questions))
    there = here.copy()
    for c in rng.permutation(ensembles)[:touched]:
        for t in range(questions):
            there[c, t] = rng.permutation(np.asarray(referee.neighbours(here[c, t]))[:, :])[0]
    return [
        np.concatenate([counts([referee_smooth.gap(v) for v in run[c]], teachers) for c in range(ensembles)])
        for run in (here, there)
    ]


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), touched=st.integers(1, 3), rate=st.sampled_from([0.01, 0.2, 1.0]))
def test_whole_runs_move_no_more_than_allowed_and_the_bound_is_smooth(seed, touched, rate):
    """Three ensembles, five questions each; both directions."""
    table, tests = smooth.price_table(2.0, 1.5, 3, 18), np.asarray([9, 5, 5])
    runs = neighbouring_runs(seed, 18, 3, touched, 5)
    values = [smooth.total(table, run, tests, 4000, touched) for run in runs]
    local = [smooth.local_sensitivities(table, run, touched) for run in runs]
    s = [smooth.smooth(found, rate) for found in local]
    assert abs(values[0] - values[1]) <= min(local[0][0], local[1][0]) <= min(s)
    assert max(s[0] / s[1], s[1] / s[0]) <= math.exp(rate) * (1 + 1e-12)


def test_a_unit_with_votes_in_two_ensembles_is_charged_for_both():
    table = np.asarray([smooth.PRICE_STEPS, 10, 0], np.int64)
    gaps = np.asarray([[3, 0, 0], [0, 5, 0], [0, 0, 7]], np.int64)
    tests = np.asarray([0, 0, 1])
    assert smooth.total(table, gaps, tests, 40, 1) == 3 * smooth.PRICE_STEPS
    assert smooth.total(table, gaps, tests, 40, 2) == 3 * smooth.PRICE_STEPS + 50


# -- the release --------------------------------------------------------------------------------------------------------------
class Mechanism:
    """The release for `questions` questions of one gap, as (value, scale); mutants change one line."""

    def __init__(self, loss, questions=4, teachers=24):
        self.loss, self.questions, self.teachers = loss, questions, teachers
        self.table = -(
            -smooth.price_table(2.0, 1.5, 2, teachers) // 2**13
        )  # 128 steps, so that all results can be looked at

    def __call__(self, gap):
        gaps = counts([gap] * self.questions, self.teachers)
        value = smooth.total(self.table, gaps, np.zeros(1, np.int64), 0, 1)
        return value, self.scale(smooth.local_sensitivities(self.table, gaps, 1))

    def scale(self, local):
        beta, shift = smooth.split(self.loss)
        return smooth.smooth(local, beta) / shift

    def worst(self):
        """Largest loss over neighbouring gaps."""
        sides = [self(gap) for gap in range(self.teachers + 1)]
        return max(referee_smooth.loss(sides[g], sides[g + by], 150) for by in (1, 2) for g in range(0, 25 - by, 2))


class LocalInsteadOfSmooth(Mechanism):
    """Mutant: noise in proportion to the local sensitivity, which itself tells tables apart."""

    def scale(self, local):
        return max(local[0], 1e-3) / smooth.split(self.loss)[1]


class ConstantNoise(Mechanism):
    """Mutant: noise that is not scaled by the sensitivity at all."""

    def scale(self, local):
        return 1.0 / smooth.split(self.loss)[1]


@pytest.mark.parametrize("loss", [0.3, 1.0, 3.0])
def test_the_release_loses_no_more_than_its_epsilon(loss):
    """Exact probabilities of every result, for all pairs of neighbours."""
    worst = Mechanism(loss).worst()
    assert 0.3 * loss < worst <= loss


@pytest.mark.parametrize("mutant", [LocalInsteadOfSmooth, ConstantNoise])
def test_wrong_noise_is_caught(mutant):
    assert mutant(1.0).worst() > 5.0


def test_each_part_of_the_price_is_needed():
    """A change of scale alone, and of the centre alone, cost what they are charged with, and nearly all of it.

    Mutant: 2 beta for the scale, right for noise that is not raised by its quantile, is exceeded.
    """
    beta = 0.1
    scale = referee_smooth.loss((0, 20.0), (0, 20.0 * math.exp(beta)), 800)
    assert 2 * beta < 0.95 * smooth.SPREAD * beta < scale <= smooth.SPREAD * beta
    assert referee_smooth.loss((0, 20.0), (0, 20.0 * math.exp(beta)), 800, shift=mp.mpf(0)) <= 2 * beta
    centre = referee_smooth.loss((0, 20.0), (2, 20.0), 800)
    assert 0.95 * smooth.STEEPEST * 0.1 < centre <= smooth.STEEPEST * 0.1


def test_constants_of_the_price_are_the_suprema_they_stand_for():
    v = np.linspace(-200, 200, 4_000_001)
    assert smooth.MISS == 0.05  # as docs and reports say in words
    assert student.ppf(1 - smooth.MISS, 2) == pytest.approx(smooth.TAIL, rel=1e-12)
    assert np.abs(3 * v / (2 + v**2)).max() == pytest.approx(smooth.STEEPEST, rel=1e-6)
    assert np.abs(1 - 3 * v * (v + smooth.TAIL) / (2 + v**2)).max() == pytest.approx(smooth.SPREAD, rel=1e-6)
    for loss in (0.01, 2.0):
        beta, shift = smooth.split(loss)
        assert beta * smooth.SPREAD + shift * smooth.STEEPEST == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("multiplier", [0.3, 1.0, 4.0, 60.0])
def test_the_gaussian_event_that_is_charged_dominates_the_release(multiplier):
    loss, half = smooth.loss_of(multiplier), 0.5 / multiplier
    assert loss < float(log_ndtr(half) - log_ndtr(-half)), "rounded down"
    assert pure.as_mu(loss) <= 1 / multiplier * (1 + 2e-9)
    assert pure.as_mu(loss) == pytest.approx(1 / multiplier, rel=1e-6)
    for epsilon in (0.0, 0.3 * loss, 0.9 * loss):
        dominated = delta(EpsilonDeltaDpEvent(loss, 0.0), epsilon)
        assert dominated <= delta(dpa.GaussianDpEvent(multiplier), epsilon) * (1 + 1e-6)


def coin(u):
    return int(u * 2**256).to_bytes(32, "little")


def test_noise_is_student_s_raised_by_its_quantile():
    scale = 2.0**70
    for u in (1e-6, 0.03, 0.2, 0.5, 0.8, 0.99, 1 - 1e-9):
        wanted = float(student.ppf(u, 2)) + smooth.TAIL
        assert smooth.raised(0, scale, coin(u)) / scale == pytest.approx(wanted, rel=1e-6, abs=1e-12)
    assert smooth.raised(10**9, 1.0, coin(0.5)) == 10**9 + 3  # 2.92, rounded up
    assert smooth.raised(7, 0.0, coin(0.9)) == 7
    assert smooth.raised(7, 5.0, bytes(32)) < -(10**30) and smooth.raised(7, 5.0, b"\xff" * 32) > 10**30


def test_the_released_number_lies_below_the_truth_as_often_as_stated():
    """Exactly at the quantile; and 4,000 draws of the operating system's bits follow the distribution (false failure 1e-6)."""
    assert smooth.raised(100, 5e4, coin(0.0499)) < 100 <= smooth.raised(100, 5e4, coin(0.0501))
    drawn = [smooth.raised(0, 2.0**60, os.urandom(smooth.COIN)) / 2.0**60 - smooth.TAIL for _ in range(4000)]
    assert kstest(drawn, student(2).cdf).pvalue > 1e-6


# -- what the number means -------------------------------------------------------------------------------------------------------
def excess_moment(prices, order, sigma):
    """E exp((order - 1)(L - f)) over an adaptive run of three questions on two bins, real noise, by enumeration.

    The next gap depends on the answers so far; the neighbour has moved a vote in every question.
    """
    total = mp.mpf(0)
    for answers in itertools.product((0, 1), repeat=3):
        p, log_ratio, f = mp.mpf(1), mp.mpf(0), mp.mpf(0)
        for t, answer in enumerate(answers):
            gap = 3 + 2 * sum(answers[:t])
            here, there = (referee.two_bins(g, sigma)[answer] for g in (gap, gap - 2))
            p, log_ratio, f = p * here, log_ratio + mp.log(here / there), f + prices(gap)
        total += p * mp.e ** ((order - 1) * (log_ratio - f))
    return float(total)


@pytest.mark.parametrize(("order", "sigma"), [(2.0, 1.5), (6.0, 2.0), (3.0, 1.0)])
def test_the_sum_of_prices_bounds_the_loss_of_adaptive_runs(order, sigma):
    assert excess_moment(lambda gap: smooth.price(order, sigma, 2, gap), order, sigma) <= 1.0
    assert excess_moment(lambda gap: 0.0, order, sigma) > 1.0  # mutant: answers that cost nothing


def test_the_order_is_chosen_for_clear_votes_and_from_public_values():
    asked = (5200, 5000)
    order = smooth.best_order((600.0, 100.0), 10, (2000,), 1, asked, 1e-5)

    def epsilon(order):
        test, answer = asked[0] * pate2018.threshold(order, 600.0), smooth.price(order, 100.0, 10, 1600)
        return pate2018.epsilon(test + asked[1] * answer, order, 1e-5)

    assert epsilon(order) == min(epsilon(one) for one in pate2018.ORDERS) < 1.0
    assert smooth.own_price(0.1, 10.0) == pytest.approx(0.05) and smooth.own_price(3.0, 10.0) == 3.0
