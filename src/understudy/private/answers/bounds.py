"""Exact histogram of raw values over public cells (`understudy.questions.bounds`)."""

from typing import Any

import numpy as np

from understudy.private.noise import NoiseSource
from understudy.questions import ColumnBounds
from understudy.schema import Schema

RAW = True  # asks about cells as they were read, before rows are encoded


def start(question: ColumnBounds, width: int) -> Any:
    return np.zeros(len(question.edges) - 1, np.int64)


def add(question: ColumnBounds, total: Any, rows: Any, units: Any, schema: Schema) -> None:
    """Nulls and infinities are left out."""
    for name in question.columns:
        values = rows.numbers(schema.column(name))
        values = values[np.isfinite(values)]
        cell = np.clip(np.searchsorted(question.edges, values, side="right") - 1, 0, len(total) - 1)
        total += np.bincount(cell, minlength=len(total))


def release(question: ColumnBounds, total: Any, noise: NoiseSource) -> list[int]:
    noisy: list[int] = (total + noise.draw("gaussian", question.deviation, total.shape)).tolist()
    return noisy
