"""Decoded columns as numbers in the units of their bounds, and back: dates in seconds since 1970, ordinals as positions.

For what is done to rows after they were drawn (conditions, given values, constraints): arithmetic in double precision,
and back to the column's own type, rounded to values that it can have.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from understudy.schema.columns import NUMERIC, Column
from understudy.schema.decode import coded, numpy_type, pick, specials_of, step_of


def quantum(column: Column) -> float:
    """Distance of two neighbouring values, in the units of the bounds; 0: any number."""
    if column.kind in ("integer", "ordinal"):
        return 1.0
    if column.kind == "datetime":
        return step_of(column)
    if column.decimals is not None:
        return float(10.0**-column.decimals)
    return float(10.0**-column.arrow_type.scale) if pa.types.is_decimal(column.arrow_type) else 0.0


def numbers_of(array: pa.Array | pa.ChunkedArray, column: Column) -> tuple[np.ndarray, np.ndarray]:
    """float64 values and where there is none; codes are none either. Of categories and truth values the outcome's position."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    null = array.is_null().to_numpy(zero_copy_only=False)
    if column.kind not in NUMERIC:
        return _positions(array, column), null
    if column.kind == "datetime":
        if pa.types.is_date(array.type):
            days = array.cast(pa.date32()).cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False)
            return days.astype(np.float64) * 86400.0, null
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[array.type.unit]
        ticks = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return ticks / per_second, null
    if column.codes:  # say nothing about a number: as if there were none
        codes = [code for code in specials_of(column) if code is not None]
        array = pc.if_else(pc.is_in(array, value_set=pa.array(codes, array.type)), pa.scalar(None, array.type), array)
        null = array.is_null().to_numpy(zero_copy_only=False)
    if column.has_words and column.decimal == ",":
        array = pc.replace_substring(array, ",", ".")
    return array.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False).copy(), null


def specials_in(array: pa.Array | pa.ChunkedArray, column: Column) -> np.ndarray:
    """The place among `Column.specials` of what is missing or a code; 0 beside numbers, too."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    codes = pa.array([code for code in specials_of(column) if code is not None], array.type)
    places = pc.fill_null(pc.index_in(array, value_set=codes), -1).to_numpy(zero_copy_only=False)
    return np.where(places >= 0, places + int(column.missing), 0).astype(np.float64)


def _positions(array: pa.Array, column: Column) -> np.ndarray:
    values = (column.categories or ()) if column.kind == "ordinal" else column.outcomes
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    known = [value for value in values if value is not None]
    index = pc.index_in(array, value_set=pa.array(known, array.type)) if known else pa.nulls(len(array), pa.int32())
    return np.asarray(pc.fill_null(index, len(known)).to_numpy(zero_copy_only=False).astype(np.float64))


def array_of(values: np.ndarray, null: np.ndarray, column: Column, special: np.ndarray | None = None) -> pa.Array:
    """The column's Arrow array from numbers, rounded to values that it can have and within its bounds. `special`: which of
    `Column.specials` stands where there is no number; the first one if not given.
    """
    kind = column.arrow_type
    mask = null if null.any() else None
    if column.kind not in NUMERIC:
        ordinal = column.kind == "ordinal"
        outcomes = (column.categories or ()) if ordinal else column.outcomes
        return pick(outcomes, np.rint(values).astype(np.int32), kind, mask if ordinal else None)
    lower, upper = column.bounds
    step = quantum(column)
    values = np.where(null, lower, values)
    if step:
        values = lower + step * np.rint((values - lower) / step)
    values = np.clip(values, lower, upper)
    if column.kind == "datetime":
        if pa.types.is_date(kind):
            return pa.array(np.rint(values / 86400.0).astype(np.int32), mask=mask).cast(pa.date32()).cast(kind)
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        return pa.array(np.rint(values * per_second).astype(np.int64), mask=mask).cast(kind)
    if column.decimals is not None:
        values = np.round(values, column.decimals)
    places = np.zeros(len(null), np.int32) if special is None else special.astype(np.int32)
    return coded(values.astype(numpy_type(column)), np.where(null, places, np.int32(-1)), column)
