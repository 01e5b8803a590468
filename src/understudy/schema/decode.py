"""From places in [0, 1] back to Arrow columns of the schema's types.

Rows arrive as a transposed piece [width, m] small enough for the processor's cache. Any float is accepted: what lies
outside [0, 1] is clamped, NaN counts as 0, a one-hot block gives its largest entry.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.schema.columns import Column
from understudy.schema.types import Value, number_range, value_type

DAY = 86400.0


def step_of(column: Column) -> float:
    """Datetimes come back on whole days (dates), whole seconds, or, within spans below a day, microseconds."""
    if pa.types.is_date(column.arrow_type):
        return DAY
    lower, upper = column.bounds
    ticks = {"s": 1.0, "ms": 1e-3}.get(column.arrow_type.unit, 1e-6)
    return 1.0 if upper - lower >= DAY else ticks


def numpy_type(column: Column) -> np.dtype:
    """The type that a column's numbers are computed in."""
    kind = column.number_type
    return np.dtype(np.float64 if pa.types.is_decimal(kind) else kind.to_pandas_dtype())


class Numbers:
    """Decodes all continuous or all integer columns of one type together: with hundreds of columns, calling NumPy for
    each column and piece costs more than the arithmetic."""

    def __init__(self, columns: list[Column], starts: list[int], count: int) -> None:
        self.columns = columns
        self.places = np.asarray(starts)
        bounds = np.asarray([c.bounds for c in columns])
        self.lower, self.upper = bounds[:, :1], bounds[:, 1:]
        self.span = self.upper - self.lower
        self.whole = columns[0].kind == "integer"
        self.out = np.empty((len(columns), count), numpy_type(columns[0]))

    def read(self, piece: np.ndarray, here: slice) -> None:
        """Decode a piece of encoded numbers."""
        values = _unit(piece[self.places])
        values *= self.span
        values += self.lower
        if self.whole:
            np.rint(values, out=values)
        self.out[:, here] = np.minimum(values, self.upper, out=values)

    def arrays(self, specials: dict[str, np.ndarray]) -> dict[str, pa.Array]:
        """The decoded columns, with nulls and codes where they belong."""
        found = {}
        for column, values in zip(self.columns, self.out, strict=True):
            if column.decimals is not None:
                lower, upper = column.bounds  # which may lie between two numbers of so many decimals
                values = np.clip(np.round(values.astype(np.float64), column.decimals), lower, upper).astype(
                    values.dtype
                )
            found[column.name] = coded(values, specials.get(column.name), column)
        return found


def coded(values: np.ndarray, special: np.ndarray | None, column: Column) -> pa.Array:
    """A numeric column from numbers and, where `special` is 0 or more, its missing values and codes."""
    if not column.codes:
        array = pa.array(values, mask=None if special is None else special >= 0)
        return array if array.type == column.arrow_type else array.cast(column.arrow_type, safe=False)
    assert special is not None
    array = pa.array(values)
    array = array if array.type == column.number_type else array.cast(column.number_type, safe=False)
    array = marked(array, column) if column.has_words else array
    words = pa.array(specials_of(column), column.arrow_type).take(pa.array(special, mask=special < 0))
    return pc.if_else(pa.array(special >= 0), words, array)


def specials_of(column: Column) -> list[Value | None]:
    """Missing and codes as cells of the column hold them: all as text where one is a word."""
    if not column.has_words:
        return list(column.specials)
    return [c if c is None or isinstance(c, str) else str(c).replace(".", column.decimal) for c in column.specials]


def marked(numbers: pa.Array, column: Column) -> pa.Array:
    """Numbers beside words as the text that the schema reads: with its decimal mark."""
    text = numbers.cast(column.arrow_type)
    return pc.replace_substring(text, ".", ",") if column.decimal == "," else text


class Decoder(NamedTuple):
    """One column: `convert` reads a piece of the array into `out`, `build` makes the Arrow array."""

    out: np.ndarray
    convert: Callable[[np.ndarray], np.ndarray]
    build: Callable[[np.ndarray, np.ndarray | None], pa.Array]


def decoder(column: Column, count: int) -> Decoder:
    """What decodes a column of this kind."""
    kind = column.arrow_type
    if column.kind == "datetime":
        return _datetime_decoder(column, count)
    out = np.empty(count, np.int32)
    if column.kind == "ordinal":
        levels = column.categories or ()
        return Decoder(
            out,
            lambda block: np.rint(_unit(block[0]) * (len(levels) - 1)),
            lambda codes, null: pick(levels, codes, kind, null),
        )
    values = column.outcomes
    size = len(values)
    if size == 2:
        return Decoder(out, lambda block: block[0] >= 0.5, lambda codes, _: pick(values, codes, kind))
    return Decoder(out, lambda block: _argmax(block[:size]), lambda codes, _: pick(values, codes, kind))


def _datetime_decoder(column: Column, count: int) -> Decoder:
    kind, step = column.arrow_type, step_of(column)
    lower, upper = column.bounds
    is_date = pa.types.is_date(kind)
    per_second = 1.0 / DAY if is_date else {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    first, last = round(lower * per_second), round(upper * per_second)
    steps, ticks = (upper - lower) / step, max(1, round(step * per_second))

    def convert(block: np.ndarray) -> np.ndarray:
        return np.minimum(np.rint(_unit(block[0]) * steps).astype(np.int64) * ticks + first, last)

    def build(out: np.ndarray, null: np.ndarray | None) -> pa.Array:
        if is_date:
            return pa.array(out.astype(np.int32), mask=null).cast(pa.date32()).cast(kind)
        return pa.array(out, mask=null).cast(kind)

    return Decoder(np.empty(count, np.int64), convert, build)


def _unit(values: np.ndarray) -> np.ndarray:
    # fmax and fmin put NaN (a generator gone wrong) at the lower end, where clip would keep it.
    return np.asarray(np.fmin(np.fmax(values, np.float32(0)), np.float32(1)).astype(np.float64))


def _argmax(block: np.ndarray) -> np.ndarray:
    """Index of the largest entry in each column of `block` [k, n], the first one among equals; NaN never wins."""
    best = block[0].copy()
    index = np.zeros(block.shape[1], np.int32)
    for i in range(1, len(block)):
        better = block[i] > best
        np.copyto(index, i, where=better)
        np.fmax(best, block[i], out=best)
    return index


def largest_flag(flags: np.ndarray) -> np.ndarray:
    """[flags, n]: which of the flags is set, the largest one among several; -1 where none is."""
    best = _argmax(flags)
    return np.asarray(np.where(flags[best, np.arange(flags.shape[1])] >= 0.5, best, np.int32(-1)))


def pick(
    values: tuple[Value | None, ...], codes: np.ndarray, kind: pa.DataType, null: np.ndarray | None = None
) -> pa.Array:
    """values[codes] as an Arrow array; None among the values and a set `null` become nulls."""
    real = [v for v in values if v is not None]
    if len(real) < len(values):
        null = codes == len(real)
        codes = np.minimum(codes, max(len(real) - 1, 0)) if real else np.zeros_like(codes)
    palette = pa.array(real, type=value_type(kind)) if real else pa.nulls(1, value_type(kind))
    index = pa.array(codes, mask=null)
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(index.cast(kind.index_type), palette, ordered=kind.ordered)
    return palette.take(index)


def identifiers(column: Column, first_row: int, count: int) -> pa.Array:
    """1, 2, 3, ... as the column's type: unique, and nothing to do with the real ones."""
    kind = column.arrow_type
    counted = pa.array(np.arange(first_row + 1, first_row + count + 1, dtype=np.int64))
    if not pa.types.is_string(value_type(kind)) and not pa.types.is_large_string(value_type(kind)):
        most = min(number_range(kind)[1], {"halffloat": 2048, "float": 2**24}.get(str(kind), 2**53))
        if first_row + count > most:
            raise column.problem(f"{kind} can number only {int(most)} rows; declare `dtype: int64` in the schema")
    return counted.cast(kind) if not pa.types.is_dictionary(kind) else counted.cast(kind.value_type).cast(kind)
