"""An entry for the registry of differential-privacy deployments (OpenDP, proposed with NIST; launched 2025).

The form is the registry's own (as of July 2026): `url_slug`, `status`, `tier` and `deployment`, with no other keys at any
level. What follows from the certificate is filled in; what only the data holder knows says FILL IN, in values that are
valid all the same, so that the draft can be checked by the registry's tools before and after. `contradiction` lets a
holder fill those in, but not change the figures.
"""

import math
from collections.abc import Mapping
from typing import Any

import yaml

from understudy.accounting.plan import spoken

FILL = "FILL IN"
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")


def document(certificate: Mapping[str, Any]) -> dict[str, Any]:
    """The entry as plain objects, without remarks."""
    claim, valid = certificate["claim"], certificate["valid"]
    charges = [(spoken(charge["purpose"], charge["detail"]), charge) for charge in certificate["charges"]]
    mechanisms = "; ".join(f"{purpose}: {charge['noise']}" for purpose, charge in charges)
    details = [f"{charge['share']:.1%} {purpose}" for purpose, charge in charges]
    parts: dict[str, Any] = {
        "basic": {
            "name": FILL,
            "description": "Synthetic rows, and the generator that makes them, in the form of a private table.",
            "data_curators": [FILL],
            "intended_use": FILL,
            "data_product_type": "Synthetic data",
            "data_product_region": FILL,
            "data_product_sector": SECTORS[0],
            "publication_date": FILL,
        },
        "dp_variant": {
            "variant_name": "Approximate DP" if valid else "Custom",
            "data_domain": f"a table with {_columns(certificate['schema'])}",
            "unprotected_quantities": "; ".join(certificate["unprotected"]),
        },
        "privacy_loss": {
            "privacy_unit": "row" if claim["unit"] == "one row" else "person or other unit",
            "privacy_unit_details": f"{claim['unit']}; {claim['neighbours']}",
            "privacy_parameters": {"epsilon": claim["epsilon"], "delta": claim["delta"]},
            "privacy_parameters_details": f"shares of the squared privacy loss: {', '.join(details)}",
        },
        "deployment_model": {
            "model_name": "Central",
            "actors": "one curator holds the rows and runs the fit; everybody else may see the model",
            "release_type": "One release",
            "data_source_type": "Static",
            "access_type": "Non-interactive",
        },
        "accounting": {
            "post_processing": "everything after the releases named below, including all sampled rows",
            "composition": _composition(certificate),
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": FILL,
            "mechanisms": mechanisms,
            "justification": FILL,
        },
        "administrative": {"sources": FILL, "notes": _notes(certificate), "registry_authors": [FILL]},
    }
    slug = f"understudy-{certificate['plan_fingerprint'][:12]}"
    return {"url_slug": slug, "status": "Draft", "tier": 2, "deployment": parts}


_HINTS = {
    "name": "what is published",
    "data_curators": "who holds the original table",
    "intended_use": "what the stand-in is for",
    "data_product_region": "where the people are",
    "data_product_sector": f"one of {', '.join(SECTORS)}",
    "publication_date": "YYYY-MM-DD",
    "preprocessing_and_hyperparameter_tuning": "what was tried on the private table before this fit",
    "justification": "why this epsilon and this unit",
    "sources": "where the release and its documentation are",
    "registry_authors": "who wrote this entry",
}


def entry(certificate: Mapping[str, Any]) -> str:
    """The entry as commented YAML."""
    made = document(certificate)
    lines = ["# Entry for the differential-privacy deployments registry. Lines marked FILL IN are for the data holder."]
    if not certificate["valid"]:
        lines.append("# VOID: this model has no privacy guarantee; do not submit this entry.")
    lines += [f"{key}: {_value(made[key])}" for key in ("url_slug", "status", "tier")]
    lines.append("deployment:")
    for part, values in made["deployment"].items():
        lines.append(f"  {part}:")
        for key, value in values.items():
            hint = f"  # {FILL}: {_HINTS[key]}" if key in _HINTS else ""
            if isinstance(value, Mapping):
                lines.append(f"    {key}:")
                lines += [f"      {name}: {_value(one)}" for name, one in value.items()]
            else:
                lines.append(f"    {key}: {_value(value)}{hint}")
    return "\n".join(lines) + "\n"


def contradiction(text: bytes, certificate: Mapping[str, Any]) -> str:
    """What in a (perhaps filled in) entry disagrees with the certificate; empty if nothing."""
    wanted = document(certificate)["deployment"]
    try:
        found = yaml.safe_load(text.decode())["deployment"]
        figures = found["privacy_loss"]["privacy_parameters"]
        stated = {
            "epsilon": figures["epsilon"],
            "delta": figures["delta"],
            "unit": found["privacy_loss"]["privacy_unit_details"],
            "variant": found["dp_variant"]["variant_name"],
        }
        plan = certificate["plan_fingerprint"] in found["administrative"]["notes"]
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError):
        return "is damaged: no readable registry entry"
    claim = wanted["privacy_loss"]
    expected = {**claim["privacy_parameters"], "unit": claim["privacy_unit_details"]}
    expected["variant"] = wanted["dp_variant"]["variant_name"]
    wrong = [name for name, value in expected.items() if stated[name] != value] + ([] if plan else ["plan"])
    return f"states another {', '.join(wrong)} than the certificate" if wrong else ""


def _notes(certificate: Mapping[str, Any]) -> str:
    version = certificate["versions"].get("understudy", "unknown")
    state = "valid" if certificate["valid"] else "VOID, " + "; ".join(certificate["void_reasons"])
    return f"understudy {version}; plan {certificate['plan_fingerprint']}; certificate {state}"


def _composition(certificate: Mapping[str, Any]) -> str:
    if certificate["mu"] is not None:
        return "adaptive; Gaussian differential privacy, squares of mu add up, converted exactly"
    return "adaptive; privacy-loss distributions, rounded upward"


def _columns(schema: Mapping[str, Any]) -> str:
    columns = schema.get("columns", ())
    return f"{len(columns)} column{'' if len(columns) == 1 else 's'}"


def _value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    if isinstance(value, str):
        return str(yaml.safe_dump(value, default_style='"', allow_unicode=False, width=math.inf)).strip()
    if isinstance(value, int):
        return str(value)
    text = repr(float(value))
    mantissa, exponent, power = text.partition("e")  # YAML 1.1 reads 1e-05 as text: it wants a point
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{exponent}{power}"
