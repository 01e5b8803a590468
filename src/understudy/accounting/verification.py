"""A model folder, checked against its own certificate.

Epsilon is computed again from the ledger's events, every charge must be announced by the plan, every file must have the hash that
the certificate names. That shows that the folder is whole and the arithmetic right. It cannot show that the program that wrote it
was this one and unaltered; that is what signatures and audits are for.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.accounting import label, price, prior, registry
from understudy.accounting.certificate import TOLERANCE, Certificate, unannounced
from understudy.accounting.ledger import entries_from_dict
from understudy.accounting.plan import Plan
from understudy.errors import UsageError

GUARANTEE = "guarantee"  # the check that a model without privacy fails by its nature
_ALWAYS = ("weights.safetensors", "model.json", "plan.json", "ledger.json")


@dataclass(frozen=True)
class Finding:
    """One check of `verify`."""

    check: str
    ok: bool
    detail: str


def verify(folder: str | Path) -> list[Finding]:
    """Check a model folder against its certificate. UsageError if it is no model folder or its JSON is damaged."""
    path = Path(folder)
    if not path.is_dir():
        raise UsageError(f"{str(path)!r} is not a model folder")
    certificate = Certificate.from_dict(_read(path / "certificate.json"))
    claim = certificate.content
    findings = [_hash(path, name, claim["hashes"].get(name)) for name in dict.fromkeys([*_ALWAYS, *claim["hashes"]])]
    findings += _extra(path, claim["hashes"])
    missing = {finding.check for finding in findings if finding.detail == "is missing"}
    if not {"plan.json", "ledger.json"} & missing:
        findings += _arithmetic(path, certificate)
    findings += _readings(path, certificate)
    findings.append(_validity(certificate))
    return findings


def holds(findings: Sequence[Finding]) -> bool:
    """Whether every check passed."""
    return all(finding.ok for finding in findings)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(
            f"{str(path.parent)!r} holds no {path.name}: not a model folder, or an incomplete one"
        ) from None
    except OSError as reason:
        raise UsageError(f"cannot read {str(path)!r}: {reason.strerror}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{str(path)!r} is damaged; take the model from its source again") from None


def _hash(folder: Path, name: str, expected: object) -> Finding:
    path = folder / name
    if path.parent != folder:  # a name that leads elsewhere is not a file of the model
        return Finding(name, False, "is not a file of the model folder")
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return Finding(name, False, "is missing")
    except OSError as reason:
        return Finding(name, False, f"cannot be read: {reason.strerror}")
    if expected is None:
        return Finding(name, False, "is not named by the certificate")
    if found != expected:
        return Finding(name, False, "was altered after the certificate was written")
    return Finding(name, True, "is the file that was certified")


def _extra(folder: Path, hashes: Mapping[str, Any]) -> list[Finding]:
    known = {*hashes, *_ALWAYS, "certificate.json", "certificate.txt", "registry.yaml"}
    others = sorted(p.name for p in folder.iterdir() if p.name not in known)
    if not others:
        return []
    return [Finding("other files", False, f"the certificate does not cover {', '.join(map(repr, others[:5]))}")]


def _arithmetic(folder: Path, certificate: Certificate) -> list[Finding]:
    """Plan, ledger and claim must agree, whatever the hashes say."""
    plan = Plan.from_dict(_read(folder / "plan.json"))
    of_plan, charges = entries_from_dict(_read(folder / "ledger.json"))
    claim = certificate.content
    same = of_plan == plan.fingerprint() == claim["plan_fingerprint"]
    findings = [Finding("plan", same, "ledger and certificate name this plan" if same else "belongs to another model")]
    problems = unannounced(plan, charges) + prior.forgotten(claim["schema"], plan.charges, charges)
    findings.append(Finding("releases", not problems, "; ".join(problems) or "all were announced by the plan"))
    stated = claim["claim"]["delta"] == plan.budget.delta and claim["claim"]["unit"] == plan.unit
    stated = stated and claim["claim"]["epsilon"] in (plan.budget.epsilon, None)
    if claim.get("account") is not None or _model(folder).get("account") is not None:
        same = claim.get("account") == _model(folder).get("account")
        said = "is the entry that the model names; check it with: understudy account verify ACCOUNT --model FOLDER"
        findings.append(Finding("account", same, said if same else "is not the one that the model names"))
    findings.append(Finding("claim", stated, "is the plan's budget and unit" if stated else "is not what was planned"))
    spent = price.epsilon([charge.event for charge in charges], plan.budget.delta)
    if not certificate.valid:
        return findings
    fits = spent <= certificate.epsilon * (1 + TOLERANCE)
    word = "within" if fits else "ABOVE"
    figures = f"recomputed {spent:.6g}, {word} the claim of {certificate.epsilon:g} at delta {certificate.delta:g}"
    findings.append(Finding("epsilon", fits, figures))
    void = "plan.json" if not plan.valid or plan.void_reason else _void_model(folder)
    if void:
        findings.append(Finding("validity", False, f"{void} says that the guarantee is void, the certificate does not"))
    return findings


def _void_model(folder: Path) -> str:
    """model.json carries the reason why a run was void, if it was (a seeded one, for example)."""
    model = _model(folder)
    return "model.json" if isinstance(model, dict) and model.get("void_reason") else ""


def _model(folder: Path) -> Any:
    return _read(folder / "model.json") if (folder / "model.json").exists() else {}


def _readings(folder: Path, certificate: Certificate) -> list[Finding]:
    """The page for people must say what the certificate says; the registry entry may be filled in, but not changed."""
    findings = []
    page = folder / "certificate.txt"
    if page.exists():
        same = page.read_text(encoding="utf-8", errors="replace") in (
            certificate.text(),
            label.page(certificate.content, bare=True),  # as pages were written before they said what is counted
        )
        detail = "says what the certificate says" if same else "differs from the certificate"
        findings.append(Finding(page.name, same, detail))
    entry = folder / "registry.yaml"
    if entry.exists():
        problem = registry.contradiction(entry.read_bytes(), certificate.content)
        findings.append(Finding(entry.name, not problem, problem or "states the certificate's figures"))
    return findings


def _validity(certificate: Certificate) -> Finding:
    reasons = "; ".join(certificate.void_reasons)
    return Finding(GUARANTEE, certificate.valid, f"VOID: {reasons}" if reasons else "is stated without reservation")
