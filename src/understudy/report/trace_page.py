"""The page of a trace: what happened inside the wall while a method learned from a PUBLIC table.

The three figures are those of the published audit (Ganev et al. 2025, Figures 2 to 4). Drawn from `trace.json` alone; carries the
red banner of everything that must not be made from private rows.
"""

import functools
from pathlib import Path

from markupsafe import Markup

from understudy.files import write_atomically
from understudy.report import page
from understudy.report.charts import Mark, Numbers, Series, bar_chart, line_chart
from understudy.report.node import Element, read_marked

MOST = 40  # teachers drawn; the file holds all that were looked at

_fill = functools.partial(page.fill, "trace_page")


def read(path: str | Path) -> Element:
    """The root of a trace file, or a sentence about what is wrong with it."""
    return read_marked(path, "trace", "understudy audit trace")


def write(result: str | Path, path: str | Path) -> Path:
    """Draw the page of a trace file; nothing half-written is left."""
    return write_atomically(path, render(read(result)))


def render(root: Element) -> str:
    """The whole page."""
    return page.page(
        title=f"Trace of {root['method']}",
        banner=f"{root['warning']} It has no guarantee: never make it from private rows.",
        red=True,
        sheet="RESEARCH ON PUBLIC DATA: NO GUARANTEE",
        lead=_fill("lead", root=root),
        sections=(
            ("checks", "Checks", _fill("checks", found=root["checks"])),
            ("rows", "Rows seen by each teacher", _rows(list(root["teachers"]))),
            ("losses", "Loss on own and other shards", _losses(root["losses"])),
            ("accountant", "Accountant", _accountant(root["accountant"], root["moments"])),
            ("method", "How this was computed", _fill("method", root=root)),
        ),
        foot="Drawn from trace.json alone.",
    )


def _rows(teachers: list[Element]) -> Markup:
    several = len({t["group"].value for t in teachers}) > 1
    rows = []
    for one in teachers[:MOST]:
        name = f"class {one['group']}, {one['teacher']}" if several else f"teacher {one['teacher']}"
        rows.append((name, [Mark(value=one["seen"].number, path=one["seen"].path)]))
    drawing = bar_chart("Rows seen by each teacher", rows, [""], label="distinct rows", bars=True)
    return _fill("rows", teachers=teachers, drawing=drawing)


def _column(points: Element, index: int) -> Numbers:
    return [p[index].number for p in points]


def _losses(points: Element) -> Markup:
    names = ("own shard", "other teachers, same shard")
    series = [Series(name=n, x=_column(points, 0), y=_column(points, i)) for i, n in enumerate(names, 1)]
    drawing = line_chart("Cross entropy of teachers on real rows", series, x_label="round", y_label="cross entropy")
    return _fill("losses", points=points, drawing=drawing)


def _accountant(points: Element, moments: Element) -> Markup:
    rounds, again = _column(points, 0), _column(points, 2)
    series = [Series(name="charged", x=rounds, y=_column(points, 1))]
    if any(value is not None for value in again):
        series.append(Series(name="second calculation", x=rounds, y=again, points_only=True))
    drawing = line_chart("Epsilon over the rounds", series, x_label="round", y_label="epsilon")
    drawn = Markup()
    if moments:
        both = [
            Series(name=name, x=_column(moments, 0), y=_column(moments, i))
            for i, name in enumerate(("moments held", "second calculation"), 1)
        ]
        drawn = line_chart("Log moments", both, x_label="order", y_label="log moment", y_log=True)
    return _fill("accountant", points=points, drawing=drawing, moments=drawn)
