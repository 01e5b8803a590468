"""Exact histogram of raw values over public cells (`understudy.questions.bounds`)."""

import numpy as np

from understudy.private.noise import NoiseSource
from understudy.questions import ColumnBounds
from understudy.schema import Schema
from understudy.schema.rows import Rows

RAW = True  # asks about cells as they were read, before rows are encoded


def start(question: ColumnBounds, width: int) -> np.ndarray:
    """The sums of no rows."""
    return np.zeros(len(question.edges) - 1, np.int64)


def add(question: ColumnBounds, total: np.ndarray, rows: Rows, units: np.ndarray | None, schema: Schema) -> None:
    """Nulls and infinities are left out."""
    for name in question.columns:
        values = rows.numbers(schema.column(name))
        values = values[np.isfinite(values)]
        cell = np.clip(np.searchsorted(question.edges, values, side="right") - 1, 0, len(total) - 1)
        total += np.bincount(cell, minlength=len(total))


def release(question: ColumnBounds, total: np.ndarray, noise: NoiseSource) -> list[int]:
    """The sums with exact integer noise."""
    noisy: list[int] = (total + noise.draw("gaussian", question.deviation, total.shape)).tolist()
    return noisy
