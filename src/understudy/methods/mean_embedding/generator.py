"""The generator of the mean-embedding method: a class-conditional latent normal with released moments. It never learns more.

For class c it draws s ~ N(0, R_c) and turns s into a row:

    numeric      u = Phi(q_cj(s)), uniform on the released distribution function; q_cj is a table of the class's latent quantiles
    binary       s + o_cj > 0
    one-hot      the winner of s + o_c within the block

R_c = L_c L_c^T, q and o are post-processing of the released moments (`understudy.measure.latent_normal`).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import PRNGKeyArray
from scipy.special import ndtr
from threadpoolctl import threadpool_limits

from understudy.conversation import Silent
from understudy.methods.pictures.generator import PictureGenerator
from understudy.nn.copula import mismatch
from understudy.nn.heads import Heads

REACH = 4.0  # tables cover s in [-REACH, REACH]
POINTS = 81
PIECE = 8_192  # rows drawn at a time


def table_points() -> np.ndarray:
    """Where functions of a normal score are tabulated."""
    return np.linspace(-REACH, REACH, POINTS)


class Latent(NamedTuple):
    """Post-processed releases."""

    factor: np.ndarray  # [1 or classes, width, width], L with R = L L^T
    table: np.ndarray  # [classes, numeric, points], latent quantiles
    offset: np.ndarray  # [classes, width]


@dataclass(frozen=True)
class MeanEmbeddingGenerator(Silent):
    """Public settings of a latent-normal generator."""

    heads: Heads
    classes: int
    shared: bool  # one correlation matrix for all classes

    def init(self, key: PRNGKeyArray, hints: Latent) -> Latent:
        return Latent(*(value.astype(np.float32) for value in hints))  # traced where an audit begins many fits at once

    def sampler(self, state: Latent) -> dict[str, Any]:
        return dict(state._asdict())

    def encoded(
        self, sampler: Mapping[str, np.ndarray], classes: np.ndarray, random: np.random.Generator
    ) -> np.ndarray:
        """Encoded rows; of a one-hot block the scores, whose winner is decoded.

        Rows of a class are drawn together: one product with its matrix, on one thread, because more would round otherwise.
        """
        with threadpool_limits(1):
            return self._rows(sampler, classes, random)

    def _rows(self, sampler: Mapping[str, np.ndarray], classes: np.ndarray, random: np.random.Generator) -> np.ndarray:
        numeric = np.flatnonzero(self.heads.coordinates("numeric"))
        binary = np.flatnonzero(self.heads.coordinates("binary"))
        rows = np.empty((len(classes), self.heads.width), np.float32)
        for at in range(0, len(classes), PIECE):
            piece, here = rows[at : at + PIECE], classes[at : at + PIECE]
            for number in np.unique(here):
                own = np.flatnonzero(here == number)
                normal = random.standard_normal((len(own), self.heads.width), dtype=np.float32)
                scores = normal @ sampler["factor"][0 if self.shared else number].T
                shifted = scores + sampler["offset"][number]
                shifted[:, numeric] = ndtr(look_up(sampler["table"][number], scores[:, numeric]))
                shifted[:, binary] = shifted[:, binary] > 0.0
                piece[own] = shifted
        return rows

    # -- artifact --------------------------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("heads", "classes")}

    @classmethod
    def from_dict(cls, settings: dict[str, Any], codec: Any) -> "MeanEmbeddingGenerator | PictureGenerator":
        """The way back from `to_dict`."""
        if "kind" in settings:
            return PictureGenerator.from_dict(settings, codec)
        return cls(heads=Heads.of(codec.blocks, codec.width), classes=codec.class_count, **settings)

    def mismatch(self, weights: Mapping[str, Any]) -> str:
        width, numeric = self.heads.width, int(self.heads.coordinates("numeric").sum())
        shapes = {
            "factor": (1 if self.shared else self.classes, width, width),
            "table": (self.classes, numeric, POINTS),
            "offset": (self.classes, width),
        }
        return mismatch(weights, shapes)


def look_up(table: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Linear interpolation of scores [rows, numeric], each column in its own line of `table` [numeric, points]."""
    position = np.clip((scores + np.float32(REACH)) * np.float32((POINTS - 1) / (2.0 * REACH)), 0.0, POINTS - 1.001)
    below = position.astype(np.int32)
    below += POINTS * np.arange(scores.shape[1], dtype=np.int32)
    low, high = table.take(below), table.take(below + 1)
    position -= np.floor(position)
    return np.asarray(low + position * (high - low))
