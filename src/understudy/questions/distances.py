"""How far are many marginals from what is known, or would be known, of them? All distances in one noisy vector.

With exact counts n_r of a marginal r, a distance is one of

    from an estimate    ||n_r - e||_1                 e: public whole numbers, computed from earlier releases
    from blocks         ||n_r - w * n_r[block]||_1    n_r[block]: the rows of the block of cells that a cell belongs to,
                                                      w: its public share there. What would be lost if only blocks were counted.

    release_i = distance_i + Z_i,        Z_i ~ discrete Gaussian of scale  m sqrt(sum_i a_i^2) sigma,

a_i = 1 for distances from an estimate, 2 for those from blocks.

**Sensitivity.** A row adds one to at most one cell c of n_r. By the triangle inequality the L1 distance from a fixed
estimate moves by at most 1. In a distance from blocks n_r - w n_r[block] is linear in the counts; a row moves it by 1 - w_c
in its cell and by w in the other cells of its block, in sum by at most 2 as shares of a block add up to at most 1. Shares
are whole multiples of 1 / `FINE`, rounded down, so that this holds exactly in the integers that are added up. A unit of m
rows moves distance i by at most m a_i, the vector by an L2 norm of at most m sqrt(sum a_i^2): one Gaussian answer,
`GaussianDpEvent(sigma)`. The bound is reached where every marginal moves by its most, so the sensitivity of one distance
alone would be too small by the root of their number.

With `share` the rows of a unit count G // r steps of a grid of G = 2^20 each, r being their number: the same with m = 1, in
units of G (`understudy.questions.counts`).
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import dp_accounting as dpa
import numpy as np

from understudy.questions.counts import Clique, Weighed
from understudy.questions.row_maps import Step

FINE = 1 << 12  # shares of a block are multiples of 1 / FINE


class Blocks(NamedTuple):
    """Blocks of a marginal's cells: `block[cell]` and the cell's share of it, in multiples of 1 / `FINE`."""

    block: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, block: np.ndarray, weights: np.ndarray) -> "Blocks":
        """Shares from positive weights of the cells, rounded down."""
        block, weights = np.ravel(block).astype(np.int64), np.ravel(weights)
        whole = np.bincount(block, weights)[block]
        return cls(block, np.floor(FINE * weights / np.maximum(whole, 1e-300) * (1.0 - 1e-12)).astype(np.int64))

    @property
    def sound(self) -> bool:
        """Whether a row moves a distance by 2 at most: a share below 0 would move it further."""
        return bool(np.all(self.share >= 0) and np.all(np.bincount(self.block, self.share) <= FINE))


Known = np.ndarray | Blocks


@dataclass(frozen=True, eq=False)
class Distances(Weighed):
    """One Gaussian answer: L1 distances of exact counts from what is known of them, with exact integer noise."""

    cells: Step  # a cell of every node
    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    known: tuple[Known, ...]
    sigma: float
    rows_per_unit: int
    share: bool = False

    def __post_init__(self) -> None:
        for known in self.known:
            if isinstance(known, Blocks) and not known.sound:
                raise ValueError("the shares of a block must not be negative, nor add up to more than 1")

    @property
    def event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.sigma)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on every distance."""
        moves = math.sqrt(sum(4 if isinstance(known, Blocks) else 1 for known in self.known))
        return self.sigma * moves * (1 if self.share else self.rows_per_unit)

    def read(self, released: list[Any]) -> np.ndarray:
        """Noisy distances, one for every candidate."""
        return np.asarray(released, np.float64)
