"""The verdict says what the figures say: limits, missing figures, bad news first."""

import json

import numpy as np
import pandas as pd
import pytest

from understudy.evaluate import boosting, evaluate
from understudy.report import verdict
from understudy.report.node import Element
from understudy.report.verdict import GOOD, PARTIAL, POOR, UNKNOWN
from understudy.schema import Column, Schema


@pytest.fixture
def data(results):
    return json.loads(results("adult").read_text(encoding="utf-8"))


def set_average(data, name, value):
    for setting in data["utility"]["settings"]:
        if setting["name"] == name:
            setting["average"]["auroc"].update(mean=value, runs=[value, value], sd=0.0)


@pytest.mark.parametrize(
    ("a", "b", "grade", "word"),
    [
        (0.9, 0.86, GOOD, "90 %"),
        (0.9, 0.859, PARTIAL, "In part"),
        (0.9, 0.70, PARTIAL, "50 %"),
        (0.9, 0.699, POOR, "Hardly"),
        (0.9, 0.48, POOR, "no better than guessing"),
        (0.9, 0.93, GOOD, "all of the lead"),
        (0.54, 0.54, UNKNOWN, "hardly predict the label"),
    ],
)
def test_usefulness(data, a, b, grade, word):
    set_average(data, "A", a)
    set_average(data, "B", b)
    found = verdict.useful(Element(data))
    assert found.grade == grade and word in found.words


def test_usefulness_where_lower_is_better(data):
    data["utility"]["metrics"] = ["rmse"]
    data["utility"]["higher_is_better"]["rmse"] = False
    data["utility"]["base"]["rmse"] = 10.0
    for setting, mean in zip(data["utility"]["settings"], (4.0, 4.5, 5.0), strict=True):
        setting["average"]["rmse"] = setting["average"]["auroc"] | {"mean": mean}
    assert verdict.useful(Element(data)).grade == GOOD
    data["utility"]["settings"][1]["average"]["rmse"]["mean"] = 9.0
    assert verdict.useful(Element(data)).grade == POOR


def test_one_run_is_called_one_run(data):
    data["utility"]["settings"][1]["average"]["auroc"].update(runs=[0.8], sd=None)
    assert "One run only" in verdict.useful(Element(data)).words


def test_without_setting_a_there_is_no_grade(data):
    data["utility"]["settings"] = data["utility"]["settings"][1:]
    found = verdict.useful(Element(data))
    assert found.grade == UNKNOWN and "no setting A" in found.words


def set_lost(data, **losses):
    """Losses of measures, by name with underscores; the others keep theirs."""
    for one in data["fidelity"]["whole"]["measures"]:
        if one["name"].replace("-", "_") in losses:
            one["lost"] = losses[one["name"].replace("-", "_")]


@pytest.mark.parametrize(
    ("lost", "grade"), [(0.05, GOOD), (0.051, PARTIAL), (0.2, PARTIAL), (0.21, POOR), (1.0, POOR), (None, UNKNOWN)]
)
def test_columns(data, lost, grade):
    set_lost(data, one_way=lost)
    assert verdict.columns(Element(data)).grade == grade


LEVELS = [(-0.1, GOOD), (0.25, GOOD), (0.26, PARTIAL), (0.65, PARTIAL), (0.66, POOR), (1.0, POOR), (None, UNKNOWN)]


@pytest.mark.parametrize(("lost", "grade"), LEVELS)
def test_relations(data, lost, grade):
    set_lost(data, two_way=lost, three_way=lost, association=lost, query=lost)
    assert verdict.relations(Element(data)).grade == grade


def test_relations_are_the_mean_of_what_can_be_judged(data):
    set_lost(data, two_way=0.1, three_way=0.3, association=None, query=None)
    found = verdict.relations(Element(data))
    assert found.grade == GOOD and "20 % of the way" in found.words


@pytest.mark.parametrize(("lost", "grade"), LEVELS[:-1])
def test_telling(data, lost, grade):
    set_lost(data, told_apart=lost)
    assert verdict.telling(Element(data)).grade == grade


@pytest.mark.parametrize(("area", "grade"), [(0.51, GOOD), (0.7, PARTIAL), (0.995, POOR), (None, UNKNOWN)])
def test_telling_where_shuffled_columns_cannot_be_told(data, area, grade):
    """A table of few held-out rows was told from real ones at 0.995 and called good."""
    set_lost(data, told_apart=None)
    one = next(m for m in data["fidelity"]["whole"]["measures"] if m["name"] == "told-apart")
    one["value"]["mean"] = area
    assert verdict.telling(Element(data)).grade == grade


@pytest.mark.parametrize(("lost", "grade"), LEVELS)
def test_rows_are_graded_by_the_worse_figure(data, lost, grade):
    set_lost(data, impossible_rows=lost, determined_pairs=None if lost is None else 0.0)
    assert verdict.rows(Element(data)).grade == grade
    set_lost(data, impossible_rows=0.0, determined_pairs=1.0)
    assert verdict.rows(Element(data)).grade == POOR


@pytest.mark.parametrize(
    ("kept", "grade"), [(1.02, GOOD), (0.9, GOOD), (0.89, PARTIAL), (0.5, PARTIAL), (0.49, POOR), (None, UNKNOWN)]
)
def test_other_uses(data, kept, grade):
    one = next(m for m in data["fidelity"]["whole"]["measures"] if m["name"] == "other-targets")
    one["value"]["mean"] = kept
    assert verdict.other_uses(Element(data)).grade == grade


def test_what_was_not_computed_is_not_judged(data):
    data["fidelity"]["whole"]["measures"] = []
    graded = (verdict.columns, verdict.relations, verdict.telling, verdict.other_uses, verdict.rows)
    assert {grade(Element(data)).grade for grade in graded} == {UNKNOWN}


def test_columns_without_dependence_are_poor_and_uniform_ones_too(monkeypatch):
    """From rows to page: right columns that are unrelated fail every question about relations, and only those."""
    monkeypatch.setattr(boosting, "ITERATIONS", 15)
    rng = np.random.default_rng(0)
    job = rng.choice(["a", "b", "c", "d"], 1000, p=[0.5, 0.3, 0.15, 0.05])
    pay = rng.gamma(3, 1, 1000) * (1 + 2 * (job == "a"))
    real = pd.DataFrame(
        {"job": job, "pay": pay, "grade": np.digitize(pay, [2, 5]), "code": pd.Series(job).map(ord) - 97}
    )
    schema = Schema(
        columns=(
            Column(name="job", kind="categorical", categories=tuple("abcd")),
            Column(name="pay", kind="continuous", lower=0.0, upper=30.0),
            Column(name="grade", kind="integer", lower=0, upper=2),
            Column(name="code", kind="integer", lower=0, upper=3),
        )
    )
    shuffled = pd.DataFrame({name: rng.permutation(real[name]) for name in real})
    uniform = pd.DataFrame(
        {"job": rng.choice(list("abcd"), 1000), "pay": rng.uniform(0, 30, 1000), "grade": rng.integers(0, 3, 1000),
         "code": rng.integers(0, 4, 1000)})  # fmt: skip
    again = real.sample(1000, replace=True, random_state=1)
    grades = {}
    for name, fake in (("independent", shuffled), ("uniform", uniform), ("again", again)):
        found = evaluate(fake, real, schema, metrics=["fidelity"])
        root = Element(json.loads(found.to_json()))
        asked = (verdict.columns, verdict.relations, verdict.telling, verdict.other_uses, verdict.rows)
        grades[name] = [one(root).grade for one in asked]
    assert grades["independent"] == [GOOD, POOR, POOR, POOR, POOR]
    assert grades["uniform"] == [POOR] * 5
    assert grades["again"] == [GOOD] * 5


def test_a_vanished_group_is_poor_and_named(data):
    found = verdict.hurt(Element(data))
    assert found.grade == POOR and "Never-worked" in found.words


@pytest.mark.parametrize(("b", "grade"), [(0.86, GOOD), (0.80, PARTIAL), (0.70, POOR)])
def test_largest_fall_of_a_group_counts(data, b, grade):
    data["groups"] = data["groups"][:1]
    for group in data["groups"][0]["groups"]:
        group["setting_a"]["auroc"], group["setting_b"]["auroc"]["mean"] = 0.9, 0.89
    data["groups"][0]["groups"][1]["setting_b"]["auroc"]["mean"] = b
    found = verdict.hurt(Element(data))
    assert found.grade == grade and "&gt;50K" in found.words
    data["groups"][0]["groups"][1]["real_rows"] = 29
    assert verdict.hurt(Element(data)).grade == GOOD, "too few rows to grade by"


@pytest.mark.parametrize(("share", "grade"), [(0.0, GOOD), (0.004, PARTIAL), (0.01, PARTIAL), (0.02, POOR)])
def test_schema(data, share, grade):
    data["release"]["violations"][0]["share"]["mean"] = share
    assert verdict.obeys(Element(data)).grade == grade


def test_no_rows_obey_nothing(data):
    data["release"]["rows"] = 0
    assert verdict.obeys(Element(data)).grade == UNKNOWN


def test_nothing_measured_is_never_called_good(results):
    data = json.loads(results("bare").read_text(encoding="utf-8"))
    found = verdict.findings(Element(data))
    assert {f.grade for f in found} == {UNKNOWN}
    assert "too little for a verdict" in verdict.headline(found)


def test_headline_leads_with_the_worst(data):
    found = verdict.findings(Element(data))
    assert {f.grade for f in found} >= {POOR, PARTIAL}
    assert "Do not rely" in verdict.headline(found)
    assert "Usable with care" in verdict.headline([f for f in found if f.grade == PARTIAL])


def test_every_limit_is_printed(data):
    text = verdict.section(Element(data))
    for value in ("90 %", "50 %", "5 %", "20 %", "25 %", "65 %", "0.05", "0.15", "1 %", "30 real rows"):
        assert value in text
    assert "no standard sets them" in text


def test_privacy_is_never_judged_from_figures(data):
    assert "rests on the certificate alone" in verdict.section(Element(data))
    data["header"]["certificate"] = None
    assert "no figure on this page can stand in for one" in verdict.section(Element(data))
    data["header"]["certificate"] = {"claim": {"epsilon": None}, "valid": False}
    assert "VOID" in verdict.section(Element(data))
