"""An entry for the registry of differential-privacy deployments (OpenDP, proposed with NIST; launched 2025).

Tier 2 (parameters) is filled in from the certificate. What only the data holder knows (tier 1 names, tier 3 reasons)
is left as an empty string with the mark `# FILL IN`. `contradiction` lets a holder fill those in, but not change the
figures.
"""

import math
from collections.abc import Mapping
from typing import Any

import yaml

FILL = "# FILL IN"


def entry(certificate: Mapping[str, Any]) -> str:
    """The entry as commented YAML."""
    claim = certificate["claim"]
    valid = certificate["valid"]
    mechanisms = [f"{charge['purpose']}: {charge['noise']}" for charge in certificate["charges"]]
    lines = [
        "# Entry for the differential-privacy deployments registry. Lines marked FILL IN are for the data holder.",
    ]
    if not valid:
        lines.append("# VOID: this model has no privacy guarantee; do not submit this entry.")
    lines += [
        "tier: 2",
        "basic:",
        _ask("name", "what is published"),
        _ask("data_curators", "who holds the original table", "[]"),
        _ask("intended_use", "what the stand-in is for"),
        "  data_product_type: Synthetic data",
        _ask("region", "where the people are"),
        _ask("publication_date", "YYYY-MM-DD"),
        _ask("sector", "e.g. health"),
        "dp_variant:",
        f"  name: {_text('Approximate' if valid else 'Custom')}",
        f"  data_domain: {_text('a table with ' + _columns(certificate['schema']))}",
        "  unprotected_quantities:",
        *_list(certificate["unprotected"], 4),
        "privacy_loss:",
        f"  privacy_unit: {_text('row' if claim['unit'] == 'one row' else 'person or other unit')}",
        f"  privacy_unit_details: {_text(claim['unit'] + '; ' + claim['neighbours'])}",
        f"  epsilon: {_number(claim['epsilon'])}",
        f"  delta: {_number(claim['delta'])}",
        "  rho: null  # stated as epsilon and delta",
        "deployment_model:",
        "  name: Central",
        "  actors:",
        '    - "one curator holds the rows and runs the fit; everybody else may see the model"',
        "  releases: one",
        "  data: static",
        "  interactive: false",
        "accounting:",
        f"  post_processing: {_text('everything after the releases named below, including all sampled rows')}",
        f"  composition: {_text(_composition(certificate))}",
        "implementation:",
        _ask("preprocessing_and_hyperparameter_tuning", "what was tried on the private table before this fit"),
        "  mechanisms:",
        *_list(mechanisms, 4),
        _ask("justification", "why this epsilon and this unit"),
        "administrative:",
        f"  software: {_text('understudy ' + str(certificate['versions'].get('understudy', 'unknown')))}",
        f"  plan: {_text(certificate['plan_fingerprint'])}",
        f"  valid: {'true' if valid else 'false'}",
        _ask("contact", "whom to ask"),
        _ask("sources", "where the release and its documentation are"),
    ]
    return "\n".join(lines) + "\n"


def contradiction(text: bytes, certificate: Mapping[str, Any]) -> str:
    """What in a (perhaps filled in) entry disagrees with the certificate; empty if nothing."""
    try:
        data = yaml.safe_load(text.decode())
        loss = data["privacy_loss"]
        found = {"epsilon": loss["epsilon"], "delta": loss["delta"], "details": loss["privacy_unit_details"]}
        found["plan"], found["valid"] = data["administrative"]["plan"], data["administrative"]["valid"]
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError):
        return "is damaged: no readable registry entry"
    claim = certificate["claim"]
    wanted = {"epsilon": claim["epsilon"], "delta": claim["delta"]}
    wanted |= {"details": f"{claim['unit']}; {claim['neighbours']}", "plan": certificate["plan_fingerprint"]}
    wanted["valid"] = certificate["valid"]
    wrong = [name for name, value in wanted.items() if found[name] != value]
    return f"states another {', '.join(wrong)} than the certificate" if wrong else ""


def _composition(certificate: Mapping[str, Any]) -> str:
    if certificate["mu"] is not None:
        return "adaptive; Gaussian differential privacy, squares of mu add up, converted exactly"
    return "adaptive; privacy-loss distributions, rounded upward"


def _columns(schema: Mapping[str, Any]) -> str:
    columns = schema.get("columns", ())
    return f"{len(columns)} column{'' if len(columns) == 1 else 's'}"


def _ask(key: str, hint: str, empty: str = '""') -> str:
    return f"  {key}: {empty}  {FILL}: {hint}"


def _text(value: str) -> str:
    return str(yaml.safe_dump(value, default_style='"', allow_unicode=False, width=math.inf)).strip()


def _number(value: Any) -> str:
    if value is None:
        return "null"
    text = repr(float(value))
    mantissa, exponent, power = text.partition("e")  # YAML 1.1 reads 1e-05 as text: it wants a point
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{exponent}{power}"


def _list(values: Any, indent: int) -> list[str]:
    return [f"{' ' * indent}- {_text(value)}" for value in values]
