"""Predictive models in settings A, B and C (PATE-GAN Section 5.1), ranking agreement, and who is hurt."""

from understudy.report import page
from understudy.report.charts import Mark, Reference, bar_chart
from understudy.report.node import Node, figure, spread, summary
from understudy.report.svg import esc, number

METRICS = {"auroc": "AUROC", "auprc": "AUPRC", "accuracy": "Accuracy", "r2": "R²", "rmse": "RMSE", "recall": "Recall"}
BOUNDED = ("auroc", "auprc", "accuracy")
SHOWN_GROUPS = 40
FEW_ROWS = 30  # below this the scores of a group are too noisy to grade


def settings(root: Node) -> str:
    """One chart per metric: models in rows, settings as marks, error bars over runs."""
    utility = root["utility"]
    if not utility:
        return ""
    told = "; ".join(
        f"<strong>{esc(s['name'].text)}</strong>: trained on {esc(s['trained_on'].text)}, tested on "
        f"{esc(s['tested_on'].text)}"
        for s in utility["settings"]
    )
    runs = max((len(s["average"][m.text]["runs"]) for s in utility["settings"] for m in utility["metrics"]), default=0)
    bars = (
        "Bars span one standard deviation over runs; small ticks are the single runs."
        if runs > 1
        else "One run only, so there are no error bars."
    )
    cap = root["header"]["max_rows"]
    capped = f" Models train on at most {figure(cap)} rows." if cap.number is not None else ""
    charts = [_chart(utility, metric.text, bars) for metric in utility["metrics"]]
    return (
        page.paragraph(f"Settings: {told}.{capped}")
        + page.plots(charts, wide=True)
        + _ranking(utility)
        + page.notes(n.text for n in utility["notes"])
        + _remarks(utility)
    )


def _chart(utility: Node, metric: str, bars: str) -> str:
    shown = METRICS.get(metric, metric)
    names = [f"{s['name'].text}: {s['trained_on'].text} → {s['tested_on'].text}" for s in utility["settings"]]
    rows = [("Average", [_mark(s["average"].get(metric)) for s in utility["settings"]])]
    models = list(dict.fromkeys(m["model"].text for s in utility["settings"] for m in s["models"]))
    rows += [(m, [_mark(_score(s, m, metric)) for s in utility["settings"]]) for m in models]
    base = utility["base"].get(metric)
    drawing = bar_chart(
        f"{shown} per model in each setting",
        rows,
        names,
        label=shown,
        references=(Reference(name="guessing", value=base.number),),
    )
    direction = "right is better" if utility["higher_is_better"].get(metric).value is not False else "left is better"
    caption = (
        f"What to see: how far B (trained on synthetic rows) falls short of A (trained on real rows); {direction}. "
        f"C close to A means that synthetic rows alone rank models well. {bars}"
    )
    return page.figure(esc(shown), drawing, caption, _numbers(utility, metric, models))


def _score(setting: Node, model: str, metric: str) -> Node:
    return next((m["scores"].get(metric) for m in setting["models"] if m["model"].text == model), Node(None))


def _mark(score: Node) -> Mark:
    if not score:
        return Mark(value=None)
    low, high = spread(score)
    return Mark(
        value=score["mean"].number,
        low=low,
        high=high,
        runs=tuple(r.number for r in score["runs"]),
        path=score["mean"].path,
    )


def _numbers(utility: Node, metric: str, models: list[str]) -> str:
    head, rows = ["Model"], []
    for one in utility["settings"]:
        head += [esc(one["name"].text), f"{esc(one['name'].text)} range", f"{esc(one['name'].text)} best run"]
    for model in (None, *models):
        row = ["Average" if model is None else page.name(model)]
        for one in utility["settings"]:
            score = one["average"].get(metric) if model is None else _score(one, model, metric)
            row += (
                [summary(score), f"{figure(score['low'])} – {figure(score['high'])}", figure(score["best"])]
                if score
                else ["–", "–", "–"]
            )
        rows.append(row)
    base = figure(utility["base"].get(metric))
    return page.table(
        f"{esc(METRICS.get(metric, metric))}: mean ± standard deviation; guessing scores {base}", head, rows
    ) + page.notes([f"Best run is {utility['best_note'].text}."])


def _ranking(utility: Node) -> str:
    parts = []
    for key, what in (
        ("ranking_models", "models by their score in A and in C"),
        ("ranking_features", "features by their correlation with the label"),
    ):
        one = utility[key]
        if not one:
            continue
        rows = [
            [page.name(i.text), figure(one["real"][k]), figure(one["synthetic"][k])]
            for k, i in enumerate(one["items"])
            if k < 200
        ]
        parts.append(
            f"<h3>Ranking agreement of {esc(one['of'].text)}</h3>"
            + page.paragraph(
                f"{summary(one['value'])} of all pairs of {what} stand in the same order (1 = same ranking, 0.5 = "
                "unrelated). "
                f"Tied pairs, which count as no agreement: {summary(one['tied_pairs'])}; among the others the "
                f"agreement is {summary(one['without_ties'])}."
            )
            + page.details(
                "Numbers",
                page.table(
                    f"What is ranked ({number(len(rows))} of {number(len(one['items']))})",
                    [esc(one["of"].text.capitalize()), "Real", "Synthetic"],
                    rows,
                ),
            )
            + page.notes(n.text for n in one["notes"])
        )
    return "".join(parts)


def _remarks(utility: Node) -> str:
    lines = []
    for one in utility["settings"]:
        lines += [f"Setting {esc(one['name'].text)}: {esc(n.text)}" for n in one["notes"]]
        for model in one["models"]:
            words = [n.text for n in model["notes"]] + [f"warning: {w.text}" for w in model["warnings"]]
            lines += [f"Setting {esc(one['name'].text)}, {page.name(model['model'].text)}: {esc(w)}" for w in words]
    shown = "".join(f"<li>{line}</li>" for line in lines[:120])
    more = page.notes([f"{len(lines) - 120} more stand in result.json."]) if len(lines) > 120 else ""
    return (
        page.details(f"Remarks and warnings of the models ({len(lines)})", f"<ul class='note'>{shown}</ul>{more}")
        if lines
        else ""
    )


def groups(root: Node) -> str:
    """Shares and scores per class of the label and per subgroup; what vanished is named first and tinted."""
    return "".join(_groups(one) for one in root["groups"])


def _groups(kind: Node) -> str:
    what = "Classes" if kind["role"].text == "class" else "Subgroups"
    everyone = list(kind["groups"])
    shown = (
        sorted(everyone, key=lambda g: not g["vanished"].value)[:SHOWN_GROUPS]
        if len(everyone) > SHOWN_GROUPS
        else everyone
    )
    metrics = [m.text for m in kind["metrics"]]
    head = ["Value", "Real rows", "Real share", "Synthetic share", "Shape distance"]
    head += [f"{METRICS.get(m, esc(m))} {s}" for m in metrics for s in ("A", "B")] + ["Remark"]
    rows = []
    for one in shown:
        scores = [c for m in metrics for c in (figure(one["setting_a"].get(m)), summary(one["setting_b"].get(m)))]
        remark = "; ".join(
            (["vanished"] if one["vanished"].value else [])
            + (["few rows: scores are noisy"] if (one["real_rows"].number or 0) < FEW_ROWS else [])
            + [n.text for n in one["notes"]]
        )
        rows.append(
            [
                page.name(one["value"].text),
                figure(one["real_rows"]),
                figure(one["real_share"], 3, percent=True),
                summary(one["synthetic_share"], 3, percent=True),
                summary(one["shape_distance"]),
                *scores,
                esc(remark),
            ]
        )
    gone = [i for i, one in enumerate(shown) if one["vanished"].value]
    names = ", ".join(page.name(v.text) for v in kind["vanished"])
    lead = (
        f"<strong>Vanished from the synthetic rows: {names}.</strong>"
        if names
        else "None vanished from the synthetic rows."
    )
    marks = [(g["value"].text, [Mark(value=g["real_share"].number), _share(g["synthetic_share"])]) for g in shown[:20]]
    drawing = bar_chart(
        f"Share of rows per value of {kind['by'].text}",
        marks,
        ["real", "synthetic"],
        label="share of rows",
        bars=True,
        percent=True,
    )
    caption = "What to see: groups whose synthetic share shrinks are the ones the noise has worn down."
    more = [f"{len(shown)} of {len(everyone)} groups shown, vanished ones first."] if len(shown) < len(everyone) else []
    table = page.table(
        f"Per value of {page.name(kind['by'].text)}: A is trained on real rows, B on synthetic ones",
        head,
        rows,
        words=[len(head) - 1],
        marked=gone,
    )
    return (
        f"<h3>{what} of {page.name(kind['by'].text)}</h3>"
        + page.paragraph(lead)
        + page.plots([page.figure("", drawing, caption)], wide=True)
        + table
        + page.notes(more + [n.text for n in kind["notes"]])
    )


def _share(node: Node) -> Mark:
    low, high = spread(node)
    return Mark(value=node["mean"].number, low=low, high=high)
