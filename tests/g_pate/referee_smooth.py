"""Smooth sensitivity straight from the definitions and from PATE 2018, slow. Nothing here imports understudy."""

import itertools
import math
from collections.abc import Sequence

import mpmath as mp

from . import referee

T = (
    mp.mpf(9) / 10 / mp.sqrt(2 * mp.mpf("0.05") * mp.mpf("0.95"))
)  # 95 % quantile of Student's T with two degrees of freedom


def log_q(gap: float, bins: int, sigma: float) -> mp.mpf:
    """Union bound for real noise and equal rivals, as PATE 2018 has it."""
    with mp.workdps(60):
        return mp.log(mp.mpf(bins - 1) / 2 * mp.erfc(mp.mpf(gap) / (2 * mp.mpf(sigma))))


def beta(order: float, sigma: float, q: mp.mpf) -> float:
    """Data-dependent RDP, or the data-independent one where a condition fails or where it is smaller."""
    flat = order / sigma**2
    found = referee.theorem_7(order, sigma, q) if q < 1 else None
    return flat if found is None else min(flat, found)


def algorithm_3(order: float, sigma: float, bins: int, q: mp.mpf) -> float:
    """Local sensitivity of one query: the larger of the steps to B_U(q) and B_L(q)."""
    with mp.workdps(60):
        x = mp.erfinv(1 - 2 * q / (bins - 1))
        up, down = (mp.mpf(bins - 1) / 2 * mp.erfc(x + step / mp.mpf(sigma)) for step in (-1, 1))
        return max(beta(order, sigma, up) - beta(order, sigma, q), beta(order, sigma, q) - beta(order, sigma, down))


def wrong(gap: int, sigma: float) -> float:
    """Pr[a rival `gap` votes behind wins or ties], integer noise."""
    mass = referee.integer_gaussian(sigma)
    return math.fsum(p * q for x, p in mass.items() for y, q in mass.items() if y - x >= gap)


def all_votes(teachers: int, bins: int) -> list[tuple[int, ...]]:
    return [v for v in itertools.product(range(teachers + 1), repeat=bins) if sum(v) == teachers]


def gap(votes: Sequence[int]) -> int:
    first, second = sorted(votes)[-1:-3:-1]
    return first - second


def smooth(table: Sequence[int], gaps: Sequence[int], rate: float) -> float:
    """max_d e^(-rate d) (bound on the local sensitivity of tables at distance d), gaps moving by 2 per step; one ensemble."""
    top = len(table) - 1

    def near(at: int, by: int) -> range:
        return range(max(at - by, 0), min(at + by, top) + 1)

    def step(at: int) -> int:
        return max(abs(table[at] - table[v]) for v in near(at, 2))

    return max(
        math.exp(-rate * d) * sum(max(step(u) for u in near(g, 2 * d)) for g in gaps) for d in range(top // 2 + 2)
    )


def cdf(x: float) -> mp.mpf:
    """Of Student's T with two degrees of freedom."""
    return mp.mpf(1) / 2 + mp.mpf(x) / (2 * mp.sqrt(2 + mp.mpf(x) ** 2))


def loss(here: tuple[int, float], there: tuple[int, float], span: int, shift: mp.mpf = T) -> float:
    """Largest |log ratio| of Pr[ceil(value + scale (T + shift)) = y] over integers y and tails, for two (value, scale)."""
    worst = mp.mpf(0)
    low, high = min(here[0], there[0]) - span, max(here[0], there[0]) + span

    def below(side: tuple[int, float], y: int) -> mp.mpf:
        return cdf(mp.mpf(y - side[0]) / side[1] - shift)

    with mp.workdps(30):
        a, b = [below(here, y) for y in range(low, high + 1)], [below(there, y) for y in range(low, high + 1)]
        pairs = [(a[0], b[0]), *((a[i] - a[i - 1], b[i] - b[i - 1]) for i in range(1, len(a))), (1 - a[-1], 1 - b[-1])]
        for p, q in pairs:
            worst = max(worst, abs(mp.log(p / q)))
    return float(worst)
