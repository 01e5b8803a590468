"""Autoencoders of one row: from mixed columns to a code and back (Torfi, Fox, Reddy 2022, Section 4.1 and Algorithm 1).

    code = tanh(Enc(v)),     y = Dec(code),     loss = mean over columns of the squared error of numeric coordinates (Eq. 2)
                                                       and the binary cross-entropy of discrete ones (Eq. 1)

v is a row as networks see it (`understudy.measure.marginals`): normal scores of numeric columns, centred indicators of
categories, whose sign says whether the category is present. Each row's loss is a function of that row alone.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.nn.conv import Conv, Norm, down, up
from understudy.nn.heads import Heads
from understudy.nn.mlp import Mlp, Params

Kind = Literal["mlp", "conv"]


@dataclass(frozen=True)
class Autoencoder:
    """Fully connected or convolutional, of one row."""

    heads: Heads
    kind: Kind
    code: int
    channels: tuple[int, ...]  # of the convolutions before the code, or sizes of the hidden layers
    norm: Norm = "group"

    @property
    def encoder(self) -> Conv | Mlp:
        """From a row to a code."""
        if self.kind == "conv":
            return down(self.heads.width, 1, (*self.channels, self.code), self.norm)
        return Mlp((self.heads.width, *self.channels, self.code))

    @property
    def decoder(self) -> Conv | Mlp:
        """From a code to a row."""
        if self.kind == "conv":
            return up(self.heads.width, 1, (*self.channels, self.code), self.norm)
        return Mlp((self.code, *reversed(self.channels), self.heads.width))

    def init(self, key: PRNGKeyArray) -> dict[str, Params]:
        one, other = jax.random.split(key)
        return {"encoder": self.encoder.init(one), "decoder": self.decoder.init(other)}

    def encode(self, params: dict[str, Params], row: Float[Array, " width"]) -> Float[Array, " code"]:
        """The code of a row."""
        encoder = self.encoder
        x = row[:, None] if isinstance(encoder, Conv) else row
        return jnp.tanh(encoder(params["encoder"], x).reshape(self.code))

    def decode(self, decoder_params: Params, code: Float[Array, " code"]) -> Float[Array, " width"]:
        """y: scores of numeric coordinates, logits of discrete ones."""
        decoder = self.decoder
        x = code[None, :] if isinstance(decoder, Conv) else code
        return decoder(decoder_params, x).reshape(self.heads.width)


@dataclass(frozen=True)
class Reconstruction:
    """The autoencoder's loss of one row; classes do not enter."""

    autoencoder: Autoencoder

    def __call__(
        self, params: dict[str, Params], row: Float[Array, " width"], label: Int[Array, ""]
    ) -> Float[Array, ""]:
        y = self.autoencoder.decode(params["decoder"], self.autoencoder.encode(params, row))
        numeric = jnp.asarray(self.autoencoder.heads.coordinates("numeric"))
        present = (row > 0.0).astype(row.dtype)
        entropy = jax.nn.softplus(y) - present * y
        return jnp.where(numeric, (y - row) ** 2, entropy).mean()
