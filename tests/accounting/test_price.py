"""Prices against the slow referee, against dp_accounting, and as functions."""

import math
import time

import dp_accounting as dpa
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.accounting import EpsilonDeltaDpEvent, delta, epsilon, gaussian, lattice, pure
from understudy.accounting.price import gaussian_mu
from understudy.accounting.sampled import addition_delta, removal_delta
from understudy.errors import UsageError

from . import referee

G, L = dpa.GaussianDpEvent, dpa.LaplaceDpEvent
few = settings(max_examples=25, deadline=None, derandomize=True)


def times(event: dpa.DpEvent, count: int) -> dpa.DpEvent:
    return dpa.SelfComposedDpEvent(event, count)


def poisson(rate: float, noise: float) -> dpa.DpEvent:
    return dpa.PoissonSampledDpEvent(rate, G(noise))


# --- constants ---


@pytest.mark.parametrize(("e", "mu"), [(1.0, 0.2681), (0.1, 0.03252), (10.0, 2.0004)])
def test_largest_mu_at_one_in_a_hundred_thousand(e, mu):
    assert gaussian.mu(e, 1e-5) == pytest.approx(mu, rel=2e-4)
    assert gaussian.epsilon(gaussian.mu(e, 1e-5), 1e-5) == pytest.approx(e, rel=1e-7)


def test_noise_for_one_real_answer():
    assert 1 / gaussian.mu(1.0, 1e-5) == pytest.approx(3.7306, abs=1e-4)


def test_ten_thousand_answers_need_noise_of_373_votes():
    assert epsilon(times(G(373.1), 10_000), 1e-5) == pytest.approx(1.0, rel=1e-3)


# --- never below the referee, within 1 % ---


@pytest.mark.parametrize(
    ("mu", "d"), [(0.03, 1e-5), (0.2681, 1e-5), (0.2681, 1e-12), (2.0, 0.1), (2.0, 1e-9), (9.0, 1e-5)]
)
def test_gaussian_formula_against_integration(mu, d):
    assert referee.verdict(referee.real_gaussian(mu), gaussian.epsilon(mu, d), d, 1 + 1e-6) == "sound"


def test_referee_sums_equal_the_joint_tables():
    """The one step the referee takes for granted, without it: two answers, all pairs of results."""
    noise = referee.discrete_gaussian(0.8, 20)
    for e in (0.1, 1.0, 3.0):
        joint = referee.joint_delta([(noise, 1), (noise, 1)], e)
        assert referee.gaussian_answers(0.8, 2)(e) == pytest.approx(joint, rel=1e-12)


@pytest.mark.parametrize(
    ("sigma", "answers", "d"), [(2.5, 3, 1e-5), (2.5, 60, 1e-5), (3.7306, 1, 1e-5), (9.0, 40, 1e-9)]
)
def test_events_of_unknown_grid_are_safe_and_within_a_percent(sigma, answers, d):
    said = epsilon(times(G(sigma), answers), d)
    assert referee.verdict(referee.gaussian_answers(sigma, answers), said, d) == "sound"
    assert said >= dpa.get_epsilon_gaussian(sigma / math.sqrt(answers), d)  # real noise is covered by the same event


@pytest.mark.parametrize("shifts", [(1, 1), (2, 1), (3,), (1, 1, 1)])
@pytest.mark.parametrize("sigma", [0.7, 1.5])
def test_vector_answers_are_covered_by_their_norm(shifts, sigma):
    """An integer vector moves by any shift of the stated L2 norm; all are under one price."""
    norm = math.sqrt(sum(s * s for s in shifts))
    reach = 14 if len(shifts) > 2 else 40
    noise = referee.discrete_gaussian(sigma, min(reach, int(14 * sigma) + 4))
    for e in (0.0, 0.5, 2.0, 5.0):
        true = referee.joint_delta([(noise, s) for s in shifts], e)
        assert true <= delta(G(sigma / norm), e) * (1 + 1e-9)


def test_mixed_integer_noise_is_covered():
    """Two sigmas: no common lattice."""
    tables = [(referee.discrete_gaussian(1.1, 25), 1), (referee.discrete_gaussian(2.7, 50), 1)]
    for e in (0.1, 0.5, 1.0, 2.0, 4.0):
        true = referee.joint_delta(tables, e)
        assert true <= delta([G(1.1), G(2.7)], e)
    said = epsilon([G(1.1), G(2.7)], 1e-5)
    assert referee.verdict(lambda e: referee.joint_delta(tables, e), said, 1e-5, 1.05) == "sound"  # sigma 1.1 is coarse


def test_the_supremum_of_one_answer_is_at_the_centre():
    """The equation of `lattice`, over all corners that matter."""
    for sigma in np.geomspace(0.05, 2000, 60):
        reach = math.ceil(9 * sigma)
        x = np.arange(-reach - math.ceil(6 * sigma) - 40, 1)
        log_mass = -(x.astype(float) ** 2) / (2 * sigma**2)
        log_cdf = np.logaddexp.accumulate(log_mass)
        log_total = np.logaddexp(log_cdf[-1], log_cdf[-2])  # everything up to 0, and its mirror image without 0
        z = lattice.ndtri_exp((log_cdf - log_total)[x >= -reach - 1])
        assert np.diff(z).max() <= lattice.mu_one(float(sigma)) * (1 + 1e-9)


@pytest.mark.parametrize(("loss", "answers", "d"), [(0.7, 1, 1e-5), (0.1, 60, 1e-6), (2.0, 5, 1e-3), (0.02, 500, 1e-9)])
def test_pure_answers_against_the_referee(loss, answers, d):
    true = referee.pure_answers(loss, answers)
    assert referee.verdict(true, epsilon(times(L(1 / loss), answers), d), d, 1 + 1e-5) == "sound"
    assert true(gaussian.epsilon(pure.mu_many(loss, answers), d)) <= d  # the GDP reading covers it too


def test_many_pure_answers_are_read_as_gaussian_unless_delta_is_tiny():
    """The Gaussian reading leaves out corners of 1e-18 each, which a delta below them cannot afford."""
    loss, answers = 1e-3, pure.MANY + 10_000
    tiny = pure.epsilon(loss, answers, 1e-17)
    assert tiny < answers * loss and pure.log_delta(loss, answers, tiny) == pytest.approx(math.log(1e-17), abs=1e-4)
    usual = pure.epsilon(loss, answers, 1e-5)
    assert math.log(1e-5) - 2e-3 < pure.log_delta(loss, answers, usual) <= math.log(1e-5)


def test_at_their_plain_sum_pure_answers_lose_nothing():
    """In binary numbers the sum is exact, so equality is no matter of rounding."""
    assert delta([L(2.0), L(4.0)], 0.75) == 0.0 < delta([L(2.0), L(4.0)], 0.74)
    assert pure.epsilon(0.5, 20, 0.0) == 10.0


@pytest.mark.parametrize(("loss", "answers"), [(0.7, 1), (2.0, 2), (2.0, 5), (0.5, 20), (0.1, 60), (3.0, 7)])
def test_gaussian_reading_of_pure_answers_is_the_definition(loss, answers):
    wanted = referee.pure_mu(loss, answers, pure.RARE)
    assert wanted * (1 - 1e-12) <= pure.mu_many(loss, answers) <= wanted * (1 + 1e-6)


def test_integer_laplace_noise_is_randomised_response():
    noise = referee.discrete_laplace(2.0, 200)
    for e in (0.0, 0.2, 0.4, 0.499):
        true = referee.shifted_delta(noise, 1, e)
        assert true == pytest.approx(referee.pure_answers(0.5, 1)(e), rel=1e-9)
        assert delta(L(2.0), e) == pytest.approx(true, rel=1e-6)


def test_two_strengths_of_laplace_noise_against_the_referee():
    tables = [(referee.discrete_laplace(3.0, 130), 1), (referee.discrete_laplace(5.0, 200), 1)]
    said = epsilon([L(3.0), L(5.0)], 1e-2)
    assert referee.verdict(lambda e: referee.joint_delta(tables, e), said, 1e-2) == "sound"


@pytest.mark.parametrize(
    "groups", [[(0.005, 90), (1 / 300, 60)], [(0.5, 20), (0.02, 300)], [(2.0, 4), (0.1, 100)], [(4.0, 2), (1.5, 3)]]
)
def test_mixtures_of_pure_answers_are_sound_and_the_grid_costs_little(groups):
    said = epsilon([times(L(1 / loss), answers) for loss, answers in groups], 1e-6)
    assert referee.verdict(referee.mixed_pure_answers(groups), said, 1e-6, 1.005) == "sound"


@pytest.mark.parametrize(("rate", "noise"), [(0.1, 1.0), (0.01, 0.7), (0.6, 2.5)])
def test_sampled_curves_against_integration(rate, noise):
    remove, add = referee.sampled_gaussian(rate, noise)
    for e in (-0.02, 0.0, 0.05, 0.5):
        grid = np.array([e])
        assert removal_delta(rate, noise, grid)[0] == pytest.approx(remove(e), rel=1e-6, abs=1e-12)
        assert addition_delta(rate, noise, grid)[0] == pytest.approx(add(e), rel=1e-6, abs=1e-12)
    said = epsilon(poisson(rate, noise), 1e-4)
    assert max(remove(said), add(said)) <= 1e-4 <= max(remove(said / 1.01), add(said / 1.01))


# --- against the library, where it says the same thing ---


@pytest.mark.parametrize(
    "events",
    [
        [times(poisson(0.01, 1.0), 1000)],
        [G(20.0), times(poisson(0.02, 1.5), 300)],
        [times(poisson(0.2, 4.0), 50), times(poisson(0.05, 2.0), 50)],
    ],
    ids=["one", "with Gaussian", "two"],
)
def test_sampled_prices_agree_with_the_library(events):
    accountant = dpa.pld.PLDAccountant()
    for event in events:
        accountant.compose(event)
    library = accountant.get_epsilon(1e-5)
    assert library * 0.999 <= epsilon(events, 1e-5) <= library * 1.01


def test_gaussian_path_agrees_with_the_library():
    library = dpa.pld.PLDAccountant(value_discretization_interval=1e-5).compose(G(50.0), 200)
    assert epsilon(times(G(50.0), 200), 1e-6) == pytest.approx(library.get_epsilon(1e-6), rel=2e-4)


def test_composition_error_stays_under_its_bound():
    """`price._FFT` is added to delta for rounding in the library's transforms; here the truth is known exactly."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    from understudy.accounting import price

    for answers in (100, 10_000):
        step = math.sqrt(0.02 * 0.27**2 / answers)
        step = min(step, 0.27 / 400)
        one = pld.from_gaussian_mechanism(math.sqrt(answers) / 0.27, value_discretization_interval=step)
        composed = one.self_compose(answers)
        allowed = price._FFT + price._FFT_PER_ANSWER * answers
        for e in (2.1, 2.4, 2.8):  # exact delta from 3e-16 down to 2e-26: what is seen is error
            assert math.exp(gaussian.log_delta(0.27, e)) - float(composed.get_delta_for_epsilon(e)) < allowed / 2


def test_composition_error_counts_every_answer_that_is_composed():
    """Long runs of pure answers enter as one Gaussian and add nothing."""
    from understudy.accounting import price

    events = [G(9.0), times(L(5.0), 300), times(L(60.0), price._MANY), times(poisson(0.1, 2.0), 40)]
    kinds = price._sort(price._atoms(events))
    assert price._fft_error(kinds) == pytest.approx(price._FFT + 340 * price._FFT_PER_ANSWER, rel=1e-12, abs=0)


# --- mixtures ---


@pytest.mark.parametrize("share", [2.5, 4.0])
def test_what_composition_may_be_wrong_by_is_taken_off_the_target(share):
    """Delta a few times as large as the error of the transform: epsilon is for less than that, not for more."""
    events, d = [poisson(0.2, 2.0)], share * 1.001e-14
    assert delta(events, epsilon(events, d)) <= d


def test_where_delta_is_hardly_more_than_the_error_of_composition_sampling_gains_nothing():
    events, d = [poisson(0.2, 2.0)], 1.5e-14
    assert epsilon(events, d) == pytest.approx(gaussian.epsilon(0.5, d), rel=1e-9)
    assert epsilon(events, 2.5e-14) < 0.8 * epsilon(events, d)


def test_lost_delta_is_taken_off_the_target():
    plain = epsilon(G(5.0), 0.9e-5 / (1 - 1e-6))  # 1 - (1 - d)(1 - 1e-6) = 1e-5
    mixed = epsilon([G(5.0), EpsilonDeltaDpEvent(0.0, 1e-6)], 1e-5)
    assert mixed == pytest.approx(plain, rel=1e-8)
    assert math.isinf(epsilon([G(5.0), EpsilonDeltaDpEvent(0.0, 1e-5)], 1e-5))
    assert epsilon(EpsilonDeltaDpEvent(0.5, 1e-6), 1e-6) == pytest.approx(0.5)
    assert math.isinf(epsilon(EpsilonDeltaDpEvent(0.5, 5e-16), 0.0))  # it was taken for nothing
    assert epsilon(times(EpsilonDeltaDpEvent(0.0, 1e-6), 3), 1e-5) == 0.0


def test_lost_delta_is_added_to_what_the_rest_loses():
    """1 - (1 - d)(1 - lost), since everything is lost in one release, or in the rest, or in both."""
    rest = delta(G(5.0), 0.5)
    for lost in (1e-6, 0.3, 1.0):
        said = delta([G(5.0), EpsilonDeltaDpEvent(0.0, lost)], 0.5)
        assert said == pytest.approx(1 - (1 - rest) * (1 - lost), rel=1e-9)
    assert delta(times(EpsilonDeltaDpEvent(0.0, 0.1), 2), 0.5) == pytest.approx(1 - 0.9**2)


def test_epsilon_and_delta_are_inverse():
    for events in ([times(G(2.0), 5)], [G(3.0)], [times(L(8.0), 20)], [G(9.0), times(L(50.0), 30)]):
        e = epsilon(events, 1e-5)
        assert delta(events, e) == pytest.approx(1e-5, rel=1e-2)


def test_prices_of_nothing_and_of_everything():
    assert epsilon([], 1e-5) == 0.0 and delta([], 0.0) == 0.0
    assert epsilon(dpa.NoOpDpEvent(), 1e-5) == 0.0
    assert math.isinf(epsilon(dpa.NonPrivateDpEvent(), 1e-5)) and delta(dpa.NonPrivateDpEvent(), 5.0) == 1.0
    assert math.isinf(epsilon(G(0.0), 1e-5)) and math.isinf(epsilon(L(0.0), 1e-5))
    assert math.isinf(epsilon(poisson(0.1, 0.0), 1e-5))
    assert epsilon(poisson(0.0, 1.0), 1e-5) == 0.0
    assert gaussian_mu([G(2.0), G(3.0)]) is not None and gaussian_mu([L(2.0)]) is None
    assert gaussian.epsilon(math.inf, 1e-5) == math.inf and gaussian.delta(math.inf, 50.0) >= 1.0


@pytest.mark.parametrize("noise", [1e-300, 0.01, 0.02, 0.035, 0.0399, 0.04, 0.05])
def test_samples_with_hardly_any_noise_have_a_price(noise):
    """Too little for any budget; a search for the right amount may still come by."""
    sampled, whole = epsilon(poisson(0.1, noise), 1e-5), epsilon(G(noise), 1e-5)
    assert epsilon(poisson(0.1, noise + 0.01), 1e-5) <= sampled <= whole and sampled > 200
    assert delta(poisson(0.1, noise), 10.0) > 0.01


def test_a_full_sample_is_no_sample():
    assert epsilon(times(poisson(1.0, 4.0), 9), 1e-5) == pytest.approx(dpa.get_epsilon_gaussian(4 / 3, 1e-5), rel=1e-6)


@pytest.mark.parametrize(
    "bad",
    [G(math.nan), G(-1.0), L(-2.0), EpsilonDeltaDpEvent(1.0, 2.0), dpa.ZCDpEvent(0.1), times(G(1.0), -1)],
    ids=str,
)
def test_senseless_events_are_refused(bad):
    with pytest.raises(UsageError):
        epsilon(bad, 1e-5)


# --- as functions ---

noises, counts, deltas = st.floats(0.2, 300), st.integers(1, 3000), st.floats(1e-12, 0.1)


@few
@given(noises, counts, deltas, st.floats(1.001, 3))
def test_more_noise_costs_less(sigma, answers, d, factor):
    for kind in (G, L):
        assert epsilon(times(kind(sigma * factor), answers), d) <= epsilon(times(kind(sigma), answers), d) * (1 + 1e-6)


@few
@given(noises, counts, deltas)
def test_more_answers_cost_more(sigma, answers, d):
    for kind in (G, L):
        more, fewer = epsilon(times(kind(sigma), answers + 1), d), epsilon(times(kind(sigma), answers), d)
        assert more >= fewer * (1 - 1e-4)


@few
@given(noises, counts, deltas, st.floats(1.01, 100))
def test_less_delta_costs_more_epsilon(sigma, answers, d, factor):
    for kind in (G, L):
        event = times(kind(sigma), answers)
        assert epsilon(event, d / factor) >= epsilon(event, d) * (1 - 1e-9)


@few
@given(st.lists(st.floats(1.0, 100), min_size=1, max_size=4), deltas)
def test_composition_is_at_most_the_sum_and_at_least_each_part(sigmas, d):
    parts = [G(s) for s in sigmas]
    whole = epsilon(parts, d)
    assert whole >= max(epsilon(part, d) for part in parts) * (1 - 1e-9)
    assert whole <= sum(epsilon(part, d / len(parts)) for part in parts) * (1 + 1e-9) + 1e-12
    assert gaussian_mu(parts) == pytest.approx(math.sqrt(sum(gaussian_mu(part) ** 2 for part in parts)))


@few
@given(st.floats(0.3, 12), st.integers(1, 12), st.sampled_from([1e-3, 1e-5, 1e-8]))
def test_integer_answers_are_never_under_counted_and_priced_within_a_percent(sigma, answers, d):
    """As `price` says: within a percent from sigma 4 on, and from 2.7 on for ten or more answers."""
    true = referee.gaussian_answers(sigma, answers)
    slack = 1.01 if sigma >= 4 or (sigma >= 2.7 and answers >= 10) else math.inf
    assert referee.verdict(true, epsilon(times(G(sigma), answers), d), d, slack) == "sound"


def test_prices_do_not_depend_on_how_a_run_is_cut_into_chunks():
    whole = epsilon(times(G(3.0), 100), 1e-5)
    chunks = [times(G(3.0), 10)] * 9 + [dpa.ComposedDpEvent([times(G(3.0), 4), times(times(G(3.0), 2), 3)])]
    assert epsilon(chunks, 1e-5) == whole


def test_ten_million_answers_are_priced_at_once():
    start = time.process_time()
    assert epsilon(times(G(11_800.0), 10**7), 1e-5) == pytest.approx(1.0, rel=1e-3)
    assert epsilon(times(L(11_800.0), 10**7), 1e-5) == pytest.approx(1.0, rel=1e-3)
    assert time.process_time() - start < 2.0
    assert delta(times(G(11_800.0), 10**7), 1.0) == pytest.approx(1e-5, rel=1e-2)
    assert delta(times(L(11_800.0), 10**7), 1.0) == pytest.approx(1e-5, rel=1e-2)
    assert delta(times(L(1e9), 10**7), 0.01) == 0.0  # the plain sum of the losses
