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

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.methods.pictures.generator import PictureGenerator
from understudy.nn.copula import Params, mismatch
from understudy.nn.heads import Heads

REACH = 4.0  # tables cover s in [-REACH, REACH]
POINTS = 81


def table_points() -> np.ndarray:
    """Where functions of a normal score are tabulated."""
    return np.linspace(-REACH, REACH, POINTS)


class Latent(NamedTuple):
    """Post-processed releases."""

    factor: Any  # [1 or classes, width, width], L with R = L L^T
    table: Any  # [classes, numeric, points], latent quantiles
    offset: Any  # [classes, width]


@dataclass(frozen=True)
class MeanEmbeddingGenerator:
    """Public settings of a latent-normal generator."""

    heads: Heads
    classes: int
    shared: bool  # one correlation matrix for all classes

    def init(self, key: PRNGKeyArray, hints: Latent) -> Latent:
        return Latent(*(jnp.asarray(value, jnp.float32) for value in hints))

    def query(self, state: Latent, key: PRNGKeyArray) -> Params:
        """Nothing is asked in rounds."""
        return {}

    def update(self, state: Latent, query: Params, answer: Any, key: PRNGKeyArray) -> tuple[Latent, Params]:
        return state, {}

    def sampler(self, state: Latent) -> Params:
        return dict(state._asdict())

    def sample(self, sampler: Params, classes: Int[Array, " rows"], key: PRNGKeyArray) -> Float[Array, "rows width"]:
        normal = jax.random.normal(key, (classes.shape[0], self.heads.width))
        scores = self._correlate(sampler["factor"], normal, classes)
        shifted = scores + sampler["offset"][classes]
        row = (shifted > 0).astype(scores.dtype)
        if self.heads.coordinates("onehot").any():
            onehot = jnp.asarray(self.heads.coordinates("onehot"))[None, :]
            row = jnp.where(onehot, self.heads.winners(shifted), row)
        numeric = np.flatnonzero(self.heads.coordinates("numeric"))
        if len(numeric) == 0:
            return row
        return row.at[:, numeric].set(ndtr(look_up(sampler["table"], classes, scores[:, numeric])))

    def _correlate(
        self, factor: Float[Array, "k width width"], normal: Float[Array, "rows width"], classes: Int[Array, " rows"]
    ) -> Float[Array, "rows width"]:
        if self.shared:
            return normal @ factor[0].T

        def add(total: Array, item: tuple[Array, Array]) -> tuple[Array, None]:
            own, number = item
            return jnp.where((classes == number)[:, None], normal @ own.T, total), None

        return jax.lax.scan(add, jnp.zeros_like(normal), (factor, jnp.arange(self.classes)))[0]

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


def look_up(
    table: Float[Array, "classes numeric points"], classes: Int[Array, " rows"], scores: Float[Array, "rows numeric"]
) -> Float[Array, "rows numeric"]:
    """Linear interpolation in every row's own table."""
    position = jnp.clip((scores + REACH) * ((POINTS - 1) / (2.0 * REACH)), 0.0, POINTS - 1.001)
    below = jnp.floor(position).astype(jnp.int32)
    column = jnp.arange(scores.shape[1])[None, :]
    low, high = table[classes[:, None], column, below], table[classes[:, None], column, below + 1]
    return low + (position - below) * (high - low)
