"""Checks that a price must pass, and the wrong versions that must not.

A price is sound if it is never below the referee and precise if it is within 1 % of it (Gaussian noise below `FINE` steps
of the lattice is priced by its worst phase: sound, not precise). The wrong versions are the
accountant, noise and delta mistakes found in public PATE-GAN implementations (arXiv:2406.13985), written against our
own functions; `test_mutants.py` shows that every one of them fails a check that the right version passes.
"""

import math
from collections.abc import Callable
from functools import cache

import dp_accounting as dpa

from understudy.accounting import epsilon

from . import referee

FINE = 2.5
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
    found = []
    for case in grid:
        precise = 1.01 if grid is LAPLACE_GRID or case[0] >= FINE else math.inf
        found.append((case, referee.verdict(truth(*case[:2]), price(*case), case[2], precise)))
    return [f"{word} at {case}" for case, word in found if word != "sound"]


def gaussian_price(sigma: float, answers: int, delta: float) -> float:
    return epsilon(dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(sigma), answers), delta)


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
