"""Columns as scores, and one number for every pair of them: what is asked where counts of pairs would be noise.

A column is seen as few scores of mean 0 and variance 1 under its released marginal: a number by the normal score of its place
among the rows, a category by whether it is this one. A dependence of one number, E[phi psi], shows in c x c counts with noise
of deviation s as sum_ij phi_i psi_j n_ij, with noise s (sum_ij phi_i^2 psi_j^2)^(1/2), which is c s where cells are alike; asked
by itself it has noise s. So a pair whose counts would be noise may have a product of scores that is well known.

All columns and all products are coordinates of one vector per row (`understudy.questions.sums`):

    ( w e_1(x), ..., w e_d(x),   v f^2 phi_a(x) phi_b(x)  for all scores a, b of different columns )

with e_n the outcome of column n, and f <= min(1, R / |phi(x)|). As sum_{a<b} phi_a^2 phi_b^2 <= |phi|^4 / 2, the products of
a row have a norm of at most R^2 / sqrt(2). With w^2 d = `COLUMNS` and v^2 R^4 / 2 = 1 - `COLUMNS` the vector is no longer
than 1, and the wall has nothing to clip unless |phi(x)| > 8 R, where f ends. R follows from released marginals. What f takes
off a product is put back on average (`Scores.kept`), by what the products themselves say about how rows are long.
"""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from understudy.measure.cells import estimate
from understudy.measure.shrinkage import shrink
from understudy.methods.clique_tree.columns import Columns, averaged
from understudy.questions import Step, Sums
from understudy.questions.row_maps import Entry, LengthCells, LookUp, OneHot, joined
from understudy.recipe import Curator

# Set on bfi and Wages of `benchmarks.small_tables`, three fits each: with 0.45 for columns they and pairs are nearer than with
# 0.35, with 8 cells strong associations are nearer than with 4. The others are the first that were tried.
COLUMNS = 0.45  # of the squared norm
MOST_CELLS = 8  # of a column in the model
ROOM = 1.1  # R over the root of the expected squared norm of all scores
RARE = 0.3  # least deviation that is divided by: scores of rare values are smaller, so that their rows are not cut
SEEN = 0.05  # of the rows: missing numbers and codes that fewer have have no score
FLAGGED = 3.0  # deviations of noise: nor have those that fewer have
MOST_PRODUCTS = 20_000  # so that a row's vector stays small
LENGTHS = np.r_[0.0, np.geomspace(1.0, 8.0, 64)]  # of a row's scores over R, between which f is the same
TURNS = 3  # in which products say what f took off them
NORMAL = ndtri((np.arange(32) + 0.5) / 32)


class Scored(NamedTuple):
    """A column at one level: the scores of its cells."""

    number: int
    level: int
    cells: np.ndarray  # [cells, scores]
    weight: float  # in the vector; more where a column matters more


def scored(columns: Columns, number: int, weight: float) -> Scored:
    """The scores of a column at the finest level that the model has room for."""
    level = max(k for k, own in enumerate(columns.levels[number]) if k == 0 or own.cells <= MOST_CELLS)
    share = columns.shares(number, level)
    node = columns.nodes[number - 1] if number else None
    hidden = columns.noise[number] / columns.rows
    if node is None or not node.ordered:
        return Scored(
            number, level, np.stack([indicator(share, cell) for cell in told_by(share, hidden)], axis=1), weight
        )
    flags = [indicator(share, cell) for cell in range(node.gap) if share[cell] > max(SEEN, FLAGGED * hidden)]
    numbers = np.r_[np.zeros(node.gap), normal_scores(share[node.gap :])]
    return Scored(number, level, np.stack([numbers, *flags], axis=1), weight)


def told_by(share: np.ndarray, hidden: float) -> list[int]:
    """Cells of categories that have a score: all that hold more than noise does, and one of two."""
    some = [cell for cell in range(len(share)) if share[cell] > hidden] or [int(np.argmax(share))]
    return some[1:] if len(some) == 2 else some


def normal_scores(share: np.ndarray) -> np.ndarray:
    """Phi^-1 of the middle of every cell, with mean 0 and variance 1 over the rows that have a number; less where nearly all rows
    have the same one."""
    own = np.maximum(share, 1e-9) / np.maximum(share, 1e-9).sum()
    place = ndtri(np.cumsum(own) - 0.5 * own)
    place -= own @ place
    return np.asarray(place / max(math.sqrt(own @ place**2), RARE))


def indicator(share: np.ndarray, cell: int) -> np.ndarray:
    """Whether a value is in this cell, around its mean."""
    p = float(share[cell])
    return np.asarray(((np.arange(len(share)) == cell) - p) / max(math.sqrt(p * (1.0 - p)), RARE))


class Scores:
    """The scores of all columns side by side; `weights` are those of columns that matter more than 1."""

    def __init__(self, columns: Columns, weights: Mapping[int, float]) -> None:
        self.each = [scored(columns, number, weights.get(number, 1.0)) for number in columns.numbers]
        self.owner = np.repeat(np.arange(len(self.each)), [one.cells.shape[1] for one in self.each])
        left, right = np.triu_indices(len(self.owner), 1)
        other = self.owner[left] != self.owner[right]
        self.left, self.right = left[other], right[other]
        self.weight = np.asarray([self.each[place].weight for place in self.owner])
        self.steps = [
            (columns.step(one.number, one.level), one.weight * one.cells[:, k])
            for one in self.each
            for k in range(one.cells.shape[1])
        ]
        shares = [columns.shares(one.number, one.level) for one in self.each]
        self.square, self.fourth = (
            np.concatenate([p @ (one.weight * one.cells) ** power for p, one in zip(shares, self.each, strict=True)])
            for power in (2, 4)
        )
        self.radius = ROOM * math.sqrt(max(float(self.square.sum()), 1e-6))  # 0 where no column has two values

    def some(self, places: np.ndarray) -> Step:
        """Map of a row to these scores, weighted."""
        cells, tables = zip(*(self.steps[place] for place in places.tolist()), strict=True)
        return LookUp(joined(*cells), tables)

    @property
    def products(self) -> Step:
        """Map of a row to f^2 phi_a phi_b; f is R over the upper end of the interval that its length is in."""
        length = LengthCells(self.some(np.arange(len(self.owner))), LENGTHS, self.radius)
        return self.some(self.left) * self.some(self.right) * Entry(length, np.r_[1.0, LENGTHS[2:] ** -2.0][:, None])

    def kept(self, moments: np.ndarray | None = None, error: np.ndarray | float = 1.0) -> np.ndarray:
        """What is left of every product: f^2 on average, weighted by the product.

        `moments` are E[phi_a phi_b], 0 on the diagonal, as far as they are known, each with an `error`; none: independent scores.
        The squared length is taken to be normal. Weighted by phi_a phi_b its mean is, for normal scores,

            V + s_a + s_b + 2 k sum_j m_aj m_bj / m_ab,      s_a = E[phi_a^4] / E[phi_a^2] - E[phi_a^2],

        V = sum E[phi^2], and its variance sum (E[phi^4] - E[phi^2]^2) + 2 k sum m_ij^2. For 1 / m_ab stands m_ab / (m_ab^2 +
        error^2). There k is 1; scores of few values have shorter tails, k = sum s_a / 2 V: none where all are 1 or -1.
        """
        known = np.zeros((len(self.owner),) * 2) if moments is None else moments
        longer = self.fourth / np.maximum(self.square, 1e-9) - self.square
        own = known[self.left, self.right]
        tails = float(longer.sum()) / max(float(self.square.sum()), 1e-9)  # 2 k
        together = tails * (known @ known)[self.left, self.right] * own / (own**2 + np.square(error))
        spread = math.sqrt(max(float((self.fourth - self.square**2).sum() + tails * (known**2).sum()), 1e-9))
        mean = float(self.square.sum()) + longer[self.left] + longer[self.right] + np.maximum(together, 0.0)
        return np.asarray(
            np.minimum(1.0, self.radius**2 / np.maximum(mean[:, None] + spread * NORMAL, 1e-9)).mean(axis=1)
        )

    def scale(self, rows: float) -> np.ndarray:
        """What a mean product of 1 adds up to in the vector, over so many rows, if f takes nothing off it."""
        return np.asarray(product_size(self.radius) * rows * self.weight[self.left] * self.weight[self.right])

    def put_back(self, means: np.ndarray, deviation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Products, and the deviation of their noise, without what f took off them."""
        kept, weight = self.kept(), self.weight[self.left] * self.weight[self.right]
        for _ in range(TURNS):
            moments = np.zeros((len(self.owner),) * 2)
            moments[self.left, self.right] = weight * shrink(means / kept, deviation / kept)
            kept = self.kept(moments + moments.T, weight * deviation / kept)
        return means / kept, deviation / kept


def product_size(radius: float) -> float:
    """v."""
    return math.sqrt(2.0 * (1.0 - COLUMNS)) / radius**2


class MeanProducts(NamedTuple):
    """Mean products of scores as they were released, and the deviation of their noise."""

    scores: Scores
    means: np.ndarray
    deviation: np.ndarray


def ask_products(
    curator: Curator, columns: Columns, purpose: str, sigma: float, weights: Mapping[int, float]
) -> tuple[Columns, MeanProducts]:
    """Columns counted once more, and the mean product of every pair of scores: one answer."""
    scores, numbers = Scores(columns, weights), list(columns.numbers)
    sizes = np.asarray([len(columns.counts[number]) for number in numbers])
    w = math.sqrt(COLUMNS / len(numbers))
    outcomes = OneHot(joined(*(columns.step(number, None) for number in numbers)), sizes)
    vector = joined(w * outcomes, product_size(scores.radius) * scores.products)
    (answer,) = curator.ask(purpose, Sums(vector, 1, sigma, average=True)).value
    counts, noise, at = list(columns.counts), list(columns.noise), 0
    for number, size in zip(numbers, sizes.tolist(), strict=True):
        counts[number], noise[number] = averaged(counts[number], noise[number], answer[at : at + size] / w, sigma / w)
        at += size
    rows = max(float(counts[0].sum()), 1.0) if columns.classes > 1 else columns.rows
    masses = [
        estimate(node, own, deviation, rows)
        for node, own, deviation in zip(columns.nodes, counts[1:], noise[1:], strict=True)
    ]
    scale = scores.scale(rows)
    again = columns._replace(rows=rows, counts=counts, noise=noise, masses=[counts[0], *masses])
    return again, MeanProducts(scores, *scores.put_back(answer[at:] / scale, sigma / scale))
