"""Neighbouring held-out files through `understudy evaluate --publish`: whatever is published is bought.

The second file of a pair is asked with the first one's releases in the place of its own: every question, every file and every
word must then be the same, and exact answers lie apart by no more than their price.
"""

from unittest import mock

import pytest

from understudy import cli
from understudy.private import Curator
from understudy.published import run
from understudy.questions import digest
from understudy.schema import Schema

from ..questions.test_questions import moved
from .people import SCHEMA, table

ODD = '"'  # an open quote: all cells of the line are missing


class Heard:
    """What was asked, and all that left."""

    def __init__(self, said=None):
        self.said, self.questions, self.exact, self.answers = said, [], [], []

    def release(self, curator, purpose, question, compute):
        curator._ledger.charge(purpose, question.event, token=f"question {len(self.answers)}", digest=digest(question))
        self.questions.append((purpose, question))
        self.exact.append(curator._exact(purpose, question))
        self.answers.append(compute() if self.said is None else self.said[len(self.answers)])
        return self.answers[-1]

    def publish(self, folder, out, capfd):
        words = ["evaluate", "--synthetic", folder / "synthetic.csv", "--real", folder / "held-out.csv"]
        words += ["--schema", folder / "schema.json", "--publish", "--epsilon", 0.5, "--models", "logistic,tree"]
        with mock.patch.object(Curator, "_release", lambda *arguments: self.release(*arguments)):
            self.code = cli.run([str(word) for word in (*words, "--out", out)])
        self.words = "".join(capfd.readouterr()).replace(str(out), "OUT")
        self.files = {file.name: file.read_bytes() for file in out.iterdir()}
        return self


@pytest.fixture
def folder(tmp_path):
    SCHEMA.save(tmp_path / "schema.json")
    assert Schema.load(tmp_path / "schema.json") == SCHEMA
    table(200, 1).to_csv(tmp_path / "synthetic.csv", index=False)
    return tmp_path


def compared(folder, capfd, odd):
    """A file of 120 rows, and the same with one line more in its middle."""
    header, *lines = table(121, 2).to_csv(index=False).splitlines()
    more, others = ODD if odd else lines[0], lines[1:]
    found = []
    for number, rows in enumerate((others, [*others[:60], more, *others[60:]])):
        (folder / "held-out.csv").write_text("\n".join([header, *rows, ""]))
        heard = Heard(found[0].answers if found else None)
        found.append(heard.publish(folder, folder / f"published-{number}", capfd))
    first, second = found
    assert (first.code, second.code) == (0, 0)
    assert [digest(one) for _, one in second.questions] == [digest(one) for _, one in first.questions]
    assert second.words == first.words and second.files == first.files
    each = zip(first.questions, first.exact, second.exact, strict=True)
    return {purpose: moved(question, one, other) * question.sigma for (purpose, question), one, other in each}


@pytest.mark.parametrize("odd", [False, True], ids=["usual", "odd"])
def test_whatever_is_published_is_bought(folder, capfd, odd):
    found = compared(folder, capfd, odd)
    assert list(found) == ["people", "mean distances", "score tables"]
    assert 0.5 < max(found.values()) <= 1.0 + 1e-6


def test_a_number_of_people_that_nobody_paid_for_is_seen(folder, capfd, monkeypatch):
    """Mutant: distances are asked with the number of rows that the file has."""
    ask = run.ask_distances

    def exactly(curator, asked, candidates, announced, most, people):
        there = len(curator._blocks.gathered())
        return ask(curator, asked, candidates, announced, most, run.People(run.intervals.number_of(there, 1.0), 1.0))

    monkeypatch.setattr(run, "ask_distances", exactly)
    with pytest.raises(AssertionError):
        compared(folder, capfd, False)
