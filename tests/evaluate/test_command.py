"""`understudy evaluate` end to end, in this process."""

import json

import pytest

from understudy.cli import run
from understudy.evaluate.result import Evaluation

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture
def files(tmp_path, patients, schema):
    patients(150, 1).to_csv(tmp_path / "train.csv", index=False)
    patients(100, 2).to_csv(tmp_path / "test.csv", index=False)
    patients(120, 3).to_parquet(tmp_path / "fake.parquet", index=False)
    schema.save(tmp_path / "s.yaml")
    return tmp_path


def words(folder, *more: str) -> list[str]:
    return [
        "evaluate", "--real", str(folder / "test.csv"), "--synthetic", str(folder / "fake.parquet"),
        "--schema", str(folder / "s.yaml"), "--out", str(folder / "out"), "--models", "logistic,tree", "--jobs", "1",
        *more,
    ]  # fmt: skip


def test_command_writes_the_result_and_prints_it(files, capsys):
    more = ("--train", str(files / "train.csv"), "--by", "city", "--json")
    assert run(words(files, *more)) == 0
    printed = json.loads(capsys.readouterr().out)
    saved = Evaluation.load(files / "out" / "result.json")
    assert printed == saved.to_dict()
    assert saved.header.certificate is None and saved.release.origin is None
    assert [s.name for s in saved.utility.settings] == ["A", "B", "C"]
    assert saved.fidelity.violations == ()  # CSV and Parquet are read into the same types
    assert not list((files / "out").glob("*.part"))


def test_text_shows_the_banner_first(files, capsys):
    assert run(words(files, "--metrics", "fidelity")) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("NOT PRIVATE") and "pairs of columns" in shown.out and "no dependence" in shown.out


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--models", "nosuch"), "--models: unknown model"),
        (("--metrics", "nosuch"), "unknown family"),
        (("--train", "nosuch.csv"), "no such file"),
        (("--model-dir", "nosuch"), "not a model folder"),
        (("--image-shape", "big"), "--image-shape"),
    ],
)
def test_usage_errors_are_one_line_and_code_2(files, more, message, capsys):
    assert run(words(files, *more)) == 2
    error = capsys.readouterr().err.strip()
    assert error.splitlines()[-1].startswith("error: ") and message in error.splitlines()[-1]
    assert not (files / "out").exists()
