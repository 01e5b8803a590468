"""What a newcomer meets in Python: one call, a readable model, options that are explained, frames that come back as they came."""

import dataclasses
import sys

import numpy as np
import pandas as pd
import polars
import pytest

import understudy as us
from understudy import progress
from understudy.errors import UsageError
from understudy.methods.registry import METHODS, method
from understudy.options import WORDS

SCHEMA = us.Schema.from_dict(
    {
        "label": "y",
        "columns": {
            "a": {"kind": "integer", "lower": 0, "upper": 9},
            "y": {"kind": "categorical", "categories": ["no", "yes"]},
        },
    }
)


def frame(rows=200):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.integers(0, 10, rows), "y": rng.choice(["no", "yes"], rows)})


@pytest.fixture(scope="module")
def fitted():
    import understudy.fit  # noqa: F401  a module of the same name must not hide the verb

    return us.fit(polars.from_pandas(frame()), SCHEMA, epsilon=2.0, method="independent", seed=0)


def test_the_method_is_the_advisers_unless_named(monkeypatch):
    taken = []
    monkeypatch.setattr("understudy.easy.method_of", lambda name: taken.append(name) or method("independent"))
    us.fit(frame(), SCHEMA, epsilon=2.0)
    assert taken == [us.advise(SCHEMA, epsilon=2.0).method]


def test_a_hopeless_fit_is_refused():
    with pytest.raises(UsageError, match="force=True"):
        us.fit(frame(), dataclasses.replace(SCHEMA, rows=10), epsilon=1.0)


def test_polars_in_polars_out(fitted):
    assert isinstance(fitted.sample(5), polars.DataFrame)
    assert fitted.sample(5, seed=1).to_pandas()["a"].tolist() == fitted.model_.sample(5, seed=1)["a"].tolist()


def test_a_model_is_shown_in_five_lines(fitted):
    lines = repr(fitted).splitlines()
    assert len(lines) == 5 and repr(fitted.model_).splitlines() == lines
    assert repr(us.Independent(epsilon=2.0)) == "Independent(epsilon=2.0)"
    assert "epsilon 2" in lines[1] and "one row" in lines[1] and "y (binary)" in lines[2]


def test_what_is_printed_fits_a_screen(fitted):
    assert len(repr(SCHEMA).splitlines()) == 4 and "y (binary)" in repr(SCHEMA)
    assert repr(fitted.certificate) == "Certificate(epsilon=2, delta=1e-05); text() is the whole page"
    assert str(fitted.certificate) == fitted.certificate.text()
    advice = us.advise(SCHEMA, epsilon=2.0)
    assert str(advice).splitlines() == [f"{advice.method}: {advice.why}", advice.expect]


def test_options_that_a_method_does_not_have_are_refused_by_name():
    with pytest.raises(UsageError, match="did you mean 'steps'"):
        us.fit(frame(), SCHEMA, epsilon=2.0, method="mst", step=3)


def test_one_call_charges_an_account(tmp_path):
    us.Account.create(tmp_path / "account.jsonl", units=["row"], epsilon=3.0, delta=1e-4)
    us.fit(frame(), SCHEMA, epsilon=2.0, method="independent", account=tmp_path / "account.jsonl")
    assert us.Account(tmp_path / "account.jsonl").book.total > 1.0


@pytest.mark.parametrize("name", METHODS)
def test_help_explains_every_option(name):
    kind = method(name)
    for option in dataclasses.fields(kind):
        assert f"{option.name}: {WORDS[option.name]}" in kind.__doc__


def test_a_draft_takes_the_types_of_a_frame():
    text = us.draft(frame().astype({"a": "int16"}), label="y")
    assert "a: {kind: integer" in text and "int16" in text
    assert us.draft(polars.from_pandas(frame()), label="y").count("kind: integer") == 1


def test_a_bar_is_shown_where_somebody_looks(monkeypatch, capsys):
    assert not progress.watched()  # a test's standard error is nobody's terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert progress.watched()
    monkeypatch.setattr("understudy.estimator.watched", lambda: True)
    monkeypatch.setattr(progress, "watched", lambda: False)
    us.Independent(epsilon=2.0).fit(frame(), SCHEMA)
    assert "epsilon 2 spent of 2" in capsys.readouterr().err.replace("1.99", "2").replace("2.00", "2")


def test_without_a_terminal_a_fit_is_quiet(capsys):
    us.Independent(epsilon=2.0).fit(frame(), SCHEMA)
    assert capsys.readouterr().err == ""
