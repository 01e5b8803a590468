"""Exact sums of clipped vectors on an integer grid (`understudy.questions.sums`)."""

from typing import Any

import numpy as np

from understudy.private.cellwise import Terms, cells_of, pieces, terms
from understudy.private.mapping import Block, apply
from understudy.private.noise import NoiseSource
from understudy.questions import Sums
from understudy.questions.row_maps import Label
from understudy.questions.sums import FINE, LARGEST, SUM_GRID, WEIGHT

PIECE = 1024  # rows at a time, so that their vectors stay in the processor's cache
FEW_GROUPS = 16  # are added up by a matrix product, others by sorting
LENGTH = 1 << 28  # steps of a squared norm of 1; with weights of 2^12 everything below stays within 2^53, exactly


def start(question: Sums, width: int) -> np.ndarray:
    """The sums of no rows."""
    empty = Block(np.zeros((0, width), np.float32), np.zeros(0, np.int32))
    return np.zeros((question.groups, apply(question.vector, empty).shape[1]), np.int64)


def add(question: Sums, total: np.ndarray, block: Block) -> None:
    """Add the rows of one block."""
    tables = terms(question.vector)
    if block.units is None and tables is not None and not any(term.by_class for term in tables):
        add_cells(question, tables, total, block)
        return
    for first, last, vectors in pieces(question.vector, block, PIECE):
        steps, groups = on_grid(vectors), groups_of(question, block, first, last)
        if block.units is None:
            weight = weights(lengths(steps))
        else:
            own = block.units[first:last]
            steps, groups, owner = per_unit_and_group(steps, groups, own - own[0])
            most = WEIGHT // np.bincount(own - own[0]) if question.average else WEIGHT
            weight = weights(np.bincount(owner, lengths(steps)), most)[owner]
        add_groups(total, groups, steps * weight[:, None])


def add_cells(question: Sums, tables: Terms, total: np.ndarray, block: Block) -> None:
    """The same where vectors are looked up: rows in the same cell and group have the same steps, so weights are added up
    for each cell instead of vectors for each row."""
    cells, groups = cells_of(tables, block), groups_of(question, block, 0, len(block))
    steps = [on_grid(term.table[0]) for term in tables]
    weight = weights(sum(lengths(own).take(cell) for own, cell in zip(steps, cells, strict=True)))
    for term, own, cell in zip(tables, steps, cells, strict=True):
        held = np.bincount(groups * len(own) + cell, weight, minlength=question.groups * len(own))
        total[:, term.places] += held.reshape(-1, len(own)).astype(np.int64) @ own.astype(np.int64)


def groups_of(question: Sums, block: Block, first: int, last: int) -> np.ndarray:
    """The group of every row, whatever the map returned."""
    if question.group is None:
        return np.zeros(last - first, np.int64)
    if type(question.group) is Label:
        found = block.classes[first:last]
    else:
        found = apply(question.group, block.part(first, last))[:, 0]
    return np.clip(np.asarray(found, np.int64), 0, question.groups - 1)


def on_grid(vectors: np.ndarray) -> np.ndarray:
    """Whole numbers of steps, held as floats; what is no number counts as 0, and no coordinate is larger than `LARGEST`."""
    steps = np.rint(vectors * float(FINE))
    np.clip(steps, -LARGEST, LARGEST, out=steps)
    if np.isnan(steps.sum()):  # a sum is quicker than looking at every number
        steps[np.isnan(steps)] = 0.0
    return steps


def lengths(steps: np.ndarray) -> np.ndarray:
    """Squared norm of every vector in steps of 1 / `LENGTH`, each square rounded up: whole numbers, so that they can be added in
    any order, and never too short."""
    squares = steps * steps
    squares *= LENGTH / FINE**2
    return np.asarray(np.ceil(squares, out=squares).sum(axis=1))


def weights(length: np.ndarray, most: np.ndarray | int = WEIGHT) -> np.ndarray:
    """The largest whole number w up to `most` with w |x| <= WEIGHT, given |x|^2 in steps of 1 / `LENGTH`."""
    largest = float(WEIGHT**2 * LENGTH)
    found = np.minimum(np.floor(np.sqrt(largest / np.maximum(length, 1.0))), most)
    return np.asarray(found - (found * found * length > largest))


def add_groups(total: np.ndarray, groups: np.ndarray, steps: np.ndarray) -> None:
    """Row by row into its group. Products with 0 and 1 of whole numbers that add up to less than 2^53 are exact in any order."""
    if total.shape[0] <= FEW_GROUPS:
        total += (np.eye(total.shape[0])[groups].T @ steps).astype(np.int64)
    elif len(steps):
        order = np.argsort(groups, kind="stable")
        present, first = np.unique(groups[order], return_index=True)
        total[present] += np.add.reduceat(steps[order], first, axis=0).astype(np.int64)


def per_unit_and_group(
    steps: np.ndarray, groups: np.ndarray, units: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add up the rows of each (unit, group); returns the sums, their groups and the number of their unit."""
    order = np.lexsort((groups, units))
    steps, groups, units = steps[order], groups[order], units[order]
    new = np.ones(len(units), bool)
    new[1:] = (units[1:] != units[:-1]) | (groups[1:] != groups[:-1])
    first = np.flatnonzero(new)
    summed = np.add.reduceat(steps, first, axis=0) if len(first) else steps
    return np.clip(summed, -LARGEST, LARGEST), groups[first], units[first]


def release(question: Sums, total: np.ndarray, noise: NoiseSource) -> list[Any]:
    """The sums with exact integer noise."""
    found: list[Any] = ((total + noise.draw("gaussian", SUM_GRID * question.sigma, total.shape)) / SUM_GRID).tolist()
    return found
