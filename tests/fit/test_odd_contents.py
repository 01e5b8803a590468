"""What is odd about the rows runs through like any table: no error, no warning, no output, the same shapes.

An error would reveal the row that caused it, and so would an array that is longer because of it. Warnings are errors here.
"""

import math
from collections import Counter
from decimal import Decimal
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from understudy.methods.marginals.independent import Independent
from understudy.methods.mean_embedding.method import MeanEmbedding
from understudy.methods.pate_gan.method import PateGan
from understudy.private.passes import TICKS
from understudy.schema import Column, Schema, check

from ..conformance.tables import GENERATORS, ROUNDS, TINY
from .inside import opened

COLUMNS = (
    Column(name="x", kind="continuous", lower=0, upper=1),
    Column(name="n", kind="integer", lower=0, upper=9, missing=True),
    Column(name="o", kind="ordinal", categories=("low", "mid", "high")),
    Column(name="c", kind="categorical", categories=("a", "b", "c")),
    Column(name="d", kind="datetime", lower="2010-01-01", upper="2020-12-31"),
    Column(name="who", kind="identifier", dtype="string"),
    Column(name="y", kind="categorical", categories=("no", "yes")),
)
SCHEMA = Schema(columns=COLUMNS, label="y", unit="who", max_rows_per_unit=2)
ROWS = 40
QUESTIONS = 5  # that a fit of pate-gan asks once about this schema


def ordinary(rows=ROWS):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "x": rng.random(rows),
            "n": pd.array(rng.integers(0, 9, rows), dtype="Int64"),
            "o": rng.choice(["low", "mid", "high"], rows),
            "c": rng.choice(list("abc"), rows),
            "d": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 1000, rows), unit="D"),
            "who": [f"p{i // 2}" for i in range(rows)],
            "y": rng.choice(["no", "yes"], rows),
        }
    )


def all_null():
    return pd.DataFrame({name: pd.Series([None] * ROWS, dtype=object) for name in ordinary().columns})


def null_columns(*names):
    return ordinary().assign(**{name: pd.Series([None] * ROWS, dtype=object) for name in names})


def strange():
    """Infinities, not-a-number, beyond the bounds, unknown categories, objects of foreign types, dates of other ages."""
    numbers = [math.inf, -math.inf, math.nan, 1e308, -5.0, "text", Decimal("NaN"), 10**400, True, None]
    words = ["unknown", "", "\n", 7, math.nan, None, b"bytes", ("tuple",), "\ud800", "a" * 10_000]
    dates = [
        "1066-10-14",
        "9999-12-31",
        "not a date",
        pd.NaT,
        None,
        5,
        pd.Timestamp("2015-06-01"),
        "",
        math.inf,
        "2015",
    ]
    pick = lambda values: pd.Series([values[i % len(values)] for i in range(ROWS)], dtype=object)  # noqa: E731
    return ordinary().assign(
        x=pick(numbers), n=pick(numbers), o=pick(words), c=pick(words), d=pick(dates), who=pick(words), y=pick(words)
    )


CASES = {
    "ordinary": ordinary,
    "no rows": lambda: ordinary().iloc[:0],
    "one row": lambda: ordinary().iloc[:1],
    "everything null": all_null,
    "null columns": lambda: null_columns("x", "n", "c", "d"),
    "constant columns": lambda: ordinary().assign(x=0.5, n=3, o="mid", c="b", d=pd.Timestamp("2015-01-01")),
    "one class": lambda: ordinary().assign(y="yes"),
    "no class": lambda: null_columns("y"),
    "one person with most rows": lambda: ordinary().assign(who=["big"] * 36 + ["a", "b", "c", "d"]),
    "nobody named": lambda: null_columns("who"),
    "strange": strange,
}


@pytest.mark.parametrize("case", CASES)
def test_any_contents_run_through(case, capfd):
    """End to end, with the operating system's noise: same stages, a sample that fits, a valid certificate, silence."""
    stages = []
    model = PateGan(**TINY).fit(CASES[case](), SCHEMA, progress=lambda event: stages.append(event["stage"])).model_
    assert list(dict.fromkeys(stages)) == ["plan", "read", "estimate", "question", "begin", "rounds", "finish"]
    assert Counter(stages) == dict.fromkeys(stages, 1) | {"read": 1 + TICKS, "question": QUESTIONS * TICKS, "rounds": 3}
    assert model.certificate.valid
    assert all(np.isfinite(value).all() for value in model.weights.values())
    sample = model.sample(16, seed=0)
    assert check(sample, SCHEMA, strict=True) == []
    assert capfd.readouterr() == ("", "")


def others():
    """Methods and cases. Rounds compile anew where released counts are others, so the quick tests have two cases of them."""
    for name in GENERATORS:
        for case in ("no rows", "everything null", "strange"):
            is_long = name in ROUNDS and case == "everything null"
            if name != "pate-gan":
                yield pytest.param(name, case, marks=[pytest.mark.slow] if is_long else [])


@pytest.mark.parametrize(("method", "case"), list(others()))
def test_other_methods_take_them_too(method, case, capfd):
    model = clone(GENERATORS[method]).fit(CASES[case](), SCHEMA).model_
    assert all(np.isfinite(value).all() for value in model.weights.values())
    assert check(model.sample(16, seed=0), SCHEMA, strict=True) == []
    assert capfd.readouterr() == ("", "")


@cache
def shapes(case, **options):
    """Everything whose size an observer of memory or time could notice."""
    found = opened(PateGan(**TINY), CASES[case](), SCHEMA)
    mechanism, held = found.opening.mechanism, found.conversation._secret_state()["held"]
    arrays = (
        *found.conversation._data,
        *held,
        *found.opening.hints,
    )  # how many cells marginals have follows released counts
    return mechanism, found.opening.generator, tuple(array.shape for array in arrays)


@pytest.mark.parametrize("case", [case for case in CASES if case != "ordinary"])
def test_shapes_and_settings_do_not_depend_on_contents(case):
    """Teachers are given, so the mechanism (teachers, capacity, noise, rates) and all arrays are those of any table."""
    assert shapes(case) == shapes("ordinary")


@pytest.mark.parametrize("case", CASES)
def test_shapes_follow_released_counts_when_teachers_are_not_given(case):
    """All rows in one class, or none at all: shards have the shape that the noisy counts imply."""
    found = opened(PateGan(**TINY).set_params(teachers=None, rows_per_teacher=2.0), CASES[case](), SCHEMA)
    teachers = np.ceil(np.maximum(found.counts / (2.0 * 2), 2))
    mean = (found.counts / teachers).max()
    capacity = math.ceil(mean + 3 * math.sqrt(mean * 2) + 1)
    assert found.opening.mechanism.teachers == tuple(teachers)
    assert found.conversation._data.rows.shape[:3] == (2, teachers.max(), capacity)


ESTIMATED = Schema(
    columns=(
        Column(name="x", kind="continuous", estimate="x"),
        Column(name="n", kind="integer", estimate="n", missing=True),
        Column(name="o", kind="categorical", estimate="words", other=True),
        Column(name="c", kind="categorical", estimate="words"),
        Column(name="d", kind="datetime", estimate="d"),
        Column(name="who", kind="identifier", dtype="string"),
        Column(name="y", kind="categorical", estimate="y"),
    ),
    label="y",
    unit="who",
    max_rows_per_unit=2,
)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    "estimator", [PateGan(**TINY), MeanEmbedding(seed=0), Independent(seed=0)], ids=lambda estimator: estimator.method
)
def test_estimates_take_any_contents(case, estimator):
    found = opened(estimator, CASES[case](), ESTIMATED)
    assert found.resolved.resolved
    assert [column.name for column in found.resolved.columns] == list(ESTIMATED.names)


def test_surrogates_and_null_characters_that_everybody_has_run_through():
    """A text that no file can hold, in enough rows to pass the threshold of a generous budget."""
    odd = ordinary(400).assign(c=pd.Series(["\ud800"] * 400, dtype=object), y=pd.Series(["\x00"] * 400, dtype=object))
    model = MeanEmbedding(seed=0, epsilon=100.0).fit(odd, ESTIMATED).model_
    sample = model.sample(5, seed=0)
    assert check(sample, model.resolved, strict=True) == []
    assert model.resolved.column("y").categories == ("\x00",)


def test_a_file_with_a_header_only_is_a_table_without_rows(tmp_path, capfd):
    ordinary().iloc[:0].to_csv(tmp_path / "empty.csv", index=False)
    model = PateGan(**TINY).fit(tmp_path / "empty.csv", SCHEMA).model_
    assert check(model.sample(3, seed=0), SCHEMA, strict=True) == []
    assert capfd.readouterr() == ("", "")
