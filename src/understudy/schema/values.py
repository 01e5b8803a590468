"""Single pandas columns by the one reader, for callers that hold a frame."""

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy.schema.cells import UNREADABLE
from understudy.schema.columns import Column
from understudy.schema.frame_rows import cells_of
from understudy.schema.rows import Rows


def rows_of(series: pd.Series) -> Rows:
    """A block of one column, whatever it is called."""
    return Rows(len(series), lambda _: cells_of(series.array))


def to_numbers(series: pd.Series, column: Column) -> np.ndarray:
    """float64 values, NaN where missing or unreadable; datetimes as seconds since 1970 UTC."""
    return rows_of(series).numbers(column)


def to_texts(series: pd.Series, column: Column) -> tuple[list[str], np.ndarray]:
    """Category values as text where there is one, and where that is: the form in which the wall counts them privately.

    `Schema.with_estimates` turns such texts back into values of the column's type.
    """
    texts = rows_of(series).keys(column).cast(pa.large_string()).to_pylist()
    present = np.fromiter((text is not None and text != UNREADABLE for text in texts), bool, len(texts))
    return [text for text, known in zip(texts, present, strict=True) if known], present


def is_null(series: pd.Series) -> np.ndarray:
    """Where a column holds no value at all."""
    return rows_of(series).is_null(Column(name="any", kind="boolean"))
