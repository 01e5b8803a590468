"""The price of noisy gradients, against dp-accounting used directly and against integration from the definition."""

import dp_accounting as dpa
import numpy as np
import pytest

from understudy.accounting import Budget, epsilon, noise_scale
from understudy.private.mechanisms.noisy_gradient import NoisyGradient

CASES = [(0.01, 1.1, 400), (0.05, 2.0, 300), (0.2, 4.0, 100), (0.5, 8.0, 60), (0.05, 0.7, 30)]
DELTA = 1e-5


def mechanism(rate, sigma):
    return NoisyGradient((), (), rate, sigma)


@pytest.mark.parametrize(("rate", "sigma", "rounds"), CASES)
def test_price_agrees_with_the_library(rate, sigma, rounds):
    ours = epsilon(mechanism(rate, sigma).event(rounds), DELTA)
    single = dpa.PoissonSampledDpEvent(rate, dpa.GaussianDpEvent(sigma))
    accountant = dpa.pld.PLDAccountant(value_discretization_interval=1e-4)
    theirs = accountant.compose(single, rounds).get_epsilon(DELTA)
    assert ours == pytest.approx(theirs, rel=0.01)


def composed_delta(rate, sigma, rounds, target, removed):
    """delta at `target` after `rounds` answers, from the densities: the loss of one answer on a fine grid of losses (rounded to
    the nearest point, so neither up nor down), its distribution convolved with itself by Fourier transform.
    """
    x, width = np.linspace(-10 * sigma, 10 * sigma + 1, 400_001, retstep=True)
    bell = lambda centre: np.exp(-((x - centre) ** 2) / (2 * sigma**2)) / (sigma * np.sqrt(2 * np.pi))  # noqa: E731
    without, within = bell(0.0), (1 - rate) * bell(0.0) + rate * bell(1.0)
    upper, lower = (within, without) if removed else (without, within)
    loss, mass = np.log(upper) - np.log(lower), upper * width
    half, step = 2**18, 2e-4
    table = np.zeros(2 * half)
    place = np.rint(loss / step).astype(int)
    inside = np.abs(place) < half
    np.add.at(table, place[inside] % (2 * half), mass[inside])
    total = np.fft.irfft(np.fft.rfft(table) ** rounds, 2 * half)
    losses = step * np.where(np.arange(2 * half) < half, np.arange(2 * half), np.arange(2 * half) - 2 * half)
    above = losses > target
    return float((total[above] * -np.expm1(target - losses[above])).sum())


@pytest.mark.parametrize(("rate", "sigma", "rounds"), CASES)
def test_price_agrees_with_numerical_integration(rate, sigma, rounds):
    """Not below the true epsilon (delta there is at most the target, to the 0.2 % of the grid), and within 1 % of it."""
    said = epsilon(mechanism(rate, sigma).event(rounds), DELTA)
    worst = lambda target: max(composed_delta(rate, sigma, rounds, target, r) for r in (True, False))  # noqa: E731
    assert worst(said) <= DELTA * 1.002
    assert worst(said / 1.01) > DELTA


def test_the_judge_notices_a_wrong_price():
    """Forgetting one round in twenty, or the sample's rate, is outside the tolerance."""
    rate, sigma, rounds = 0.05, 2.0, 300
    for wrong in (mechanism(rate, sigma).event(rounds * 19 // 20), mechanism(0.9 * rate, sigma).event(rounds)):
        said = epsilon(wrong, DELTA)
        assert max(composed_delta(rate, sigma, rounds, said, r) for r in (True, False)) > DELTA * 1.05


@pytest.mark.parametrize("target", [0.1, 1.0, 10.0])
@pytest.mark.parametrize(("rate", "rounds"), [(0.02, 500), (0.3, 40)])
def test_calibration_spends_the_budget_and_no_more(target, rate, rounds):
    scale = noise_scale(Budget(target, DELTA), lambda s: [mechanism(rate, s).event(rounds)])
    spent = epsilon(mechanism(rate, scale).event(rounds), DELTA)
    assert 0.99 * target <= spent <= target
