"""A privacy filter: questions whose price depends on earlier answers, under a total fixed in the plan.

Confident-GNMax first asks whether there is consensus and asks for the arg-max only then, so what a run costs depends on its own
(public) answers. Adding up what was spent and stopping in time needs a theorem. Ours is about Gaussian differential privacy
(Smith, Thakurta 2022, arXiv:2210.17520; Koskela, Tobaben, Honkela 2023, arXiv:2209.15596):

    **If question t, chosen with its noise from the answers before it, is mu_t-GDP, the number of questions is finite, and
    sum_t mu_t^2 <= mu^2 on every path of answers, then all answers together are mu-GDP.**

Proof, backwards: claim that whatever was answered so far, what is still to come is b-GDP with b^2 = mu^2 - (spent so far). When
nothing is left to ask this is so. Otherwise the next question is m-GDP with an m known from the answers so far, m <= b; after it,
by induction, the rest is sqrt(b^2 - m^2)-GDP *for each* of its answers. Composition of trade-off functions (Dong, Roth, Su
2022, Theorem 4) needs no more than that, and gives G_m (x) G_sqrt(b^2 - m^2) = G_b. At the start b = mu. QED.

Nothing is lost against a fixed list of questions, and there is no order to fix in advance as in the Renyi filter (Feldman, Zrnic
2021, arXiv:2008.11193); `benchmarks/g_pate_rounds.py` compares the two.

**How the ledger sees it.** One unit is the event `GaussianDpEvent(z)`, mu_1 = `lattice.mu_one(z)`. A question that costs u
units has noise large enough that its mu^2 is at most u mu_1^2 (`noise_for`). The plan announces N units; every chunk of rounds
charges its share of them before it runs; the mechanism answers only from units that were charged. So at any moment, whatever
was answered, what was spent is at most what the ledger holds, and the certificate's N mu_1^2 bounds the whole run. Units that
were charged and not needed are lost, which is on the safe side.
"""

import math

from understudy.accounting import lattice
from understudy.accounting.budget import Real
from understudy.errors import UsageError


def noise_for(unit: Real, units: int, sensitivity: Real) -> float:
    """Smallest scale of integer noise (in votes) at which a question of this L2 sensitivity costs `units` units.

    A unit is `GaussianDpEvent(unit)`. The answer sigma satisfies sensitivity mu_one(sigma) <= sqrt(units) mu_one(unit), exactly.
    """
    if not (unit > 0 and units >= 1 and sensitivity > 0):
        raise UsageError(f"unit={unit}, units={units} and sensitivity={sensitivity} must be positive")
    allowed = math.sqrt(units) * lattice.mu_one(unit) / sensitivity
    if not math.isfinite(allowed):
        raise UsageError("so little noise bounds nothing: lower epsilon, or ask more questions")
    high = sensitivity * unit / math.sqrt(units)  # right for real noise; small integers need a little more, or less
    low = high / 2
    while lattice.mu_one(high) > allowed:
        high *= 1.5
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if lattice.mu_one(middle) > allowed else (low, middle)
    return high


def units_between(sigma_test: Real, sigma_answer: Real) -> int:
    """What an arg-max of noise `sigma_answer` costs in units of a threshold test of noise `sigma_test`, rounded up."""
    return max(math.ceil(2 * (sigma_test / sigma_answer) ** 2 - 1e-9), 1)
