"""How alike the columns are, one by one and together."""

import functools
from collections.abc import Sequence

from markupsafe import Markup

from understudy.report import page
from understudy.report.grids import heat_map
from understudy.report.node import Element, day
from understudy.report.shares import category_bars, histogram
from understudy.report.svg import Num

SHOWN_SHAPES = 24
SHOWN_CATEGORIES = 20
SHOWN_PAIRS = 30
TABLE_ROWS = 700

_fill = functools.partial(page.fill, "fidelity")


def draw_shape(title: str, node: Element, column: Element, sides: Sequence[tuple[str, Element]]) -> dict[str, object]:
    """A column as histogram or category bars; `sides` is real and synthetic, or synthetic alone."""
    edges, labels, dated = column["edges"], column["labels"], bool(column["is_datetime"].value)
    values = [(n, [s.number or 0.0 for s in side]) for n, side in sides]
    if len(edges) >= 2:
        ends = (day(edges[0].value), day(edges[len(edges) - 1].value)) if dated else None
        drawing = histogram(title, [e.value for e in edges], values, tick_words=ends)
    elif labels:
        drawing = _categories(title, [label.text for label in labels], values)
    else:
        drawing = Markup('<p class="note">No value to draw.</p>')
    return {"node": node, "drawing": drawing, "sides": sides, "dated": dated}


def _categories(title: str, labels: list[str], values: list[tuple[str, list[Num]]]) -> Markup:
    """The most frequent categories on any side, in the order of the schema; the others summed up in words."""
    kept = sorted(range(len(labels)), key=lambda i: -max(v[i] for _, v in values))[:SHOWN_CATEGORIES]
    kept.sort()
    series = [(n, [v[i] for i in kept]) for n, v in values]
    rest = ""
    if len(kept) < len(labels):
        sums = zip(values, series, strict=True)
        left_over = [f"{n} {max(0.0, sum(v) - sum(short)):.1%}" for (n, v), (_, short) in sums]
        rest = f"{len(labels) - len(kept)} other categories: {', '.join(left_over)}".replace("%", " %")
    return category_bars(title, [labels[i] for i in kept], series, rest=rest)


def shapes(root: Element) -> Markup:
    """The columns that are furthest off, drawn; every column in a table."""
    if not root["fidelity"]:
        return Markup()
    everyone = sorted(root["fidelity"]["shapes"], key=lambda s: -(s["distance"]["mean"].number or 0.0))
    if not everyone:
        return Markup()
    drawn = []
    for one in everyone[:SHOWN_SHAPES]:
        sides = [(side, one["histogram"][side]) for side in ("real", "synthetic")]
        drawn.append(draw_shape(f"Shares of {one['column']}, real and synthetic", one, one["histogram"], sides))
    return _fill("shapes", everyone=everyone, drawn=drawn, limit=TABLE_ROWS)


def choose(matrix: Element, count: int) -> list[int]:
    """The columns with the largest mean absolute entries off the diagonal, in the order of the table."""
    weights = [
        sum(abs(v) for j, v in enumerate(row) if j != i and isinstance(v, int | float))
        for i, row in enumerate(matrix.value)
    ]
    return sorted(sorted(range(len(weights)), key=lambda i: -weights[i])[:count])


def draw_pairs(title: str, columns: Element, matrix: Element, kept: Sequence[int], limit: Num, key: str) -> Markup:
    """The heat map of the kept columns."""
    cut = [[matrix.value[i][j] for j in kept] for i in kept]
    return heat_map(title, [columns[i].text for i in kept], cut, limit=limit, key=key)


def largest_pairs(matrix: Element, kept: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of kept columns by absolute entry, largest first, as many as a table holds."""
    cells = [(i, j) for a, i in enumerate(kept) for j in kept[a + 1 :]]
    return sorted(cells, key=lambda c: -abs(matrix.value[c[0]][c[1]] or 0.0))[:TABLE_ROWS]


def violations(broken: Element) -> Markup:
    """Rules of the schema that synthetic rows break; a property of the synthetic table, so both reports show it."""
    return _fill("violations", broken=broken)
