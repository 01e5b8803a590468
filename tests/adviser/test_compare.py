"""A comparison spends its budget once, whatever is published of it, and its choice is paid for."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from understudy.accounting import Budget, LedgerError, epsilon, holds, verify
from understudy.artifact import load
from understudy.cli import run as command
from understudy.compare import CHOICE_LEDGER, RESULT, candidates, compare, split
from understudy.errors import UsageError
from understudy.files import write_json
from understudy.private import Curator
from understudy.private.answers import models
from understudy.private.mapping import Block
from understudy.private.noise import SeededNoise
from understudy.questions import POINTS, ModelChoice
from understudy.questions.choices import bounded_range
from understudy.questions.row_maps import Places
from understudy.schema import Column, Schema

from ..wall import FreeLedger, NoNoise, ask

METHODS = ("mst", "independent")
SCHEMA = Schema(
    columns=(
        Column(name="x", kind="continuous", lower=0, upper=1),
        Column(name="z", kind="categorical", categories=("a", "b")),
        Column(name="y", kind="categorical", categories=(0, 1)),
    ),
    label="y",
)


def table(rows: int, seed: int = 0) -> pd.DataFrame:
    """x and z say what y is, so a method that keeps pairs beats one that does not."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    x = np.clip(0.25 + 0.5 * y + 0.1 * rng.normal(size=rows), 0, 1)
    return pd.DataFrame({"x": x, "z": np.where(rng.random(rows) < 0.2 + 0.6 * y, "b", "a"), "y": y})


@pytest.mark.parametrize("budget", [Budget(1.0, 1e-5), Budget(5.0, 1e-6)])
def test_all_fits_together_cost_the_budget(budget):
    estimators, together = split(candidates(METHODS, {}), SCHEMA, budget)
    events = [charge.event for one in estimators for charge in one.plan(SCHEMA).charges]
    assert together == pytest.approx(epsilon(events, budget.delta))
    assert 0.98 * budget.epsilon < together <= budget.epsilon
    assert all(one.epsilon < budget.epsilon for one in estimators)


def test_giving_every_method_the_whole_budget_would_be_noticed():
    """The mutant: no split. The joint price, which the other test bounds, exceeds the claim by far."""
    estimators, _ = split(candidates(METHODS, {}), SCHEMA, Budget(1.0, 1e-5))
    for one in estimators:
        one.epsilon = 1.0
    assert epsilon([charge.event for one in estimators for charge in one.plan(SCHEMA).charges], 1e-5) > 1.3


def test_models_are_kept_the_choice_is_made_once_and_the_price_is_said(tmp_path):
    """A dependence this strong is seen with epsilon 3 and 1,500 held-out rows; the wrong choice has probability < 1e-6."""
    out = tmp_path / "both"
    found = compare(table(3000), SCHEMA, methods=METHODS, epsilon=3.0, out=out, real=table(1500, 1), seed=0)
    assert found.chosen == "mst"
    charged = [charge.event for name in METHODS for charge in load(out / name).plan.charges]
    assert found.epsilon == pytest.approx(epsilon(charged, 1e-5))
    assert found.choice_epsilon <= 3.0 < found.both_epsilon
    written = (out / "mst" / "weights.safetensors").read_bytes()
    again = compare(table(10), SCHEMA, methods=METHODS, epsilon=3.0, out=out, real=table(1500, 2), seed=0)
    assert again == found
    assert (out / "mst" / "weights.safetensors").read_bytes() == written
    with pytest.raises(UsageError, match="another comparison"):
        compare(table(10), SCHEMA, methods=METHODS, epsilon=4.0, out=out)
    (out / RESULT).unlink()  # as after a crash between the choice and its result
    assert (out / CHOICE_LEDGER).is_file()
    with pytest.raises(LedgerError, match="exists already"):
        compare(table(10), SCHEMA, methods=METHODS, epsilon=3.0, out=out, real=table(1500, 2), seed=0)


def test_settings_of_one_method_are_chosen_between_and_all_of_them_are_paid_for(tmp_path):
    """Which one is chosen is left to chance here; that the better one is, the test above says."""
    out, vary = tmp_path / "settings", {"pairs_share": [0.2, 0.6], "edges_share": [0.1]}
    found = compare(table(3000), SCHEMA, methods=["mst"], vary=vary, epsilon=3.0, out=out, real=table(1500, 1), seed=0)
    names = [one.method for one in found.entries]
    assert names == ["mst,pairs_share=0.2,edges_share=0.1", "mst,pairs_share=0.6,edges_share=0.1"]
    assert found.chosen in names and all(one.kept is None for one in found.entries)
    plans = [load(out / name).plan for name in names]
    assert [plan.parameters["settings"]["pairs_share"] for plan in plans] == [0.2, 0.6]
    together = epsilon([charge.event for plan in plans for charge in plan.charges], 1e-5)
    assert found.epsilon == pytest.approx(together) and found.epsilon <= 3.0


@pytest.mark.parametrize(
    "vary,word",
    [
        ({"teachers": [1, 2]}, "no option 'teachers'"),
        ({"edges_share": [0.1]}, "at least two"),
        ({"edges_share": [0.1, 0.1]}, "at least two"),
        ({"edges_share": ["../a", 0.1]}, "numbers and words"),
    ],
)
def test_what_cannot_be_varied_is_refused_by_name(tmp_path, vary, word):
    with pytest.raises(UsageError, match=word):
        compare(table(10), SCHEMA, methods=["mst"], vary=vary, epsilon=3.0, out=tmp_path / "no")
    assert not (tmp_path / "no").exists()


def test_a_fit_that_died_in_its_opening_goes_on_or_is_not_paid_from_the_same_total(tmp_path):
    """What it charged is spent: a second fit of it would make the total untrue, so it goes on or nothing does."""

    def impatient(event):
        if event["stage"] == "begin":
            raise KeyboardInterrupt

    out, options = tmp_path / "both", {"methods": METHODS, "epsilon": 1.0}
    with pytest.raises(KeyboardInterrupt):
        compare(table(100), SCHEMA, out=out, progress=impatient, **options)
    dead = (out / "mst.checkpoint" / "ledger.jsonl").read_bytes()
    record = out / "mst.checkpoint" / "record.json"
    kept = record.read_bytes()
    record.unlink()  # what a fit needs to go on
    with pytest.raises(UsageError, match="exceed the total of this comparison"):
        compare(table(100), SCHEMA, out=out, **options)
    assert (out / "mst.checkpoint" / "ledger.jsonl").read_bytes() == dead and not (out / RESULT).exists()
    record.write_bytes(kept)
    compare(table(100), SCHEMA, out=out, **options)
    assert holds(verify(out / "mst"))  # charged as announced, and once


def unmarked(found, folder):
    """Where a choice with seeded noise is shown without its mark."""
    shown = {
        "dictionary": json.dumps(found.to_dict()),
        "lines": " ".join(found.lines()),
        "file": (folder / RESULT).read_text(),
    }
    return [place for place, text in shown.items() if "noise was seeded: void" not in text]


def test_a_choice_with_seeded_noise_says_that_it_is_void(tmp_path):
    seeded, secure = tmp_path / "seeded", tmp_path / "secure"
    options = {"methods": METHODS, "epsilon": 3.0, "real": table(100, 1), "seed": 0}
    found = compare(table(100), SCHEMA, out=seeded, noise=SeededNoise(0), **options)
    assert unmarked(found, seeded) == []
    again = compare(table(100), SCHEMA, out=seeded, **options)
    assert again == found  # the mark stays with the choice
    sound = compare(table(100), SCHEMA, out=secure, **options)
    assert sound.void_reason == "" and len(unmarked(sound, secure)) == 3
    mutant = replace(found, void_reason="")  # as it was: the noise source is asked for nothing
    write_json(seeded / RESULT, mutant.to_dict())
    assert len(unmarked(mutant, seeded)) == 3


@pytest.mark.parametrize("said,points", [([1e9, -5.0, 10.4], POINTS + 10), ([np.nan, np.inf, 1.0], 1)])
def test_points_are_clipped_so_that_no_judge_can_widen_the_sensitivity(said, points):
    question = ModelChoice((Places(),), 1.0, 1)
    total = models.start(question, 1)
    models.add(question, total, Block(np.asarray(said)[:, None], np.zeros(3, np.int32)))
    assert total.tolist() == [points]


class OnePoint(ModelChoice):
    """The mutant: sensitivity 1 although a row can earn 255 points."""

    @property
    def influence(self):
        return self.rows_per_unit


def test_a_choice_priced_for_less_than_a_units_points_is_refused():
    for rows in (1, 3):
        assert ModelChoice((Places(),), 5.0, rows).scale == pytest.approx(2 * rows * 255 / bounded_range(5.0))
    with pytest.raises(RuntimeError, match="no question that the wall knows"):
        ask(OnePoint((Places(),), 5.0, 1), np.zeros((2, 1)))
    people = (*SCHEMA.columns, Column(name="who", kind="identifier"))
    persons = Schema(columns=people, label="y", unit="who", max_rows_per_unit=2)
    with pytest.raises(RuntimeError, match="priced for fewer rows"):
        Curator(None, persons, FreeLedger(), NoNoise()).ask("choice", ModelChoice((Places(),), 5.0, 1))


@pytest.mark.parametrize("names", [["mst"], ["mst", "mst"], ["mst", "magic"], ["mst", "pate-gan-as-published"]])
def test_bad_lists_of_methods_are_refused(names, tmp_path):
    with pytest.raises(UsageError, match="method"):
        compare(table(10), SCHEMA, methods=names, epsilon=1.0, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_choice_needs_a_class_label(tmp_path):
    schema = Schema(columns=SCHEMA.columns)
    with pytest.raises(UsageError, match="class label"):
        compare(table(10), schema, methods=METHODS, epsilon=1.0, out=tmp_path / "out", real=table(10))


def test_the_command(tmp_path, capsys):
    table(200).to_csv(tmp_path / "rows.csv", index=False)
    SCHEMA.save(tmp_path / "rows.yaml")
    words = ["compare", str(tmp_path / "rows.csv"), "--schema", str(tmp_path / "rows.yaml"), "--epsilon", "2"]
    words += ["--methods", "mst,independent", "--out", str(tmp_path / "out"), "--json"]
    assert command(words) == 0
    said = json.loads(capsys.readouterr().out)
    assert [one["method"] for one in said["entries"]] == ["mst", "independent"]
    assert said["chosen"] is None
    assert command([*words[:-1], "--real", str(tmp_path / "absent.csv")]) == 2
    assert "--real" in capsys.readouterr().err
    words[words.index("mst,independent")] = "mst"
    assert command(words[:-1]) == 2
    assert "--methods: name at least two" in capsys.readouterr().err


def test_library_errors_name_arguments(tmp_path):
    for options, start in (({"methods": ["mst"]}, "methods: "), ({"real": table(10)}, "real: ")):
        schema = SCHEMA if "methods" in options else Schema(columns=SCHEMA.columns)
        with pytest.raises(UsageError) as refused:
            compare(table(10), schema, **{"methods": METHODS, "epsilon": 1.0, "out": tmp_path / "out"} | options)
        assert str(refused.value).startswith(start) and "--" not in str(refused.value)
