"""Intervals of what a report says about single columns, from copies of the stand-in: means, quantiles, shares.

A model whose method cannot draw copies has none; a report then shows its numbers without intervals.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from understudy.artifact import Model, load
from understudy.infer.question import number_codes
from understudy.infer.rules import combine, widened
from understudy.infer.run import mean, own_tables, proportion, quantile
from understudy.methods.registry import method
from understudy.released import fitted_tables
from understudy.schema import Schema
from understudy.seeds import rng

COPIES, MOST_ROWS = 10, 20_000
Interval = tuple[float, float]
NUMBERS = ("integer", "continuous")


class ColumnIntervals:
    """95 % intervals about the population: privacy noise and sampling. None where some copy has no answer."""

    def __init__(self, fitted: Model, seed: int = 0) -> None:
        source, rows = fitted.redraw_source(), min(fitted.rows, MOST_ROWS)
        self.drawn = fitted.copies(COPIES, rows=rows, seed=seed, source=source)
        self.frames = [numbers_alone(frame, fitted.schema) for frame in self.drawn]
        self.kinds = {column.name: column.kind for column in fitted.resolved.columns}
        self.ratio, self.chance = rows_of_a_person(fitted) * rows / fitted.rows, source.chance(rows)
        self.resolution, self.label = source.resolution, fitted.schema.label
        self.own = own_tables(fitted, rows, COPIES, self.chance, rng(seed))
        self.own_numbers = [numbers_alone(frame, fitted.schema) for frame in self.own]

    def mean(self, name: str) -> Interval | None:
        """Of a number."""
        return self._of(name, mean) if self.kinds.get(name) in NUMBERS else None

    def quantile(self, name: str, share: float) -> Interval | None:
        """Of a number, not its ends; within a released interval all values are alike, and half of one is added."""
        if self.kinds.get(name) not in NUMBERS or not 0.0 < share < 1.0:
            return None
        return self._of(name, lambda own: quantile(own, share), finest=True)

    def share(self, name: str, value: str) -> Interval | None:
        """Of the rows with a value that have this one."""
        return in_unit(self._of(name, lambda own: proportion((own.astype(str) == value)[own.notna()])))

    def between(self, name: str, edges: Sequence[float]) -> tuple[Interval | None, ...]:
        """Of the rows with a number that lie in each range; the last one has both its ends."""

        def inside(place: int) -> Callable[[pd.Series], tuple[float, float]]:
            last = np.less_equal if place == len(edges) - 2 else np.less
            return lambda own: proportion((own >= edges[place]) & last(own, edges[place + 1]))

        known = self.kinds.get(name) in NUMBERS
        places = range(len(edges) - 1)
        return tuple(in_unit(self._of(name, inside(place), number=True)) if known else None for place in places)

    def missing(self, name: str) -> Interval | None:
        """Share of rows without a value; a code is one."""
        return in_unit(self._of(name, lambda own: proportion(own.isna()), coded=True))

    def _of(
        self,
        name: str,
        function: Callable[[pd.Series], tuple[float, float]],
        *,
        number: bool = False,
        finest: bool = False,
        coded: bool = False,
    ) -> Interval | None:
        def on(frames: list[pd.DataFrame]) -> list[tuple[float, float]]:
            columns = [frame[name] for frame in frames if name in frame]
            return [function(own.dropna().astype(float) if number else own) for own in columns]

        each, own = on(self.drawn if coded else self.frames), on(self.own if coded else self.own_numbers)
        if not each or not np.isfinite(each).all():
            return None
        alone = [estimate for estimate, _ in own]
        chance = 0.0 if name == self.label else self.chance  # classes are drawn in exact shares
        found = combine(*zip(*each, strict=True), ratio=self.ratio, chance=chance, own=alone)
        if finest:
            found = widened(found, 0.5 * self.resolution.interval(name, found.estimate))
        return (found.low, found.high)


def in_unit(found: Interval | None) -> Interval | None:
    """Of a share: no less than nobody, no more than everybody."""
    return None if found is None else (max(found[0], 0.0), min(found[1], 1.0))


def column_intervals(model: Model | str | Path, *, seed: int = 0) -> ColumnIntervals | None:
    """Of a fitted model or its folder; None if it cannot draw copies."""
    fitted = model if isinstance(model, Model) else load(model)
    if not method(fitted.method).redrawn or not fitted_tables(fitted.released):
        return None
    return ColumnIntervals(fitted, seed)


def rows_of_a_person(model: Model) -> int:
    """Rows that count as one where a sample's variance is computed: at worst all rows of a person say the same. Where people are
    counted and the sample has as many rows as people, a row is a person."""
    people = model.schema.rows is None and any(table.people for table in model.released)
    return 1 if people else model.schema.max_rows_per_unit


def numbers_alone(rows: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Codes beside numbers as missing values: to questions about numbers they say nothing."""
    coded = [column for column in schema.columns if column.codes]
    texts = {
        c.name: rows[c.name].str.replace(c.decimal, ".", regex=False) if c.has_words else rows[c.name] for c in coded
    }
    kept = {name: pd.to_numeric(own, errors="coerce").astype(float) for name, own in texts.items()}
    return rows.assign(**{c.name: kept[c.name].mask(kept[c.name].isin(number_codes(c))) for c in coded})
