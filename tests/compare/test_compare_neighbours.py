"""Two files of a comparison that differ in one person, with the same releases: everything else that leaves is the same.

The answers of the first run stand in for those of the second, whose own are asked for all the same. What is written, printed and
returned must then be equal byte by byte, and so must every question.
"""

import re
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
import pytest

import understudy.compare.run as own
from understudy import cli
from understudy.compare.choice import CHOICE
from understudy.compare.folder import CHOICE_LEDGER
from understudy.private import Curator, Release
from understudy.questions import digest
from understudy.schema import Column, Schema

SCHEMA = Schema(
    columns=(
        Column(name="who", kind="identifier"),
        Column(name="x", kind="continuous", lower=0, upper=1),
        Column(name="z", kind="categorical", categories=("a", "b"), missing=True),
        Column(name="y", kind="categorical", categories=(0, 1)),
    ),
    label="y",
    unit="who",
    max_rows_per_unit=2,
)
ODD = (
    b'P9,1e999,"a,1\n',  # a quote that is left open
    b"P9,\xff\xfe,nobody,7\nP9,0.5,b,1\nP9,0.1,a,0,more,than,that\n",  # no UTF-8, a class that there is not, too many rows
    b"P9\n",
)
ASK = Curator.ask


@dataclass
class Run:
    """What a run was asked for, and all that left it. `said`: the answers of another run, which stand in for its own."""

    said: list[Any] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    questions: list[tuple[str, str]] = field(default_factory=list)
    left: dict[str, Any] = field(default_factory=dict)

    def ask(self, curator: Curator, purpose: str, question: Any) -> Release[Any]:
        release = ASK(curator, purpose, question)
        self.questions.append((purpose, digest(question)))
        value = self.said[len(self.answers)] if self.said else release.value
        self.answers.append(deepcopy(value))
        return Release(deepcopy(value), release.event)


def compared(tmp_path, capfd, tables: dict[str, bytes], said: list[Any]) -> Run:
    for name, content in tables.items():
        (tmp_path / name).write_bytes(content)
    SCHEMA.save(tmp_path / "rows.yaml")
    run, out = Run(said), tmp_path / "out"
    words = [
        "compare",
        tmp_path / "t.csv",
        "--schema",
        tmp_path / "rows.yaml",
        "--real",
        tmp_path / "r.csv",
        "--seed",
        3,
    ]
    words += ["--epsilon", 2, "--out", out, "--methods", "mst", "--vary", "steps=20,40", "--vary", "edges_share=0.1"]
    with mock.patch.object(Curator, "ask", lambda *arguments: run.ask(*arguments)):
        run.left["code"] = cli.run([str(word) for word in words])
    captured = capfd.readouterr()
    run.left["words"] = re.sub(r"in \d+ s", "in N s", captured.out + captured.err)
    files = sorted(file for file in out.rglob("*") if file.is_file())
    secret = {CHOICE_LEDGER}  # it holds digests of noise, which is new in every run; its lines are the charges
    run.left["files"] = {
        str(file.relative_to(out)): file.read_bytes().count(b"\n") if file.name in secret else file.read_bytes()
        for file in files
    }
    run.left["modes"] = {str(file.relative_to(out)): file.stat().st_mode for file in files}
    for file in sorted(out.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    out.rmdir()
    return run


def lines(rows: int, seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    y, x = rng.integers(0, 2, rows), rng.random(rows)
    return b"who,x,z,y\n" + b"".join(b"P%d,%.3f,%s,%d\n" % (i, x[i], b"ab"[y[i] :][:1], y[i]) for i in range(rows))


def pair(tmp_path, capfd, which: str, rows: int, odd: bytes) -> tuple[Run, Run]:
    tables = {"t.csv": lines(rows, 0), "r.csv": lines(rows, 1)}
    first = compared(tmp_path, capfd, tables, [])
    tables[which] += odd
    return first, compared(tmp_path, capfd, tables, first.answers)


@pytest.mark.parametrize("rows,odd", [(60, ODD[0]), (60, ODD[1]), (0, ODD[2]), (0, b"P9,0.5,a,1\n")])
@pytest.mark.parametrize("which", ["t.csv", "r.csv"])
def test_whatever_leaves_a_comparison_is_bought(tmp_path, capfd, which, rows, odd):
    first, second = pair(tmp_path, capfd, which, rows, odd)
    assert first.left["code"] == 0
    assert [purpose for purpose, _ in first.questions].count(CHOICE) == 1
    assert second.questions == first.questions
    assert second.left == first.left


def test_a_remark_about_held_out_rows_is_seen(tmp_path, capfd):
    """The mutant: how many held-out rows there are is said on the screen."""
    choose = own.choose

    def remark(models, real, *rest):
        print(real.read_bytes().count(b"\n"))
        return choose(models, real, *rest)

    with mock.patch.object(own, "choose", remark):
        first, second = pair(tmp_path, capfd, "r.csv", 60, ODD[1])
    assert second.left != first.left
