"""Rules that combine the answers of m copies into one answer and its variance.

Q is the quantity in the population, q(D) its estimate on the real rows, with sampling variance U. Copy i has n_i rows drawn
from a model that was fitted to redrawn sums (`Model.copies`), the estimate q_i and its ordinary variance v_i as if its rows
were real. With qbar and vbar the means and b the variance between the q_i,

    E vbar = V        sampling variance of n_i drawn rows
    E b    = P + V    P: what the privacy noise, redrawn, does to the model's answer

    Var(qbar - q(D)) = P + b / m           about the table: privacy noise, and that there are m copies only
    Var(qbar - Q)    = P + U + b / m       about the population; U = r V, r = n_i / n (rows of a copy over rows of the table)

so that

    table         T = (1 + 1/m) b - vbar
    population    T = (1 + 1/m) b - vbar + r vbar          with as many rows as the table (r = 1):  (1 + 1/m) b

**Which published rule is this?** For fully synthetic data Raghunathan, Reiter and Rubin (2003) have T = (1 + 1/m) b - vbar
about the population, and noise-aware inference (Räisä et al. 2023) uses the same. Their copies are drawn from the posterior
of the *population's* parameters, so that their b holds U as well: b = P + U + V. Ours are drawn from what the sums of the
*actual rows* could have been, b has no U, and the same formula is about the table. For the population U has to be put back,
and r vbar estimates it. Using their rule here would give intervals about the population that are too short; a test shows
it.

**Negative variance.** P is estimated by b - vbar, and with few copies that can fall below zero although P cannot. It is
then set to zero, `truncated` says so, and T = [r vbar +] b / m stays positive. That errs towards wider intervals.

**Interval.** Student's t with the degrees of freedom of b, the only part that few copies leave uncertain:
nu = (m - 1) (T / (share of b in T))^2 (Satterthwaite).

**What the model does not know.** Copies do not show what is wrong in all of them alike. An answer is, but for small terms, a mean
over rows of some function of a row (its influence function) whose deviation is s = sqrt(n v), n rows and ordinary variance v.
If the model has columns independent which are not, with a correlation rho between them, the answer moves by up to about
rho s. Where no released table counts the columns of an answer together, intervals are `widened` by `UNKNOWN` s on either side.
Where one does, but counts a number in a few cells, the model has columns independent within a cell; of the number's deviation a
part k is within cells, and intervals are widened by `WITHIN` k s. (For the difference of two groups' means, with a share p of
rows in the first, s is that of the number over sqrt(p (1 - p)), and a correlation rho within cells moves the difference by
exactly rho k s.)

**Rows drawn evenly.** Some generators spread their draws, so that tables of one model differ by less than V: E b = P + cV with
c < 1 (`chance`; 1: rows drawn one by one). The rules hold with c vbar taken off b, and c = 0 takes nothing off: P then
includes what chance there is, and intervals can only be wider. Copies that were fitted to rows drawn from the model
(`mean-embedding`) differ by the sampling of those as well: c > 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.stats import t as student

from understudy.errors import UsageError

About = Literal["population", "table"]

# Chosen, not derived: hours per week and sex of Adult, which `mst` does not count together there, have a correlation of 0.23
# (benchmarks/coverage.py asks for it; docs/inference.md has the coverage).
UNKNOWN = 0.25
WITHIN = 0.1  # the same within a cell, where cells have taken up most of the dependence; chosen likewise


@dataclass(frozen=True)
class Combined:
    """One answer. `noise` is the part of the interval's width that is there because of privacy noise."""

    estimate: float
    variance: float
    low: float
    high: float
    level: float
    noise: float
    freedom: float
    copies: int
    truncated: bool
    remark: str = ""  # what a reader of the numbers should know

    @property
    def error(self) -> float:
        """Standard error."""
        return math.sqrt(self.variance)


def combine(
    estimates: Sequence[float] | np.ndarray,
    variances: Sequence[float] | np.ndarray,
    *,
    about: About = "population",
    ratio: float | int = 1.0,
    level: float = 0.95,
    chance: float = 1.0,
) -> Combined:
    """Combine the answers of all copies. `ratio`: rows of a copy over rows of the table; `copies` draws as many by default.

    `chance`: how much of the sampling variance of rows shows between copies (`clique-tree`: 0, marginals: 1, `mean-embedding`:
    1 + rows of a copy over rows that it was simulated from).
    """
    found, own = np.asarray(estimates, float), np.asarray(variances, float)
    m = len(found)
    if m < 2 or found.shape != own.shape:
        raise UsageError("combine: give an estimate and a variance for each of at least two copies")
    if not (np.isfinite(found).all() and np.isfinite(own).all() and (own >= 0).all()):
        raise UsageError(
            "combine: an estimate is not a number, or a variance is negative; some copy has no rows to answer from"
        )
    if about not in ("population", "table") or not ratio > 0 or not 0 < level < 1 or not 0 <= chance < math.inf:
        raise UsageError(
            "combine: about is 'population' or 'table', ratio is above 0, level between 0 and 1 and chance not negative"
        )
    between, within = float(found.var(ddof=1)), float(own.mean())
    privacy = max(between - chance * within, 0.0)
    truncated = between < chance * within
    sampling = ratio * within if about == "population" else 0.0
    variance = privacy + sampling + between / m
    random = between / m if truncated else (1.0 + 1.0 / m) * between
    freedom = (m - 1) * min(variance / random, 1e9) ** 2 if random > 0 else math.inf  # tiny ones would overflow
    half = math.sqrt(variance) * float(student.ppf(0.5 + level / 2, freedom))
    return Combined(
        estimate=float(found.mean()),
        variance=variance,
        low=float(found.mean()) - half,
        high=float(found.mean()) + half,
        level=level,
        noise=1.0 - math.sqrt((variance - privacy) / variance) if variance > 0 else 0.0,
        freedom=freedom,
        copies=m,
        truncated=truncated,
    )


def widened(found: Combined, allowance: float) -> Combined:
    """The interval with so much more on either side; the part that is privacy noise becomes smaller."""
    half = found.estimate - found.low
    share = half / (half + allowance) if half + allowance > 0 else 1.0
    return replace(found, low=found.low - allowance, high=found.high + allowance, noise=found.noise * share)
