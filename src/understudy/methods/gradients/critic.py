"""The critic of one row and its class, and its loss on a real row: the only part of a GAN that goes through the wall."""

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.nn.conv import Conv, Norm, down
from understudy.nn.heads import Heads
from understudy.nn.mlp import Mlp


@dataclass(frozen=True)
class Critic:
    """D of one row and its class; with `classifier` also the scores of the classes, from the row alone."""

    heads: Heads
    classes: int
    kind: Literal["mlp", "conv"]
    hidden: tuple[int, ...]
    channels: tuple[int, ...]
    norm: Norm
    classifier: bool

    @property
    def network(self) -> Conv | Mlp:
        extra = self.classes if self.classes > 1 else 0
        if self.kind == "conv":
            return down(self.heads.width, 1 + extra, (*self.channels, 1), self.norm)
        return Mlp((self.heads.width + extra, *self.hidden, 1))

    @property
    def guesser(self) -> Mlp:
        return Mlp((self.heads.width, *self.hidden, self.classes))

    def init(self, key: PRNGKeyArray) -> Any:
        one, other = jax.random.split(key)
        return {"critic": self.network.init(one)} | ({"guess": self.guesser.init(other)} if self.classifier else {})

    def __call__(self, params: Any, row: Float[Array, " width"], label: Int[Array, ""]) -> Float[Array, ""]:
        network = self.network
        if self.classes > 1:
            told = jax.nn.one_hot(label, self.classes)
        else:
            told = jnp.zeros(0)
        if isinstance(network, Conv):
            spread = jnp.broadcast_to(told[None, :], (row.shape[0], told.shape[0]))
            x = jnp.concatenate([row[:, None], spread], axis=1)
        else:
            x = jnp.concatenate([row, told])
        return network(params["critic"], x).reshape(())

    def guess(self, params: Any, row: Float[Array, " width"], label: Int[Array, ""]) -> Float[Array, ""]:
        """Cross-entropy of the auxiliary classifier."""
        return -jax.nn.log_softmax(self.guesser(params["guess"], row))[label]


@dataclass(frozen=True)
class RealLoss:
    """What the critic's loss is on one real row: the only part that goes through the wall."""

    critic: Critic
    objective: str

    def __call__(self, params: Any, row: Float[Array, " width"], label: Int[Array, ""]) -> Float[Array, ""]:
        score = self.critic(params, row, label)
        loss = -score if self.objective == "wasserstein" else jax.nn.softplus(-score)
        return loss + self.critic.guess(params, row, label) if self.critic.classifier else loss
