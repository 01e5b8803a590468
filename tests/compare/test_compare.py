"""A comparison spends its budget once, whatever is published of it, and its choice is paid for."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from understudy.account import Account
from understudy.accounting import Budget, Ledger, epsilon, holds, verify
from understudy.artifact import load
from understudy.cli import run as command
from understudy.cli._output import show
from understudy.cli.compare import table as shown
from understudy.compare import RECORD, Comparison, Entry, compare, run
from understudy.compare.candidates import candidates, split
from understudy.compare.choice import CHOICE, choose
from understudy.compare.folder import CHOICE_LEDGER, RESULT, sealed
from understudy.errors import UsageError
from understudy.files import write_json
from understudy.methods.registry import method
from understudy.private import Curator, PrivateTable
from understudy.private.answers import models
from understudy.private.checkpoint import Checkpoint
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
    again = compare(table(3000), SCHEMA, methods=METHODS, epsilon=3.0, out=out, real=table(1500, 2), seed=0)
    assert again == found
    assert (out / "mst" / "weights.safetensors").read_bytes() == written
    with pytest.raises(UsageError, match="another comparison"):
        compare(table(3000), SCHEMA, methods=METHODS, epsilon=4.0, out=out)
    (out / RESULT).unlink()  # as after a crash between the choice and its result
    assert (out / CHOICE_LEDGER).is_file()
    with pytest.raises(UsageError, match="a second one costs the held-out people as much again"):
        compare(table(3000), SCHEMA, methods=METHODS, epsilon=3.0, out=out, real=table(1500, 2), seed=0)


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
        ({"edges_share": [0.1, 0.10]}, "vary: edges_share has the value 0.1 twice"),
        ({"steps": [100, 100.0]}, "twice"),  # as it was: two names for one model, paid for as two
        ({"edges_share": "15"}, "takes a list of values"),  # as it was: 1 and 5
        ({"edges_share": 0.1}, "takes a list of values"),
        ({"edges_share": []}, "has no values"),
        ({"edges_share": [0.1, -0.1]}, "vary: edges_share=-0.1 must be"),
        ({"epsilon": [0.1, 9.0]}, "no option 'epsilon'"),
        ({"edges_share": ["../a", 0.1]}, "numbers and words"),
    ],
)
def test_what_cannot_be_varied_is_refused_by_name(tmp_path, vary, word):
    with pytest.raises(UsageError, match=word):
        compare(table(10), SCHEMA, methods=["mst"], vary=vary, epsilon=3.0, out=tmp_path / "no")
    assert not (tmp_path / "no").exists()


def test_values_of_numpy_are_varied_as_python_has_them(tmp_path):
    found = compare(
        table(100), SCHEMA, methods=["mst"], vary={"steps": np.array([100, 200])}, epsilon=1.0, out=tmp_path / "out"
    )
    assert [one.method for one in found.entries] == ["mst,steps=100", "mst,steps=200"]


@pytest.mark.parametrize("wrong", ["data", "real"])
def test_a_table_that_cannot_be_read_is_refused_before_anything_is_written_or_charged(tmp_path, wrong):
    """As it was: the account was charged before the table was looked at, and the choice before the held-out rows were, whose
    ledger then refused every other try."""
    account = Account.create(tmp_path / "account", units=["row"], epsilon=9.0, delta=1e-5)
    tables = {"data": table(100), "real": table(100, 1)}
    tables[wrong] = tables[wrong].drop(columns="z")
    with pytest.raises(
        UsageError, match=f"{'real: ' if wrong == 'real' else ''}column 'z' of the schema is not in the table"
    ):
        compare(
            tables["data"],
            SCHEMA,
            methods=METHODS,
            epsilon=1.0,
            out=tmp_path / "o",
            real=tables["real"],
            account=account,
        )
    assert not account.refresh().book.entries and not (tmp_path / "o").exists()


def test_an_account_covers_fits_and_choice_or_nothing_is_begun(tmp_path):
    """As it was: fits were charged, the choice was refused; and a folder was left that refused a smaller budget."""
    out, options = tmp_path / "out", {"methods": METHODS, "real": table(100, 1), "seed": 0}
    account = Account.create(tmp_path / "account", units=["row"], epsilon=1.2, delta=1e-5)
    with pytest.raises(UsageError, match="does not cover"):
        compare(table(100), SCHEMA, epsilon=1.0, out=out, account=account, **options)
    assert not account.refresh().book.entries and not out.exists()
    found = compare(table(100), SCHEMA, epsilon=0.7, out=out, account=account, **options)
    assert account.refresh().book.total == pytest.approx(found.both_epsilon)
    assert compare(table(100), SCHEMA, epsilon=0.7, out=out, account=account, **options) == found
    assert len(account.refresh().book.entries) == 2  # one for the fits and one for the choice, also when run again


def test_fits_that_are_charged_are_not_asked_of_the_account_again(tmp_path):
    """The account has room for the fits once, and for the choice beside them."""
    account = Account.create(tmp_path / "account", units=["row"], epsilon=1.5, delta=1e-5)
    options = {"methods": METHODS, "epsilon": 1.0, "out": tmp_path / "out", "account": account}
    compare(table(100), SCHEMA, **options)
    compare(table(100), SCHEMA, real=table(100, 1), **options)
    assert len(account.refresh().book.entries) == 2


def test_a_model_that_was_there_before_is_not_taken_for_one_of_the_total(tmp_path):
    """As it was: a model of epsilon 50 in the place of a candidate's was kept, and the total was said to be 1."""
    options = {"methods": METHODS, "epsilon": 1.0}
    method("mst")(epsilon=50.0).fit(table(100), SCHEMA, out=tmp_path / "before" / "mst")
    with pytest.raises(UsageError, match="files that are of no comparison"):
        compare(table(100), SCHEMA, out=tmp_path / "before", **options)
    out = tmp_path / "replaced"
    compare(table(100), SCHEMA, out=out, **options)
    shutil.rmtree(out / "mst")
    shutil.copytree(tmp_path / "before" / "mst", out / "mst")
    with pytest.raises(UsageError, match="its total would be untrue"):
        compare(table(100), SCHEMA, out=out, **options)


def test_held_out_rows_are_not_the_table_itself(tmp_path):
    """As it was: the people of the table were said to pay nothing more for a choice that was made on them."""
    rows, file = table(50), tmp_path / "rows.csv"
    rows.to_csv(file, index=False)
    for data, real in ((rows, rows), (file, str(tmp_path / "." / "rows.csv"))):
        with pytest.raises(UsageError, match="real: this is the table that is learned from"):
            compare(data, SCHEMA, methods=METHODS, epsilon=1.0, out=tmp_path / "out", real=real)
    assert not (tmp_path / "out").exists()


def test_a_choice_that_was_not_charged_is_made_when_the_comparison_goes_on(tmp_path, monkeypatch):
    """As it was: a ledger without a charge, of a process that died at once, kept the choice from ever being made."""
    options = {"methods": METHODS, "epsilon": 1.0, "out": tmp_path / "out", "real": table(100, 1)}
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Ledger, "charge", interrupted_at(CHOICE, Ledger.charge))
        compare(table(100), SCHEMA, **options)
    assert (tmp_path / "out" / CHOICE_LEDGER).is_file()
    assert compare(table(100), SCHEMA, **options).chosen in METHODS


def interrupted_at(purpose, charge):
    def call(ledger, name, *rest, **more):
        if name == purpose:
            raise KeyboardInterrupt
        return charge(ledger, name, *rest, **more)

    return call


def test_files_of_held_out_rows_go_with_the_choice(tmp_path, monkeypatch):
    """As it was: private files into which a large table is spread were left to the end of the process."""
    closed = []
    monkeypatch.setattr(PrivateTable, "close", lambda self: closed.append(self))
    models = [method(name)(epsilon=1.0).fit(table(100), SCHEMA).fitted for name in METHODS]
    closed.clear()
    monkeypatch.setattr(Ledger, "charge", interrupted_at(CHOICE, Ledger.charge))
    with pytest.raises(KeyboardInterrupt):
        choose(models, table(10), SCHEMA, Budget(1.0, 1e-5), SeededNoise(0), tmp_path / "ledger")
    assert len(closed) == 1


def test_candidates_without_a_delta_share_what_there_is(tmp_path):
    """As it was: epsilon was split as for Gaussian noise, which has a delta, and the method that needs none was refused."""
    budget, vary = Budget(1.0, 0.0), {"noise": ["laplace"], "start": ["none"], "teachers": [10, 20]}
    estimators, together = split(candidates(["pate-gan"], vary), SCHEMA, budget)
    assert [one.epsilon for one in estimators] == [0.5, 0.5] and 0.98 < together <= 1.0
    with pytest.raises(UsageError, match="real: a choice is priced with a delta"):
        compare(table(10), SCHEMA, methods=METHODS, epsilon=1.0, delta=0.0, out=tmp_path / "out", real=table(10, 1))


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


@pytest.mark.parametrize(
    "words,said",
    [
        (["--methods", "mst", "--vary", "edges_share=0.1,0.10"], "--vary: edges_share has the value 0.1 twice"),
        (
            ["--methods", "mst", "--vary", "edges_share=0.1,a"],
            "--vary 'edges_share=0.1,a': option 'edges_share' must be",
        ),
        (["--methods", "mst", "--vary", "edges_share=0.1,-1"], "--vary: edges_share=-1 must be"),
        (
            ["--methods", "mst", "--vary", "teachers=1,2"],
            "--vary 'teachers=1,2': method 'mst' has no option 'teachers'",
        ),
        (["--methods", "mst", "--vary", "edges_share"], "--vary 'edges_share' is not of the form"),
        (["--methods", "mst,magic", "--vary", "edges_share=0.1"], "--methods: 'magic' is unknown"),
        (["--methods", "mst,magic"], "--methods: 'magic' is unknown"),
        (["--methods", "mst,mst"], "--methods: 'mst' is named twice"),
        (["--methods", "mst,"], "--methods 'mst,' has an empty name"),
        (["--delta", "2"], "--delta=2"),
        (["--real", "rows.csv"], "--real: this is the table"),
        (["--out", "rows.csv"], "--out: 'rows.csv' is a file"),
    ],
)
def test_the_command_names_the_option_and_leaves_nothing(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    table(20).to_csv("rows.csv", index=False)
    SCHEMA.save(tmp_path / "rows.yaml")
    assert command(["compare", "rows.csv", "--schema", "rows.yaml", "--epsilon", "1", "--out", "out", *words]) == 2
    assert said in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv", "rows.yaml"]


def test_interrupted_the_command_says_how_it_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table(20).to_csv("rows.csv", index=False)
    SCHEMA.save(tmp_path / "rows.yaml")
    words = [
        "compare",
        "rows.csv",
        "--schema",
        "rows.yaml",
        "--epsilon",
        "1",
        "--methods",
        "mst,independent",
        "--out",
        "out",
    ]
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "charge", interrupted_at("class histogram", Ledger.charge))
        assert command(words) == 130
    assert "The same command goes on" in capsys.readouterr().err and (tmp_path / "out" / RECORD).is_file()
    assert command(words) == 0


def test_settings_that_differ_at_their_ends_are_shown_whole(tmp_path, monkeypatch, capsys):
    """As it was: in a narrow terminal all names were cut to the same beginning."""
    monkeypatch.setenv("COLUMNS", "80")
    entries = [
        Entry(method=f"mst,edges_share=0.1,pairs_share=0.{end}", epsilon=0.7, folder="o", kept=None, kept_alone=None)
        for end in (25, 75)
    ]
    found = Comparison(
        epsilon=1.0,
        delta=1e-5,
        unit="one row",
        entries=tuple(entries),
        chosen=None,
        choice_epsilon=None,
        both_epsilon=None,
    )
    show({}, lambda: shown(found), False)
    said = "".join(capsys.readouterr().out.split())
    assert "25" in said and "75" in said


def test_library_errors_name_arguments(tmp_path):
    for options, start in (({"methods": ["mst"]}, "methods: "), ({"real": table(10)}, "real: ")):
        schema = SCHEMA if "methods" in options else Schema(columns=SCHEMA.columns)
        with pytest.raises(UsageError) as refused:
            compare(table(10), schema, **{"methods": METHODS, "epsilon": 1.0, "out": tmp_path / "out"} | options)
        assert str(refused.value).startswith(start) and "--" not in str(refused.value)


def interrupted(monkeypatch, rows, out):
    """A comparison that ended in its second fit."""
    right = run._fit

    def ends(name, *how):
        if name != METHODS[0]:
            raise KeyboardInterrupt
        return right(name, *how)

    monkeypatch.setattr(run, "_fit", ends)
    with pytest.raises(KeyboardInterrupt):
        compare(rows, SCHEMA, methods=METHODS, epsilon=2.0, out=out)
    monkeypatch.setattr(run, "_fit", right)


def test_a_comparison_goes_on_with_its_own_table_only(tmp_path, monkeypatch):
    """Models of one table beside models of another would be compared, and the charge would be for people who are not in it."""
    rows, other, out = tmp_path / "rows.csv", tmp_path / "other.csv", tmp_path / "out"
    table(200).to_csv(rows, index=False)
    table(200, 1).to_csv(other, index=False)
    interrupted(monkeypatch, rows, out)
    assert sealed(out).stat().st_mode & 0o777 == 0o600 and not (out / sealed(out).name).exists()
    with pytest.raises(UsageError, match="holds models of another table"):
        compare(other, SCHEMA, methods=METHODS, epsilon=2.0, out=out)
    assert not (out / METHODS[1]).exists()
    first = compare(rows, SCHEMA, methods=METHODS, epsilon=2.0, out=out)
    assert compare(rows, SCHEMA, methods=METHODS, epsilon=2.0, out=out) == first


def test_what_tells_the_table_goes_with_the_last_fit(tmp_path, monkeypatch):
    """Its digest and key together say whether a guess at a row is right. Kept for good, it was found beside published models."""
    rows, out = tmp_path / "rows.csv", tmp_path / "out"
    table(200).to_csv(rows, index=False)
    interrupted(monkeypatch, rows, out)
    assert sealed(out).exists()
    sealed(out).with_name(f".{sealed(out).name}.0a1b.part").write_text(
        "half of it"
    )  # of a run that was killed while it wrote
    compare(rows, SCHEMA, methods=METHODS, epsilon=2.0, out=out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows.csv"]
    shutil.rmtree(out / METHODS[1])  # of which table another one would be nobody can say now
    with pytest.raises(UsageError, match=f"the model of {METHODS[1]} was finished and is missing"):
        compare(rows, SCHEMA, methods=METHODS, epsilon=2.0, out=out)


def test_a_file_of_somebody_else_is_not_in_the_way_of_the_secret(tmp_path):
    mine, out = tmp_path / "out.table.json", tmp_path / "out"
    mine.write_text('{"mine": 1}')
    with pytest.raises(UsageError, match="is in the way of a secret file"):
        compare(table(200), SCHEMA, methods=METHODS, epsilon=2.0, out=out)
    assert mine.read_text() == '{"mine": 1}' and not (out / METHODS[0]).exists()


def test_a_comparison_in_the_folder_where_one_is(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    compare(table(200), SCHEMA, methods=METHODS, epsilon=2.0, out=".")
    assert {METHODS[0], METHODS[1], "result.json"} <= {path.name for path in (tmp_path / "here").iterdir()}


def test_a_finished_model_that_is_gone_is_not_fitted_again_for_nothing(tmp_path, monkeypatch):
    """The charge is for one model of each method: moved away and fitted again, there would be two with one price."""
    rows, out = tmp_path / "rows.csv", tmp_path / "out"
    table(200).to_csv(rows, index=False)
    interrupted(monkeypatch, rows, out)
    (out / METHODS[0]).rename(tmp_path / "mine")
    with pytest.raises(UsageError, match=f"the model of {METHODS[0]} was finished and is missing"):
        compare(rows, SCHEMA, methods=METHODS, epsilon=2.0, out=out)
    (tmp_path / "mine").rename(out / METHODS[0])
    compare(rows, SCHEMA, methods=METHODS, epsilon=2.0, out=out)


def test_what_a_killed_fit_left_goes_when_its_model_is_taken(tmp_path, monkeypatch):
    """Killed after the model was written and before its checkpoint went, which holds answers, rows and what tells the table."""
    rows, out = tmp_path / "rows.csv", tmp_path / "out"
    table(200).to_csv(rows, index=False)
    with monkeypatch.context() as killed:
        killed.setattr(Checkpoint, "remove", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            compare(rows, SCHEMA, methods=METHODS, epsilon=2.0, out=out)
    assert (out / METHODS[0] / "model.json").exists() and (out / f"{METHODS[0]}.checkpoint").exists()
    compare(rows, SCHEMA, methods=METHODS, epsilon=2.0, out=out)
    assert not [path.name for path in out.iterdir() if path.name.endswith(".checkpoint")]
