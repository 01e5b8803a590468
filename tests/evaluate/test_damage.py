"""Identical tables score perfect, shuffled columns as independent, and known damage moves each figure the right way."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from understudy.evaluate import classifiers, settings
from understudy.evaluate.metrics import diagnostics, groups, mmd, shapes, violations
from understudy.evaluate.table import prepare


@pytest.fixture(scope="module")
def real(patients, schema):
    return prepare(patients(1500, 1), schema)


def test_identical_tables_are_perfect(real, schema):
    assert all(s.distance.mean == 0 for s in shapes.compare(real, [real], schema))
    assert violations.find([real], schema) == ()
    assert diagnostics.copies(real, real) == 1
    assert mmd.compare(real, [real], schema, 0).value.mean < 0  # unbiased: the shared rows pull it below zero
    assert all(g.real_share == g.synthetic_share.mean and not g.vanished
               for g in groups.compare(groups.by_class(schema), real, [real], schema, None).groups)  # fmt: skip


def test_a_second_sample_of_the_same_source_is_within_noise(real, patients, schema):
    """Fixed seeds: fails only if code changes."""
    other = prepare(patients(1500, 2), schema)
    assert abs(mmd.compare(real, [other], schema, 0).value.mean) < 0.002
    assert diagnostics.compare(real, prepare(patients(1500, 3), schema), [other], schema, 0).distances \
        .closer_than_holdout.mean == pytest.approx(0.5, abs=0.06)  # fmt: skip


def test_shuffled_columns_keep_shapes_and_lose_links(real, patients, shuffled, schema):
    fake = prepare(shuffled(patients(1500, 1)), schema)
    assert all(s.distance.mean == 0 for s in shapes.compare(real, [fake], schema))
    assert mmd.compare(real, [fake], schema, 0).value.mean > 0.002


def damaged(frame: pd.DataFrame, column: str, amount: float) -> pd.DataFrame:
    """Replace a share of one column: numbers by their largest value, outcomes by the last one."""
    out = frame.copy()
    cut = int(amount * len(frame))
    out.loc[: cut - 1, column] = {"age": 120, "bmi": 60.0, "city": "C", "grade": "high", "flag": True, "sick": "yes",
                                  "seen": pd.Timestamp("2024-12-31")}[column]  # fmt: skip
    return out


@pytest.mark.parametrize("column", ["age", "bmi", "city", "grade", "flag", "seen", "sick"])
def test_distance_grows_with_the_damage_and_only_there(column, real, patients, schema):
    frame = patients(1500, 1)
    distances, others = [], []
    for amount in (0.0, 0.2, 0.5, 1.0):
        found = shapes.compare(real, [prepare(damaged(frame, column, amount), schema)], schema)
        distances.append(next(s.distance.mean for s in found if s.column == column))
        others += [s.distance.mean for s in found if s.column != column]
    assert distances == sorted(distances) and distances[0] == 0 and max(others) == 0
    if column == "age":  # nobody is 120: replacing a share moves the distribution function by exactly that share
        assert distances == pytest.approx([0, 0.2, 0.5, 1.0], abs=0.001)


def test_kernel_distance_grows_with_the_damage(real, patients, schema):
    tables = [prepare(damaged(patients(1500, 1), "age", amount), schema) for amount in (0.0, 0.2, 0.5)]
    found = [mmd.compare(real, [t], schema, 0).value.mean for t in tables]
    assert found == sorted(found) and found[-1] > found[0] + 0.001


def test_violations_name_column_rule_and_share(patients, schema):
    frame = patients(100, 1).astype({"age": float, "flag": object})
    frame.loc[0:9, "age"] = 500
    frame.loc[10:14, "age"] = -1
    frame.loc[15, "age"] = 20.5
    frame.loc[0:19, "city"] = "Z"
    frame.loc[0, "flag"] = None
    frame.loc[0, "bmi"] = np.inf
    found = {
        (v.column, v.rule): v.share.mean for v in violations.find([prepare(frame.drop(columns="seen"), schema)], schema)
    }
    assert found == {
        ("age", "above upper"): 0.1, ("age", "below lower"): 0.05, ("age", "not whole"): 0.01,
        ("city", "unknown category"): 0.2, ("flag", "missing not allowed"): 0.01,
        ("bmi", "infinite"): 0.01, ("bmi", "above upper"): 0.01, ("seen", "column absent"): 1.0,
    }  # fmt: skip


def test_missing_rates_are_seen(real, patients, schema):
    frame = patients(1500, 1)
    frame.loc[:749, "bmi"] = np.nan
    shape = next(s for s in shapes.compare(real, [prepare(frame, schema)], schema) if s.column == "bmi")
    assert shape.real_missing == pytest.approx(0.1, abs=0.03) and shape.synthetic_missing.mean > 0.5


def test_copies_are_found_and_strangers_are_not(patients, schema):
    train, fresh = patients(500, 1), patients(500, 2)
    mixed = pd.concat([train.head(50), fresh.head(150)])
    mixed["bmi"] = mixed["bmi"].astype(np.float32)  # a copy that went through float32 is still a copy
    known = prepare(train, schema)
    assert diagnostics.copies(prepare(mixed, schema), known) == pytest.approx(0.25)
    stored = diagnostics.compare(known, prepare(fresh, schema), [known], schema, 0)
    assert stored.distances.closer_than_holdout.mean > 0.95 and max(stored.distances.synthetic_to_train) < 1e-3
    assert "not privacy evidence" in stored.label


def test_vanished_classes_and_groups_are_named(real, patients, schema):
    frame = patients(1000, 2)
    frame = frame[(frame["sick"] == "no") & (frame["city"] != "C")]
    fake = prepare(frame, schema)
    assert groups.compare(groups.by_class(schema), real, [fake], schema, None).vanished == ("yes",)
    assert groups.compare(groups.by_column(schema, "city", real), real, [fake], schema, None).vanished == ("C",)


def test_numeric_groups_are_quartiles(real, schema):
    grouping = groups.by_column(schema, "bmi", real)
    made = groups.compare(grouping, real, [real], schema, None).groups
    assert [g.value for g in made][-1] == "missing" and len(made) == 5
    assert sum(g.real_rows for g in made) == real.rows
    assert all(g.real_share == pytest.approx(0.9 / 4, abs=0.02) for g in made[:4])


def setting_b(fake: pd.DataFrame, patients, schema, **options) -> settings.Setting:
    runs = settings.compute(
        schema, settings.Target.of(schema), train=None, test=prepare(patients(600, 9), schema),
        synthetic=[prepare(fake, schema)], synthetic_test=None, models=("logistic", "tree"), groups={},
        max_rows=None, seed=0, jobs=1, progress=None, cancel=None, **options,
    )  # fmt: skip
    return settings.summarise(runs)[0]


def test_utility_falls_as_labels_are_shuffled(patients, schema):
    scores = []
    for share in (0.0, 0.5, 1.0):
        fake = patients(1200, 5)
        cut = int(share * len(fake))
        fake.loc[: cut - 1, "sick"] = np.random.default_rng(0).permutation(fake.loc[: cut - 1, "sick"])
        scores.append(setting_b(fake, patients, schema).average["auroc"].mean)
    assert scores[0] > scores[1] > scores[2] and scores[0] > 0.7 and scores[2] == pytest.approx(0.5, abs=0.1)


def test_one_class_counts_as_knowing_nothing_and_is_said(patients, schema):
    fake = patients(300, 5)
    fake["sick"] = "no"
    found = setting_b(fake, patients, schema)
    base = (patients(600, 9)["sick"] == "yes").mean()
    for model in found.models:
        assert model.scores["auroc"].mean == 0.5 and model.scores["auprc"].mean == pytest.approx(base)
        assert "one class only" in model.notes[0]


def test_positive_class_comes_from_the_schema(patients, schema):
    """AUROC is the same for either class of a symmetric score; AUPRC is not."""
    from dataclasses import replace

    fake = patients(800, 5)
    yes = setting_b(fake, patients, schema).average["auprc"].mean
    no = setting_b(fake, patients, replace(schema, positive="no")).average["auprc"].mean
    assert yes != pytest.approx(no, abs=1e-6)


def test_twelve_models_by_the_papers_names():
    from sklearn.base import is_classifier, is_regressor

    names = [type(make(0)).__name__ for make, _ in classifiers.MODELS.values()]
    assert names == [
        "LogisticRegression", "RandomForestClassifier", "GaussianNB", "BernoulliNB", "LinearSVC",
        "DecisionTreeClassifier", "LinearDiscriminantAnalysis", "AdaBoostClassifier", "BaggingClassifier",
        "GradientBoostingClassifier", "MLPClassifier", "XGBRegressor",
    ]  # fmt: skip
    assert all(is_classifier(make(0)) for name, (make, _) in classifiers.MODELS.items() if name != "xgboost")
    assert all(is_regressor(make(0)) for _, make in classifiers.MODELS.values())


def test_the_four_models_of_g_pate_have_its_settings_and_run_when_asked_for():
    """Appendix A.6: L1, liblinear and 350:1; 200 and 100 logistic regressions; three layers of 18 with tanh."""
    assert not set(classifiers.OF_G_PATE) & set(classifiers.choose(None))
    assert classifiers.choose(tuple(classifiers.OF_G_PATE)) == tuple(classifiers.OF_G_PATE)
    logistic, adaboost, bagging, mlp = (make(0) for make, _ in classifiers.OF_G_PATE.values())
    assert (logistic.solver, logistic.l1_ratio, logistic.class_weight) == ("liblinear", 1.0, {0: 1, 1: 350})
    assert (adaboost.n_estimators, bagging.n_estimators) == (200, 100)
    assert {type(adaboost.estimator).__name__, type(bagging.estimator).__name__} == {"LogisticRegression"}
    assert (mlp.hidden_layer_sizes, mlp.activation, mlp.solver) == ((18, 18, 18), "tanh", "adam")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3))
    target = (rows[:, 0] > 0).astype(int)
    for make, _ in classifiers.OF_G_PATE.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # 200 rows are few for three layers
            assert make(0).fit(rows[:200], target[:200]).score(rows[200:], target[200:]) > 0.5
