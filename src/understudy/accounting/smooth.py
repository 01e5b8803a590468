"""The data-dependent price of a run's arg-max answers, sanitised by smooth sensitivity.

After Papernot et al. 2018 (arXiv:1802.08908, Theorem 6, Algorithms 3 to 5). `pate2018.data_dependent` says what an answer
cost *given these votes*. That number is private. Here it becomes one that may be published: an upper bound, with noise scaled
to how much the price could change near these votes (Nissim, Raskhodnikova, Smith 2007).

**Price of one answer.** Let g be the gap between the two largest counts of B bins. With integer noise of scale sigma >= 1 a
rival that is g votes behind wins or ties with probability at most theta erfc((g - 1) / (2 sigma)) / 2, where theta = 1 + 2.01
e^(-pi^2 sigma^2): by Poisson summation the difference of two integer Gaussians is w with probability at most theta times the
density of N(0, 2 sigma^2) at w, and each term of the tail is below the integral over the step before it. Its Renyi price
whatever the votes is that of real noise (Canonne, Kamath, Steinke 2020), which is all that Theorem 6 needs besides. So

    q(g) = (B - 1) theta erfc((g - 1) / (2 sigma)) / 2
    F(g) = the bound of Theorem 6 at q(g); a / sigma^2 where one of its conditions fails.

With two bins, or equal rivals, this is the paper's q up to that one vote; otherwise it is at most B - 1 times larger. In
return everything is a function of one integer that one vote moves by at most 2: the paper's B_U(q(g)) and B_L(q(g)) are q(g -
2) and q(g + 2), and no monotonicity (its conditions C5 and C6) has to be checked. F is rounded up to a grid, so the sums
below are exact.

**Price of a run.** Hold the answers z fixed. Which questions were asked and answered is part of z. Tests of consensus are
priced whatever the votes were, a / (2 sigma_test^2) each, which needs no sanitising. Ensemble c has cost f_c = its tests +
sum_t F(g_t); a unit has votes in at most m = `touched` ensembles, so f is the sum of the m largest f_c.

**What f means.** Let L be the log-likelihood ratio of z between this table and any one neighbour. Given what was answered
before, each answer is F(g_t)-RDP from this table's side, so E exp((a - 1)(L - f)) <= 1 over the noise of the run (order a
fixed before the first question), and by Markov's inequality

    Pr[ L > f + log(1 / delta) / (a - 1) ] <= delta.

That is a statement about runs on this one table. It is **not** differential privacy, which is about all tables.

**Sensitivity.** With z fixed a unit's teachers may change their votes in every question, so |f(x) - f(x')| is at most the sum
over its m ensembles and over t of |F(g_t) - F(g'_t)|, where |g_t - g'_t| <= 2. Over tables at distance d gaps move by 2 d at
most. So

    A_d = sum of the m largest of   sum_t  max { |F(u) - F(v)| : |u - v| <= 2, |u - g_t| <= 2 d }

is at least the local sensitivity of every table at distance d, and A_d(x) <= A_{d+1}(x') for neighbours. Therefore

    S = max_d e^(-beta d) A_d        satisfies   S >= local sensitivity,   S(x) <= e^beta S(x').

**Release.** Y = f + (S / s)(T + t) with T of Student's distribution with two degrees of freedom and Pr[T <= t] = 1 - `MISS`,
so that Y >= f with that probability although S stays private. Moving the centre by at most S(x) changes log densities by at
most (3 sqrt(2) / 4) s, the steepest slope of T's; changing the scale by a factor e^(+-beta) changes them by at most c beta,

    c = sup_v | 1 - 3 v (v + t) / (2 + v^2) | = 1/2 + 3/2 sqrt(1 + t^2 / 2).

So the release, after z, is pure (c beta + (3 sqrt(2) / 4) s)-DP. Half of epsilon goes to each term.

The paper adds Gaussian noise instead (GNSS, Theorem 23). Its Renyi price at order a needs beta < 1 / (2 a) and has no place
in a ledger of Gaussian and pure events; a pure price goes into any ledger, is mu-GDP (`loss_of`), and costs no delta.
"""

import math
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from understudy.accounting import pate2018
from understudy.accounting.budget import Real

Ints = NDArray[np.int64]

PRICE_STEPS = 1 << 20  # steps of the grid in the price a / sigma^2 of one answer
MISS = 0.05  # how often the released number lies below the true one
TAIL = (1 - 2 * MISS) / math.sqrt(2 * MISS * (1 - MISS))  # t: the quantile of T, 2.92
STEEPEST = 3 * math.sqrt(2) / 4
SPREAD = 0.5 + 1.5 * math.sqrt(1 + TAIL**2 / 2)  # c
REACH = 10_000  # distances that are looked at one by one; beyond, the largest step of F stands in
TYPICAL = 0.8  # gap, as a share of the teachers, for which the order is chosen: nine of ten agree
LEAST = sys.float_info.min  # that S can be; the noise is then the sign of T + t
COIN = 32  # bytes of randomness of one release
_DIGITS = 192  # of T, binary


# -- the price of one answer -------------------------------------------------------------------------------------------------
def log_wrong(gap: int, bins: int, sigma: Real) -> float:
    """log of q(gap): how often integer noise makes another bin win than the first of the largest; 0 where nothing is known."""
    if gap < 1 or sigma < 1:
        return 0.0
    more = math.log(bins - 1) + math.log1p(2.01 * math.exp(-((math.pi * sigma) ** 2)))
    return min(pate2018.log_wrong_answer((gap - 1, 0), sigma) + more, 0.0)


def price(order: Real, sigma: Real, bins: int, gap: int) -> float:
    """F(gap): Renyi price of one arg-max whose two largest counts are `gap` votes apart. Private, like the gap."""
    return pate2018.data_dependent(order, sigma, log_wrong(gap, bins, sigma))


def price_table(order: Real, sigma: Real, bins: int, teachers: int) -> Ints:
    """F(0..teachers) in steps of a / sigma^2 / PRICE_STEPS, rounded up. Public: no vote is in it."""
    flat = pate2018.gnmax(order, sigma)
    steps = [math.ceil(price(order, sigma, bins, gap) / flat * PRICE_STEPS + 1e-3) for gap in range(teachers + 1)]
    return np.minimum(np.asarray(steps, np.int64), PRICE_STEPS)


def consensus_price(sigma_test: Real, sigma_answer: Real) -> int:
    """The price of one test of consensus in the same steps, at any order; rounded up."""
    return math.ceil(PRICE_STEPS * sigma_answer**2 / (2 * sigma_test**2))


# -- its sum, and how far that can move --------------------------------------------------------------------------------------
def largest(parts: Ints, touched: int) -> int:
    """The sum of the `touched` largest: what one unit can be charged for."""
    return int(np.sort(parts)[-touched:].sum())


def total(table: Ints, gaps: Ints, tests: Ints, test: int, touched: int) -> int:
    """f: `gaps[c, g]` answers of ensemble c had gap g, and `tests[c]` tests were asked there."""
    return largest(gaps @ table + tests * test, touched)


def local_sensitivities(table: Ints, gaps: Ints, touched: int) -> list[int]:
    """A_0, A_1, ... up to a distance from which A no longer grows."""
    step = np.maximum(_within_two(table, np.maximum) - table, table - _within_two(table, np.minimum))
    found = []
    for _ in range(min(-(-len(table) // 2), REACH)):
        found.append(largest(gaps @ step, touched))
        step = _within_two(step, np.maximum)
    most = int(step.max(initial=0))
    return [*found, largest(gaps.sum(axis=1) * most, touched)]


def smooth(local: Sequence[int], beta: Real) -> float:
    """S = max_d e^(-beta d) A_d, and never 0: where votes are very clear floating point would make it that for one of two
    neighbours alone, and a number without noise is told from one with any. A constant beneath is as smooth as S."""
    return max(LEAST, *(math.exp(-beta * distance) * here for distance, here in enumerate(local)))


def _within_two(values: Ints, best: np.ufunc) -> Ints:
    """The best of the values at most two places away."""
    found = values.copy()
    for shift in (1, 2):
        found[shift:] = best(found[shift:], values[:-shift])
        found[:-shift] = best(found[:-shift], values[shift:])
    return found


# -- the release ---------------------------------------------------------------------------------------------------------------
def loss_of(multiplier: Real) -> float:
    """The pure epsilon that is dominated by `GaussianDpEvent(multiplier)`; rounded down, by far more than what rounding S costs.

    Pure epsilon is dominated by randomised response, which is mu-GDP with e^epsilon / (1 + e^epsilon) = Phi(mu / 2).
    """
    half = 0.5 / multiplier
    return float(log_ndtr(half) - log_ndtr(-half)) * (1 - 1e-9)


def split(loss: Real) -> tuple[float, float]:
    """beta and s of a release of this pure epsilon."""
    return loss / 2 / SPREAD, loss / 2 / STEEPEST


def raised(value: int, scale: Real, coin: bytes) -> int:
    """value + scale (T + t), rounded up, T from the coin's bits in integer arithmetic.

    T = (2 u - 1) / sqrt(2 u (1 - u)) for u uniform, here the middle of one of 2^256 cells: probabilities of sets of results are
    off by less than 2^-100. Rounding an integer plus noise is rounding the noisy number: no more is shown than by real noise.
    """
    bits = 8 * len(coin)
    place = 2 * int.from_bytes(coin, "little") + 1  # u = place / 2^(bits + 1)
    side = place - (1 << bits)
    size = math.isqrt(((2 * side * side) << (2 * _DIGITS)) // (place * ((1 << bits + 1) - place)))
    noise = (size if side > 0 else -size) + (int(TAIL * 2**60) << (_DIGITS - 60))
    numerator, denominator = float(scale).as_integer_ratio()
    return value - (-numerator * noise // (denominator << _DIGITS))


# -- what it says ----------------------------------------------------------------------------------------------------------------
def renyi(steps: Real, order: Real, sigma_answer: Real) -> float:
    """Steps of the grid as a Renyi price of this order."""
    return steps * pate2018.gnmax(order, sigma_answer) / PRICE_STEPS


def own_price(loss: Real, order: Real) -> float:
    """Renyi price of the release itself: pure epsilon is epsilon^2 / 2-zCDP (Bun, Steinke 2016)."""
    return min(loss, order * loss**2 / 2)


def best_order(
    sigmas: tuple[Real, Real],
    bins: int,
    teachers: Sequence[int],
    touched: int,
    asked: tuple[Real, Real],
    delta: Real,
) -> float:
    """The order at which tests and answers (`sigmas`, `asked`), on clear votes, convert to the smallest epsilon.

    From public values only, and before the first question: see "What f means".
    """
    (sigma_test, sigma_answer), (tests, answered) = sigmas, asked

    def epsilon(order: float) -> float:
        test = tests * pate2018.threshold(order, sigma_test)
        parts = sorted(
            test + answered * price(order, sigma_answer, bins, math.floor(TYPICAL * count)) for count in teachers
        )
        return pate2018.epsilon(math.fsum(parts[-touched:]), order, delta)

    return min(pate2018.ORDERS, key=epsilon)
