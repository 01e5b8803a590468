"""The face of the generator's certificate: who is protected, by how much, and what is not covered.

The certificate is public (it is part of the artifact that leaves the house), so both kinds of report show it.
A page never judges privacy from figures: what it says about privacy is read from here, or it says that there is
nothing to read. Whatever does not look like a valid certificate counts as none.
"""

import json
import math
from typing import Any

from understudy.report import page
from understudy.report.node import Node, figure
from understudy.report.svg import esc, is_figure

_SHOWN = 40_000  # letters of the whole certificate a page carries; the artifact holds the rest
_LISTS = (
    ("Not protected, because declared public", "unprotected"),
    ("Assumed", "assumptions"),
    ("Not covered", "not_covered"),
    ("Notes", "notes"),
)
_COLUMNS = (("purpose", "Purpose"), ("share", "Share"), ("epsilon_alone", "Epsilon alone"), ("noise", "Noise"))


def is_void(certificate: Node) -> bool:
    """There is a certificate and it takes its claim back."""
    return bool(certificate) and not holds(certificate)


def holds(certificate: Node) -> bool:
    """Only then may the synthetic rows be called private: stated valid, with a finite epsilon and no reservation."""
    valid = certificate.get("valid").value is True and not certificate.get("void_reasons")
    return valid and epsilon(certificate).number is not None


def epsilon(certificate: Node) -> Node:
    return certificate.get("claim").get("epsilon")


def short(certificate: Node) -> str:
    """For the header of a page."""
    if not certificate:
        return "none"
    return f"ε = {figure(epsilon(certificate))}" if holds(certificate) else "VOID"


def face(certificate: Node) -> str:
    """The label: claim in large letters, then the edges of the claim, then the whole certificate folded away."""
    if not certificate:
        return (
            '<div class="label void"><h3>No certificate</h3><p>The evaluation was given no certificate, so this page '
            "says nothing about privacy. Synthetic rows are not private by being synthetic.</p></div>"
        )
    if holds(certificate):
        parts = ["<h3>Privacy certificate</h3>", page.facts(_claim(certificate)), _attacker(certificate)]
    else:
        parts = ["<h3>VOID: no privacy guarantee</h3>", _items(certificate.get("void_reasons").value)]
    for title, key in _LISTS:
        if certificate.get(key):
            parts.append(f"<h3>{title}</h3>{_items(certificate[key].value)}")
    parts += [_charges(certificate), page.details("The whole certificate", _whole(certificate))]
    return f'<div class="label{"" if holds(certificate) else " void"}">{"".join(parts)}</div>'


def _claim(certificate: Node) -> list[tuple[str, str]]:
    claim = certificate["claim"]
    rows = [("Epsilon (total)", figure(claim.get("epsilon"))), ("Delta", figure(claim.get("delta")))]
    rows += [(title, page.name(node.text)) for title, node in _words(certificate, claim) if node]
    return rows


def _words(certificate: Node, claim: Node) -> list[tuple[str, Node]]:
    return [
        ("Unit of protection", claim.get("unit")),
        ("Neighbouring tables", claim.get("neighbours")),
        ("Method", certificate.get("method")),
    ]


def _attacker(certificate: Node) -> str:
    """What the best possible attacker gains. Rates are rounded up: a limit must not be understated."""
    gains = []
    for key, rate in certificate.get("attacker").items():
        if key.startswith("at_") and rate.number is not None:
            alarms = key.removeprefix("at_").removesuffix("_false_alarms").replace("%", " %")
            gains.append(f"{min(100.0, math.ceil(rate.number * 1000) / 10):.1f} % at {esc(alarms)} false alarms")
    if not gains:
        return ""
    rule = certificate["attacker"].get("rule").text
    told = (
        f"The best possible test for “was this unit in the table?” finds at most {' and '.join(gains)}"
        f"{f' ({esc(rule)})' if rule else ''}. Guessing finds as many as it raises false alarms."
    )
    return "<h3>What an attacker can gain</h3>" + page.paragraph(told)


def _charges(certificate: Node) -> str:
    """What the budget was spent on, by purpose."""
    charges = certificate.get("charges")
    if not isinstance(charges.value, list) or not charges:
        return ""
    rows = [[_cell(charge.get(key)) for key, _ in _COLUMNS] for charge in charges]
    return page.table("What the budget was spent on", [title for _, title in _COLUMNS], rows, words=[3])


def _cell(node: Node) -> str:
    return figure(node) if node.number is not None else page.name(node.text)


def _whole(certificate: Node) -> str:
    whole = json.dumps(certificate.value, indent=1, ensure_ascii=False, sort_keys=True)
    cut = "" if len(whole) <= _SHOWN else page.paragraph("Cut for length; the artifact holds the whole text.", "note")
    lines = "\n".join(esc(line) for line in whole[:_SHOWN].split("\n"))
    return f"<pre>{lines}</pre>{cut}"


def _items(value: Any) -> str:
    if isinstance(value, list):
        return "<ul>" + "".join(f"<li>{_prose(v)}</li>" for v in value) + "</ul>"
    return page.paragraph(_prose(value))


def _prose(value: Any) -> str:
    words = f"{value:.4g}" if is_figure(value) else "" if value is None else str(value)
    return f"<bdi>{esc(words)}</bdi>"
