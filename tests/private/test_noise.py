"""The noise has the planned scale, exactly, and cannot be seeded by accident."""

import numpy as np
import pytest
from scipy import stats

from understudy.errors import UsageError
from understudy.private.noise import LARGEST_SCALE, SecureNoise, SeededNoise

ALPHA = 5e-7  # how often a right scale is refused


def chi_square_accepts(draws, sigma, alpha=ALPHA):
    low, high = stats.chi2.ppf([alpha / 2, 1 - alpha / 2], draws.size) * sigma**2
    return low < float((draws.astype(float) ** 2).sum()) < high


def test_gaussian_noise_has_the_planned_scale():
    """False failure 5e-7 (fresh bits each run). A scale wrong by 10 % passes with probability below 1e-6."""
    n, sigma = 20_000, 211.0
    assert chi_square_accepts(SecureNoise().draw("gaussian", sigma, (n,)), sigma)
    low, high = stats.chi2.ppf([ALPHA / 2, 1 - ALPHA / 2], n)
    assert stats.chi2.cdf(high / 1.1**2, n) < 1e-6
    assert stats.chi2.sf(low / 0.9**2, n) < 1e-6


@pytest.mark.parametrize("wrong", [0.9, 1.1, 1 / 211.0], ids=["too small", "too large", "1/scale"])
def test_the_scale_test_rejects_wrong_scales(wrong):
    """Mutants: the scale off by a tenth, and the inverse scale in place of the scale."""
    assert not chi_square_accepts(SecureNoise().draw("gaussian", 211.0 * wrong, (20_000,)), 211.0)


def test_laplace_noise_has_the_planned_scale():
    """E|Z| of the discrete Laplace; normal approximation, false failure 5e-7; misses a 10 % error with probability < 1e-6."""
    n, scale = 20_000, 50.0
    draws = np.abs(SecureNoise().draw("laplace", scale, (n,)))
    p = np.exp(-1 / scale)
    mean = 2 * p / (1 - p**2)
    error = np.sqrt(2 * p / (1 - p) ** 2 - mean**2) / np.sqrt(n)
    tolerance = stats.norm.isf(ALPHA / 2) * error
    assert abs(draws.mean() - mean) < tolerance
    assert stats.norm.sf((0.1 * mean - tolerance) / error) < 1e-6


@pytest.mark.parametrize("source", [SecureNoise(), SeededNoise(1)], ids=["secure", "seeded"])
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_noise_of_next_to_no_scale_is_nothing(source, kind):
    """Noise is added to nothing, not to a number of its own: anything else than 0 has probability below 1e-400."""
    assert not source.draw(kind, 1e-3, (20,)).any()


def test_seeded_laplace_noise_has_the_planned_scale_too():
    """Audits draw it; seeded, so that it never fails by chance. The discrete Laplace of scale 50 has a mean size of 50."""
    assert np.abs(SeededNoise(3).draw("laplace", 50.0, (20_000,))).mean() == pytest.approx(50.0, rel=0.03)


def test_secure_noise_differs_between_runs_and_has_no_seed():
    first, second = (SecureNoise().draw("gaussian", 100.0, (50,)) for _ in range(2))
    assert not np.array_equal(first, second)
    assert SecureNoise().secret(32) != SecureNoise().secret(32)
    assert SecureNoise().void_reason == ""


def test_seeded_noise_is_reproducible_and_says_that_it_voids_the_guarantee():
    a, b = SeededNoise(1).draw("gaussian", 9.0, (5,)), SeededNoise(1).draw("gaussian", 9.0, (5,))
    assert np.array_equal(a, b)
    assert "void" in SeededNoise(1).void_reason


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_noise_never_reaches_the_end_of_64_bits(kind):
    """At the largest scale a number beyond 2^63 has probability below 1e-27; it would be cut off there."""
    assert np.abs(SecureNoise().draw(kind, LARGEST_SCALE, (2000,)).astype(float)).max() < 2.0**62.9
    for scale in (2 * LARGEST_SCALE, 2.0**70, np.inf, np.nan, -1.0):
        with pytest.raises(UsageError, match="64-bit integers; raise epsilon"):
            SecureNoise().draw(kind, scale, (3,))


def test_noise_that_is_cut_off_would_give_an_answer_away(monkeypatch):
    """Mutant: without the limit most noise is the largest or smallest integer, and whoever subtracts that has the truth."""
    monkeypatch.setattr("understudy.private.noise.LARGEST_SCALE", np.inf)
    ends = np.iinfo(np.int64)
    noise = SecureNoise().draw("gaussian", 2.0**75, (200,))
    assert (
        np.isin(noise, [ends.min, ends.max]).sum() > 150
    )  # a Gaussian of that scale is inside with probability below 2^-12
