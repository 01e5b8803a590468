"""Predictive models in settings A, B and C (PATE-GAN Section 5.1), ranking agreement, and who is hurt."""

import functools
from dataclasses import replace

from markupsafe import Markup

from understudy.report import page
from understudy.report.charts import Mark, Reference, bar_chart
from understudy.report.node import Element, spread

METRICS = {"auroc": "AUROC", "auprc": "AUPRC", "accuracy": "Accuracy", "r2": "R²", "rmse": "RMSE", "recall": "Recall"}
RANKINGS = {
    "ranking_models": "models by their score in A and in C",
    "ranking_features": "features by their correlation with the label",
}
SHOWN_GROUPS, DRAWN_GROUPS = 40, 20
FEW_ROWS = 30  # below this the scores of a group are too noisy to grade

_fill = functools.partial(page.fill, "utility")


def settings(root: Element) -> Markup:
    """One chart per metric: models in rows, settings as marks, error bars over runs."""
    utility = root["utility"]
    if not utility:
        return Markup()
    runs = [len(s["average"][m.text]["runs"]) for s in utility["settings"] for m in utility["metrics"]]
    return _fill(
        "settings",
        utility=utility,
        cap=root["header"]["max_rows"],
        several=max(runs, default=0) > 1,
        charts=[_chart(utility, metric.text) for metric in utility["metrics"]],
        rankings=[(utility[key], what) for key, what in RANKINGS.items() if utility[key]],
        remarks=_remarks(utility),
    )


def _chart(utility: Element, metric: str) -> dict[str, object]:
    title, base = METRICS.get(metric, metric), utility["base"].get(metric)
    models = dict.fromkeys(m["model"].text for s in utility["settings"] for m in s["models"])
    rows = [("Average", [s["average"].get(metric) for s in utility["settings"]])]
    rows += [(model, [_score(s, model, metric) for s in utility["settings"]]) for model in models]
    drawing = bar_chart(
        f"{title} per model in each setting",
        [(model, [mark(score) for score in scores]) for model, scores in rows],
        [f"{s['name']}: {s['trained_on']} → {s['tested_on']}" for s in utility["settings"]],
        label=title,
        references=(Reference(name="guessing", value=base.number),),
    )
    higher = utility["higher_is_better"].get(metric).value is not False
    return {"title": title, "drawing": drawing, "rows": rows, "base": base, "higher": higher}


def _score(setting: Element, model: str, metric: str) -> Element:
    return next((m["scores"].get(metric) for m in setting["models"] if m["model"].text == model), Element(None))


def mark(score: Element) -> Mark:
    """The mean of a figure over runs, with its spread and the single runs; no figure for an empty node."""
    if not score:
        return Mark(value=None)
    low, high = spread(score)
    runs = tuple(r.number for r in score["runs"])
    return Mark(value=score["mean"].number, low=low, high=high, runs=runs, path=score["mean"].path)


def _remarks(utility: Element) -> list[tuple[Element, Element | None, str]]:
    """Notes and warnings as (setting, model, words); no model for those of the whole setting."""
    found: list[tuple[Element, Element | None, str]] = []
    for one in utility["settings"]:
        found += [(one["name"], None, note.text) for note in one["notes"]]
        for model in one["models"]:
            words = [n.text for n in model["notes"]] + [f"warning: {w}" for w in model["warnings"]]
            found += [(one["name"], model["model"], w) for w in words]
    return found


def groups(root: Element) -> Markup:
    """Shares and scores per class of the label and per subgroup; what vanished is named first and tinted."""
    return Markup().join(_groups(one) for one in root["groups"])


def _groups(kind: Element) -> Markup:
    shown = list(kind["groups"])
    if len(shown) > SHOWN_GROUPS:
        shown = sorted(shown, key=lambda g: not g["vanished"].value)[:SHOWN_GROUPS]
    drawing = bar_chart(
        f"Share of rows per value of {kind['by']}",
        [
            (g["value"].text, [Mark(value=g["real_share"].number), replace(mark(g["synthetic_share"]), runs=())])
            for g in shown[:DRAWN_GROUPS]
        ],
        ["real", "synthetic"],
        label="share of rows",
        bars=True,
        percent=True,
    )
    metrics = [(m.text, METRICS.get(m.text, m.text)) for m in kind["metrics"]]
    return _fill("groups", kind=kind, shown=shown, metrics=metrics, drawing=drawing, few=FEW_ROWS)
