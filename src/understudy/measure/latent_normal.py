"""From noisy class moments to a class-conditional latent normal: shrinkage, covariances, calibration. All post-processing.

Noisy means of z and |z| are believed as far as they stand out from their noise (empirical Bayes): first those of all classes
together, then each class's deviation from them, so that what noise hides looks alike in all classes. Per class and numeric
column the latent density starts as the N(m, s^2) with these moments and is then bent towards the noisy class histogram by
James-Stein shrinkage, where a histogram stands out from its noise. Covariances keep the part of their spectrum that stands out
from the edge 2 s sqrt(D) of the noise's spectrum (as in the shrinkage of singular values, Gavish and Donoho 2017), pooled
first, each class's deviation after. Latent correlations are then corrected by simulation until the *rows* show the released
covariances (NORTA, Cario and Nelson 1997).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

LATENT = np.linspace(-4.0, 4.0, 161)  # grid of the latent axis on which densities live
STEP = float(LATENT[1] - LATENT[0])
SIMULATED = 4000
NEIGHBOURS = 50  # columns of a group so large may be neighbours
RIDGE = 5e-3  # how hard a density resists being tilted
Array = np.ndarray


def energy(count: int) -> float:
    """Two-sigma upper bound on the energy of `count` unit-variance noise coordinates."""
    return float(count + 2.0 * np.sqrt(2.0 * count))


def james_stein(residual: Array, variance: Any, count: int) -> Array:
    """Factor per row that shrinks residuals whose energy could be noise."""
    found = np.maximum((residual**2).sum(axis=-1, keepdims=True), 1e-12)
    return np.maximum(0.0, 1.0 - energy(count) * variance / found)


class Observed(NamedTuple):
    """Noisy means of z and |z| - E|z| per column, with their errors."""

    first: Array  # [d]
    second: Array  # [d]
    first_error: float
    second_error: float


class Cells(NamedTuple):
    """Noisy shares of a column's cells."""

    shares: Array  # [d, cells]
    error: Array  # [d, 1]
    edges: Array  # [d, cells + 1], on the latent axis
    group: Array  # [d], columns that share a distribution


def neighbourly(values: Array, variance: float, group: Array) -> Array:
    """Noisy values of all columns, without what could be noise (empirical Bayes).

    Columns of a large group in the schema's order are often neighbours: samples of a signal, pixels, bands of a spectrum. Noise
    is independent, so what neighbours share is signal. With signal covariance r rho^|i - j|, r and rho from the values
    themselves, the best linear estimate of the signal is K (K + v I)^-1 values; without neighbours it is r / (r + v) values.
    """
    found = np.zeros_like(values)
    large = np.bincount(group)[group] >= NEIGHBOURS
    for own in [np.flatnonzero(~large), *(np.flatnonzero(group == number) for number in np.unique(group[large]))]:
        x = values[own]
        if len(own) == 0:
            continue
        signal = max(float((x**2).mean()) - variance, 0.0)
        alike = float((x[1:] * x[:-1]).mean()) if large[own[0]] else 0.0
        if alike <= 3.0 * (signal + variance) / np.sqrt(len(own)):
            found[own] = signal / max(signal + variance, 1e-12) * x
            continue
        signal = max(signal, alike)
        distance = np.abs(np.subtract.outer(np.arange(len(own)), np.arange(len(own))))
        smooth = signal * min(alike / signal, 0.97) ** distance
        found[own] = smooth @ np.linalg.solve(smooth + variance * np.eye(len(own)), x)
    return found


def believed(observed: Observed, expected: Array, group: Array) -> Array:
    """[2, d] moments E z and E|z| that noise leaves to be believed, drawn towards those of a standard normal latent."""
    first = neighbourly(observed.first, observed.first_error**2, group)
    return np.stack([first, expected + neighbourly(observed.second, observed.second_error**2, group)])


def normal_densities(moments: Array, score: Array) -> Array:
    """[d, grid] normal densities on the latent axis with E z and E|z| as in `moments`; `score[t, j]` is z at latent t."""
    mean, scale = (a.ravel() for a in np.meshgrid(np.linspace(-3, 3, 61), np.geomspace(0.1, 2.5, 33), indexing="ij"))
    weights = np.exp(-((LATENT - mean[:, None]) ** 2) / (2.0 * scale[:, None] ** 2))
    weights /= weights.sum(axis=1, keepdims=True)
    cost = (weights @ score - moments[0]) ** 2 + (weights @ np.abs(score) - moments[1]) ** 2
    # Where spreads leave no trace in |z| (a column far to one side) the plainest normal is taken.
    cost += 1e-3 * (mean**2 / 9.0 + np.log(scale) ** 2)[:, None]
    return weights[cost.argmin(axis=0)]


def latent_densities(moments: Array, score: Array, cells: Cells) -> Array:
    """[d, grid] densities on the latent axis: normal, bent towards the cells and tilted back to the moments."""
    bent = bend(normal_densities(moments, score), cells.shares, cells.error, cells.edges, cells.group)
    return tilt(bent, np.stack([score.T, np.abs(score.T)]), moments)


def tilt(density: Array, features: Array, wanted: Array) -> Array:
    """Densities [d, grid] times exp(sum of a_m f_m) with E f_m = `wanted[m]` for `features` [m, d, grid].

    Newton's method on the convex dual with a little ridge for what cannot be reached. A step that does not improve a column is
    halved: where f_1 and f_2 are nearly the same (z and |z| of a column far to one side) full steps would swing.
    """
    features = np.moveaxis(features, 0, 1)  # [d, m, grid]
    goal, moments = wanted.T, len(wanted)
    power = np.zeros_like(goal)

    def dual(power: Array) -> tuple[Array, Array]:
        raised = np.log(np.maximum(density, 1e-300)) + (power[:, None, :] @ features)[:, 0]
        top = raised.max(axis=1, keepdims=True)
        tilted = np.exp(raised - top)
        total = tilted.sum(axis=1, keepdims=True)
        value = np.log(total[:, 0]) + top[:, 0] - (power * goal).sum(axis=1) + 0.5 * RIDGE * (power**2).sum(axis=1)
        return tilted / total, value

    tilted, value = dual(power)
    for _ in range(20):
        mean = (features @ tilted[:, :, None])[:, :, 0]
        curve = (features * tilted[:, None, :]) @ np.swapaxes(features, 1, 2) - mean[:, :, None] * mean[:, None, :]
        slope = goal - mean - RIDGE * power
        if np.abs(slope).max() < 1e-4:
            break
        step = np.linalg.solve(curve + RIDGE * np.eye(moments), slope[:, :, None])[:, :, 0]
        step /= np.maximum(np.abs(step).max(axis=1, keepdims=True) / 3.0, 1.0)
        for _ in range(8):
            better = dual(power + step)[1]
            worse = better > value + 1e-12
            if not worse.any():
                break
            step[worse] *= 0.5
        step[worse] = 0.0
        power += step
        tilted, value = dual(power)
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
