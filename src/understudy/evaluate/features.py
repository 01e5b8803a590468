"""Rows to features for the predictive models: [0, 1] on the training side, nothing learnt from the test side.

Numeric and ordinal columns are scaled by the training rows' smallest and largest value; categories become one column
each, from the schema; gaps get the training median. With `flags` a column that may be missing gets a 0/1 column that
says where the gaps were: wanted where tables are compared (a generator may get gaps wrong), but not for the predictive
models, whose published figures have none and among which naive Bayes suffers from many equal flags. What the training
side did not show may leave [0, 1] on the test side, as with scikit-learn's MinMaxScaler; only absurd values (overflow,
infinities) are cut at +-100. This is not the codec of the generators: their bounds are the schema's, these are data's.
"""

from dataclasses import dataclass

import numpy as np

from understudy.evaluate.table import MISSING, Table, categories, evaluated, is_discrete
from understudy.schema import Column, Schema

MOST_CATEGORIES = 50  # one-hot columns per table column; rarer training values share one, or wide tables take hours
_CUT = 100.0


@dataclass(frozen=True, kw_only=True)
class Feature:
    """How one column of the table becomes columns of a design matrix."""

    column: str
    onehot: tuple[int, ...] | None  # category indices with an own column; None: numeric
    rest: bool = False  # one more column for all other categories
    binary: bool = False  # two categories: one 0/1 column
    low: float = 0.0
    span: float = 1.0
    median: float = 0.0
    flag: bool = False

    @property
    def width(self) -> int:
        """Columns it takes in the design matrix."""
        own = 1 if self.onehot is None or self.binary else len(self.onehot) + self.rest
        return own + self.flag


@dataclass(frozen=True, kw_only=True)
class Features:
    """Fitted on a training side; `apply` gives rows of any table of the same schema (float64: naive Bayes needs it)."""

    features: tuple[Feature, ...]

    @property
    def width(self) -> int:
        """Columns of the design matrix."""
        return sum(f.width for f in self.features)

    def apply(self, table: Table) -> np.ndarray:
        """The design matrix of a table."""
        out = np.zeros((table.rows, self.width), dtype=np.float64)
        at = 0
        for feature in self.features:
            _write(out[:, at : at + feature.width], table.values[feature.column], feature)
            at += feature.width
        return out


def fit(table: Table, schema: Schema, *, without: str | None = None, flags: bool = True) -> Features:
    """Features of all columns but `without` (the one to predict)."""
    columns = [c for c in evaluated(schema) if c.name != without]
    gaps = {c.name: c.missing or bool(c.codes) for c in columns}  # a code is no number, as a missing value is none
    return Features(features=tuple(_fit_column(table.values[c.name], c, flags and gaps[c.name]) for c in columns))


def _fit_column(values: np.ndarray, column: Column, flag: bool) -> Feature:
    if is_discrete(column) and column.kind != "ordinal":
        outcomes = len(categories(column))
        if outcomes == 2:
            return Feature(column=column.name, onehot=(1,), binary=True, flag=flag)
        if outcomes <= MOST_CATEGORIES:
            return Feature(column=column.name, onehot=tuple(range(outcomes)), flag=flag)
        counts = np.bincount(values[values >= 0], minlength=outcomes)
        common = np.sort(np.argsort(-counts, kind="stable")[: MOST_CATEGORIES - 1])
        return Feature(column=column.name, onehot=tuple(int(i) for i in common), rest=True, flag=flag)
    numeric = _numeric(values)
    known = numeric[np.isfinite(numeric)]
    if known.size == 0:
        return Feature(column=column.name, onehot=None, flag=flag)
    low, high = float(known.min()), float(known.max())
    span = high - low
    return Feature(
        column=column.name,
        onehot=None,
        low=low,
        span=span if np.isfinite(span) and span > 0 else 1.0,
        median=float(np.median(known)),
        flag=flag,
    )


def _numeric(values: np.ndarray) -> np.ndarray:
    """Ordinals count as their position; missing and unknown as NaN."""
    if values.dtype == np.int32:
        return np.where(values < 0, np.nan, values).astype(np.float64)
    return values


def _write(out: np.ndarray, values: np.ndarray, feature: Feature) -> None:
    if feature.onehot is None:
        numeric = _numeric(values)
        filled = np.where(np.isnan(numeric), feature.median, numeric)
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = (filled - feature.low) / feature.span
        out[:, 0] = np.clip(np.nan_to_num(scaled, nan=0.0, posinf=_CUT, neginf=-_CUT), -_CUT, _CUT)
        missing = np.isnan(numeric)
    else:
        for position, code in enumerate(feature.onehot):
            out[:, position] = values == code
        if feature.rest:
            out[:, len(feature.onehot)] = (values >= 0) & ~np.isin(values, feature.onehot)
        missing = values == MISSING
    if feature.flag:
        out[:, -1] = missing
