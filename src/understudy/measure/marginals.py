"""One-way marginals, released once: how a row looks when every column has been put on a common footing.

Rows scaled by wide public bounds crowd into a corner of [0, 1]: a salary bounded by a million is nearly constant. With a
released distribution function F_j per numeric column and a released rate p_j per binary or one-hot coordinate, a row is seen as

    v_j = Phi^{-1}(F_j(x_j))  clipped to +-2.5     numeric: a standard normal score whatever the bounds were
    v_j = (x_j - p_j) / max(sqrt(p_j (1 - p_j)), 0.2)     binary and one-hot

and a generated score goes back through x_j = F_j^{-1}(Phi(v_j)), so that columns keep their own shape. All of it is a function of
released values and costs nothing more; the release is a question of `understudy.questions.counts`.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from understudy.questions.row_maps import Scores

LARGEST_SCORE = 2.5
LEAST_SCALE = 0.2


class Marginals(NamedTuple):
    """`cdf[j]` over `edges[j]` for the numeric coordinates, `rates` for all coordinates (1/2 where numeric)."""

    numeric: np.ndarray  # int32 [d]: which coordinates of a row are numeric
    edges: np.ndarray  # float32 [d, cells + 1], in [0, 1]
    cdf: np.ndarray  # float32 [d, cells + 1], from 0 to 1, strictly increasing
    rates: np.ndarray  # float32 [width], in (0, 1)

    @property
    def scales(self) -> np.ndarray:
        return np.maximum(np.sqrt(self.rates * (1.0 - self.rates)), LEAST_SCALE)

    @property
    def row_map(self) -> Scores:
        """An encoded row as scores of unit size."""
        return Scores(self.numeric, self.edges, self.cdf, self.rates, self.scales, LARGEST_SCORE)

    def from_uniform(self, rows: np.ndarray) -> np.ndarray:
        """Generated rows, numeric coordinates uniform, as encoded rows: x = F^{-1}(u)."""
        encoded = np.array(rows, np.float32)
        for position, column in enumerate(self.numeric):
            encoded[:, column] = np.interp(rows[:, column], self.cdf[position], self.edges[position])
        return encoded


def smallest_share() -> float:
    """The share of a column beyond the largest score, on either side."""
    return float(ndtr(-LARGEST_SCORE))


def refine(edges: np.ndarray, noisy: np.ndarray, noise: float) -> np.ndarray:
    """Edges that cut the columns into cells of nearly equal mass, from noisy counts over the present cells.

    Counts are lowered by one standard deviation before negative ones are cut off: in a wide column nearly all cells are
    empty, and noise clipped at zero would otherwise spread as much mass over them as the column holds.
    """
    cells = noisy.shape[1]
    mass = np.maximum(noisy - noise, 0.0)
    cdf = cumulative(mass + 1e-3 * np.maximum(mass.sum(axis=1, keepdims=True), 1.0) / cells)
    levels = np.linspace(0.0, 1.0, cells + 1)
    finer = np.stack([np.interp(levels, f, e) for f, e in zip(cdf, edges, strict=True)])
    finer[:, 0], finer[:, -1] = edges[:, 0], edges[:, -1]
    return finer


def settle(noisy: np.ndarray, noise: float) -> np.ndarray:
    """Distribution functions over cells of nearly equal mass: noisy counts, shrunk towards equal mass by their noise.

    Empirical Bayes, cell by cell: the variance of the true counts is what the noisy ones show beyond the noise.
    """
    equal = np.maximum(noisy.mean(axis=1, keepdims=True), 1.0)
    spread = np.maximum(((noisy - equal) ** 2).mean(axis=1, keepdims=True) - noise**2, 0.0)
    kept = spread / (spread + noise**2)
    return cumulative(np.maximum(equal + kept * (noisy - equal), 0.05 * equal))


def shrink_rates(ones: np.ndarray, rows: float, noise: float) -> np.ndarray:
    """Rates of binary and one-hot coordinates from noisy counts, shrunk to their common mean, kept off 0 and 1."""
    if len(ones) == 0:
        return ones
    rates, variance = ones / rows, (noise / rows) ** 2
    spread = max(float(rates.var()) - variance, 1e-4)
    rates = rates.mean() + spread / (spread + variance) * (rates - rates.mean())
    floor = min(0.1, max(0.002, 0.5 * noise / rows))
    return np.clip(rates, floor, 1.0 - floor)


def cumulative(mass: np.ndarray) -> np.ndarray:
    cdf = np.concatenate([np.zeros((len(mass), 1)), np.cumsum(mass, axis=1)], axis=1)
    return cdf / cdf[:, -1:]
