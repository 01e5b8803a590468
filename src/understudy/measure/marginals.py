"""Released one-way marginals as distribution functions: how a row looks through them, and back. Public: no row is seen here.

Rows scaled by wide public bounds crowd into a corner of [0, 1]: a salary bounded by a million is nearly constant. With a
released distribution function F_j per numeric column and a released rate p_j per binary or one-hot coordinate, a row is seen as

    v_j = Phi^{-1}(F_j(x_j))  clipped to +-2.5     numeric: a standard normal score whatever the bounds were
    v_j = (x_j - p_j) / max(sqrt(p_j (1 - p_j)), 0.2)     binary and one-hot

and a generated score goes back through x_j = F_j^{-1}(Phi(v_j)), so that columns keep their own shape. A value that many
rows share has the score of the middle of its share.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from understudy.measure.cells import ALMOST_ZERO, Node, distribution
from understudy.measure.tails import with_tails
from understudy.nn.heads import Heads
from understudy.questions.row_maps import Cuts, LookUp, Scores, Step

# First values, as far as commits and docs say.
LARGEST_SCORE = 2.5  # of v, which networks see
LARGEST_LEVEL = 3.0  # of a cell's score, which class sums add up
LEAST_SCALE = 0.2
LARGEST_RATE = 0.9  # of a column's only outcome, before anything is known: scores count from rates, which must not be 1
MOST_FLOOR = 0.05  # what is left to an outcome that drowns in noise is a quarter of the noise on a rate, at most this
NOTHING = 1e-7  # of the rows in every cell, so that a distribution function rises everywhere


class Marginals(NamedTuple):
    """`cdf[j]` over `edges[j]` for the numeric coordinates, `rates` for all coordinates (1/2 where numeric)."""

    numeric: np.ndarray  # int32 [d]: which coordinates of a row are numeric
    edges: np.ndarray  # [d, cells + 1], rising over [0, 1]; surplus cells at the end are empty
    cdf: np.ndarray  # [d, cells + 1], from 0 to 1
    rates: np.ndarray  # float32 [width], in (0, 1)

    @property
    def scales(self) -> np.ndarray:
        """The unit of a discrete coordinate's score."""
        return np.maximum(np.sqrt(self.rates * (1.0 - self.rates)), LEAST_SCALE)

    @property
    def row_map(self) -> Scores:
        """An encoded row as scores of unit size."""
        return Scores(self.numeric, self.edges, self.cdf, self.rates, self.scales, LARGEST_SCORE)

    def from_uniform(self, rows: np.ndarray) -> np.ndarray:
        """Generated rows, numeric coordinates uniform, as encoded rows: x = F^{-1}(u)."""
        encoded = np.array(rows, np.float32)
        for position, column in enumerate(self.numeric):
            value = np.interp(rows[:, column], self.cdf[position], self.edges[position])
            encoded[:, column] = np.where(np.abs(value) <= ALMOST_ZERO, 0.0, value)
        return encoded


def public_marginals(heads: Heads) -> Marginals:
    """No marginals were paid for: columns are uniform between their public bounds, outcomes equally likely."""
    numeric = np.flatnonzero(heads.coordinates("numeric")).astype(np.int32)
    line = np.tile(np.asarray([0.0, 1.0]), (len(numeric), 1))
    rates = np.full(heads.width, 0.5, np.float32)
    for block in heads.blocks:
        if block.head == "onehot":
            rates[block.start : block.start + block.size] = min(1.0 / block.size, LARGEST_RATE)
    return Marginals(numeric, line, line.copy(), rates)


def released_marginals(nodes: Sequence[Node], masses: Sequence[np.ndarray], width: int, error: float) -> Marginals:
    """From the estimated rows of every column's outcomes; `error` is the noise on a rate."""
    rates, edges, cdf = np.full(width, 0.5), [], []
    floor = min(MOST_FLOOR, 0.25 * error)
    numeric = [node.start for node in nodes if node.ordered]
    for node, mass in zip(nodes, masses, strict=True):
        share = mass / max(float(mass.sum()), 1e-12)
        if node.edges is None and not node.onehot:
            rates[node.start] = np.clip(share[1], floor, 1.0 - floor)
        elif node.edges is None:
            share = np.maximum(share, min(floor, 0.5 / node.size))
            rates[node.start : node.start + node.size] = share / share.sum()
        else:
            own = mass[node.gap :]
            own = own + NOTHING * max(float(own.sum()), 1.0)
            finer, own = with_tails(node.edges, own, node.step)
            edges.append(finer)
            cdf.append(distribution(own))
        if node.missing is not None:
            rates[node.missing : node.missing + node.gap] = np.clip(share[: node.gap], floor, 1.0 - floor)
    return Marginals(np.asarray(numeric, np.int32), stacked(edges), stacked(cdf), rates.astype(np.float32))


def stacked(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Rows of unequal length, the shorter ones continued with their last value."""
    most = max((len(row) for row in rows), default=1)
    return np.asarray([np.pad(row, (0, most - len(row)), mode="edge") for row in rows]).reshape(len(rows), most)


class NormalScores(NamedTuple):
    """The numeric columns of a table, each as the normal score of its cell: what class sums are taken of."""

    marginals: Marginals
    flags: np.ndarray  # int [d]: the coordinate that says a numeric value is missing, -1 where there is none
    group: np.ndarray  # int [d]: columns with the same number are alike
    error: float  # noise on a rate of the marginals
    codes: tuple[int, ...] = ()  # how many flags of codes follow each of `flags`

    @property
    def cells(self) -> Cuts:
        """Map of a row to the cell of every numeric value, -1 where it is missing."""
        return cuts(self.marginals.numeric, self.flags, self.marginals.edges, self.codes)

    @property
    def levels(self) -> np.ndarray:
        """[d, cells]: the score of every cell, Phi^{-1} of the middle of its share."""
        middle = 0.5 * (self.marginals.cdf[:, 1:] + self.marginals.cdf[:, :-1])
        return np.asarray(np.clip(ndtri(middle), -LARGEST_LEVEL, LARGEST_LEVEL))

    @property
    def scores(self) -> Step:
        """Map of a row to z of every numeric value, 0 for missing ones.

        Scores are a function of the cell alone, because that is what makes the model's own expectation of z exact
        (`score_of_latent`) wherever in a cell the rows are.
        """
        return LookUp(self.cells, tuple(self.levels))

    def score_of_latent(self, latent: np.ndarray) -> np.ndarray:
        """[points, d]: what z a standard normal latent value becomes in each column once it went through cells and back."""
        cdf, levels, share = self.marginals.cdf, self.levels, ndtr(latent)
        z = np.zeros((len(latent), len(cdf)))
        for j in range(len(cdf)):
            z[:, j] = levels[j, np.clip(np.searchsorted(cdf[j], share, side="right") - 1, 0, cdf.shape[1] - 2)]
        return z


def cuts(numeric: np.ndarray, flags: np.ndarray, edges: np.ndarray, codes: tuple[int, ...]) -> Cuts:
    """Map of a row to the cells between these edges [d, cells + 1]; below 0 where it holds no number."""
    return Cuts(numeric, tuple(np.asarray(edges, np.float64)[:, 1:-1]), flags, codes=codes if any(codes) else ())


def normal_scores(
    nodes: Sequence[Node], masses: Sequence[np.ndarray], groups: np.ndarray, width: int, deviation: float
) -> NormalScores:
    """From released one-way marginals (`understudy.measure.one_way`)."""
    rows = float(np.mean([mass.sum() for mass in masses])) if len(masses) else 1.0
    error = deviation / max(rows, deviation, 1e-9)
    marginals = released_marginals(nodes, masses, width, error)
    numeric = [number for number, node in enumerate(nodes) if node.ordered]
    flags = [-1 if nodes[number].missing is None else nodes[number].missing for number in numeric]
    codes = tuple(nodes[number].codes for number in numeric)
    return NormalScores(marginals, np.asarray(flags, np.int64), ranks(groups[numeric]), error, codes)


def ranks(groups: np.ndarray) -> np.ndarray:
    """Group numbers without gaps."""
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)
