"""A class-conditional latent normal from class moments: densities, correlations, calibration. All post-processing.

Per class and numeric column the latent density starts as the N(m, s^2) with the believed means of z and |z| and is then bent
towards the noisy class histogram, where this stands out from its noise (`understudy.measure.shrinkage`). Latent correlations
are corrected by simulation until the *rows* show the released covariances (NORTA, Cario and Nelson 1997).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats.qmc import Sobol

from understudy.measure.shrinkage import shrink

LATENT = np.linspace(-4.0, 4.0, 161)  # grid of the latent axis on which densities live
STEP = float(LATENT[1] - LATENT[0])
SIMULATED, EVEN = 4000, 8192  # rows: for correlations; for the shares of outcomes
ROWS_OFF = 4.0  # rows that a simulated share may be off
RIDGE = 5e-3  # how hard a density resists being tilted
Array = np.ndarray


def standard_weights() -> Array:
    """[grid]: the standard normal distribution on the latent axis."""
    density = np.exp(-(LATENT**2) / 2.0)
    return np.asarray(density / density.sum())


class Histograms(NamedTuple):
    """Noisy shares of every numeric column's cells in one class."""

    shares: Array  # [d, cells]
    error: Array  # [d, 1]
    edges: Array  # [d, cells + 1], on the latent axis
    group: Array  # [d], columns with the same number are alike


def normal_densities(moments: Array, score: Array) -> Array:
    """[d, grid] normal densities on the latent axis with E z and E|z| as in `moments`; `score[t, j]` is z at latent t."""
    mean, scale = (a.ravel() for a in np.meshgrid(np.linspace(-3, 3, 61), np.geomspace(0.1, 2.5, 33), indexing="ij"))
    weights = np.exp(-((LATENT - mean[:, None]) ** 2) / (2.0 * scale[:, None] ** 2))
    weights /= weights.sum(axis=1, keepdims=True)
    cost = (weights @ score - moments[0]) ** 2 + (weights @ np.abs(score) - moments[1]) ** 2
    # Where spreads leave no trace in |z| (a column far to one side) the plainest normal is taken.
    cost += 1e-3 * (mean**2 / 9.0 + np.log(scale) ** 2)[:, None]
    return np.asarray(weights[cost.argmin(axis=0)])


def latent_densities(moments: Array, score: Array, cells: Histograms | None) -> Array:
    """[d, grid] densities on the latent axis with E z and E|z| as in `moments`: normal, bent towards the cells, tilted back."""
    density = normal_densities(moments, score)
    if cells is not None:
        density = bend(density, cells)
    return tilt(density, np.stack([score.T, np.abs(score.T)]), moments)


def by_row(residuals: Array, error: Array) -> Array:
    """Every column's residuals [d, cells] shrunk by themselves: one column's shape says nothing about another's."""
    return np.stack([shrink(row, noise) for row, noise in zip(residuals, error, strict=True)])


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


def bend(density: Array, cells: Histograms) -> Array:
    """Densities whose cell shares move towards noisy ones as far as these stand out from their noise."""
    where = np.stack([np.clip(np.searchsorted(e, LATENT, side="right") - 1, 0, len(e) - 2) for e in cells.edges])
    size = cells.shares.shape[1]
    held = np.stack([np.bincount(w, p, minlength=size) for w, p in zip(where, density, strict=True)])
    residual = np.where(held > 0, cells.shares - held, 0.0)
    # Columns that are alike are heard together first: the noise on their mean residual is that much smaller.
    count = np.bincount(cells.group)
    mean = np.stack([np.bincount(cells.group, column) for column in residual.T], axis=1) / count[:, None]
    noise = np.sqrt(np.bincount(cells.group, cells.error[:, 0] ** 2))[:, None] / count[:, None]
    common = by_row(mean, noise)[cells.group]
    alone = count[cells.group][:, None] == 1  # then both are the same residual
    wanted = held + common + np.where(alone, 0.0, by_row(residual - common, cells.error))
    bent = density * np.take_along_axis(np.maximum(wanted, 0.0) / np.maximum(held, 1e-9), where, axis=1)
    return np.asarray(bent / np.maximum(bent.sum(axis=1, keepdims=True), 1e-12))


def correlation(matrix: Array, least: float = 2e-3) -> Array:
    """The nearest thing that is positive definite with unit diagonal."""
    matrix = 0.5 * (matrix + matrix.T)
    values, vectors = np.linalg.eigh(matrix)
    if (values >= least).all():
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
        if np.abs(rate - block.rates).max() < ROWS_OFF / len(scores):
            break
        offset = offset + 0.5 * np.log((block.rates + 1e-4) / (rate + 1e-4))
    return offset


def even_normals(size: int, random: np.random.Generator) -> Array:
    """[EVEN, size]: standard normals spread evenly (Sobol, scrambled), which show a share four times as well as drawn ones."""
    points = Sobol(size, scramble=True, rng=random).random_base2(EVEN.bit_length() - 1)
    return np.asarray(ndtri(np.clip(points, 1e-9, 1.0 - 1e-9)))


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
    normal = random.standard_normal((SIMULATED, width)) if rounds else np.zeros((0, width))
    table = quantile_table(density, LATENT)
    mask = target_mask(width, blocks)
    for _ in range(rounds):
        scores = normal @ np.linalg.cholesky(latent).T
        for block in onehot:
            own = slice(block.start, block.start + block.size)
            offset[own] = calibrate_block(scores[:, own], block, offset[own])
        shown = show(scores, offset, table, score, numeric, blocks)
        shown -= shown.mean(axis=0)
        found = shown.T @ shown / SIMULATED
        scale = np.sqrt(np.maximum(np.diag(found), 1e-4))
        found = found / scale / scale[:, None]
        latent = correlation(np.clip(latent + 0.8 * (target - found), -0.97, 0.97) * mask + np.eye(width))
    for block in onehot:
        own = slice(block.start, block.start + block.size)
        scores = even_normals(block.size, random) @ np.linalg.cholesky(latent[own, own]).T
        offset[own] = calibrate_block(scores, block, offset[own])
    return latent, offset


def target_mask(width: int, blocks: list[Block]) -> Array:
    """0 within a column, 1 between columns: what pairs of coordinates a correlation is released and used for."""
    number = np.arange(width)
    for block in blocks:
        number[block.start : block.start + block.size] = block.start
    return np.asarray(number[:, None] != number[None, :], np.float64)


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
