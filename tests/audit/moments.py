"""The moments accountant of PATE written from the papers, to judge `understudy.audit.recount` by.

Papernot et al. 2017, arXiv:1610.05755 (LNMax): noise Lap(1/gamma) on every vote count, the largest count wins. gamma
is the *inverse* scale; PATE-GAN writes Lap(lambda) and then uses lambda as gamma. One answer has the log moments

    alpha(l) <= 2 gamma^2 l (l + 1)                  (Theorem 2, whatever the votes)
    alpha(l) <= log((1-q) ((1-q)/(1 - e^(2 gamma) q))^l + q e^(2 gamma l))     (Theorem 3)
        only if q < (e^(2 gamma) - 1) / (e^(4 gamma) - 1), q >= Pr[answer is not the plurality]

and for two classes q <= (2 + gamma gap) / (4 exp(gamma gap)) with gap = |n0 - n1| (Lemma 4). Moments add up over
answers; delta = exp(alpha(l) - l epsilon) gives epsilon = min over l of (alpha(l) + log(1/delta)) / l. PATE-GAN's
Theorem 5 leaves out the condition on q.

Below, wrong versions of the sum, as found in public PATE-GAN implementations (arXiv:2406.13985).
"""

import math
from collections.abc import Callable

from understudy.audit import recount

ORDERS = range(1, 101)
Accountant = Callable[[float, int, float], float]  # gamma, answers, delta


def wrong_answer(gap: float, gamma: float) -> float:
    """Bound on the probability that two noisy counts come out in the wrong order."""
    return (2 + gamma * abs(gap)) / (4 * math.exp(gamma * abs(gap)))


def moment(order: int, gamma: float, q: float) -> float:
    """alpha(order) of one answer, in logs; Theorem 3 only where its condition holds."""
    bound = 2 * gamma**2 * order * (order + 1)
    if not 0 < q < math.expm1(2 * gamma) / math.expm1(4 * gamma):
        return bound
    first = math.log1p(-q) + order * (math.log1p(-q) - math.log1p(-math.exp(2 * gamma) * q))
    second = math.log(q) + 2 * gamma * order
    top = max(first, second)
    return min(bound, top + math.log(math.exp(first - top) + math.exp(second - top)))


def problems(accountant: Accountant) -> list[str]:
    """Where an accountant of undecided votes differs from Theorem 2, minimised over the orders from its formula."""
    found = []
    for gamma, answers, delta in [(0.01, 1000, 1e-5), (0.05, 100, 1e-5), (0.2, 50, 1e-6), (1.0, 3, 1e-5)]:
        said = accountant(gamma, answers, delta)
        exact = min((answers * 2 * gamma**2 * o * (o + 1) + math.log(1 / delta)) / o for o in ORDERS)
        if said < exact * (1 - 1e-9):
            found.append(f"under-counts at {gamma, answers, delta}: {said} < {exact}")
        if said > exact * (1 + 1e-9):
            found.append(f"over-counts at {gamma, answers, delta}: {said} > {exact}")
    return found


def ours(gamma: float, answers: int, delta: float) -> float:
    return recount.published_epsilon(_moments(gamma, answers), delta)


def _moments(gamma: float, answers: int) -> list[float]:
    return recount.published_moments({0: answers}, gamma)


def order_off_by_one(gamma: float, answers: int, delta: float) -> float:
    """Moments of order l - 1 paired with the order l: the index of an array that starts at zero."""
    return recount.published_epsilon([0.0, *_moments(gamma, answers)[:-1]], delta)


def missing_log(gamma: float, answers: int, delta: float) -> float:
    """1/delta in the place of log(1/delta): over-counts, and the budget is wasted."""
    return min((alpha + 1 / delta) / order for alpha, order in zip(_moments(gamma, answers), ORDERS, strict=True))


def multiplies_by_the_order(gamma: float, answers: int, delta: float) -> float:
    """Multiplication instead of division."""
    return min((alpha - math.log(delta)) * o for alpha, o in zip(_moments(gamma, answers), ORDERS, strict=True))


def adds_the_log(gamma: float, answers: int, delta: float) -> float:
    """log(delta) added instead of taken away."""
    return min((alpha + math.log(delta)) / o for alpha, o in zip(_moments(gamma, answers), ORDERS, strict=True))


def inverse_scale_confused(gamma: float, answers: int, delta: float) -> float:
    return ours(1 / gamma, answers, delta)


def counts_one_vote_only(gamma: float, answers: int, delta: float) -> float:
    """One vote moves two counts; this forgets one of them."""
    return ours(gamma / 2, answers, delta)


WRONG = [
    order_off_by_one,
    missing_log,
    multiplies_by_the_order,
    adds_the_log,
    inverse_scale_confused,
    counts_one_vote_only,
]
