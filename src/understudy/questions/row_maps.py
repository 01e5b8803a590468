"""Row maps: what a question wants to know about ONE row, written as data.

A map is a tree of the steps below. None of them can name another row, a block or a table, so a map that mixes rows
cannot be written; the wall (`understudy.private.mapping`) knows how to carry each step out, for exactly these types,
and refuses any other. A map can be printed, compared by `digest`, and sent elsewhere without sending code.

    row                                 step
    ---                                 ----
    the encoded row, some places        Places        the row's class            Label
    cells of numbers, of categories     Cuts, Outcomes
    a value of a released table         LookUp (by cell)    Entry (by class or group)
    arithmetic                          + - * /  abs  Constant  Joined  Equals  Present
    a normal score of a released cdf    Scores
    low frequencies of a picture        Cosines       the nearest centre         Nearest
    one-hot of a cell                   OneHot        cell of a vector's length  LengthCells
    what a public forest predicts       Forest        the values of its leaves   Leaves
    scores of a public linear model     Linear        cells of numbers found     Binned

Values are vectors: whole numbers (cells; -1 stands for a missing value) or numbers in double precision. Arithmetic is
element by element and lengths are added up row by row, so a row's result does not depend on where it stands, to the
last bit.
"""

import hashlib
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

Array = np.ndarray
PLAIN = (bool, int, float, str, type(None))  # told apart by how they are written


class Step:
    """One step of a row map; compared by `digest`."""

    def __add__(self, other: "Step | Array | float") -> "Step":
        return Plus(self, as_step(other))

    def __sub__(self, other: "Step | Array | float") -> "Step":
        return Minus(self, as_step(other))

    def __mul__(self, other: "Step | Array | float") -> "Step":
        return Times(self, as_step(other))

    __rmul__ = __mul__

    def __truediv__(self, other: "Step | Array | float") -> "Step":
        return Over(self, as_step(other))

    def __abs__(self) -> "Step":
        return Magnitude(self)


@dataclass(frozen=True, eq=False)
class Places(Step):
    """The encoded row at these places, in double precision; all places if `index` is None."""

    index: Array | None = None


@dataclass(frozen=True, eq=False)
class Label(Step):
    """The number of the row's class."""


@dataclass(frozen=True, eq=False)
class Constant(Step):
    """The same vector for every row."""

    value: Array


@dataclass(frozen=True, eq=False)
class Plus(Step):
    """The sum of two values, element by element."""

    left: Step
    right: Step


@dataclass(frozen=True, eq=False)
class Minus(Step):
    """Their difference."""

    left: Step
    right: Step


@dataclass(frozen=True, eq=False)
class Times(Step):
    """Their product."""

    left: Step
    right: Step


@dataclass(frozen=True, eq=False)
class Over(Step):
    """Their quotient."""

    left: Step
    right: Step


@dataclass(frozen=True, eq=False)
class Magnitude(Step):
    """The absolute value."""

    of: Step


@dataclass(frozen=True, eq=False)
class Joined(Step):
    """Vectors one after the other: all cells, or all numbers."""

    parts: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class Cuts(Step):
    """The cell of each number: how many of its inner `edges` are at or below it; -1 where the flag at `missing` is set (if >= 0),
    and -2, -3, ... where one of the `codes` flags is set that follow it.

    `lowest` gives numbers at or below 0 the cell 0, also where edges coincide there.
    """

    places: Array  # [d]
    edges: tuple[Array, ...]  # inner edges of every number, rising
    missing: Array  # [d]: place of a missing flag, -1 where there is none
    lowest: bool = False
    codes: tuple[int, ...] = ()  # [d]: how many flags of codes follow the missing flag; none given: none


@dataclass(frozen=True, eq=False)
class Outcomes(Step):
    """The outcome of each discrete block: the largest of its `sizes[j]` places from `starts[j]`; of a single place, whether it is
    above 1/2.
    """

    starts: Array
    sizes: Array


@dataclass(frozen=True, eq=False)
class LookUp(Step):
    """`tables[j][cell_j]`; `absent` where the cell is -1, and `others` where it is -2, -3, ... (none given: `absent` for all).
    Whole numbers if all tables are.
    """

    cells: Step
    tables: tuple[Array, ...]
    absent: float = 0.0
    others: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Entry(Step):
    """`table[number]`, a vector per class or group."""

    number: Step
    table: Array


@dataclass(frozen=True, eq=False)
class Equals(Step):
    """1 where a cell is this one, else 0."""

    cells: Step
    number: int


@dataclass(frozen=True, eq=False)
class Present(Step):
    """1 where a cell is not missing, else 0."""

    cells: Step


@dataclass(frozen=True, eq=False)
class OneHot(Step):
    """For every cell `sizes[j]` zeros with a 1 at the cell; none where it is -1. Of size 1: a 1 where the cell is 1."""

    cells: Step
    sizes: Array


@dataclass(frozen=True, eq=False)
class Scores(Step):
    """The row seen through released marginals: Phi^-1(F(x)) of numbers, clipped; (x - p) / scale of the other places."""

    numeric: Array
    edges: Array
    cdf: Array
    rates: Array
    scales: Array
    largest: float


@dataclass(frozen=True, eq=False)
class Cosines(Step):
    """The lowest `count` frequencies of a picture of this shape (`understudy.questions.frequencies`)."""

    shape: tuple[int, int, int]
    count: int


@dataclass(frozen=True, eq=False)
class Nearest(Step):
    """The number of the centre nearest to the vector, among those that the row's class owns."""

    of: Step
    centres: Array
    owner: Array


@dataclass(frozen=True, eq=False)
class LengthCells(Step):
    """The cell between `edges` of the vector's length over `largest`."""

    of: Step
    edges: Array
    largest: float


@dataclass(frozen=True, eq=False)
class Tree:
    """A decision tree: from node 0 to `left` where the row's number at `feature` is at or below `threshold`, else to `right`."""

    feature: Array  # [nodes]; -1 at a leaf
    threshold: Array
    left: Array
    right: Array
    value: Array  # [nodes, classes]


@dataclass(frozen=True, eq=False)
class Forest(Step):
    """The number of the class whose values, added up over the leaves that the row reaches, are largest."""

    trees: tuple[Tree, ...]


@dataclass(frozen=True, eq=False)
class Leaves(Step):
    """The values of the leaves that the row reaches, added up over the trees: scores of a forest or of boosted trees."""

    trees: tuple[Tree, ...]


@dataclass(frozen=True, eq=False)
class Linear(Step):
    """`weights[k] . x + bias[k]` of a vector x, for every k: the scores of a linear model, or a layer of a network."""

    of: Step
    weights: Array  # [scores, numbers]
    bias: Array  # [scores]


@dataclass(frozen=True, eq=False)
class Binned(Step):
    """The cell of every number of a vector: how many of its `edges` are at or below it. What is no number is in the last cell."""

    of: Step
    edges: tuple[Array, ...]  # rising, one array for each number


@dataclass(frozen=True, eq=False)
class Same(Step):
    """1 where two whole numbers are equal, else 0."""

    left: Step
    right: Step


def as_step(value: Step | Array | float) -> Step:
    """A step, or a constant as a step."""
    return value if isinstance(value, Step) else Constant(np.atleast_1d(np.asarray(value, np.float64)))


def joined(*parts: Step) -> Step:
    """Values side by side."""
    return Joined(parts)


def digest(value: object) -> str:
    """Fingerprint of a public value made of dataclasses, tuples, arrays, numbers and texts."""
    state = hashlib.sha256()
    _feed(state, value)
    return state.hexdigest()


def _feed(state: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        state.update(f"array {value.dtype.str} {value.shape};".encode())
        state.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, tuple | list):
        state.update(f"list {len(value)};".encode())
        if all(type(item) in PLAIN for item in value):  # at once, as choices name hundreds of pairs
            state.update(f"{tuple(value)!r};".encode())
            return
        for item in value:
            _feed(state, item)
    elif hasattr(value, "__dataclass_fields__"):
        state.update(f"{type(value).__name__} ".encode())
        for field in fields(value):
            _feed(state, getattr(value, field.name))
    else:
        state.update(f"{type(value).__name__} {value!r};".encode())


def describe(step: Step) -> str:
    """The map in one line, arrays by their shape: for plans, logs and people."""
    if isinstance(step, Constant) and step.value.size == 1:
        return f"{float(step.value.ravel()[0]):.4g}"
    parts = []
    for field in fields(step):  # type: ignore[arg-type]
        value = getattr(step, field.name)
        if isinstance(value, Step):
            parts.append(describe(value))
        elif isinstance(value, tuple) and value and isinstance(value[0], Step):
            parts += [describe(one) for one in value]
        elif isinstance(value, np.ndarray):
            parts.append("x".join(map(str, value.shape)))
        elif isinstance(value, int | float | str | bool):
            parts.append(str(value))
    return f"{type(step).__name__}({', '.join(parts)})"
