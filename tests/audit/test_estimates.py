"""The bounds hold as often as they say on mechanisms whose epsilon is known, and can tell a large epsilon from a small one."""

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom

from understudy.accounting import gaussian
from understudy.audit.estimates import (
    Claim,
    Errors,
    Rule,
    bayesian,
    best_rule,
    clopper_pearson,
    clopper_pearson_epsilon,
    gaussian_bound,
    gaussian_mu,
    upper_limit,
)
from understudy.audit.game import decide

DELTA = 1e-5


def randomized_response(epsilon, runs, repeats, seed):
    """Error counts of the best test on epsilon-randomized response: both rates are 1 / (1 + e^epsilon)."""
    rng = np.random.default_rng(seed)
    return rng.binomial(runs, 1.0 / (1.0 + math.exp(epsilon)), (2, repeats))


def test_no_errors_in_the_papers_setting_show_what_the_paper_says():
    """Ganev et al. 2025, Section 6.2: 400 + 400 test runs can show about 4.7 at most."""
    assert clopper_pearson(Errors(0, 0, 400), DELTA, 0.05, 0.05).epsilon == pytest.approx(4.68, abs=0.01)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_clopper_pearson_is_rarely_too_high(epsilon):
    """4,000 audits of a mechanism with exactly this epsilon, at 95 %: at most 5 % too high. The share of excesses is at most
    0.05 in expectation (in fact about half); 0.062 would be exceeded with probability below 1e-3 even at 0.05."""
    a, b = randomized_response(epsilon, 400, 4000, seed=1)
    assert (clopper_pearson_epsilon(a, b, 400, 0.0, 0.05) > epsilon).mean() < 0.062


@pytest.mark.parametrize("mu", [0.2681, 1.0, 2.0])
def test_the_gaussian_bound_is_rarely_too_high_and_nearly_tight(mu):
    """As above for mu-GDP, with the best test and with a lopsided one (1,000 audits: 0.07 has probability below 5e-3 even at
    0.05, with a fixed seed); the median is near the truth, so that it can refute."""
    rng = np.random.default_rng(2)
    for shift in (0.0, 0.7):
        a = rng.binomial(2000, ndtr(-mu / 2 - shift), 1000)
        b = rng.binomial(2000, ndtr(-mu / 2 + shift), 1000)
        known = {wrong: gaussian_mu(int(wrong), 4000, 0.05) for wrong in np.unique(a + b)}
        found = np.asarray([known[wrong] for wrong in a + b])
        assert (found > mu).mean() < 0.07
        if shift == 0.0:
            assert np.median(found) > mu - 0.08


def test_a_bayesian_interval_is_not_a_frequentist_bound_and_says_so():
    bound = bayesian(Errors(100, 110, 400), DELTA, 0.95)
    assert not bound.frequentist and bound.epsilon < bound.upper
    assert bound.epsilon < math.log(300 / 100) < bound.upper
    assert bayesian(Errors(100, 110, 400), DELTA, 0.95) == bound
    assert clopper_pearson(Errors(100, 110, 400), DELTA, 0.05, 0.05).epsilon < bound.epsilon


def test_limits_at_the_edges():
    assert upper_limit(400, 400, 0.025) == 1.0
    assert clopper_pearson(Errors(400, 0, 400), DELTA, 0.05, 0.05).epsilon == 0.0
    assert gaussian_bound(Errors(200, 200, 400), DELTA, 0.05, 0.05).epsilon == 0.0
    none = gaussian_bound(Errors(0, 0, 400), DELTA, 0.05, 0.05)
    assert none.epsilon == none.largest > 10


def test_the_gaussian_bound_counts_wrong_guesses_exactly():
    """By definition: at the bound, so few wrong guesses have probability 5 %."""
    mu = gaussian_mu(1772, 4000, 0.05)
    assert binom.cdf(1772, 4000, ndtr(-mu / 2)) == pytest.approx(0.05, abs=1e-6)


def gaussian_runs(mu, runs, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, 1.0, (runs, 1)), rng.normal(mu, 1.0, (runs, 1))


HONEST = Claim(1.0, DELTA, 0.2681)


def outcome(without, with_, claim=HONEST, **more):
    return decide(without, with_, claim=claim, threat="t", attack="a", target="x", **more)


def test_an_honest_claim_is_rarely_refuted():
    """100 audits (forest, three parts, both bounds) of a mechanism exactly as private as it claims. Each is refuted with
    probability at most 5 %, so 14 or more refutations have probability below 5e-4."""
    refuted = sum(outcome(*gaussian_runs(0.2681, 100, seed)).violated for seed in range(8))
    refuted += sum(
        outcome(*((s - 0.13405) * 0.2681 for s in gaussian_runs(0.2681, 200, seed)), learns=False).violated
        for seed in range(92)
    )
    assert refuted < 14


def test_a_false_claim_is_refuted():
    """mu = 2 where 0.27 is claimed: epsilon is 10, not 1. Power above 99.9 % at 300 + 300 runs."""
    found = outcome(*gaussian_runs(2.0, 300, 5))
    assert found.violated and found.bound("clopper-pearson").epsilon > 1.0
    assert found.bound("gaussian").epsilon < gaussian.epsilon(2.0, DELTA)


def test_a_claim_without_mu_is_not_judged_by_the_gaussian_curve():
    found = outcome(*gaussian_runs(2.0, 300, 5), claim=Claim(1.0, DELTA))
    assert (
        found.bound("gaussian") is None
        and found.bound("clopper-pearson").largest > found.bound("clopper-pearson").epsilon
    )


def test_more_attacks_make_every_bound_more_careful():
    runs = gaussian_runs(2.0, 300, 5)
    alone, among_ten = outcome(*runs), outcome(*runs, family=10)
    assert among_ten.bound("clopper-pearson").epsilon < alone.bound("clopper-pearson").epsilon
    assert "hold together" in among_ten.bound("clopper-pearson").detail


def test_an_infinite_claim_cannot_be_violated():
    assert not outcome(*gaussian_runs(5.0, 100, 0), claim=Claim(math.inf, DELTA)).violated


def test_rules_find_the_better_direction():
    low, high = np.arange(100.0), np.arange(100.0) + 1000.0
    assert best_rule(low, high, "gaussian", DELTA, 0.05).errors(low, high) == Errors(0, 0, 100)
    assert best_rule(high, low, "clopper-pearson", DELTA, 0.05).errors(high, low) == Errors(0, 0, 100)
    assert Rule(0.5).errors(np.zeros(3), np.ones(5)) == Errors(0, 0, 3)
