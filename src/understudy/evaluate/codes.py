"""Tables as whole numbers: every cell the number of its outcome or of its public bin, so that measures only count.

    discrete      one code per category of the schema, then missing, then unknown; beyond MOST_OUTCOMES categories the rarest
                  of the real rows share one code
    numbers       BINS bins of equal width between the schema's bounds (whole numbers with no more values than that: one
                  bin a value), then missing; what lies outside counts into the nearest bin (a violation shown elsewhere)

Bounds that the schema leaves to be estimated are the smallest and largest real value. Missing is an outcome like any other.
`percentiles` gives instead the bins of SDNist: cut at the percentiles of the real rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.evaluate.table import Table, categories, evaluated, is_discrete
from understudy.schema import Column, Schema

BINS = 20
MOST_OUTCOMES = 1_000
MOST_DENSE = 1 << 22  # cells of a joint distribution that are counted in an array; larger ones are sorted

Coder = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Codes:
    """One array of codes per column; `sizes` are the numbers of codes, of which the first `values` are no special ones."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    values: tuple[int, ...]  # codes of values; missing, unknown and rare ones lie behind them
    ordered: tuple[bool, ...]  # whether neighbouring values are alike: numbers and ordinals
    columns: tuple[np.ndarray, ...]  # int32
    rows: int

    def take(self, index: np.ndarray) -> "Codes":
        """The rows of an index."""
        return self._with(tuple(column[index] for column in self.columns), len(index))

    def shuffled(self, rng: np.random.Generator) -> "Codes":
        """Every column in an order of its own: the same columns, no dependence."""
        return self._with(tuple(column[rng.permutation(self.rows)] for column in self.columns), self.rows)

    def joint(self, chosen: Sequence[int]) -> np.ndarray:
        """The cell of each row in the joint distribution of some columns."""
        cell = self.columns[chosen[0]].astype(np.int64)
        for i in chosen[1:]:
            cell *= self.sizes[i]
            cell += self.columns[i]
        return cell

    def counts(self, chosen: Sequence[int]) -> np.ndarray:
        """Rows in every cell of a joint distribution that fits into an array."""
        sizes = [self.sizes[i] for i in chosen]
        return np.bincount(self.joint(chosen), minlength=int(np.prod(sizes))).reshape(sizes)

    def _with(self, columns: tuple[np.ndarray, ...], rows: int) -> "Codes":
        return replace(self, columns=columns, rows=rows)


@dataclass(frozen=True, kw_only=True)
class Coding:
    """How the columns of a table become codes; fixed by the schema and, where it says nothing, by the real rows."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    values: tuple[int, ...]
    ordered: tuple[bool, ...]
    coders: tuple[Coder, ...]

    def apply(self, table: Table) -> Codes:
        """The codes of a table of the same schema."""
        columns = tuple(code(table.values[name]) for name, code in zip(self.names, self.coders, strict=True))
        return Codes(
            names=self.names,
            sizes=self.sizes,
            values=self.values,
            ordered=self.ordered,
            columns=columns,
            rows=table.rows,
        )


def public_bins(real: Table, schema: Schema) -> Coding:
    """Codes with bins of equal width between public bounds."""
    return _coding(schema, real, _even)


def percentiles(real: Table, schema: Schema) -> Coding:
    """Codes whose bins hold about equally many real rows each, as SDNist cuts them."""
    return _coding(schema, real, _percentile)


def _coding(schema: Schema, real: Table, number: Callable[[np.ndarray, Column], tuple[int, int, Coder]]) -> Coding:
    columns = evaluated(schema)
    made = [(_outcomes if is_discrete(c) else number)(real.values[c.name], c) for c in columns]
    return Coding(
        names=tuple(c.name for c in columns),
        sizes=tuple(size for _, size, _ in made),
        values=tuple(values for values, _, _ in made),
        ordered=tuple(not is_discrete(c) or c.kind == "ordinal" for c in columns),
        coders=tuple(code for _, _, code in made),
    )


def _outcomes(real: np.ndarray, column: Column) -> tuple[int, int, Coder]:
    count = len(categories(column))
    kept = np.arange(count)
    if count > MOST_OUTCOMES:
        kept = np.sort(np.argsort(-np.bincount(real[real >= 0], minlength=count), kind="stable")[:MOST_OUTCOMES])
    rare, missing, unknown = len(kept), len(kept) + 1, len(kept) + 2
    numbers = np.full(count + 2, rare, dtype=np.int32)
    numbers[kept] = np.arange(len(kept))
    numbers[-1], numbers[-2] = missing, unknown  # MISSING is -1, UNKNOWN -2
    return len(kept), unknown + 1, lambda values: numbers[values]


def _even(real: np.ndarray, column: Column) -> tuple[int, int, Coder]:
    low, high = _bounds(real, column)
    whole = column.kind == "integer"
    high = high + 1 if whole else high
    bins = int(min(BINS, high - low)) if whole else BINS
    scale = bins / (high - low)

    def code(values: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", over="ignore"):
            found = np.clip(np.floor((values - low) * scale), 0, bins - 1)
        return np.where(np.isnan(values), bins, np.nan_to_num(found)).astype(np.int32)

    return bins, bins + 1, code


def _bounds(real: np.ndarray, column: Column) -> tuple[float, float]:
    if column.lower is not None and column.upper is not None:
        return column.bounds
    known = real[np.isfinite(real)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    return low, high if high > low else low + 1.0


def _percentile(real: np.ndarray, column: Column) -> tuple[int, int, Coder]:
    if column.kind == "integer" and np.diff(_bounds(real, column))[0] < BINS:
        return _even(real, column)
    known = real[np.isfinite(real)]
    if known.size == 0:
        known = np.zeros(1)
    inner = np.unique(np.percentile(known, np.arange(1, BINS) * (100 / BINS), method="higher"))

    def code(values: np.ndarray) -> np.ndarray:
        found = np.searchsorted(inner, values, side="left")
        return np.where(np.isnan(values), len(inner) + 1, found).astype(np.int32)

    return len(inner) + 1, len(inner) + 2, code
