"""A panel of teachers is asked for one vector each: what they are asked, and the features that they and the student share.

A round of joint votes shows generated rows to practise against and generated rows to be judged. Teachers and student look at rows
through the same public features, counted from the generated rows of the round: with m and s their mean and deviation by class,

    z = (x - m) / s  cut off at +-3,        psi(x) = (z,  (z^2 - 1) / sqrt(2)  of the numeric coordinates).

In these units a generator that is right has mean 0 and deviation about 1 in every feature of the real rows, whatever the public
bounds of the columns are, and how far it is off stays visible while it closes in.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

MOST = 3.0  # deviations at which a coordinate is cut off
LEAST_DEVIATION = 0.02  # of generated rows, in units of scores


class Panel(NamedTuple):
    """Generated rows to practise against and to be judged, per class: arrays computed from released values alone."""

    practice: Float[Array, "steps classes practice width"]
    judged: Float[Array, "classes judged width"]


class Frame(NamedTuple):
    """Where the generated rows of a class are, and how wide."""

    middle: Float[Array, "classes width"]
    deviation: Float[Array, "classes width"]


def frame_of(practice: Float[Array, "steps classes practice width"]) -> Frame:
    """Mean and deviation of the generated rows of every class."""
    deviation = jnp.maximum(practice.std(axis=(0, 2)), LEAST_DEVIATION)
    return Frame(practice.mean(axis=(0, 2)), deviation)


def features(
    frame: Frame, rows: Float[Array, "classes *rows width"], squared: tuple[int, ...]
) -> Float[Array, "classes *rows features"]:
    """psi of rows that are sorted by class; `squared` are the coordinates whose squares are looked at."""
    shape = (frame.middle.shape[0], *(1 for _ in rows.shape[1:-1]), frame.middle.shape[1])
    z = (rows - frame.middle.reshape(shape)) / frame.deviation.reshape(shape)
    z = jnp.clip(z, -MOST, MOST)
    chosen = z[..., np.asarray(squared, np.int32)]
    return jnp.concatenate([z, (chosen**2 - 1.0) / np.sqrt(2.0)], axis=-1)
