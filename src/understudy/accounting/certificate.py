"""The certificate: what is claimed about a model, bound to the files of the model.

`build_certificate` puts the claim together from plan and ledger. It is a pure function of its inputs (no date, no machine), so it
can be built again and compared; `verification.py` checks a model folder against it.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.accounting import label, price, prior, registry
from understudy.accounting.attacker import best_true_positive_rate, best_true_positive_rate_gaussian
from understudy.accounting.events import compose, describe, flatten, to_json
from understudy.accounting.ledger import entries_from_dict
from understudy.accounting.plan import NEIGHBOURS, Charge, Plan
from understudy.errors import UsageError

FORMAT = 1
RATES = (0.01, 0.1)  # false alarms at which the best attacker is stated
SEEDED = "noise was seeded: void"
NOT_PRIVATE = "not private"
TOLERANCE = 1e-6  # of a price that is computed a second time


@dataclass(frozen=True, repr=False)
class Certificate:
    """The claim as a JSON object, with its readings for registries and for people."""

    content: Mapping[str, Any]

    def __repr__(self) -> str:
        """One line."""
        claim = f"epsilon={self.epsilon:g}, delta={self.delta:g}" if self.valid else f"VOID: {self.void_reasons[0]}"
        return f"Certificate({claim}); text() is the whole page"

    def __str__(self) -> str:
        """The page, for `print`."""
        return self.text()

    @property
    def valid(self) -> bool:
        """Whether a guarantee is claimed at all."""
        return bool(self.content["valid"])

    @property
    def void_reasons(self) -> tuple[str, ...]:
        """Why there is no guarantee; empty if there is one."""
        return tuple(self.content["void_reasons"])

    @property
    def epsilon(self) -> float:
        """The claim; infinite when there is none."""
        stated = self.content["claim"]["epsilon"]
        return math.inf if stated is None else float(stated)

    @property
    def delta(self) -> float:
        """The delta of the claim."""
        return float(self.content["claim"]["delta"])

    def to_dict(self) -> dict[str, Any]:
        """A copy of the content, as JSON gives it back."""
        return json.loads(json.dumps(self.content))  # type: ignore[no-any-return]

    def to_json(self) -> str:
        """The text of `certificate.json`; NaN and infinity are not JSON and are refused."""
        return json.dumps(self.content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def registry_yaml(self) -> str:
        """An entry for the OpenDP deployments registry; see `registry`."""
        return registry.entry(self.content)

    def text(self) -> str:
        """One page in plain words; see `label`."""
        return label.page(self.content)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Certificate":
        """Read what `to_dict` wrote; anything else is a UsageError."""
        try:
            if data["understudy"] != "certificate" or data["format"] != FORMAT:
                raise UsageError("not a certificate of this version")
            if not all(isinstance(text, str) for pair in data["hashes"].items() for text in pair):
                raise TypeError("hashes")
            made = cls(data)
            _ = made.valid, made.void_reasons, made.epsilon, made.delta
            made.text(), made.registry_yaml()  # every field they read is there
            return made
        except UsageError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise UsageError("the certificate is damaged: a field is missing or of the wrong kind") from None


def build_certificate(
    *,
    plan: Plan,
    ledger: Mapping[str, Any],
    schema: Mapping[str, Any],
    schema_fingerprint: str,
    hashes: Mapping[str, str],
    versions: Mapping[str, str],
    void_reason: str = "",
    flags: Sequence[str] = (),
    unprotected: Sequence[str] = (),
    notes: Sequence[str] = (),
    account: Mapping[str, Any] | None = None,
) -> Certificate:
    """The certificate of a finished fit. `ledger` is what `Ledger.to_dict` gave; any void reason voids it.

    `account` is the receipt of the holder's account, if the fit was charged to one.
    """
    _, charges = entries_from_dict(ledger)
    spent = price.epsilon([charge.event for charge in charges], plan.budget.delta)
    reasons = [reason for reason in (plan.void_reason, void_reason) if reason]
    reasons += [flag for flag in flags if flag in (SEEDED, NOT_PRIVATE)]
    if not plan.valid and not reasons:
        reasons.append("the method has no valid guarantee")
    if spent > plan.budget.epsilon * (1 + TOLERANCE):
        reasons.append("more was released than the budget allows")
    reasons += unannounced(plan, charges) + prior.forgotten(schema, plan.charges, charges)
    reasons = list(dict.fromkeys(reasons))
    mu = plan.mu
    repairs = int(ledger.get("repairs", 0))
    remarks = [*plan.notes, *notes]
    if repairs:
        remarks.append(f"the fit was interrupted {repairs} time(s) while writing its ledger; nothing was released then")
    content = {} if account is None else {"account": dict(account)}
    return Certificate(
        content
        | {
            "understudy": "certificate",
            "format": FORMAT,
            "valid": not reasons,
            "void_reasons": reasons,
            "flags": list(flags),
            "method": plan.method,
            "claim": {
                "epsilon": None if reasons else plan.budget.epsilon,
                "delta": plan.budget.delta,
                "unit": plan.unit,
                "neighbours": NEIGHBOURS,
                "model": "central",
            },
            "budget": {"epsilon": plan.budget.epsilon, "delta": plan.budget.delta},
            "epsilon_announced": _finite(plan.epsilon),
            "epsilon_spent": _finite(spent),
            "mu": None if mu is None else _finite(mu),
            "attacker": _attacker(plan, mu, bool(reasons)),
            "protects": label.protects(plan.unit),
            "charges": [
                {
                    "purpose": charge.purpose,
                    "share": share.share,
                    "epsilon_alone": _finite(share.epsilon),
                    "detail": charge.detail,
                    "noise": describe(charge.event),
                    "event": to_json(charge.event),
                }
                for charge, share in zip(plan.charges, plan.shares(), strict=True)
            ],
            "released": _released(charges),
            "assumptions": label.assumptions(plan),
            "unprotected": [*label.unprotected(schema), *unprotected],
            "not_covered": list(label.NOT_COVERED),
            "notes": remarks,
            "parameters": dict(plan.parameters),
            "schema": dict(schema),
            "schema_fingerprint": schema_fingerprint,
            "plan_fingerprint": plan.fingerprint(),
            "versions": dict(versions),
            "hashes": dict(hashes),
        }
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _released(charges: Sequence[Charge]) -> list[dict[str, Any]]:
    """What the ledger holds, summed by purpose."""
    by_purpose: dict[str, list[Any]] = {}
    for charge in charges:
        by_purpose.setdefault(charge.purpose, []).append(charge.event)
    return [{"purpose": p, "event": to_json(compose(flatten(events)))} for p, events in by_purpose.items()]


def _attacker(plan: Plan, mu: float | None, void: bool) -> dict[str, Any]:
    """Best true-positive rates implied by the guarantee; the Gaussian curve where it applies."""
    if void:
        rule, rates = "no guarantee, so no limit", [1.0 for _ in RATES]
    elif mu is not None:
        rule, rates = "trade-off curve of Gaussian noise", [best_true_positive_rate_gaussian(mu, a) for a in RATES]
    else:
        rule = "bound from epsilon and delta"
        rates = [best_true_positive_rate(plan.budget.epsilon, plan.budget.delta, a) for a in RATES]
    return {"rule": rule} | {f"at_{a:.0%}_false_alarms": rate for a, rate in zip(RATES, rates, strict=True)}


def unannounced(plan: Plan, charges: Sequence[Charge]) -> list[str]:
    """Charges that the plan does not cover."""
    announced = plan.announced()
    seen: dict[tuple[str, Any], int] = {}
    problems = []
    for charge in charges:
        for event, times in flatten(charge.event).items():
            key = charge.purpose, event
            seen[key] = seen.get(key, 0) + times
            if seen[key] > announced.get(charge.purpose, {}).get(event, 0):
                problems.append(f"a release for {charge.purpose!r} was not announced by the plan")
    return list(dict.fromkeys(problems))
