"""Questions about codes beside numbers, groups of numbers, and models of people."""

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.errors import UsageError
from understudy.fit import fit
from understudy.infer import answer
from understudy.infer.ask import draw, prepared
from understudy.infer.codes import NUMBER, OfSpecials, Outcome, specials
from understudy.infer.question import parse
from understudy.private.noise import SeededNoise
from understudy.schema import Column, Schema

PAY = Column(name="pay", kind="integer", lower=0, upper=999, codes=("N", 99999), missing=True)
AGE = Column(name="age", kind="integer", lower=0, upper=99)
ILL = Column(name="ill", kind="categorical", categories=("no", "yes"))
SINCE = Column(name="since", kind="datetime", lower="2000-01-01", upper="2020-12-31", dtype="date32[day]")
WHO = Column(name="who", kind="identifier")
SCHEMA = Schema(columns=(PAY, AGE, ILL, SINCE, WHO), label="ill", unit="who", max_rows_per_unit=2)


def table(rows=4000):
    random = np.random.default_rng(0)
    age = random.integers(0, 100, rows)
    pay = pd.Series(random.integers(0, 1000, rows).astype(str), dtype=object)
    pay[age < 15] = "N"
    pay[(age >= 15) & (random.random(rows) < 0.1)] = "99999"
    pay[random.random(rows) < 0.1] = None
    ill = np.where(random.random(rows) < np.where(age < 50, 0.1, 0.6), "yes", "no")
    since = pd.Timestamp("2000-01-01") + pd.to_timedelta(random.integers(0, 7000, rows), unit="D")
    return pd.DataFrame({"pay": pay, "age": age, "ill": ill, "since": since, "who": np.arange(rows) // 2})


@pytest.fixture(scope="module")
def asked():
    model = fit(us.Mst(epsilon=20.0), table(), SCHEMA, noise=SeededNoise(0))
    drawn = draw(model, copies=4, rows=2000, seed=0)
    return lambda text: answer(model, text, drawn=drawn)


def test_cells_are_numbers_codes_or_gaps():
    cells = pd.Series(["N", "99999", "5", None, "99999.0"], dtype=object)
    assert specials(cells, PAY).tolist() == [1, 2, NUMBER, 0, 2]
    whole = Column(name="x", kind="continuous", lower=0, upper=9, codes=(-1,), decimal=",")
    assert specials(pd.Series([-1.0, 3.5, np.nan]), whole).tolist() == [0, NUMBER, NUMBER]


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("share(pay = N)", lambda rows: (rows.pay == "N")[rows.pay.notna()].mean()),
        ("share(pay != N)", lambda rows: (rows.pay != "N")[rows.pay.notna()].mean()),
        ("share(pay = 99999)", lambda rows: (rows.pay == "99999")[rows.pay.notna()].mean()),
        ("share(pay is missing)", lambda rows: rows.pay.isna().mean()),
        ("share(pay is not missing)", lambda rows: rows.pay.notna().mean()),
        ("mean(age) where pay = N", lambda rows: rows.age[rows.pay == "N"].mean()),
    ],
)
def test_codes_are_asked_for_like_values(text, exact, asked):
    rows = table()
    assert parse(text, SCHEMA).on(rows)[""][0] == pytest.approx(exact(rows)), "of a table as it is"
    (line,) = asked(text).lines
    assert line.combined.low - 0.02 <= exact(rows) <= line.combined.high + 0.02


def test_tables_keep_codes_beside_numbers_alone(asked):
    model = fit(us.Independent(epsilon=20.0), table(), SCHEMA, noise=SeededNoise(0))
    raw = model.sample(500, seed=0)
    own = prepared(raw, model)
    condition = parse("count() where pay = N", SCHEMA).where[0]
    assert own.pay.dtype == float and (condition.holds(own) == (raw.pay == "N")).all()


def test_a_models_outcomes_begin_with_codes():
    found = Outcome(OfSpecials("pay", "=", "N", PAY, frozenset([1]))).holds(pd.DataFrame({"pay": [0.0] * 5}))
    assert found.tolist() == [False, True, False, False, False]


def test_groups_of_a_number_are_cells_of_the_model(asked):
    found = asked("share(ill = yes) by age")
    assert 2 <= len(found.lines) <= 8 and found.lines[0].group.startswith("age from 0 to ")
    assert found.lines[-1].group.endswith(" to 99") and found.covered
    assert found.lines[0].combined.estimate < 0.25 < 0.45 < found.lines[-1].combined.estimate
    assert [line.group for line in asked("mean(age) by pay at 500").lines] == [
        "pay=N", "pay=99999", "pay below 500", "pay from 500"
    ]  # fmt: skip


def test_groups_that_share_cells_rest_on_the_model(asked):
    found = asked("share(ill = yes) by age at 44, 45")
    assert not found.covered and any("age from 44 below 45: counted together" in one for one in found.remarks)


def test_groups_of_dates_need_their_ends(asked):
    with pytest.raises(UsageError, match=r"by 'since' needs the ends of its groups, e\.g\. by since at 2000-01-01"):
        asked("count() by since")
    found = asked("count() by since at 2010-01-01").lines
    assert [one.group for one in found] == ["since below 2010-01-01", "since from 2010-01-01"]


def test_groups_without_released_cells_need_their_ends():
    model = fit(us.MeanEmbedding(epsilon=20.0), table(), SCHEMA, noise=SeededNoise(0))
    if not any(one.cells and "age" in one.columns for one in model.released):
        with pytest.raises(UsageError, match="by age at 33, 66; method 'mean-embedding' counted it in no cells"):
            answer(model, "mean(age) by age")


def test_a_model_of_people_says_so(asked):
    assert any("counts people, not rows: each person ('who')" in one for one in asked("count()").remarks)
    assert any("about people, not rows" in one for one in asked("mean(age)").remarks)
    rows = fit(us.Mst(), table().drop(columns="who"), Schema(columns=SCHEMA.columns[:4]), noise=SeededNoise(0))
    assert not any("people" in one for one in answer(rows, "count()", copies=2, rows=100).remarks)
