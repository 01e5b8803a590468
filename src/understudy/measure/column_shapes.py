"""Column shapes: in a wide table, what each numeric column has of its own beside the distribution of its group.

    column shapes    sum of (z, b (|z| - E|z|), c (on the lower bound - rate), c (on the upper bound - rate)) over all rows

One Gaussian answer (`understudy.measure.class_moments.clipped_means`). Each column's distribution is that of its group,
tilted to the location, spread and shares on the bounds that stand out from the noise.
"""

import math

import dp_accounting as dpa
import numpy as np
from scipy.special import ndtr, ndtri

from understudy.measure.cells import distribution
from understudy.measure.class_moments import ROOM, SPREAD, clipped_means
from understudy.measure.latent_normal import LATENT, STEP, normal_densities, standard_weights, tilt
from understudy.measure.marginals import NormalScores
from understudy.measure.shrinkage import shrink, smooth
from understudy.private import Curator
from understudy.questions.row_maps import LookUp, Present, joined
from understudy.recipe import Announced
from understudy.schema import Schema

COLUMN_SHAPES = "column shapes"
# As all weights of the mean embedding, set while looking at epileptic seizure, credit, Adult and ISOLET (docs/mean-embedding.md).
BOUND = 1.4  # weight c of a value on a bound beside z


def announce_shapes(weight: float) -> Announced:
    """The answer above."""
    return Announced(COLUMN_SHAPES, weight, dpa.GaussianDpEvent, detail="location and spread of every numeric column")


def ask_shapes(curator: Curator, schema: Schema, scores: NormalScores, rows: float, sigma: float) -> NormalScores:
    """Every column's own distribution: that of its group, moved to the column's location, spread and share on the bounds."""
    score, marginals = scores.score_of_latent(LATENT), scores.marginals
    size, square = standard_weights() @ np.abs(score), standard_weights() @ score**2
    last = np.argmax(marginals.edges >= marginals.edges[:, -1:], axis=1) - 1  # cells beyond are empty
    below_last = np.take_along_axis(marginals.cdf, last[:, None], axis=1)[:, 0]
    ends = np.stack([marginals.cdf[:, 1], 1.0 - below_last])
    cell = scores.cells
    z, present = LookUp(cell, tuple(scores.levels)), Present(cell)
    on_bound = [np.zeros((2, len(levels))) for levels in scores.levels]
    for own, at in zip(on_bound, last, strict=True):
        own[0, 0], own[1, at] = 1.0, 1.0
    low, high = ((LookUp(cell, tuple(own[k] for own in on_bound)) - ends[k]) * present for k in range(2))
    features = joined(z, SPREAD * ((abs(z) - size) * present), BOUND * low, BOUND * high)
    variance = square + SPREAD**2 * (square - size**2) + BOUND**2 * (ends * (1.0 - ends)).sum(axis=0)
    radius = ROOM * math.sqrt(float(variance.sum()))
    means, error = clipped_means(curator, schema, COLUMN_SHAPES, sigma, features, radius, np.array([rows]))
    first, second, *bounds = np.split(means[0], 4)
    noise = float(error[0])
    wanted = [
        smooth(first, noise**2, scores.group),
        size + smooth(second / SPREAD, (noise / SPREAD) ** 2, scores.group),
    ]
    density = normal_densities(np.stack(wanted), score)
    tilts = [score.T, np.abs(score.T)]
    below = ndtr(LATENT)[None, :]
    places = (below < ends[0][:, None], 1.0 - below < ends[1][:, None])
    for end, share, place in zip(ends, bounds, places, strict=True):
        held = (density * place).sum(axis=1)
        tilts.append(place.astype(np.float64))
        wanted.append(np.clip(held + shrink(end + share / BOUND - held, noise / BOUND), 0.0, 1.0))
    tilted = tilt(density, np.stack(tilts), np.stack(wanted)) + 1e-9
    knots = np.concatenate([LATENT - STEP / 2.0, [LATENT[-1] + STEP / 2.0]])
    latent = ndtri(marginals.cdf)
    own = np.stack([np.interp(x, knots, f) for x, f in zip(latent, distribution(tilted), strict=True)])
    return scores._replace(marginals=marginals._replace(cdf=own))
