"""Columns of any frame as clean numbers or category positions, whatever they hold.

An error that depends on what a person wrote in a form reveals it, so nothing here raises and nothing is printed: what
cannot be read counts as missing, infinities are kept for the caller to clamp, unknown categories are marked as such.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from understudy.schema.columns import OTHER, Column
from understudy.schema.types import family

MISSING, UNKNOWN = -1, -2
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_TRUE_FALSE = {"true": True, "false": False, "t": True, "f": False, "yes": True, "no": False, "1": True, "0": False}


def to_numbers(series: pd.Series, column: Column) -> np.ndarray:
    """float64 values, NaN where missing or unreadable; datetimes as seconds since 1970 UTC."""
    return _seconds(series) if column.kind == "datetime" else _floats(series)


def positions(series: pd.Series, column: Column) -> np.ndarray:
    """int32 positions among the declared values; MISSING for nulls, UNKNOWN for anything not declared."""
    values = column.categories if column.kind != "boolean" else (False, True)
    wanted = "boolean" if column.kind == "boolean" else family(column.arrow_type)
    if wanted == "string" and (fast := _text_positions(series, values or ())) is not None:
        return fast
    table = {v: i for i, v in enumerate(values or ())}
    codes, uniques = _factorize(series)
    # One look-up for each different value, then one gather; the two extra places serve the negative codes.
    found = np.full(len(uniques) + 1, MISSING, np.int32)
    for i, raw in enumerate(uniques):
        key = _key(raw, wanted)
        found[i] = MISSING if key is None else table.get(key, UNKNOWN)
    return found[codes]


def to_texts(series: pd.Series, column: Column) -> tuple[list[str], np.ndarray]:
    """Category values as text where there is one, and where that is: the form in which the wall counts them privately.

    `Schema.with_estimates` turns such texts back into values of the column's type.
    """
    wanted = "boolean" if column.kind == "boolean" else family(column.arrow_type)
    codes, uniques = _factorize(series)
    found = np.empty(len(uniques) + 1, object)
    for i, raw in enumerate(uniques):
        key = _key(raw, wanted)
        found[i] = None if key is None or (wanted != "string" and key == math.inf) else text(key)
    cells = found[codes]
    present = np.fromiter((v is not None for v in cells), bool, len(cells))
    return cells[present].tolist(), present


def outcomes(series: pd.Series, column: Column) -> np.ndarray:
    """int32 index into `column.outcomes`, with nulls and unknown values put where the schema allows them."""
    codes = positions(series, column)
    allowed = column.outcomes
    last_resort = allowed.index(OTHER) if column.other else 0
    null = len(allowed) - 1 if column.missing else last_resort
    unknown = last_resort if column.other or not column.missing else null
    if codes.size and codes.min() < 0:
        codes = np.where(codes == MISSING, np.int32(null), np.where(codes == UNKNOWN, np.int32(unknown), codes))
    return codes.astype(np.int32, copy=False)


def is_null(series: pd.Series) -> np.ndarray:
    """Where a column holds no value at all."""
    try:
        return np.asarray(series.isna(), bool)
    except Exception:  # a signalling NaN among decimals raises on comparison
        return np.fromiter((_key(v, "string") is None for v in series), bool, len(series))


def text(value: Any) -> str:
    """The text of one value; whole floats lose their `.0`, since a null in a column makes pandas add it."""
    if isinstance(value, float | np.floating) and math.isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)


def _floats(series: pd.Series) -> np.ndarray:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        if dtype.kind in "fiub":
            return series.to_numpy(np.float64)
        if dtype.kind in "mM":
            return np.full(len(series), np.nan)
    elif isinstance(dtype, pd.CategoricalDtype):
        uniques = _floats(pd.Series(dtype.categories))
        return np.append(uniques, np.nan)[np.asarray(series.cat.codes)]
    try:
        found = pd.to_numeric(series, errors="coerce")
        return found.to_numpy(np.float64, na_value=np.nan)
    except Exception:  # whatever the cells hold, they are read one by one instead
        return np.fromiter((_number(v) for v in series), np.float64, len(series))


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:  # any object may sit in a cell
        return math.nan


def _seconds(series: pd.Series) -> np.ndarray:
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        uniques = _seconds(pd.Series(dtype.categories))
        return np.append(uniques, np.nan)[np.asarray(series.cat.codes)]
    try:
        if isinstance(dtype, np.dtype) and dtype.kind in "fiub":  # a bare number is no date
            return np.full(len(series), np.nan)
        if not (isinstance(dtype, np.dtype) and dtype.kind == "M") and not isinstance(dtype, pd.DatetimeTZDtype):
            series = pd.to_datetime(series, errors="coerce", utc=True, format="ISO8601")
        if isinstance(series.dtype, pd.DatetimeTZDtype):
            series = series.dt.tz_convert("UTC").dt.tz_localize(None)
        ticks = series.to_numpy()
        found = ticks.view(np.int64) / _PER_SECOND[np.datetime_data(ticks.dtype)[0]]
        found[np.isnat(ticks)] = np.nan
        return found
    except Exception:  # whatever the cells hold, they are read one by one instead
        return np.fromiter((_second(v) for v in series), np.float64, len(series))


def _second(value: Any) -> float:
    try:
        stamp = pd.Timestamp(value)
        stamp = stamp.tz_localize("UTC") if stamp.tzinfo is None else stamp
        return math.nan if isinstance(value, int | float) else stamp.timestamp()
    except Exception:  # any object may sit in a cell
        return math.nan


def _text_positions(series: pd.Series, values: tuple[Any, ...]) -> np.ndarray | None:
    # Text columns go through Arrow's hash look-up, some 20 times quicker than a Python dictionary.
    if not isinstance(series.dtype, pd.StringDtype):
        return None
    try:
        array = pa.array(series, from_pandas=True)
    except pa.ArrowException:
        return None
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    found = pc.index_in(array, value_set=pa.array(values, type=array.type))
    codes = pc.fill_null(found, UNKNOWN).to_numpy(zero_copy_only=False).astype(np.int32)
    if array.null_count:
        codes[pc.is_null(array).to_numpy(zero_copy_only=False)] = MISSING
    return codes


def _factorize(series: pd.Series) -> tuple[np.ndarray, Any]:
    try:
        if isinstance(series.dtype, pd.CategoricalDtype):
            return np.asarray(series.cat.codes), series.cat.categories
        codes, uniques = pd.factorize(series)
        return codes, uniques
    except Exception:  # unhashable cells: every cell is its own value
        return np.arange(len(series)), list(series)


def _key(raw: Any, wanted: str) -> Any:
    """One cell as a value of the wanted family; None when it is missing or cannot be one."""
    try:
        if raw is None or raw is pd.NA or raw != raw:
            return None
        if wanted == "string":
            return text(raw)
        if isinstance(raw, str | bytes) and wanted == "boolean":
            return _TRUE_FALSE.get(raw.strip().lower() if isinstance(raw, str) else "", math.inf)
        number = int(raw) if isinstance(raw, int | np.integer) else float(raw)
        if wanted == "boolean":
            return bool(number) if number in (0, 1) else math.inf
        return number
    except Exception:  # any object may sit in a cell
        return math.inf  # hashable, and never a declared value
