"""Drawn rows that keep the schema's constraints, whatever the method: drawn again where they do not, and mended as a last resort.

    totals of sums     computed from their parts
    rows that break    replaced by rows drawn anew that do not: the model's own distribution, given the constraints
    what is left       changed as little as possible (`schema.mending`)

Constraints and conditions are public, so this is post-processing. Every row is tested once more before it leaves.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from understudy.errors import UsageError
from understudy.schema.boxes import Boxes
from understudy.schema.constraints import Check, Either, Numbers, Rule, any_broken, columns_of, numbers_in
from understudy.schema.mending import mended, with_totals
from understudy.schema.search import TRIES, Contradiction, Row, witness
from understudy.schema.values import array_of
from understudy.seeds import folded

DRAWS = 12  # of as many rows again, before rows are mended
RARE = 0.01  # share of drawn rows that must keep the constraints for drawing again to be worth it


Draw = Callable[[int, int, int | None, slice], Iterator[pa.Table]]  # rows, rows of a batch, seed, which batches


def _again(draw: Draw, size: int, seeds: Sequence[np.random.SeedSequence], number: int) -> pa.Table:
    return next(draw(size, size, int(seeds[number].generate_state(1)[0]), slice(None)))


def _witness(alternatives: Sequence[Sequence[Check]], declared: int) -> Row | None:
    """A row that keeps all checks of some alternative; None if none was found. UsageError if there is none: each of them is the
    declared constraints, and conditions after these."""
    against: list[Contradiction] = []
    for checks in alternatives:
        try:
            row = witness(checks)
        except Contradiction as error:
            against.append(error)
            continue
        if row is not None:
            return row
    if len(against) < len(alternatives):
        return None
    numbers = sorted({number for error in against for number in error.numbers if number <= declared})
    which = f"constraint{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"
    raise UsageError(
        "where: no row can fulfil the conditions and the constraints of the schema at once"
        + (f"; against the conditions stand{'s' * (len(numbers) == 1)} {which}" if numbers else "")
    )


class Keeper:
    """Keeps constraints, and conditions with them, in batches of rows. UsageError if the two contradict each other."""

    def __init__(self, checks: Sequence[Check], boxes: Boxes = ((),), identifiers: Sequence[str] = ()) -> None:
        self.identifiers = identifiers
        single = [(*checks, *(Rule((), (one,)) for one in box)) for box in boxes] if checks else [()]
        self.checks: tuple[Check, ...] = single[0] if len(single) == 1 else (*checks, Either(boxes))
        self.witness = _witness(single, len(checks))

    def batches(self, draw: Draw, rows: int, batch: int, seed: int | None, blocks: slice) -> Iterator[pa.Table]:
        """What a source draws, with every row keeping everything; a batch depends on the seed and its number alone."""
        numbers = range(len(range(0, max(rows, 1), batch)))[blocks]
        for number, table in zip(numbers, draw(rows, batch, seed, blocks), strict=True):
            entropy = None if seed is None else folded(seed)  # numpy takes no negative seeds
            seeds = np.random.SeedSequence(entropy, spawn_key=(number,)).spawn(DRAWS)
            yield self.keep(table, partial(_again, draw, table.num_rows, seeds))

    def keep(self, table: pa.Table, again: Callable[[int], pa.Table]) -> pa.Table:
        """The table with every row keeping everything; `again(number)` draws another table of the same source."""
        if not self.checks or not table.num_rows:
            return table
        table = self.write(table, with_totals(self.read(table), self.checks))
        broken = any_broken(self.checks, self.read(table))
        for number in range(DRAWS):
            if not broken.any():
                return table
            fresh = again(number)
            fresh = self.write(fresh, with_totals(self.read(fresh), self.checks))
            fine = np.flatnonzero(~any_broken(self.checks, self.read(fresh)))
            if len(fine) < RARE * fresh.num_rows:
                break
            places = np.flatnonzero(broken)[: len(fine)]
            table = self.swap(table, fresh, places, fine[: len(places)])
            broken[places] = False
        return self.mend(table, {}) if broken.any() else table

    def mend(self, table: pa.Table, kept: Mapping[str, np.ndarray]) -> pa.Table:
        """Rows that break something changed, but for values that are `kept`. UsageError where these break it themselves."""
        if not self.checks or not table.num_rows:
            return table
        rows = with_totals(self.read(table), self.checks, kept)
        table = self.write(table, mended(rows, self.checks, kept, self.witness))
        after = self.read(table)
        broken = any_broken(self.checks, after)
        if broken.any():
            if kept:
                row = int(np.argmax(broken))
                names = next([column.name for column in one.columns] for one in self.checks if one.broken(after)[row])
                raise UsageError(
                    f"given: row {row + 1} holds values that break the schema's constraint on {', '.join(map(repr, names))}"
                )
            raise UsageError(
                "constraints: a drawn row breaks some of them (with the conditions, if any), and no row that keeps all was found "
                f"in {TRIES:,} tries; ask for other conditions, or state fewer constraints on columns that others join"
            )
        return table

    def read(self, table: pa.Table) -> dict[str, Numbers]:
        """The columns that constraints speak of."""
        return numbers_in(table, columns_of(self.checks))

    def write(self, table: pa.Table, rows: Mapping[str, Numbers]) -> pa.Table:
        """The table with these columns; what did not change stays as it is."""
        before = self.read(table)
        for column in columns_of(self.checks):
            own, new = before[column.name], rows[column.name]
            changed = (own.null != new.null) | (
                ~new.null & (own.values != new.values)
            )  # what is no number keeps its code
            if changed.any():
                place = table.column_names.index(column.name)
                made = array_of(new.values, new.null, column)
                both = pa.chunked_array([table.column(place).combine_chunks(), made])
                index = np.where(changed, table.num_rows, 0) + np.arange(table.num_rows)
                table = table.set_column(place, table.schema.field(place), both.take(pa.array(index)))
        return table

    def swap(self, table: pa.Table, fresh: pa.Table, places: np.ndarray, rows: np.ndarray) -> pa.Table:
        """Some rows replaced by others; identifiers stay."""
        index = np.arange(table.num_rows)
        index[places] = table.num_rows + rows
        taken = pa.concat_tables([table, fresh]).take(pa.array(index))
        for name in self.identifiers:
            place = table.column_names.index(name)
            taken = taken.set_column(place, table.schema.field(place), table.column(place))
        return taken
