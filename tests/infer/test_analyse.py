"""Functions on copies, and questions as people write them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from understudy.errors import UsageError
from understudy.infer import analyse, difference, mean, parse, proportion, quantile
from understudy.infer.run import looked_at
from understudy.schema import Column, Schema

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0, upper=120),
        Column(name="income", kind="continuous", lower=0, upper=100, missing=True),
        Column(name="home town", kind="categorical", categories=("Ulm", "Bad Urach")),
        Column(name="smoker", kind="boolean"),
        Column(name="seen", kind="datetime", lower="2010-01-01", upper="2020-12-31"),
        Column(name="who", kind="identifier"),
    )
)


def table(rows=400, seed=0):
    random = np.random.default_rng(seed)
    age = random.integers(20, 80, rows)
    return pd.DataFrame(
        {
            "age": age,
            "income": np.where(random.random(rows) < 0.1, np.nan, age + random.normal(0, 5, rows)),
            "home town": random.choice(["Ulm", "Bad Urach"], rows),
            "smoker": random.random(rows) < 0.3,
            "seen": pd.Timestamp("2015-01-01") + pd.to_timedelta(random.integers(0, 1000, rows), unit="D"),
        }
    )


COPIES = [table(seed=seed) for seed in range(8)]


def test_estimates_and_variances_are_the_textbooks():
    values = np.random.default_rng(0).normal(5, 2, 10_000)
    assert mean(values)[1] == pytest.approx(4 / 10_000, rel=0.05)
    assert proportion(values > 5)[1] == pytest.approx(0.25 / 10_000, rel=0.01)
    assert 0 < proportion(np.zeros(100))[1] < 1e-3
    assert difference((3.0, 1.0), (1.0, 2.0)) == (2.0, 3.0)
    density = 1 / (2 * np.sqrt(2 * np.pi))
    assert quantile(values, 0.5)[1] == pytest.approx(0.25 / 10_000 / density**2, rel=0.2)
    assert np.isnan(mean([1.0])).all() and np.isnan(proportion([])).all() and np.isnan(quantile([1.0], 0.5)).all()


def test_any_kind_of_result_is_combined():
    pair = analyse(COPIES, lambda rows: mean(rows.age))[""]
    assert pair.low < 49.5 < pair.high and pair.copies == 8
    bare = analyse(COPIES, lambda rows: rows.age.mean(), seed=0)[""]
    assert bare.estimate == pair.estimate and bare.error == pytest.approx(pair.error, rel=0.5)
    named = analyse(COPIES, lambda rows: {"a": mean(rows.age), "b": proportion(rows.smoker)})
    assert set(named) == {"a", "b"}
    fitted = analyse(COPIES, lambda rows: LinearRegression().fit(rows[["age"]], rows.income.fillna(50)), seed=0)
    assert fitted["0"].low < 0.9 < fitted["0"].high


def test_results_of_statsmodels_are_read_by_name():
    import statsmodels.formula.api as formulas

    found = analyse(COPIES, lambda rows: formulas.ols("income ~ age", rows.dropna()).fit())
    assert set(found) == {"Intercept", "age"} and found["age"].low < 1.0 < found["age"].high


def test_what_cannot_be_combined_says_so():
    with pytest.raises(UsageError, match="no copies"):
        analyse([], mean)
    with pytest.raises(UsageError, match="not answered by every copy"):
        analyse(COPIES, lambda rows: {str(rows.age.iloc[0]): (1.0, 1.0)})
    with pytest.raises(UsageError, match="is no estimate"):
        analyse(COPIES, lambda rows: "text")
    with pytest.raises(UsageError, match="another number of values"):
        analyse(COPIES, lambda rows: rows.age.unique()[: rows.age.iloc[0] % 7 + 1], seed=0)


ANSWERS = {
    "mean(age)": lambda d: d.age.mean(),
    "mean(income) where age > 40": lambda d: d[d.age > 40].income.mean(),
    'median(age) where "home town" = "Bad Urach" and smoker = true': lambda d: d[
        (d["home town"] == "Bad Urach") & d.smoker
    ].age.median(),
    "quantile(age, 0.9)": lambda d: d.age.quantile(0.9),
    "share(smoker = true) where age <= 50": lambda d: d[d.age <= 50].smoker.mean(),
    "share(income > 50)": lambda d: (d.income.dropna() > 50).mean(),
    "count() where smoker != true": lambda d: (~d.smoker).sum(),
    "MEAN ( age ) WHERE seen >= 2016-01-01": lambda d: d[d.seen >= "2016-01-01"].age.mean(),
}


@pytest.mark.parametrize("text", ANSWERS)
def test_questions_mean_what_they_say(text):
    rows = table()
    (found,) = parse(text, SCHEMA).on(rows).values()
    assert found[0] == pytest.approx(float(ANSWERS[text](rows)), rel=1e-9) and found[1] > 0


def test_groups_are_answered_one_by_one():
    found = parse("mean(age) by smoker", SCHEMA).on(table())
    assert list(found) == ["smoker=False", "smoker=True"]
    assert parse("mean(age) by smoker where income > 5", SCHEMA).columns == ("age", "smoker", "income")


def test_groups_of_numbers_are_ranges_between_ends():
    rows = table()
    found = parse("mean(age) by income at 40, 60 where age > 25", SCHEMA).on(rows)
    assert list(found) == ["income below 40", "income from 40 below 60", "income from 60"]
    kept = rows[rows.age > 25]
    assert found["income from 40 below 60"][0] == kept.age[(kept.income >= 40) & (kept.income < 60)].mean()
    found = parse("count() by seen at 2016-01-01", SCHEMA).on(rows)
    assert found["seen from 2016-01-01"][0] == pytest.approx((rows.seen >= "2016-01-01").sum())
    with pytest.raises(UsageError, match=r"needs the ends of its groups, e\.g\. by age at"):
        parse("mean(income) by age", SCHEMA).on(rows)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "ends where"),
        ("sum(age)", "is not known"),
        ("mean age", "should"),
        ("mean(age", "ends where"),
        ("mean(aeg)", "no column 'aeg'; did you mean 'age'"),
        ("mean(who)", "not learned"),
        ("mean(smoker)", "needs numbers"),
        ("quantile(age, 2)", "between 0 and 1"),
        ("quantile(age, x)", "not a number"),
        ("share(smoker = perhaps)", "no value 'perhaps'"),
        ("share(smoker > true)", "no order"),
        ("mean(age) by income at 5, 3", "must rise"),
        ("mean(age) by income at", "ends where an end of a group"),
        ("mean(age) by smoker at 3", "leave out `at`"),
        ("mean(age) by seen at 3", "not a date of column 'seen'"),
        ("count() where seen > soon", "not a date of column 'seen'"),
        ("mean(age) where income > much", "not a number"),
        ("mean(age) where income 5", "no comparison"),
        ("mean(age) and more", "cannot read"),
        ("mean(age) where income > 5 !", "cannot read"),
        ("mean(age) where income > 5 or age > 3", "joined by `and`, not by `or`"),
    ],
)
def test_what_is_not_understood_is_refused_in_words(text, said):
    with pytest.raises(UsageError, match=said):
        parse(text, SCHEMA)


def test_the_columns_that_a_function_looks_at_are_found_by_trying():
    rows = table()
    assert looked_at(lambda rows: mean(rows.age), rows) == (), "a column alone rests on no other"
    assert looked_at(lambda rows: difference(mean(rows.age[rows.smoker]), mean(rows.age[~rows.smoker])), rows) == (
        "age",
        "smoker",
    )
    fit = lambda rows: LinearRegression().fit(rows[["age"]], rows.smoker)  # noqa: E731
    assert looked_at(fit, rows) == ("age", "smoker")
    ordered = lambda rows: {"": (float(rows.income.dropna().iloc[0]), float(1 / (rows.age[0] == rows.age[0])))}  # noqa: E731
    assert looked_at(ordered, rows) == ("income",)
