"""The commands of the tutorials, as they stand in the documentation, on a tiny table."""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy import cli

slow = pytest.mark.slow  # whole commands, one after the other: ten seconds each

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCHEMA = """understudy: schema
label: {column: ill}
unit: {column: patient, max_rows: 4}
columns:
  patient: {kind: identifier}
  age: {kind: integer, lower: 0, upper: 99}
  hours: {kind: integer, lower: 0, upper: 99}
  ill: {kind: categorical, categories: ["no", "yes"]}
"""


def commands(page: str, heading: str) -> list[list[str]]:
    """The indented commands under a heading."""
    text = (DOCS / page).read_text()
    part = re.split(r"\n## ", text.split(f"\n## {heading}\n", 1)[1])[0]
    return [shlex.split(line, comments=True) for line in re.findall(r"^    (understudy .*)$", part, re.M)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    random, rows = np.random.default_rng(0), 400
    who = [f"2026-{number:05}" for number in random.permutation(5000)[:rows]]
    age = random.integers(20, 90, rows)
    frame = pd.DataFrame({"patient": who, "age": age, "hours": random.integers(0, 60, rows)})
    frame["ill"] = np.where(random.random(rows) < age / 120, "yes", "no")
    for name in ("visits", "held-out", "q1", "q2"):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "visits.yaml").write_text(SCHEMA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(words, *more):
    assert cli.run([*words[1:], *more]) == 0, words


@slow
def test_analyse_a_stand_in(folder, capsys):
    steps = commands("inference.md", "Analyse a stand-in")
    assert len(steps) == 4
    for words in steps:
        run(words)
    out = capsys.readouterr().out
    assert out.count("95% interval") == 3
    assert sorted(path.name for path in (folder / "copies").iterdir()) == [f"visits-0{n}.csv" for n in range(1, 6)]


def test_release_every_quarter(folder, capsys):
    run(shlex.split("understudy account create hospital.account --unit patient --epsilon 3 --delta 1e-5"))
    steps = commands("account.md", "Release every quarter")
    assert len(steps) == 2
    for number, words in enumerate(steps):
        run(words, "--method", "independent", "--out", f"m{number}")
    said = capsys.readouterr().out
    totals = [float(found) for found in re.findall(r"together epsilon ([\d.]+) of 3", said)]
    assert len(totals) == 2 and totals[0] == pytest.approx(totals[1], rel=1e-3) and totals[1] < 1.01


@slow
def test_publish_the_quality_with_the_table(folder, capsys):
    steps = commands("how-to/publish-quality.md", "The commands")
    assert len(steps) == 5
    for words in steps:
        run(words)
    said = capsys.readouterr().out
    assert "pairs of columns" in said and "published evaluation" in said
    assert (folder / "quality/release.html").exists()
