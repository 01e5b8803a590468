"""Rows of a fitted tree model given conditions on any columns, or given some of their values.

`where`: one set of conditions for all rows. Conditions joined by `or` are disjoint boxes (`schema.boxes`): each row takes a box
with the box's probability, which is what the messages multiply to, and is drawn from the tree given that box. `complete`: every
row brings values of its own; rows whose values lie in the same cells share one conditioning. Given values are kept as they are,
the other columns are drawn.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from understudy.artifact import Model, shares
from understudy.errors import UsageError
from understudy.methods.marginals.conditioning import Given, Leaf, Step, Tree, pick
from understudy.methods.marginals.evidence import (
    Evidence,
    cell_of,
    ends_of,
    everything,
    evidence,
    outcome_of,
    scale,
)
from understudy.methods.marginals.generator import MarginalGenerator
from understudy.sampling.constrained import Keeper
from understudy.schema import Codec, Column
from understudy.schema.boxes import Box, Boxes
from understudy.schema.conditions import Allowed
from understudy.schema.decode import coded, numpy_type
from understudy.schema.given import GivenColumn, GivenRows, Impossible, with_identifiers
from understudy.schema.values import array_of, numbers_of
from understudy.seeds import rng

OnSkipped = Callable[[list[int]], None]  # hears the numbers of rows, from 1 on


def tree_of(model: Model) -> Tree:
    """The tables of a model, from what its artifact keeps."""
    arrays = {name: np.asarray(value) for name, value in model.weights.items()}
    by_rows = isinstance(model.generator, MarginalGenerator)
    order = arrays["order"].astype(int).tolist()
    names = list(dict.fromkeys(block.column for block in model.codec.blocks))
    prior = shares(model.class_counts)
    sizes = {0: len(prior)}
    first = arrays["first"].astype(int)
    if by_rows:
        ends = np.append(np.sort(first), len(arrays["inner"]))
        sizes |= {
            node: int(ends[np.searchsorted(ends, at, "right")] - at) for node, at in zip(order, first, strict=True)
        }
    else:
        sizes |= {node: int(width) for node, width in zip(order, arrays["width"], strict=True)}
    steps = []
    for number, node in enumerate(order):
        real = arrays["strides"][number] > 0
        parents = tuple(arrays["parents"][number][real].astype(int).tolist())
        shape = tuple(sizes[parent] for parent in parents)
        count, at, width = int(np.prod(shape)), int(arrays["offset"][number]), sizes[node]
        table = arrays["table"]
        sums = table[at : at + count, :width] if by_rows else table[at : at + count * width].reshape(count, width)
        steps.append(Step(node, parents, np.diff(sums.astype(float), axis=1, prepend=0.0).reshape(*shape, width)))
    starts = dict(zip(order, first.tolist(), strict=True))
    leaves = {}
    for number, name in enumerate(names):
        column = model.codec.schema.column(name)
        least = len(column.outcomes) if column.kind in ("categorical", "boolean") else 1
        leaves[name] = (
            _padded_leaf(arrays, number, starts, sizes, least) if by_rows else _flat_leaf(arrays, number, starts, sizes)
        )
    return Tree(prior, steps, leaves)


def _padded_leaf(
    arrays: dict[str, np.ndarray], number: int, starts: dict[int, int], sizes: dict[int, int], least: int
) -> Leaf:
    """Of arrays that are padded to the size of the column with most outcomes; `least` of them are this column's own."""
    node = number + 1
    inner = arrays["inner"][starts[node] : starts[node] + sizes[node]].astype(float)
    share = np.diff(inner, axis=1, prepend=0.0)
    base, span = arrays["base"][number].astype(float), arrays["span"][number].astype(float)
    used = share.max(axis=0)
    last = np.flatnonzero((used > 0.0) | (span > 0.0) | (base > 0.0))[-1]
    size = max(int(last) + 1, least)  # the rest is padding
    cell = np.where(used > 0.0, share.argmax(axis=0), -1)
    return Leaf(node, cell[:size], used[:size], base[:size], span[:size])


def _flat_leaf(arrays: dict[str, np.ndarray], number: int, starts: dict[int, int], sizes: dict[int, int]) -> Leaf:
    node = int(arrays["column"][number])
    cells = slice(starts[node], starts[node] + sizes[node])
    start, length = arrays["start"][cells].astype(int), arrays["length"][cells].astype(int)
    places = np.arange(start[0], start[-1] + length[-1])
    cell = np.repeat(np.arange(len(length)), length)
    sums = arrays["inner"][places].astype(float)
    before = np.where(places == start[cell], 0.0, np.r_[0.0, sums[:-1]])
    code = arrays["code"][places].astype(int)
    size = int(code.max()) + 1
    found = Leaf(node, np.full(size, -1), np.zeros(size), np.zeros(size), np.zeros(size))
    values = (cell, sums - before, arrays["base"][places], arrays["span"][places])
    for target, value in zip(found[1:], values, strict=True):
        target[code] = value
    return found


class Conditioned:
    """Draws rows of one model under conditions."""

    def __init__(self, model: Model) -> None:
        self.codec: Codec = model.codec
        self.tree = tree_of(model)

    def known(
        self, allowed: Box, named: Mapping[str, Sequence[float]], points: bool
    ) -> tuple[dict[int, np.ndarray], dict[str, Evidence]]:
        """Likelihoods of nodes' cells, and what is known of columns (see `evidence`)."""
        nodes: dict[int, np.ndarray] = {}
        found: dict[str, Evidence] = {}
        for one in allowed:
            name = one.column.name
            if name == self.codec.schema.label and name not in self.tree.leaves:
                values = self.codec.class_values
                nodes[0] = np.asarray([self._is_class(one, place) for place in range(len(values))], float)
                continue
            leaf = self.tree.leaves[name]
            found[name] = evidence(leaf, one, named[name], points=points)
            weights = np.where(leaf.cell >= 0, leaf.share * found[name].weights, 0.0)
            size = self.tree.sizes[leaf.node]
            nodes[leaf.node] = np.bincount(np.maximum(leaf.cell, 0), weights, minlength=size)
        return nodes, found

    @staticmethod
    def _is_class(allowed: Allowed, place: int) -> bool:
        return bool(allowed.holds(np.asarray([float(place)]), np.asarray([False]))[0])

    def where(self, boxes: Boxes) -> "Where":
        """What draws rows under these conditions. UsageError if the model rules them out."""
        columns = {one.column.name: one.column for box in boxes for one in box}
        numeric = [one for box in boxes for one in box if one.numeric]
        named = {name: ends_of(one for one in numeric if one.column.name == name) for name in columns}
        # Beside a box with a probability one of single numbers has none; alone they stand for their intervals.
        parts = self._parts(boxes, named, points=False) if len(boxes) > 1 else []
        parts = parts or self._parts(boxes, named, points=True)
        if not parts:
            names = ", ".join(map(repr, columns))
            raise UsageError(
                f"where: no row of this model fulfils the conditions on {names}: together they have probability 0"
            )
        logs = np.asarray([part.given.log_mass for part in parts])
        return Where(self, tuple(parts), np.exp(logs - logs.max()))

    def _parts(self, boxes: Boxes, named: Mapping[str, Sequence[float]], *, points: bool) -> list["Part"]:
        """The boxes that can happen."""
        found = []
        for box in boxes:
            nodes, known = self.known(box, named, points)
            given = self.tree.given(nodes)
            if given is not None:
                found.append(Part(given, known, box))
        return found

    def rows(self, given: Given, found: dict[str, Evidence], count: int, random: np.random.Generator) -> "Drawn":
        """Encoded rows and their classes."""
        cells = given.draw(count, random)
        encoded = np.zeros((count, self.codec.width), np.float32)
        for name, leaf in self.tree.leaves.items():
            known = found.get(name) or everything(leaf)
            table = np.zeros((self.tree.sizes[leaf.node], len(leaf.cell)))
            real = leaf.cell >= 0
            table[leaf.cell[real], np.flatnonzero(real)] = (leaf.share * known.weights)[real]
            outcome = pick(table, cells[leaf.node], random)
            self._write(encoded, name, outcome, known.values(leaf, outcome, random.random(count)))
        return Drawn(encoded, cells[0].astype(np.int32))

    def _write(self, encoded: np.ndarray, name: str, outcome: np.ndarray, values: np.ndarray) -> None:
        own = [block for block in self.codec.blocks if block.column == name]
        first = own[0].start
        for block in own:
            if block.part == "missing":
                encoded[:, block.start] = outcome == block.start - first - 1
            elif block.head == "numeric":
                encoded[:, block.start] = values
            elif block.head == "binary":
                encoded[:, block.start] = outcome
            else:
                encoded[np.arange(len(outcome)), block.start + outcome] = 1.0

    def completed(
        self, blocks: Iterator[GivenRows], keeper: Keeper, seed: int | None, on_skipped: OnSkipped | None = None
    ) -> Iterator[pa.Table]:
        """Blocks of given rows with all their columns, and the constraints of the schema kept.

        Rows that cannot be are left out and told to `on_skipped` at the end; without it they are refused, after all were looked
        at, so that the message can say how many there are.
        """
        random, first, odd = rng(seed), 0, Impossible()
        for block in blocks:
            table, fits = self.complete(block.columns, block.rows, random, first)
            odd.unseen += (first + 1 + np.flatnonzero(~fits)).tolist()
            places = np.flatnonzero(fits)
            columns = [one.at(places) for one in block.columns]
            again = partial(self._again, columns, random, first)
            known = {one.column.name: one.known for one in columns}
            table = keeper.complete(table.take(pa.array(places)), known, again)
            left = np.ones(len(places), np.bool_)
            for on, rows in keeper.blamed(table).items():
                left[rows] = False
                odd.broken.setdefault(on, []).extend((first + 1 + places[rows]).tolist())
            table, places = table.filter(pa.array(left)), places[left]
            first += block.rows
            if on_skipped is not None or not odd.rows:
                ids = {name: own.take(pa.array(places)) for name, own in block.identifiers.items()}
                yield with_identifiers(table, ids)
        if odd.rows and on_skipped is None:
            raise odd.refused()
        if odd.rows and on_skipped is not None:
            if len(odd.rows) == first:
                raise UsageError("given: every row holds values that cannot be, so no row is left")
            on_skipped(odd.rows)

    def _again(
        self, columns: Sequence[GivenColumn], random: np.random.Generator, first: int, places: np.ndarray
    ) -> pa.Table:
        return self.complete([one.at(places) for one in columns], len(places), random, first)[0]

    def complete(
        self, columns: Sequence[GivenColumn], rows: int, random: np.random.Generator, first: int = 0
    ) -> tuple[pa.Table, np.ndarray]:
        """Rows with the given values, everything else drawn; and which of them can be under the model."""
        fits = np.ones(rows, np.bool_)
        keys = np.stack([self._cells(one) for one in columns], axis=1) if columns else np.zeros((rows, 0), int)
        groups, own = np.unique(keys, axis=0, return_inverse=True)
        encoded, classes = np.zeros((rows, self.codec.width), np.float32), np.zeros(rows, np.int32)
        order = np.argsort(own.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(own.ravel(), minlength=len(groups)))
        for number, group in enumerate(groups):
            here = order[ends[number - 1] if number else 0 : ends[number]]
            known = {
                self._node(one.column): np.eye(self.tree.sizes[self._node(one.column)])[cell]
                for one, cell in zip(columns, group.tolist(), strict=True)
                if cell >= 0
            }
            given = self.tree.given(known)
            if given is None:
                fits[here] = False
                continue
            encoded[here], classes[here] = self.rows(given, {}, len(here), random)
        table = self.codec.decode_arrow(encoded, classes, first_row=first)
        for one in columns:
            table = self._kept(table, one)
        return table, fits

    def _node(self, column: Column) -> int:
        return self.tree.leaves[column.name].node if column.name in self.tree.leaves else 0

    def _cells(self, one: GivenColumn) -> np.ndarray:
        """The cell of each given value; -1 where none is given."""
        leaf = self.tree.leaves.get(one.column.name)
        if leaf is None:  # the class
            cells = one.values.astype(int)
        elif not one.numeric:
            cells = cell_of(leaf, one.values.astype(int))
        else:
            lower, width = scale(one.column)
            outcome = outcome_of(leaf, one.column, (one.values - lower) / width)
            cells = cell_of(leaf, np.where(one.special >= 0, one.special, outcome))
        return np.asarray(np.where(one.known, cells, -1))

    def _kept(self, table: pa.Table, one: GivenColumn) -> pa.Table:
        """The given values in place of drawn ones."""
        fresh = array_of(one.values, np.zeros(len(one.values), bool), one.column)
        if one.column.codes:
            fresh = coded(numbers_of(fresh, one.column)[0].astype(numpy_type(one.column)), one.special, one.column)
        return placed(table, one.column.name, one.known, fresh)


class Drawn(NamedTuple):
    """Encoded rows and classes."""

    encoded: np.ndarray
    classes: np.ndarray


class Part(NamedTuple):
    """The tree given one box."""

    given: Given
    found: dict[str, Evidence]
    allowed: Box


class Where(NamedTuple):
    """Rows of one model under conditions: from each part with its weight."""

    source: Conditioned
    parts: tuple[Part, ...]
    weights: np.ndarray

    def batches(self, rows: int, batch: int, seed: int | None, blocks: slice) -> Iterator[pa.Table]:
        """So many rows, in batches, or some batches of all; every row fulfils the conditions."""
        starts = range(0, max(rows, 1), batch)
        for number in range(len(starts))[blocks]:
            first = starts[number]
            yield self._block(min(batch, rows - first), first, rng(seed, number))

    def _block(self, rows: int, first: int, random: np.random.Generator) -> pa.Table:
        number = np.zeros(rows, np.int64)
        if len(self.parts) > 1:
            number = pick(self.weights[None], number, random)
        drawn = Drawn(np.zeros((rows, self.source.codec.width), np.float32), np.zeros(rows, np.int32))
        rows_of = [np.flatnonzero(number == place) for place in range(len(self.parts))]
        used = [(part, own) for part, own in zip(self.parts, rows_of, strict=True) if own.size]
        for part, own in used:
            drawn.encoded[own], drawn.classes[own] = self.source.rows(part.given, part.found, own.size, random)
        table = self.source.codec.decode_arrow(*drawn, first_row=first)
        for part, own in used:
            for one in part.allowed:
                table = _inside(table, one, own) if one.numeric else table
        return table


def _inside(table: pa.Table, allowed: Allowed, rows: np.ndarray) -> pa.Table:
    """Numbers of some rows that rounding moved across an end of a range go back to it."""
    column = allowed.column
    values, null = numbers_of(table[column.name], column)
    wrong = np.zeros(len(values), bool)
    wrong[rows] = ~(allowed.holds(values, null) | null)[rows]
    if not wrong.any():
        return table
    return placed(table, column.name, wrong, array_of(allowed.nearest(values), null, column))


def placed(table: pa.Table, name: str, where: np.ndarray, fresh: pa.Array) -> pa.Table:
    """A column with some of its values replaced."""
    place = table.column_names.index(name)
    both = pa.chunked_array([table.column(place).combine_chunks(), fresh])
    index = np.arange(len(where)) + np.where(where, len(where), 0)
    return table.set_column(place, table.schema.field(place), both.take(pa.array(index)))
