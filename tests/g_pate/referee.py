"""Slow values straight from the definitions, to judge the fast ones by. Nothing here imports understudy."""

import itertools
import math
from collections.abc import Callable, Sequence

import mpmath as mp
import numpy as np
from scipy.special import ndtr


def argmax_probabilities(votes: Sequence[float], sigma: float) -> np.ndarray:
    """Pr[argmax_i n_i + N(0, sigma^2) = i], each by one integral over the winner's noisy count (trapezoids: exact to rounding
    for such smooth integrands)."""
    x, step = np.linspace(min(votes) - 12 * sigma, max(votes) + 12 * sigma, 6001, retstep=True)
    below = {j: ndtr((x - n) / sigma) for j, n in enumerate(votes)}
    density = [np.exp(-0.5 * ((x - n) / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi)) for n in votes]
    others = [np.prod([below[j] for j in below if j != i], axis=0) for i in below]
    return np.array([step * (here * rest).sum() for here, rest in zip(density, others, strict=True)])


def two_bins(gap: float, sigma: float) -> tuple[mp.mpf, mp.mpf]:
    """The same for two bins, in closed form and 40 digits."""
    with mp.workdps(40):
        wins = mp.ncdf(mp.mpf(gap) / (mp.sqrt(2) * sigma))
        return wins, mp.ncdf(-mp.mpf(gap) / (mp.sqrt(2) * sigma))


def renyi(p: Sequence[float], q: Sequence[float], order: float) -> float:
    terms = [mp.mpf(a) ** order * mp.mpf(b) ** (1 - order) for a, b in zip(p, q, strict=True) if b > 0]
    return float(mp.log(mp.fsum(terms)) / (order - 1))


def neighbours(votes: Sequence[int]) -> list[list[int]]:
    """All votes that differ by one teacher changing its bin."""
    found = []
    for i, j in itertools.permutations(range(len(votes)), 2):
        if votes[i] > 0:
            other = list(votes)
            other[i] -= 1
            other[j] += 1
            found.append(other)
    return found


def theorem_7(order: float, sigma: float, q: mp.mpf) -> float | None:
    """The bound as printed, in 60 digits; None where one of its conditions fails."""
    with mp.workdps(60):
        q, sigma = mp.mpf(q), mp.mpf(sigma)
        mu2 = sigma * mp.sqrt(mp.log(1 / q))
        mu1 = mu2 + 1
        eps1, eps2 = mu1 / sigma**2, mu2 / sigma**2
        if mu2 <= 1 or order > mu1 or q * mp.e**eps2 >= 1:
            return None
        if q > mp.e ** ((mu2 - 1) * eps2) / (mu1 / (mu1 - 1) * mu2 / (mu2 - 1)) ** mu2:
            return None
        a = (1 - q) / (1 - (q * mp.e**eps2) ** ((mu2 - 1) / mu2))
        b = mp.e**eps1 / q ** (1 / (mu1 - 1))
        return float(mp.log((1 - q) * a ** (order - 1) + q * b ** (order - 1)) / (order - 1))


def integer_gaussian(sigma: float) -> dict[int, float]:
    reach = math.ceil(12 * sigma) + 2
    mass = {x: math.exp(-x * x / (2 * sigma**2)) for x in range(-reach, reach + 1)}
    total = math.fsum(mass.values())
    return {x: m / total for x, m in mass.items()}


def paths(
    ask: Callable[[tuple[int, ...]], dict[int, tuple[float, float]] | None],
) -> dict[tuple[int, ...], list[float]]:
    """Probabilities of all transcripts under two neighbouring tables. `ask` maps the answers so far to the next question:
    for each answer its two probabilities; None when the run is over.
    """
    done, open_ = {}, {(): [1.0, 1.0]}
    while open_:
        history, (p, q) = open_.popitem()
        question = ask(history)
        if question is None:
            done[history] = [p, q]
            continue
        for answer, (here, there) in question.items():
            open_[(*history, answer)] = [p * here, q * there]
    return done


def delta(transcripts: dict[tuple[int, ...], list[float]], epsilon: float) -> float:
    """Hockey-stick divergence, the larger of both directions."""
    both = [
        math.fsum(max(0.0, pair[i] - math.exp(epsilon) * pair[1 - i]) for pair in transcripts.values()) for i in (0, 1)
    ]
    return max(both)
