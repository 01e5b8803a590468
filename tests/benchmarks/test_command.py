"""`python -m benchmarks` from the shell: exit codes, one JSON object a line, files left behind."""

import json

import pandas as pd
import pytest

from benchmarks import cells as cell_module
from benchmarks.command import run as cli
from understudy.schema import Schema

from .fakes import resolve, score


@pytest.fixture(autouse=True)
def fakes(monkeypatch):
    monkeypatch.setattr(cell_module, "_method", resolve)
    monkeypatch.setattr(cell_module, "_score", score)
    monkeypatch.setattr(
        "benchmarks.command._check_methods", lambda names: [resolve(name) for name in names if name != "real"]
    )


def suite_run(out, *more):
    return cli(
        [
            "run",
            "--suite",
            "builtin",
            "--datasets",
            "breast-cancer",
            "--methods",
            "resample",
            "--seeds",
            "2",
            "--jobs",
            "1",
            "--out",
            str(out),
            *more,
        ]
    )


def test_list(capsys):
    assert cli(["list"]) == 0
    text = capsys.readouterr().out
    assert "pate-gan-table-2" in text and "UCI ML repository: Adult" in text
    assert cli(["list", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"suites", "datasets", "published"}


def test_run_prints_cells_then_tables_and_leaves_files(tmp_path, capsys):
    assert suite_run(tmp_path) == 0
    out, err = capsys.readouterr()
    assert "ours mean (sd)" in out and "[4/4]" in err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["builtin.html", "builtin.jsonl", "builtin.md"]
    assert "Breast Cancer Wisconsin" in (tmp_path / "builtin.md").read_text()


def test_json_prints_just_the_cells(tmp_path, capsys):
    assert suite_run(tmp_path, "--json", "--set", "noise=0.5", "--epsilon", "1,2") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 2 * 3
    assert {line["epsilon"] for line in lines} == {None, 1.0, 2.0}
    assert all(line["options"] == {"noise": 0.5} for line in lines if line["method"] == "resample")


def test_quick_results_have_their_own_file(tmp_path):
    assert suite_run(tmp_path, "--quick") == 0
    assert (tmp_path / "builtin-quick.jsonl").exists()
    assert "not comparable with published numbers" in (tmp_path / "builtin-quick.md").read_text()


def test_wrong_use_is_one_line_and_exit_code_2(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("UNDERSTUDY_DATA", raising=False)
    for words, expected in {
        ("--suite", "builtins"): "did you mean 'builtin'",
        ("--suite", "builtin", "--datasets", "adult"): "is not in suite",
        ("--suite", "builtin", "--epsilon", "one"): "--epsilon",
        ("--suite", "builtin", "--methods", "magic"): "unknown method 'magic'",
        ("--suite", "mixed"): "UCI ML repository",
    }.items():
        assert cli(["run", *words, "--out", str(tmp_path / "o")]) == 2, words
        err = capsys.readouterr().err
        assert err.startswith("error: ") and err.count("\n") == 1 and expected in err


def test_sweep_draws(tmp_path, capsys):
    words = [
        "--dataset",
        "breast-cancer",
        "--methods",
        "resample",
        "--epsilon",
        "0.1,1,10",
        "--seeds",
        "1",
        "--jobs",
        "1",
    ]
    assert cli(["sweep", *words, "--out", str(tmp_path)]) == 0
    assert (tmp_path / "sweep-breast-cancer-epsilon-auroc.svg").read_text().startswith("<svg")
    assert "drawn:" in capsys.readouterr().out
    words[5] = "1"
    assert cli(["sweep", *words, "--teachers", "N/50,N/10", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "sweep-breast-cancer-teachers-auroc.svg").exists()


def test_export_and_schema(tmp_path, capsys):
    assert cli(["export", "breast-cancer", "--out", str(tmp_path / "task")]) == 0
    schema = Schema.load(tmp_path / "task" / "schema.yaml")
    train = pd.read_parquet(tmp_path / "task" / "train.parquet")
    assert list(train.columns) == [column.name for column in schema.columns]
    capsys.readouterr()
    assert cli(["schema", "adult"]) == 0
    assert "education-num" in capsys.readouterr().out
    assert cli(["schema", "nothing"]) == 2


def test_readme_command(tmp_path, capsys):
    (tmp_path / "README.md").write_text("<!-- results -->\n<!-- /results -->\n")
    words = ["readme", "--readme", str(tmp_path / "README.md"), "--results", str(tmp_path)]
    assert cli(words) == 0
    assert "No results yet" in capsys.readouterr().out
    assert cli([*words[:2], str(tmp_path / "absent.md")]) == 2


def test_speed_names_its_parts(capsys):
    assert cli(["speed", "everything"]) == 2
    assert "there are: round" in capsys.readouterr().err
