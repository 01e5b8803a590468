"""The whole evaluation on small tables: shape of the result, odd contents, and what may be released."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import UsageError
from understudy.evaluate import classifiers
from understudy.evaluate.metrics import dimension
from understudy.evaluate.result import BANNER, OPTIMISTIC, Evaluation
from understudy.evaluate.run import evaluate
from understudy.evaluate.table import prepare
from understudy.schema import Codec, Column, Schema

QUICK = ("logistic", "tree")
pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture(scope="module")
def result(patients, schema):
    return evaluate(
        [patients(400, 3), patients(300, 4)], patients(300, 2), schema, train=patients(500, 1), models=QUICK,
        by=["city"], certificate={"epsilon": 1.0, "unit": "one row"},
    )  # fmt: skip


def test_result_json_is_its_exact_image(result):
    assert Evaluation.from_json(result.to_json()) == result


def test_header_says_sizes_and_that_it_is_not_private(result):
    header = result.header
    assert (header.test_rows, header.train_rows, header.synthetic_rows) == (300, 500, (400, 300))
    assert header.private is False and header.banner == BANNER and header.max_rows == 20_000
    assert header.certificate == {"epsilon": 1.0, "unit": "one row"} and header.positive == "yes"
    assert "id" not in header.kinds and header.columns == 7


def test_three_settings_with_mean_spread_and_optimistic_best(result):
    assert [s.name for s in result.utility.settings] == ["A", "B", "C"]
    a, b, c = result.utility.settings
    assert a.train_rows == (500,) and b.train_rows == (320, 240) and c.test_rows == (80, 60)
    for setting, runs in ((a, 1), (b, 2), (c, 2)):
        assert [m.model for m in setting.models] == list(QUICK)
        for model in setting.models:
            score = model.scores["auroc"]
            assert len(score.runs) == runs and score.best == score.high == max(score.runs)
            assert score.mean == pytest.approx(np.mean(score.runs))
    assert b.average["auroc"].runs[0] == pytest.approx(np.mean([m.scores["auroc"].runs[0] for m in b.models]))
    assert result.utility.best_note == OPTIMISTIC
    assert a.average["auroc"].mean > 0.7 and b.average["auroc"].mean > 0.6
    assert result.utility.ranking_models.items == QUICK
    assert result.utility.ranking_features.items == ("age", "city", "bmi", "grade", "flag", "seen")


def test_groups_cover_classes_and_the_named_column(result):
    classes, cities = result.groups
    assert (classes.role, cities.role, cities.by) == ("class", "subgroup", "city")
    assert [g.value for g in classes.groups] == ["no", "yes"] and [g.value for g in cities.groups] == ["A", "B", "C"]
    assert set(classes.groups[0].setting_b) == {"auroc", "recall"}
    assert set(cities.groups[0].setting_a) == {"auroc", "auprc"}
    assert sum(g.real_rows for g in cities.groups) == 300


def test_cap_bounds_training_and_is_recorded(patients, schema):
    found = evaluate(patients(200, 3), patients(100, 2), schema, train=patients(300, 1), models=["tree"],
                     metrics=["utility"], max_rows=50)  # fmt: skip
    assert found.header.max_rows == 50
    assert [s.train_rows for s in found.utility.settings] == [(50,), (50,), (50,)]


def test_results_do_not_depend_on_the_number_of_processes(patients, schema):
    found = [
        evaluate(patients(150, 3), patients(100, 2), schema, train=patients(150, 1), models=QUICK,
                 metrics=["utility"], jobs=jobs)
        for jobs in (1, 2)
    ]  # fmt: skip
    scores = [[m.scores for s in f.utility.settings for m in s.models] for f in found]
    assert scores[0] == scores[1]


def test_surface_can_be_called():
    assert callable(us.evaluate)


def awful(rows: int) -> pd.DataFrame:
    """Everything a broken generator may emit."""
    return pd.DataFrame(
        {
            "age": [np.inf, -np.inf, np.nan, 1e300][:rows] + [0.5] * max(0, rows - 4),
            "city": ["Z"] * rows,
            "bmi": [np.nan] * rows,
            "grade": [None] * rows,
            "flag": ["maybe"] * rows,
            "sick": (["yes", "no", None, "?"] * rows)[:rows],
        }
    )


@pytest.mark.parametrize("rows", [0, 1, 2, 40])
def test_bad_synthetic_data_never_raise(rows, patients, schema):
    found = evaluate(awful(rows), patients(60, 2), schema, train=patients(80, 1), models=QUICK, by=["bmi"])
    assert Evaluation.from_json(found.to_json()) == found
    assert found.utility.settings[1].average["auroc"].mean is not None
    assert found.fidelity.violations or rows == 0


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_few_real_rows_never_raise(rows, patients, schema):
    found = evaluate(patients(50, 3), patients(rows, 2), schema, train=patients(rows, 1), models=QUICK, by=["city"])
    assert Evaluation.from_json(found.to_json()) == found


def test_all_twelve_survive_constant_features_and_collect_warnings(schema):
    rows = np.zeros((30, 4), np.float32)
    test = classifiers.TestSet(features=rows, target=np.arange(30) % 2, groups={})
    for name in classifiers.choose(None):
        job = classifiers.Job(model=name, task="binary", classes=2, positive=1, features=rows,
                              target=np.arange(30) % 2, tests={"real": test}, seed=0)  # fmt: skip
        assert classifiers.run(job).scores["real"] == {"auroc": 0.5, "auprc": 0.5}


def test_numeric_label_gets_regression_figures(patients, schema):
    numeric = replace(schema, label="bmi", positive=None)
    found = evaluate(patients(300, 3), patients(200, 2), numeric, train=patients(300, 1), metrics=["utility"],
                     models=["logistic", "gaussian-nb", "bernoulli-nb", "linear-svc", "lda", "xgboost"])  # fmt: skip
    assert found.utility.metrics == ("r2", "rmse") and found.utility.higher_is_better == {"r2": True, "rmse": False}
    ridge = next(m for m in found.utility.settings[0].models if m.model == "lda")
    assert ridge.scores["r2"].mean > 0.05 and ridge.scores["rmse"].best == ridge.scores["rmse"].low
    assert "left out" in found.utility.settings[0].notes[0]  # rows whose label is missing


def test_multiclass_label_gets_macro_auroc_and_accuracy(patients, schema):
    several = replace(schema, label="grade", positive=None)
    fake = patients(300, 3)
    fake = fake[fake["grade"] != "low"]
    found = evaluate(fake, patients(200, 2), several, train=patients(300, 1), metrics=["utility", "groups"],
                     models=["logistic", "xgboost", "linear-svc"])  # fmt: skip
    a, b, _ = found.utility.settings
    assert found.utility.metrics == ("auroc", "accuracy") and a.average["auroc"].mean > 0.9
    assert b.average["auroc"].mean < a.average["auroc"].mean
    assert "1 of 3 classes absent" in b.models[0].notes[0]
    assert found.groups[0].vanished == ("low",) and "vanished classes: low" in found.warnings
    assert found.groups[0].groups[0].setting_b["recall"].mean == 0


def test_release_part_does_not_depend_on_real_rows(patients, schema):
    open_schema = replace(schema, columns=tuple(
        replace(c, categories=None, estimate="city") if c.name == "city" else c for c in schema.columns))  # fmt: skip
    fake, other = patients(200, 3), patients(250, 7)
    other["city"] = "secret place"
    other["bmi"] = other["bmi"] * 2
    found = [evaluate(fake, real, open_schema, metrics=["fidelity"]).release for real in (patients(250, 2), other)]
    assert found[0] == found[1]
    assert "secret" not in str(found[1])
    assert found[0].columns[1].labels == ("A", "B", "C")


def test_categories_that_a_fit_found_are_noted(patients, schema):
    open_schema = replace(schema, columns=tuple(
        replace(c, categories=None, estimate="city") if c.name == "city" else c for c in schema.columns))  # fmt: skip
    fake, real = patients(200, 3), patients(250, 2)
    left, stated = (evaluate(fake, real, one, metrics=["mmd"]) for one in (open_schema, schema))
    (said,) = [note for note in left.header.notes if "leaves the categories of 'city' open" in note]
    assert "Declare the lists that are public" in said
    assert not any("leaves the categories" in note for note in stated.header.notes)


def test_dimension_wise_figures_of_a_binary_table():
    rng = np.random.default_rng(0)
    schema = Schema(columns=tuple(Column(name=f"c{i}", kind="boolean") for i in range(5)))

    def make(rows: int, linked: bool) -> pd.DataFrame:
        first = rng.random(rows) < 0.4
        rest = {f"c{i}": (first if linked else rng.random(rows) < 0.4) ^ (rng.random(rows) < 0.1) for i in range(1, 5)}
        return pd.DataFrame({"c0": first, **rest})

    train, test, good, bad = (prepare(make(300, linked), schema) for linked in (True, True, True, False))
    found = dimension.compare(train, test, [good, bad], schema, seed=0, predictors=("tree", "xgboost"))
    assert dimension.applies(schema) and [p.model for p in found.prediction] == ["tree", "xgboost"]
    for prediction in found.prediction:
        kept, lost = prediction.synthetic_mean.runs
        assert prediction.top == 5 and prediction.real_mean > 0.8 and kept > 0.8 and lost < prediction.real_mean - 0.2
    assert found.probability.mean_absolute_difference.runs[0] < 0.1


def test_cells_are_matched_by_value_or_by_text():
    schema = Schema(columns=(Column(name="n", kind="categorical", categories=(1, 2)), Column(name="b", kind="boolean")))
    for frame in (
        pd.DataFrame({"n": [1, 2, 3], "b": [True, False, None]}),
        pd.DataFrame({"n": [1.0, 2.0, 3.0], "b": ["true", "False", None]}),
        pd.DataFrame({"n": ["1", "2", "3"], "b": [1.0, 0.0, np.nan]}),
    ):
        table = prepare(frame, schema)
        assert table.values["n"].tolist() == [0, 1, -2] and table.values["b"].tolist() == [1, 0, -1]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"models": ["nosuch"]}, "unknown model 'nosuch'"),
        ({"metrics": ["nosuch"]}, "unknown family 'nosuch'"),
        ({"by": ["nosuch"]}, "'nosuch' is no column"),
        ({"max_rows": 1}, "at least 2"),
        ({"image_shape": (2, 2)}, "image_shape"),
    ],
)
def test_wrong_options_name_the_way_out(options, words, patients, schema):
    with pytest.raises(UsageError, match=words):
        evaluate(patients(20, 3), patients(20, 2), schema, **options)


def test_a_cell_means_the_same_to_fit_and_evaluation():
    """`yes, no, t, TRUE` used to be 1, 0, 1, 1 to the fit and unknown, unknown, unknown, 1 to the evaluation."""
    schema = Schema(columns=(Column(name="f", kind="boolean"), Column(name="n", kind="integer", lower=0, upper=9)))
    frame = pd.DataFrame({"f": ["yes", "no", "t", "TRUE"], "n": ["1", " 2 ", "0x3", "4_0"]})
    found, encoded = prepare(frame, schema), Codec(schema).encode(frame)
    assert found.values["f"].tolist() == encoded.rows[:, 0].tolist() == [1, 0, 1, 1]
    assert found.values["n"].tolist()[:2] == [1.0, 2.0] and np.isnan(found.values["n"][2:]).all()
