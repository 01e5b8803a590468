"""What an audit found, as plain values that go to JSON and back.

A bound is a statement about the true epsilon of a mechanism: "with this confidence it is at least so much". `largest` says
what the same number of runs could have shown at best, so that a small bound is not mistaken for a good one. An audit
never shows that something is private; it either finds a violation or does not.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from understudy.errors import UsageError
from understudy.files import write_atomically

FORMAT = "understudy audit 1"
POINTS = 200  # of a ROC curve


@dataclass(frozen=True, kw_only=True)
class Bound:
    """One estimate of epsilon."""

    kind: str  # clopper-pearson | gaussian | bayesian
    epsilon: float  # lower bound; for bayesian the lower end of the credible interval
    upper: float | None  # upper end of the interval where there is one
    confidence: float
    largest: float  # what this many runs could have shown at best
    frequentist: bool  # False: a credible interval under a prior, no bound on the error rate of the audit
    detail: str  # one sentence: threshold, rates, runs

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Bound":
        """Read what the audit file holds."""
        upper = data["upper"]
        return cls(
            kind=str(data["kind"]),
            epsilon=number(data["epsilon"]),
            upper=None if upper is None else number(upper),
            confidence=number(data["confidence"]),
            largest=number(data["largest"]),
            frequentist=bool(data["frequentist"]),
            detail=str(data["detail"]),
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One attack by one threat model on one target."""

    threat: str
    attack: str
    target: str
    runs: int  # shadow fits in total
    test_runs: int  # those that the bounds rest on
    bounds: tuple[Bound, ...]
    roc: tuple[tuple[float, float], ...]  # (false positive rate, true positive rate) on the test runs
    violated: bool  # a frequentist bound exceeds the claim

    def bound(self, kind: str) -> Bound | None:
        """The bound of this kind, where it was computed."""
        return next((bound for bound in self.bounds if bound.kind == kind), None)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Outcome":
        """Read what the audit file holds."""
        return cls(
            threat=str(data["threat"]),
            attack=str(data["attack"]),
            target=str(data["target"]),
            runs=int(data["runs"]),
            test_runs=int(data["test_runs"]),
            bounds=tuple(Bound.from_dict(bound) for bound in data["bounds"]),
            roc=tuple((float(x), float(y)) for x, y in data["roc"]),
            violated=bool(data["violated"]),
        )


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """An audit of one method: the claim, what every attack found, and what it took."""

    method: str
    options: Mapping[str, object]
    epsilon: float  # the claim; infinite where nothing is claimed
    delta: float
    claim: str  # a sentence: what is claimed, per which unit
    outcomes: tuple[Outcome, ...]
    fits: int
    seconds: float
    fits_per_second: float
    versions: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def violated(self) -> bool:
        """Whether any attack showed more than the claim allows."""
        return any(outcome.violated for outcome in self.outcomes)

    def to_dict(self) -> dict[str, object]:
        """As JSON values; infinity is written as a word."""
        plain = {name: strict(value) for name, value in asdict(self).items()}
        return {"format": FORMAT, **plain, "violated": self.violated}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "AuditResult":
        """Read what `to_dict` wrote; anything else is a UsageError."""
        try:
            if data["format"] != FORMAT:
                raise UsageError(f"not an audit of this version (expected {FORMAT!r})")
            plain = {field.name: data[field.name] for field in fields(cls)}
            return cls(
                method=str(plain["method"]),
                options=dict(plain["options"]),
                epsilon=number(plain["epsilon"]),
                delta=number(plain["delta"]),
                claim=str(plain["claim"]),
                outcomes=tuple(Outcome.from_dict(outcome) for outcome in plain["outcomes"]),
                fits=int(plain["fits"]),
                seconds=number(plain["seconds"]),
                fits_per_second=number(plain["fits_per_second"]),
                versions={str(name): str(value) for name, value in plain["versions"].items()},
                notes=tuple(str(note) for note in plain["notes"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise UsageError("the audit is damaged: a field is missing or of the wrong kind") from None

    def save(self, path: str | Path) -> None:
        """Write `audit.json` whole or not at all."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        write_atomically(path, text + "\n")

    @classmethod
    def load(cls, path: str | Path) -> "AuditResult":
        """From a saved `audit.json`; anything else is a UsageError."""
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, json.JSONDecodeError):
            raise UsageError(f"{str(path)!r} cannot be read as an audit") from None


def strict(value: object) -> object:
    """Only what JSON has: infinities as the text "inf"."""
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if isinstance(value, Mapping):
        return {str(name): strict(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(item) for item in value]
    return value


def number(value: Any) -> float:
    """A float, or the text "inf"; not a number is refused."""
    found = float(value)
    if math.isnan(found):
        raise ValueError("not a number")
    return found
