"""What the generator's loss has besides the critic's judgement. Only released and generated values enter: post-processing, free.

MomentPrior     a copula stays near the released moments: a Gaussian prior by their standard error
InformationLoss generated rows have the released class moments (`information.py`; tableGAN)
ClassLoss       an auxiliary classifier recognises the class of generated rows (tableGAN)
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from understudy.methods.gradients.critic import Critic, CriticParams
from understudy.methods.gradients.information import lost_information
from understudy.nn.copula import Start
from understudy.nn.heads import Heads
from understudy.nn.mlp import Params

Rows = Float[Array, "rows width"]
Classes = Int[Array, " rows"]
Scalar = Float[Array, ""]
# A first value, as far as commits and docs say.
PRIOR_WEIGHT = 0.05  # of the squared distance in standard errors, beside a critic whose scores are of order 1


@dataclass(frozen=True)
class ClassLoss:
    """Cross-entropy of the critic's auxiliary classifier on generated rows."""

    critic: Critic

    def __call__(self, params: Params, start: Start, critic: CriticParams, rows: Rows, classes: Classes) -> Scalar:
        return jax.vmap(self.critic.class_loss, in_axes=(None, 0, 0))(critic, rows, classes).mean()


@dataclass(frozen=True)
class InformationLoss:
    """Distance of generated rows from the released class moments, times `weight`."""

    heads: Heads
    classes: int
    weight: float

    def __call__(self, params: Params, start: Start, critic: CriticParams, rows: Rows, classes: Classes) -> Scalar:
        return self.weight * lost_information(self.heads, self.classes, start, rows, classes)


@dataclass(frozen=True)
class MomentPrior:
    """Distance of a copula's locations and scales from the released ones, in standard errors."""

    def __call__(self, params: Params, start: Start, critic: CriticParams, rows: Rows, classes: Classes) -> Scalar:
        moved = (params["location"] - start.location) ** 2 + (params["log_scale"] - start.log_scale) ** 2
        return PRIOR_WEIGHT * (moved / jnp.asarray(start.prior_deviation) ** 2).mean()


Term = ClassLoss | InformationLoss | MomentPrior
