"""The release report: certificate, schema, statistics of the synthetic table, and figures that were paid for.

Nothing else that was computed from real rows: `view` cuts these parts out of the result before anything is drawn, and `render`
receives only the cut, so a figure that nobody paid for cannot reach the page because it is not there. Published figures
(`understudy.published`) have noise and a price of their own; an ordinary evaluation has none.

Which columns are drawn, and in what order, depends on the
schema and on synthetic figures alone.

Synthetic rows are public because, and only if, their generator was private: without a valid certificate the page
turns red and says so.

Guarantee: the page is a function of `release`, `published` and `header.certificate`; changing anything else in result.json leaves
it byte for byte the same.
"""

import functools

from markupsafe import Markup

from understudy.report import certificate, page
from understudy.report.fidelity import (
    SHOWN_PAIRS,
    SHOWN_SHAPES,
    TABLE_ROWS,
    choose,
    draw_pairs,
    draw_shape,
    largest_pairs,
    violations,
)
from understudy.report.grids import image_grid
from understudy.report.node import Element

BANNER = "Release report: describes synthetic rows only. No figure on this page was computed from real rows."
PAID = "Release report: synthetic rows, and figures on people's rows that have noise and were paid for. Nothing else."
WARNING = "No valid certificate: the synthetic rows themselves may reveal real ones. Do not share."
SHEETS = {False: "Release report: synthetic rows only", True: "Release report: synthetic rows and paid figures"}
FOOT = (
    "How well the synthetic rows stand in for real ones is not said here: any such figure would be "
    "computed from real rows and is not private."
)
PAID_FOOT = "What was not paid for is not here: any other figure on real rows would not be private."
MEASURES = {
    "one-way": "single columns",
    "two-way": "pairs of columns",
    "three-way": "three columns",
    "association": "associations",
    "query": "counting queries",
}
REMARKS = {"missing": "may be missing", "other": "unknown values become “other”"}

_fill = functools.partial(page.fill, "release")


def view(root: Element) -> Element:
    """Only what may be shown, at the same addresses as in the file."""
    return Element(
        {
            "release": root["release"].value,
            "header": {"certificate": root["header"]["certificate"].value},
            "published": root.get("published").value,
        }
    )


def refusal(root: Element) -> str:
    """Why no release report may be written from a result; empty if it may."""
    if root.get("diagnostics").get("copied").value is True:
        return "the synthetic rows are copies of real ones"
    if not root["release"].get("origin"):
        return "nothing says which model made these rows; evaluate with --model-dir the files that 'understudy sample' wrote"
    if not certificate.holds(root["header"]["certificate"]):
        return "the model has no valid certificate"
    if why := root.get("published").get("void_reason").text:
        return f"the published figures have no valid guarantee ({why})"
    return ""


def render(root: Element) -> str:
    """The whole page from the root of a result, of which it sees the public parts only."""
    seen = view(root)
    release, stated, paid = seen["release"], seen["header"]["certificate"], seen["published"]
    safe = certificate.holds(stated)
    label = release["schema"].get("label")
    shown = label.get("column") if isinstance(label.value, dict) else label
    return page.page(
        title="About this synthetic table",
        banner=(PAID if paid else BANNER) if safe else WARNING,
        red=not safe,
        sheet=(SHEETS[bool(paid)]) if safe else "NO VALID CERTIFICATE: DO NOT SHARE",
        lead=_fill("lead", release=release, label=shown, certificate=certificate.short(stated)),
        sections=(
            ("certificate", "Certificate", certificate.face(stated)),
            ("published", "How well it stands in", _published(paid)),
            ("images", "Images", _images(release["grid_png"])),
            ("columns", "Columns", _columns(list(release["columns"]))),
            ("pairs", "Columns together", _pairs(release)),
            ("rules", "Rules of the schema", violations(release["violations"])),
            ("schema", "Schema", _schema(release["schema"].get("columns"))),
        ),
        foot=PAID_FOOT if paid else FOOT,
    )


def _images(png: Element) -> Markup:
    return _fill("images", drawing=image_grid("Grid of synthetic images", png.text)) if png else Markup()


def _published(paid: Element) -> Markup:
    """Figures with intervals and their price; nothing where none were paid for."""
    if not paid:
        return Markup()
    return _fill("published", paid=paid, titles=MEASURES)


def _columns(everyone: list[Element]) -> Markup:
    if not everyone:
        return Markup()
    drawn = [
        draw_shape(f"Shares of {one['column']} in the synthetic table", one, one, [("synthetic", one["shares"])])
        for one in everyone[:SHOWN_SHAPES]
    ]
    return _fill("columns", everyone=everyone, drawn=drawn, limit=TABLE_ROWS)


def _pairs(release: Element) -> Markup:
    total = len(release["pair_columns"])
    if total < 2:
        return Markup()
    kept = choose(release["pairs"], SHOWN_PAIRS)
    title = "Association of pairs of columns in the synthetic table"
    drawing = draw_pairs(title, release["pair_columns"], release["pairs"], kept, 1.0, "association")
    cells = largest_pairs(release["pairs"], kept)
    return _fill("pairs", release=release, total=total, kept=len(kept), drawing=drawing, cells=cells)


def _schema(columns: Element) -> Markup:
    """The columns as declared. Accepts the mapping of a schema file and a list of columns alike."""
    if isinstance(columns.value, dict):
        listed = list(columns.items())
    else:
        listed = [(c.get("name").text, c) for c in columns] if columns else []
    return _fill("schema", listed=[(column, one, _remarks(one)) for column, one in listed], limit=TABLE_ROWS)


def _remarks(one: Element) -> list[str]:
    words = [words for key, words in REMARKS.items() if one.get(key).value is True]
    if one.get("codes"):
        words.append("codes " + ", ".join(str(code) for code in one["codes"].value))
    found = any(one.get(k).value not in (None, False) for k in ("estimate", "bounds"))
    return words + (["estimated privately"] if found or one.get("categories").value == "estimate" else [])
