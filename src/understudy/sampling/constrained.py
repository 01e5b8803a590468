"""Drawn rows that keep the schema's constraints, whatever the method: drawn again where they do not, and mended as a last resort.

    totals of sums     computed from their parts
    rows that break    replaced by rows drawn anew that do not, and that have values, codes and gaps in the same columns
    what is left       changed as little as possible (`schema.mending`)

A row with a gap in it breaks no order, so among rows that break nothing gaps are too many: with whole rows replaced regardless, a
date that is missing in a tenth of the rows was missing in a sixth. So a row that breaks constraints is replaced by one that has
values where it has values, and gaps or the same codes where it has those (`Replaced`): the model's own distribution, given the
constraints and what is there at all, and shares of gaps and codes stay as they were released.

Constraints and conditions are public, so this is post-processing. Every row is tested once more before it leaves.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from understudy.errors import UsageError
from understudy.schema.boxes import Boxes
from understudy.schema.constraints import Check, Either, Numbers, Rule, Total, any_broken, columns_of, numbers_in
from understudy.schema.given import Impossible
from understudy.schema.mending import mended, with_totals
from understudy.schema.search import TRIES, Contradiction, Row, listed, witness
from understudy.schema.values import array_of
from understudy.seeds import piece, sequence

DRAWS = 12  # of as many rows again, before rows are mended
RARE = 0.01  # share of drawn rows that must keep the constraints for drawing again to be worth it


Draw = Callable[[int, int, int | None, slice], Iterator[pa.Table]]  # rows, rows of a batch, seed, which batches


def _again(draw: Draw, size: int, seeds: Sequence[np.random.SeedSequence], number: int) -> pa.Table:
    return next(draw(size, size, piece(seeds[number]), slice(None)))


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
    which = f"constraint{'s' * (len(numbers) > 1)} {listed(numbers)}"
    raise UsageError(
        "where: no row can fulfil the conditions and the constraints of the schema at once"
        + (f"; against the conditions stand{'s' * (len(numbers) == 1)} {which}" if numbers else "")
    )


class Replaced:
    """The rows of a table that break constraints, and which drawn rows take their places.

    First those with gaps and codes in the same columns of all constraints; then of the constraints that the row breaks; then, for
    rows like which none is ever drawn, any.
    """

    def __init__(self, checks: Sequence[Check], rows: Mapping[str, Numbers]) -> None:
        broken = np.stack([check.broken(rows) for check in checks], axis=1)
        self.left = np.asarray(broken.any(axis=1))
        self.columns = [column for column in columns_of(checks) if column.missing or column.codes]
        self.gaps = self._gaps(rows)
        self.seen = np.zeros(len(self.left), np.bool_)
        kinds, own = np.unique(broken[self.left], axis=0, return_inverse=True)
        self.kind = np.full(len(self.left), -1)
        self.kind[self.left] = own.ravel()
        abouts = [
            {column.name for k in np.flatnonzero(kind).tolist() for column in checks[k].columns} for kind in kinds
        ]
        self.about = [np.asarray([column.name in about for column in self.columns], bool) for about in abouts]

    def _gaps(self, rows: Mapping[str, Numbers]) -> np.ndarray:
        """For every row and column 0 where there is a value, else a number of the gap or code."""
        size = len(next(iter(rows.values())).null)
        own = (rows[column.name] for column in self.columns)
        each = [np.where(null, 1.0 + values, 0.0) for values, null in own]
        return np.asarray(np.stack(each, axis=1) if each else np.zeros((size, 0))).astype(np.uint64)

    def alike(self, places: np.ndarray, drawn: Mapping[str, Numbers]) -> np.ndarray:
        """Which drawn rows have the gaps and codes of the rows at these places."""
        return np.asarray((self._gaps(drawn) == self.gaps[places]).all(axis=1))

    def by(self, drawn: Mapping[str, Numbers], fine: np.ndarray, turn: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the table and the drawn ones for them, from those that are fine and each at most once."""
        gaps, unused = self._gaps(drawn), np.zeros(len(next(iter(drawn.values())).null), np.bool_)
        unused[fine] = True
        pairs = [np.zeros((2, 0), int)]

        def pair(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
            others = np.flatnonzero(unused)
            own, theirs = mixed(self.gaps[rows][:, columns]), mixed(gaps[others][:, columns])
            first, second = paired(own, theirs)
            pairs.append(np.stack([rows[first], others[second]]))
            self.left[rows[first]] = unused[others[second]] = False
            return np.isin(own, mixed(gaps[fine][:, columns]))

        every = np.ones(len(self.columns), np.bool_)
        if turn < DRAWS // 3:
            pair(np.flatnonzero(self.left), every)
        for kind, about in enumerate(self.about if turn >= DRAWS // 3 else ()):
            rows = np.flatnonzero(self.left & (self.kind == kind))
            if len(rows):
                self.seen[rows] |= pair(rows, about)
        if turn >= 2 * DRAWS // 3:
            pair(np.flatnonzero(self.left & ~self.seen), ~every)
        places, taken = np.concatenate(pairs, axis=1)
        return places, taken


def mixed(gaps: np.ndarray) -> np.ndarray:
    """One number for each row's gaps; two patterns that share one are as good as excluded."""
    weights = np.random.default_rng(0).integers(1, 1 << 63, gaps.shape[1], np.uint64)
    return np.asarray((gaps * weights).sum(axis=1, dtype=np.uint64))


def paired(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places in both with equal entries, each place at most once and in rising order among equals."""
    _, own = np.unique(np.concatenate([first, second]), return_inverse=True)
    one, other = own.ravel()[: len(first)], own.ravel()[len(first) :]
    size = len(own) + 1
    marks = one * size + _rank(one), other * size + _rank(other)
    _, here, there = np.intersect1d(marks[0], marks[1], assume_unique=True, return_indices=True)
    return here, there


def _rank(entries: np.ndarray) -> np.ndarray:
    """How many equal entries stand before each."""
    order = np.argsort(entries, kind="stable")
    rising = entries[order]
    found = np.empty(len(entries), int)
    found[order] = np.arange(len(entries)) - np.searchsorted(rising, rising)
    return found


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
            seeds = sequence(seed, number).spawn(DRAWS)
            yield self.keep(table, partial(_again, draw, table.num_rows, seeds))

    def keep(self, table: pa.Table, again: Callable[[int], pa.Table]) -> pa.Table:
        """The table with every row keeping everything; `again(number)` draws another table of the same source."""
        if not self.checks or not table.num_rows:
            return table
        table = self.write(table, with_totals(self.read(table), self.checks))
        replaced = Replaced(self.checks, self.read(table))
        for number in range(DRAWS):
            if not replaced.left.any():
                return table
            fresh = again(number)
            fresh = self.write(fresh, with_totals(self.read(fresh), self.checks))
            drawn = self.read(fresh)
            fine = np.flatnonzero(~any_broken(self.checks, drawn))
            if len(fine) < RARE * fresh.num_rows:
                break
            table = self.swap(table, fresh, *replaced.by(drawn, fine, number))
        return self.mend(table, {}) if replaced.left.any() else table

    def mend(self, table: pa.Table, kept: Mapping[str, np.ndarray]) -> pa.Table:
        """Rows that break something changed, but for values that are `kept`. UsageError where these break it themselves."""
        if not self.checks or not table.num_rows:
            return table
        table = self.changed(table, kept)
        if (blamed := self.blamed(table)) and kept:
            raise Impossible(broken={on: (rows + 1).tolist() for on, rows in blamed.items()}).refused()
        if blamed:
            raise UsageError(
                "constraints: a drawn row breaks some of them (with the conditions, if any), and no row that keeps all was found "
                f"in {TRIES:,} tries; ask for other conditions, or state fewer constraints on columns that others join"
            )
        return table

    def complete(
        self, table: pa.Table, kept: Mapping[str, np.ndarray], again: Callable[[np.ndarray], pa.Table]
    ) -> pa.Table:
        """Completed rows: what is not `kept` is drawn again where rows break something, and changed where that does not help.

        `again(places)` completes these rows anew, each as often as it stands there. Totals that are given are met by the parts
        that are not, which no draw does by chance; so this comes last. Rows whose kept values break something stay broken.
        """
        if not self.checks or not table.num_rows:
            return table
        table = self.write(table, with_totals(self.read(table), self.checks, kept))
        before = self.read(table)
        replaced = Replaced(self.checks, before)
        left = np.flatnonzero(self._amiss(before, kept))
        for turn in range(DRAWS):
            if not len(left):
                break
            places = np.repeat(left, table.num_rows // len(left))
            own = {name: where[places] for name, where in kept.items()}
            fresh = again(places)
            fresh = self.write(fresh, with_totals(self.read(fresh), self.checks, own))
            drawn = self.read(fresh)
            fine = ~self._amiss(drawn, own)
            if fine.sum() < RARE * len(left):
                break
            if turn < 2 * DRAWS // 3:
                fine &= replaced.alike(places, drawn)
            rows = np.flatnonzero(fine)
            found, first = np.unique(places[rows], return_index=True)
            table = self.swap(table, fresh, found, rows[first])
            left = np.setdiff1d(left, found)
        return self.changed(table, kept)

    def _amiss(self, rows: Mapping[str, Numbers], kept: Mapping[str, np.ndarray]) -> np.ndarray:
        """Rows that break something else than a sum whose total is kept."""
        found = np.zeros(len(next(iter(rows.values())).null), np.bool_)
        for check in self.checks:
            broken = check.broken(rows)
            if isinstance(check, Total) and check.columns[0].name in kept:
                broken = broken & ~kept[check.columns[0].name]
            found |= broken
        return found

    def changed(self, table: pa.Table, kept: Mapping[str, np.ndarray]) -> pa.Table:
        """Rows that break something changed as little as possible, but for values that are `kept`, which may break it still."""
        rows = with_totals(self.read(table), self.checks, kept)
        return self.write(table, mended(rows, self.checks, kept, self.witness))

    def blamed(self, table: pa.Table) -> dict[str, np.ndarray]:
        """Rows that break something, by the columns of the first constraint that they break."""
        if not self.checks or not table.num_rows:
            return {}
        rows, found = self.read(table), dict[str, np.ndarray]()
        done = np.zeros(table.num_rows, np.bool_)
        for check in self.checks:
            own = np.flatnonzero(check.broken(rows) & ~done)
            if len(own):
                done[own] = True
                on = ", ".join(repr(column.name) for column in check.columns)
                found[on] = np.sort(np.concatenate([found.get(on, own[:0]), own]))
        return found

    def read(self, table: pa.Table) -> dict[str, Numbers]:
        """The columns that constraints speak of."""
        return numbers_in(table, columns_of(self.checks))

    def write(self, table: pa.Table, rows: Mapping[str, Numbers]) -> pa.Table:
        """The table with these columns; what did not change stays as it is."""
        before = self.read(table)
        for column in columns_of(self.checks):
            own, new = before[column.name], rows[column.name]
            changed = (own.null != new.null) | (own.values != new.values)
            if changed.any():
                place = table.column_names.index(column.name)
                made = array_of(new.values, new.null, column, new.values if column.codes else None)
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
