"""How generated rows are drawn: scores y of every column, from latent numbers z and a class.

    copula     y from released class moments, and a network for what is missing: dependence, shapes (`nn/copula.py`; dpgan)
    network    y = G(z, c), fully connected or convolutional (tableGAN)
    decoded    y = Dec(tanh G(z, c)): G makes codes, and a trained decoder turns them into columns (RDP-CGAN, medGAN, corGAN)

Discrete columns are drawn from y by adding logistic or Gumbel noise. A copula counts binary scores from released thresholds
and has released tails; a network counts from 0, and what it makes beyond the border of what the critic sees nobody has
taught it.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.measure.marginals import LARGEST_SCORE
from understudy.nn.autoencoder import Autoencoder
from understudy.nn.conv import Conv
from understudy.nn.copula import Copula, Start
from understudy.nn.heads import Heads
from understudy.nn.mlp import Mlp, Params


@dataclass(frozen=True)
class CopulaRows:
    """Rows of a copula, which starts at the released moments."""

    copula: Copula

    def init(self, key: PRNGKeyArray, start: Start) -> Params:
        """The released moments, and a network that adds nothing yet."""
        return self.copula.init(key, start)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of what is trained."""
        return self.copula.trained_shapes()

    def scores(
        self, params: Params, decoder: Params, classes: Int[Array, " rows"], key: PRNGKeyArray
    ) -> Float[Array, "rows width"]:
        """The copula's own; there is no decoder."""
        return self.copula.scores(params, classes, key)

    def from_thresholds(
        self, threshold: Float[Array, " width"], y: Float[Array, "rows width"]
    ) -> Float[Array, "rows width"]:
        """Binary scores counted from the released thresholds: they are already."""
        return y

    def bounded(self, y: Float[Array, "rows width"]) -> Float[Array, "rows width"]:
        """Scores within what the critic has judged: all of them, because the tails are released."""
        return y


@dataclass(frozen=True)
class NetworkRows:
    """Rows of a network, or of a network and a decoder."""

    heads: Heads
    classes: int
    latent: int
    network: Conv | Mlp  # from latent numbers and class to scores, or to a code
    autoencoder: Autoencoder | None = None

    def init(self, key: PRNGKeyArray, start: Start) -> Params:
        """First weights of the network; the start is not used."""
        return self.network.init(key)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of the network."""
        return self.network.shapes()

    def scores(
        self, params: Params, decoder: Params, classes: Int[Array, " rows"], key: PRNGKeyArray
    ) -> Float[Array, "rows width"]:
        """G, the decoder if there is one, and the draw of discrete columns."""
        key_latent, key_binary, key_onehot = jax.random.split(key, 3)
        rows, width = classes.shape[0], self.heads.width
        z = jax.random.normal(key_latent, (rows, self.latent))
        if self.classes > 1:
            z = jnp.concatenate([z, jax.nn.one_hot(classes, self.classes)], axis=1)
        y = jax.vmap(lambda z: self._one(params, decoder, z))(z)
        binary, onehot = self.heads.coordinates("binary"), self.heads.coordinates("onehot")
        if binary.any():
            y = jnp.where(binary[None, :], y + jax.random.logistic(key_binary, (rows, width)), y)
        if onehot.any():
            y = jnp.where(onehot[None, :], y + jax.random.gumbel(key_onehot, (rows, width)), y)
        return y

    def _one(self, params: Params, decoder: Params, z: Float[Array, " inputs"]) -> Float[Array, " width"]:
        x = self.network(params, z[None, :] if isinstance(self.network, Conv) else z).reshape(-1)
        return x if self.autoencoder is None else self.autoencoder.decode(decoder, jnp.tanh(x))

    def from_thresholds(
        self, threshold: Float[Array, " width"], y: Float[Array, "rows width"]
    ) -> Float[Array, "rows width"]:
        """Binary scores moved there from 0."""
        return jnp.where(self.heads.coordinates("binary")[None, :], y + threshold[None, :], y)

    def bounded(self, y: Float[Array, "rows width"]) -> Float[Array, "rows width"]:
        """Numeric scores up to the border of what the critic sees."""
        numeric = self.heads.coordinates("numeric")[None, :]
        return jnp.where(numeric, jnp.clip(y, -LARGEST_SCORE, LARGEST_SCORE), y)


RowNetwork = CopulaRows | NetworkRows
