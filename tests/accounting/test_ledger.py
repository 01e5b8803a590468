"""A ledger cannot be overspent: by asking for more, by asking again, by crashing, by tampering, by two at a time."""

import contextlib
import json
import os
import stat
import subprocess
import sys

import dp_accounting as dpa
import pytest

from understudy.accounting import Budget, Charge, Ledger, LedgerError, Plan, epsilon

VOTE = dpa.GaussianDpEvent(40.0)
HISTOGRAM = dpa.GaussianDpEvent(12.0)


def votes(count: int) -> dpa.DpEvent:
    return dpa.SelfComposedDpEvent(VOTE, count)


@pytest.fixture
def plan() -> Plan:
    charges = (Charge("histogram", HISTOGRAM), Charge("votes", votes(100)))
    return Plan("pate-gan", Budget(1.2, 1e-5), "one row", charges, {"teachers": 500}, ("a note",))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.jsonl"


def test_charges_add_up_to_the_announced_price(plan):
    ledger = Ledger(plan)
    ledger.charge("histogram", HISTOGRAM, "h")
    for start in range(0, 100, 10):
        ledger.charge("votes", votes(10), f"rounds from {start}", "digest")
    assert ledger.epsilon_spent == plan.epsilon
    assert ledger.spent == [Charge("histogram", HISTOGRAM), Charge("votes", votes(100))]


def test_what_was_not_announced_is_refused(plan):
    ledger = Ledger(plan)
    with pytest.raises(LedgerError, match="announces no release for 'bounds'"):
        ledger.charge("bounds", HISTOGRAM, "b")
    with pytest.raises(LedgerError, match="other noise"):
        ledger.charge("histogram", dpa.GaussianDpEvent(11.9), "h")
    with pytest.raises(LedgerError, match="other noise"):
        ledger.charge("votes", HISTOGRAM, "v")
    with pytest.raises(LedgerError, match="101 answers; the plan announces 100"):
        ledger.charge("votes", votes(101), "v")
    ledger.charge("votes", votes(95), "v")
    with pytest.raises(LedgerError, match="105 answers"):
        ledger.charge("votes", votes(10), "w")
    assert ledger.spent == [Charge("votes", votes(95))]  # refused charges leave no trace


def test_replay_is_free_only_with_the_same_noise(plan):
    ledger = Ledger(plan)
    ledger.charge("votes", votes(10), "chunk 0", "tape A")
    before = ledger.epsilon_spent
    ledger.charge("votes", votes(10), "chunk 0", "tape A")
    assert ledger.epsilon_spent == before
    for purpose, event, digest in [
        ("votes", votes(10), "tape B"),
        ("votes", votes(20), "tape A"),
        ("histogram", HISTOGRAM, "tape A"),
    ]:
        with pytest.raises(LedgerError, match="not free"):
            ledger.charge(purpose, event, "chunk 0", digest)
    ledger.charge("histogram", HISTOGRAM, "h")
    with pytest.raises(LedgerError, match="not free"):  # without a digest nothing shows that it is the same release
        ledger.charge("histogram", HISTOGRAM, "h")


def test_a_plan_above_its_budget_gets_no_ledger():
    greedy = Plan("x", Budget(0.5, 1e-5), "one row", (Charge("votes", dpa.GaussianDpEvent(1.0)),))
    with pytest.raises(LedgerError, match=r"its budget is 0\.5"):
        Ledger(greedy)
    void = Plan("x", Budget(0.5, 1e-5), "one row", greedy.charges, valid=False, void_reason="research")
    Ledger(void).charge("votes", dpa.GaussianDpEvent(1.0), "v")


@pytest.mark.parametrize(("excess", "refused"), [(5e-7, False), (1e-5, True)])
def test_only_rounding_is_forgiven_above_the_budget(excess, refused):
    event = dpa.GaussianDpEvent(4.0)
    plan = Plan("x", Budget(epsilon(event, 1e-5) / (1 + excess), 1e-5), "one row", (Charge("votes", event),))
    with pytest.raises(LedgerError, match="its budget is") if refused else contextlib.nullcontext():
        Ledger(plan)


def test_resume_goes_on_where_the_run_stopped(plan, path):
    with Ledger(plan, path) as ledger:
        ledger.charge("votes", votes(60), "chunk 0", "tape A")
        head = ledger.head
    with Ledger.reopen(plan, path, must_contain=head) as ledger:
        assert ledger.epsilon_spent == epsilon(votes(60), 1e-5)
        ledger.charge("votes", votes(60), "chunk 0", "tape A")  # the interrupted chunk, replayed
        with pytest.raises(LedgerError, match="120 answers"):
            ledger.charge("votes", votes(60), "chunk 1", "tape B")
        with pytest.raises(LedgerError, match="not free"):
            ledger.charge("votes", votes(60), "chunk 0", "tape C")
        ledger.charge("votes", votes(40), "chunk 1", "tape D")
    with Ledger.reopen(plan, path) as ledger:
        assert ledger.spent == [Charge("votes", votes(100))]


def test_a_charge_is_on_disk_before_the_release(plan, path):
    """A cancelled run: the process dies between charge and release, the charge stays."""
    script = (
        "import json, os, sys\n"
        "from understudy.accounting import Ledger, Plan\n"
        "plan = Plan.from_dict(json.loads(sys.argv[1]))\n"
        "Ledger(plan, sys.argv[2]).charge('votes', plan.charges[1].event, 'chunk 0', 'tape')\n"
        "os._exit(9)\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", script, json.dumps(plan.to_dict()), str(path)]
    ran = subprocess.run(command, env=environment, check=False)
    assert ran.returncode == 9
    with Ledger.reopen(plan, path) as ledger, pytest.raises(LedgerError, match="101 answers"):
        ledger.charge("votes", votes(1), "chunk 1", "tape")


def test_an_old_ledger_is_not_overwritten(plan, path):
    Ledger(plan, path).close()
    with pytest.raises(LedgerError, match="exists already"):
        Ledger(plan, path)


def test_another_plan_cannot_use_the_ledger(plan, path):
    Ledger(plan, path).close()
    other = Plan("pate-gan", Budget(1.3, 1e-5), "one row", plan.charges)
    with pytest.raises(LedgerError, match="another plan"):
        Ledger.reopen(other, path)


def test_two_runs_cannot_share_a_ledger(plan, path):
    with Ledger(plan, path):
        with pytest.raises(LedgerError, match="in use"):
            Ledger.reopen(plan, path)
        with pytest.raises(LedgerError, match="in use"):
            Ledger(plan, path)
    Ledger.reopen(plan, path).close()  # released with the first


def test_a_closed_ledger_charges_nothing(plan, path):
    ledger = Ledger(plan, path)
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.charge("votes", votes(1), "v")


def filled(plan, path) -> tuple[bytes, str]:
    with Ledger(plan, path) as ledger:
        ledger.charge("histogram", HISTOGRAM, "h")
        ledger.charge("votes", votes(50), "chunk 0", "tape A")
        ledger.charge("votes", votes(50), "chunk 1", "tape B")
        return path.read_bytes(), ledger.head


@pytest.mark.parametrize("cut", [1, 2, 5, 60, 150])
def test_a_last_line_cut_by_a_crash_is_tolerated(plan, path, cut):
    """Without its line end it counts as spent; cut deeper, `charge` never returned and nothing was released."""
    whole, _ = filled(plan, path)
    path.write_bytes(whole[:-cut])
    with Ledger.reopen(plan, path) as ledger:
        lost = cut > 1
        assert ledger.repairs == int(lost)
        assert ledger.spent[1] == Charge("votes", votes(50 if lost else 100))
    with Ledger.reopen(plan, path) as ledger:  # the repaired file is a good one
        assert ledger.repairs == 0 and ledger.spent[1] == Charge("votes", votes(50 if lost else 100))


def test_a_file_that_lost_whole_lines_is_noticed_by_its_head(plan, path):
    whole, head = filled(plan, path)
    path.write_bytes(b"\n".join(whole.split(b"\n")[:3]) + b"\n")
    with pytest.raises(LedgerError, match="altered or damaged"):
        Ledger.reopen(plan, path, must_contain=head)


def rewrite(whole: bytes, change) -> bytes:
    lines = [json.loads(line) for line in whole.splitlines()]
    return b"".join(json.dumps(line).encode() + b"\n" for line in change(lines))


TAMPERING = {
    "a smaller count": lambda lines: [*lines[:2], lines[2] | {"event": lines[3]["event"] | {"count": 1}}, lines[3]],
    "another purpose": lambda lines: [lines[0], lines[1] | {"purpose": "votes"}, *lines[2:]],
    "another digest": lambda lines: [*lines[:2], lines[2] | {"digest": "tape Z"}, lines[3]],
    "a line removed": lambda lines: [lines[0], *lines[2:]],
    "lines swapped": lambda lines: [lines[0], lines[2], lines[1], lines[3]],
    "a line doubled": lambda lines: [*lines, lines[3]],
    "no header": lambda lines: lines[1:],
    "another plan's name": lambda lines: [lines[0] | {"plan": "0" * 64}, *lines[1:]],
}


@pytest.mark.parametrize("change", TAMPERING.values(), ids=TAMPERING)
def test_tampering_is_refused(plan, path, change):
    whole, _ = filled(plan, path)
    path.write_bytes(rewrite(whole, lambda lines: lines))
    Ledger.reopen(plan, path).close()  # rewriting alone does no harm
    path.write_bytes(rewrite(whole, change))
    with pytest.raises(LedgerError, match="altered or damaged"):
        Ledger.reopen(plan, path)


@pytest.mark.parametrize("content", [b"", b"\n", b"{", b"hello\n", b"[]\n", b"{}\n", b"\xff\xfe\n"])
def test_foreign_files_are_refused(plan, path, content):
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="altered or damaged"):
        Ledger.reopen(plan, path)


def test_missing_and_unwritable_files_are_refused(plan, tmp_path):
    with pytest.raises(LedgerError, match="cannot read"):
        Ledger.reopen(plan, tmp_path / "none.jsonl")
    with pytest.raises(LedgerError, match="cannot write"):
        Ledger(plan, tmp_path / "no folder" / "ledger.jsonl")


def test_a_failing_disk_refuses_the_charge_and_leaves_a_good_file(plan, path, monkeypatch):
    ledger = Ledger(plan, path)
    ledger.charge("histogram", HISTOGRAM, "h")
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", full)
        with pytest.raises(LedgerError, match="No space left"):
            ledger.charge("votes", votes(10), "chunk 0", "tape")
    assert path.read_bytes() == before
    ledger.charge("votes", votes(10), "chunk 0", "another tape")  # nothing was released with the first
    ledger.close()
    with Ledger.reopen(plan, path) as again:
        assert again.spent[1] == Charge("votes", votes(10))


def test_the_file_is_secret_and_the_public_record_has_no_digests(plan, path):
    """A digest of a short noise tape could be guessed by trying all tapes: it must not leave the house."""
    with Ledger(plan, path) as ledger:
        ledger.charge("votes", votes(10), "chunk 0", "DIGEST-OF-TAPE")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert "DIGEST-OF-TAPE" in path.read_text()
        assert "DIGEST-OF-TAPE" not in json.dumps(ledger.to_dict())


def test_plans_survive_json(plan):
    again = Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
    assert again == plan and again.fingerprint() == plan.fingerprint() and again.epsilon == plan.epsilon
