"""Whole rows: can a classifier tell them apart, how far apart are the tables, what predicts what in binary tables."""

from understudy.report import page
from understudy.report.charts import Mark, Reference, Series, bar_chart, line_chart
from understudy.report.node import Node, figure, spread, summary
from understudy.report.svg import esc, number


def propensity(root: Node) -> str:
    found = root["fidelity"]["propensity"] if root["fidelity"] else Node(None)
    if not found:
        return ""
    low, high = spread(found["auroc"])
    mark = Mark(
        value=found["auroc"]["mean"].number,
        low=low,
        high=high,
        runs=tuple(r.number for r in found["auroc"]["runs"]),
        path=found["auroc"]["mean"].path,
    )
    drawing = bar_chart(
        "AUROC of telling real from synthetic rows",
        [("AUROC", [mark])],
        ["classifier"],
        label="AUROC",
        limits=(0.4, 1.0),
        references=(Reference(name="cannot tell", value=0.5),),
    )
    rows = [
        ["AUROC", summary(found["auroc"])],
        ["pMSE ratio (0 = cannot tell, 1 = always)", summary(found["pmse_ratio"])],
        ["Rows per side", figure(found["rows"])],
    ]
    telling = ", ".join(page.name(c.text) for c in found["telling_columns"])
    caption = "What to see: at 0.5 the classifier guesses, at 1.0 it is always right."
    text = (
        f"{esc(found['model'].text)} tried to tell {figure(found['rows'])} real from as many synthetic rows: AUROC "
        f"{summary(found['auroc'])}."
    )
    if telling:
        text += f" It leaned most on {telling}: these are the columns to look at first."
    return (
        page.paragraph(text)
        + page.plots(
            [page.figure("", drawing, caption, page.table("Propensity", ["Figure", "Value"], rows))], wide=True
        )
        + page.notes(n.text for n in found["notes"])
    )


def discrepancy(root: Node) -> str:
    found = root["mmd"]
    if not found:
        return ""
    noise = (
        ""
        if found["noise"].number is None
        else (
            f" Two halves of the real rows differ by {figure(found['noise'], 5)}: at that size there is nothing "
            "left to see."
        )
    )
    text = (
        f"Squared maximum mean discrepancy {summary(found['value'], 5)} (0 = same distribution; slightly negative "
        "values are possible and mean none was found), "
        f"over {figure(found['real_rows'])} real and {figure(found['synthetic_rows'])} synthetic rows, Gaussian "
        f"kernel of bandwidth {figure(found['bandwidth'])}.{noise}"
    )
    return page.paragraph(text)


def dimension_wise(root: Node) -> str:
    """Binary tables: does each column have the right share of ones, and do the others predict it as well?"""
    found = root["dimension_wise"]
    if not found:
        return ""
    one = found["probability"]
    figures = [
        _scatter(
            "Share of ones per column",
            one,
            "share of ones",
            f"mean absolute difference {summary(one['mean_absolute_difference'])}, "
            f"correlation over columns {summary(one['correlation'])}",
        )
    ]
    figures += [
        _scatter(
            f"F1 of predicting a column: {p['model'].text}, top {p['top'].text}",
            p,
            "F1",
            f"mean F1: real {figure(p['real_mean'])}, synthetic {summary(p['synthetic_mean'])}",
        )
        for p in found["prediction"]
    ]
    lead = (
        "What to see: points on the dotted diagonal. Each point is a column; for F1 it is predicted from all the "
        "others by a model trained on real or on synthetic rows and tested on real rows."
    )
    return page.paragraph(lead) + page.plots(figures) + page.notes(n.text for n in found["notes"])


def _scatter(title: str, node: Node, label: str, caption: str) -> str:
    count = min(len(node["columns"]), 1000)
    points = Series(
        name="one column",
        x=[v.number for v in node["real"]][:count],
        y=[v.number for v in node["synthetic"]][:count],
        points_only=True,
    )
    drawing = line_chart(
        title,
        [points],
        x_label=f"{label}, real",
        y_label=f"{label}, synthetic",
        x_limits=(0.0, 1.0),
        y_limits=(0.0, 1.0),
        diagonal=True,
    )
    shown = min(count, 300)
    rows = [
        [page.name(node["columns"][i].text), figure(node["real"][i]), figure(node["synthetic"][i])]
        for i in range(shown)
    ]
    numbers = page.table(
        f"{esc(title)} ({number(shown)} of {number(len(node['columns']))})", ["Column", "Real", "Synthetic"], rows
    )
    return page.figure(esc(title), drawing, caption, numbers)
