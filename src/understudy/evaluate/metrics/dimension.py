"""Dimension-wise probability and prediction, for tables of binary columns (codes, flags) without a label.

Torfi et al. 2022, Section 5.4 (after Choi et al. 2017). Probability: the share of ones of each column, real beside
synthetic. Prediction: one column is predicted from all others by a random forest, XGBoost and a decision tree, trained
on real or on synthetic rows, tested on held-out real rows; F1 of the ones, averaged over the 10, 50 and 100 columns
with most ones among the real training rows. The closer synthetic is to real, the better the links survived.

Columns without a one among the test rows have no F1 and are passed over; a training side with one value only predicts
that value. Training takes at most `max_rows` rows.
"""

import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from understudy import engine
from understudy.evaluate.classifiers import MODELS
from understudy.evaluate.result import DimensionPrediction, DimensionProbability, DimensionWise, Summary
from understudy.evaluate.table import Table, categories, evaluated, is_discrete
from understudy.schema import Column, Schema

TOPS = (10, 50, 100)
PREDICTORS = ("forest", "xgboost", "tree")
MAX_ROWS = 20_000
LEAST_COLUMNS = 3


def binary_columns(schema: Schema) -> tuple[Column, ...]:
    """Two-valued columns: boolean, two categories, integers from 0 to 1. The last value counts as one."""
    return tuple(c for c in evaluated(schema) if _is_binary(c))


def _is_binary(column: Column) -> bool:
    if is_discrete(column):
        return column.kind == "boolean" or (column.categories is not None and len(categories(column)) == 2)
    return column.kind == "integer" and column.lower == 0 and column.upper == 1


def applies(schema: Schema) -> bool:
    """By default for unlabelled tables whose columns are mostly binary."""
    found = len(binary_columns(schema))
    return schema.label is None and found >= LEAST_COLUMNS and 2 * found > len(evaluated(schema))


def ones(table: Table, columns: Sequence[Column]) -> np.ndarray:
    """0/1 matrix; missing and unknown count as zero."""
    out = np.zeros((table.rows, len(columns)), dtype=np.float32)
    for j, column in enumerate(columns):
        out[:, j] = table.values[column.name] == 1
    return out


@dataclass(frozen=True, kw_only=True)
class Job:
    """Predict one column from all the others: model, training rows, test rows."""

    model: str
    train: np.ndarray
    test: np.ndarray
    column: int
    seed: int


def run(job: Job) -> float:
    """F1 of one job on the test rows."""
    rest = np.arange(job.train.shape[1]) != job.column
    target, truth = job.train[:, job.column], job.test[:, job.column]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(np.unique(target)) < 2:
            predicted = np.full(len(truth), target[0] if len(target) else 0.0)
        else:
            model: Any = MODELS[job.model][0](job.seed).fit(job.train[:, rest], target)
            predicted = model.predict(job.test[:, rest]) >= 0.5
        return float(f1_score(truth, predicted, zero_division=0.0))


def compare(
    train: Table,
    test: Table,
    synthetic: Sequence[Table],
    schema: Schema,
    *,
    seed: int,
    tops: Sequence[int] = TOPS,
    max_rows: int | None = MAX_ROWS,
    jobs: int | None = 1,
    progress: engine.Progress | None = None,
    cancel: threading.Event | None = None,
    predictors: Sequence[str] | None = None,
) -> DimensionWise | None:
    """Dimension-wise probability and prediction of every binary column."""
    columns = binary_columns(schema)
    if len(columns) < LEAST_COLUMNS or test.rows == 0 or train.rows == 0:
        return None
    chosen = available(predictors)
    sides = [ones(t.sample(max_rows, seed), columns) for t in (train, *synthetic)]
    held = ones(test.sample(max_rows, seed), columns)
    ranked = most_frequent(sides[0], held, max(tops))
    table = predict(chosen, sides, held, ranked, seed, jobs=jobs, progress=progress, cancel=cancel)
    sizes = sorted({min(top, len(ranked)) for top in tops} - {0})
    names = [columns[j].name for j in ranked]
    prediction = [
        DimensionPrediction(
            model=model,
            top=top,
            columns=tuple(names[:top]),
            real=tuple(float(v) for v in table[i, 0, :top]),
            synthetic=tuple(float(v) for v in table[i, 1:, :top].mean(axis=0)),
            real_mean=float(table[i, 0, :top].mean()),
            synthetic_mean=Summary.of([float(v) for v in table[i, 1:, :top].mean(axis=1)]),
        )
        for i, model in enumerate(chosen)
        for top in sizes
    ]
    notes = () if len(chosen) == len(predictors or PREDICTORS) else ("xgboost is not installed: left out",)
    return DimensionWise(probability=probability(test, synthetic, columns), prediction=tuple(prediction), notes=notes)


def mean_f1(
    train: Table, test: Table, synthetic: Table, schema: Schema, *, seed: int, max_rows: int | None = MAX_ROWS
) -> dict[int, float]:
    """F1 on synthetic rows alone, averaged over the predictors, by number of columns: what a benchmark's cell needs.

    The same figures as `compare` has, at half its price: real rows are a cell of their own and not fitted again beside each.
    """
    columns = binary_columns(schema)
    if len(columns) < LEAST_COLUMNS or test.rows == 0 or train.rows == 0:
        return {}
    real, side, held = (ones(t.sample(max_rows, seed), columns) for t in (train, synthetic, test))
    ranked = most_frequent(real, held, max(TOPS))
    table = predict(available(None), [side], held, ranked, seed)
    return {top: float(table[:, 0, :top].mean()) for top in sorted({min(top, len(ranked)) for top in TOPS} - {0})}


def available(predictors: Sequence[str] | None) -> list[str]:
    """The wanted predictors, without those whose library is not installed."""
    from importlib.util import find_spec

    return [p for p in (predictors or PREDICTORS) if p != "xgboost" or find_spec("xgboost")]


def most_frequent(train: np.ndarray, held: np.ndarray, most: int) -> list[int]:
    """Columns with most ones among real training rows, of those that can be scored at all."""
    frequency = train.mean(axis=0)
    usable = [j for j in np.argsort(-frequency, kind="stable") if held[:, j].any() and 0 < frequency[j] < 1]
    return [int(j) for j in usable[:most]]


def predict(
    models: Sequence[str],
    sides: Sequence[np.ndarray],
    held: np.ndarray,
    ranked: Sequence[int],
    seed: int,
    *,
    jobs: int | None = 1,
    progress: engine.Progress | None = None,
    cancel: threading.Event | None = None,
) -> np.ndarray:
    """F1 [models, sides, columns]: each of the columns from all others, trained on a side, tested on held-out rows."""
    work = [
        Job(model=model, train=side, test=held, column=j, seed=seed)
        for model in models
        for side in sides
        for j in ranked
    ]
    labels = [f"dimension-wise prediction: {job.model}" for job in work]
    scores = engine.run_jobs(run, work, jobs=jobs, progress=progress, labels=labels, cancel=cancel)
    return np.array(scores).reshape(len(models), len(sides), len(ranked))


def probability(real: Table, synthetic: Sequence[Table], columns: Sequence[Column]) -> DimensionProbability:
    """Share of ones per column, real beside synthetic (Bernoulli success probability)."""
    own = np.array([_share(real, c) for c in columns])
    others = [np.array([_share(t, c) for c in columns]) for t in synthetic]
    return DimensionProbability(
        columns=tuple(c.name for c in columns),
        real=tuple(float(v) for v in own),
        synthetic=tuple(float(v) for v in np.mean(others, axis=0)) if others else (),
        mean_absolute_difference=Summary.of([float(np.abs(o - own).mean()) for o in others], False),
        correlation=Summary.of([_correlation(own, o) for o in others]),
    )


def _share(table: Table, column: Column) -> float:
    values = table.values[column.name]
    return float((values == 1).mean()) if values.size else 0.0


def _correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else None
