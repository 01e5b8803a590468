"""What one answer with integer Gaussian noise costs, as Gaussian differential privacy.

The noise has Pr[x] = exp(-x^2 / (2 sigma^2)) / Z on the integers (Canonne, Kamath, Steinke 2020, arXiv:2004.00010).
Its zCDP equals that of real Gaussian noise, but its (epsilon, delta) curve does not: it may be worse, by the phase of
the lattice.

The trade-off curve of x against x + 1 is a polygon whose corners are (F(t), 1 - F(t - 1)), F the distribution function
of the noise. The curve of N(0, 1) against N(mu, 1) is convex, so it lies below the polygon as soon as it lies below the
corners. Hence an answer of sensitivity 1 is mu-GDP with

    mu_1 = sup over integers t of z(t) - z(t - 1),      z = Phi^-1 of F

and the supremum is at the centre t = 0: mu_1(sigma) = 2 Phi^-1((1 + 1/Z) / 2) = (1 + 1/(24 sigma^2) + ...) / sigma
(checked numerically in the tests over sigma from 0.05 to 2000). Integer vectors of L2 norm at most Delta steps shift
coordinate c by j_c, costing |j_c| mu_1 each, together Delta mu_1(sigma): squares of mu add up. And s mu_1(s) falls with
s, so a release known only by its multiplier m = sigma / Delta with Delta >= 1 step costs at most mu_1(m).
"""

import math

from scipy.special import ndtri_exp

from understudy.accounting.gaussian import SLACK

_WIDTH = 14.0  # standard deviations summed: what lies beyond is below 1e-40 of the sum


def mu_one(sigma: float) -> float:
    """mu of one integer answer of sensitivity 1; rounded up."""
    if sigma < 0.03:  # mu_1 is above 60 here; no budget allows it
        return math.inf
    if sigma < 8:
        tail = math.fsum(math.exp(-x * x / (2 * sigma**2)) for x in range(1, math.ceil(_WIDTH * sigma) + 2))
        return -2 * float(ndtri_exp(math.log(tail) - math.log1p(2 * tail))) * (1 + SLACK)
    # Poisson summation: Z = sigma sqrt(2 pi) to 500 digits; the series of 2 Phi^-1(1/2 + h) keeps them for small h.
    u = 1 / (2 * sigma)
    return 2 * u * (1 + u**2 / 6 + 7 * u**4 / 120 + u**6 / 10) * (1 + SLACK)
