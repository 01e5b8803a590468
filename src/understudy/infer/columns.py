"""Intervals of what a report says about single columns: the mean of every number, from copies of the stand-in.

A model whose method cannot draw copies has none; a report then shows its numbers without intervals.
"""

import math
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from understudy.artifact import Model, load
from understudy.infer.question import number_codes
from understudy.infer.rules import combine
from understudy.infer.run import mean
from understudy.methods.registry import method
from understudy.released import fitted_tables
from understudy.schema import Schema

COPIES, MOST_ROWS = 10, 20_000


def mean_intervals(model: Model | str | Path, *, seed: int = 0) -> Mapping[str, tuple[float, float]]:
    """95 % interval of the mean of each numeric column in the population, by name: privacy noise and sampling."""
    fitted = model if isinstance(model, Model) else load(model)
    numbers = [column.name for column in fitted.resolved.features if column.kind in ("integer", "continuous")]
    if not method(fitted.method).redrawn or not fitted_tables(fitted.released) or not numbers:
        return {}
    rows = min(fitted.rows, MOST_ROWS)
    frames = [numbers_alone(frame, fitted.schema) for frame in fitted.copies(COPIES, rows=rows, seed=seed)]
    found = {}
    for name in numbers:
        each = [mean(frame[name]) for frame in frames]
        if all(math.isfinite(part) for pair in each for part in pair):  # a copy may have no value at all
            ratio = fitted.schema.max_rows_per_unit * rows / fitted.rows
            one = combine(*zip(*each, strict=True), ratio=ratio, chance=fitted.redrawer().chance)
            found[name] = (one.low, one.high)
    return found


def numbers_alone(rows: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Codes beside numbers as missing values: to questions about numbers they say nothing."""
    coded = [column for column in schema.columns if column.codes]
    texts = {
        c.name: rows[c.name].str.replace(c.decimal, ".", regex=False) if c.has_words else rows[c.name] for c in coded
    }
    kept = {name: pd.to_numeric(own, errors="coerce").astype(float) for name, own in texts.items()}
    return rows.assign(**{c.name: kept[c.name].mask(kept[c.name].isin(number_codes(c))) for c in coded})
