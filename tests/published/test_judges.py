"""Models as row maps say what their libraries say; bins are public."""

import warnings

import numpy as np
import pytest

from understudy.evaluate.classifiers import MODELS
from understudy.published import judges
from understudy.published.run import carry
from understudy.schema import codec_of

from .people import SCHEMA, table

CODEC = codec_of(SCHEMA, True)


def ranks_agree(one, other):
    """No pair of rows is ordered one way by one and the other way by the other, but for rounding."""
    order = np.argsort(one, kind="stable")
    steps = np.diff(np.asarray(other, float)[order])
    return (steps >= -1e-6 * max(np.abs(other).max(), 1.0)).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", list(MODELS))
def test_a_map_scores_rows_as_the_library_does(name, classes):
    rows, held = CODEC.encode(table(300, 1)).rows, CODEC.encode(table(200, 2)).rows
    y = (rows[:, 0] * 7 + rows[:, -1]).astype(int) % classes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence: what matters is that both are the same model
        score = carry(judges.as_map(name, rows, y, classes, 0), held, np.zeros(len(held), np.int32))
        if name == "xgboost":
            said = MODELS[name][0](0).fit(rows, (y == 1).astype(np.float32)).predict(held)
        else:
            model = MODELS[name][0](0).fit(rows, y)
            said = model.predict_proba(held) if hasattr(model, "predict_proba") else model.decision_function(held)
            said = said[:, 1] if np.ndim(said) == 2 else said
    assert score.shape == (len(held), classes)
    if classes == 2 or name in ("tree", "forest", "bagging", "xgboost"):
        assert ranks_agree(score[:, 1], said)
    elif name != "adaboost" and hasattr(model, "predict_proba"):
        assert (score.argmax(axis=1) == model.predict(held)).mean() > 0.99


def test_a_class_that_a_model_never_saw_comes_last():
    rows = CODEC.encode(table(200, 1)).rows
    y = np.where(rows[:, 0] > 0.5, 2, 0)
    for name in ("logistic", "tree", "gaussian-nb"):
        score = carry(judges.as_map(name, rows, y, 3, 0), rows, y)
        assert (score[:, 1] <= score.max(axis=1)).all() and set(score.argmax(axis=1)) <= {0, 2}


def test_bins_are_cut_where_the_stand_in_has_its_scores_and_ties_make_fewer():
    edges = judges.quantiles(np.arange(1000.0), np.repeat([0, 1], 500), 4)
    np.testing.assert_allclose(edges, [250, 500, 750], atol=2)
    assert len(judges.quantiles(np.zeros(50), np.repeat([0, 1], 25), 16)) == 1


def test_a_stand_in_of_one_class_has_no_models():
    rows = CODEC.encode(table(50, 1)).rows
    assert judges.learn(rows, np.zeros(50, np.int32), 2, 1, ["tree"], carry) is None
