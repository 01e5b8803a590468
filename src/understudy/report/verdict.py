"""The verdict in words: fixed rules over the figures of one result.

Each question gets a grade from one figure and two limits, both printed beside the answer:

    usefulness   (B - base) / (A - base) of the headline metric   good from 0.90, partial from 0.50
    columns      loss of the one-way distance, against uniform    good to 0.05, partial to 0.20
    relations    mean loss of pairs, triples, associations and    good to 0.25, partial to 0.65
                 queries
    telling      loss of the AUROC real against synthetic         good to 0.25, partial to 0.65
    other uses   share of the gain kept for other targets         good from 0.90, partial from 0.50
    rows         larger loss of impossible rows and determined    good to 0.25, partial to 0.65
                 pairs
    schema       largest share of rows that break a rule          good at 0, partial to 0.01
    groups       vanished groups; largest fall A -> B of a group  good: none and fall to 0.05, partial: none and to 0.15

A loss is where a figure lies between what real rows score (0: a bootstrap, or held-out rows) and what columns without any
dependence score (1; for single columns: outcomes of equal frequency). So a table whose columns are right and unrelated is
"poor" in relations, telling, other uses and rows, whatever the table.

A is trained on real rows and B on synthetic ones, both tested on held-out real rows; `base` is what knowing nothing
scores. The limits are our convention for reading a page, not a standard, and the page says so. A question whose
figure is missing is "not measured", never "good". Privacy gets no grade: no figure of an evaluation shows it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from understudy.report.certificate import is_void
from understudy.report.node import Element, figure, summary
from understudy.report.page import fill, name
from understudy.report.svg import Num, number
from understudy.report.utility import FEW_ROWS

GOOD, PARTIAL, POOR, UNKNOWN = "good", "partial", "poor", "unknown"
WORDS = {GOOD: "✓ good", PARTIAL: "△ partial", POOR: "✗ poor", UNKNOWN: "not measured"}
USEFUL = (0.90, 0.50)
COLUMNS = (0.05, 0.20)  # of the way to uniform columns
LOST = (0.25, 0.65)  # of the way to columns without dependence
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


def findings(root: Element) -> list[Finding]:
    """The answers to all questions, in the order of the page."""
    whole = (columns(root), relations(root), telling(root), other_uses(root), rows(root))
    return [useful(root), *whole, hurt(root), obeys(root)]


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


def setting(root: Element, letter: str) -> Element:
    """Setting A, B or C of the predictive models, an empty node where it was not run."""
    settings = root["utility"]["settings"] if root["utility"] else ()
    return next((one for one in settings if one["name"].text == letter), Element(None))


def useful(root: Element) -> Finding:
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


def _useful_images(images: Element, question: str) -> Finding:
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


def measure(root: Element, name: str) -> Element:
    """A whole-table measure, an empty node where it was not computed."""
    whole = root["fidelity"]["whole"] if root["fidelity"] else Element(None)
    return (
        next((one for one in whole["measures"] if one["name"].text == name), Element(None)) if whole else Element(None)
    )


def columns(root: Element) -> Finding:
    """The distance of single columns, between real rows and outcomes of equal frequency."""
    question = "Do single columns look alike?"
    limits = (
        f"way from real rows to outcomes of equal frequency: good to {percent(COLUMNS[0])}, partial to "
        f"{percent(COLUMNS[1])}"
    )
    one = measure(root, "one-way")
    if not one or one["lost"].number is None:
        return Finding(question, UNKNOWN, "Columns were not compared, or have hardly any shape.", limits)
    far = [name(s["column"]) for s in root["fidelity"]["shapes"] if (s["distance"]["mean"].number or 0) > 0.2]
    words = Markup("Mean distance {}; real rows {}. {} of {} columns are further off than 0.2").format(
        summary(one["value"]), figure(one["floor"]), number(len(far)), number(len(root["fidelity"]["shapes"]))
    )
    if far:
        words += ": " + Markup(", ").join(far[:5]) + (" and others" if len(far) > 5 else "")
    return Finding(question, at_most(one["lost"].value, COLUMNS), words + ".", limits)


def relations(root: Element) -> Finding:
    """How far pairs, triples, associations and queries are on the way to no dependence."""
    question = "Do columns go together as they do in the real rows?"
    limits = f"way from real rows to columns without dependence, mean of four measures: {_levels()}"
    found = [one for key in ("two-way", "three-way", "association", "query") if (one := measure(root, key))]
    losses = [one["lost"].value for one in found if one["lost"].number is not None]
    if not found:
        return Finding(question, UNKNOWN, "Columns were not compared together.", limits)
    if not losses:
        told = "The real columns hardly depend on each other: there is nothing to keep."
        return Finding(question, UNKNOWN, told, limits)
    mean = sum(losses) / len(losses)
    told = Markup(
        "{} of the way to no dependence. Distance of pairs of columns: {}; real rows {}, no dependence {}."
    ).format(percent(max(0.0, mean)), *_beside(found[0]))
    return Finding(question, at_most(mean, LOST), told, limits)


def telling(root: Element) -> Finding:
    """How well a classifier tells the two kinds of rows apart."""
    question = "Can a classifier tell real from synthetic rows?"
    limits = f"way of its AUROC from real rows to columns without dependence: {_levels()}"
    one = measure(root, "told-apart")
    mean = one["value"]["mean"].number if one else None
    if mean is None:
        return Finding(question, UNKNOWN, "This was not tried.", limits)
    lost = one["lost"].number
    # Where shuffled columns cannot be told, the way to a classifier that is always right stands in for theirs.
    grade = at_most((mean - 0.5) / 0.5 if lost is None else lost, LOST)
    answer = {GOOD: "Hardly.", PARTIAL: "Often.", POOR: "Easily."}[grade]
    told = Markup("{} Its AUROC is {} (0.5: cannot tell); real rows {}, no dependence {}.").format(
        answer, *_beside(one)
    )
    return Finding(question, grade, told, limits)


def other_uses(root: Element) -> Finding:
    """What is kept when other columns than the label are predicted."""
    question = "Can other columns be predicted from the synthetic rows?"
    limits = (
        f"share of the gain over chance, mean of some columns drawn at random: good from {percent(USEFUL[0])}, partial "
        f"from {percent(USEFUL[1])}"
    )
    one = measure(root, "other-targets")
    if not one or one["value"]["mean"].number is None:
        return Finding(question, UNKNOWN, "This was not tried, or no column can be predicted from the others.", limits)
    names = [
        name(t["column"])
        for t in root["fidelity"]["whole"]["targets"]
        if t["column"].text != root["header"]["label"].text
    ]
    told = Markup("{} of the gain over chance is kept for {}; real rows drawn again keep {}.").format(
        summary(one["value"], percent=True), Markup(", ").join(names), figure(one["bootstrap"], percent=True)
    )
    return Finding(question, at_least(one["value"]["mean"].value, USEFUL), told, limits)


def rows(root: Element) -> Finding:
    """Rows that could not exist: pairs of values never seen together, dependences that are broken."""
    question = "Could the synthetic rows exist?"
    limits = f"way from real rows to columns without dependence, the worse of two measures: {_levels()}"
    impossible, determined = measure(root, "impossible-rows"), measure(root, "determined-pairs")
    losses = [one["lost"].value for one in (impossible, determined) if one and one["lost"].number is not None]
    if not impossible:
        return Finding(question, UNKNOWN, "Pairs of values were not compared.", limits)
    told = Markup("{} hold a pair of values that no real row holds; {} of real rows, {} without dependence.").format(
        *(shown(node, percent=True) for shown, node in zip((summary, figure, figure), _nodes(impossible), strict=True))
    )
    if determined:
        told += Markup(" Of two columns that determine each other, {} of rows agree.").format(
            summary(determined["value"], percent=True)
        )
    return Finding(question, at_most(max(losses), LOST) if losses else UNKNOWN, told, limits)


def _levels() -> str:
    return f"good to {percent(LOST[0])}, partial to {percent(LOST[1])}"


def _nodes(one: Element) -> tuple[Element, Element, Element]:
    return one["value"], one["floor"], one["independent"]


def _beside(one: Element) -> tuple[Markup, Markup, Markup]:
    value, floor, independent = _nodes(one)
    return summary(value), figure(floor), figure(independent)


def all_groups(root: Element) -> Iterator[tuple[Element, Element]]:
    """Every class and subgroup, each with the grouping it belongs to."""
    return ((groups, one) for groups in root["groups"] for one in groups["groups"])


def hurt(root: Element) -> Finding:
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


def obeys(root: Element) -> Finding:
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


def privacy_sentence(certificate: Element) -> str:
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


def section(root: Element) -> Markup:
    """The verdict as it stands at the top of the internal report."""
    found, privacy = findings(root), privacy_sentence(root["header"]["certificate"])
    return fill("verdict", "verdict", headline=headline(found), privacy=privacy, found=found, grades=WORDS)


def _group(kind: Element, one: Element) -> Markup:
    return Markup("{} of {}").format(name(one["value"]), name(kind["by"]))


def _metric(metric: str) -> str:
    short = {"auroc": "AUROC", "auprc": "AUPRC", "accuracy": "accuracy", "r2": "R²", "rmse": "RMSE"}
    return short.get(metric) or name(metric)
