"""The generator network for mixed tables: a conditional latent-normal model with a neural part.

For class c, latent z and an independent residual e (normal; Gumbel for one-hot coordinates) the network draws

    y = m_c + exp(s_c) * (e + W z + O tanh(A [z, 1_c] + b)) / norm        and, for one-hot coordinates, y = m_c + ... + e

and turns y into a row: Phi(y) for numeric, y > t for binary, arg-max per block for one-hot coordinates. With W = O = 0 and m, s
from released class moments it is the table's own marginals, shifted per class; training adds what is missing (dependence
between columns, shapes). Discrete draws are straight-through: values as in real rows, gradients of a smooth version.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.measure.marginals import LARGEST_SCORE
from understudy.nn.heads import Heads
from understudy.questions.frequencies import smooth_field

Params = dict[str, Array]
Learned = tuple[Params, Any]  # weights, and what their optimiser remembers
SMOOTH = 2.0  # pixels: how far residuals in a picture stay alike
FIXED = ("rates", "scales", "threshold")  # released constants beside the trained weights
SOFTNESS = 0.3  # width of the smooth step that stands in for a threshold when gradients are taken


class Start(NamedTuple):
    """Released values a generator starts from: class-wise location and log-scale of y, and how sure they are."""

    location: np.ndarray  # [classes, width]
    log_scale: np.ndarray  # [classes, width]
    prior_deviation: np.ndarray  # [classes, 1] standard error of location and log-scale
    rates: np.ndarray  # [width] overall rate of binary and one-hot coordinates
    scales: np.ndarray  # [width] unit of a discrete coordinate's score
    threshold: np.ndarray  # [width] y above it means 1, for binary coordinates
    trust: np.ndarray  # [classes, 1] between 0 and 1: how far a class's answers stand out from their noise


@dataclass(frozen=True)
class Copula:
    """The network's sizes, and the columns it draws."""

    heads: Heads
    classes: int
    latent: int
    hidden: int
    picture: tuple[int, int, int] | None = (
        None  # rows are pictures of this shape: e is then alike in neighbouring pixels
    )

    def init(self, key: PRNGKeyArray, start: Start) -> Params:
        key_mix, key_hidden = jax.random.split(key)
        width, fan = self.heads.width, self.latent + self.classes
        return {
            "location": jnp.asarray(start.location, jnp.float32),
            "log_scale": jnp.asarray(start.log_scale, jnp.float32),
            "mix": 0.1 * jax.random.normal(key_mix, (self.latent, width)) / np.sqrt(self.latent),
            "inner": jax.random.normal(key_hidden, (fan, self.hidden)) / np.sqrt(self.latent),
            "bias": jnp.zeros(self.hidden),
            "outer": jnp.zeros((self.hidden, width)),
        }

    def untrained(self, location: Array, log_scale: Array) -> Params:
        """Weights of a network that draws every coordinate by itself."""
        drawn = {"location": location, "log_scale": log_scale}
        return {name: jnp.zeros(shape) for name, shape in self.trained_shapes().items()} | drawn

    def fixed(self, start: Start) -> Params:
        """Released constants that sampling needs besides the trained weights."""
        return {name: jnp.asarray(getattr(start, name), jnp.float32) for name in FIXED}

    def trained_shapes(self) -> dict[str, tuple[int, ...]]:
        """Of what `init` returns."""
        width = self.heads.width
        return {
            "location": (self.classes, width),
            "log_scale": (self.classes, width),
            "mix": (self.latent, width),
            "inner": (self.latent + self.classes, self.hidden),
            "bias": (self.hidden,),
            "outer": (self.hidden, width),
        }

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of trained weights and released constants."""
        return self.trained_shapes() | dict.fromkeys(FIXED, (self.heads.width,))

    def scores(self, params: Params, classes: Int[Array, " rows"], key: PRNGKeyArray) -> Float[Array, "rows width"]:
        """y, before it becomes a row."""
        key_latent, key_residual, key_gumbel = jax.random.split(key, 3)
        rows, width = classes.shape[0], self.heads.width
        z = jax.random.normal(key_latent, (rows, self.latent))
        onehot = jnp.asarray(self.heads.coordinates("onehot"))[None, :]
        residual = self.normals(key_residual, (rows, width))
        if self.heads.coordinates("onehot").any():
            residual = jnp.where(onehot, jax.random.gumbel(key_gumbel, (rows, width)), residual)
        inner = z @ params["inner"][: self.latent] + (params["inner"][self.latent :] + params["bias"][None, :])[classes]
        shared = z @ params["mix"] + jnp.tanh(inner) @ params["outer"]
        spread = jnp.sqrt(1.0 + (params["mix"] ** 2).sum(axis=0) + 0.5 * (params["outer"] ** 2).sum(axis=0))[None, :]
        y = params["location"][classes] + jnp.exp(params["log_scale"])[classes] * (residual + shared) / spread
        return jnp.where(onehot, params["location"][classes] + shared + residual, y)

    def normals(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Array:
        """Normal numbers of variance 1: independent, or smooth over a picture."""
        if self.picture is None:
            return jax.random.normal(key, shape)
        field = jnp.asarray(smooth_field(self.picture, SMOOTH))
        return jax.random.normal(key, (*shape[:-1], len(field))) @ field

    def row(self, fixed: Params, y: Float[Array, "rows width"]) -> Float[Array, "rows width"]:
        """A row: uniform numeric coordinates, drawn binary and one-hot ones. For sampling: it has no gradient."""
        return jnp.where(self._numeric, ndtr(y), self._hard(fixed, y))

    def view(self, fixed: Params, y: Float[Array, "rows width"]) -> Float[Array, "rows width"]:
        """The same row as teachers and student see it: scores of unit size (`understudy.measure.marginals`)."""
        standard = (self._drawn(fixed, y) - fixed["rates"][None, :]) / fixed["scales"][None, :]
        return jnp.where(self._numeric, jnp.clip(y, -LARGEST_SCORE, LARGEST_SCORE), standard)

    @property
    def _numeric(self) -> Array:
        return jnp.asarray(self.heads.coordinates("numeric"))[None, :]

    def _drawn(self, fixed: Params, y: Float[Array, "rows width"]) -> Float[Array, "rows width"]:
        """Discrete draws with the gradient of a smooth version (straight-through)."""
        binary, onehot = self.heads.coordinates("binary"), self.heads.coordinates("onehot")
        if not (binary.any() or onehot.any()):
            return y
        soft = jax.nn.sigmoid((y - fixed["threshold"][None, :]) / SOFTNESS)
        if onehot.any():
            soft = jnp.where(onehot[None, :], self.heads.softmax(y / SOFTNESS), soft)
        return soft + jax.lax.stop_gradient(self._hard(fixed, y) - soft)

    def _hard(self, fixed: Params, y: Float[Array, "rows width"]) -> Float[Array, "rows width"]:
        onehot = self.heads.coordinates("onehot")
        hard = (y > fixed["threshold"][None, :]).astype(y.dtype)
        return jnp.where(onehot[None, :], self.heads.winners(y), hard) if onehot.any() else hard


def mismatch(weights: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> str:
    """What is wrong with a set of loaded weights, in words; empty when nothing is."""
    if set(weights) != set(shapes):
        return f"weights {sorted(set(weights) ^ set(shapes))} are missing or foreign"
    for name, shape in shapes.items():
        if tuple(weights[name].shape) != shape:
            return f"weights {name!r} have shape {tuple(weights[name].shape)}, not {shape}"
    return ""
