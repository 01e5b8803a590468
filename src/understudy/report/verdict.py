"""The verdict in words: fixed rules over the figures of one result.

Each question gets a grade from one figure and two limits, both printed beside the answer:

    usefulness   (B - base) / (A - base) of the headline metric   good from 0.90, partial from 0.50
    shapes       1 - mean distance over columns                   good from 0.90, partial from 0.75
    pairs        mean |difference of associations|                good to 0.05, partial to 0.15
    telling      AUROC of a classifier real against synthetic     good to 0.60, partial to 0.80
    schema       largest share of rows that break a rule          good at 0, partial to 0.01
    groups       vanished groups; largest fall A -> B of a group  good: none and fall to 0.05, partial: none and to 0.15

A is trained on real rows and B on synthetic ones, both tested on held-out real rows; `base` is what knowing nothing
scores. The limits are our convention for reading a page, not a standard, and the page says so. A question whose
figure is missing is "not measured", never "good". Privacy gets no grade: no figure of an evaluation shows it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from understudy.report.certificate import is_void
from understudy.report.node import Node, figure, summary
from understudy.report.page import fill, name
from understudy.report.svg import Num, number
from understudy.report.utility import FEW_ROWS

GOOD, PARTIAL, POOR, UNKNOWN = "good", "partial", "poor", "unknown"
WORDS = {GOOD: "✓ good", PARTIAL: "△ partial", POOR: "✗ poor", UNKNOWN: "not measured"}
USEFUL = (0.90, 0.50)
SHAPES = (0.90, 0.75)
PAIRS = (0.05, 0.15)
TELLING = (0.60, 0.80)
SCHEMA = (0.0, 0.01)
GROUP_FALL = (0.05, 0.15)
NO_SIGNAL = 0.05
ENOUGH = 3  # questions that must be judged before the page sums up


@dataclass(frozen=True)
class Finding:
    """One question with its grade, the answer in words, and the limits that the grade was read from."""

    question: str
    grade: str
    words: str  # markup where it holds names or figures
    limits: str


def findings(root: Node) -> list[Finding]:
    """The answers to all questions, in the order of the page."""
    return [useful(root), shapes(root), pairs(root), telling(root), hurt(root), obeys(root)]


def percent(share: Num) -> str:
    """A share in whole percent."""
    return f"{share * 100:.0f} %"


def at_least(value: Num, limits: tuple[Num, Num]) -> str:
    """The grade of a figure that should be large."""
    value += 1e-9  # a quotient that should equal a limit may miss it by a rounding error
    return GOOD if value >= limits[0] else PARTIAL if value >= limits[1] else POOR


def at_most(value: Num, limits: tuple[Num, Num]) -> str:
    """The grade of a figure that should be small."""
    value -= 1e-9
    return GOOD if value <= limits[0] else PARTIAL if value <= limits[1] else POOR


def setting(root: Node, letter: str) -> Node:
    """Setting A, B or C of the predictive models, an empty node where it was not run."""
    settings = root["utility"]["settings"] if root["utility"] else ()
    return next((one for one in settings if one["name"].text == letter), Node(None))


def useful(root: Node) -> Finding:
    """The share of a real model's lead over guessing that a model of synthetic rows keeps."""
    question = "Does a model trained on the synthetic rows work on real ones?"
    limits = (
        f"share of setting A's lead over guessing that setting B keeps: good from {percent(USEFUL[0])}, partial "
        f"from {percent(USEFUL[1])}"
    )
    if root["images"]:
        return _useful_images(root["images"], question)
    a, b = setting(root, "A"), setting(root, "B")
    if not root["utility"] or not b:
        return Finding(question, UNKNOWN, "No label, or the predictive models were not run.", limits)
    metric = root["utility"]["metrics"][0].text
    base, score_b = root["utility"]["base"].get(metric), b["average"][metric]
    mean_a, mean_b = a["average"][metric]["mean"].number if a else None, score_b["mean"].number
    runs = len(score_b["runs"])
    once = " One run only: its spread is unknown." if runs < 2 else f" Mean and standard deviation over {runs} runs."
    told = Markup("{} {} when trained on synthetic rows").format(_metric(metric), summary(score_b))
    if base.number is not None:
        told += Markup(" (guessing: {})").format(figure(base))
    if mean_a is None or mean_b is None or base.number is None:
        words = told + ". Without training rows there is no setting A to compare with." + once
        return Finding(question, UNKNOWN, words, limits)
    told += Markup(", {} when trained on real ones.").format(summary(a["average"][metric]))
    lead = mean_a - base.number
    better = root["utility"]["higher_is_better"].get(metric).value is not False
    unit = 1.0 if metric in ("auroc", "auprc", "accuracy", "r2") else abs(base.number)
    if (lead if better else -lead) < NO_SIGNAL * unit:
        words = told + " The real rows themselves hardly predict the label, so this question cannot be judged." + once
        return Finding(question, UNKNOWN, words, limits)
    kept = (mean_b - base.number) / lead
    grade = at_least(kept, USEFUL)
    share = percent(max(0.0, kept)) if kept <= 1 else "all"
    answer = {GOOD: "Yes", PARTIAL: "In part", POOR: "Hardly"}[grade]
    first = f"{answer}: {share} of the lead over guessing is kept. " if kept > 0 else "No: no better than guessing. "
    return Finding(question, grade, first + told + once, limits)


def _useful_images(images: Node, question: str) -> Finding:
    limits = (
        f"accuracy of setting B over that of setting A: good from {percent(USEFUL[0])}, partial from "
        f"{percent(USEFUL[1])}"
    )
    a, b = images["accuracy_a"], images["accuracy_b"]
    told = Markup(
        "A small convolutional network reaches accuracy {} when trained on synthetic images, {} on real ones."
    ).format(summary(b), figure(a))
    if a.number is None or b["mean"].number is None or a.number <= 0:
        return Finding(question, UNKNOWN, told, limits)
    return Finding(question, at_least(b["mean"].number / a.number, USEFUL), told, limits)


def shapes(root: Node) -> Finding:
    """The mean distance of single columns."""
    question = "Do single columns look alike?"
    limits = f"1 − mean distance over columns: good from {SHAPES[0]}, partial from {SHAPES[1]}"
    if not root["fidelity"] or root["fidelity"]["shape_score"]["mean"].number is None:
        return Finding(question, UNKNOWN, "Column shapes were not compared.", limits)
    score, everyone = root["fidelity"]["shape_score"], root["fidelity"]["shapes"]
    far = [name(s["column"]) for s in everyone if (s["distance"]["mean"].number or 0) > 0.2]
    words = Markup("Score {} of 1. {} of {} columns are further off than 0.2").format(
        summary(score), number(len(far)), number(len(everyone))
    )
    if far:
        words += ": " + Markup(", ").join(far[:5]) + (" and others" if len(far) > 5 else "")
    return Finding(question, at_least(score["mean"].value, SHAPES), words + ".", limits)


def pairs(root: Node) -> Finding:
    """The mean difference of associations."""
    question = "Do columns go together as they do in the real rows?"
    limits = f"mean absolute difference of associations: good to {PAIRS[0]}, partial to {PAIRS[1]}"
    value = root["fidelity"]["pairs"]["mean_absolute_difference"] if root["fidelity"] else Node(None)
    if not value or value["mean"].number is None:
        return Finding(question, UNKNOWN, "Pairs of columns were not compared.", limits)
    worst = root["fidelity"]["pairs"]["max_absolute_difference"]
    told = Markup("Associations differ by {} on average and by {} at most.").format(summary(value), summary(worst))
    return Finding(question, at_most(value["mean"].value, PAIRS), told, limits)


def telling(root: Node) -> Finding:
    """How well a classifier tells the two kinds of rows apart."""
    question = "Can a classifier tell real from synthetic rows?"
    limits = f"AUROC of that classifier: good to {TELLING[0]}, partial to {TELLING[1]} (0.5 = cannot tell, 1 = always)"
    found = root["fidelity"]["propensity"] if root["fidelity"] else Node(None)
    if not found or found["auroc"]["mean"].number is None:
        return Finding(question, UNKNOWN, "This was not tried.", limits)
    grade = at_most(found["auroc"]["mean"].value, TELLING)
    answer = {GOOD: "Hardly.", PARTIAL: "Often.", POOR: "Easily."}[grade]
    return Finding(question, grade, Markup("{} Its AUROC is {}.").format(answer, summary(found["auroc"])), limits)


def all_groups(root: Node) -> Iterator[tuple[Node, Node]]:
    """Every class and subgroup, each with the grouping it belongs to."""
    return ((groups, one) for groups in root["groups"] for one in groups["groups"])


def hurt(root: Node) -> Finding:
    """Groups with fewer than FEW_ROWS real rows are named when they vanish but their scores are too noisy to grade."""
    question = "Is a class or subgroup hurt?"
    limits = (
        f"good: none vanished and no group loses more than {GROUP_FALL[0]} between settings A and B; partial: up to "
        f"{GROUP_FALL[1]}; groups below {FEW_ROWS} real rows are not graded by their scores"
    )
    if not root["groups"]:
        return Finding(question, UNKNOWN, "No class label and no subgroup column was named.", limits)
    gone = [_group(k, g) for k, g in all_groups(root) if g["vanished"].value]
    if gone:
        more = f" and {len(gone) - 8} more" if len(gone) > 8 else ""
        told = Markup("Vanished from the synthetic rows: {}{}.").format(Markup(", ").join(gone[:8]), more)
        return Finding(question, POOR, told, limits)
    falls = []
    for kind, one in all_groups(root):
        metric = kind["metrics"][0].text if kind["metrics"] else ""
        a, b = one["setting_a"].get(metric), one["setting_b"].get(metric)
        mean_b = b["mean"].number if b else None
        if a.number is not None and mean_b is not None and (one["real_rows"].number or 0) >= FEW_ROWS:
            sign = -1.0 if metric == "rmse" else 1.0
            falls.append((sign * (a.number - mean_b), kind, one, metric, a, b))
    if not falls:
        unknown = "No class or subgroup vanished; their scores were not measured or rest on too few rows."
        return Finding(question, UNKNOWN, unknown, limits)
    fall, kind, one, metric, a, b = max(falls, key=lambda f: f[0])
    words = Markup("None vanished. Largest fall: {}, {} {} with real and {} with synthetic training rows.").format(
        _group(kind, one), _metric(metric), figure(a), summary(b)
    )
    return Finding(question, at_most(fall, GROUP_FALL), words, limits)


def obeys(root: Node) -> Finding:
    """The rule of the schema that is broken most often."""
    question = "Do the synthetic rows obey the schema?"
    limits = f"largest share of rows that break one rule: good at {SCHEMA[0]:g}, partial to {percent(SCHEMA[1])}"
    if not root["release"]["rows"].number:
        return Finding(question, UNKNOWN, "There are no synthetic rows.", limits)
    broken = [v for v in root["release"]["violations"] if (v["share"]["mean"].number or 0) > 0]
    if not broken:
        return Finding(question, GOOD, "Yes, all of them.", limits)
    worst = max(broken, key=lambda v: v["share"]["mean"].number or 0)
    count = "1 rule is" if len(broken) == 1 else f"{len(broken)} rules are"
    words = Markup("{} broken; most often {} in {}, {} of rows.").format(
        count, name(worst["rule"]), name(worst["column"]), summary(worst["share"], percent=True)
    )
    return Finding(question, at_most(worst["share"]["mean"].value, SCHEMA), words, limits)


def privacy_sentence(certificate: Node) -> str:
    """What may be said about privacy here: where it is promised, never how good it looks."""
    if not certificate:
        return "Privacy: no certificate was given, and no figure on this page can stand in for one."
    if is_void(certificate):
        return "Privacy: the certificate is VOID. Treat the synthetic rows as if they were real ones."
    return "Privacy rests on the certificate alone; no figure on this page is evidence for it or against it."


def headline(found: list[Finding]) -> str:
    """One sentence that leads with the worst news."""
    poor, partial, good = ([f.question for f in found if f.grade == g] for g in (POOR, PARTIAL, GOOD))
    judged = len(poor) + len(partial) + len(good)
    if judged < ENOUGH:
        return f"Only {judged} of {len(found)} questions could be judged: too little for a verdict."
    counts = f"Of {judged} questions that could be judged, {len(good)} good, {len(partial)} partial, {len(poor)} poor."
    if poor:
        return f"{counts} Do not rely on the synthetic rows for what is marked poor."
    if partial:
        return f"{counts} Usable with care: read what is marked partial first."
    return f"{counts} Nothing measured here speaks against use."


def section(root: Node) -> Markup:
    """The verdict as it stands at the top of the internal report."""
    found, privacy = findings(root), privacy_sentence(root["header"]["certificate"])
    return fill("verdict", "verdict", headline=headline(found), privacy=privacy, found=found, grades=WORDS)


def _group(kind: Node, one: Node) -> Markup:
    return Markup("{} of {}").format(name(one["value"]), name(kind["by"]))


def _metric(metric: str) -> str:
    short = {"auroc": "AUROC", "auprc": "AUPRC", "accuracy": "accuracy", "r2": "R²", "rmse": "RMSE"}
    return short.get(metric) or name(metric)
