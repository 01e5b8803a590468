"""What noisy counts of a marginal will be worth, before they are asked for.

Counts n_c of a marginal with Gaussian noise of deviation s are fitted under the constraints n >= 0 and sum n = N. Without other
counts that is the projection onto the simplex, max(n_c + s Z - t, 0) with t such that the sum is N. Its expected error per
cell,

    e(n, s) = E |max(n + s Z - t, 0) - n|,

is about 0.8 s where n is many times s, and far less in cells that hold next to nothing: t takes their noise away. A bound by
sqrt(2 / pi) s per cell would forbid tables that are mostly empty, which strongly dependent columns have.

Rows are themselves a sample: even without any dependence the counts of a pair lie sum_c E |Poisson(n_c) - n_c| from the
product of their margins. A distance counts as dependence only beyond that.
"""

import numpy as np
from scipy.special import gammaln, ndtr

GROUPS = 48  # of similar cells in a forecast; more change it by less than a hundredth


def density(z: np.ndarray) -> np.ndarray:
    """Of the standard normal distribution."""
    return np.asarray(np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi))


def noise_errors(counts: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Expected L1 error sum_c e(n_c, s) of the fitted counts of one marginal, for several deviations s of the noise."""
    n, times = condensed(counts)
    s = deviations[:, None]
    t = threshold(n, times, s)
    # |max(X, 0) - n| with X ~ N(n - t, s^2): n where X <= 0, |X - n| elsewhere.
    zero, same = (t - n) / s, t / s  # X = 0 and X = n, in deviations from the mean
    below = (ndtr(same) - ndtr(zero)) * t + s * (density(same) - density(zero))
    above = s * density(same) - t * (1.0 - ndtr(same))
    error = n * ndtr(zero) + np.maximum(below, 0.0) + np.maximum(above, 0.0)
    return np.asarray((error * times).sum(axis=1))


def condensed(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts of a large marginal as `GROUPS` of similar ones: their means, and how many each stands for."""
    n = np.sort(np.maximum(np.asarray(counts, float).ravel(), 0.0))
    group = np.arange(len(n)) * min(GROUPS, len(n)) // len(n)
    times = np.bincount(group).astype(float)
    return np.bincount(group, n) / times, times


def threshold(n: np.ndarray, times: np.ndarray, s: np.ndarray) -> np.ndarray:
    """t with sum E max(n + s Z - t, 0) = sum n, for every deviation s, by bisection."""
    total, low, high = (n * times).sum(), np.zeros_like(s), 6.0 * s
    for _ in range(20):
        middle = 0.5 * (low + high)
        z = (n - middle) / s
        above = (s * (density(z) + z * ndtr(z)) * times).sum(axis=1, keepdims=True) > total
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return 0.5 * (low + high)


def sampling_distance(expected: np.ndarray) -> float:
    """sum_c E |Poisson(n_c) - n_c| = sum_c 2 n^(k+1) e^-n / k!, k = floor(n): what independent columns show by chance."""
    n = np.maximum(np.asarray(expected, float).ravel(), 1e-12)
    k = np.floor(n)
    return float((2.0 * np.exp((k + 1.0) * np.log(n) - n - gammaln(k + 1.0))).sum())
