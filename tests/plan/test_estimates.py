"""Bounds and categories that the schema leaves open: asked once, priced by what one unit can change, used afterwards."""

import math

import numpy as np
import pandas as pd
import pytest

from understudy.estimates import question as estimate_question
from understudy.methods.pate_gan.method import PateGan
from understudy.methods.teachers import classes_per_unit
from understudy.private import Curator, PrivateTable
from understudy.questions import ColumnBounds, ColumnCategories, digest
from understudy.schema import Column, Schema, check

from ..conformance.tables import TINY
from ..fit.inside import opened
from ..wall import FreeLedger, NoNoise, ask_cells

DELTA = 1e-5


def shared(kind, max_rows=3, unit=True):
    """Two columns with one estimate, one with its own, and people with several rows."""
    columns = (
        Column(name="a", kind=kind, estimate="both"),
        Column(name="b", kind=kind, estimate="both"),
        Column(name="c", kind=kind, estimate="c"),
        Column(name="who", kind="identifier"),
    )
    return Schema(columns=columns, unit="who" if unit else None, max_rows_per_unit=max_rows if unit else 1)


def counts_of(frame, schema, group):
    """The exact counts, which noise and a threshold keep inside, so that a test can see what one unit changes."""
    curator = Curator(PrivateTable(frame, schema), schema, FreeLedger(), NoNoise())
    return dict(*curator._exact("test", estimate_question(schema, group, DELTA, 5.0)))


def test_a_shared_list_counts_every_column():
    frame = pd.DataFrame({"a": ["u", "v", "u"], "b": ["w", "w", None], "c": ["z"] * 3, "who": [1, 1, 2]})
    assert counts_of(frame, shared("categorical"), "both") == {"u": 2, "v": 1, "w": 1}
    assert counts_of(frame, shared("categorical"), "c") == {"z": 2}


def test_a_value_in_two_columns_of_a_unit_counts_once():
    frame = pd.DataFrame({"a": ["u", "v"], "b": ["u", "u"], "c": ["z"] * 2, "who": [1, 1]})
    assert counts_of(frame, shared("categorical"), "both") == {"u": 1, "v": 1}


@pytest.mark.parametrize("unit,max_rows,group,keys", [(True, 3, "both", 6), (True, 3, "c", 3), (False, 1, "both", 2)])
def test_a_list_is_priced_by_all_keys_of_a_unit(unit, max_rows, group, keys):
    question = estimate_question(shared("categorical", max_rows, unit), group, DELTA, 5.0)
    columns = {"both": ("a", "b"), "c": ("c",)}[group]
    assert digest(question) == digest(ColumnCategories(columns, 5.0, 0.1 * DELTA / 2, max_rows))
    assert question.keys_per_unit == keys
    assert question.scale == pytest.approx(5.0 * math.sqrt(keys))


def test_the_largest_change_by_one_unit_is_what_the_noise_covers():
    """The worst unit: other values in all columns of all its rows. Its counts move by 1 in `keys` keys, no more.

    Mutant: noise for the rows alone, as if one column were counted, falls short of it.
    """
    schema = shared("categorical")
    others = pd.DataFrame({"a": ["u"] * 4, "b": ["v"] * 4, "c": ["z"] * 4, "who": [1, 2, 3, 4]})
    worst = pd.DataFrame({"a": [f"a{i}" for i in range(9)], "b": [f"b{i}" for i in range(9)], "c": "z", "who": 9})
    small, large = (counts_of(table, schema, "both") for table in (others, pd.concat([others, worst])))
    moved = [large.get(key, 0) - small.get(key, 0) for key in small | large]
    question = estimate_question(schema, "both", DELTA, 5.0)
    change = math.sqrt(sum(step**2 for step in moved))
    assert max(map(abs, moved)) == 1 and change == pytest.approx(math.sqrt(6))
    assert change <= question.scale / question.sigma + 1e-9
    assert change > math.sqrt(schema.max_rows_per_unit)


def test_shared_bounds_are_priced_by_all_values_of_a_unit():
    noise, schema = NoNoise(), shared("continuous")
    question = estimate_question(schema, "both", DELTA, 5.0)
    assert digest(question) == digest(ColumnBounds(("a", "b"), 5.0, 3))
    ask_cells(question, pd.DataFrame({"a": np.zeros(3), "b": 1.0, "c": 2.0, "who": 1}), schema, noise)
    assert noise.scales == [5.0 * 3 * 2]


def mixed(rows=400):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "near": rng.uniform(10, 20, rows),
            "far": rng.uniform(1000, 2000, rows),
            "whole": rng.integers(3, 7, rows),
            "first": rng.choice(["red", "green"], rows),
            "second": rng.choice(["green", "blue"], rows),
            "y": rng.choice(["no", "yes", "maybe"], rows),
            "who": np.arange(rows) // 2,
        }
    )


def open_schema(unit=None, max_rows=1):
    return Schema(
        columns=(
            Column(name="near", kind="continuous", estimate="numbers"),
            Column(name="far", kind="continuous", estimate="numbers"),
            Column(name="whole", kind="integer", estimate="whole"),
            Column(name="first", kind="categorical", estimate="colours", other=True),
            Column(name="second", kind="categorical", estimate="colours"),
            Column(name="y", kind="categorical", estimate="y"),
            Column(name="who", kind="identifier"),
        ),
        label="y",
        unit=unit,
        max_rows_per_unit=max_rows,
    )


@pytest.mark.parametrize("schema", [open_schema(), open_schema("who", 2)], ids=["rows", "people"])
def test_estimates_are_found_and_charged_as_announced(schema):
    """A generous budget on 400 rows; a category or a bound is missed with probability below 1e-9."""
    found = opened(PateGan(**TINY).set_params(epsilon=200.0), mixed(), schema)
    columns = {column.name: column for column in found.resolved.columns}
    assert columns["first"].categories == columns["second"].categories == ("blue", "green", "red")
    assert columns["near"].lower == columns["far"].lower <= 20
    assert 1000 <= columns["near"].upper == columns["far"].upper  # noise may widen a range
    assert columns["whole"].lower <= 3 and columns["whole"].upper >= 6
    announced = {charge.purpose: charge.event for charge in found.plan.charges}
    spent = {charge.purpose: charge.event for charge in found.ledger.spent}
    for group in ("numbers", "whole", "colours", "y"):
        assert spent[f"estimate {group}"] == announced[f"estimate {group}"]


@pytest.mark.parametrize("classes", range(1, 8))
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_the_vote_event_is_the_announced_one_however_many_classes_are_found(classes, kind):
    """A label whose classes are found privately: the plan counts with the worst case, the fit with the classes found.

    The price must be the announced one to the last bit, or the ledger stops a fit because of what the table holds.
    """
    frame = mixed().assign(y=[f"class {i % classes}" for i in range(400)])
    estimator = PateGan(**TINY).set_params(epsilon=200.0 + classes, noise=kind)
    found = opened(estimator, frame, open_schema("who", 7))
    assert len(found.resolved.column("y").categories) == classes
    mechanism = found.opening.mechanism
    assert mechanism.classes_per_unit == classes_per_unit(found.resolved) == classes
    announced = {charge.purpose: charge.event for charge in found.plan.charges}
    assert mechanism.event(estimator.rounds) == announced["teacher votes"]
    touched = math.sqrt(classes) if kind == "gaussian" else classes
    assert mechanism.scale == pytest.approx(found.plan.parameters["noise"]["teacher votes"] * touched)


def test_a_label_with_estimated_classes_works_end_to_end():
    model = PateGan(**TINY).set_params(epsilon=200.0).fit(mixed(), open_schema("who", 2)).model_
    assert model.certificate.valid
    assert model.resolved.column("y").categories == ("maybe", "no", "yes")
    assert len(model.class_counts) == 3
    sample = model.sample(30, seed=0)
    assert set(sample["y"]) <= {"maybe", "no", "yes"}
    assert check(sample, model.resolved, strict=True) == []
    assert set(model.sample(5, seed=0, where="y=maybe")["y"]) == {"maybe"}


def test_classes_that_stay_unfound_do_not_stop_a_fit():
    """At a small budget no class passes its threshold: one stand-in class, and the rows fall into it."""
    found = opened(PateGan(**TINY).set_params(epsilon=0.1), mixed(), open_schema("who", 2))
    assert len(found.resolved.column("y").categories) == len(found.counts) == 1
    assert found.opening.mechanism.classes_per_unit == 1
