"""The reader as it was before: columns parsed as a whole. Kept as a mutant that the tests of `test_reading.py` must catch.

"As the column's type where that works for all cells, otherwise as near to it as the cells allow": so one row decides how all
others are read.
"""

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from understudy.schema import Column, Schema
from understudy.schema.reading import MISSING, UNKNOWN, Rows, Table
from understudy.schema.rows import NULLS
from understudy.schema.types import family

_TRUE_FALSE = {"true": True, "false": False, "t": True, "f": False, "yes": True, "no": False, "1": True, "0": False}
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class OldRows(Rows):
    """All rows of a frame, each column parsed at once."""

    def __init__(self, frame: pd.DataFrame) -> None:
        super().__init__(len(frame), lambda name: list(frame[name]))
        self.frame = frame

    def numbers(self, column: Column) -> np.ndarray:
        return (_seconds if column.kind == "datetime" else _floats)(self.frame[column.name])

    def positions(self, column: Column) -> np.ndarray:
        values = (False, True) if column.kind == "boolean" else column.categories
        table = {v: i for i, v in enumerate(values)}
        codes, uniques = pd.factorize(self.frame[column.name])
        keys = [_key(raw, "boolean" if column.kind == "boolean" else family(column.arrow_type)) for raw in uniques]
        found = [MISSING if key is None else table.get(key, UNKNOWN) for key in keys]
        return np.array([*found, MISSING], np.int32)[codes]

    def keys(self, column: Column) -> pa.Array:
        wanted = "boolean" if column.kind == "boolean" else family(column.arrow_type)
        codes, uniques = pd.factorize(self.frame[column.name])
        texts = [str(key) for key in (_key(raw, wanted) for raw in uniques)]
        return pa.array([None if code < 0 else texts[code] for code in codes], pa.large_string())

    def identities(self, column: Column) -> pa.Array:
        cells = self.frame[column.name].tolist()
        return pa.array([None if c is None or c != c else str(c) for c in cells], pa.large_string())


def old_csv(path: str, *columns: Column) -> OldRows:
    text = pa_csv.read_csv(
        path,
        convert_options=pa_csv.ConvertOptions(
            strings_can_be_null=True, null_values=list(NULLS), column_types={c.name: pa.string() for c in columns}
        ),
    )
    return OldRows(pa.table({c.name: _typed(text.column(c.name), c) for c in columns}).to_pandas())


def _typed(text: pa.ChunkedArray, column: Column) -> pa.Array:
    kind = column.arrow_type
    if family(kind) == "string" or column.kind == "boolean":
        return text
    trimmed = pc.utf8_trim_whitespace(text)
    for wanted in (kind, pa.timestamp("us") if column.kind == "datetime" else pa.float64()):
        try:
            return trimmed.cast(wanted)
        except pa.ArrowException:
            continue
    series = trimmed.to_pandas()
    if column.kind == "datetime":
        return pa.array(pd.to_datetime(series, errors="coerce", utc=True, format="ISO8601").dt.tz_localize(None))
    return text if column.kind == "identifier" else pa.array(pd.to_numeric(series, errors="coerce"), from_pandas=True)


def _floats(series: pd.Series) -> np.ndarray:
    try:
        return pd.to_numeric(series, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    except Exception:
        return np.fromiter((_number(v) for v in series), np.float64, len(series))


def _number(value: object) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except Exception:
        return math.nan


def _seconds(series: pd.Series) -> np.ndarray:
    stamps = pd.to_datetime(series, errors="coerce", utc=True, format="ISO8601").dt.tz_localize(None).to_numpy()
    found = stamps.view(np.int64) / _PER_SECOND[np.datetime_data(stamps.dtype)[0]]
    found[np.isnat(stamps)] = np.nan
    return found


def _key(raw: object, wanted: str) -> object:
    try:
        if wanted == "string":
            whole = isinstance(raw, float) and math.isfinite(raw) and raw == int(raw)
            return str(int(raw)) if whole else str(raw)
        if isinstance(raw, str) and wanted == "boolean":
            return _TRUE_FALSE.get(raw.strip().lower(), math.inf)
        number = int(raw) if isinstance(raw, int) else float(raw)
        return number if wanted != "boolean" else bool(number) if number in (0, 1) else math.inf
    except Exception:
        return math.inf


class OldTable(Table):
    """A CSV file as the old reader had it: one block, parsed at once."""

    parts, most_rows = 1, 1

    def __init__(self, path: object, schema: Schema) -> None:
        self._rows = old_csv(path, *schema.columns)

    def rows(self, part: int) -> Iterator[Rows]:
        yield self._rows
