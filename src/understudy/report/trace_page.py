"""The page of a trace: what happened inside the wall while a method learned from a PUBLIC table.

The three figures are those of the published audit (Ganev et al. 2025, Figures 2 to 4). Drawn from `trace.json` alone; carries the
red banner of everything that must not be made from private rows.
"""

import json
from pathlib import Path

from understudy.errors import UsageError
from understudy.files import write_atomically
from understudy.report import page
from understudy.report.charts import Mark, Series, bar_chart, line_chart
from understudy.report.node import Node, figure
from understudy.report.svg import esc

FORMAT = "understudy trace 1"
MOST = 40  # teachers drawn; the file holds all that were looked at


def read(path: str | Path) -> Node:
    """The root of a trace file, or a sentence about what is wrong with it."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise UsageError(f"{str(path)!r} cannot be read; name the trace.json of 'understudy audit trace'") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UsageError(f"{str(path)!r} is not a trace of this version; write one with 'understudy audit trace'")
    return Node(data)


def write(result: str | Path, path: str | Path) -> Path:
    """Draw the page of a trace file; nothing half-written is left."""
    return write_atomically(path, render(read(result)))


def render(root: Node) -> str:
    return page.page(
        title=f"Trace of {root['method'].text}",
        banner=esc(root["warning"].text) + " It has no guarantee: never make it from private rows.",
        banner_css="stop",
        sheet="RESEARCH ON PUBLIC DATA: NO GUARANTEE",
        lead=_lead(root),
        sections=(
            page.section("checks", "Checks", _checks(root)),
            page.section("rows", "Rows seen by each teacher", _rows(root)),
            page.section("losses", "Loss on own and other shards", _losses(root)),
            page.section("accountant", "Accountant", _accountant(root)),
            page.section("method", "How this was computed", _method(root)),
        ),
        foot="Drawn from trace.json alone.",
    )


def _lead(root: Node) -> str:
    return page.facts(
        [
            ("Method", page.name(root["method"].text)),
            ("Epsilon", figure(root["epsilon"])),
            ("Delta", figure(root["delta"])),
            ("Rows", figure(root["rows"])),
            ("Rounds", figure(root["rounds"])),
        ]
    )


def _checks(root: Node) -> str:
    items = []
    for check in root["checks"]:
        passed = check["passed"].value is True
        items.append(
            f'<li><span class="grade {"good" if passed else "poor"}">{"as it should be" if passed else "wrong"}</span><div>'
            f"<p><strong>{page.name(check['name'].text)}</strong></p><p>{page.name(check['detail'].text)}</p></div></li>"
        )
    told = (
        "These checks look for three kinds of mistakes found in public implementations (Ganev et al. 2025): teachers that "
        "share rows, teachers that are all the same, and a budget that is counted wrongly. They say nothing about others."
    )
    return f'<ul class="verdict">{"".join(items)}</ul>' + page.paragraph(told, "note")


def _rows(root: Node) -> str:
    teachers = list(root["teachers"])
    several = len({t["group"].value for t in teachers}) > 1
    rows = []
    for one in teachers[:MOST]:
        name = f"teacher {one['teacher'].text}" + (f", class {one['group'].text}" if several else "")
        rows.append((name, [Mark(value=one["seen"].number, path=one["seen"].path)]))
    drawing = bar_chart("Rows seen by each teacher", rows, [""], label="distinct rows", bars=True)
    caption = (
        "Rows whose values moved a teacher's weights in some round, found by differentiating its training. What to see: "
        "the bars add up to at most the rows of the table. Equal bars of the whole table mean that every teacher saw "
        "everything; equal bars of one part mean that all got the same part."
    )
    table = page.table(
        "Rows of every teacher looked at",
        ["Teacher", "Class", "Dealt", "Seen", "Seen by another teacher too"],
        [[figure(t[key]) for key in ("teacher", "group", "dealt", "seen", "shared")] for t in teachers],
    )
    return page.plots([page.figure("", drawing, caption, table)], wide=True)


def _losses(root: Node) -> str:
    points = list(root["losses"])
    x = [p[0].number for p in points]
    series = [
        Series(name="own shard", x=x, y=[p[1].number for p in points]),
        Series(name="other teachers, same shard", x=x, y=[p[2].number for p in points]),
    ]
    drawing = line_chart("Cross entropy of teachers on real rows", series, x_label="round", y_label="cross entropy")
    caption = (
        "Mean of -log(probability of real) over real rows. What to see: teachers know their own rows a little better than "
        "the others do. Equal figures in every round mean that all teachers learned from the same rows."
    )
    table = page.table(
        "Cross entropy", ["Round", "Own shard", "Other teachers"], [[figure(p[i], 5) for i in range(3)] for p in points]
    )
    return page.plots([page.figure("", drawing, caption, table)], wide=True)


def _accountant(root: Node) -> str:
    points = list(root["accountant"])
    x = [p[0].number for p in points]
    again = [p[2].number for p in points]
    series = [Series(name="charged", x=x, y=[p[1].number for p in points])]
    if any(value is not None for value in again):
        series.append(Series(name="second calculation", x=x, y=again, points_only=True))
    drawing = line_chart("Epsilon over the rounds", series, x_label="round", y_label="epsilon")
    caption = (
        "What the accountant has charged, beside a calculation that shares no code with it. What to see: the points on the "
        "line. Points above it mean that the run under-counts; far below it that budget is wasted."
    )
    table = page.table(
        "Epsilon", ["Round", "Charged", "Second calculation"], [[figure(p[i], 5) for i in range(3)] for p in points]
    )
    figures = [page.figure("", drawing, caption, table)]
    moments = list(root["moments"])
    if moments:
        orders = [m[0].number for m in moments]
        both = [
            Series(name="moments held", x=orders, y=[m[1].number for m in moments]),
            Series(name="second calculation", x=orders, y=[m[2].number for m in moments]),
        ]
        drawn = line_chart("Log moments", both, x_label="order", y_label="log moment", y_log=True)
        figures.append(
            page.figure("", drawn, "The published moments after the last round, computed from private votes.")
        )
    return page.plots(figures, wide=True)


def _method(root: Node) -> str:
    rows = [
        ["Options", ", ".join(f"{page.name(k)} = {page.name(v.text)}" for k, v in root["options"].items())],
        ["Versions", ", ".join(f"{page.name(k)} {page.name(v.text)}" for k, v in root["versions"].items())],
    ]
    return page.table("Settings of the trace", ["What", "Value"], rows, words=[1])
