"""Rows under conditions that are not rare: ordinary rows, of which those that fulfil the conditions are kept.

Some generators change rows after they are drawn: `clique-tree` exchanges parts of rows until pairs beside the tree fit, and moves
numbers inside their cells. That is done to rows of the whole table, whose counts it knows, and cannot be done to rows of a part:
drawn in the tree given `age < 25` they lack it (Adult, epsilon 1: education off by 0.138 from the real rows of that age, 0.011
where ordinary rows are kept). So a block of rows under conditions is

    probability under the tree >= RARE          ordinary rows, with the schema's constraints kept, until enough of them match
    less, or fewer than RARE / 2 of a first     drawn in the tree given the conditions, exactly and however rare
    piece match, or more than MOST are needed

Block b of a sample depends on the seed, the number of rows and b alone: ordinary rows of its own are drawn for it, in pieces.
Of what matches, the classes are kept in their shares without chance.
"""

import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from understudy.schema import Column
from understudy.schema.boxes import Boxes
from understudy.schema.constraints import Either, numbers_in
from understudy.schema.decode import identifiers
from understudy.seeds import BITS, piece, rng, sequence

RARE = 0.01  # probability from which on ordinary rows are drawn
LEAST, PIECE = 16_384, 65_536  # ordinary rows drawn at a time: too few are not fitted to counts
MOST = 40 * PIECE  # ordinary rows of a block, about: a piece takes seconds
SPARE = 1.05  # more than are expected to be needed


def changes_rows(generator: Any) -> bool:
    """Whether a generator changes ordinary rows after it drew them, so that rows drawn under conditions lack something."""
    return bool(getattr(generator, "tables", 0) or getattr(generator, "pairs", 0))


class Matching(NamedTuple):
    """Ordinary rows that fulfil conditions."""

    ordinary: Callable[[int, int], pa.Table]  # so many rows of a seed
    tree: Any  # what draws under the conditions: `batches(rows, batch, seed, blocks)`
    probability: float  # of the conditions in the tree
    found: Boxes
    columns: Sequence[Column]  # of the schema
    label: Column | None

    def worth(self, rows: int) -> bool:
        """Whether a block of so many rows is made of ordinary ones."""
        return self.probability >= RARE and rows / self.probability <= MOST

    def batches(self, rows: int, batch: int, seed: int | None, blocks: slice) -> Iterator[pa.Table]:
        """So many rows, in batches, or some batches of all; every row fulfils the conditions."""
        seed = secrets.randbits(BITS) if seed is None else seed
        starts = range(0, max(rows, 1), batch)
        worth = rows > 0 and self.worth(min(rows, batch))  # of a full block: all of a sample are drawn alike
        for number in range(len(starts))[blocks]:
            first = starts[number]
            table = self._block(min(batch, rows - first), first, seed, number) if worth else None
            if table is None:
                table = next(self.tree.batches(rows, batch, seed, slice(number, number + 1)))
            yield table

    def _block(self, rows: int, first: int, seed: int, number: int) -> pa.Table | None:
        """A block; None where conditions turn out to be rare among ordinary rows."""
        kept: list[pa.Table] = []
        drawn, count, share = 0, 0, self.probability
        while count < rows:
            if drawn and (count < RARE / 2 * drawn or drawn > 2 * MOST):
                return None
            size = min(max(math.ceil(SPARE * (rows - count) / share), LEAST), PIECE)
            # Another depth than the seeds of blocks (`number`) and of rows drawn again for constraints (`number, again`).
            table = self.ordinary(size, piece(sequence(seed, number, 0, len(kept))))
            kept.append(table.take(pa.array(np.flatnonzero(self.match(table)))))
            drawn, count = drawn + size, count + kept[-1].num_rows
            share = max(count / drawn, RARE / 2)
        return self._numbered(self._chosen(pa.concat_tables(kept), rows, rng(seed, number)), first)

    def match(self, table: pa.Table) -> np.ndarray:
        """Which rows fulfil the conditions."""
        either = Either(self.found)
        return ~either.broken(numbers_in(table, either.columns))

    def _chosen(self, table: pa.Table, rows: int, random: np.random.Generator) -> pa.Table:
        """So many of the rows, spread evenly over the classes, in the order in which they were drawn."""
        chance = random.random(table.num_rows)
        keys = [chance] if self.label is None else [chance, numbers_in(table, [self.label])[self.label.name].values]
        places = ((np.arange(rows) + random.random()) * table.num_rows / rows).astype(np.int64)
        return table.take(pa.array(np.sort(np.lexsort(keys)[np.minimum(places, table.num_rows - 1)])))

    def _numbered(self, table: pa.Table, first: int) -> pa.Table:
        """The rows with identifiers that count on from `first`, as in every sample."""
        for column in self.columns:
            if column.kind == "identifier":
                place = table.column_names.index(column.name)
                own = identifiers(column, first, table.num_rows).cast(table.schema.field(place).type)
                table = table.set_column(place, table.schema.field(place), own)
        return table
