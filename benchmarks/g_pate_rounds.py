"""How many rounds of G-PATE a budget pays for: the sound filter against the paper's data-dependent analysis.

    python -m benchmarks.g_pate_rounds            prints the tables of docs/g-pate.md as Markdown

Reads no data. Columns: every question paid in full; our filter (Gaussian); the Renyi filter at its best order; the paper's
data-dependent analysis, which is no guarantee; the same as its Theorem 2 counts, k questions a round instead of batch x k.
`votes` are the shares of teachers in the two leading bins, the rest is spread over the other eight; how many questions pass the
test follows from them.

A second table: a run that the filter pays for, all its questions with these votes, and `SHARE` of its squared loss for the
sanitised report: what the answers cost given the votes, what the report would say (noise at its median), and the most it can say.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.accounting import Budget, gaussian, pate2018, smooth
from understudy.accounting.budget import Real

BINS = 10
THRESHOLD = 0.5
SHARE = 0.05
VOTES = {"unanimous": (1.0, 0.0), "90 % agree": (0.9, 0.1), "60 % agree": (0.6, 0.2), "no opinion": (0.1, 0.1)}


@dataclass(frozen=True)
class Setting:
    """Appendix A.6 of the paper, and Section 5.1 for the projected dimensions."""

    name: str
    epsilon: float
    teachers: int
    sigma_test: float
    sigma_answer: float
    batch: int
    projected: int

    @property
    def questions(self) -> int:
        return self.batch * self.projected


PUBLISHED = (
    Setting("Kaggle Credit", 1.0, 2100, 1500.0, 600.0, 32, 5),
    Setting("Kaggle Credit", 10.0, 2100, 1500.0, 600.0, 32, 5),
    Setting("MNIST, Fashion-MNIST", 1.0, 4000, 3000.0, 1000.0, 15, 10),
    Setting("MNIST, Fashion-MNIST", 10.0, 2000, 600.0, 100.0, 30, 10),
)


def questions(budget: Budget, sigma_test: Real, sigma_answer: Real, answered: Real) -> float:
    """How many questions a budget pays for when a share `answered` of them finds consensus: `accounting.filter`."""
    cost = 1 / sigma_test**2 + answered * 2 / sigma_answer**2
    return gaussian.mu(budget.epsilon, budget.delta) ** 2 / cost


def renyi_questions(budget: Budget, sigma_test: Real, sigma_answer: Real, answered: Real) -> tuple[float, float]:
    """The same with the Renyi filter, at the order that serves this share best; returns the number and the order."""

    def paid(order: float) -> float:
        cost = pate2018.threshold(order, sigma_test) + answered * pate2018.gnmax(order, sigma_answer)
        return allowance(budget.epsilon, budget.delta, order) / cost

    order = max(pate2018.ORDERS, key=paid)
    return paid(order), order


def published_questions(
    budget: Budget, sigma_test: Real, sigma_answer: Real, votes: Sequence[Real], answered: Real
) -> float:
    """How many questions the papers' data-dependent analysis would allow if all of them had these votes. Not a guarantee."""
    log_q = pate2018.log_wrong_answer(votes, sigma_answer)
    best = 0.0
    for order in pate2018.ORDERS:
        cost = pate2018.threshold(order, sigma_test) + answered * pate2018.data_dependent(order, sigma_answer, log_q)
        best = max(best, (budget.epsilon + math.log(budget.delta) / (order - 1)) / cost)
    return best


def chance_of_consensus(votes: Sequence[Real], needed: Real, sigma_test: Real) -> float:
    """How often a question with these votes passes the threshold test."""
    return 0.5 * math.erfc((needed - max(votes)) / (math.sqrt(2) * sigma_test))


def allowance(budget_epsilon: Real, delta: Real, order: Real) -> float:
    """The largest RDP of this order that still converts to `budget_epsilon`, by the sharper rule

    epsilon = rdp + log((a-1)/a) - (log delta + log a) / (a-1)        (Canonne, Kamath, Steinke 2020, Proposition 12).
    """
    conversion = math.log((order - 1) / order) - (math.log(delta) + math.log(order)) / (order - 1)
    return max(budget_epsilon - conversion, budget_epsilon + math.log(delta) / (order - 1), 0.0)


def spread(shares: tuple[float, float], teachers: int) -> list[float]:
    rest = (1.0 - sum(shares)) / (BINS - 2)
    return [teachers * share for share in (*shares, *[max(rest, 0.0)] * (BINS - 2))]


def row(setting: Setting, name: str) -> str:
    votes = spread(VOTES[name], setting.teachers)
    budget = Budget(setting.epsilon * 0.99, 1e-5)  # one hundredth goes to the class ratio, as in the paper
    answered = chance_of_consensus(votes, THRESHOLD * setting.teachers, setting.sigma_test)
    common = (budget, setting.sigma_test, setting.sigma_answer)
    counts = (
        questions(*common, 1.0),
        questions(*common, answered),
        renyi_questions(*common, answered)[0],
        published_questions(*common, votes, answered),
    )
    cells = [f"{math.floor(count / setting.questions):,}" for count in counts]
    cells.append(
        f"{math.floor(counts[-1] / setting.projected):,}"
    )  # Theorem 2 counts k questions a round, not batch x k
    title = f"{setting.name}, epsilon {setting.epsilon:g}"
    return f"| {title} | {name} | {answered:.0%} | " + " | ".join(cells) + " |"


def table() -> list[str]:
    head = (
        "setting",
        "votes",
        "pass the test",
        "full price",
        "filter",
        "Renyi filter",
        "data-dependent",
        "batch not counted",
    )
    rows = [row(setting, name) for setting in PUBLISHED for name in VOTES]
    return [f"| {' | '.join(head)} |", "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |", *rows]


def report_row(setting: Setting, name: str) -> str:
    votes = spread(VOTES[name], setting.teachers)
    budget, delta = Budget(setting.epsilon * 0.99, 1e-5), 1e-5
    answered = chance_of_consensus(votes, THRESHOLD * setting.teachers, setting.sigma_test)
    sigmas = setting.sigma_test, setting.sigma_answer
    tests = math.floor((1 - SHARE) * questions(budget, *sigmas, answered))
    answers = math.floor(answered * tests)
    order = smooth.best_order(sigmas, BINS, (setting.teachers,), 1, (tests, answers), delta)
    loss = smooth.loss_of(1 / (math.sqrt(SHARE) * gaussian.mu(budget.epsilon, delta)))
    beta, shift = smooth.split(loss)
    prices = smooth.price_table(order, setting.sigma_answer, BINS, setting.teachers)
    gaps = np.zeros((1, setting.teachers + 1), np.int64)
    gaps[0, round(votes[0] - votes[1])] = answers
    paid = tests * smooth.consensus_price(*sigmas)
    value = smooth.total(prices, gaps, np.asarray([tests]), smooth.consensus_price(*sigmas), 1)
    noise = smooth.TAIL * smooth.smooth(smooth.local_sensitivities(prices, gaps, 1), beta) / shift
    most = answers * smooth.PRICE_STEPS + paid
    shown = [
        pate2018.epsilon(smooth.renyi(steps, order, setting.sigma_answer) + smooth.own_price(loss, order), order, delta)
        for steps in (value, min(value + noise, most), most)
    ]
    return f"| {name} | {tests:,} | {answers:,} | {order:g} | " + " | ".join(f"{cell:.2f}" for cell in shown) + " |"


def report_table() -> list[str]:
    """For the one published setting in which votes can lower the price at all."""
    head = ("votes", "tests", "answers", "order", "given the votes", "the report says", "and can say at most")
    rows = [report_row(PUBLISHED[-1], name) for name in VOTES]
    return [f"| {' | '.join(head)} |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: |", *rows]


if __name__ == "__main__":
    sys.stdout.write("\n".join([*table(), "", *report_table()]) + "\n")
