"""Exact sums of products of clipped vectors on an integer grid (`understudy.questions.products`).

A piece of 2^11 rows adds up to less than 2^11 G^2 = 2^41 in floating point, exactly, and pieces are added as 64-bit
integers.
"""

from typing import Any

import numpy as np

from understudy.private.answers.sums import clipped_rows, on_grid
from understudy.private.mapping import Block, apply, row_lengths
from understudy.private.noise import NoiseSource
from understudy.questions import Products
from understudy.questions.products import GRID

PIECE = 2048


def start(question: Products, width: int) -> Any:
    """Products [classes, d, d] and, in the last row, sums of quarters of the squared norm."""
    empty = Block(np.zeros((0, width), np.float32), np.zeros(0, np.int32))
    d = apply(question.vector, empty).shape[1]
    return np.zeros((question.classes, d + 1, d), np.int64)


def add(question: Products, total: Any, block: Block) -> None:
    if block.units is None:
        for first in range(0, len(block), PIECE):
            piece = block.part(first, first + PIECE)
            add_products(question, total, on_grid(apply(question.vector, piece), None, GRID), piece.classes)
    else:
        add_products(
            question, total, on_grid(clipped_rows(apply(question.vector, block)), block.units, GRID), block.classes
        )


def add_products(question: Products, total: Any, steps: Any, classes: Any) -> None:
    for number in range(question.classes):
        own = steps if question.classes == 1 else steps[classes == number]
        for first in range(0, len(own), PIECE):  # a unit's rows stay together, so a block can be longer
            part = own[first : first + PIECE]
            total[number, :-1] += (part.T @ part).astype(np.int64)
            if total.shape[2]:
                total[number, -1, 0] += int((row_lengths(part) // 4).sum())


def release(question: Products, total: Any, noise: NoiseSource) -> list[Any]:
    d, unit = total.shape[2], float(GRID * GRID)
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
