"""The account's file: many writers, kills at every step, edits, cuts, other orders, moves."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import dp_accounting as dpa
import pytest

from understudy import chained
from understudy.account import Account, Receipt
from understudy.accounting import price
from understudy.accounting.book import Posting
from understudy.errors import UsageError

G = dpa.GaussianDpEvent
ONE = [Posting("x", G(20.0))]
HERE = Path(__file__).parent
FOUR_AT_ONCE = """
import sys
from multiprocessing import get_context
import dp_accounting as dpa
from understudy.account import Account
from understudy.accounting.book import Posting
from understudy.errors import UsageError

def charge_many(who):
    account, charged = Account(sys.argv[1]), 0
    for number in range(250):
        try:
            account.charge(f"{who}-{number}", [Posting("x", dpa.GaussianDpEvent(400.0))])
            charged += 1
        except UsageError:
            pass
    return charged

with get_context("fork").Pool(4) as processes:  # of a process without threads; what they import is imported once
    print(sum(processes.map(charge_many, range(4), chunksize=1)))
"""


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "hospital.account"
    Account.create(place, units=["patient"], epsilon=3.0, delta=1e-5)
    return place


def three(path):
    account = Account(path)
    for what in ("first", "second", "third"):
        account.charge(what, ONE)
    return path.read_bytes().splitlines(keepends=True)


def test_a_charge_is_on_disk_when_it_returns_and_composes_events(path):
    account = Account(path)
    first, second = account.charge("first", ONE, "plan"), account.charge("second", [Posting("y", G(10.0))])
    assert (first.number, second.number) == (1, 2)
    assert first.total == price.epsilon(G(20.0), 1e-5)
    assert second.total == price.epsilon([G(20.0), G(10.0)], 1e-5)
    again = Account(path)
    assert [entry.what for entry in again.book.entries] == ["first", "second"]
    assert again.book.total == second.total
    assert Receipt.from_dict(json.loads(json.dumps(second.to_dict()))) == second
    for file in (path, chained.head_path(path)):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_what_the_budget_does_not_cover_is_refused_and_not_written(path):
    account = Account(path)
    account.charge("first", [Posting("x", G(1.5))])
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"does not cover.*may have epsilon") as refused:
        account.charge("second", [Posting("x", G(1.5))])
    with pytest.raises(UsageError, match="does not cover"):
        account.check([Posting("x", G(1.5))])
    assert path.read_bytes() == before and "\n" not in str(refused.value)
    left = account.book.left()
    sigma = next(s / 100 for s in range(100, 5000) if price.epsilon(G(s / 100), 1e-5) <= left)
    assert account.charge("second", [Posting("x", G(sigma + 0.01))]).total <= 3.0


def test_the_same_token_is_charged_once(path):
    account = Account(path)
    first = account.charge("fit", ONE, "plan", "token")
    account.charge("other", ONE)
    assert Account(path).charge("fit", ONE, "plan", "token") == first
    assert len(Account(path).book.entries) == 2
    for plan, postings in (("another", ONE), ("plan", [Posting("x", G(30.0))])):
        with pytest.raises(UsageError, match="another run"):
            account.charge("fit", postings, plan, "token")


def test_of_a_thousand_charges_by_four_processes_at_once_exactly_those_that_fit_are_there(tmp_path):
    path, room = tmp_path / "a.account", 995
    budget = price.epsilon(dpa.SelfComposedDpEvent(G(400.0), room), 1e-5)
    Account.create(path, units=["patient"], epsilon=budget, delta=1e-5)
    command = [sys.executable, "-c", FOUR_AT_ONCE, str(path)]
    charged = int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout)
    book = Account(path).book
    assert charged == room == len(book.entries) == len({entry.token for entry in book.entries})
    assert book.total == budget
    assert {entry.what.split("-")[0] for entry in book.entries} == set("0123")


def test_killed_at_every_step_nothing_that_returned_is_lost(tmp_path):
    done = subprocess.run(
        [sys.executable, str(HERE / "deaths.py"), str(tmp_path)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert {name: problems for name, problems in json.loads(done.stdout).items() if problems} == {}


def edit(lines):
    return [lines[0], lines[1].replace(b"20.0", b"90.0"), *lines[2:]]


DAMAGE = {
    "an edited line": edit,
    "a smaller budget line": lambda lines: [lines[0].replace(b'"epsilon":3', b'"epsilon":9'), *lines[1:]],
    "two lines in another order": lambda lines: [lines[0], lines[2], lines[1], lines[3]],
    "a line twice": lambda lines: [*lines[:2], lines[1], *lines[2:]],
    "a line lost in the middle": lambda lines: [lines[0], *lines[2:]],
    "a line lost at the end": lambda lines: lines[:-1],
    "all charges lost": lambda lines: lines[:1],
    "an edited last line": lambda lines: [*lines[:-1], lines[-1].replace(b"20.0", b"90.0")],
    "a last line cut short": lambda lines: [*lines[:-1], lines[-1][:-30]],
    "nothing left": lambda lines: [],
    "no JSON": lambda lines: [b"hello\n", *lines],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_noticed_and_nothing_is_charged(path, damage):
    lines = three(path)
    path.write_bytes(b"".join(DAMAGE[damage](lines)))
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"altered or damaged|is no account"):
        Account(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["a line lost at the end", "nothing left", "an edited last line"])
def test_damage_while_a_process_has_the_account_open_is_noticed(path, damage):
    account, lines = Account(path), three(path)
    account.refresh()
    path.write_bytes(b"".join(DAMAGE[damage](lines)))
    if damage == "an edited last line":
        account = Account.__new__(Account)  # what was read before is not read again: a new look is needed
        with pytest.raises(UsageError, match="altered"):
            account.__init__(path)
        return
    with pytest.raises(UsageError, match="altered"):
        account.charge("more", ONE)


def test_a_lost_or_older_head_is_noticed_or_harmless(path):
    head = chained.head_path(path)
    three(path)
    noted = head.read_text()
    Account(path).charge("fourth", ONE)
    head.write_text(noted)  # killed before it was noted
    assert len(Account(path).book.entries) == 4
    Account(path).charge("fifth", ONE)
    assert head.read_text() != noted and len(Account(path).book.entries) == 5
    head.write_text("0" * 64 + "\n")
    with pytest.raises(UsageError, match="missing at its end"):
        Account(path)
    head.unlink()
    with pytest.raises(UsageError, match=r"\.head.* is missing"):
        Account(path)


def test_a_last_line_without_its_end_counts_if_it_is_whole(path):
    three(path)
    noted = chained.head_path(path).read_text()
    account = Account(path)
    account.charge("fourth", ONE)
    chained.head_path(path).write_text(noted)
    path.write_bytes(path.read_bytes()[:-1])
    looked = Account(path)
    assert len(looked.book.entries) == 4
    looked.charge("fifth", ONE)
    assert [entry.what for entry in Account(path).book.entries][-2:] == ["fourth", "fifth"]


def test_an_old_copy_of_both_files_is_noticed_by_the_receipts(path, tmp_path):
    account = Account(path)
    kept = account.charge("first", ONE)
    old = [(file, file.read_bytes()) for file in (path, chained.head_path(path))]
    lost = account.charge("second", ONE)
    for file, content in old:
        file.write_bytes(content)
    rolled_back = Account(path)
    assert rolled_back.receipt(kept.token) == kept
    assert rolled_back.receipt(lost.token) is None


def test_a_move_leaves_a_record_that_refuses_charges(path, tmp_path):
    account = Account(path)
    receipt = account.charge("first", ONE)
    place = tmp_path / "elsewhere" / "b.account"
    moved = account.move(place)
    assert moved.receipt(receipt.token) == receipt and moved.name == account.name
    for refused in (lambda: Account(path).charge("second", ONE), lambda: Account(path).admit("pid")):
        with pytest.raises(UsageError, match="was moved to"):
            refused()
    assert moved.charge("second", ONE).number == 2
    with pytest.raises(UsageError, match="exists already"):
        Account(path).move(place)
    with pytest.raises(UsageError, match="was moved to"):
        Account(path).move(tmp_path / "c.account")
    back = moved.move(tmp_path / "c.account")
    assert back.receipt(receipt.token) == receipt and len(back.book.entries) == 2


def test_other_names_of_the_same_people_are_admitted_once(path):
    account = Account(path)
    with pytest.raises(UsageError, match="account admit"):
        account.book.unit_of("pid")
    account.admit("pid")
    assert Account(path).book.unit_of("pid") == "pid"
    with pytest.raises(UsageError, match="already"):
        account.admit("pid")


def test_what_cannot_be_made_or_opened_says_so(path, tmp_path):
    with pytest.raises(UsageError, match="never written over"):
        Account.create(path, units=["patient"], epsilon=1.0, delta=1e-5)
    with pytest.raises(UsageError, match="account create"):
        Account(tmp_path / "none.account")
    for units in ([], [""], ["a", "a"]):
        with pytest.raises(UsageError, match="unit"):
            Account.create(tmp_path / "x.account", units=units, epsilon=1.0, delta=1e-5)
    assert not (tmp_path / "x.account").exists()


def test_a_full_disk_charges_nothing(path, monkeypatch):
    account, before = Account(path), path.read_bytes()
    real = os.write

    def full(file, content):
        real(file, bytes(content)[:7])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(UsageError, match="No space left"):
        account.charge("first", ONE)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert account.charge("first", ONE).number == 1


def test_a_copy_is_another_file_with_the_same_name_and_its_own_future(path, tmp_path):
    """What no file can prevent, and the documentation says: copies fork. Certificates show which branch they belong to."""
    Account(path).charge("first", ONE)
    copy = tmp_path / "copy.account"
    for ending in ("", ".head"):
        shutil.copy(f"{path}{ending}", f"{copy}{ending}")
    here, there = Account(path).charge("second", ONE), Account(copy).charge("second", ONE)
    assert here.account == there.account and here.head != there.head
    assert Account(path).receipt(there.token) is None
