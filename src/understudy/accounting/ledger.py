"""The ledger: every release is charged before it is made.

`charge` is called before the release and returns only when the charge is on disk. So whatever happens next (crash,
cancel, retry, resume), the charge is not forgotten, and a run can never release more than its plan announces:

* a purpose or an event that the plan does not announce, or more of it than announced, is refused;
* charging a token again with the same purpose, event and digest of noise tape and question is the replay of the
  identical release and is free; with anything else it is refused, because two answers with different noise, and two
  questions with the same noise, are two answers;
* a ledger can be reopened only under the same plan, and only one process can hold it.

The file is JSON lines. Each line carries a hash over itself and the line before, so that edits, insertions and lost
lines in the middle are noticed. A last line that was cut off by a crash is tolerated: if it is complete but for the
line end it counts as spent; if it is not, `charge` had not returned, nothing was released, and the stub is removed
and counted in `repairs`. What the chain cannot show is that complete lines are missing at the end; pass the `head`
that was noted elsewhere (the checkpoint) as `must_contain`.

**The file is secret**: digests of noise tapes would let somebody check guesses of the noise, so the file has mode
0600 and `to_dict`, which goes into the artifact, leaves them out.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO

import dp_accounting as dpa

from understudy.accounting import events, price
from understudy.accounting.plan import Charge, Plan, canonical
from understudy.errors import UsageError

FORMAT = "understudy ledger 1"
_TOLERANCE = 1e-6  # of epsilon, for plans calibrated on another machine's rounding

Counts = dict[dpa.DpEvent, int]


class LedgerError(UsageError):
    """A charge or a ledger file that is refused."""


def taken(path: str | os.PathLike[str]) -> LedgerError:
    """The error for a ledger that is there already."""
    return LedgerError(f"{str(path)!r} exists already and is the record of another run: keep it, and name another file")


def refuse_taken(path: str | os.PathLike[str] | None) -> None:
    """Before an account is charged: a run whose ledger could not be written would have been paid for in vain."""
    if path is None:
        return
    if os.path.exists(path):
        raise taken(path)
    if not os.access(os.path.dirname(os.path.abspath(path)), os.W_OK | os.X_OK):
        raise LedgerError(f"cannot write the ledger {str(path)!r}: its folder does not exist or cannot be written")


class Ledger:
    """Charges of one run under one plan; in memory, or write-ahead in `path`."""

    def __init__(self, plan: Plan, path: str | os.PathLike[str] | None = None) -> None:
        if plan.valid and plan.epsilon > plan.budget.epsilon * (1 + _TOLERANCE):
            raise LedgerError(f"the plan costs epsilon {plan.epsilon:.6g}, its budget is {plan.budget.epsilon:g}")
        self._file: FileIO | None = None
        self._start(plan, path)
        if self._path is not None:
            self._lock()
            try:
                handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                self.close()
                raise taken(self._path) from None
            except OSError as reason:
                self.close()
                raise LedgerError(f"cannot write the ledger {str(self._path)!r}: {reason.strerror}") from None
            self._file = os.fdopen(handle, "r+b", buffering=0)
            self._append({"format": FORMAT, "secret": "holds digests of private noise", "plan": plan.fingerprint()})

    def _start(self, plan: Plan, path: str | os.PathLike[str] | None) -> None:
        self._plan = plan
        self._announced = plan.announced()
        self._counts: dict[str, Counts] = {}
        self._entries: list[tuple[str, dpa.DpEvent, str, str]] = []
        self._tokens: dict[str, int] = {}
        self._path = Path(path) if path is not None else None
        self._file = None
        self._held: BinaryIO | None = None
        self._head = ""
        self.repairs = 0

    @classmethod
    def reopen(cls, plan: Plan, path: str | os.PathLike[str], *, must_contain: str = "") -> "Ledger":
        """Go on with the ledger of an interrupted run: same plan, what was charged stays charged."""
        ledger = cls.__new__(cls)
        ledger._start(plan, path)
        ledger._lock()
        try:
            ledger._replay(must_contain)
        except BaseException:
            ledger.close()
            raise
        return ledger

    def charge(self, purpose: str, event: dpa.DpEvent, token: str, digest: str = "") -> None:
        """Charge a release that is about to be made. LedgerError, and no release, if it was not announced."""
        if self._path is not None and self._file is None:
            raise LedgerError("the ledger is closed")
        wanted = events.flatten(event)
        if token in self._tokens:
            known = self._entries[self._tokens[token]]
            if digest and known == (purpose, event, token, digest):
                return  # the same answers with the same noise: nothing new is learned
            other = "other noise or another question"
            raise LedgerError(f"{token!r} of {purpose!r} was charged before with {other}: that is not free")
        total = self._fits(purpose, wanted)
        self._append({"purpose": purpose, "event": events.to_json(event), "token": token, "digest": digest})
        self._record(purpose, event, token, digest, total)

    def _fits(self, purpose: str, wanted: Counts) -> Counts:
        if purpose not in self._announced:
            raise LedgerError(f"the plan announces no release for {purpose!r}")
        total = dict(self._counts.get(purpose, {}))
        for event, times in wanted.items():
            allowed = self._announced[purpose].get(event, 0)
            total[event] = total.get(event, 0) + times
            if allowed == 0:
                raise LedgerError(f"the plan announces other noise for {purpose!r} than {events.describe(event)}")
            if total[event] > allowed:
                raise LedgerError(f"{purpose!r} would take {total[event]:,} answers; the plan announces {allowed:,}")
        return total

    def _record(self, purpose: str, event: dpa.DpEvent, token: str, digest: str, total: Counts) -> None:
        self._counts[purpose] = total
        self._tokens[token] = len(self._entries)
        self._entries.append((purpose, event, token, digest))

    @property
    def plan(self) -> Plan:
        """What may be charged."""
        return self._plan

    @property
    def head(self) -> str:
        """Hash of the last line: note it elsewhere to notice a file that lost its end."""
        return self._head

    @property
    def tokens(self) -> tuple[str, ...]:
        """What was charged, in order."""
        return tuple(self._tokens)

    @property
    def spent(self) -> list[Charge]:
        """What was charged so far, by purpose."""
        return [Charge(purpose, events.compose(counts)) for purpose, counts in self._counts.items() if counts]

    @property
    def epsilon_spent(self) -> float:
        """What all charges so far cost together, at the plan's delta."""
        return price.epsilon([charge.event for charge in self.spent], self._plan.budget.delta)

    def to_dict(self) -> dict[str, Any]:
        """The public record, without digests."""
        return {
            "format": FORMAT,
            "plan": self._plan.fingerprint(),
            "entries": [{"purpose": p, "event": events.to_json(e), "token": t} for p, e, t, _ in self._entries],
            "repairs": self.repairs,
        }

    def close(self) -> None:
        """Let go of the file. Closing twice is fine."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._held is not None:
            self._held.close()  # releases the lock
            self._held = None
            with contextlib.suppress(OSError):
                os.unlink(self._lock_path)

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    # --- the file ---

    @property
    def _lock_path(self) -> str:
        return f"{self._path}.lock"

    def _lock(self) -> None:
        try:
            held = open(self._lock_path, "ab")  # noqa: SIM115
        except OSError as reason:
            raise LedgerError(f"cannot write beside the ledger {str(self._path)!r}: {reason.strerror}") from None
        try:
            import fcntl

            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows: opening is shared, so a byte is locked instead
            import msvcrt  # type: ignore[import-not-found, unused-ignore]

            try:
                msvcrt.locking(held.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
            except OSError:
                held.close()
                raise LedgerError(f"the ledger {str(self._path)!r} is in use by another run") from None
        except OSError:
            held.close()
            raise LedgerError(f"the ledger {str(self._path)!r} is in use by another run") from None
        self._held = held

    def _append(self, body: dict[str, Any]) -> None:
        head = _chain(self._head, body)
        if self._file is not None:
            line = memoryview(canonical(body | {"chain": head}) + b"\n")
            start = self._file.seek(0, os.SEEK_END)
            try:
                while line:
                    line = line[self._file.write(line) :]
                os.fsync(self._file.fileno())
            except OSError as reason:
                with contextlib.suppress(OSError):  # a full disk: take back the part that was written
                    self._file.truncate(start)
                raise LedgerError(f"cannot write the ledger {str(self._path)!r}: {reason.strerror}") from None
        self._head = head

    def _replay(self, must_contain: str) -> None:
        assert self._path is not None
        try:
            data = self._path.read_bytes()
        except OSError as reason:
            raise LedgerError(f"cannot read the ledger {str(self._path)!r}: {reason.strerror}") from None
        lines = data.split(b"\n")
        stub = lines.pop()
        heads, kept = [], 0
        for number, line in enumerate([*lines, stub] if stub else lines):
            cut = number == len(lines)  # no line end: the write was interrupted
            try:
                heads.append(self._reread(number, line))
                kept += len(line) + (0 if cut else 1)
            except LedgerError:
                raise
            except (ValueError, RecursionError):
                if not cut or number == 0:
                    raise self._altered() from None
                self.repairs += 1
        if not heads or (must_contain and must_contain not in heads):
            raise self._altered()
        self._file = open(self._path, "r+b", buffering=0)  # noqa: SIM115
        self._file.truncate(kept)
        if stub and len(heads) > len(lines):
            self._file.seek(0, os.SEEK_END)
            self._file.write(b"\n")
        os.fsync(self._file.fileno())

    def _reread(self, number: int, line: bytes) -> str:
        """Take over one line of the file; ValueError if it is not what this ledger wrote."""
        body = json.loads(line)
        if not isinstance(body, dict) or body.pop("chain", None) != _chain(self._head, body):
            raise ValueError("chain")
        if number == 0:
            if body.get("format") != FORMAT:
                raise ValueError("format")
            if body.get("plan") != self._plan.fingerprint():
                raise LedgerError(f"the ledger {str(self._path)!r} is of another plan: resume with the same options")
        else:
            try:
                event = events.from_json(body["event"])
                purpose, token, digest = str(body["purpose"]), str(body["token"]), str(body["digest"])
                total = self._fits(purpose, events.flatten(event))
            except (KeyError, UsageError):
                raise self._altered() from None
            if token in self._tokens:
                raise self._altered()
            self._record(purpose, event, token, digest, total)
        self._head = _chain(self._head, body)
        return self._head

    def _altered(self) -> LedgerError:
        return LedgerError(f"the ledger {str(self._path)!r} was altered or damaged; start a new run with a new budget")


def _chain(head: str, body: dict[str, Any]) -> str:
    return hashlib.sha256(head.encode() + canonical(body)).hexdigest()


def charges_in(path: str | os.PathLike[str]) -> list[Charge]:
    """What a run that is over has charged, by its file and under whatever plan; nothing if there is no file.

    As in `reopen`, a last line that was cut off counts if it is complete.
    """
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as reason:
        raise LedgerError(f"cannot read the ledger {str(path)!r}: {reason.strerror}") from None
    head, charges = "", []
    for number, line in enumerate(lines):
        try:
            body = json.loads(line)
            if body.pop("chain") != (head := _chain(head, body)):
                raise ValueError("chain")
            if number:
                charges.append(Charge(str(body["purpose"]), events.from_json(body["event"]), str(body["token"])))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            if number < len(lines) - 1:
                raise LedgerError(
                    f"the ledger {str(path)!r} was altered or damaged; what it holds counts as spent"
                ) from None
    return charges


def entries_from_dict(data: Mapping[str, Any]) -> tuple[str, list[Charge]]:
    """Plan fingerprint and charges of a published ledger; UsageError if it is damaged."""
    try:
        if data["format"] != FORMAT:
            raise UsageError(f"not a ledger of this version (expected {FORMAT!r})")
        charges = [Charge(str(e["purpose"]), events.from_json(e["event"]), str(e["token"])) for e in data["entries"]]
        return str(data["plan"]), charges
    except (KeyError, TypeError, AttributeError):
        raise UsageError("the ledger is damaged: a field is missing or of the wrong kind") from None
