"""What a fit will release and what it will cost, before any row is read.

A plan is a list of charges (purpose and event), the budget they must fit, and the resolved recipe. It is computed
from public values only, so it may be printed and published. The ledger accepts nothing that the plan does not
announce.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import dp_accounting as dpa

from understudy.accounting import events, price
from understudy.accounting.budget import Budget
from understudy.errors import UsageError

FORMAT = "understudy plan 1"
NEIGHBOURS = "add or remove one unit"
ESTIMATE = "estimate "  # how the purpose of an estimate begins
COUNTED = "number of "  # how the detail of a class histogram begins where there are no classes
HISTOGRAM_WEIGHT = 0.1  # share of the squared loss for the class histogram: it sets class ratios and row counts
FOLDED, NAMED = 3, 6  # so many estimates of one price share a line, which names so many


class Line(NamedTuple):
    """Charges of one price that are shown together: `share` of all of them, `epsilon` of one."""

    title: str
    purpose: str  # of the first
    alike: int
    share: float
    epsilon: float


@dataclass(frozen=True)
class Charge:
    """One announced release, or series of releases for one purpose."""

    purpose: str
    event: dpa.DpEvent
    detail: str = ""


class Share(NamedTuple):
    """`share` sums to 1 over a plan; `epsilon` is what the charge would cost alone at the plan's delta."""

    purpose: str
    share: float
    epsilon: float


@dataclass(frozen=True)
class Plan:
    """Everything a run announces. `valid=False` marks research runs whose guarantee is void, with the reason."""

    method: str
    budget: Budget
    unit: str
    charges: tuple[Charge, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    valid: bool = True
    void_reason: str = ""

    @property
    def events(self) -> list[dpa.DpEvent]:
        """The events of all charges, in their order."""
        return [charge.event for charge in self.charges]

    @property
    def epsilon(self) -> float:
        """Recomputed from the charges; infinite if nothing bounds it."""
        return price.epsilon(self.events, self.budget.delta)

    @property
    def mu(self) -> float | None:
        """The Gaussian parameter of the whole plan, if all its events are Gaussian."""
        return price.gaussian_mu(self.events)

    def shares(self) -> list[Share]:
        """Share of squared mu if all events are Gaussian (squares add up), else share of the stand-alone epsilons."""
        alone = [price.epsilon(charge.event, self.budget.delta) for charge in self.charges]
        mus = [price.gaussian_mu(charge.event) for charge in self.charges]
        weights = [mu * mu for mu in mus if mu is not None]
        if len(weights) < len(mus) or not all(math.isfinite(weight) for weight in weights):
            weights = [e if math.isfinite(e) else 0.0 for e in alone]
        total = math.fsum(weights) or 1.0
        return [
            Share(charge.purpose, weight / total, single)
            for charge, weight, single in zip(self.charges, weights, alone, strict=True)
        ]

    def lines(self) -> list[Line]:
        """The shares for people: from three estimates of one price on, these are one line."""
        details = {charge.purpose: charge.detail for charge in self.charges}
        groups: dict[object, list[Share]] = {}
        for one in self.shares():
            alike = one.purpose.startswith(ESTIMATE)
            groups.setdefault((details[one.purpose], one.epsilon) if alike else one.purpose, []).append(one)
        parts = [
            part for group in groups.values() for part in ([group] if len(group) >= FOLDED else [[o] for o in group])
        ]
        return [_line(part, details[part[0].purpose]) for part in parts]

    def announced(self) -> dict[str, dict[dpa.DpEvent, int]]:
        """Elementary events by purpose."""
        result: dict[str, dict[dpa.DpEvent, int]] = {}
        for charge in self.charges:
            counts = result.setdefault(charge.purpose, {})
            for event, times in events.flatten(charge.event).items():
                counts[event] = counts.get(event, 0) + times
        return result

    def to_dict(self) -> dict[str, Any]:
        """The plan as a JSON object, the content of `plan.json`."""
        return {
            "format": FORMAT,
            "method": self.method,
            "budget": {"epsilon": self.budget.epsilon, "delta": self.budget.delta},
            "unit": self.unit,
            "neighbours": NEIGHBOURS,
            "charges": [
                {"purpose": charge.purpose, "event": events.to_json(charge.event), "detail": charge.detail}
                for charge in self.charges
            ],
            "parameters": dict(self.parameters),
            "notes": list(self.notes),
            "valid": self.valid,
            "void_reason": self.void_reason,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Plan":
        """Read what `to_dict` wrote; anything else is a UsageError."""
        try:
            if data["format"] != FORMAT:
                raise UsageError(f"not a plan of this version (expected {FORMAT!r})")
            return cls(
                method=str(data["method"]),
                budget=Budget(data["budget"]["epsilon"], data["budget"]["delta"]),
                unit=str(data["unit"]),
                charges=tuple(
                    Charge(str(c["purpose"]), events.from_json(c["event"]), str(c["detail"])) for c in data["charges"]
                ),
                parameters=dict(data["parameters"]),
                notes=tuple(str(note) for note in data["notes"]),
                valid=bool(data["valid"]),
                void_reason=str(data["void_reason"]),
            )
        except UsageError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError):
            raise UsageError("the plan is damaged: a field is missing or of the wrong kind") from None

    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON: ledgers and certificates name the plan by it."""
        return hashlib.sha256(canonical(self.to_dict())).hexdigest()


def canonical(data: object) -> bytes:
    """One byte string per JSON value."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def spoken(purpose: str, detail: str) -> str:
    """A purpose for people: of a table without classes the class histogram is a number of rows, which its detail says."""
    return detail if detail.startswith(COUNTED) else purpose


def _line(part: Sequence[Share], detail: str) -> Line:
    first, title = part[0], spoken(part[0].purpose, detail)
    title += f" ({detail})" if detail and title != detail else ""
    if len(part) > 1:
        names = [one.purpose.removeprefix(ESTIMATE) for one in part]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        title = f"{len(names)} x {detail}: {', '.join(names[:NAMED])}{more}"
    return Line(title, first.purpose, len(part), math.fsum(one.share for one in part), first.epsilon)
