"""Samples matched to released class moments, after training: post-processing, free.

A generator that learned from noisy gradients knows the shape of the data better than its scale. Where class moments were
paid for, its scores y are moved so that every class has them:

    numeric    y <- m_c + s_c (y - mean_c) / sd_c                    m_c, s_c released;  mean_c, sd_c of generated scores
    binary     1 where y exceeds the generated scores' quantile at one minus the released rate
    one-hot    logits shifted by log(released rate / generated rate), a few times over

All figures of generated scores come from a fixed number of draws with a fixed public key.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Float, Int

from understudy.nn.heads import Heads

DRAWS = 2048  # per class
TURNS = 6
LEAST = 1e-3


def match_shapes(classes: int, width: int) -> dict[str, tuple[int, ...]]:
    return {f"match/{name}": (classes, width) for name in ("factor", "shift")}


def match(heads: Heads, classes: int, start: Any, draw: Callable[[Array, Any], Array]) -> dict[str, Array]:
    """Factor and shift of every class's scores, so that factor y + shift has the released moments."""
    key = jax.random.key(
        0, impl="rbg"
    )  # public: it draws generated rows from released values, and no privacy rests on it
    location, scale = jnp.asarray(start.location), jnp.exp(jnp.asarray(start.log_scale))
    threshold = jnp.asarray(start.threshold)
    numeric, binary = (jnp.asarray(heads.coordinates(head)) for head in ("numeric", "binary"))
    onehot = heads.coordinates("onehot")

    def of_class(c: Int[Array, ""]) -> tuple[Array, Array]:
        y = draw(jnp.full(DRAWS, c), jax.random.fold_in(key, c))
        mean, deviation = y.mean(axis=0), jnp.maximum(y.std(axis=0), LEAST)
        factor = jnp.where(numeric, scale[c] / deviation, jnp.ones_like(mean))
        shift = jnp.where(numeric, location[c] - factor * mean, jnp.zeros_like(mean))
        if heads.coordinates("binary").any():
            rate = ndtr(location[c] - threshold)  # what a copula at this location would draw
            cut = quantiles(y, 1.0 - rate)
            shift = jnp.where(binary, threshold - cut, shift)
        if onehot.any():
            shift = jnp.where(jnp.asarray(onehot), onehot_shift(heads, y, location[c]), shift)
        return factor, shift

    factors, shifts = jax.lax.map(of_class, jnp.arange(classes))
    return {"match/factor": factors, "match/shift": shifts}


def matched(
    heads: Heads, sampler: dict[str, Array], y: Float[Array, "rows width"], classes: Int[Array, " rows"]
) -> Float[Array, "rows width"]:
    return sampler["match/factor"][classes] * y + sampler["match/shift"][classes]


def quantiles(y: Float[Array, "draws width"], level: Float[Array, " width"]) -> Float[Array, " width"]:
    ordered = jnp.sort(y, axis=0)
    place = jnp.clip(jnp.round(level * (y.shape[0] - 1)), 0, y.shape[0] - 1).astype(jnp.int32)
    return jnp.take_along_axis(ordered, place[None, :], axis=0)[0]


def onehot_shift(
    heads: Heads, y: Float[Array, "draws width"], wanted: Float[Array, " width"]
) -> Float[Array, " width"]:
    """Shift of the logits at which outcomes are as common as `wanted` (logarithms of rates) says."""
    rate = heads.softmax(wanted[None, :])[0]
    shift = jnp.zeros_like(wanted)
    for _ in range(TURNS):
        found = heads.winners(y + shift[None, :]).mean(axis=0)
        shift = shift + jnp.log(jnp.maximum(rate, LEAST)) - jnp.log(jnp.maximum(found, LEAST))
    return shift
