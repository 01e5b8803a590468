"""Class pairs: paid sums per class of products of columns, and the correlations that follow.

    class pairs      sum of e e^T,  e = (x - p, a z) - model mean of the class, over the class's clipping radius

One Gaussian answer (`understudy.questions.products`). Radii come from the margins that were released before. The matrix of all
classes together is cleaned of noise first (`understudy.measure.shrinkage`), then each class's deviation from it; with very many
products one matrix serves all classes. What clipping took is estimated from the released trace.
"""

import numpy as np

from understudy.measure.class_moments import NUMERIC, ROOM, ClassFeatures
from understudy.measure.latent_normal import Block, target_mask
from understudy.measure.shrinkage import spectral
from understudy.private import Curator
from understudy.questions import Products
from understudy.questions.row_maps import Entry, Label

PAIRS = "class pairs"
MOST_PRODUCTS = 200_000  # noise is drawn for so many products at most; beyond, one matrix serves all classes
# Of the constants of the mean embedding (docs/mean-embedding.md, limits); nothing is written about these two: first values.
STRONGEST = 0.98  # correlation that noise may leave
SEEN = 8.0  # the trace says what clipping took where it stands out by so many deviations of its noise


def ask_pairs(
    curator: Curator, of: ClassFeatures, sigma: float, densities: np.ndarray, rates: np.ndarray
) -> np.ndarray:
    """Correlations between columns per class [1 or classes, width, width], cleaned of noise."""
    width = of.codec.width
    mean, variance = model_moments(of, densities, rates)
    pooled = of.classes == 1 or of.classes * width * (width - 1) // 2 > MOST_PRODUCTS
    radius = ROOM * np.sqrt(variance.sum(axis=1))
    features = (of.vector - Entry(Label(), mean[:, of.order])) / Entry(Label(), radius[:, None])
    question = Products(features, 1 if pooled else of.classes, sigma)
    sums = curator.ask(PAIRS, question).value
    back = np.ix_(np.argsort(of.order), np.argsort(of.order))
    counts, inside = of.counts, variance / radius[:, None] ** 2
    if pooled:
        counts, inside = of.counts.sum(keepdims=True), (of.weight @ inside)[None, :]
    mask = target_mask(width, [Block(start, size, np.zeros(size)) for start, size in of.blocks])
    matrices, errors = [], []
    for own, count, var in zip(sums, counts, inside, strict=True):
        matrix = np.zeros((width, width))
        matrix[np.triu_indices(width, 1)] = own[:-1] / count
        error, trace = question.deviation / count, 4.0 * own[-1] / count
        undo = np.clip(var.sum() / trace, 1.0, 2.0) if trace > SEEN * error else 1.0  # what clipping took
        matrices.append(undo * (matrix + matrix.T)[back] * mask)
        errors.append(undo * error)
    share = np.ones(1) if pooled else of.weight
    common = np.tensordot(share, np.stack(matrices), 1)
    common = spectral(common, float(np.sqrt(((share * np.asarray(errors)) ** 2).sum())), mask)
    found = []
    for matrix, error, var in zip(matrices, errors, inside, strict=True):
        own = common if pooled else common + spectral(matrix - common, error, mask)
        scale = np.sqrt(var)
        found.append(np.clip(own / scale / scale[:, None], -STRONGEST, STRONGEST) * mask)
    return np.stack(found)


def model_moments(of: ClassFeatures, densities: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of (x - p, a z) per class, according to the margins."""
    mean, variance = rates - of.rates, rates * (1.0 - rates)
    z = np.einsum("cjt,tj->cj", densities, of.score)
    mean[:, of.numeric] = NUMERIC * z
    variance[:, of.numeric] = NUMERIC**2 * (np.einsum("cjt,tj->cj", densities, of.score**2) - z**2)
    return mean, np.maximum(variance, 1e-4)
