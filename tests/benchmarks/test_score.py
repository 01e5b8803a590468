"""A cell's figures beside those of the whole evaluation."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from benchmarks.score import score
from understudy.evaluate import evaluate
from understudy.evaluate.classifiers import MODELS
from understudy.schema import Column, Schema


def test_code_tables_score_as_in_the_evaluation(monkeypatch):
    """A cell fits on its own rows only; the figures are those that the whole evaluation has. Forests are small in both."""
    small = (lambda seed: RandomForestClassifier(5, random_state=seed), MODELS["forest"][1])
    monkeypatch.setitem(MODELS, "forest", small)
    rng = np.random.default_rng(0)
    names = list("abcdefghijk")
    schema = Schema(columns=tuple(Column(name=n, kind="categorical", categories=(0, 1)) for n in names))
    train, test, made = (
        pd.DataFrame((rng.random((120, len(names))) < rng.random((120, 1))).astype(int), columns=names)
        for _ in range(3)
    )
    found = score(
        made, made, train=train, test=test, schema=schema, scoring="codes", classifiers=None, max_rows=100, seed=3
    )["metrics"]
    whole = evaluate(made, test, schema, train=train, metrics=("mmd", "dimension"), max_rows=100, seed=3, jobs=1)
    for top in (10, 11):
        own = [entry.synthetic_mean.mean for entry in whole.dimension_wise.prediction if entry.top == top]
        assert found[f"dimension-wise-f1-top-{top}"] == pytest.approx(sum(own) / len(own))
    assert found["dimension-wise-f1"] == found["dimension-wise-f1-top-10"]
    assert found["dimension-wise-probability-error"] == whole.dimension_wise.probability.mean_absolute_difference.mean
    assert found["mmd"] == whole.mmd.value.mean


def test_too_few_codes_have_no_figure():
    """As in the evaluation: two binary columns are no code table, and a test side without rows says nothing."""
    rng = np.random.default_rng(0)
    for names, rows in ((["a", "b"], 30), (list("abcd"), 0)):
        schema = Schema(columns=tuple(Column(name=n, kind="categorical", categories=(0, 1)) for n in names))
        train = pd.DataFrame(rng.integers(0, 2, (30, len(names))), columns=names)
        found = score(
            train,
            train,
            train=train,
            test=train[:rows],
            schema=schema,
            scoring="codes",
            classifiers=None,
            max_rows=100,
            seed=0,
        )["metrics"]
        assert found["dimension-wise-f1"] is None and "dimension-wise-probability-error" not in found
