"""Checks that a price must pass, and the wrong versions that must not.

A price is sound if it is never below the referee and precise if it is within 1 % of it. The wrong versions are the
accountant, noise and delta mistakes found in public PATE-GAN implementations (arXiv:2406.13985), written against our
own functions; `test_mutants.py` shows that every one of them fails a check that the right version passes.
"""

import math
from collections.abc import Callable
from functools import cache

import dp_accounting as dpa

from understudy.accounting import DiscreteGaussianDpEvent, epsilon, pate

from . import referee

# sigma, answers, delta: lattice effects large (first rows) and small (last rows)
GAUSSIAN_GRID = [
    (0.3, 1, 1e-5),
    (0.5, 1, 1e-5),
    (0.5, 1, 1e-2),
    (0.7, 1, 1e-9),
    (0.5, 4, 1e-5),
    (1.0, 1, 1e-5),
    (1.0, 7, 1e-12),
    (1.3, 30, 1e-5),
    (2.0, 3, 1e-3),
    (3.7306, 1, 1e-5),
    (3.7306, 10, 1e-6),
    (10.0, 12, 1e-5),
    (18.0, 12, 0.05),
    (30.0, 9, 1e-5),
]
LAPLACE_GRID = [(0.5, 1, 1e-5), (2.0, 3, 1e-3), (10.0, 100, 1e-5), (30.0, 120, 1e-9)]

Price = Callable[[float, int, float], float]
Truth = Callable[[float, int], Callable[[float], float]]


@cache
def true_gaussian(sigma: float, answers: int) -> Callable[[float], float]:
    return referee.gaussian_answers(sigma, answers)


@cache
def true_laplace(scale: float, answers: int) -> Callable[[float], float]:
    return referee.pure_answers(1 / scale, answers)


def problems(price: Price, truth: Truth, grid: list[tuple[float, int, float]]) -> list[str]:
    """Where a price is too low, or more than 1 % too high."""
    found = [(case, referee.verdict(truth(*case[:2]), price(*case), case[2])) for case in grid]
    return [f"{word} at {case}" for case, word in found if word != "sound"]


def gaussian_price(sigma: float, answers: int, delta: float) -> float:
    return epsilon(dpa.SelfComposedDpEvent(DiscreteGaussianDpEvent(sigma), answers), delta)


def laplace_price(scale: float, answers: int, delta: float) -> float:
    return epsilon(dpa.SelfComposedDpEvent(dpa.LaplaceDpEvent(scale), answers), delta)


# --- wrong prices of Gaussian and Laplace noise ---


def sensitivity_too_small(sigma: float, answers: int, delta: float) -> float:
    """Noise for votes that move by 1, priced as if they moved by 1/2."""
    return epsilon(dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(2 * sigma), answers), delta)


def forgets_one_answer(sigma: float, answers: int, delta: float) -> float:
    return gaussian_price(sigma, max(answers - 1, 1), delta) if answers > 1 else 0.0


def real_noise_assumed(sigma: float, answers: int, delta: float) -> float:
    """The Gaussian formula applied to integer noise: close, and too low at some phases of the lattice."""
    return dpa.get_epsilon_gaussian(sigma / math.sqrt(answers), delta)


def scale_upside_down(scale: float, answers: int, delta: float) -> float:
    """lambda taken as the scale by the noise and as its inverse by the accountant, or the other way round."""
    return laplace_price(1 / scale, answers, delta)


def real_laplace_assumed(scale: float, answers: int, delta: float) -> float:
    """The distribution of real Laplace noise applied to integer noise."""
    accountant = dpa.pld.PLDAccountant().compose(dpa.LaplaceDpEvent(scale), answers)
    return float(accountant.get_epsilon(delta))


WRONG_GAUSSIAN = [sensitivity_too_small, forgets_one_answer, real_noise_assumed]
WRONG_LAPLACE = [scale_upside_down, real_laplace_assumed]


# --- wrong moments accountants ---

Accountant = Callable[[float, int, float], float]


def moments_problems(accountant: Accountant) -> list[str]:
    """Where an accountant differs from Theorem 2 and the pure bound, minimised over the orders from their formulas."""
    found = []
    for gamma, answers, delta in [(0.01, 1000, 1e-5), (0.05, 100, 1e-5), (0.2, 50, 1e-6), (1.0, 3, 1e-5)]:
        said = accountant(gamma, answers, delta)
        one = {o: min(2 * gamma**2 * o * (o + 1), 2 * gamma * o) for o in range(1, 101)}
        exact = min((answers * one[o] + math.log(1 / delta)) / o for o in one)
        if said < exact * (1 - 1e-9):
            found.append(f"under-counts at {gamma, answers, delta}: {said} < {exact}")
        if said > exact * (1 + 1e-9):
            found.append(f"over-counts at {gamma, answers, delta}: {said} > {exact}")
    return found


def _moments(gamma: float, answers: int, shift: int = 0) -> list[float]:
    return [answers * pate.moment(order + shift, gamma) for order in pate.ORDERS]


def order_off_by_one(gamma: float, answers: int, delta: float) -> float:
    """Moments of order l - 1 paired with the order l: the index of an array that starts at zero."""
    return pate.epsilon([answers * (pate.moment(o - 1, gamma) if o > 1 else 0.0) for o in pate.ORDERS], delta)


def missing_log(gamma: float, answers: int, delta: float) -> float:
    """1/delta in the place of log(1/delta): over-counts, and the budget is wasted."""
    return min((alpha + 1 / delta) / order for alpha, order in zip(_moments(gamma, answers), pate.ORDERS, strict=True))


def multiplies_by_the_order(gamma: float, answers: int, delta: float) -> float:
    """Multiplication instead of division."""
    return min((alpha - math.log(delta)) * o for alpha, o in zip(_moments(gamma, answers), pate.ORDERS, strict=True))


def adds_the_log(gamma: float, answers: int, delta: float) -> float:
    """log(delta) added instead of taken away."""
    return min((alpha + math.log(delta)) / o for alpha, o in zip(_moments(gamma, answers), pate.ORDERS, strict=True))


def inverse_scale_confused(gamma: float, answers: int, delta: float) -> float:
    return pate.data_independent(1 / gamma, answers, delta)


def counts_one_vote_only(gamma: float, answers: int, delta: float) -> float:
    """One vote moves two counts; this forgets one of them."""
    return pate.data_independent(gamma / 2, answers, delta)


WRONG_MOMENTS = [
    order_off_by_one,
    missing_log,
    multiplies_by_the_order,
    adds_the_log,
    inverse_scale_confused,
    counts_one_vote_only,
]


# --- wrong deltas ---


def delta_problems(rule: Callable[[int], float]) -> list[str]:
    """A delta for n units must be a probability and below 1/n^1.1, or leaking whole rows would be allowed."""
    sizes = (10, 100, 1024, 50_000, 10**6)
    return [f"delta({n}) = {rule(n)}" for n in sizes if not 0 < rule(n) < n**-1.1]


def delta_by_power(n: int) -> float:
    return 1 / n**1.5


def delta_by_xor(n: int) -> float:
    """`^` is no power in Python."""
    return 1 / (n ^ 2)


def ten_to_the_minus_five_by_xor(n: int) -> float:
    return float(10 ^ -5)


def delta_by_multiplication(n: int) -> float:
    """1 / n * sqrt(n): the root ends up above the line."""
    return 1 / n * math.sqrt(n)


WRONG_DELTAS = [delta_by_xor, ten_to_the_minus_five_by_xor, delta_by_multiplication]
