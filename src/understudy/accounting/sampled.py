"""Privacy-loss distribution of Gaussian noise on a Poisson sample, built fast.

Each unit takes part with probability q. For removing a unit the worst pair is (1-q) N(0, m^2) + q N(1, m^2) against
N(0, m^2), for adding it the reverse (Zhu, Dong, Wang 2022, arXiv:2106.08567). The loss is monotone in x, so with the
threshold x* where it equals epsilon,

    remove:  delta(epsilon) = q Phi((1 - x*)/m) - (e^epsilon - 1 + q) Phi(-x*/m),   x* = 1/2 + m^2 log((e^epsilon - 1
    + q)/q) add:     delta(epsilon) = Phi(x*/m) - e^epsilon ((1-q) Phi(x*/m) + q Phi((x*-1)/m)),   x* with e^-epsilon

From these curves dp_accounting makes a distribution on a grid that dominates the true one. (dp_accounting evaluates
the same curves point by point, which takes seconds for a calibration; the tests compare the two.)
"""

import math
from typing import Any

import numpy as np
from dp_accounting.pld import pld_pmf
from dp_accounting.pld import privacy_loss_distribution as pld
from numpy.typing import NDArray
from scipy.special import ndtr

LEAST_NOISE = 0.04  # with less, e^loss leaves the range of doubles
_REACH = 9.5  # standard deviations; what lies beyond (1e-21) becomes infinite loss

Floats = NDArray[np.float64]


def removal_delta(rate: float, noise: float, epsilon: Floats) -> Floats:
    """Hockey-stick curve for removing a unit."""
    weight = np.expm1(epsilon) + rate
    result: Floats = -np.expm1(epsilon)
    inside = weight > 0
    x = 0.5 + noise**2 * np.log(weight[inside] / rate)
    result[inside] = rate * ndtr((1 - x) / noise) - weight[inside] * ndtr(-x / noise)
    return np.clip(result, 0.0, 1.0)


def addition_delta(rate: float, noise: float, epsilon: Floats) -> Floats:
    """Hockey-stick curve for adding a unit."""
    weight = np.expm1(-epsilon) + rate
    result: Floats = np.zeros_like(epsilon)
    inside = weight > 0
    x = 0.5 + noise**2 * np.log(weight[inside] / rate)
    lower = (1 - rate) * ndtr(x / noise) + rate * ndtr((x - 1) / noise)
    result[inside] = ndtr(x / noise) - np.exp(epsilon[inside]) * lower
    return np.clip(result, 0.0, 1.0)


def sampled_gaussian(rate: float, noise: float, step: float) -> Any:
    """Distribution of one answer on a grid of width `step`; 0 < rate < 1 and noise of at least `LEAST_NOISE`."""
    most = math.log1p(rate * math.expm1((1 + 2 * _REACH * noise) / (2 * noise**2)))
    most, least = math.ceil(most / step), math.ceil(-math.log1p(-rate) / step) + 1
    parts = []
    for curve, low, high in ((removal_delta, -least, most), (addition_delta, -most, least)):
        deltas = curve(rate, noise, np.arange(low, high + 1, dtype=np.float64) * step)
        deltas = np.minimum.accumulate(deltas)  # rounding may break the order in the last digit
        parts.append(pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, low, high, deltas))
    return pld.PrivacyLossDistribution(*parts)
