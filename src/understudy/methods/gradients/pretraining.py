"""RDP-CGAN's first stage: an autoencoder learns from noisy gradients before the game begins.

Torfi, Fox, Reddy 2022, Algorithm 1. Its rounds are paid from the same ledger as the critic's. Afterwards it does not change;
the generator makes codes for its decoder.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from understudy.nn.autoencoder import Autoencoder, Reconstruction
from understudy.nn.mlp import Params


@dataclass(frozen=True)
class Pretraining:
    """The autoencoder, the rounds that belong to it, and how fast it learns."""

    autoencoder: Autoencoder
    rounds: int
    learning_rate: float

    @property
    def loss(self) -> Reconstruction:
        """On one real row."""
        return Reconstruction(self.autoencoder)

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """Adam."""
        return optax.adam(self.learning_rate)

    def over(self, rounds: Int[Array, ""]) -> Int[Array, ""]:
        """0 while the autoencoder learns, 1 after so many rounds."""
        return (rounds >= self.rounds).astype(jnp.int32)

    def step(
        self, weights: dict[str, Params], opt: optax.OptState, gradient: dict[str, Params]
    ) -> tuple[dict[str, Params], optax.OptState, Float[Array, ""]]:
        """Weights and optimiser after one released gradient, and the gradient's norm."""
        updates, opt = self.optimiser.update(gradient, opt, weights)
        return optax.apply_updates(weights, updates), opt, optax.tree.norm(gradient)
