"""A table in the form metrics can count: one array per column, odd contents already named.

    numeric kinds (continuous, integer, datetime)   float64, NaN = missing, infinities kept (they are violations)
    discrete kinds (categorical, ordinal, boolean)  int32 index into the schema's categories, -1 missing, -2 unknown

Identifiers are left out: they are regenerated, never learned. Nothing here raises on contents; a column that the
frame lacks is all missing and is listed in `absent`. Frames are converted column by column, so the caller may drop
the frame before anything is computed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from understudy.schema import Column, Schema

MISSING, UNKNOWN = -1, -2


@dataclass(frozen=True, kw_only=True)
class Table:
    """Columns as arrays: category indices (int32) or numbers (float64), and which columns were absent."""

    rows: int
    values: dict[str, np.ndarray]
    absent: tuple[str, ...] = ()

    def take(self, index: np.ndarray) -> "Table":
        """The rows of an index or a mask."""
        values = {name: column[index] for name, column in self.values.items()}
        rows = int(index.sum()) if index.dtype == bool else len(index)
        return Table(rows=rows, values=values, absent=self.absent)

    def sample(self, most: int | None, seed: int) -> "Table":
        """At most `most` rows, drawn without replacement."""
        if most is None or self.rows <= most:
            return self
        index = np.random.default_rng(seed).choice(self.rows, size=most, replace=False)
        return self.take(np.sort(index))


def evaluated(schema: Schema) -> tuple[Column, ...]:
    """Columns that carry information: all but identifiers."""
    return tuple(c for c in schema.columns if c.kind != "identifier")


def is_discrete(column: Column) -> bool:
    """Whether a column is compared by categories."""
    return column.kind in ("categorical", "ordinal", "boolean") or column.categories is not None


def categories(column: Column) -> tuple[Any, ...]:
    """Outcomes of a discrete column in schema order; the catch-all `other` is one of them where allowed."""
    return tuple(v for v in column.outcomes if v is not None)


def prepare(frame: pd.DataFrame, schema: Schema) -> Table:
    """A frame as a table of the schema's columns; an absent column is all missing."""
    values, absent = {}, []
    for column in evaluated(schema):
        if column.name not in frame.columns:
            absent.append(column.name)
            empty = np.full(len(frame), MISSING, np.int32) if is_discrete(column) else np.full(len(frame), np.nan)
            values[column.name] = empty
        elif is_discrete(column):
            values[column.name] = codes(frame[column.name], column)
        else:
            values[column.name] = numbers(frame[column.name], column.kind)
    return Table(rows=len(frame), values=values, absent=tuple(absent))


def numbers(series: pd.Series, kind: str) -> np.ndarray:
    """Float64 with NaN for what is missing or cannot be read as a number; datetimes as seconds since 1970."""
    if kind == "datetime":
        stamps = pd.to_datetime(series, errors="coerce", format=None if _is_datetime(series) else "ISO8601", utc=True)
        known = stamps.notna().to_numpy()
        seconds = np.full(len(stamps), np.nan)
        plain = stamps.dt.tz_localize(None).to_numpy().astype("datetime64[us]").astype(np.int64)
        seconds[known] = plain[known] / 1e6
        return seconds
    if pd.api.types.is_numeric_dtype(series.dtype) or pd.api.types.is_bool_dtype(series.dtype):
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    found = pd.to_numeric(series.astype(object), errors="coerce")
    return np.asarray(found.to_numpy(dtype=np.float64, na_value=np.nan))


def codes(series: pd.Series, column: Column) -> np.ndarray:
    """Index of each cell among the categories. A cell equals a category by value or, failing that, as text."""
    known = _spellings(categories(column))
    fallback = known.get("other", UNKNOWN) if column.other else UNKNOWN
    index, uniques = pd.factorize(series, use_na_sentinel=True)
    table = np.array([_lookup(u, known, fallback) for u in uniques] + [MISSING], dtype=np.int32)
    return np.asarray(table[index])  # missing is -1: the last entry


def _lookup(value: Any, known: dict[Any, int], fallback: int) -> int:
    plain = value.item() if isinstance(value, np.generic) else value
    for spelling in (plain, _text(plain)):
        try:
            if spelling in known:
                return known[spelling]
        except TypeError:  # unhashable contents, e.g. lists
            return fallback
    return fallback


def _spellings(outcomes: Iterable[Any]) -> dict[Any, int]:
    outcomes = tuple(outcomes)
    spelled: dict[Any, int] = {_text(o): i for i, o in reversed(list(enumerate(outcomes)))}
    if outcomes in ((False, True), (0, 1)):
        spelled = {"false": 0, "true": 1, "0": 0, "1": 1} | spelled
    return spelled | {o: i for i, o in enumerate(outcomes)}


def _text(value: Any) -> str:
    """One spelling for 1, 1.0 and "1", and for True and "true", so that a CSV file equals a Parquet file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = str(value).strip()
    return text.lower() if text.lower() in ("true", "false") else text


def _is_datetime(series: pd.Series) -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(series.dtype))
