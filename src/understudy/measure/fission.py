"""Two independent views of one release: fit on the first, choose on the second, at no budget.

Let y = x + e be released, e Gaussian of deviation S in every cell. With z ~ N(0, S^2), drawn afterwards and independently,

    y1 = y + tau z,        y2 = y - z / tau,        Cov(y1, y2) = Var(e) - Var(z) = S^2 - S^2 = 0.

(y1, y2) is jointly Gaussian, so the views are independent given x, with variances (1 + tau^2) S^2 and (1 + 1 / tau^2) S^2
(Leiner, Duan, Wasserman, Ramdas 2023; Rasines, Young 2023). For tables a and b made of y1 alone

    |a|^2 - |b|^2 - 2 <a - b, y2>

is therefore an unbiased estimate of |a - x|^2 - |b - x|^2. It is a function of what was released: post-processing, so privacy is
never at stake; only the independence is.

**Noise on whole numbers.** Our noise is a discrete Gaussian of scale s on multiples of a step h, and with it the two views are
not quite independent: given y1, y2 lies on a lattice that y1 decides. So a little Gaussian noise w of deviation r = `ROUGH` h is
added first. The sum e + w has the density

    sum_k exp(-k^2 h^2 / 2 s^2) exp(-(t - k h)^2 / 2 r^2)  ~  exp(-t^2 / 2 (s^2 + r^2))  sum_k exp(-(k - c)^2 / 2 rho^2),

rho^2 = s^2 r^2 / (s^2 + r^2) / h^2, c a number that depends on t. By Poisson summation the last sum is rho sqrt(2 pi) (1 + q)
with |q| <= delta = 2 sum_j exp(-2 pi^2 rho^2 j^2), so e + w is within a total variation of delta / (1 - delta) of N(0, S^2),
S^2 = s^2 + r^2, in every cell, and so are the pair of views and two independent Gaussian vectors: n cells are within n delta /
(1 - delta). `gap` computes it; with s >= 3 h it is below 1e-14 a cell.
"""

import math
from typing import NamedTuple

import numpy as np

ROUGH = 1.5  # deviation, in steps, of what is added so that noise on whole numbers has a density


class Views(NamedTuple):
    """Two views of the same counts, independent of each other, and the deviations of their noise."""

    first: np.ndarray
    second: np.ndarray
    deviations: tuple[float, float]


def split(released: np.ndarray, deviation: float, tau: float, random: np.random.Generator, step: float = 1.0) -> Views:
    """`released` has noise of this deviation on multiples of `step`; `random` is public. A small tau leaves most to the first."""
    rough = ROUGH * step
    whole = math.hypot(deviation, rough)
    smooth = released + rough * random.standard_normal(np.shape(released))
    z = whole * random.standard_normal(np.shape(released))
    return Views(smooth + tau * z, smooth - z / tau, (whole * math.hypot(1.0, tau), whole * math.hypot(1.0, 1.0 / tau)))


def gap(deviation: float, step: float = 1.0) -> float:
    """Total variation between a cell's two views and independent ones, at most."""
    square = (deviation * ROUGH) ** 2 / (deviation**2 + (ROUGH * step) ** 2)
    delta = 2.0 * sum(math.exp(-2.0 * (math.pi * j) ** 2 * square) for j in range(1, 50))
    return delta / (1.0 - delta) if delta < 1.0 else 1.0


def further(a: np.ndarray, b: np.ndarray, second: np.ndarray) -> float:
    """|a - x|^2 - |b - x|^2, without bias: above 0 where b is nearer to the truth. `a` and `b` come from the first view."""
    return float((a * a).sum() - (b * b).sum() - 2.0 * ((a - b) * second).sum())
