"""The face of the generator's certificate: who is protected, by how much, and what is not covered.

The certificate is public (it is part of the artifact that leaves the house), so both kinds of report show it.
A page never judges privacy from figures: what it says about privacy is read from here, or it says that there is
nothing to read. Whatever does not look like a valid certificate counts as none.
"""

import json
import math

from markupsafe import Markup

from understudy.report.node import Element, figure
from understudy.report.page import fill

_SHOWN = 40_000  # letters of the whole certificate a page carries; the artifact holds the rest
_LISTS = (
    ("Not protected, because declared public", "unprotected"),
    ("Assumed", "assumptions"),
    ("Not covered", "not_covered"),
    ("Notes", "notes"),
)


def is_void(certificate: Element) -> bool:
    """There is a certificate and it takes its claim back."""
    return bool(certificate) and not holds(certificate)


def holds(certificate: Element) -> bool:
    """Only then may the synthetic rows be called private: stated valid, with a finite epsilon and no reservation."""
    valid = certificate.get("valid").value is True and not certificate.get("void_reasons")
    return valid and epsilon(certificate).number is not None


def epsilon(certificate: Element) -> Element:
    """The claimed epsilon, an empty node where nothing is claimed."""
    return certificate.get("claim").get("epsilon")


def short(certificate: Element) -> str:
    """For the header of a page."""
    if not certificate:
        return "none"
    return Markup("ε = ") + figure(epsilon(certificate)) if holds(certificate) else "VOID"


def face(certificate: Element) -> Markup:
    """The label: claim in large letters, then the edges of the claim, then the whole certificate folded away."""
    valid = holds(certificate)
    lists = [] if valid else [("", _entries(certificate.get("void_reasons")))]
    lists += [(title, _entries(certificate.get(key))) for title, key in _LISTS]
    whole = json.dumps(certificate.value, indent=1, ensure_ascii=False, sort_keys=True)
    return fill(
        "certificate",
        "face",
        certificate=certificate,
        holds=valid,
        lists=[(title, entries) for title, entries in lists if entries],
        charges=_entries(certificate.get("charges")),
        gains=_gains(certificate),
        whole=whole[:_SHOWN].split("\n"),
        cut=len(whole) > _SHOWN,
    )


def _entries(node: Element) -> list[Element]:
    return list(node) if isinstance(node.value, list) else [node] if node else []


def _gains(certificate: Element) -> list[str]:
    """What the best possible attacker gains. Rates are rounded up: a limit must not be understated."""
    gains = []
    for key, rate in certificate.get("attacker").items():
        if key.startswith("at_") and rate.number is not None:
            alarms = key.removeprefix("at_").removesuffix("_false_alarms").replace("%", " %")
            gains.append(f"{min(100.0, math.ceil(rate.number * 1000) / 10):.1f} % at {alarms} false alarms")
    return gains
