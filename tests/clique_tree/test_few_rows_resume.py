"""A fit of few rows that dies at any of its own questions goes on: what was said stays said, and each question is charged once.

The file on disk is read again by whoever resumes, and of persons with more rows than are kept others may be drawn: answers that
were given must come from the checkpoint and never from the rows again.
"""

import json
from unittest import mock

import pytest

from understudy.account import Account
from understudy.accounting.ledger import Ledger, LedgerError, entries_from_dict
from understudy.fit import fit
from understudy.methods.clique_tree import method as own
from understudy.private import Curator
from understudy.private.checkpoint import OPENING, Checkpoint
from understudy.questions import digest

from .test_few_rows_neighbours import BY_PERSON, FEW, pair

ASKED = [
    "class histogram",
    "column cells 1",
    "column cells 2",
    "one-way marginals",
    own.DISTANCES,
    own.LEVELS,
    own.COUNTS,
]


class Death(BaseException):
    """The process ends."""


def dying(how, at):
    """A checkpoint that dies at its answer number `at`: before it is written, within its line, or when it is there."""
    whole, count = Checkpoint.write_down, iter(range(100))

    def write_down(store, answer):
        if next(count) != at:
            return whole(store, answer)
        if how == "half":
            line = json.dumps({"answer": answer}).encode()
            with (store.folder / OPENING).open("ab") as file:
                file.write(line[: len(line) // 2])
        elif how == "after":
            whole(store, answer)
        raise Death

    return mock.patch.object(Checkpoint, "write_down", write_down)


def listening(heard):
    """Writes down what the method gets to hear: the place, the question and the answer."""
    release = Curator._release

    def hear(curator, purpose, question, compute):
        value = release(curator, purpose, question, compute)
        heard.append((purpose, digest(question), json.dumps(value)))
        return value

    return mock.patch.object(Curator, "_release", hear)


def died_and_resumed(tmp_path, how, at):
    """What was heard before and after, and the model. Persons have up to twice as many rows as are kept."""
    table = pair(BY_PERSON, 160, False, at)[0].assign(who=lambda frame: frame["who"] // 2)
    table.to_csv(tmp_path / "t.csv", index=False)
    account = Account.create(tmp_path / "a.account", units=["who"], epsilon=1.0, delta=1e-5)
    before, after = [], []
    settings = {"checkpoint": tmp_path / "c", "account": tmp_path / "a.account"}
    with dying(how, at), listening(before), pytest.raises(Death):
        fit(FEW, tmp_path / "t.csv", BY_PERSON, **settings)
    written = Checkpoint(tmp_path / "c").answers()
    with listening(after):
        model = fit(FEW, tmp_path / "t.csv", BY_PERSON, resume=True, **settings)
    assert len(account.refresh().book.entries) == 1
    return before, written, after, model


@pytest.mark.parametrize("how", ["before", "half", "after"])
@pytest.mark.parametrize("at", [4, 5, 6], ids=ASKED[4:])
def test_what_was_said_stays_said_and_is_charged_once(tmp_path, how, at):
    before, written, after, model = died_and_resumed(tmp_path, how, at)
    assert len(before) == at and len(written) == at + (how == "after")
    assert after[: len(before)] == before
    assert [json.loads(value) for _, _, value in after[: len(written)]] == written
    assert [purpose for purpose, _, _ in after] == ASKED
    charges = entries_from_dict(model.ledger)[1]
    assert [charge.purpose for charge in charges] == [charge.purpose for charge in model.plan.charges] == ASKED


def test_answers_that_are_asked_for_again_are_seen(tmp_path, monkeypatch):
    """Mutants: resumed without the answers that were given, the ledger refuses, since other answers make other questions; where
    it does not look at questions either, what is heard the second time is another release for one charge."""
    monkeypatch.setattr(Checkpoint, "answers", lambda *_: [])
    (tmp_path / "refused").mkdir()
    with pytest.raises(LedgerError, match="another question"):
        died_and_resumed(tmp_path / "refused", "before", 5)
    charge = Ledger.charge
    monkeypatch.setattr(Ledger, "charge", lambda self, *charged, token, digest: charge(self, *charged, token, "any"))
    before, _, after, _ = died_and_resumed(tmp_path, "before", 5)
    assert [purpose for purpose, _, _ in after] == ASKED and after[: len(before)] != before
