"""The three risks of the Article 29 Working Party (opinion 05/2014), each with a bound that follows from (epsilon, delta).

Let M be the fit, D and D' tables that differ in one unit, and S any set of outputs: P[M(D) in S] <= e^eps P[M(D') in S] + delta.

*Singling out* (Cohen and Nissim 2020). An attacker sees the output, writes down a predicate, and wins if it fits exactly one
unit. Let the units be independent draws from a population in which predicates have weight at most w. For unit i, the chance that
the predicate fits it is at most e^eps w + delta, because from a table without i it would be w. The sum over n units:
at most e^eps n w + n delta, against n w (1 - w)^(n-1) without any output.

*Linkability.* Linking two records of a unit needs to know that the unit is in the table. The best test for membership with
false-alarm rate a has power at most min(e^eps a + delta, 1 - e^-eps (1 - delta - a)); and the posterior odds of membership
grow by at most the factor e^eps (up to probability delta).

*Inference.* Guessing a secret value of a unit with prior probability p: with the unit in the table at most
min(1, e^eps p + delta), where p is the chance of somebody who holds the same output of a fit WITHOUT that unit. What follows from
others (smoking causes disease) is not limited, because it would be learned without the unit as well.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from understudy.accounting.attacker import best_true_positive_rate, best_true_positive_rate_gaussian

ALARMS = (0.001, 0.01, 0.1)
PRIORS = (0.01, 0.1, 0.5)
LARGE = 0.01  # units times delta from which on the bound on singling out needs a word
NEGLIGIBLE = 1e-6  # expected number of units that a very specific predicate fits


def power(certificate: Mapping[str, Any], alarms: float) -> float:
    """Of the best membership test at a rate of false alarms; the Gaussian curve where it applies, else (epsilon, delta)."""
    claim = certificate["claim"]
    simple = best_true_positive_rate(claim["epsilon"], claim["delta"], alarms)
    if certificate["mu"] is None:
        return simple
    return min(simple, best_true_positive_rate_gaussian(certificate["mu"], alarms))


def guess(epsilon: float, delta: float, prior: float) -> float:
    """Largest chance of guessing a secret value whose chance without the unit is `prior`."""
    return min(1.0, math.exp(min(epsilon, 700.0)) * prior + delta, 1 - math.exp(-epsilon) * (1 - delta - prior))


def isolation(epsilon: float, delta: float, fits: float, rows: int) -> float:
    """Largest chance of isolating a unit by a predicate that fits `fits` of `rows` units on average."""
    return min(1.0, math.exp(min(epsilon, 700.0)) * fits + rows * delta)


def page(certificate: Mapping[str, Any]) -> str:
    """The three risks as Markdown."""
    claim = certificate["claim"]
    epsilon, delta = claim["epsilon"], claim["delta"]
    rows = certificate["schema"].get("rows")
    sizes = [rows] if rows else [1_000, 100_000]
    lines = [
        "# Three risks, and what the guarantee says about each",
        "",
        f"Guarantee: epsilon {epsilon:g}, delta {delta:g}; the unit is {claim['unit']}. The risks are those of opinion",
        "05/2014 of the Article 29 Working Party. Each figure is an upper bound for every attacker, whatever they know.",
        "",
        "## Singling out",
        "",
        "Finding a description that fits exactly one unit. Where units are independent draws from a population, one that fits "
        f"{NEGLIGIBLE:g} units of such a table on average isolates one with a chance of at most",
        "",
        *(
            f"- {percent(isolation(epsilon, delta, NEGLIGIBLE, size))} in a table of {size:,} units"
            + ("" if rows else " (the number of units is not public)")
            for size in sizes
        ),
        *_weak(delta, sizes),
        "",
        "against about one in a million without the release. Vaguer descriptions isolate by chance, with or without it.",
        "",
        "## Linkability",
        "",
        "Telling that a known unit is in the table, which linking needs.",
        "",
        "| false alarms | found at most | found by guessing |",
        "| --- | --- | --- |",
        *(f"| {alarms:.1%} | {percent(power(certificate, alarms))} | {alarms:.1%} |" for alarms in ALARMS),
        "",
        f"The odds that a unit is in the table grow by a factor of at most {math.exp(min(epsilon, 700.0)):.3g}.",
        "",
        "## Inference",
        "",
        "Guessing a value of a unit. Compared with somebody who sees what would have been released without that unit:",
        "",
        "| chance without the unit | at most with it |",
        "| --- | --- |",
        *(f"| {prior:.0%} | {percent(guess(epsilon, delta, prior))} |" for prior in PRIORS),
        "",
        "What is true of people in general can be learned, and is learned without the unit as well: no useful release",
        "prevents it, and the guarantee does not claim to.",
        "",
        "## What this page does not say",
        "",
        "Whether the result is anonymous in the sense of a law is for the authority and the holder to judge, case by case.",
        f"For a group of g units (a family) epsilon counts g times: {2 * epsilon:g} for two, {4 * epsilon:g} for four.",
        *(f"- {text}" for text in certificate["not_covered"]),
        "",
    ]
    return "\n".join(lines)


def _weak(delta: float, sizes: Sequence[int]) -> list[str]:
    """Where delta, not epsilon, decides the bound, the reader must know why it is so large."""
    if all(delta * size < LARGE for size in sizes):
        return []
    return [
        "",
        f"These figures are units times delta ({delta:g}), the worst that a promise of this form allows; the noise does better. "
        "They fall with delta: choose it well below 1 / the number of units.",
    ]


def percent(rate: float) -> str:
    """Rounded up: a limit must not be understated."""
    return f"{min(100.0, math.ceil(rate * 1e5) / 1e3):g} %"
