"""Answers layer by layer: NIST SP 800-226 (2025), and questions that reviewers who are no experts ask.

SP 800-226 evaluates a claim by a pyramid: the claim itself (epsilon, unit), then the algorithms and their correctness, utility
and bias, the trust model, and at the base security and the collection of the data. Each layer gets what the certificate says,
and what it does not cover; what only the holder knows says FILL IN.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.accounting.plan import spoken
from understudy.evidence.risks import percent

FILL = "FILL IN"
Rows = Sequence[tuple[str, str]]


def sp800_226(certificate: Mapping[str, Any]) -> str:
    """The checklist as Markdown."""
    claim, charges = certificate["claim"], certificate["charges"]
    spent = certificate["epsilon_spent"]
    layers: dict[str, Rows] = {
        "The claim": (
            ("Definition", f"(epsilon, delta)-differential privacy; neighbours: {claim['neighbours']}"),
            ("Epsilon", f"{claim['epsilon']:g} for everything together; charged and recomputed: {spent:.6g}"),
            ("Delta", f"{claim['delta']:g}"),
            ("Unit of privacy", claim["unit"]),
            ("Several releases", f"this is one release; other releases from the same people add up. Others: {FILL}"),
        ),
        "Algorithms": (
            ("Method", certificate["method"]),
            *(
                (spoken(charge["purpose"], charge["detail"]), f"{charge['noise']} ({charge['share']:.1%} of the loss)")
                for charge in charges
            ),
            ("Composition", "adaptive, all answers on one ledger that refuses what the plan did not announce"),
            ("Post-processing", "everything else: training, sampling, this page"),
        ),
        "Correctness": (
            ("Arithmetic", "'understudy certificate verify MODEL' recomputes epsilon; tools/recompute_epsilon.py does so "
             "without understudy, with directed rounding"),
            ("Noise", "; ".join(text for text in certificate["assumptions"] if "oise" in text)),
            ("Tests", "every privacy claim has a test that fails when the claim is false; methods are attacked (audit)"),
            ("Floating point", "see Noise; integers are added up and noise on them is exact unless said otherwise"),
        ),
        "Utility and bias": (
            ("Measured", f"'understudy evaluate' on rows of other people; not private, so not in this folder. Result: {FILL}"),
            ("Bias", "noise hides rare groups first; 'evaluate --by COLUMN' shows who is hurt"),
            ("Bounds and categories", _estimates(certificate)),
        ),
        "Trust model": (
            ("Who sees the rows", "the curator who runs the fit (central model); the generator never does"),
            ("Who sees the result", f"anybody may. Intended: {FILL}"),
        ),
        "Security and data collection (not covered by the software)": (
            ("Access to the original table", FILL),
            ("Side channels", "running time, memory and checkpoints are not protected; the machine must be trusted"),
            ("How the data were collected", FILL),
            ("Consent, legal basis", FILL),
        ),
        "Public quantities": tuple((f"{number}", text) for number, text in enumerate(certificate["unprotected"], 1)),
        "Not covered": tuple((f"{number}", text) for number, text in enumerate(certificate["not_covered"], 1)),
    }  # fmt: skip
    return _page("NIST SP 800-226, layer by layer", layers)


def reviewers(certificate: Mapping[str, Any]) -> str:
    """Questions and answers for people who decide, and are no experts."""
    claim, attacker = certificate["claim"], certificate["attacker"]
    rates = [(key.split("_")[1], rate) for key, rate in attacker.items() if key.startswith("at_")]
    gain = " and ".join(f"{percent(rate)} at {alarms} false alarms" for alarms, rate in rates)
    remarks = "; ".join(certificate["notes"]) or "none"
    answers: dict[str, Rows] = {
        "What is released": (
            ("What leaves the house?", "a generator (a folder) and rows that it makes. No row of the original table is in it."),
            ("May the rows be mistaken for real ones?", "they look real and are not. Say so wherever they go."),
        ),
        "Who is protected": (
            ("Who?", f"{certificate['protects']}"),
            ("How strongly?", f"epsilon {claim['epsilon']:g}. The best test for whether a unit took part finds at most {gain}; "
             "guessing finds as many as it raises false alarms."),
            ("Is that a lot?", "below 1 is strong, up to about 5 common in official releases, above 10 weak. It is a choice; the "
             f"reason for it belongs here: {FILL}"),
        ),
        "What can go wrong": (
            ("Can somebody be re-identified?", "not beyond the limits in risks.md, whatever the attacker knows."),
            ("What is not protected?", "; ".join(certificate["unprotected"])),
            ("Could the software be wrong?", "it was attacked and its arithmetic can be redone without it; see sp800-226.md."),
            ("Remarks of the fit", remarks),
        ),
        "Who answers for it": (("Data holder", FILL), ("Contact", FILL), ("Review date", FILL)),
    }  # fmt: skip
    return _page("For reviewers", answers)


def _estimates(certificate: Mapping[str, Any]) -> str:
    paid = [
        c["purpose"].removeprefix("estimate ") for c in certificate["charges"] if c["purpose"].startswith("estimate ")
    ]
    if not paid:
        return "declared by the holder as public; none was looked up in the rows"
    return f"found privately and paid for: {', '.join(paid)}; all others declared by the holder as public"


def _page(title: str, layers: Mapping[str, Rows]) -> str:
    lines = [f"# {title}", ""]
    for layer, rows in layers.items():
        lines += [f"## {layer}", "", "| | |", "| --- | --- |"]
        lines += [f"| {cell(name)} | {cell(answer)} |" for name, answer in rows]
        lines.append("")
    return "\n".join(lines)


def cell(text: str) -> str:
    """Text inside a table of Markdown: names of columns may hold anything."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
