"""The page of an audit: the claim, what every attack found, how far the runs could reach, and what they cannot see.

Drawn from `audit.json` alone. The page never says more than the audit did: a bound above the claim is "violation found", anything
else is "no violation found by these attacks", which is a statement about these attacks and not about the generator.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from understudy.accounting.attacker import best_true_positive_rate
from understudy.errors import UsageError
from understudy.files import write_atomically
from understudy.report import page
from understudy.report.audit_charts import Estimate, forest, roc
from understudy.report.node import Node, figure
from understudy.report.svg import Num, esc, number

FORMAT = "understudy audit 1"
FOUND, NOT_FOUND = "violation found", "no violation found by these attacks"
NOTHING_CLAIMED = "nothing is claimed, so nothing can be violated"
KINDS = {
    "clopper-pearson": "Clopper-Pearson",
    "gaussian": "Gaussian curve",
    "bayesian": "Bayesian",
    "one-run": "one run",
}
HOW = {
    "clopper-pearson": (
        "exact binomial limits on the error rates of one decision rule, fixed on other runs (Clopper, Pearson 1934; "
        "Nasr et al. 2021). Needs no assumption about the generator"
    ),
    "gaussian": (
        "limits on the error rates, read on the trade-off curve of Gaussian noise and converted to epsilon at the claimed "
        "delta (Nasr et al. 2023). Tighter, and valid as a bound on a method whose noise is Gaussian"
    ),
    "bayesian": (
        "credible interval under a prior (Zanella-Béguelin et al. 2023). Not a frequentist bound: it does not limit how "
        "often an audit is wrong, so it never decides the verdict"
    ),
    "one-run": "many canaries guessed from one fit (Steinke, Nasr, Jagielski 2023). Assumption-free, and weak for few canaries",
}
THREATS = {
    "black-box": "sees one synthetic table per fit, as a recipient would",
    "model-box": "sees the released artifact: weights, released statistics, ledger",
    "wall-box": "sees every noisy answer of the conversation, the strongest view that the guarantee still covers",
}
CANNOT = (
    "A lower bound says that the true epsilon is at least so much. It never says that it is at most so much: a stronger "
    "attack, another target or more runs could show more.",
    "Only the named targets were attacked. A fault that another pair of tables would trigger is not seen here.",
    "What the attack is not shown is not covered: timing, memory, log files, who may read the input, and whatever the holder "
    "publishes besides.",
    "Shadow fits are fits on tables that the auditor made. That they run the same code as a real fit is part of the audit's "
    "premises, not of its findings.",
)


def read(path: str | Path) -> Node:
    """The root of an audit file, or a sentence about what is wrong with it."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise UsageError(
            f"{str(path)!r} cannot be read as an audit; name the audit.json of 'understudy audit'"
        ) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UsageError(f"{str(path)!r} is not an audit of this version; write one with 'understudy audit'")
    return Node(data)


def render(root: Node) -> str:
    """The whole page."""
    found = any(outcome["violated"].value is True for outcome in root["outcomes"])
    verdict = FOUND if found else NOTHING_CLAIMED if root["epsilon"].number is None else NOT_FOUND
    return page.page(
        title=f"Audit of {root['method'].text}",
        banner=esc(verdict[0].upper() + verdict[1:])
        + (". That is no proof of anything more." if verdict == NOT_FOUND else ""),
        banner_css="stop" if found else "open",
        sheet=verdict.upper(),
        lead=_lead(root),
        sections=(
            page.section("findings", "Findings", _findings(root)),
            page.section("bounds", "Claim and lower bounds", _bounds(root)),
            page.section("curves", "What the attacks achieve", _curves(root)),
            page.section("limits", "What this audit can and cannot see", _limits(root)),
            page.section("method", "How this was computed", _method(root)),
        ),
        foot="Drawn from audit.json alone. Charts show rounded figures; the page's source and audit.json hold the exact ones.",
    )


def write(result: str | Path, path: str | Path) -> Path:
    """Draw the page of an audit file; nothing half-written is left."""
    return write_atomically(path, render(read(result)))


def _lead(root: Node) -> str:
    best = max(_deciding(root), key=lambda b: b["epsilon"].number or 0.0, default=None)
    facts = [
        ("Method", page.name(root["method"].text)),
        ("Claimed epsilon", _claim(root["epsilon"])),
        ("Claimed delta", figure(root["delta"])),
        ("Largest lower bound", _figure(best["epsilon"]) if best is not None else "none"),
        ("Attacks", number(len(root["outcomes"]))),
        ("Shadow fits", figure(root["fits"])),
    ]
    return page.paragraph(f"The claim: {page.name(root['claim'].text)}", "sub") + page.facts(facts)


def _figure(node: Node) -> str:
    return "∞" if node.value == "inf" else figure(node)


def _claim(node: Node) -> str:
    """As it was typed: 1, not 1.000."""
    value = node.number
    if value is None:
        return "∞ (nothing is claimed)"
    return f'<span data-path="{esc(node.path)}" data-value="{value!r}">{esc(f"{value:g}")}</span>'


def _deciding(root: Node) -> Iterator[Node]:
    """The frequentist bounds of all outcomes: those that decide."""
    return (b for o in root["outcomes"] for b in o["bounds"] if b["frequentist"].value is True)


def _name(outcome: Node) -> str:
    return f"{outcome['threat'].text}, {outcome['attack'].text}, {outcome['target'].text}"


def _findings(root: Node) -> str:
    items, unclaimed = [], root["epsilon"].number is None
    for outcome in root["outcomes"]:
        found = outcome["violated"].value is True
        deciding = [b for b in outcome["bounds"] if b["frequentist"].value is True]
        best = max(deciding, key=lambda b: b["epsilon"].number or 0.0, default=None)
        if best is None:
            told = "No frequentist bound was computed, so nothing can be decided."
        else:
            told = (
                f"With {figure(best['confidence'], 2, percent=True)} confidence epsilon is at least {_figure(best['epsilon'])} "
                f"({esc(_kind(best))}); {_claimed(root)}. These runs could have shown at most {_figure(best['largest'])}."
            )
            if not found and _blind(root, deciding):
                told += " That is not above the claim: with so few runs no violation could have been found."
        grade = FOUND if found else "no claim" if unclaimed else "no violation found"
        items.append(
            f'<li><span class="grade {"poor" if found else "unknown"}">{grade}</span><div>'
            f"<p><strong>{page.name(_name(outcome))}</strong></p><p>{told}</p></div></li>"
        )
    if not items:
        return page.paragraph("No attack was run.")
    return f'<ul class="verdict">{"".join(items)}</ul>'


def _claimed(root: Node) -> str:
    return "nothing is claimed" if root["epsilon"].number is None else f"claimed is {_claim(root['epsilon'])}"


def _blind(root: Node, deciding: list[Node]) -> bool:
    claim = root["epsilon"].number
    return claim is not None and all(
        (b["largest"].number or 0.0) <= claim for b in deciding if b["largest"].value != "inf"
    )


def _kind(bound: Node) -> str:
    return KINDS.get(bound["kind"].text, bound["kind"].text)


def _bounds(root: Node) -> str:
    if not root["outcomes"]:
        return ""
    claim = root["epsilon"].number
    groups: list[tuple[str, list[Estimate]]] = []
    rows: list[list[str]] = []
    marked: list[int] = []
    details: list[str] = []
    for outcome in root["outcomes"]:
        estimates = []
        for bound in outcome["bounds"]:
            frequentist, low = bound["frequentist"].value is True, bound["epsilon"].number
            exceeds = frequentist and claim is not None and (low is None or low > claim)
            estimates.append(
                Estimate(
                    name=_kind(bound),
                    low=low,
                    high=bound["upper"].number,
                    largest=bound["largest"].number,
                    frequentist=frequentist,
                    exceeds=exceeds,
                    path=bound["epsilon"].path,
                )
            )
            if exceeds:
                marked.append(len(rows))
            rows.append(_row(outcome, bound, frequentist))
            told = f"<bdi>{esc(bound['detail'].text)}</bdi>"
            details.append(f"<li>{page.name(_name(outcome))}, {esc(_kind(bound))}: {told}</li>")
        groups.append((_name(outcome), estimates))
    drawing = forest("Lower bounds on epsilon of every attack, with the claim", groups, claim)
    caption = (
        "What to see: a lower bound to the right of the dashed line is a violation. To the left it says little by itself; "
        "the grey tick shows how far this number of runs could have reached."
    )
    head = [
        "Attack",
        "Bound",
        "At least",
        "At most",
        "Confidence",
        "Fits",
        "Tested on",
        "Largest possible",
        "Kind",
    ]
    table = page.table("Every bound", head, rows, words=[1, 8], marked=marked)
    known = dict.fromkeys(b["kind"].text for o in root["outcomes"] for b in o["bounds"])
    how = [[esc(KINDS.get(kind, kind)), esc(HOW.get(kind, "see the detail of the bound"))] for kind in known]
    return (
        page.plots([page.figure("", drawing, caption)], wide=True)
        + table
        + page.details("Rates and thresholds behind each bound", f"<ul>{''.join(details)}</ul>")
        + page.details("How each bound is made", page.table("Methods", ["Bound", "Made by"], how, words=[1]))
    )


def _row(outcome: Node, bound: Node, frequentist: bool) -> list[str]:
    return [
        page.name(_name(outcome)),
        esc(_kind(bound)),
        _figure(bound["epsilon"]),
        _figure(bound["upper"]) if bound["upper"] else "no upper end",
        figure(bound["confidence"], 2, percent=True),
        figure(outcome["runs"]),
        figure(outcome["test_runs"]),
        _figure(bound["largest"]),
        "frequentist bound" if frequentist else "credible interval, not a frequentist bound",
    ]


def _curves(root: Node) -> str:
    region = allowed(root["epsilon"].number, root["delta"].number)
    drawings = []
    for outcome in root["outcomes"]:
        points = [(p[0].number or 0.0, p[1].number or 0.0) for p in outcome["roc"]]
        if len(points) < 2:
            continue
        name = _name(outcome)
        caption = f"Measured on {figure(outcome['test_runs'])} fits that the attack had not seen. " + (
            "Single points just outside the region are expected by chance; the bounds decide."
            if region
            else "Nothing is claimed, so no region is drawn."
        )
        drawings.append(
            page.figure(page.name(name), roc(f"True against false positives: {name}", points, region), caption)
        )
    if not drawings:
        return ""
    told = (
        "An attack that guesses sits on the diagonal. The shaded region holds every attack that a mechanism with the claimed "
        "(epsilon, delta) admits (Kairouz et al. 2015); an attack outside it contradicts the claim, up to sampling error."
    )
    return page.paragraph(told) + page.plots(drawings)


def allowed(epsilon: Num | None, delta: Num | None, steps: int = 100) -> list[tuple[Num, Num, Num]]:
    """(false positive rate, lowest, highest true positive rate) under the claim; empty where nothing is claimed."""
    if epsilon is None or delta is None:
        return []
    rates = sorted({i / steps for i in range(steps + 1)} | {10.0**-k for k in (2, 3, 4, 5)})
    best = best_true_positive_rate
    return [(a, max(0.0, 1.0 - best(epsilon, delta, 1.0 - a)), best(epsilon, delta, a)) for a in rates]


def _limits(root: Node) -> str:
    threats = dict.fromkeys(o["threat"].text for o in root["outcomes"])
    seen = "".join(
        f"<li><strong>{page.name(threat)}</strong> {esc(THREATS.get(threat, 'sees what its documentation says'))}.</li>"
        for threat in threats
    )
    not_tried = [name for name in THREATS if name not in threats]
    missing = f"<li>Not tried here: {esc(', '.join(not_tried))}.</li>" if not_tried else ""
    cannot = "".join(f"<li>{esc(words)}</li>" for words in CANNOT)
    return f"<h3>What the attacker sees</h3><ul>{seen}{missing}</ul><h3>What stays unseen</h3><ul>{cannot}</ul>"


def _method(root: Node) -> str:
    options = ", ".join(f"{page.name(k)} = {page.name(v.text)}" for k, v in root["options"].items()) or "defaults"
    rows = [
        ["Method", page.name(root["method"].text)],
        ["Options", options],
        ["Shadow fits", figure(root["fits"])],
        ["Seconds", figure(root["seconds"], 1)],
        ["Fits per second", figure(root["fits_per_second"], 2)],
        ["Versions", ", ".join(f"{page.name(k)} {page.name(v.text)}" for k, v in root["versions"].items())],
    ]
    return page.table("Settings of the audit", ["What", "Value"], rows, words=[1]) + page.notes(
        n.text for n in root["notes"]
    )
