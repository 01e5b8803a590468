"""Tables as numbers: what all attacks on tables start from."""

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy.schema import Column, Rows, Schema
from understudy.schema.columns import OTHER
from understudy.schema.frame_rows import whole_frame
from understudy.schema.rows import declared_keys
from understudy.schema.vectors import places


def numbers(table: pd.DataFrame, schema: Schema) -> np.ndarray:
    """One float column per learned column: numbers as they are, categories as their position, what is missing as -1."""
    rows = whole_frame(table)
    columns = [as_floats(rows, column) for column in learned(schema)]
    return np.stack(columns, axis=1) if columns else np.zeros((len(table), 0))


def learned(schema: Schema) -> list[Column]:
    """Columns that a generator learns: all but identifiers."""
    return [column for column in schema.columns if column.kind != "identifier"]


def as_floats(rows: Rows, column: Column) -> np.ndarray:
    """A column as numbers: values, or positions among the outcomes; -1 for what is missing or unknown."""
    if column.kind in ("continuous", "integer", "datetime"):
        return np.asarray(np.nan_to_num(rows.numbers(column), nan=-1.0, posinf=-1.0, neginf=-1.0))
    keys = rows.keys(column)
    return places(keys, outcomes(column, keys), -1, -1).astype(np.float64)


def outcomes(column: Column, keys: pa.Array) -> list[str]:
    """The declared categories; for a list that a method finds by itself, what the table shows, in order of its text."""
    if not column.resolved:
        return sorted(key.as_py() for key in keys.unique() if key.is_valid)
    return declared_keys(column) + ([OTHER] if column.other and OTHER not in (column.categories or ()) else [])
