"""Row maps carried out: the only code that applies a question to rows.

A map comes as data (`understudy.questions.row_maps`). Every step below works on a block of rows element by element or
row by row; the type of a step is looked up exactly, so a subclass, a closure or any other object from outside is
refused and never gets an array.

**Guarantee.** `apply(step, rows, classes)[i]` depends on row i alone, bit for bit: no step reduces over rows, and
sums within a row run over contiguous memory, in an order that its width alone decides.
"""

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from understudy.private.cutting import Guide, guide, how_many_below
from understudy.questions import row_maps as maps
from understudy.questions.frequencies import Frequencies, on_grid
from understudy.questions.row_maps import Step
from understudy.schema import Codec
from understudy.schema.reading import Rows

Array = np.ndarray
STRIP = 4096  # numbers of a row that are added up at once


class Block:
    """Encoded rows of whole units. `rows[n, width]`, `classes[n]`; `units[n]` numbers their unit from 0, None: each its own."""

    __slots__ = ("classes", "rows", "units")

    def __init__(self, rows: Array, classes: Array, units: Array | None = None) -> None:
        self.rows, self.classes, self.units = rows, classes, units

    def __len__(self) -> int:
        return len(self.classes)

    def part(self, first: int, last: int) -> "Block":
        """Rows from `first` up to `last`."""
        units = None if self.units is None else self.units[first:last]
        return Block(self.rows[first:last], self.classes[first:last], units)

    def place(self, number: int) -> Array:
        """One number of every row."""
        return np.ascontiguousarray(self.rows[:, number])

    def outcome(self, start: int, size: int) -> Array:
        """Which of `size` places from `start` is largest."""
        return np.asarray(self.rows[:, start : start + size].argmax(axis=1))


class ReadBlock(Block):
    """Rows as they were read, encoded when they are asked for: a question about cells needs no row as a whole."""

    __slots__ = ("_codec", "_known", "_only", "_read", "_whole")

    def __init__(self, read: Rows, codec: Codec, units: Array | None, only: frozenset[str] | None = None) -> None:
        """`only`: the columns that were read; the places of others are 0."""
        self._read, self._codec, self._only = read, codec, only
        self._whole: Array | None = None
        self._known: dict[int, Array] = {}
        self.classes, self.units = codec.encode_classes(read), units

    @property
    def rows(self) -> Array:  # type: ignore[override]
        """All rows, encoded when they are first asked for."""
        if self._whole is None:
            self._whole = self._codec.encode_rows(self._read, self._only).rows
        return self._whole

    def place(self, number: int) -> Array:
        """One number of every row, without encoding other columns; the flags beside a number are known with it."""
        if number not in self._known:
            self._known |= self._codec.encode_places(self._read, number)
        return self._known[number]

    def outcome(self, start: int, size: int) -> Array:
        """The same for an outcome."""
        return self._codec.encode_outcome(self._read, start)


def apply(step: Any, block: Block) -> Array:
    """The map's value for every row: [rows, numbers], whole numbers or in double precision."""
    with np.errstate(all="ignore"):  # a warning would depend on somebody's row
        return Applied(block, step)(step)


class Applied:
    """One map on one block: a step that occurs twice is carried out once. Nothing in it refers to itself: a block is freed
    as soon as its answer is there.
    """

    __slots__ = ("block", "known", "repeated")

    def __init__(self, block: Block, step: Any) -> None:
        self.block = block
        self.known: dict[int, Array] = {}
        self.repeated = repeated_steps(step) if isinstance(step, Step) else frozenset()

    def __call__(self, step: Any) -> Array:
        if id(step) not in self.known:
            carry_out = STEPS.get(type(step))
            if carry_out is None:
                raise RuntimeError(f"{type(step).__name__} is no step of a row map that the wall knows")
            self.known[id(step)] = carry_out(step, self.block, self)
        return self.known[id(step)]


def row_lengths(vectors: Array) -> Array:
    """Squared length of every vector, each added up by itself, strip by strip: beyond 8,192 numbers NumPy would cut the sum of a
    row where its buffer ends, which depends on the rows before it."""
    total = np.zeros(len(vectors))
    for first in range(0, vectors.shape[1], STRIP):
        strip = np.ascontiguousarray(vectors[:, first : first + STRIP])
        total += np.einsum("ij,ij->i", strip, strip)
    return total


def _places(step: maps.Places, block: Block, of: Applied) -> Array:
    rows = block.rows if step.index is None else block.rows[:, step.index]
    return rows.astype(np.float64)


def _label(step: maps.Label, block: Block, of: Applied) -> Array:
    return np.asarray(block.classes, np.int64)[:, None]


def _constant(step: maps.Constant, block: Block, of: Applied) -> Array:
    return np.broadcast_to(np.asarray(step.value, np.float64)[None, :], (len(block), len(step.value)))


def _joined(step: maps.Joined, block: Block, of: Applied) -> Array:
    parts = [of(part) for part in step.parts]
    if all(part.dtype.kind == "i" for part in parts):
        return cells_side_by_side(len(block), parts)
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(block), 0))


def cells_side_by_side(rows: int, parts: list[Array]) -> Array:
    """Columns contiguous: cells are counted column by column."""
    found = np.empty((rows, sum(part.shape[1] for part in parts)), np.int32, order="F")
    at = 0
    for part in parts:
        found[:, at : at + part.shape[1]] = part
        at += part.shape[1]
    return found


def _cuts(step: maps.Cuts, block: Block, of: Applied) -> Array:
    found = np.empty((len(block), len(step.places)), np.int32, order="F")
    columns = zip(step.places, step.edges, step.missing, guides(step), strict=True)
    for j, (place, edges, missing, known) in enumerate(columns):
        values = block.place(int(place))
        cell = found[:, j]
        cell[:] = how_many_below(values, edges, known)
        if step.lowest:
            np.copyto(cell, 0, where=values <= 0.0)
        if missing >= 0:
            for flag in range(1 + (step.codes[j] if step.codes else 0)):
                np.copyto(cell, -1 - flag, where=block.place(int(missing) + flag) > 0.5)
    return found


@lru_cache(maxsize=1024)  # a step for each column of a wide table
def guides(step: maps.Cuts) -> tuple[Guide | None, ...]:
    """What makes cutting quick, once for all blocks."""
    return tuple(guide(edges) for edges in step.edges)


def _outcomes(step: maps.Outcomes, block: Block, of: Applied) -> Array:
    found = np.empty((len(block), len(step.starts)), np.int32, order="F")
    for j, (start, size) in enumerate(zip(step.starts, step.sizes, strict=True)):
        found[:, j] = block.place(int(start)) > 0.5 if size == 1 else block.outcome(int(start), int(size))
    return found


def _look_up(step: maps.LookUp, block: Block, of: Applied) -> Array:
    cells = of(step.cells)
    if len(step.tables) != cells.shape[1] or any(table.dtype.kind not in "biuf" for table in step.tables):
        raise RuntimeError("a look-up needs a table of numbers for every cell")
    whole = all(table.dtype.kind == "i" for table in step.tables)
    found = np.empty(cells.shape, np.int32 if whole else np.float64, order="F")
    below = (
        step.absent,
        *step.others[::-1],
        step.absent,
    )  # of cells ..., -3, -2, -1; beyond the codes nothing is known
    for j, table in enumerate(step.tables):  # every place is written: what stood in memory may be somebody's row
        known = np.concatenate([below, table if len(table) else below[:1]]).astype(found.dtype)
        known.take(np.add(cells[:, j], len(below), dtype=np.intp), mode="clip", out=found[:, j])
    return found


def _entry(step: maps.Entry, block: Block, of: Applied) -> Array:
    return np.asarray(step.table[np.clip(of(step.number)[:, 0], 0, len(step.table) - 1)])


def _equals(step: maps.Equals, block: Block, of: Applied) -> Array:
    return np.asarray((of(step.cells) == step.number).astype(np.float64))


def _present(step: maps.Present, block: Block, of: Applied) -> Array:
    return (of(step.cells) >= 0).astype(np.float64)


def _one_hot(step: maps.OneHot, block: Block, of: Applied) -> Array:
    found, start = np.zeros((len(block), int(np.sum(step.sizes)))), 0
    for cell, size in zip(of(step.cells).T, step.sizes, strict=True):
        if size < 1:
            continue
        own = np.clip(cell, -1, max(size, 2) - 1)
        rows = np.flatnonzero(own >= 0 if size > 1 else own == 1)
        found[rows, start + (own[rows] if size > 1 else 0)] = 1.0
        start += int(size)
    return found


def _scores(step: maps.Scores, block: Block, of: Applied) -> Array:
    rows = block.rows
    seen = ((rows - step.rates) / step.scales).astype(np.float32)
    for position, column in enumerate(step.numeric):
        share = np.interp(rows[:, column], step.edges[position], step.cdf[position])
        seen[:, column] = np.clip(ndtri(share), -step.largest, step.largest)
    return np.asarray(seen)


def _cosines(step: maps.Cosines, block: Block, of: Applied) -> Array:
    return Frequencies(step.shape, step.count).coefficients(block.rows)


def _nearest(step: maps.Nearest, block: Block, of: Applied) -> Array:
    """|z - c|^2 up to |z|^2. All numbers are put on the grid of `frequencies`, so that products are exact in any order."""
    z, found = on_grid(of(step.of)), np.zeros(len(block), np.int64)
    for label in np.unique(step.owner):
        own, rows = np.flatnonzero(step.owner == label), np.flatnonzero(block.classes == label)
        centres = on_grid(step.centres[own])
        distance = (centres**2).sum(axis=1)[None, :] - 2.0 * z[rows] @ centres.T
        found[rows] = own[distance.argmin(axis=1)]
    return found[:, None]


def _length_cells(step: maps.LengthCells, block: Block, of: Applied) -> Array:
    length = np.sqrt(row_lengths(of(step.of))) / step.largest
    return np.asarray(np.clip(np.searchsorted(step.edges, length, side="right") - 1, 0, len(step.edges) - 2)[:, None])


def _forest(step: maps.Forest, block: Block, of: Applied) -> Array:
    return np.asarray(_leaves(maps.Leaves(step.trees), block, of).argmax(axis=1)[:, None])


def _leaves(step: maps.Leaves, block: Block, of: Applied) -> Array:
    rows, number = np.asarray(block.rows, np.float32), np.arange(len(block))
    total = np.zeros((len(block), step.trees[0].value.shape[1]))
    for tree in step.trees:
        check_tree(tree, rows.shape[1])
        node = np.zeros(len(block), np.int64)
        while (inner := tree.feature[node] >= 0).any():
            below = rows[number, np.maximum(tree.feature[node], 0)] <= tree.threshold[node]
            node = np.where(inner, np.where(below, tree.left[node], tree.right[node]), node)
        total += tree.value[node]
    return total


def _linear(step: maps.Linear, block: Block, of: Applied) -> Array:
    """Each score added up by itself, strip by strip as in `row_lengths`: a product of matrices would round otherwise in other
    blocks."""
    numbers = of(step.of)
    found = np.empty((len(block), len(step.bias)))
    for k, (weights, bias) in enumerate(zip(step.weights, step.bias, strict=True)):
        total = np.full(len(block), bias, np.float64)
        for first in range(0, numbers.shape[1], STRIP):
            strip = np.ascontiguousarray(numbers[:, first : first + STRIP] * weights[None, first : first + STRIP])
            total += strip.sum(axis=1)
        found[:, k] = total
    return found


def _binned(step: maps.Binned, block: Block, of: Applied) -> Array:
    numbers = of(step.of)
    found = np.empty((len(block), len(step.edges)), np.int32, order="F")
    for j, edges in enumerate(step.edges):
        found[:, j] = np.searchsorted(edges, numbers[:, j], side="right")
    return found


def check_tree(tree: maps.Tree, width: int) -> None:
    """Every way through the tree ends, whoever takes it: an error that only some rows reach would say that they are there."""
    node = np.flatnonzero(tree.feature >= 0)
    following = np.stack([tree.left[node], tree.right[node]])
    if (tree.feature >= width).any() or (following <= node).any() or (following >= len(tree.feature)).any():
        raise RuntimeError("the nodes of a tree must look at places of the row and lead to later nodes")


Pair = maps.Plus | maps.Minus | maps.Times | maps.Over
CarryOut = Callable[[Any, Block, Applied], Array]  # the first is the step that STEPS has it for
FRESH = (maps.Plus, maps.Minus, maps.Times, maps.Over, maps.Joined, maps.Places, maps.LookUp, maps.Magnitude)


def arithmetic(operation: np.ufunc) -> CarryOut:
    """Element by element; into the left value's own memory where nobody else needs it, which saves most of the time."""

    def carry_out(step: Pair, block: Block, of: Applied) -> Array:
        left, right = of(step.left), of(step.right)
        fits = left.dtype == np.float64 and left.shape[1] >= right.shape[1]
        if fits and type(step.left) in FRESH and id(step.left) not in of.repeated:
            return np.asarray(operation(left, right, out=left))
        return np.asarray(operation(left, right))

    return carry_out


@lru_cache(maxsize=64)
def repeated_steps(step: Step) -> frozenset[int]:
    """Steps that occur more than once in a map."""
    seen: Counter[int] = Counter()

    def visit(thing: object) -> None:
        if isinstance(thing, tuple):
            for part in thing:
                visit(part)
        elif isinstance(thing, Step):
            seen[id(thing)] += 1
            if seen[id(thing)] == 1:
                visit(tuple(vars(thing).values()))

    visit(step)
    return frozenset(number for number, times in seen.items() if times > 1)


STEPS: dict[type[Step], CarryOut] = {
    maps.Places: _places,
    maps.Label: _label,
    maps.Constant: _constant,
    maps.Plus: arithmetic(np.add),
    maps.Minus: arithmetic(np.subtract),
    maps.Times: arithmetic(np.multiply),
    maps.Over: arithmetic(np.divide),
    maps.Magnitude: lambda step, block, of: np.abs(of(step.of)),
    maps.Joined: _joined,
    maps.Cuts: _cuts,
    maps.Outcomes: _outcomes,
    maps.LookUp: _look_up,
    maps.Entry: _entry,
    maps.Equals: _equals,
    maps.Present: _present,
    maps.OneHot: _one_hot,
    maps.Scores: _scores,
    maps.Cosines: _cosines,
    maps.Nearest: _nearest,
    maps.LengthCells: _length_cells,
    maps.Forest: _forest,
    maps.Leaves: _leaves,
    maps.Linear: _linear,
    maps.Binned: _binned,
    maps.Same: lambda step, block, of: (of(step.left) == of(step.right)).astype(np.float64),
}
