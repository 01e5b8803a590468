"""The commands on a small table, end to end: what a user types, what comes out, what is left on disk."""

import json
import os
import shutil
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import numpy as np
import pandas as pd
import pytest

from understudy import cli

# Many teachers for few rows: shards are as large whatever the noisy counts are, so that all fits are one program.
STEPS = ("votes_share=0.1", "rounds=2", "student_steps=2", "generator_steps=2", "teacher_steps=2", "teachers=10000")
QUICK = ["--method=pate-gan", *(f"--set={pair}" for pair in STEPS)]
SECRET = 31337.25  # a value that stands in one row and must never be printed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, its schema and a fitted model."""
    place = tmp_path_factory.mktemp("commands")
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 400)
    frame = pd.DataFrame(
        {
            "amount": rng.normal(50 + 20 * label, 10).round(2),
            "city": rng.choice(["Ayr", "Bonn"], 400),
            "count": rng.poisson(3, 400),
            "label": label,
        }
    )
    frame.loc[0, "amount"] = SECRET
    frame.to_csv(place / "rows.csv", index=False)
    (place / "rows.yaml").write_text(
        "understudy: schema\n"
        "label: {column: label, positive: 1}\n"
        "columns:\n"
        "  amount: {kind: continuous, lower: 0, upper: 100}\n"
        "  city: {kind: categorical, categories: [Ayr, Bonn]}\n"
        "  count: {kind: integer, lower: 0, upper: 20}\n"
        "  label: {kind: categorical, categories: [0, 1], dtype: int64}\n"
    )
    options = "{" + ", ".join(pair.replace("=", ": ") for pair in STEPS) + "}"
    run = "data: rows.csv\nschema: rows.yaml\nmethod: pate-gan\nepsilon: 1\nout: model\n"
    (place / "run.yaml").write_text(f"{run}options: {options}\n")
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = cli.run(["fit", "--config", str(place / "run.yaml"), "--seed", "0"])
    (place / "out.txt").write_text(out.getvalue())
    (place / "err.txt").write_text(err.getvalue())
    assert code == 0, err.getvalue()
    return place


def command(capsys, *words: object) -> tuple[int, str, str]:
    capsys.readouterr()
    code = cli.run([str(word) for word in words])
    captured = capsys.readouterr()
    assert str(SECRET) not in captured.out + captured.err
    return code, captured.out, captured.err


def refused(capsys, *words: object) -> str:
    """The one line of a command that must be refused with code 2."""
    code, out, err = command(capsys, *words)
    assert (code, out) == (2, ""), err
    assert err.startswith("error: ") and err.count("\n") == 1
    return err


# -- schema ------------------------------------------------------------------------------------------------------------
def test_schema_check_names_columns_and_exits_with_1(folder, capsys):
    code, out, _ = command(capsys, "schema", "check", folder / "rows.csv", "--schema", folder / "rows.yaml", "--json")
    answer = json.loads(out)
    assert code == 1 and answer["fits"] is False
    assert any("amount" in problem for problem in answer["problems"])


# -- plan --------------------------------------------------------------------------------------------------------------
def test_plan_prints_costs_before_a_row_is_read(folder, capsys):
    code, out, _ = command(capsys, "plan", folder / "rows.yaml", "--epsilon", "1", *QUICK)
    assert code == 0
    assert "teacher votes" in out and "all together" in out and "Can it work?" in out


def test_plan_as_json_adds_up(folder, capsys):
    code, out, _ = command(capsys, "plan", folder / "rows.yaml", "--epsilon", "1", "--json", *QUICK)
    answer = json.loads(out)
    assert code == 0
    assert 0.99 <= answer["epsilon_planned"] <= 1
    assert sum(part["share"] for part in answer["shares"]) == pytest.approx(1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--epsilon", "0"], "epsilon"),
        (["--epsilon", "-1"], "epsilon"),
        (["--epsilon", "nan"], "epsilon"),
        (["--epsilon", "1e9"], "epsilon"),
        (["--epsilon", "1", "--delta", "1"], "delta"),
        (["--epsilon", "1", "--delta", "0"], "delta"),
        (["--epsilon", "1", "--method", "magic"], "pate-gan"),
        (["--epsilon", "1", "--method", "pate-gan", "--set", "rounds=none"], "rounds"),
        (["--epsilon", "1", "--method", "pate-gan", "--set", "rounds=0"], "rounds"),
        (["--epsilon", "1", "--method", "pate-gan", "--set", "noise=loud"], "noise"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_plan_refuses_what_makes_no_sense(folder, capsys, words, message):
    assert message in refused(capsys, "plan", folder / "rows.yaml", *words)


# -- fit ---------------------------------------------------------------------------------------------------------------
def test_fit_reports_progress_and_the_guarantee(folder):
    out, err = (folder / "out.txt").read_text(), (folder / "err.txt").read_text()
    assert "epsilon" in out and "one row" in out
    assert "learning 2/2" in err and "spent of 1" in err
    spent = [float(line.split("epsilon ")[1].split()[0]) for line in err.splitlines() if " spent of 1" in line]
    asking = [line for line in err.splitlines() if line.startswith("asking: ")]
    assert spent == sorted(spent) and spent[0] == 0 and asking  # a question is charged before it is answered
    assert not [line for line in asking if "epsilon 0 spent" in line]
    assert str(SECRET) not in out + err
    expected = ["err.txt", "model", "out.txt", "rows.csv", "rows.yaml", "run.yaml"]
    assert sorted(os.listdir(folder)) == expected  # no checkpoint is left


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("none.csv", None, "none.csv"),
        ("empty.csv", b"", "empty.csv"),
        ("other.csv", b"a,b\n1,2\n", "amount"),
        ("twice.csv", b"amount,amount,city,count,label\n1,1,Ayr,1,1\n", "amount"),
        ("broken.parquet", b"PAR1 and then nothing", "broken.parquet"),
        ("letter.docx", b"x", "letter.docx"),
    ],
)
def test_fit_refuses_files_that_are_no_such_table(folder, tmp_path, capsys, file, content, message):
    if content is not None:
        (tmp_path / file).write_bytes(content)
    before = sorted(os.listdir(tmp_path))
    words = ["fit", tmp_path / file, "--schema", folder / "rows.yaml", "--epsilon", "1", "--out", tmp_path / "m"]
    assert message in refused(capsys, *words, "--quiet", *QUICK)
    assert sorted(os.listdir(tmp_path)) == before


def test_fit_refuses_places_it_cannot_use(folder, tmp_path, capsys):
    words = ["fit", folder / "rows.csv", "--schema", folder / "rows.yaml", "--epsilon", "1", "--quiet", *QUICK]
    (tmp_path / "file").write_text("")
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("")
    assert "is a file" in refused(capsys, *words, "--out", tmp_path / "file")
    assert "holds files" in refused(capsys, *words, "--out", tmp_path / "letters")
    assert "did not write" in refused(capsys, *words, "--out", tmp_path / "letters", "--overwrite")
    assert "cannot write" in refused(capsys, *words, "--out", tmp_path / "file" / "model")
    assert "no checkpoint" in refused(capsys, *words, "--out", tmp_path / "model", "--resume")
    assert "none.yaml" in refused(capsys, "fit", folder / "rows.csv", "--schema", "none.yaml", "--epsilon", "1")


def test_fit_interrupted_in_its_opening_can_go_on_or_says_what_it_spent(folder, tmp_path, capsys, monkeypatch):
    from understudy import progress as _progress

    told = _progress.FitProgress.__call__

    def impatient(self, event):
        told(self, event)
        if event["stage"] == "begin":
            raise KeyboardInterrupt

    words = ["fit", folder / "rows.csv", "--schema", folder / "rows.yaml", "--epsilon", "1", "--out", tmp_path / "m"]
    words += QUICK
    with monkeypatch.context() as patch:
        patch.setattr(_progress.FitProgress, "__call__", impatient)
        code, _, err = command(capsys, *words)
    assert code == 130
    assert "The same command with --resume goes on and charges nothing twice." in err
    assert "unfinished fit that has spent budget" in refused(capsys, *words, "--quiet")
    (tmp_path / "m.checkpoint" / "record.json").unlink()  # as of a fit that cannot go on
    for again in (words, [*words, "--resume"]):
        said = refused(capsys, *again, "--quiet")
        assert "had charged epsilon 0." in said and "move the folder away" in said and "=True" not in said
    assert sorted(os.listdir(tmp_path)) == ["m.checkpoint"]


def test_fit_interrupted_goes_on_with_resume(folder, tmp_path, capsys, monkeypatch):
    from understudy import progress as _progress

    told = _progress.FitProgress.__call__

    def impatient(self, event):
        told(self, event)
        if event["stage"] == "rounds" and event["round"] >= 1:
            raise KeyboardInterrupt

    words = ["fit", folder / "rows.csv", "--schema", folder / "rows.yaml", "--epsilon", "1", "--out", tmp_path / "m"]
    words += QUICK
    with monkeypatch.context() as patch:
        patch.setattr(_progress.FitProgress, "__call__", impatient)
        code, _, err = command(capsys, *words)
    assert code == 130
    assert "--resume" in err and err.endswith("error: interrupted\n")
    assert sorted(os.listdir(tmp_path)) == ["m.checkpoint"]
    assert "go on with --resume, or move the folder away" in refused(capsys, *words, "--quiet")
    code, out, err = command(capsys, *words, "--resume", "--json")
    assert (code, err) == (0, "")
    answer = json.loads(out)
    assert answer["epsilon"] <= 1 and answer["valid"] is True
    assert sorted(os.listdir(tmp_path)) == ["m"]
    assert command(capsys, "certificate", "verify", tmp_path / "m")[0] == 0


def test_an_interrupt_after_the_model_was_written_is_no_failure(folder, tmp_path, capsys, monkeypatch):
    from understudy.private.checkpoint import Checkpoint

    def late(self):
        raise KeyboardInterrupt

    words = ["fit", folder / "rows.csv", "--schema", folder / "rows.yaml", "--epsilon", "1", "--out", tmp_path / "m"]
    monkeypatch.setattr(Checkpoint, "remove", late)
    code, _, err = command(capsys, *words, "--method", "independent", "--force")
    assert code == 0 and "the fit was done" in err
    assert command(capsys, "certificate", "verify", tmp_path / "m")[0] == 0


def test_a_fit_that_was_killed_before_its_checkpoint_went_is_finished_by_resume(folder, tmp_path, capsys, monkeypatch):
    from understudy.private.checkpoint import Checkpoint

    words = ["fit", folder / "rows.csv", "--schema", folder / "rows.yaml", "--epsilon", "1", "--out", tmp_path / "m"]
    words += ["--method", "independent", "--force", "--seed", "0", "--quiet"]
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "remove", lambda self: None)
        assert command(capsys, *words)[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["m", "m.checkpoint"]
    before = (tmp_path / "m" / "weights.safetensors").read_bytes()
    shutil.move(tmp_path / "m", tmp_path / "own")
    shutil.copytree(folder / "model", tmp_path / "m")  # somebody else's is not replaced
    assert "add --overwrite" in refused(capsys, *words, "--resume")
    shutil.rmtree(tmp_path / "m")
    shutil.move(tmp_path / "own", tmp_path / "m")
    assert command(capsys, *words, "--resume")[0] == 0
    assert os.listdir(tmp_path) == ["m"]
    assert (tmp_path / "m" / "weights.safetensors").read_bytes() == before


# -- sample ------------------------------------------------------------------------------------------------------------
def test_sample_writes_the_rows_asked_for(folder, tmp_path, capsys):
    words = ["sample", folder / "model", "--rows", "50", "--seed", "3"]
    assert command(capsys, *words, "--out", tmp_path / "a.csv")[0] == 0
    code, out, _ = command(capsys, *words, "--out", tmp_path / "new" / "a.parquet", "--json")
    assert code == 0 and json.loads(out)["rows"] == 50
    csv, parquet = pd.read_csv(tmp_path / "a.csv"), pd.read_parquet(tmp_path / "new" / "a.parquet")
    assert list(parquet.columns) == ["amount", "city", "count", "label"]
    assert [str(kind) for kind in parquet.dtypes[["amount", "count", "label"]]] == ["float64", "int64", "int64"]
    pd.testing.assert_frame_equal(csv, parquet, check_dtype=False)
    assert str(folder / "model") and "exists already" in refused(capsys, *words, "--out", tmp_path / "a.csv")


def test_sample_without_a_number_takes_the_noisy_count(folder, tmp_path, capsys):
    code, out, _ = command(capsys, "sample", folder / "model", "--out", tmp_path / "a.csv", "--json")
    assert code == 0
    assert json.loads(out)["rows"] == len(pd.read_csv(tmp_path / "a.csv")) > 0


def test_sample_where(folder, tmp_path, capsys):
    words = ["sample", folder / "model", "--rows", "50"]
    assert command(capsys, *words, "--where", "label=1", "--out", tmp_path / "a.csv")[0] == 0
    assert set(pd.read_csv(tmp_path / "a.csv")["label"]) == {1}
    assert "no value '7'" in refused(capsys, *words, "--where", "label=7", "--out", tmp_path / "b.csv")
    assert "and not given column 'city'" in refused(capsys, *words, "--where", "city=Ayr", "--out", tmp_path / "b.csv")
    assert not (tmp_path / "b.csv").exists()


def test_sample_refuses_other_endings(folder, tmp_path, capsys):
    assert "a.xlsx" in refused(capsys, "sample", folder / "model", "--rows", "5", "--out", tmp_path / "a.xlsx")
    assert os.listdir(tmp_path) == []


# -- certificate -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", ["text", "json", "registry"])
def test_certificate_show(folder, capsys, form):
    code, out, _ = command(capsys, "certificate", "show", folder / "model", "--format", form)
    assert code == 0 and "epsilon" in out


def test_certificate_verify_holds_and_notices_changes(folder, tmp_path, capsys):
    code, out, _ = command(capsys, "certificate", "verify", folder / "model", "--json")
    assert code == 0 and json.loads(out)["holds"] is True
    shutil.copytree(folder / "model", tmp_path / "model")
    file = tmp_path / "model" / "model.json"
    file.write_text(file.read_text() + "\n")
    code, out, _ = command(capsys, "certificate", "verify", tmp_path / "model")
    assert code == 1
    assert "model.json" in out and "does NOT hold" in out


@pytest.mark.parametrize("damage", ["missing", "empty", "foreign"])
@pytest.mark.parametrize("file", ["model.json", "weights.safetensors", "plan.json", "ledger.json"])
def test_damaged_models_are_refused(folder, tmp_path, capsys, file, damage):
    shutil.copytree(folder / "model", tmp_path / "model")
    target = tmp_path / "model" / file
    if damage == "missing":
        target.unlink()
    else:
        target.write_bytes(b"" if damage == "empty" else b"\x80\x04 something else")
    assert refused(capsys, "sample", tmp_path / "model", "--rows", "5", "--out", tmp_path / "a.csv")
    assert sorted(os.listdir(tmp_path)) == ["model"]


def test_a_folder_that_is_no_model_is_refused(tmp_path, capsys):
    for words in (["sample", tmp_path, "--rows", "5", "--out", tmp_path / "a.csv"], ["certificate", "show", tmp_path]):
        assert refused(capsys, *words)
    assert refused(capsys, "certificate", "verify", tmp_path / "none")


def test_without_a_method_the_adviser_chooses_and_says_why(folder, capsys, tmp_path):
    code, out, _ = command(capsys, "plan", folder / "rows.yaml", "--epsilon", "1", "--rows", "40000", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["method"] == answer["advice"]["method"]
    assert answer["advice"]["why"] and answer["advice"]["expect"]
    code, out, _ = command(capsys, "plan", folder / "rows.yaml", "--epsilon", "1", "--rows", "40", "--method", "auto")
    assert code == 0
    assert "Which method?" in out and "No method" in out


def test_who_names_a_method_is_not_advised(folder, capsys, tmp_path, monkeypatch):
    def asked(*_, **__):
        raise AssertionError("the adviser was asked")

    monkeypatch.setattr("understudy.adviser.advice.advise", asked)
    named = ("--epsilon", "1", "--method", "independent")
    code, out, _ = command(capsys, "plan", folder / "rows.yaml", *named, "--rows", "40")
    assert code == 0 and "Which method?" not in out
    code, out, _ = command(capsys, "plan", folder / "rows.yaml", *named, "--json")
    assert code == 0 and "advice" not in json.loads(out)
    words = ("fit", folder / "rows.csv", "--schema", folder / "rows.yaml")
    assert command(capsys, *words, *named, "--out", tmp_path / "m")[0] == 0
    # The trap does catch who asks: `plan` and `fit` without a method.
    assert command(capsys, "plan", folder / "rows.yaml", "--epsilon", "1")[0] == 70
    assert command(capsys, *words, "--epsilon", "1", "--out", tmp_path / "n")[0] == 70


def test_pictures_go_in_and_come_out_and_the_hint_can_be_followed(tmp_path, capsys, monkeypatch):
    """From an NPZ to Parquet and PNG; CSV, which has no pictures, is not what `fit` advises."""
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "scans.npz", scan=rng.integers(0, 256, (60, 4, 4)).astype(np.uint8), ill=rng.integers(0, 2, 60))
    (tmp_path / "scans.yaml").write_text(
        "understudy: schema\nlabel: {column: ill, positive: 1}\ncolumns:\n"
        "  scan: {kind: image, height: 4, width: 4}\n"
        "  ill: {kind: categorical, categories: [0, 1], dtype: int64}\n"
    )
    monkeypatch.chdir(tmp_path)
    code, out, err = command(
        capsys, "fit", "scans.npz", "--schema=scans.yaml", "--epsilon=1", "--method=mean-embedding", "--out=model"
    )
    assert code == 0, err
    (hint,) = [line for line in (out + err).splitlines() if line.startswith("next: understudy ")]
    code, _, err = command(capsys, *hint.removeprefix("next: understudy ").split())
    assert code == 0, err
    made = pd.read_parquet("synthetic.parquet")
    assert len(made) == 1000 and all(len(scan) == 16 for scan in made["scan"])
    code, _, err = command(capsys, "sample", "model", "--rows=10", "--out=grid.png")
    assert code == 0 and (tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")


# -- engines -----------------------------------------------------------------------------------------------------------


def test_a_name_without_an_ending_gets_a_folder_of_parts(capsys, folder, tmp_path):
    code, _, err = command(capsys, "sample", folder / "model", "--rows", 50, "--seed", 1, "--out", tmp_path / "rows")
    assert code == 0, err
    assert [file.name for file in (tmp_path / "rows").iterdir()] == ["part-00000.parquet"]
    assert (tmp_path / "rows.manifest.json").is_file()
    command(capsys, "sample", folder / "model", "--rows", 50, "--seed", 1, "--out", tmp_path / "rows.parquet")
    assert pd.read_parquet(tmp_path / "rows").equals(pd.read_parquet(tmp_path / "rows.parquet"))
    said = refused(capsys, "sample", folder / "model", "--rows", 50, "--out", tmp_path / "rows")
    assert "--overwrite" in said


def test_engines_are_checked_and_unknown_ones_refused(capsys, folder, tmp_path):
    code, out, _ = command(capsys, "engine", "check", "--engine", "inline", "--json")
    assert code == 0 and json.loads(out)["closed"]
    fitting = [
        "fit",
        folder / "rows.csv",
        "--schema",
        folder / "rows.yaml",
        "--epsilon",
        1,
        "--out",
        tmp_path / "other",
    ]
    for words in (
        ["engine", "check"],
        ["sample", folder / "model", "--rows", 9, "--out", tmp_path / "few.csv", "--quiet"],
        [*fitting, "--method=independent", "--force", "--quiet"],
    ):
        assert "engine 'dask' is unknown" in refused(capsys, *words, "--engine", "dask")
    assert list(tmp_path.iterdir()) == []
