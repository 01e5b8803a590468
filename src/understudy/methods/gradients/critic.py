"""The critic D of one row and its class. Its loss on a real row is the only part of a GAN that goes through the wall."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.nn.conv import Conv
from understudy.nn.mlp import Mlp, Params

CriticParams = dict[str, Params]  # "critic", and "guess" where there is an auxiliary classifier


@dataclass(frozen=True)
class Critic:
    """D of one row and its class; an auxiliary `classifier` guesses the class from the row alone (Park et al. 2018)."""

    classes: int
    network: Conv | Mlp
    classifier: Mlp | None = None

    def init(self, key: PRNGKeyArray) -> CriticParams:
        """First weights."""
        one, other = jax.random.split(key)
        critic = {"critic": self.network.init(one)}
        return critic if self.classifier is None else critic | {"guess": self.classifier.init(other)}

    def __call__(self, params: CriticParams, row: Float[Array, " width"], label: Int[Array, ""]) -> Float[Array, ""]:
        condition = jax.nn.one_hot(label, self.classes) if self.classes > 1 else jnp.zeros(0)
        if isinstance(self.network, Conv):
            everywhere = jnp.broadcast_to(condition[None, :], (row.shape[0], condition.shape[0]))
            x = jnp.concatenate([row[:, None], everywhere], axis=1)
        else:
            x = jnp.concatenate([row, condition])
        return self.network(params["critic"], x).reshape(())

    def class_loss(self, params: CriticParams, row: Float[Array, " width"], label: Int[Array, ""]) -> Float[Array, ""]:
        """Cross-entropy of the auxiliary classifier; 0 without one."""
        if self.classifier is None:
            return jnp.zeros(())
        return -jax.nn.log_softmax(self.classifier(params["guess"], row))[label]
