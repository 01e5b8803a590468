"""Vectors that are looked up instead of computed: maps whose every coordinate is a function of one cell and the class.

    x_i(row) = T_i[class, cell_j(row)]

Class moments and class pairs are of this kind. The arithmetic of such a map is carried out once on its tables, element by
element as `mapping` does on rows, so what is looked up is what `apply` computes, bit for bit; rows then cost one look-up per
number, or, where only sums over rows are wanted, one count per cell (`answers/sums.py`). Maps of any other kind are
applied as they are. Tables are public: they come from the question alone.
"""

import itertools
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from understudy.private.blocks import unit_cuts
from understudy.private.mapping import Block, apply
from understudy.questions import row_maps as maps
from understudy.questions.row_maps import Step, digest

Array = Any
LARGEST = 1 << 21  # numbers in the tables of a map; beyond, it is applied


class Coordinate(NamedTuple):
    """One number of a vector: `table[class, 1 + cell]`, the missing cell first; axes that it does not look at have length 1."""

    table: Array
    cells: Step | None = None
    column: int = 0
    source: str = ""


class Term(NamedTuple):
    """The coordinates that look at one cell: `table[class, 1 + cell, coordinate]`."""

    cells: Step | None
    column: int
    places: Any
    table: Array

    @property
    def by_class(self) -> bool:
        """Whether every class has a table of its own."""
        return len(self.table) > 1


Terms = tuple[Term, ...]


def pieces(step: Step, block: Block, size: int) -> Iterator[tuple[int, int, Array]]:
    """`apply(step, block)`, about `size` rows of whole units at a time, each with its first and last row."""
    cuts = unit_cuts(len(block), block.units, size)
    found = terms(step)
    if found is None:
        for first, last in itertools.pairwise(cuts):
            yield first, last, apply(step, block.part(first, last))
        return
    cells = cells_of(found, block)
    width = sum(term.table.shape[2] for term in found)
    for first, last in itertools.pairwise(cuts):
        vectors = np.empty((last - first, width))
        for term, cell in zip(found, cells, strict=True):
            vectors[:, term.places] = term.table.reshape(-1, term.table.shape[2]).take(cell[first:last], axis=0)
        yield first, last, vectors


def cells_of(found: Terms, block: Block) -> list[Array]:
    """For every term the place in its table (class by class), row by row."""
    known: dict[int, Array] = {}
    cells = []
    for term in found:
        classes, size, _ = term.table.shape
        own = np.zeros(len(block), np.intp)
        if term.cells is not None:
            if id(term.cells) not in known:
                known[id(term.cells)] = apply(term.cells, block)
            np.clip(known[id(term.cells)][:, term.column], -1, size - 2, out=own)
            own += 1
        if classes > 1:
            own += np.clip(block.classes, 0, classes - 1).astype(np.intp) * size
        cells.append(own)
    return cells


@lru_cache(maxsize=16)
def terms(step: Step) -> Terms | None:
    """The tables of a map, or None if it is not of this kind."""
    with np.errstate(all="ignore"):
        found = coordinates(step)
    if found is None or sum(one.table.size for one in found) > LARGEST:
        return None
    together: dict[tuple[str, int], list[int]] = {}
    for number, one in enumerate(found):
        together.setdefault((one.source, one.column), []).append(number)
    return tuple(term([found[number] for number in own], own) for own in together.values())


def term(own: list[Coordinate], places: list[int]) -> Term:
    """Coordinates that look at the same places, as one table."""
    shape = np.broadcast_shapes(*(one.table.shape for one in own))
    run = places == list(range(places[0], places[0] + len(places)))
    table = np.stack([np.broadcast_to(one.table, shape) for one in own], axis=2)
    return Term(own[0].cells, own[0].column, slice(places[0], places[-1] + 1) if run else np.asarray(places), table)


def coordinates(step: Step) -> list[Coordinate] | None:
    """Every number of the map's vector, or None where one looks at more than a cell and the class."""
    kind = type(step)
    if kind in ARITHMETIC:
        left, right = coordinates(step.left), coordinates(step.right)  # type: ignore[attr-defined]
        return None if left is None or right is None else each(ARITHMETIC[kind], left, right)
    if kind is maps.Magnitude:
        inner = coordinates(step.of)  # type: ignore[attr-defined]
        return None if inner is None else [one._replace(table=np.abs(one.table)) for one in inner]
    if kind is maps.Joined:
        parts = [coordinates(part) for part in step.parts]  # type: ignore[attr-defined]
        return None if any(part is None for part in parts) else [one for part in parts for one in part or ()]
    known = TABLES.get(kind)
    return None if known is None else known(step)


def each(operation: Any, left: list[Coordinate], right: list[Coordinate]) -> list[Coordinate] | None:
    """An operation on two lists of coordinates, one by one; None where it has no table."""
    width = len(left) if len(right) == 1 else len(right)
    if not {len(left), len(right)} <= {1, width}:
        return None
    sides = (side * width if len(side) == 1 else side for side in (left, right))
    found = []
    for one, other in zip(*sides, strict=True):
        if one.cells is not None and other.cells is not None and one[2:] != other[2:]:
            return None
        if not all(a == b or 1 in (a, b) for a, b in zip(one.table.shape, other.table.shape, strict=True)):
            return None
        owner = one if one.cells is not None else other
        found.append(owner._replace(table=operation(one.table, other.table)))
    return found


def _constant(step: Any) -> list[Coordinate]:
    return [Coordinate(np.full((1, 1), number)) for number in np.asarray(step.value, np.float64)]


def _entry(step: Any) -> list[Coordinate] | None:
    if type(step.number) is not maps.Label:
        return None
    return [Coordinate(np.asarray(column, np.float64)[:, None]) for column in step.table.T]


def _look_up(step: Any) -> list[Coordinate] | None:
    if step.others or any(table.dtype.kind == "i" or not len(table) for table in step.tables):
        return None
    source = digest(step.cells)
    tables = [np.concatenate([[step.absent], table])[None, :] for table in step.tables]
    return [Coordinate(table, step.cells, column, source) for column, table in enumerate(tables)]


def _one_hot(step: Any) -> list[Coordinate] | None:
    if sum((int(size) + 1) ** 2 for size in step.sizes) > LARGEST:
        return None
    source, found = digest(step.cells), []
    for column, size in enumerate(step.sizes):
        for number in range(int(size)):
            table = np.zeros((1, max(int(size), 2) + 1))
            table[0, 1 + (number if size > 1 else 1)] = 1.0
            found.append(Coordinate(table, step.cells, column, source))
    return found


ARITHMETIC = {maps.Plus: np.add, maps.Minus: np.subtract, maps.Times: np.multiply, maps.Over: np.divide}
TABLES: dict[type[Step], Callable[[Any], list[Coordinate] | None]] = {
    maps.Constant: _constant,
    maps.Entry: _entry,
    maps.LookUp: _look_up,
    maps.OneHot: _one_hot,
}
