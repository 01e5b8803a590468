"""Encoded rows in blocks of whole units: what questions and mechanisms are computed from.

A table is a list of parts, each a stream of blocks; how it is cut never shows in an answer. Rows that fit into memory
are held, so that every question need not read them again; others are read and encoded anew, one block at a time.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from understudy.private.mapping import Block, apply
from understudy.questions import Step

SIZE = 65_536
Part = Callable[[], Iterator[Block]]


@dataclass(frozen=True, repr=False)
class Blocks:
    """`by_row`: every row is a unit of its own. `held`: all rows, units standing together, or None where they are streamed."""

    parts: tuple[Part, ...]
    width: int
    by_row: bool
    held: Block | None = None
    narrow: Callable[[frozenset[int]], tuple[Part, ...]] | None = (
        None  # the same rows, of which only some places are read
    )

    @classmethod
    def of(cls, rows: np.ndarray, classes: np.ndarray, units: np.ndarray | None = None) -> "Blocks":
        """Rows in memory, in any order; `units` are numbers of any kind, equal for the rows of a unit."""
        if units is None:
            return held(Block(rows, classes))
        order = np.argsort(units, kind="stable")
        own = np.asarray(units)[order]
        number = np.cumsum(np.concatenate([[0], own[1:] != own[:-1]])) if len(own) else np.zeros(0, np.int64)
        return held(Block(rows[order], classes[order], number.astype(np.int64)))

    def __repr__(self) -> str:
        return "Blocks(contents are private)"

    def __iter__(self) -> Iterator[Block]:
        for part in self.parts:
            yield from part()

    def looking_at(self, places: frozenset[int] | None) -> tuple[Part, ...]:
        """The parts, for a question that looks at these places of a row only."""
        return self.parts if self.narrow is None or places is None else self.narrow(places)

    def seen(self, row_map: Step) -> "Blocks":
        """The same rows, each through a map of that row alone."""
        empty = Block(np.zeros((0, self.width), np.float32), np.zeros(0, np.int32))
        width = mapped(empty, row_map).rows.shape[1]
        if self.held is not None:
            rows = [mapped(block, row_map).rows for block in self] or [np.zeros((0, width), np.float32)]
            return held(Block(np.concatenate(rows), self.held.classes, self.held.units))
        return Blocks(tuple(SeenPart(part, row_map) for part in self.parts), width, self.by_row)

    def gathered(self) -> Block:
        """All rows at once, units numbered through."""
        if self.held is not None:
            return self.held
        rows, classes, units, first = [np.zeros((0, self.width), np.float32)], [np.zeros(0, np.int32)], [], 0
        for block in self:
            rows.append(block.rows)
            classes.append(block.classes)
            if block.units is not None:
                units.append(block.units + first)
                first += int(block.units.max(initial=-1)) + 1
        own = None if self.by_row else np.concatenate([np.zeros(0, np.int64), *units])
        return Block(np.concatenate(rows), np.concatenate(classes), own)


def held(whole: Block) -> Blocks:
    """Blocks of rows that are in memory."""
    cuts = unit_cuts(len(whole), whole.units, SIZE)
    parts = tuple(held_part(whole, first, last) for first, last in itertools.pairwise(cuts))
    return Blocks(parts, int(whole.rows.shape[1]), whole.units is None, whole)


def held_part(whole: Block, first: int, last: int) -> Part:
    """One block of them, its units numbered from 0."""
    part = whole.part(first, last)
    if part.units is not None and len(part):
        part = Block(part.rows, part.classes, part.units - part.units[0])
    return lambda: iter((part,))


@dataclass(frozen=True)
class SeenPart:
    """A part, every row through a map."""

    part: Part
    row_map: Step

    @property
    def portable(self) -> bool:
        """Whether another process can read it from what it names."""
        return getattr(self.part, "portable", False)

    def __call__(self) -> Iterator[Block]:
        return (mapped(block, self.row_map) for block in self.part())


def mapped(block: Block, row_map: Step) -> Block:
    """A block, every row through a map."""
    with np.errstate(all="ignore"):  # a warning would depend on somebody's row
        return Block(np.asarray(apply(row_map, block), np.float32), block.classes, block.units)


def unit_cuts(rows: int, units: np.ndarray | None, size: int) -> list[int]:
    """Where blocks of about `size` rows begin and end so that no unit is parted."""
    cuts = [0]
    while cuts[-1] < rows:
        last = min(cuts[-1] + size, rows)
        while units is not None and last < rows and units[last] == units[last - 1]:
            last += 1
        cuts.append(last)
    return cuts
