"""How far is a table from a stand-in, on average over many marginals? One number for each kind of marginal.

With exact counts n_i of the marginals i of a group g, public expected counts e_i and public numbers a_i >= 0,

    value_g = 1 / |g|  sum over i in g of  | ||n_i - e_i||_1 - a_i |
    release_g = value_g + Z_g,        Z_g ~ discrete Gaussian of scale  m sqrt(G) sigma         for G groups.

With a_i = 0 it is the mean distance of the group's marginals; with e_i of independent columns and a_i the stand-in's own
distance from independence it is the mean error of associations.

**Sensitivity.** A row adds one to at most one cell of n_i. By the triangle inequality ||n_i - e_i||_1 moves by at most 1, and
so does its distance from a_i; the mean over the group moves by at most 1, however many marginals it has. The G means of a
unit's m rows lie in a vector of L2 norm at most m sqrt(G): one Gaussian answer, `GaussianDpEvent(sigma)`. That a mean over a
thousand marginals costs no more than one of them is why means are published and not the marginals.

e_i and a_i are whole multiples of 1 / `FINE`, so that exact integers are added up. With `share` the rows of a unit count
G // r steps of a grid each (`understudy.questions.counts`): the same with m = 1.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import dp_accounting as dpa
import numpy as np

from understudy.questions.counts import Clique, Weighed
from understudy.questions.row_maps import Step

FINE = 1 << 8  # expected counts are multiples of 1 / FINE


class Expected(NamedTuple):
    """One marginal: its nodes, the counts it is compared with, and the distance that is expected; both in steps of 1 / `FINE`."""

    clique: Clique
    counts: np.ndarray
    distance: int = 0

    @classmethod
    def of(cls, clique: Clique, counts: np.ndarray, distance: float = 0.0) -> "Expected":
        """From numbers."""
        return cls(clique, np.rint(FINE * np.ravel(counts)).astype(np.int64), round(FINE * distance))


@dataclass(frozen=True, eq=False)
class MeanDistances(Weighed):
    """One Gaussian answer: mean distances of groups of marginals from what is expected."""

    cells: Step  # a cell of every node
    sizes: tuple[int, ...]
    groups: tuple[tuple[Expected, ...], ...]
    sigma: float
    rows_per_unit: int
    share: bool = False

    def __post_init__(self) -> None:
        if not all(self.groups):
            raise ValueError("a group must have a marginal")

    @property
    def event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.sigma)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise on every mean."""
        return self.sigma * math.sqrt(len(self.groups)) * (1 if self.share else self.rows_per_unit)

    def read(self, released: list[Any]) -> np.ndarray:
        """Noisy mean distances, one for every group."""
        return np.asarray(released, np.float64)
