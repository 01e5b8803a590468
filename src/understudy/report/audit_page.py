"""The page of an audit: the claim, what every attack found, how far the runs could reach, and what they cannot see.

Drawn from `audit.json` alone. The page never says more than the audit did: a bound above the claim is "violation found", anything
else is "no violation found by these attacks", which is a statement about these attacks and not about the generator.
"""

import functools
from pathlib import Path

from markupsafe import Markup

from understudy.accounting.attacker import best_true_positive_rate
from understudy.files import write_atomically
from understudy.report import page
from understudy.report.audit_charts import Estimate, forest, roc
from understudy.report.node import Element, read_marked
from understudy.report.svg import Num

FOUND, NOT_FOUND = "violation found", "no violation found by these attacks"
NOTHING_CLAIMED = "nothing is claimed, so nothing can be violated"
KINDS = {
    "clopper-pearson": "Clopper-Pearson",
    "gaussian": "Gaussian curve",
    "bayesian": "Bayesian",
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
}
THREATS = {
    "black-box": "sees one synthetic table per fit, as a recipient would",
    "model-box": "sees the released artifact: weights, released statistics, ledger",
    "wall-box": "sees every noisy answer of the conversation, the strongest view that the guarantee still covers",
}

_fill = functools.partial(page.fill, "audit_page")


def read(path: str | Path) -> Element:
    """The root of an audit file, or a sentence about what is wrong with it."""
    return read_marked(path, "audit", "understudy audit")


def write(result: str | Path, path: str | Path) -> Path:
    """Draw the page of an audit file; nothing half-written is left."""
    return write_atomically(path, render(read(result)))


def render(root: Element) -> str:
    """The whole page."""
    violated = any(outcome["violated"].value is True for outcome in root["outcomes"])
    verdict = FOUND if violated else NOTHING_CLAIMED if root["epsilon"].number is None else NOT_FOUND
    return page.page(
        title=f"Audit of {root['method']}",
        banner=verdict[0].upper()
        + verdict[1:]
        + (". That is no proof of anything more." if verdict == NOT_FOUND else ""),
        red=violated,
        sheet=verdict.upper(),
        lead=_fill("lead", root=root, best=_best(_deciding(root["outcomes"]))),
        sections=(
            ("findings", "Findings", _fill("findings", root=root, found=_findings(root))),
            ("bounds", "Claim and lower bounds", _bounds(root)),
            ("curves", "What the attacks achieve", _curves(root)),
            ("limits", "What this audit can and cannot see", _limits(root)),
            ("method", "How this was computed", _fill("method", root=root)),
        ),
        foot="Drawn from audit.json alone. Charts show rounded figures; the page's source and audit.json hold the exact ones.",
    )


def _deciding(outcomes: Element | list[Element]) -> list[Element]:
    """The frequentist bounds of some outcomes: those that decide."""
    return [b for o in outcomes for b in o["bounds"] if b["frequentist"].value is True]


def _best(bounds: list[Element]) -> Element | None:
    return max(bounds, key=lambda b: b["epsilon"].number or 0.0, default=None)


def _name(outcome: Element) -> str:
    return f"{outcome['threat']}, {outcome['attack']}, {outcome['target']}"


def _kind(bound: Element) -> str:
    return KINDS.get(bound["kind"].text, bound["kind"].text)


def _findings(root: Element) -> list[dict[str, object]]:
    """Per outcome its strongest deciding bound, and whether so few runs could not have shown a violation."""
    claim, found = root["epsilon"].number, []
    for outcome in root["outcomes"]:
        deciding = _deciding([outcome])
        best = _best(deciding)
        reach = [b["largest"].number or 0.0 for b in deciding if b["largest"].value != "inf"]
        blind = claim is not None and all(largest <= claim for largest in reach)
        kind = "" if best is None else _kind(best)
        found.append({"outcome": outcome, "name": _name(outcome), "best": best, "kind": kind, "blind": blind})
    return found


def _exceeds(bound: Element, claim: Num | None) -> bool:
    low = bound["epsilon"].number
    return bound["frequentist"].value is True and claim is not None and (low is None or low > claim)


def _bounds(root: Element) -> Markup:
    outcomes, claim = list(root["outcomes"]), root["epsilon"].number
    if not outcomes:
        return Markup()
    groups = [(_name(o), [_estimate(b, claim) for b in o["bounds"]]) for o in outcomes]
    rows = [
        {"outcome": o, "bound": b, "name": _name(o), "kind": _kind(b), "exceeds": _exceeds(b, claim)}
        for o in outcomes
        for b in o["bounds"]
    ]
    known = dict.fromkeys(b["kind"].text for o in outcomes for b in o["bounds"])
    return _fill(
        "bounds",
        drawing=forest("Lower bounds on epsilon of every attack, with the claim", groups, claim),
        rows=rows,
        methods=[(KINDS.get(kind, kind), HOW.get(kind, "see the detail of the bound")) for kind in known],
    )


def _estimate(bound: Element, claim: Num | None) -> Estimate:
    return Estimate(
        name=_kind(bound),
        low=bound["epsilon"].number,
        high=bound["upper"].number,
        largest=bound["largest"].number,
        frequentist=bound["frequentist"].value is True,
        exceeds=_exceeds(bound, claim),
        path=bound["epsilon"].path,
    )


def _curves(root: Element) -> Markup:
    region = allowed(root["epsilon"].number, root["delta"].number)
    drawn = []
    for outcome in root["outcomes"]:
        points = [(p[0].number or 0.0, p[1].number or 0.0) for p in outcome["roc"]]
        if len(points) >= 2:
            name = _name(outcome)
            drawn.append((name, outcome, roc(f"True against false positives: {name}", points, region)))
    return _fill("curves", drawn=drawn, claimed=bool(region)) if drawn else Markup()


def allowed(epsilon: Num | None, delta: Num | None, steps: int = 100) -> list[tuple[Num, Num, Num]]:
    """(false positive rate, lowest, highest true positive rate) under the claim; empty where nothing is claimed."""
    if epsilon is None or delta is None:
        return []
    rates = sorted({i / steps for i in range(steps + 1)} | {10.0**-k for k in (2, 3, 4, 5)})
    best = best_true_positive_rate
    return [(a, max(0.0, 1.0 - best(epsilon, delta, 1.0 - a)), best(epsilon, delta, a)) for a in rates]


def _limits(root: Element) -> Markup:
    threats = dict.fromkeys(o["threat"].text for o in root["outcomes"])
    tried = [(threat, THREATS.get(threat, "sees what its documentation says")) for threat in threats]
    return _fill("limits", tried=tried, not_tried=[name for name in THREATS if name not in threats])
