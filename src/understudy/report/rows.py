"""Whole rows: can a classifier tell them apart, how far apart are the tables, what predicts what in binary tables."""

import functools

from markupsafe import Markup

from understudy.report import page
from understudy.report.charts import Series, line_chart
from understudy.report.node import Element

MOST_POINTS, MOST_ROWS = 1000, 300  # columns drawn, columns in the table beside the drawing

_fill = functools.partial(page.fill, "rows")


def discrepancy(root: Element) -> Markup:
    """The maximum mean discrepancy between the tables, beside what sampling alone causes."""
    return _fill("discrepancy", found=root["mmd"]) if root["mmd"] else Markup()


def dimension_wise(root: Element) -> Markup:
    """Binary tables: does each column have the right share of ones, and do the others predict it as well?"""
    found = root["dimension_wise"]
    if not found:
        return Markup()
    title = "F1 of predicting a column: {}, top {}"
    return _fill(
        "dimension_wise",
        found=found,
        probability=_scatter("Share of ones per column", found["probability"], "share of ones"),
        prediction=[_scatter(title.format(p["model"], p["top"]), p, "F1") for p in found["prediction"]],
    )


def _scatter(title: str, node: Element, label: str) -> dict[str, object]:
    real, synthetic = ([v.number for v in node[side]][:MOST_POINTS] for side in ("real", "synthetic"))
    drawing = line_chart(
        title,
        [Series(name="one column", x=real, y=synthetic, points_only=True)],
        x_label=f"{label}, real",
        y_label=f"{label}, synthetic",
        x_limits=(0.0, 1.0),
        y_limits=(0.0, 1.0),
        diagonal=True,
    )
    return {"title": title, "node": node, "drawing": drawing, "shown": min(len(node["columns"]), MOST_ROWS)}
