"""The holder's account: a file that every paid run about the same people is charged to, before its first release.

    hospital.account         JSON lines, appended to and never rewritten; each line carries a hash over itself and the line before
    hospital.account.head    the hash of the last line that is known to be on disk

What a charge does, under a lock on the file: read what others have appended, price everything together (`accounting.book`),
refuse if the budget does not cover it, else append the line, flush it to the disk, note its hash in the head, and return.
So

* a charge that has returned is on disk; a run that is cancelled or killed afterwards stays charged;
* killed before the line is whole, nothing was released: the stub is cut off by the next charge. A whole line counts,
  whether or not the head was noted;
* edits, insertions, other orders and lost lines break the chain; lines cut off at the end are missed by the head. Both are
  refused, because a shorter account would let more be spent. Somebody who puts back old copies of both files is noticed by
  the models: each certificate names the line it was charged by (`verify`).

**What it does not cover.** The chain is no signature: who may write the file can forge all of it. A later plan may be
chosen in sight of earlier results; for Gaussian noise the total holds for that as well (Smith, Thakurta 2022, fully
adaptive GDP). For mixtures with other noise the total is that of plans fixed beforehand.

`move` marks the old file as moved before the new one exists, so that there is never a time at which both take charges.
"""

import contextlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from understudy import chained
from understudy.accounting.book import Book, Entry, Posting, entry_from_json, entry_to_json
from understudy.accounting.budget import Budget
from understudy.accounting.plan import Plan
from understudy.errors import UsageError

if TYPE_CHECKING:
    from understudy.schema import Schema

FORMAT = "understudy account 1"


@dataclass(frozen=True)
class Receipt:
    """What a charged run carries on: public, and in its certificate."""

    account: str  # random name of the account
    units: tuple[str, ...]
    epsilon: float  # budget
    delta: float
    number: int  # of the entry, from 1
    token: str
    head: str  # hash of its line
    total: float  # epsilon of all entries up to and including this one

    def to_dict(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return asdict(self) | {"units": list(self.units)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Receipt":
        """What `to_dict` wrote."""
        return cls(**{**data, "units": tuple(data["units"])})


@dataclass
class _Read:
    """The file as far as it was read and found whole."""

    size: int = 0
    head: str = ""
    name: str = ""
    book: Book | None = None
    moved: str = ""
    entries: list[str] = field(default_factory=list)  # hashes of the lines of entries
    seen: set[str] = field(default_factory=set)  # hashes of all lines
    endless: bool = False  # the last line was taken before its line end was written


class Account:
    """An account file. Opening it reads and checks all of it; charging reads what is new."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._known = _Read()
        with self._locked(write=False) as file:
            self._catch_up(file)

    @classmethod
    def create(cls, path: str | os.PathLike[str], *, units: Sequence[str], epsilon: float, delta: float) -> "Account":
        """A new account for the people whom the columns `units` name (`row`: tables in which everybody has one row)."""
        budget = Budget(epsilon, delta)
        if not units or not all(units) or len(set(units)) != len(units):
            raise UsageError("unit: name the column whose values are the people, e.g. patient, or row")
        path = Path(path)
        first = {
            "format": FORMAT,
            "account": secrets.token_hex(8),
            "units": list(units),
            "budget": {"epsilon": budget.epsilon, "delta": budget.delta},
            "when": _now(),
        }
        chained.write_new(path, [first])
        return cls(path)

    # -- what is there --------------------------------------------------------------------------------------------------
    @property
    def book(self) -> Book:
        """Budget and entries, as of the last look at the file."""
        assert self._known.book is not None
        return self._known.book

    @property
    def name(self) -> str:
        """The random name that certificates state."""
        return self._known.name

    def refresh(self) -> "Account":
        """Read what other runs have appended."""
        with self._locked(write=False) as file:
            self._catch_up(file)
        return self

    def receipt(self, token: str) -> Receipt | None:
        """The receipt of an earlier charge."""
        entries = self.book.entries
        number = next((place for place, entry in enumerate(entries) if entry.token == token), None)
        if number is None:
            return None
        until = replace(self.book, entries=entries[: number + 1])
        return Receipt(
            account=self.name,
            units=until.units,
            epsilon=float(until.budget.epsilon),
            delta=float(until.budget.delta),
            number=number + 1,
            token=token,
            head=self._known.entries[number],
            total=until.total,
        )

    def postings(self, plan: Plan, schema: "Schema") -> tuple[Posting, ...]:
        """What a plan made from this schema would be charged for."""
        release = "" if schema.kinds is None else schema.kinds.release
        return self.book.postings_of(plan, schema.unit, schema.people, release)

    # -- charging -------------------------------------------------------------------------------------------------------
    def check(self, postings: Sequence[Posting]) -> None:
        """UsageError if the budget does not cover these now. Nothing is charged."""
        self.refresh()._refuse_uncovered(postings)

    def charge(self, what: str, postings: Sequence[Posting], plan: str = "", token: str = "") -> Receipt:
        """Charge a run that is about to make its first release; on disk when this returns. UsageError, and nothing charged,
        if the budget does not cover it. A `token` that was charged before for the same postings is not charged again."""
        token = token or secrets.token_hex(16)
        with self._locked(write=True) as file:
            self._catch_up(file, repair=True)
            earlier = next((entry for entry in self.book.entries if entry.token == token), None)
            if earlier is None:
                self._refuse_uncovered(postings)
                entry = Entry(token, what, _now(), plan, tuple(postings))
                self._append(file, entry_to_json(entry))
            elif (earlier.plan, earlier.postings) != (plan, tuple(postings)):
                raise UsageError(f"account: {str(self.path)!r} was charged for another run under this name; begin anew")
        found = self.receipt(token)
        assert found is not None
        return found

    def admit(self, unit: str) -> None:
        """Let tables whose unit column is called `unit` be charged too: it names the same people."""
        with self._locked(write=True) as file:
            self._catch_up(file, repair=True)
            self._refuse_moved()
            if unit in self.book.units:
                raise UsageError(f"unit: {unit!r} is admitted already")
            self._append(file, {"admit": unit, "when": _now()})

    def _refuse_moved(self) -> None:
        if self._known.moved:
            raise UsageError(f"account: {str(self.path)!r} was moved to {self._known.moved!r}; use that one")

    def _refuse_uncovered(self, postings: Sequence[Posting]) -> None:
        self._refuse_moved()
        book = self.book
        if book.covers(postings):
            return
        budget = book.budget
        raise UsageError(
            f"account: {str(self.path)!r} does not cover this: it would bring the total from epsilon {book.total:.4g} to "
            f"{book.total_with(postings):.4g}, above {budget.epsilon:g} at delta {budget.delta:g}; a further release of Gaussian "
            f"noise may have epsilon {book.left():.4g} there"
        )

    # -- moving -----------------------------------------------------------------------------------------------------------
    def move(self, target: str | os.PathLike[str]) -> "Account":
        """Go on in another place; this file stays as a record and refuses charges. Run again, a broken-off move is completed."""
        place = Path(target).absolute()
        with self._locked(write=True) as file:
            self._catch_up(file, repair=True)
            if place.exists():
                raise UsageError(f"{str(place)!r} exists already; choose another name")
            if not self._known.moved:
                self._append(file, {"moved": str(place), "when": _now()})
            elif Path(self._known.moved) != place:
                raise UsageError(f"account: {str(self.path)!r} was moved to {self._known.moved!r}; move that one")
            bodies = [json.loads(line) for line in chained.read_from(file, 0).splitlines()]
            for body in bodies:
                del body["chain"]
            chained.write_new(place, [body for body in bodies if "moved" not in body])
        return Account(place)

    # -- the file -----------------------------------------------------------------------------------------------------------
    @contextlib.contextmanager
    def _locked(self, *, write: bool) -> Iterator[int]:
        try:
            with chained.opened(self.path, os.O_RDWR if write else os.O_RDONLY, lock=True) as file:
                yield file
        except FileNotFoundError:
            raise UsageError(
                f"account: there is no {str(self.path)!r}; make one with 'understudy account create'"
            ) from None
        except OSError as reason:
            raise UsageError(f"account: cannot use {str(self.path)!r}: {reason.strerror}") from None

    def _catch_up(self, file: int, repair: bool = False) -> None:
        """Take over the lines that were appended since the last look, and hold them against the head."""
        known = self._known
        if os.fstat(file).st_size < known.size:
            raise self._altered("it has become shorter")
        *lines, stub = chained.read_from(file, known.size).split(b"\n")
        if not lines and known.book is None:
            raise UsageError(f"account: {str(self.path)!r} is no account; make one with 'understudy account create'")
        for line in lines:
            self._take(line)
            known.size += len(line) + 1
        if stub:
            self._settle_stub(file, stub, repair)
        noted = self._noted()
        if noted not in known.seen:
            raise self._altered("lines are missing at its end")
        if repair and noted != known.head:
            chained.note(self.path, known.head)

    def _settle_stub(self, file: int, stub: bytes, repair: bool) -> None:
        """A last line without its end: whole but for that it counts, otherwise its charge never returned."""
        try:
            self._take(stub)
        except UsageError:
            if repair:
                os.ftruncate(file, self._known.size)
                os.fsync(file)
            return
        self._known.endless = not repair
        if repair:
            os.lseek(file, 0, os.SEEK_END)
            chained.write(file, b"\n")
            os.fsync(file)
            self._known.size += len(stub) + 1

    def _take(self, line: bytes) -> None:
        known = self._known
        try:
            body = json.loads(line)
            stated = body.pop("chain")
            if known.endless and stated == known.head:
                known.endless = False  # it was taken when it had no end yet
                return
            if stated != chained.chain(known.head, body):
                raise ValueError("chain")
            if known.book is None:
                if body["format"] != FORMAT:
                    raise ValueError("format")
                budget = Budget(body["budget"]["epsilon"], body["budget"]["delta"])
                known.name, known.book = str(body["account"]), Book(budget, tuple(map(str, body["units"])))
            elif "admit" in body:
                known.book = replace(known.book, units=(*known.book.units, str(body["admit"])))
            elif "moved" in body:
                known.moved = str(body["moved"])
            else:
                known.book = known.book.with_entry(entry_from_json(body))
                known.entries.append(stated)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self._altered("a line is not what was written") from None
        known.head = stated
        known.seen.add(stated)

    def _append(self, file: int, body: dict[str, Any]) -> None:
        line = chained.line(self._known.head, body)
        start = os.lseek(file, 0, os.SEEK_END)
        try:
            chained.write(file, line)
            os.fsync(file)
        except OSError:
            with contextlib.suppress(OSError):  # a full disk: take back the part that was written
                os.ftruncate(file, start)
            raise
        self._take(line[:-1])
        self._known.size += len(line)
        chained.note(self.path, self._known.head)

    def _noted(self) -> str:
        beside = chained.head_path(self.path)
        try:
            return beside.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise self._altered(f"{beside.name!r} is missing; 'understudy account move' takes both files") from None
        except (OSError, ValueError):
            raise self._altered(f"{beside.name!r} cannot be read") from None

    def _altered(self, how: str) -> UsageError:
        return UsageError(
            f"account: {str(self.path)!r} was altered or damaged ({how}); put back the copy that its models' certificates "
            "name, and never go on with a shorter one"
        )


Payer: TypeAlias = Account | Receipt | str | os.PathLike[str]  # a receipt: it was charged before


def account_of(payer: Payer | None) -> Account | None:
    """The account that somebody named, read and checked; None if nothing is to be charged."""
    if payer is None or isinstance(payer, Receipt):
        return None
    return payer if isinstance(payer, Account) else Account(payer)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
