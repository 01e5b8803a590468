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

**Bias.** A fit that cuts counts off at zero, shrinks them or clips rows is off on average, and a copy, fitted in the same way to
counts drawn around the model, is off once more: the model is to the copies what the real rows are to the model (the parametric
bootstrap; Davison and Hinkley 1997, 2.2). With q_0 the mean answer of tables drawn from the model itself (`own`), d = qbar - q_0
is what a fit like this one is off by, at the model. It is taken as far as it stands out from its own chance, of variance
e = b / m + (variance between the own answers) / (their number): d (1 - 2 e / d^2)+, as in `measure.shrinkage.shrink_alone`.

How far qbar is from the truth depends on the kind of bias. One that is the same everywhere: 2 d. A fit that keeps a part k of
an effect D, as for small groups whose empty cells fill with noise: the model has k D, copies k^2 D, so that d = -k (1 - k) D
and qbar is off by -(1 - k^2) D = d (1 + k) / k, which is 2 d where all is kept and 4 d where a third is. The interval allows for
d to 4 d: it is moved by -2.5 d and widened by 1.5 |d|. Where less than a third of an effect is kept that is too little, and where
little of it is left d cannot be told from chance.

**What the model does not know.** Copies do not show what is wrong in all of them alike. An answer is, but for small terms, a mean
over rows of some function of a row (its influence function) whose deviation is s = sqrt(n v), n rows and ordinary variance v.
If the model has columns independent which are not, with a correlation rho between them, the answer moves by up to about
rho s. Where no released table counts the columns of an answer together, intervals are `widened` by `UNKNOWN` s on either side;
by sqrt(k) `UNKNOWN` s where k pairs of the columns, as of a regression, are not counted: correlations that know nothing of each
other add up by their squares.
Where one does, but counts a number in a few cells, the model has columns independent within a cell; of the number's deviation a
part k is within cells, and intervals are widened by `WITHIN` k s. (For the difference of two groups' means, with a share p of
rows in the first, s is that of the number over sqrt(p (1 - p)), and a correlation rho within cells moves the difference by
exactly rho k s.)
Where shrinkage hides what differs between classes, in `mean-embedding`, the sum over a class of a value of deviation 1 may be off
by h (1.96 deviations of its noise): with a share p of the n rows in the class that is a correlation of h / (n sqrt(p (1 - p))),
taken for the class where it is largest.

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
from understudy.measure.shrinkage import shrink_alone

About = Literal["population", "table"]

# Chosen, not derived: hours per week and sex of Adult, which `mst` does not count together there, have a correlation of 0.23
# (benchmarks/coverage.py asks for it; docs/inference.md has the coverage).
UNKNOWN = 0.25
WITHIN = 0.1  # the same within a cell, where cells have taken up most of the dependence; chosen likewise
OFF = (1.0, 4.0)  # times the bias of copies from their model: how far their mean may be from the truth, see above


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
    bias: float = 0.0  # how far copies are from the model on average; the estimate is moved against it
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
    own: Sequence[float] | np.ndarray | None = None,
) -> Combined:
    """Combine the answers of all copies. `ratio`: rows of a copy over rows of the table; `copies` draws as many by default.

    `chance`: how much of the sampling variance of rows shows between copies (`clique-tree`: 0, marginals: 1, `mean-embedding`:
    1 + rows of a copy over rows that it was simulated from). `own`: estimates on tables of the model itself, with as many rows
    each; without them the bias stays.
    """
    found, spread = np.asarray(estimates, float), np.asarray(variances, float)
    m = len(found)
    if m < 2 or found.shape != spread.shape:
        raise UsageError("combine: give an estimate and a variance for each of at least two copies")
    if not (np.isfinite(found).all() and np.isfinite(spread).all() and (spread >= 0).all()):
        raise UsageError(
            "combine: an estimate is not a number, or a variance is negative; some copy has no rows to answer from"
        )
    if about not in ("population", "table") or not ratio > 0 or not 0 < level < 1 or not 0 <= chance < math.inf:
        raise UsageError(
            "combine: about is 'population' or 'table', ratio is above 0, level between 0 and 1 and chance not negative"
        )
    between, within = float(found.var(ddof=1)), float(spread.mean())
    privacy = max(between - chance * within, 0.0)
    truncated = between < chance * within
    sampling = ratio * within if about == "population" else 0.0
    variance = privacy + sampling + between / m
    random = between / m if truncated else (1.0 + 1.0 / m) * between
    freedom = (m - 1) * min(variance / random, 1e9) ** 2 if random > 0 else math.inf  # tiny ones would overflow
    half = math.sqrt(variance) * float(student.ppf(0.5 + level / 2, freedom))
    bias = bias_of(found, own)
    centre = float(found.mean()) - 0.5 * sum(OFF) * bias
    combined = Combined(
        estimate=centre,
        variance=variance,
        low=centre - half,
        high=centre + half,
        level=level,
        noise=1.0 - math.sqrt((variance - privacy) / variance) if variance > 0 else 0.0,
        freedom=freedom,
        copies=m,
        truncated=truncated,
        bias=bias,
    )
    return widened(combined, 0.5 * (OFF[1] - OFF[0]) * abs(bias))


def bias_of(estimates: np.ndarray, own: Sequence[float] | np.ndarray | None) -> float:
    """How far copies are from the model that they are copies of, as far as it stands out from chance."""
    alone = np.asarray([] if own is None else own, float)
    if len(alone) < 2 or not np.isfinite(alone).all():
        return 0.0
    off = float(estimates.mean() - alone.mean())
    chance = estimates.var(ddof=1) / len(estimates) + alone.var(ddof=1) / len(alone)
    return float(shrink_alone(np.asarray(off), math.sqrt(chance)))


def widened(found: Combined, allowance: float) -> Combined:
    """The interval with so much more on either side; the part that is privacy noise becomes smaller."""
    half = found.estimate - found.low
    share = half / (half + allowance) if half + allowance > 0 else 1.0
    return replace(found, low=found.low - allowance, high=found.high + allowance, noise=found.noise * share)
