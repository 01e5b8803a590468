"""The verdict says what the figures say: limits, missing figures, bad news first."""

import json

import pytest

from understudy.report import verdict
from understudy.report.node import Node
from understudy.report.verdict import GOOD, PARTIAL, POOR, UNKNOWN


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
    found = verdict.useful(Node(data))
    assert found.grade == grade and word in found.words


def test_usefulness_where_lower_is_better(data):
    data["utility"]["metrics"] = ["rmse"]
    data["utility"]["higher_is_better"]["rmse"] = False
    data["utility"]["base"]["rmse"] = 10.0
    for setting, mean in zip(data["utility"]["settings"], (4.0, 4.5, 5.0), strict=True):
        setting["average"]["rmse"] = setting["average"]["auroc"] | {"mean": mean}
    assert verdict.useful(Node(data)).grade == GOOD
    data["utility"]["settings"][1]["average"]["rmse"]["mean"] = 9.0
    assert verdict.useful(Node(data)).grade == POOR


def test_one_run_is_called_one_run(data):
    data["utility"]["settings"][1]["average"]["auroc"].update(runs=[0.8], sd=None)
    assert "One run only" in verdict.useful(Node(data)).words


def test_without_setting_a_there_is_no_grade(data):
    data["utility"]["settings"] = data["utility"]["settings"][1:]
    found = verdict.useful(Node(data))
    assert found.grade == UNKNOWN and "no setting A" in found.words


@pytest.mark.parametrize(
    ("score", "grade"), [(0.9, GOOD), (0.899, PARTIAL), (0.75, PARTIAL), (0.749, POOR), (None, UNKNOWN)]
)
def test_shapes(data, score, grade):
    data["fidelity"]["shape_score"]["mean"] = score
    assert verdict.shapes(Node(data)).grade == grade


@pytest.mark.parametrize(
    ("value", "grade"), [(0.05, GOOD), (0.051, PARTIAL), (0.15, PARTIAL), (0.151, POOR), (None, UNKNOWN)]
)
def test_pairs(data, value, grade):
    data["fidelity"]["pairs"]["mean_absolute_difference"]["mean"] = value
    assert verdict.pairs(Node(data)).grade == grade


@pytest.mark.parametrize(
    ("value", "grade"), [(0.6, GOOD), (0.61, PARTIAL), (0.8, PARTIAL), (0.81, POOR), (None, UNKNOWN)]
)
def test_telling(data, value, grade):
    data["fidelity"]["propensity"]["auroc"]["mean"] = value
    assert verdict.telling(Node(data)).grade == grade


def test_a_vanished_group_is_poor_and_named(data):
    found = verdict.hurt(Node(data))
    assert found.grade == POOR and "Never-worked" in found.words


@pytest.mark.parametrize(("b", "grade"), [(0.86, GOOD), (0.80, PARTIAL), (0.70, POOR)])
def test_largest_fall_of_a_group_counts(data, b, grade):
    data["groups"] = data["groups"][:1]
    for group in data["groups"][0]["groups"]:
        group["setting_a"]["auroc"], group["setting_b"]["auroc"]["mean"] = 0.9, 0.89
    data["groups"][0]["groups"][1]["setting_b"]["auroc"]["mean"] = b
    found = verdict.hurt(Node(data))
    assert found.grade == grade and "&gt;50K" in found.words
    data["groups"][0]["groups"][1]["real_rows"] = 29
    assert verdict.hurt(Node(data)).grade == GOOD, "too few rows to grade by"


@pytest.mark.parametrize(("share", "grade"), [(0.0, GOOD), (0.004, PARTIAL), (0.01, PARTIAL), (0.02, POOR)])
def test_schema(data, share, grade):
    data["release"]["violations"][0]["share"]["mean"] = share
    assert verdict.obeys(Node(data)).grade == grade


def test_no_rows_obey_nothing(data):
    data["release"]["rows"] = 0
    assert verdict.obeys(Node(data)).grade == UNKNOWN


def test_nothing_measured_is_never_called_good(results):
    data = json.loads(results("bare").read_text(encoding="utf-8"))
    found = verdict.findings(Node(data))
    assert {f.grade for f in found} == {UNKNOWN}
    assert "too little for a verdict" in verdict.headline(found)


def test_headline_leads_with_the_worst(data):
    found = verdict.findings(Node(data))
    assert {f.grade for f in found} >= {POOR, PARTIAL}
    assert "Do not rely" in verdict.headline(found)
    assert "Usable with care" in verdict.headline([f for f in found if f.grade == PARTIAL])


def test_every_limit_is_printed(data):
    text = verdict.section(Node(data))
    for value in ("90 %", "50 %", "0.9", "0.75", "0.05", "0.15", "0.6", "0.8", "1 %", "30 real rows"):
        assert value in text
    assert "no standard sets them" in text


def test_privacy_is_never_judged_from_figures(data):
    assert "rests on the certificate alone" in verdict.section(Node(data))
    data["header"]["certificate"] = None
    assert "no figure on this page can stand in for one" in verdict.section(Node(data))
    data["header"]["certificate"] = {"claim": {"epsilon": None}, "valid": False}
    assert "VOID" in verdict.section(Node(data))
