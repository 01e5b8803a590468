"""From noisy class moments to a class-conditional latent normal: shrinkage, covariances, calibration. All post-processing.

Per class and numeric column the latent density starts as N(m, s^2), found by maximum a posteriori from the noisy means of z
and |z| (prior widths by empirical Bayes), and is then bent towards the noisy class histogram by James-Stein shrinkage, where
a histogram stands out from its noise. Covariances keep the part of their spectrum that stands out from the edge 2 s sqrt(D)
of the noise's spectrum (as in the shrinkage of singular values, Gavish and Donoho 2017), pooled first, each class's
deviation after. Latent correlations are then corrected by simulation until the *rows* show the released covariances
(NORTA, Cario and Nelson 1997).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

LATENT = np.linspace(-4.0, 4.0, 161)  # grid of the latent axis on which densities live
STEP = float(LATENT[1] - LATENT[0])
SIMULATED = 4000
Array = np.ndarray


def energy(count: int) -> float:
    """Two-sigma upper bound on the energy of `count` unit-variance noise coordinates."""
    return float(count + 2.0 * np.sqrt(2.0 * count))


def excess(values: Array, variance: Any) -> float:
    """Variance of the signal in noisy values, nearly zero unless it is significant."""
    significant = (values**2).sum() > energy(len(values)) * variance
    return max(float((values**2).mean()) - variance, 1e-4) if significant else 1e-4


def james_stein(residual: Array, variance: Any, count: int) -> Array:
    """Factor per row that shrinks residuals whose energy could be noise."""
    found = np.maximum((residual**2).sum(axis=-1, keepdims=True), 1e-12)
    return np.maximum(0.0, 1.0 - energy(count) * variance / found)


class Observed(NamedTuple):
    """Noisy moments of one class: means of z and |z| - E|z| with their errors, cell shares with their error."""

    first: Array  # [d]
    second: Array  # [d]
    first_error: Any
    second_error: Any
    cells: Array  # [d, cells], shares
    cells_error: Array  # [d, 1]


def latent_densities(observed: Observed, score: Array, expected: Array, edges: Array, group: Array) -> Array:
    """[d, grid] densities on the latent axis: `score[t, j]` is z at latent t, `expected[j]` E|z|, `edges[j]` cells' edges."""
    d = score.shape[1]
    if d == 0:
        return np.zeros((0, len(LATENT)))
    mean, scale = (a.ravel() for a in np.meshgrid(np.linspace(-3, 3, 61), np.geomspace(0.15, 2.5, 30), indexing="ij"))
    weights = np.exp(-((LATENT - mean[:, None]) ** 2) / (2.0 * scale[:, None] ** 2))
    weights /= weights.sum(axis=1, keepdims=True)
    v1, v2 = observed.first_error**2, observed.second_error**2
    prior1, prior2 = excess(observed.first, v1), 4.0 * excess(observed.second, v2)
    cost = (weights @ score - observed.first) ** 2 / (2.0 * v1)
    cost += (weights @ np.abs(score) - expected - observed.second) ** 2 / (2.0 * v2)
    cost += (mean**2 / (2.0 * prior1) + np.log(scale) ** 2 / (2.0 * prior2))[:, None]
    density = weights[cost.argmin(axis=0)]
    bent = bend(density, observed.cells, observed.cells_error, edges, group)
    heard = prior2 > 4.0e-4  # otherwise E|z| is left as it is
    wanted = np.stack(
        [observed.first * prior1 / (prior1 + v1), expected + observed.second * prior2 / (prior2 + 4.0 * v2)]
    )
    return tilt(bent, score, wanted, 2 if heard else 1)


def tilt(density: Array, score: Array, wanted: Array, moments: int) -> Array:
    """Densities times exp(a z + b |z|) with E z (and E|z| if `moments` is 2) as wanted: cells bend shapes, not means.

    Newton's method on the convex dual, all columns at once, with a little ridge for what cannot be reached.
    """
    features = np.stack([score.T, np.abs(score.T)])[:moments]  # [moments, d, grid]
    power = np.zeros((moments, len(density)))
    tilted = density
    for _ in range(30):
        tilted = density * np.exp(np.clip(np.einsum("md,mdt->dt", power, features), -30.0, 30.0))
        tilted /= np.maximum(tilted.sum(axis=1, keepdims=True), 1e-300)
        mean = np.einsum("dt,mdt->md", tilted, features)
        second = np.einsum("dt,mdt,ndt->dmn", tilted, features, features)
        curve = second - np.einsum("md,nd->dmn", mean, mean) + 2e-3 * np.eye(moments)
        slope = (wanted[:moments] - mean - 2e-3 * power).T[:, :, None]
        power = np.clip(power + np.clip(np.linalg.solve(curve, slope)[:, :, 0].T, -1.0, 1.0), -6.0, 6.0)
    return tilted


def bend(density: Array, cells: Array, error: Array, edges: Array, group: Array) -> Array:
    """Densities whose cell shares move towards noisy ones as far as these stand out from their noise."""
    if cells.shape[1] == 0:
        return density
    where = np.stack([np.clip(np.searchsorted(e, LATENT, side="right") - 1, 0, len(e) - 2) for e in edges])
    held = np.stack([np.bincount(w, p, minlength=cells.shape[1]) for w, p in zip(where, density, strict=True)])
    residual = np.where(held > 0, cells - held, 0.0)
    # Columns that share a distribution are heard together first: the noise on their mean residual is that much smaller.
    count = np.bincount(group)
    mean = np.stack([np.bincount(group, column) for column in residual.T], axis=1) / count[:, None]
    mean_error = np.sqrt(np.bincount(group, error[:, 0] ** 2))[:, None] / count[:, None]
    common = (james_stein(mean, mean_error**2, cells.shape[1] - 1) * mean)[group]
    kept = james_stein(residual - common, error**2, cells.shape[1] - 1) * (residual - common)
    alone = count[group][:, None] == 1  # then both are the same residual
    wanted = np.maximum(held + common + np.where(alone, 0.0, kept), 0.0)
    ratio = wanted / np.maximum(held, 1e-9)
    bent = density * np.take_along_axis(ratio, where, axis=1)
    return bent / np.maximum(bent.sum(axis=1, keepdims=True), 1e-12)


def spectral(matrix: Array, error: float, mask: Array) -> Array:
    """The part of a symmetric matrix whose eigenvalues stand out from noise of standard deviation `error` per entry."""
    values, vectors = np.linalg.eigh(matrix * mask)
    edge = 2.0 * error * np.sqrt(len(matrix))
    kept = np.sign(values) * np.sqrt(np.maximum(values**2 - edge**2, 0.0))
    some = kept != 0.0
    return ((vectors[:, some] * kept[some]) @ vectors[:, some].T) * mask


def correlation(matrix: Array, least: float = 2e-3) -> Array:
    """The nearest thing that is positive definite with unit diagonal."""
    matrix = 0.5 * (matrix + matrix.T)
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= least:
        return matrix
    matrix = (vectors * np.maximum(values, least)) @ vectors.T
    scale = np.sqrt(np.diag(matrix))
    return matrix / scale / scale[:, None]


def quantile_table(density: Array, points: Array) -> Array:
    """[d, points]: the latent value that a standard normal s becomes when its column has this density."""
    edges = np.concatenate([[LATENT[0] - STEP / 2], LATENT + STEP / 2])
    share = ndtr(points)
    table = np.zeros((len(density), len(points)))
    for j, row in enumerate(density):
        cdf = np.concatenate([[0.0], np.cumsum(row)])
        rising = cdf / cdf[-1] + 1e-9 * np.arange(len(cdf))
        table[j] = np.interp(share, rising / rising[-1], edges)
    return table


class Block(NamedTuple):
    """One discrete column: where its coordinates are, and how often each outcome should appear in the class."""

    start: int
    size: int
    rates: Array  # [size]


def binary_offset(rate: float) -> float:
    """s + offset > 0 happens with this rate."""
    return float(ndtri(rate))


def calibrate_block(scores: Array, block: Block, offset: Array) -> Array:
    """Offsets with which arg-max(scores + offset) has the wanted rates."""
    for _ in range(25):
        winner = np.argmax(scores + offset, axis=1)
        rate = np.bincount(winner, minlength=block.size) / len(scores)
        offset = offset + 0.5 * np.log((block.rates + 1e-4) / (rate + 1e-4))
    return offset


def fit_latent(
    target: Array,
    density: Array,
    score: Array,
    numeric: Array,
    blocks: list[Block],
    rounds: int,
    random: np.random.Generator,
) -> tuple[Array, Array]:
    """Latent correlation [D, D] and offsets [D] with which rows have the correlations `target` and the blocks' rates."""
    width = len(target)
    latent, offset = correlation(np.eye(width) + target), np.zeros(width)
    onehot = [block for block in blocks if block.size > 1]
    for block in blocks:
        own = slice(block.start, block.start + block.size)
        offset[own] = np.log(block.rates) if block.size > 1 else binary_offset(float(block.rates[0]))
    if rounds == 0 and not onehot:
        return latent, offset
    normal = random.standard_normal((SIMULATED, width))
    table = quantile_table(density, LATENT)
    mask = target_mask(width, blocks)
    for number in range(rounds + 1):
        scores = normal @ np.linalg.cholesky(latent).T
        for block in onehot:
            own = slice(block.start, block.start + block.size)
            offset[own] = calibrate_block(scores[:, own], block, offset[own])
        if number == rounds:
            break
        shown = show(scores, offset, table, score, numeric, blocks)
        shown -= shown.mean(axis=0)
        found = shown.T @ shown / SIMULATED
        scale = np.sqrt(np.maximum(np.diag(found), 1e-4))
        found = found / scale / scale[:, None]
        latent = correlation(np.clip(latent + 0.8 * (target - found), -0.97, 0.97) * mask + np.eye(width))
    return latent, offset


def target_mask(width: int, blocks: list[Block]) -> Array:
    """0 within a column, 1 between columns: what pairs of coordinates a correlation is released and used for."""
    number = np.arange(width)
    for block in blocks:
        number[block.start : block.start + block.size] = block.start
    return (number[:, None] != number[None, :]).astype(np.float64)


def show(scores: Array, offset: Array, table: Array, score: Array, numeric: Array, blocks: list[Block]) -> Array:
    """Features of simulated rows: z of numeric coordinates, drawn outcomes of discrete ones."""
    shown = np.zeros_like(scores)
    at = np.clip(np.rint((scores[:, numeric] - LATENT[0]) / STEP), 0, len(LATENT) - 1).astype(int)
    latent = np.take_along_axis(table.T, at, axis=0)
    at = np.clip(np.rint((latent - LATENT[0]) / STEP), 0, len(LATENT) - 1).astype(int)
    shown[:, numeric] = np.take_along_axis(score, at, axis=0)
    for block in blocks:
        own = slice(block.start, block.start + block.size)
        if block.size == 1:
            shown[:, own] = scores[:, own] + offset[own] > 0
        else:
            shown[np.arange(len(scores)), block.start + np.argmax(scores[:, own] + offset[own], axis=1)] = 1.0
    return shown
