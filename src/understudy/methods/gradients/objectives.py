"""What critic and generator play for: the Wasserstein distance, or the game of Goodfellow et al. 2014.

                   critic, on a real row     critic, on a generated row     generator
    Wasserstein    -D(x)                     D(G(z))                        -D(G(z))               weights of D within +-c
    standard       log(1 + exp(-D(x)))       log(1 + exp(D(G(z))))          log(1 + exp(-D(G(z)))) the non-saturating form

Clipping weights keeps D Lipschitz (Arjovsky et al. 2017; Xie et al. 2018 for DPGAN). The standard critic says real or generated,
so n_D, its steps per generator step, may adapt (Bie, Kamath, Zhang 2023): it doubles when D knows too few generated rows.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from understudy.methods.gradients.critic import Critic, CriticParams

# First values, as far as commits and docs say.
LARGEST_STEPS = 200  # that an adapting n_D can reach
WANTED_ACCURACY = 0.7  # share of generated rows that the critic should know


@dataclass(frozen=True)
class Wasserstein:
    """D estimates a distance; its weights stay within +-`weight_clip`."""

    weight_clip: float

    def on_real(self, score: Float[Array, ""]) -> Float[Array, ""]:
        """The critic's loss on one real row, -D(x): the only one that goes through the wall."""
        return -score

    def on_generated(self, scores: Float[Array, " rows"]) -> Float[Array, ""]:
        """The critic's loss on generated rows: mean of D(G(z))."""
        return scores.mean()

    def of_generator(self, scores: Float[Array, " rows"]) -> Float[Array, ""]:
        """The generator's loss: mean of -D(G(z))."""
        return -scores.mean()

    def constrained(self, critic: CriticParams) -> CriticParams:
        """The critic's own network clipped; an auxiliary classifier is none of its business."""
        clip = self.weight_clip
        return critic | {"critic": jax.tree.map(lambda w: jnp.clip(w, -clip, clip), critic["critic"])}

    def next_steps(self, steps: Int[Array, ""], known: Float[Array, ""]) -> Int[Array, ""]:
        """As many as before: a Wasserstein critic does not say real or generated."""
        return steps


@dataclass(frozen=True)
class Standard:
    """D is the logarithm of the odds that a row is real."""

    adaptive: bool

    def on_real(self, score: Float[Array, ""]) -> Float[Array, ""]:
        """log(1 + exp(-D(x)))."""
        return jax.nn.softplus(-score)

    def on_generated(self, scores: Float[Array, " rows"]) -> Float[Array, ""]:
        """Mean of log(1 + exp(D(G(z))))."""
        return jax.nn.softplus(scores).mean()

    def of_generator(self, scores: Float[Array, " rows"]) -> Float[Array, ""]:
        """Mean of log(1 + exp(-D(G(z))))."""
        return jax.nn.softplus(-scores).mean()

    def constrained(self, critic: CriticParams) -> CriticParams:
        """No limit."""
        return critic

    def next_steps(self, steps: Int[Array, ""], known: Float[Array, ""]) -> Int[Array, ""]:
        """Doubled when too few generated rows are known."""
        if not self.adaptive:
            return steps
        return jnp.where(known < WANTED_ACCURACY, jnp.minimum(2 * steps, LARGEST_STEPS), steps)


Objective = Wasserstein | Standard


@dataclass(frozen=True)
class RealLoss:
    """The critic's loss on one real row, with that of an auxiliary classifier."""

    critic: Critic
    objective: Objective

    def __call__(self, params: CriticParams, row: Float[Array, " width"], label: Int[Array, ""]) -> Float[Array, ""]:
        return self.objective.on_real(self.critic(params, row, label)) + self.critic.class_loss(params, row, label)
