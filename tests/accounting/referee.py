"""Slow prices straight from the definition, to judge the fast ones by.

Nothing here imports understudy. The hockey-stick divergence of two probability tables is summed term by term,

    delta(epsilon) = sum over results of max(0, P - e^epsilon Q),

with mpmath or 80-bit numbers, tables of several answers being built by plain convolution or enumeration. No likelihood
ratio, no Gaussian formula and no transform is used, so a mistake in those cannot hide here.
"""

from collections.abc import Callable

import mpmath as mp
import numpy as np

Table = np.ndarray  # probabilities in extended precision
WIDE = np.longdouble


def discrete_gaussian(sigma: float, reach: int) -> Table:
    """Probabilities at -reach .. reach."""
    x = np.arange(-reach, reach + 1).astype(WIDE)
    mass = np.exp(-(x**2) / (2 * WIDE(sigma) ** 2))
    return mass / mass.sum()


def discrete_laplace(scale: float, reach: int) -> Table:
    x = np.abs(np.arange(-reach, reach + 1)).astype(WIDE)
    mass = np.exp(-x / WIDE(scale))
    return mass / mass.sum()


def summed(single: Table, answers: int) -> Table:
    """Distribution of the sum of independent draws, one convolution after the other."""
    total = np.ones(1, dtype=WIDE)
    for _ in range(answers):
        total = np.convolve(total, single)
    return total


def shifted_delta(noise: Table, shift: int, epsilon: float) -> float:
    """delta between a table and itself moved by `shift`."""
    empty = np.zeros(shift, dtype=WIDE)
    there, here = np.concatenate([empty, noise]), np.concatenate([noise, empty])
    return float(np.maximum(here - np.exp(WIDE(epsilon)) * there, 0).sum())


def gaussian_answers(sigma: float, answers: int) -> Callable[[float], float]:
    """delta(epsilon) of integer Gaussian noise, every answer moved by 1.

    The sum of the answers is a sufficient statistic (both tables are exponential families in it), so the tables of sums
    have the divergence of the tables of all answers; `joint_delta` checks that for two answers without using it.
    """
    table = summed(discrete_gaussian(sigma, int(13 * sigma) + 12), answers)
    return lambda epsilon: shifted_delta(table, answers, epsilon)


def joint_delta(tables: list[tuple[Table, int]], epsilon: float) -> float:
    """delta of independent answers with their own noise and shift, over all combinations of results."""
    here, there = np.ones(1, dtype=WIDE), np.ones(1, dtype=WIDE)
    for noise, shift in tables:
        empty = np.zeros(shift, dtype=WIDE)
        here = np.outer(here, np.concatenate([noise, empty])).ravel()
        there = np.outer(there, np.concatenate([empty, noise])).ravel()
    return float(np.maximum(here - np.exp(WIDE(epsilon)) * there, 0).sum())


def pure_answers(loss: float, answers: int) -> Callable[[float], float]:
    """delta(epsilon) of randomised response, all 2^n results grouped by the number of truths; 50 digits."""

    def delta(epsilon: float) -> float:
        with mp.workdps(50):
            truth = mp.e**loss / (1 + mp.e**loss)
            terms = []
            for k in range(answers + 1):
                here = mp.binomial(answers, k) * truth**k * (1 - truth) ** (answers - k)
                there = mp.binomial(answers, k) * truth ** (answers - k) * (1 - truth) ** k
                terms.append(max(mp.mpf(0), here - mp.e ** mp.mpf(epsilon) * there))
            return float(mp.fsum(terms))

    return delta


def pure_mu(loss: float, answers: int, rare: float) -> float:
    """max over k of Phi^-1(Pr[K >= k]) - Phi^-1(Pr[K' >= k]) over corners more likely than `rare`; 60 digits."""
    with mp.workdps(60):
        truth = mp.e**loss / (1 + mp.e**loss)
        mass = [mp.binomial(answers, k) * truth**k * (1 - truth) ** (answers - k) for k in range(answers + 1)]
        steps = []
        for k in range(1, answers + 1):
            here, there = mp.fsum(mass[k:]), mp.fsum(mass[: answers - k + 1])
            if there > rare and 1 - here > rare:
                steps.append(mp.sqrt(2) * (mp.erfinv(2 * here - 1) - mp.erfinv(2 * there - 1)))
        return float(max(steps))


def mixed_pure_answers(groups: list[tuple[float, int]]) -> Callable[[float], float]:
    """delta(epsilon) of randomised response of several strengths, `groups` being (loss, answers); all pairs of counts."""
    here, there = np.ones(1, dtype=WIDE), np.ones(1, dtype=WIDE)
    for loss, answers in groups:
        truth = 1 / (1 + np.exp(-WIDE(loss)))
        counts = np.ones(1, dtype=WIDE)
        for _ in range(answers):
            counts = np.convolve(counts, np.array([1 - truth, truth]))
        here, there = np.outer(here, counts).ravel(), np.outer(there, counts[::-1]).ravel()
    return lambda epsilon: float(np.maximum(here - np.exp(WIDE(epsilon)) * there, 0).sum())


def real_gaussian(mu: float) -> Callable[[float], float]:
    """delta(epsilon) of N(0, 1) against N(mu, 1), by numerical integration; 30 digits."""

    def delta(epsilon: float) -> float:
        with mp.workdps(30):
            factor, shift = mp.e ** mp.mpf(epsilon), mp.mpf(mu)
            start = shift / 2 - mp.mpf(epsilon) / shift  # where the integrand becomes positive
            points = [start - 30, start - 10, start - 4, start - 1, start]
            return float(mp.quad(lambda x: mp.npdf(x) - factor * mp.npdf(x - shift), points))

    return delta


def sampled_gaussian(rate: float, noise: float) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """delta(epsilon) of one Poisson-sampled answer, for removing and for adding a unit, by the midpoint rule."""
    x, width = np.linspace(-14 * noise, 14 * noise + 1, 400_001, dtype=WIDE, retstep=True)

    def bell(centre: float) -> Table:
        return np.exp(-((x - centre) ** 2) / (2 * WIDE(noise) ** 2)) / (WIDE(noise) * np.sqrt(2 * WIDE(np.pi)))

    out, mixed = bell(0.0), (1 - rate) * bell(0.0) + rate * bell(1.0)

    def remove(epsilon: float) -> float:
        return float(np.maximum(mixed - np.exp(WIDE(epsilon)) * out, 0).sum() * width)

    def add(epsilon: float) -> float:
        return float(np.maximum(out - np.exp(WIDE(epsilon)) * mixed, 0).sum() * width)

    return remove, add


def verdict(delta: Callable[[float], float], said: float, target: float, slack: float = 1.01) -> str:
    """Judge an epsilon without searching for the true one: delta falls with epsilon, so

    said is too low  iff  delta(said) > target,    more than `slack` too high  iff  delta(said / slack) < target.
    """
    if said < 0 or delta(said) > target * (1 + 1e-7):
        return "under-counts"
    if said > 0 and delta(said / slack) < target:
        return "over-counts"
    return "sound"
