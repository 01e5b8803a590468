"""Samples matched to released class moments, after training: post-processing, free.

A generator that learned from noisy gradients knows how columns go together better than how each is distributed. Where class
moments were paid for, its scores y are moved so that every class has them:

    numeric    y <- m_c + s_c Phi^-1(F_c(y))          m_c, s_c released;  F_c distribution of the class's generated scores
    binary     1 where y exceeds the generated scores' quantile at one minus the released share
    one-hot    logits shifted by log(released share / generated share), a few times over

Ranks and not mean and deviation: a network's scores can have tails that no table has, and a few far rows would then use up
the whole released deviation. F_c is kept as quantiles, with straight lines between them. All figures of generated scores
come from a fixed number of draws with a fixed public key.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.nn.copula import Start
from understudy.nn.heads import Heads

# First values, as far as commits and docs say.
DRAWS = 2048  # per class
TURNS = 6
LEAST = 1e-3
LEVELS = np.linspace(-3.0, 3.0, 25).astype(np.float32)  # normal scores at which quantiles are kept
BEYOND = 2.0  # how far the outermost lines go on, in steps between levels


def match_shapes(classes: int, width: int) -> dict[str, tuple[int, ...]]:
    """Shapes of what `match` returns."""
    return {"match/quantiles": (classes, len(LEVELS), width)} | {
        f"match/{name}": (classes, width) for name in ("factor", "shift")
    }


def match(heads: Heads, classes: int, start: Start, draw: Callable[[Array, PRNGKeyArray], Array]) -> dict[str, Array]:
    """Factor and shift of every class's scores, so that factor y + shift has the released moments."""
    key = jax.random.key(
        0, impl="rbg"
    )  # public: it draws generated rows from released values, and no privacy rests on it
    location, scale = jnp.asarray(start.location), jnp.exp(jnp.asarray(start.log_scale))
    threshold = jnp.asarray(start.threshold)
    numeric, binary = (jnp.asarray(heads.coordinates(head)) for head in ("numeric", "binary"))
    onehot = heads.coordinates("onehot")

    def of_class(c: Int[Array, ""]) -> tuple[Array, Array, Array]:
        y = draw(jnp.full(DRAWS, c), jax.random.fold_in(key, c))
        kept = jax.vmap(lambda level: quantiles(y, jnp.full(heads.width, level)))(ndtr(LEVELS))
        factor = jnp.where(numeric, scale[c], jnp.ones_like(location[c]))
        shift = jnp.where(numeric, location[c], jnp.zeros_like(location[c]))
        if heads.coordinates("binary").any():
            share = ndtr(location[c] - threshold)  # what a copula at this location would draw
            cut = quantiles(y, 1.0 - share)
            shift = jnp.where(binary, threshold - cut, shift)
        if onehot.any():
            shift = jnp.where(jnp.asarray(onehot), onehot_shift(heads, y, location[c]), shift)
        return kept, factor, shift

    found = jax.lax.map(of_class, jnp.arange(classes))
    return {f"match/{name}": value for name, value in zip(("quantiles", "factor", "shift"), found, strict=True)}


def matched(
    heads: Heads, sampler: dict[str, Array], y: Float[Array, "rows width"], classes: Int[Array, " rows"]
) -> Float[Array, "rows width"]:
    """Scores moved to the released moments of their class."""
    numeric = jnp.asarray(heads.coordinates("numeric"))
    y = jnp.where(numeric, normal_scores(sampler["match/quantiles"], y, classes), y)
    return sampler["match/factor"][classes] * y + sampler["match/shift"][classes]


def normal_scores(
    kept: Float[Array, "classes levels width"], y: Float[Array, "rows width"], classes: Int[Array, " rows"]
) -> Float[Array, "rows width"]:
    """Phi^-1(F_c(y)): one straight line after the other, so that no row needs all quantiles at once."""
    lines = len(LEVELS) - 1
    step = LEVELS[1] - LEVELS[0]

    def add(line: Int[Array, ""], total: Array) -> Array:
        low, high = kept[:, line][classes], kept[:, line + 1][classes]
        part = (y - low) / jnp.maximum(high - low, 1e-6)
        least, most = jnp.where(line == 0, -BEYOND, 0.0), jnp.where(line == lines - 1, 1.0 + BEYOND, 1.0)
        return jnp.asarray(total + step * jnp.clip(part, least, most))

    scores: Array = jax.lax.fori_loop(0, lines, add, jnp.full_like(y, LEVELS[0]))
    return scores


def quantiles(y: Float[Array, "draws width"], level: Float[Array, " width"]) -> Float[Array, " width"]:
    """Of every column, at a level of its own."""
    ordered = jnp.sort(y, axis=0)
    place = jnp.clip(jnp.round(level * (y.shape[0] - 1)), 0, y.shape[0] - 1).astype(jnp.int32)
    return jnp.take_along_axis(ordered, place[None, :], axis=0)[0]


def onehot_shift(
    heads: Heads, y: Float[Array, "draws width"], wanted: Float[Array, " width"]
) -> Float[Array, " width"]:
    """Shift of the logits at which outcomes are as common as `wanted` (logarithms of shares) says."""
    share = heads.softmax(wanted[None, :])[0]
    shift = jnp.zeros_like(wanted)
    for _ in range(TURNS):
        found = heads.winners(y + shift[None, :]).mean(axis=0)
        shift = shift + jnp.log(jnp.maximum(share, LEAST)) - jnp.log(jnp.maximum(found, LEAST))
    return shift
