"""How alike the columns are, one by one and together."""

from datetime import UTC, datetime

from understudy.report import page
from understudy.report.grids import heat_map
from understudy.report.node import Node, figure, summary
from understudy.report.shares import category_bars, histogram
from understudy.report.svg import Num, esc, number

SHOWN_SHAPES = 24
SHOWN_CATEGORIES = 20
SHOWN_PAIRS = 30
TABLE_ROWS = 700


def day(seconds: Num) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (OverflowError, OSError, ValueError):
        return number(seconds)


def date(node: Node) -> str:
    return esc(day(node.value)) if node.number is not None else figure(node)


def largest(sides: list[list[Num]], count: int) -> list[int]:
    """Indices of the most frequent categories on any side, kept in the order of the schema."""
    top = sorted(range(len(sides[0])), key=lambda i: -max(s[i] for s in sides))[:count]
    return sorted(top)


def draw_shape(title: str, edges: Node, labels: Node, sides: list[tuple[str, Node]], is_datetime: bool) -> str:
    """A column as histogram or category bars; `sides` is real and synthetic, or synthetic alone."""
    values = [(n, [s.number or 0.0 for s in node]) for n, node in sides]
    if edges and len(edges) >= 2:
        ends = (day(edges[0].value), day(edges[len(edges) - 1].value)) if is_datetime else None
        return histogram(title, [e.value for e in edges], values, tick_words=ends)
    if not labels:
        return '<p class="note">No value to draw.</p>'
    kept = largest([v for _, v in values], SHOWN_CATEGORIES)
    names = [labels[i].text for i in kept]
    series = [(n, [v[i] for i in kept]) for n, v in values]
    rest = ""
    if len(kept) < len(labels):
        left_over = [
            f"{n} {max(0.0, sum(v) - sum(short)):.1%}" for (n, v), (_, short) in zip(values, series, strict=True)
        ]
        rest = f"{len(labels) - len(kept)} other categories: {', '.join(left_over)}".replace("%", " %")
    return category_bars(title, names, series, rest=rest)


def shape_numbers(edges: Node, labels: Node, sides: list[tuple[str, Node]], is_datetime: bool) -> str:
    show = date if is_datetime else figure
    count = min(len(sides[0][1]), 60)
    if edges and len(edges) >= 2:
        rows = [
            [f"{show(edges[i])} to {show(edges[i + 1])}", *(figure(side[i], 4) for _, side in sides)]
            for i in range(count)
        ]
    elif labels:
        rows = [[page.name(labels[i].text), *(figure(side[i], 4) for _, side in sides)] for i in range(count)]
    else:
        return ""
    more = (
        page.notes([f"The first {count} of {len(sides[0][1])}; the rest stands in result.json."])
        if count < len(sides[0][1])
        else ""
    )
    return page.table("Share of the non-missing cells", ["Value", *(n.capitalize() for n, _ in sides)], rows) + more


def shapes(root: Node) -> str:
    """The columns that are furthest off, drawn; every column in a table."""
    if not root["fidelity"]:
        return ""
    everyone = sorted(root["fidelity"]["shapes"], key=lambda s: -(s["distance"]["mean"].number or 0.0))
    if not everyone:
        return ""
    figures = []
    for one in everyone[:SHOWN_SHAPES]:
        h, dated = one["histogram"], bool(one["histogram"]["is_datetime"].value)
        sides = [("real", h["real"]), ("synthetic", h["synthetic"])]
        caption = f"{esc(one['kind'].text)}; distance {summary(one['distance'])}"
        if (one["real_missing"].number or 0) > 0 or (one["synthetic_missing"]["mean"].number or 0) > 0:
            caption += (
                f"; missing: real {figure(one['real_missing'], 3, percent=True)}, synthetic "
                f"{summary(one['synthetic_missing'], 3, percent=True)}"
            )
        if (h["real_outside"].number or 0) > 0 or (h["synthetic_outside"].number or 0) > 0:
            caption += (
                f"; outside the drawn range: real {figure(h['real_outside'], 3, percent=True)}, synthetic "
                f"{figure(h['synthetic_outside'], 3, percent=True)}"
            )
        figures.append(
            page.figure(
                page.name(one["column"].text),
                draw_shape(
                    f"Shares of {one['column'].text}, real and synthetic", h["edges"], h["labels"], sides, dated
                ),
                caption,
                shape_numbers(h["edges"], h["labels"], sides, dated),
            )
        )
    some = (
        "All columns"
        if len(everyone) <= SHOWN_SHAPES
        else f"The {SHOWN_SHAPES} of {number(len(everyone))} columns that are furthest off"
    )
    lead = (
        f"{some}, furthest first. What to see: the filled synthetic shape should lie under the real outline. "
        "Distance 0 is the same distribution, 1 is disjoint. Score over all columns (1 − mean distance): "
        f"{summary(root['fidelity']['shape_score'])}."
    )
    return page.paragraph(lead) + page.plots(figures) + _shape_table(everyone)


def _shape_table(everyone: list[Node]) -> str:
    rows = []
    for one in everyone[:TABLE_ROWS]:
        rows.append(
            [
                page.name(one["column"].text),
                esc(one["kind"].text),
                esc(one["measure"].text),
                summary(one["distance"]),
                figure(one["real_missing"]),
                summary(one["synthetic_missing"]),
                figure(one["real_mean"]),
                summary(one["synthetic_mean"]),
                figure(one["real_sd"]),
                summary(one["synthetic_sd"]),
                figure(one["distinct_real"]),
                figure(one["distinct_synthetic"]),
            ]
        )
    head = [
        "Column",
        "Kind",
        "Measure",
        "Distance",
        "Missing real",
        "synthetic",
        "Mean real",
        "synthetic",
        "SD real",
        "synthetic",
        "Distinct real",
        "synthetic",
    ]
    caption = f"Columns by distance ({number(len(rows))} of {number(len(everyone))})"
    more = page.notes(["The rest stands in result.json."]) if len(rows) < len(everyone) else ""
    return page.details(
        f"All columns in numbers ({number(len(rows))})", page.table(caption, head, rows, words=[1, 2]) + more
    )


def choose(matrix: Node, count: int) -> list[int]:
    """The columns with the largest mean absolute entries off the diagonal, in the order of the table."""

    weights = [
        sum(abs(v) for j, v in enumerate(row) if j != i and isinstance(v, int | float))
        for i, row in enumerate(matrix.value)
    ]
    return sorted(sorted(range(len(weights)), key=lambda i: -weights[i])[:count])


def pairs(root: Node) -> str:
    """Three heat maps over the same columns, then the pairs in numbers, then two- and three-way marginals."""
    if not root["fidelity"]:
        return ""
    found = root["fidelity"]["pairs"]
    total = len(found["columns"])
    if total < 2:
        return page.notes(["Fewer than two columns: there are no pairs."]) + _marginals(root)
    kept = choose(found["difference"], SHOWN_PAIRS)
    names = [found["columns"][i].text for i in kept]
    maps = []
    for key, title, caption in (
        ("real", "Real rows", "What the synthetic rows should look like."),
        (
            "synthetic",
            "Synthetic rows",
            "What to see: the same pattern as in the real rows; a pale map has lost the associations.",
        ),
        (
            "difference",
            "Synthetic − real",
            "What to see: pale is good. Orange: associated too strongly or less negatively; blue: too weakly.",
        ),
    ):
        drawing = heat_map(
            f"Association of pairs of columns: {title}",
            names,
            [[found[key].value[i][j] for j in kept] for i in kept],
            limit=0.5 if key == "difference" else 1.0,
            key="difference, colour ends at ±0.5" if key == "difference" else "association",
        )
        maps.append(page.figure(title, drawing, caption))
    some = (
        ""
        if len(kept) == total
        else f" Shown are the {len(kept)} of {number(total)} columns whose associations differ most."
    )
    lead = (
        "Association is Pearson's correlation for two numeric columns, Cramér's V for two categorical ones, the "
        "correlation ratio for a mixed pair; struck through: not defined. "
        f"Mean absolute difference {summary(found['mean_absolute_difference'])}, largest "
        f"{summary(found['max_absolute_difference'])}.{some}"
    )
    return (
        page.paragraph(lead)
        + page.plots(maps)
        + _pair_table(found, kept)
        + page.notes(n.text for n in found["notes"])
        + _marginals(root)
    )


def _pair_table(found: Node, kept: list[int]) -> str:
    cells = [(i, j) for a, i in enumerate(kept) for j in kept[a + 1 :]]
    cells.sort(key=lambda c: -abs(found["difference"].value[c[0]][c[1]] or 0.0))
    rows = [
        [
            f"{page.name(found['columns'][i].text)} · {page.name(found['columns'][j].text)}",
            esc(found["measures"].value[i][j]),
            figure(found["real"][i][j]),
            figure(found["synthetic"][i][j]),
            figure(found["difference"][i][j]),
        ]
        for i, j in cells[:TABLE_ROWS]
    ]
    return page.details(
        f"Numbers ({number(len(rows))} pairs, largest difference first)",
        page.table(
            "Association of pairs of columns", ["Pair", "Measure", "Real", "Synthetic", "Difference"], rows, words=[1]
        ),
    )


def _marginals(root: Node) -> str:
    found = [m for m in (root["fidelity"]["two_way"], root["fidelity"]["three_way"]) if m]
    if not found:
        return ""
    rows = [
        [
            f"{figure(m['ways'])}-way",
            f"{figure(m['sets'])} of {figure(m['sets_possible'])}",
            summary(m["mean"]),
            summary(m["worst"]),
            figure(m["noise"]),
        ]
        for m in found
    ]
    worst = [
        [" · ".join(page.name(c.text) for c in s["columns"]), figure(s["distance"])]
        for m in found
        for s in m["worst_sets"]
    ][:60]
    text = (
        "Share of rows that would have to move to make the joint distribution of two or three columns equal. "
        "What to see: compare with the last column, which is what sampling alone costs between two halves of the "
        "real rows."
    )
    return (
        "<h3>Two- and three-way marginals</h3>"
        + page.paragraph(text)
        + page.table(
            "Total variation over sets of columns", ["Sets", "Computed", "Mean", "Worst", "Sampling alone"], rows
        )
        + (
            page.details("Sets that are furthest off", page.table("Worst sets", ["Columns", "Distance"], worst))
            if worst
            else ""
        )
        + page.notes(n.text for m in found for n in m["notes"])
    )


def violations(node: Node) -> str:
    """Rules of the schema that synthetic rows break; a property of the synthetic table, so both reports show it."""
    rows = [[page.name(v["column"].text), esc(v["rule"].text), summary(v["share"], 4, percent=True)] for v in node][
        :200
    ]
    if not rows:
        return page.paragraph("Every synthetic row obeys the schema.")
    return page.table(
        f"Rules that synthetic rows break ({number(len(rows))} of {number(len(node))})",
        ["Column", "Rule", "Share of rows"],
        rows,
        words=[1],
    )
