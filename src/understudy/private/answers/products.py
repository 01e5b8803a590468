"""Exact sums of products of clipped vectors on an integer grid (`understudy.questions.products`).

A block of 2^16 units adds up to at most 2^16 G^2 = 2^46 in floating point, exactly, and blocks are added as 64-bit
integers.
"""

from typing import Any

import numpy as np

from understudy.private.cellwise import pieces
from understudy.private.mapping import Block, apply, row_lengths
from understudy.private.noise import NoiseSource
from understudy.questions import Products
from understudy.questions.products import PRODUCT_GRID

PIECE = 1024  # rows at a time, so that their vectors stay in the processor's cache
FINE = 2.0**32  # steps in which the squared lengths of one unit's rows are added up


def start(question: Products, width: int) -> np.ndarray:
    """Products [classes, d, d] and, in the last row, sums of quarters of the squared norm."""
    empty = Block(np.zeros((0, width), np.float32), np.zeros(0, np.int32))
    d = apply(question.vector, empty).shape[1]
    return np.zeros((question.classes, d + 1, d), np.int64)


def add(question: Products, total: np.ndarray, block: Block) -> None:
    """Add the rows of one block."""
    found = np.zeros(total.shape)
    for first, last, vectors in pieces(question.vector, block, PIECE):
        units = None if block.units is None else block.units[first:last] - block.units[first]
        steps, lengths = on_grid(vectors, units)
        for number in range(question.classes):
            own = slice(None) if question.classes == 1 else block.classes[first:last] == number
            part = steps[own]
            found[number, :-1] += part.T @ part
            found[number, -1, :1] += (lengths[own] // 4).sum()
    total += found.astype(np.int64)


def on_grid(vectors: np.ndarray, owner: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Clip every owner's vectors to joint norm 1 and put them on the grid: whole numbers (held as floats, below 2^53) whose
    norm is at most `PRODUCT_GRID`, exactly; and their squared lengths. Without `owner` every row is its own.
    """
    if owner is None:
        steps = clipped_rows(vectors, PRODUCT_GRID)
        np.trunc(steps, out=steps)
        together = lengths = row_lengths(steps)
    else:
        # Whole numbers again, rounded up: a unit's length does not depend on the order of its rows and is never too short.
        vectors = clipped_rows(vectors)
        squares = np.ceil(row_lengths(vectors) * FINE)
        scale = PRODUCT_GRID / np.sqrt(np.maximum(np.bincount(owner, squares, minlength=1) / FINE, 1.0))
        steps = np.trunc(vectors * scale[owner][:, None])
        lengths = row_lengths(steps)
        together = np.bincount(owner, lengths, minlength=1)[owner]
    # Floating point may leave a norm one part in 1e16 too long: such an owner is left out instead of trusted.
    wrong = together > PRODUCT_GRID * PRODUCT_GRID
    steps[wrong], lengths[wrong] = 0.0, 0.0
    return steps, lengths


def clipped_rows(vectors: np.ndarray, norm: int = 1) -> np.ndarray:
    """Every row clipped to norm 1, by itself, times `norm`; what is no number counts as 0."""
    lengths = row_lengths(vectors)
    if not np.isfinite(lengths).all():
        vectors = np.where(np.isfinite(vectors), vectors, 0.0)
        lengths = row_lengths(vectors)
    return np.asarray(
        vectors * (norm / np.sqrt(np.maximum(lengths, 1.0)))[:, None]
    )  # one too long for its square becomes 0


def release(question: Products, total: np.ndarray, noise: NoiseSource) -> list[Any]:
    """The sums with exact integer noise."""
    d, unit = total.shape[2], float(PRODUCT_GRID * PRODUCT_GRID)
    upper = np.triu_indices(d, 1)
    products = total[:, :-1][:, upper[0], upper[1]]
    if question.diagonal:
        squares = np.diagonal(total[:, :-1], axis1=1, axis2=2)
        noisy = [
            products + noise.draw("gaussian", question.deviation * unit, products.shape),
            squares + noise.draw("gaussian", question.sigma * unit, squares.shape),
        ]
        return (np.concatenate(noisy, axis=1) / unit).tolist()  # type: ignore[no-any-return]
    quarter = total[:, -1, :1] if d else np.zeros((len(total), 1), np.int64)
    whole = np.concatenate([products, quarter], axis=1)
    return ((whole + noise.draw("gaussian", question.deviation * unit, whole.shape)) / unit).tolist()  # type: ignore[no-any-return]
