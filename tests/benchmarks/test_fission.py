"""Two views of one release are independent, and the wrong covariance is caught."""

import math

import numpy as np
import pytest

from benchmarks import fission
from understudy.private import SecureNoise

CELLS = 20_000
SURE = 5.5 / math.sqrt(CELLS)  # correlations of independent numbers stay below it but for 4 in 1e8


def released(scale):
    """Counts with the noise of a fit."""
    exact = np.arange(CELLS) % 1000
    return exact, exact + SecureNoise().draw("gaussian", scale, (CELLS,))


def wrong(counts, deviation, tau, random, step=1.0):
    """Mutant: tau stands where 1 / tau belongs, so that what was added does not cancel the noise."""
    views = fission.split(counts, deviation, tau, random, step)
    return views._replace(second=2.0 * counts - views.first)


def correlation(views, exact):
    return float(np.corrcoef(views.first - exact, views.second - exact)[0, 1])


@pytest.mark.parametrize("tau", [0.5, 1.0, 2.0])
def test_the_views_are_independent_and_have_the_deviations_they_say(tau):
    """False failure: 4e-8 for the correlations, as many for each deviation (its relative error is 1 / sqrt(2 cells))."""
    exact, counts = released(4.0)
    views = fission.split(counts, 4.0, tau, np.random.default_rng(0))
    assert abs(correlation(views, exact)) < SURE
    squares = np.corrcoef((views.first - exact) ** 2, (views.second - exact) ** 2)[0, 1]
    assert abs(squares) < 2.0 * SURE
    for view, deviation in zip(views[:2], views.deviations, strict=True):
        assert np.std(view - exact) == pytest.approx(deviation, rel=5.5 / math.sqrt(2 * CELLS))


def test_a_wrong_covariance_is_caught_and_would_choose_wrongly():
    """With tau = 1/2 the wrong second view keeps a correlation of 0.4; a table that follows the noise then looks nearer to the
    truth than it is: the estimate is off by twice the covariance in every cell."""
    exact, counts = released(4.0)
    right, bad = (make(counts, 4.0, 0.5, np.random.default_rng(0)) for make in (fission.split, wrong))
    assert abs(correlation(bad, exact)) > 5 * SURE
    truth = float(((right.first - exact) ** 2).sum())
    spread = 5.5 * 2.0 * right.deviations[0] * right.deviations[1] * math.sqrt(CELLS)
    assert abs(fission.further(right.first, exact.astype(float), right.second) - truth) < 2.0 * spread
    assert abs(fission.further(bad.first, exact.astype(float), bad.second) - truth) > 2.0 * spread


def test_what_whole_numbers_leave_is_bounded():
    """The bound against the distance itself, by sums over the lattice: e + w of a scale of one step."""
    for scale in (1.0, 1.5, 3.0):
        t, k = np.linspace(-12 * scale, 12 * scale, 40_001), np.arange(-200, 201)
        mass = np.exp(-(k**2) / (2 * scale**2))
        density = (mass / mass.sum())[None, :] * np.exp(-((t[:, None] - k) ** 2) / (2 * fission.ROUGH**2))
        density = density.sum(axis=1) / (fission.ROUGH * math.sqrt(2 * math.pi))
        whole = math.hypot(scale, fission.ROUGH)
        normal = np.exp(-(t**2) / (2 * whole**2)) / (whole * math.sqrt(2 * math.pi))
        distance = 0.5 * float(np.abs(density - normal).sum()) * (t[1] - t[0])
        assert distance <= fission.gap(scale) + 1e-9
    assert fission.gap(3.0) < 1e-14
    assert fission.gap(3.0 / 2**20, 1.0 / 2**20) == pytest.approx(fission.gap(3.0), rel=1e-6)
