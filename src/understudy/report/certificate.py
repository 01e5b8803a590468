"""The face of the generator's certificate: who is protected, by how much, and what is not covered.

The certificate is public (it is part of the artifact that leaves the house), so both kinds of report show it.
A page never judges privacy from figures: what it says about privacy is read from here, or it says that there is
nothing to read.
"""

import json
from collections.abc import Sequence
from typing import Any

from understudy.report import page
from understudy.report.node import Node, figure
from understudy.report.svg import esc, is_figure

_SHOWN = 40_000  # letters of the whole certificate a page carries; the artifact holds the rest


def is_void(certificate: Node) -> bool:
    return certificate.get("valid").value is False or bool(_first(certificate, ("void_reason", "void_reasons", "void")))


def face(certificate: Node) -> str:
    """The label: claim in large letters, then the edges of the claim, then the whole certificate folded away."""
    if not isinstance(certificate.value, dict) or not certificate:
        return (
            '<div class="label void"><h3>No certificate</h3><p>The evaluation was given no certificate, so this page says '
            "nothing about privacy. Synthetic rows are not private by being synthetic.</p></div>"
        )
    void = is_void(certificate)
    head = "Certificate: VOID, no privacy guarantee" if void else "Privacy certificate"
    parts = [f"<h3>{head}</h3>"]
    reason = _first(certificate, ("void_reason", "void_reasons"))
    if void and reason:
        parts.append(page.paragraph("Why: " + _prose(reason.value)))
    parts.append(page.facts(_claim(certificate)))
    if not void:
        parts.append(_attacker(certificate))
    for title, keys in (
        ("Who is protected", ("protects", "who", "neighbours", "neighbors")),
        ("What is not protected", ("unprotected", "unprotected_quantities")),
        ("What is not covered", ("not_covered",)),
        ("Assumptions", ("assumptions",)),
        ("Notes", ("notes",)),
    ):
        found = _first(certificate, keys)
        if found:
            parts.append(f"<h3>{title}</h3>{_items(found.value)}")
    parts.append(_charges(certificate))
    whole = json.dumps(certificate.value, indent=1, ensure_ascii=False, sort_keys=True)
    cut = "" if len(whole) <= _SHOWN else page.paragraph("Cut for length; the artifact holds the whole text.", "note")
    lines = "\n".join(esc(line) for line in whole[:_SHOWN].split("\n"))
    parts.append(page.details("The whole certificate", f"<pre>{lines}</pre>{cut}"))
    return f'<div class="label{" void" if void else ""}">{"".join(parts)}</div>'


def _first(node: Node, keys: Sequence[str]) -> Node:
    for key in keys:
        found = node.get(key)
        if found:
            return found
    return Node(None)


def _claim(certificate: Node) -> list[tuple[str, str]]:
    claim = certificate.get("claim") if isinstance(certificate.get("claim").value, dict) else certificate
    budget = certificate.get("budget") if isinstance(certificate.get("budget").value, dict) else claim
    rows = []
    for title, keys in (("Epsilon (total)", ("epsilon",)), ("Delta", ("delta",))):
        found = next(
            (n for n in (_first(source, keys) for source in (claim, certificate, budget)) if n.number is not None), None
        )
        rows.append((title, figure(found) if found is not None else "not stated"))
    for title, keys in (("Unit of protection", ("unit", "privacy_unit")), ("Method", ("method",))):
        found = _first(claim, keys) or _first(certificate, keys)
        if found:
            rows.append((title, page.name(_prose_plain(found.value))))
    return rows


def _attacker(certificate: Node) -> str:
    """What the best possible attacker gains, if the certificate states it as a list or mapping of rates."""
    found = _first(certificate, ("attacker", "best_attacker", "attacker_gain"))
    if not found:
        return ""
    return f"<h3>What the best possible attacker can gain</h3>{_items(found.value)}"


def _charges(certificate: Node) -> str:
    found = _first(certificate, ("charges", "split", "shares"))
    if not isinstance(found.value, list) or not all(isinstance(c, dict) for c in found.value):
        return ""
    keys = [k for k in ("purpose", "share", "epsilon_alone", "epsilon", "detail") if any(k in c for c in found.value)]
    rows = [[_cell(charge.get(k)) for k in keys] for charge in found]
    if not keys or not rows:
        return ""
    head = [esc(k.replace("_", " ")) for k in keys]
    return page.table(
        "What the budget was spent on", head, rows, words=[i for i, k in enumerate(keys) if k == "detail"]
    )


def _cell(node: Node) -> str:
    return figure(node) if node.number is not None else page.name(_prose_plain(node.value))


def _items(value: Any) -> str:
    if isinstance(value, dict):
        return (
            "<ul>"
            + "".join(f"<li>{esc(str(k).replace('_', ' '))}: {_prose(v)}</li>" for k, v in value.items())
            + "</ul>"
        )
    if isinstance(value, list):
        return "<ul>" + "".join(f"<li>{_prose(v)}</li>" for v in value) + "</ul>"
    return page.paragraph(_prose(value))


def _prose(value: Any) -> str:
    return f"<bdi>{esc(_prose_plain(value))}</bdi>"


def _prose_plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{str(k).replace('_', ' ')} {_prose_plain(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(_prose_plain(v) for v in value)
    if is_figure(value):
        return f"{value:.4g}"
    return "" if value is None else str(value)
