"""Exact price of repeated pure differential privacy.

Whatever is e0-DP is dominated by randomised response with Pr[truth] = p = e^e0 / (1 + e^e0) (Kairouz, Oh, Viswanath
2015). Integer Laplace noise of scale 1/e0 on a count of sensitivity 1 *is* randomised response as far as privacy
goes: its trade-off curve has one corner. Real Laplace noise is a little better, so pricing every Laplace answer this
way is safe for both (the privacy-loss distribution of real Laplace noise would under-count integer noise). n answers
give the loss e0 (2K - n) with K ~ Binomial(n, p), hence

    delta(epsilon) = sum over k with e0 (2k - n) > epsilon of Pr[K = k] (1 - e^(epsilon - e0 (2k - n)))

In mixtures with Gaussian noise the n answers are also priced as GDP. Their trade-off curve is a polygon with corners
(Pr[K' >= k], 1 - Pr[K >= k]), K' ~ Binomial(n, 1 - p); Gaussian curves are convex, so lying below the corners is
enough:

    mu_n = max over k of Phi^-1(Pr[K >= k]) - Phi^-1(Pr[K' >= k])

which is 2 Phi^-1(p) for n = 1 and tends to e0 sqrt(n). Corners rarer than 1e-18 are left out, which costs 1e-18 of
delta.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri, ndtri_exp
from scipy.stats import binom

from understudy.accounting import gaussian

RARE = 1e-18
MANY = 20_000
_SLACK = 1e-7  # binomial probabilities of ten million trials are good to about nine digits


def as_mu(loss: float) -> float:
    """mu such that loss-DP implies mu-GDP; rounded up."""
    return -2 * float(ndtri_exp(-np.logaddexp(0.0, loss))) * (1 + 1e-9)


@lru_cache(maxsize=4096)
def mu_many(loss: float, answers: int) -> float:
    """mu such that `answers` adaptive loss-DP answers are mu-GDP together, up to 1e-18 of delta; rounded up.

    Very many answers are taken in blocks of about ten thousand, whose squared mu add up; that costs 1e-4 at most.
    """
    if answers > MANY:
        blocks = math.ceil(answers / 10_000)
        return math.sqrt(blocks) * mu_many(loss, math.ceil(answers / blocks))
    truth = 1 / (1 + math.exp(-loss))
    single = math.sqrt(answers) * as_mu(loss)
    low, high = binom.ppf(RARE, answers, 1 - truth), binom.isf(RARE, answers, truth)
    k = np.arange(max(1, math.floor(low)), min(answers, math.ceil(high)) + 1)
    with np.errstate(invalid="ignore"):  # infinite on both sides: not usable below
        steps = _quantile(k, answers, truth) - _quantile(k, answers, 1 - truth)
    # the rarest corners have lost digits and are within the margin that RARE leaves out
    usable = (binom.sf(k - 1, answers, 1 - truth) > RARE) & (binom.cdf(k - 1, answers, truth) > RARE)
    if not usable.any():
        return single
    return min(single, float(steps[usable].max()) * (1 + 1e-7))


def _quantile(k: NDArray[np.int64], answers: int, truth: float) -> NDArray[np.float64]:
    """Phi^-1(Pr[K >= k]), from whichever tail is small."""
    upper, lower = binom.sf(k - 1, answers, truth), binom.cdf(k - 1, answers, truth)
    result: NDArray[np.float64] = np.where(upper < 0.5, ndtri(upper), -ndtri(lower))
    return result


def log_delta(loss: float, answers: int, epsilon: float) -> float:
    """log delta of `answers` adaptive answers, each loss-DP; rounded up."""
    if answers * loss <= epsilon:
        return -math.inf
    first = math.floor((epsilon / loss + answers) / 2) + 1
    first = max(0, min(first - 1, answers))  # one more term than needed: its weight is clipped at zero
    middle = answers / (1 + math.exp(-loss))
    spread = math.sqrt(answers * math.exp(-loss)) / (1 + math.exp(-loss))
    last = min(answers, math.ceil(max(middle, first) + 40 * spread + 60))
    k = np.arange(first, last + 1)
    gap = np.maximum(loss * (2.0 * k - answers) - epsilon, 0.0)
    with np.errstate(divide="ignore"):
        terms = binom.logpmf(k, answers, 1 / (1 + math.exp(-loss))) + np.log(-np.expm1(-gap))
    return gaussian.log_sum(terms) + _SLACK


def delta(loss: float, answers: int, epsilon: float) -> float:
    """Exact delta, rounded up; for very many answers the GDP bound."""
    if answers > MANY:
        whole = 0.0 if answers * loss <= epsilon else 1.0
        return min(whole, gaussian.delta(mu_many(loss, answers), epsilon) + RARE * answers / 1000)
    return min(1.0, math.exp(log_delta(loss, answers, epsilon)))


def epsilon(loss: float, answers: int, delta: float) -> float:
    """Exact epsilon, rounded up; for very many answers the GDP bound, then within 1e-4 of it."""
    if loss <= 0 or delta >= 1:
        return 0.0
    if answers > MANY and delta > RARE * answers / 100:
        return min(answers * loss, gaussian.epsilon(mu_many(loss, answers), delta - RARE * answers / 1000))
    if delta <= 0:
        return answers * loss
    target = math.log(delta)
    if log_delta(loss, answers, 0.0) <= target:
        return 0.0
    high = answers * loss * (1 - 1e-12)
    if log_delta(loss, answers, high) > target:
        return answers * loss
    root = brentq(lambda e: log_delta(loss, answers, e) - target, 0.0, high, xtol=1e-13, rtol=1e-12, maxiter=500)
    return min(answers * loss, float(root) * (1 + 1e-9) + 1e-12)
