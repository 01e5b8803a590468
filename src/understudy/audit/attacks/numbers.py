"""Tables as numbers: what all attacks on tables start from."""

import numpy as np
import pandas as pd

from understudy.schema import Column, Schema, to_numbers


def numbers(table: pd.DataFrame, schema: Schema) -> np.ndarray:
    """One float column per learned column: numbers as they are, categories as their position, what is missing as -1."""
    columns = [as_floats(table[column.name], column) for column in learned(schema)]
    return np.stack(columns, axis=1) if columns else np.zeros((len(table), 0))


def learned(schema: Schema) -> list[Column]:
    """Columns that a generator learns: all but identifiers."""
    return [column for column in schema.columns if column.kind != "identifier"]


def as_floats(values: "pd.Series", column: Column) -> np.ndarray:
    """A column as numbers: values, or positions among the outcomes; -1 for what is missing or unknown."""
    if column.kind in ("continuous", "integer", "datetime"):
        found = np.asarray(to_numbers(values, column), np.float64)
        return np.nan_to_num(found, nan=-1.0, posinf=-1.0, neginf=-1.0)
    known = {value: number for number, value in enumerate(outcomes(column, values))}
    return np.asarray([known.get(value, -1) for value in values.tolist()], np.float64)


def outcomes(column: Column, values: "pd.Series") -> list[object]:
    """The declared categories; for a list that a method finds by itself, what the table shows, in order of its text."""
    if column.resolved:
        return [value for value in column.outcomes if value is not None]
    return sorted({value for value in values.tolist() if value == value and value is not None}, key=str)
