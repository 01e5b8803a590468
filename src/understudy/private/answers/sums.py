"""Exact sums of clipped vectors on an integer grid (`understudy.questions.sums`)."""

from typing import Any

import numpy as np

from understudy.private.mapping import Block, apply, row_lengths
from understudy.private.noise import NoiseSource
from understudy.questions import Sums
from understudy.questions.sums import GRID

PIECE = 1024  # rows at a time, so that their vectors stay in the processor's cache
FEW_GROUPS = 16  # are added up by a matrix product, others by sorting
FINE = 2.0**32  # steps in which rows of one unit are added up: exact below 2^21 rows


def start(question: Sums, width: int) -> Any:
    empty = Block(np.zeros((0, width), np.float32), np.zeros(0, np.int32))
    return np.zeros((question.groups, apply(question.vector, empty).shape[1]), np.int64)


def add(question: Sums, total: Any, block: Block) -> None:
    if block.units is None:
        for first in range(0, len(block), PIECE):
            piece = block.part(first, first + PIECE)
            steps = on_grid(apply(question.vector, piece))
            add_groups(total, groups_of(question, piece), steps)
        return
    vectors, groups = apply(question.vector, block), groups_of(question, block)
    vectors, groups, owner = per_unit_and_group(vectors, groups, block.units, question.average)
    add_groups(total, groups, on_grid(vectors, owner))


def groups_of(question: Sums, block: Block) -> Any:
    if question.group is None:
        return np.zeros(len(block), np.int64)
    return np.clip(np.asarray(apply(question.group, block)[:, 0], np.int64), 0, question.groups - 1)


def on_grid(vectors: Any, owner: Any = None, grid: int = GRID) -> Any:
    """Clip every owner's vectors to joint norm 1 and put them on the grid: whole numbers (held as floats, below 2^53) whose
    norm is at most `grid`, exactly. Without `owner` every row is its own; with one, no row is longer than 1 (`clipped_rows`).
    """
    if owner is None:
        steps = clipped_rows(vectors, grid)
        np.trunc(steps, out=steps)
        lengths = row_lengths(steps)
    else:
        # Whole numbers again, rounded up: a unit's length does not depend on the order of its rows and is never too short.
        squares = np.ceil(row_lengths(vectors) * FINE)
        scale = grid / np.sqrt(np.maximum(np.bincount(owner, squares, minlength=1) / FINE, 1.0))
        steps = np.trunc(vectors * scale[owner][:, None])
        lengths = np.bincount(owner, row_lengths(steps), minlength=1)[owner]
    # Floating point may leave a norm one part in 1e16 too long: such an owner is left out instead of trusted.
    steps[lengths > grid * grid] = 0.0
    return steps


def clipped_rows(vectors: Any, norm: int = 1) -> Any:
    """Every row clipped to norm 1, by itself, times `norm`; what is no number counts as 0."""
    sound = np.isfinite(vectors)
    if not sound.all():
        vectors = np.where(sound, vectors, 0.0)
    with np.errstate(over="ignore"):  # a vector too long for its square is scaled to nothing
        return vectors * (norm / np.sqrt(np.maximum(row_lengths(vectors), 1.0)))[:, None]


def add_groups(total: Any, groups: Any, steps: Any) -> None:
    """Row by row into its group. Products with 0 and 1 of whole numbers that add up to less than 2^53 are exact in any order."""
    if total.shape[0] <= FEW_GROUPS:
        total += (np.eye(total.shape[0])[groups].T @ steps).astype(np.int64)
    elif len(steps):
        order = np.argsort(groups, kind="stable")
        present, first = np.unique(groups[order], return_index=True)
        total[present] += np.add.reduceat(steps[order], first, axis=0).astype(np.int64)


def per_unit_and_group(vectors: Any, groups: Any, units: Any, average: bool = False) -> tuple[Any, Any, Any]:
    """Add up the rows of each (unit, group), each clipped to norm 1; returns the sums, their groups and the number of their unit.

    Rows are added as whole multiples of 1 / FINE, so that sums do not depend on the order of rows. With `average` every row
    counts 1 / (rows of its unit), so that a unit's weights add up to 1 over all groups.
    """
    whole = np.trunc(clipped_rows(vectors) * FINE)
    order = np.lexsort((groups, units))
    whole, groups, units = whole[order], groups[order], units[order]
    new = np.ones(len(units), bool)
    new[1:] = (units[1:] != units[:-1]) | (groups[1:] != groups[:-1])
    first = np.flatnonzero(new)
    summed = (np.add.reduceat(whole, first, axis=0) if len(first) else whole) / FINE
    if average:
        summed = summed / np.bincount(units)[units[first]][:, None]
    return summed, groups[first], units[first]


def release(question: Sums, total: Any, noise: NoiseSource) -> list[Any]:
    found: list[Any] = ((total + noise.draw("gaussian", GRID * question.sigma, total.shape)) / GRID).tolist()
    return found
