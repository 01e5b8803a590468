"""What a newcomer meets in Python: one call, a readable model, options that are explained, frames that come back as they came."""

import copy
import dataclasses
import inspect
import pickle
import sys

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import clone

import understudy as us
from understudy import progress
from understudy.errors import UsageError
from understudy.methods.registry import METHODS, method
from understudy.options import WORDS, meaning

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
        assert meaning(kind, option.name)
        assert f"\n{option.name}: {meaning(kind, option.name)}" in kind.__doc__


def test_every_word_is_about_an_option():
    options = {name: {option.name for option in dataclasses.fields(method(name))} for name in METHODS}
    assert set(WORDS) == set().union(*options.values())
    for name, own in options.items():
        said = {word for one in method(name).__mro__ for word in vars(one).get("words", {})}
        assert said <= own, name


@pytest.mark.parametrize(
    ("name", "option", "words"),
    [
        ("mean-embedding", "rounds", "free"),  # corrections of the fit, not questions
        ("mean-embedding", "cells_share", "shapes of numeric columns per class"),
        ("pate-gan", "teachers", "rows_per_teacher"),
        ("pate-gan-priced", "teachers", "number of rows / 100"),
        ("pate-gan-priced", "student_steps", "more mean more noise"),
        ("pate-gan-as-published", "teachers", "number of rows / 1000"),
        ("gan", "epsilon", "not used"),
        ("gan", "rounds", "no noise"),
        ("g-pate-data-dependent", "rounds", "in any case"),
    ],
)
def test_help_says_what_an_option_means_in_this_method(name, option, words):
    assert words in meaning(method(name), option)


@pytest.mark.parametrize(
    ("kind", "wrong", "words"),
    [
        (us.RdpCgan, "noise", "'noise'.*it is called 'latent' now"),
        (method("pate-gan-priced"), "rate", "it is called 'learning_rate' now"),
        (us.Mst, "step", "did you mean 'steps'"),
        (us.Independent, "zzz", "it has: epsilon"),
    ],
)
def test_options_of_another_name_are_refused_with_the_way_out(kind, wrong, words):
    with pytest.raises(TypeError, match=words):
        kind(**{wrong: 5})
    with pytest.raises(ValueError, match=words):
        kind().set_params(**{wrong: 5})


def test_an_estimator_is_scikit_learns():
    one = us.PateGan(rounds=3, noise="laplace")
    for other in (clone(one), pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):  # noqa: S301  our own bytes
        assert type(other) is us.PateGan and other.get_params() == one.get_params()
    assert one.set_params(rounds=4) is one and one.rounds == 4
    assert list(inspect.signature(us.PateGan).parameters) == [option.name for option in dataclasses.fields(us.PateGan)]


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


def test_a_method_of_the_users_own_has_options_of_its_own():
    class Mine(us.method("independent")):
        def __init__(self, epsilon=1.0, extra=3):
            super().__init__(epsilon=epsilon)
            self.extra = extra

    assert clone(Mine(extra=4)).extra == 4 and Mine().set_params(extra=5).extra == 5
    with pytest.raises(TypeError, match="has no option 'ekstra'; did you mean 'extra'"):
        Mine(ekstra=1)
