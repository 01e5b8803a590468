"""Loss of information: generated rows have the released class moments, so that a generator cannot shrink to a few rows.

After the information loss of Park et al. 2018, which holds the mean and the deviation of generated features to those of real
ones. Here the features are the columns themselves, class by class, because their moments are released already:

    sum over columns j, mean over classes c, of   (mean_c v_j - m_cj)^2  +  (sd_c v_j - s_cj)^2        the latter where numeric

with v generated rows as the critic sees them. Only released and generated values enter: post-processing, free.
"""

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Float, Int

from understudy.nn.copula import Start
from understudy.nn.heads import Heads

LEAST_VARIANCE = 1e-4  # the derivative of a deviation has no bound at 0


def lost_information(
    heads: Heads, classes: int, start: Start, rows: Float[Array, "rows width"], labels: Int[Array, " rows"]
) -> Float[Array, ""]:
    """How far generated rows are from the released class moments."""
    numeric = jnp.asarray(heads.coordinates("numeric"))[None, :]
    member = jax.nn.one_hot(labels, classes).T
    share = member / jnp.maximum(member.sum(axis=1, keepdims=True), 1.0)
    mean = share @ rows
    deviation = jnp.sqrt(jnp.maximum(share @ rows**2 - mean**2, LEAST_VARIANCE))
    gap = (mean - wanted_means(heads, start)) ** 2
    gap = gap + jnp.where(numeric, (deviation - jnp.exp(start.log_scale)) ** 2, 0.0)
    return gap.sum(axis=1).mean()


def wanted_means(heads: Heads, start: Start) -> Float[Array, "classes width"]:
    """Released class means of rows as the critic sees them, from the locations of a copula with these means."""
    numeric, onehot = (jnp.asarray(heads.coordinates(head))[None, :] for head in ("numeric", "onehot"))
    share = jnp.where(onehot, jnp.exp(start.location), ndtr(start.location - start.threshold[None, :]))
    return jnp.where(numeric, start.location, (share - start.rates[None, :]) / start.scales[None, :])
