"""The release report: certificate, schema and statistics of the synthetic table. Nothing computed from real rows.

`view` cuts those two parts out of the result before anything is drawn, and `render` receives only the cut: a real
figure cannot reach the page because it is not there. Which columns are drawn, and in what order, depends on the
schema and on synthetic figures alone.

Synthetic rows are public because, and only if, their generator was private: without a valid certificate the page
turns red and says so.

Guarantee: the page is a function of `release` and `header.certificate`; changing anything else in result.json leaves
it byte for byte the same.
"""

from understudy.report import certificate, page
from understudy.report.fidelity import (
    SHOWN_PAIRS,
    SHOWN_SHAPES,
    TABLE_ROWS,
    choose,
    date,
    draw_shape,
    shape_numbers,
    violations,
)
from understudy.report.grids import heat_map, image_grid
from understudy.report.node import Node, figure
from understudy.report.svg import esc, number

TITLE = "About this synthetic table"
BANNER = "Release report: describes synthetic rows only. No figure on this page was computed from real rows."


WARNING = "No valid certificate: the synthetic rows themselves may reveal real ones. Do not share."


def view(root: Node) -> Node:
    """Only what may be shown, at the same addresses as in the file."""
    return Node(
        {
            "release": root["release"].value,
            "header": {"certificate": root["header"]["certificate"].value},
        }
    )


def render(root: Node) -> str:
    seen = view(root)
    release = seen["release"]
    safe = certificate.holds(seen["header"]["certificate"])
    return page.page(
        title=TITLE,
        banner=BANNER if safe else WARNING,
        banner_css="open" if safe else "stop",
        sheet="Release report: synthetic rows only" if safe else "NO VALID CERTIFICATE: DO NOT SHARE",
        lead=_lead(seen),
        sections=(
            page.section("certificate", "Certificate", certificate.face(seen["header"]["certificate"])),
            page.section("images", "Images", _images(release)),
            page.section("columns", "Columns", _columns(release)),
            page.section("pairs", "Columns together", _pairs(release)),
            page.section("rules", "Rules of the schema", violations(release["violations"])),
            page.section("schema", "Schema", _schema(release["schema"])),
        ),
        foot=(
            "How well the synthetic rows stand in for real ones is not said here: any such figure would be "
            "computed from real rows and is not private."
        ),
    )


def _lead(seen: Node) -> str:
    release = seen["release"]
    pairs = [("Synthetic rows", figure(release["rows"])), ("Columns", number(len(release["columns"])))]
    label = release["schema"].get("label")
    shown = label.get("column") if isinstance(label.value, dict) else label
    if shown:
        pairs.append(("Label", page.name(shown.text)))
    pairs.append(("Certificate", certificate.short(seen["header"]["certificate"])))
    return page.facts(pairs)


def _images(release: Node) -> str:
    if not release["grid_png"]:
        return ""
    return page.plots(
        [
            page.figure(
                "",
                image_grid("Grid of synthetic images", release["grid_png"].text),
                "Synthetic images, one row of the grid per class.",
            )
        ]
    )


def _columns(release: Node) -> str:
    everyone = list(release["columns"])
    if not everyone:
        return ""
    figures = []
    for one in everyone[:SHOWN_SHAPES]:
        dated = bool(one["is_datetime"].value)
        sides = [("synthetic", one["shares"])]
        caption = esc(one["kind"].text)
        if (one["missing"].number or 0) > 0:
            caption += f"; missing {figure(one['missing'], 3, percent=True)}"
        if (one["outside"].number or 0) > 0:
            caption += f"; outside the drawn range {figure(one['outside'], 3, percent=True)}"
        drawing = draw_shape(
            f"Shares of {one['column'].text} in the synthetic table", one["edges"], one["labels"], sides, dated
        )
        figures.append(
            page.figure(
                page.name(one["column"].text),
                drawing,
                caption,
                shape_numbers(one["edges"], one["labels"], sides, dated),
            )
        )
    some = (
        "All columns"
        if len(everyone) <= SHOWN_SHAPES
        else f"The first {SHOWN_SHAPES} of {number(len(everyone))} columns"
    )
    lead = (
        f"{some} in the order of the table. What to see: the values a user of the synthetic table will meet, and "
        "how often."
    )
    return page.paragraph(lead) + page.plots(figures) + _table(everyone)


def _table(everyone: list[Node]) -> str:
    rows = []
    for one in everyone[:TABLE_ROWS]:
        dated, quantiles = bool(one["is_datetime"].value), one["quantiles"]
        show = date if dated else figure
        middle = [show(quantiles[i]) for i in (0, 2, 3, 4, 6)] if len(quantiles) == 7 else [""] * 5
        rows.append(
            [
                page.name(one["column"].text),
                esc(one["kind"].text),
                figure(one["missing"], 3, percent=True),
                show(one["mean"]),
                "" if dated else figure(one["sd"]),
                *middle,
            ]
        )
    head = ["Column", "Kind", "Missing", "Mean", "SD", "Smallest", "25 %", "Median", "75 %", "Largest"]
    more = (
        page.notes([f"{number(len(everyone) - len(rows))} more columns stand in result.json."])
        if len(rows) < len(everyone)
        else ""
    )
    return page.details(
        f"All columns in numbers ({number(len(rows))})",
        page.table("Statistics of the synthetic table", head, rows, words=[1]) + more,
    )


def _pairs(release: Node) -> str:
    total = len(release["pair_columns"])
    if total < 2:
        return ""
    kept = choose(release["pairs"], SHOWN_PAIRS)
    names = [release["pair_columns"][i].text for i in kept]
    drawing = heat_map(
        "Association of pairs of columns in the synthetic table",
        names,
        [[release["pairs"].value[i][j] for j in kept] for i in kept],
        key="association",
    )
    cells = [(i, j) for a, i in enumerate(kept) for j in kept[a + 1 :]]
    cells.sort(key=lambda c: -abs(release["pairs"].value[c[0]][c[1]] or 0.0))
    rows = [
        [
            f"{page.name(release['pair_columns'][i].text)} · {page.name(release['pair_columns'][j].text)}",
            esc(release["pair_measures"].value[i][j]),
            figure(release["pairs"][i][j]),
        ]
        for i, j in cells[:TABLE_ROWS]
    ]
    some = (
        ""
        if len(kept) == total
        else f" Shown are the {len(kept)} of {number(total)} columns with the strongest associations."
    )
    caption = (
        "What to see: which columns go together in the synthetic table. Pearson's correlation for two numeric "
        "columns, Cramér's V for two categorical ones, "
        f"the correlation ratio for a mixed pair; struck through: not defined.{some}"
    )
    return page.plots(
        [
            page.figure(
                "",
                drawing,
                caption,
                page.table("Association of pairs of columns", ["Pair", "Measure", "Synthetic"], rows, words=[1]),
            )
        ],
        wide=True,
    )


def _schema(schema: Node) -> str:
    """The columns as declared. Accepts the mapping of a schema file and a list of columns alike."""
    columns = schema.get("columns")
    listed = (
        list(columns.items())
        if isinstance(columns.value, dict)
        else [(c.get("name").text, c) for c in columns]
        if columns
        else []
    )
    rows = [
        [page.name(column), esc(one.get("kind").text), _bounds(one), _flags(one)] for column, one in listed[:TABLE_ROWS]
    ]
    more = (
        page.notes([f"{number(len(listed) - len(rows))} more columns stand in the schema file."])
        if len(rows) < len(listed)
        else ""
    )
    text = "What the holder declared public, or paid for with a part of the budget where the last column says so."
    return (
        page.paragraph(text)
        + page.table("Schema", ["Column", "Kind", "Values", "Remarks"], rows, words=[1, 2, 3])
        + more
        if rows
        else ""
    )


def _bounds(one: Node) -> str:
    categories = one.get("categories")
    if isinstance(categories.value, list):
        shown = ", ".join(page.name(c.text) for c in list(categories)[:12])
        return shown + (f" and {number(len(categories) - 12)} more" if len(categories) > 12 else "")
    low, high = one.get("lower"), one.get("upper")
    return f"{_end(low)} to {_end(high)}" if low and high else ""


def _end(node: Node) -> str:
    return figure(node) if node.number is not None else page.name(node.text)


def _flags(one: Node) -> str:
    words = [
        w
        for k, w in (("missing", "may be missing"), ("other", "unknown values become “other”"))
        if one.get(k).value is True
    ]
    estimated = (
        any(one.get(k).value not in (None, False) for k in ("estimate", "bounds"))
        or one.get("categories").value == "estimate"
    )
    return "; ".join(words + (["estimated privately"] if estimated else []))
