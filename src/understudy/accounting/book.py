"""The holder's book: what all releases about the same people cost together.

A book is a budget and a list of entries; an entry is one fit (or another paid run) with the privacy events that it
announced. The total is the price of all events as one list (`price.epsilon`), never a sum of epsilons:

    total = max over people x of  epsilon( all events of postings that are about x ,  delta )

**Why that holds.** Let x be a person, D all tables of the book and D' the same tables without x's rows. The entries were
made one after the other, each chosen with sight of earlier results. A posting about everybody is its event. A posting about
the people in a range R sees only rows whose id lies in R (the wall drops the others, `private.units`). If x is not in R,
then given the earlier results its result has the same distribution under D and D': it adds nothing to x's privacy loss. So
x's loss is the adaptive composition of exactly the events of the postings whose range holds x, and the guarantee for
everybody is the worst x. Ranges are half-open intervals of a total order, so all people between two neighbouring bounds
have the same postings: one point for each is enough.

**What ranges must be.** `x in R` has to mean the same in every table and at every time; a function of the person's id does
(`understudy.people`). A date of entry does not: it is read from rows, one table may hold a row of x dated in one quarter
and the next table another, both wall filters would let x in, and x would pay twice where the book counts once. Such
releases add up. For the same reason a range counts only if it is of the book's own id column; an id of another column says
nothing about it.

**One release, named twice.** What finding the kinds of a schema cost stands in every plan made from that schema. It
happened once: postings with the same `release` name, purpose and event are counted once, and for everybody."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dp_accounting as dpa

from understudy.accounting import events, price
from understudy.accounting.budget import Budget
from understudy.accounting.calibrate import noise_scale
from understudy.accounting.plan import Plan
from understudy.accounting.prior import KINDS
from understudy.errors import UsageError
from understudy.people import People, order

ROW = "row"  # the unit of tables without a unit column
_TOLERANCE = 1e-6  # of epsilon, as for ledgers
_MOST = 1 << 20  # copies that `how_many` counts to


@dataclass(frozen=True)
class Posting:
    """One purpose of an entry. `people` None: everybody. `release`: the name of a release that other entries may name too."""

    purpose: str
    event: dpa.DpEvent
    people: People | None = None
    release: str = ""


@dataclass(frozen=True)
class Entry:
    """One run that was charged: what for, under which plan, when."""

    token: str
    what: str
    when: str
    plan: str  # fingerprint
    postings: tuple[Posting, ...]


@dataclass(frozen=True)
class Book:
    """A budget for the people named by `units`, and everything that was charged to it."""

    budget: Budget
    units: tuple[str, ...]  # columns that name these people; the first one's ids may be cut into ranges
    entries: tuple[Entry, ...] = ()

    @property
    def total(self) -> float:
        """Epsilon of all entries together at the budget's delta, for whoever it is worst."""
        return worst(self.postings(), self.budget.delta)

    def postings(self) -> list[Posting]:
        """Everything that was charged, each named release once."""
        return distinct(posting for entry in self.entries for posting in entry.postings)

    def with_entry(self, entry: Entry) -> "Book":
        """The book after one more entry."""
        return replace(self, entries=(*self.entries, entry))

    def covers(self, postings: Iterable[Posting]) -> bool:
        """Whether the budget has room for these beside what is there."""
        return self.total_with(postings) <= self.budget.epsilon * (1 + _TOLERANCE)

    def total_with(self, postings: Iterable[Posting]) -> float:
        """The total if these were charged as well."""
        return worst(distinct([*self.postings(), *postings]), self.budget.delta)

    def left(self) -> float:
        """Epsilon of the largest further release of Gaussian noise about everybody, at the budget's delta."""
        fixed = [point for point in by_person(self.postings()) if point]
        target, sigma = self.budget, 0.0
        try:
            for known in fixed or [[]]:
                scale = noise_scale(target, lambda s, known=known: [*known, dpa.GaussianDpEvent(s)])  # type: ignore[misc]
                sigma = max(sigma, scale)
        except UsageError:
            return 0.0
        return price.epsilon(dpa.GaussianDpEvent(sigma), target.delta)

    def how_many(self, postings: Sequence[Posting]) -> int:
        """How many further entries like this one still fit."""
        known = self.postings()
        fresh = [posting for posting in postings if not posting.release]
        once = [posting for posting in postings if posting.release]

        def fits(times: int) -> bool:
            more = [replace(p, event=dpa.SelfComposedDpEvent(p.event, times)) for p in fresh] if times else []
            return worst(distinct([*known, *once, *more]), self.budget.delta) <= self.budget.epsilon * (1 + _TOLERANCE)

        if not fits(1):
            return 0
        high = 2
        while fits(high):
            if high >= _MOST:
                return high
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    def postings_of(
        self, plan: Plan, unit: str | None, people: People | None = None, release: str = ""
    ) -> tuple[Posting, ...]:
        """What a plan for the unit column `unit` announces. `release` names the vote that found the schema's kinds, if any."""
        name = self.unit_of(unit)
        if not plan.valid or math.isinf(plan.epsilon):
            raise UsageError(f"account: a fit without a valid guarantee cannot be charged to one ({plan.void_reason})")
        about = people if name == self.units[0] and name != ROW else None
        return tuple(
            Posting(charge.purpose, charge.event, None, release)
            if charge.purpose == KINDS
            else Posting(charge.purpose, charge.event, about)
            for charge in plan.charges
        )

    def unit_of(self, column: str | None) -> str:
        """The name of a schema's unit in this book; UsageError if the book is about others."""
        name = ROW if column is None else column
        if name in self.units:
            return name
        named = "one row" if column is None else f"the rows of column {column!r}"
        raise UsageError(
            f"account: it is about {' or '.join(map(repr, self.units))}, and the schema protects {named}; if these are "
            f"the same people, say so once: understudy account admit ACCOUNT {name}"
        )


def distinct(postings: Iterable[Posting]) -> list[Posting]:
    """Named releases once each, and for everybody: they were made before anybody was left out."""
    found: dict[Any, Posting] = {}
    for number, posting in enumerate(postings):
        if posting.release:
            found.setdefault((posting.purpose, posting.event, posting.release), replace(posting, people=None))
        else:
            found[number] = posting
    return list(found.values())


def by_person(postings: Sequence[Posting]) -> list[list[dpa.DpEvent]]:
    """The events of every kind of person: one list for each stretch of ids between two neighbouring bounds."""
    alike: Counter[tuple[dpa.DpEvent, People | None]] = Counter()
    for posting in postings:
        for event, times in events.flatten(posting.event).items():  # what is composed of several has no hash
            alike[event, posting.people] += times
    ranges = {people for _, people in alike if people is not None}
    bounds = {bound for people in ranges for bound in (people.lower, people.upper) if bound is not None}
    points = sorted({"", *bounds}, key=order)
    found: dict[frozenset[Any], list[dpa.DpEvent]] = {}
    for point in points:
        own = {key: times for key, times in alike.items() if key[1] is None or key[1].holds(point)}
        found.setdefault(frozenset(own), [dpa.SelfComposedDpEvent(key[0], times) for key, times in own.items()])
    return list(found.values())


def worst(postings: Sequence[Posting], delta: float) -> float:
    """Epsilon of all postings together, for the person for whom it is largest."""
    return max((price.epsilon(one, delta) for one in by_person(postings) if one), default=0.0)


# -- as JSON ------------------------------------------------------------------------------------------------------------


def entry_to_json(entry: Entry) -> dict[str, Any]:
    """The line of an entry, without its chain."""
    return {
        "token": entry.token,
        "what": entry.what,
        "when": entry.when,
        "plan": entry.plan,
        "postings": [
            {"purpose": p.purpose, "event": events.to_json(p.event)}
            | ({} if p.people is None else {"people": [p.people.lower, p.people.upper]})
            | ({"release": p.release} if p.release else {})
            for p in entry.postings
        ],
    }


def entry_from_json(data: Mapping[str, Any]) -> Entry:
    """Read what `entry_to_json` wrote; KeyError, TypeError or UsageError if it is something else."""
    return Entry(
        token=str(data["token"]),
        what=str(data["what"]),
        when=str(data["when"]),
        plan=str(data["plan"]),
        postings=tuple(
            Posting(
                str(p["purpose"]),
                events.from_json(p["event"]),
                None if p.get("people") is None else People(*p["people"]),
                str(p.get("release", "")),
            )
            for p in data["postings"]
        ),
    )
