"""The internal report: compares with real rows, so it is not private and says so in red on every screen and sheet."""

import functools

from markupsafe import Markup

from understudy.report import certificate, fidelity, page, rows, utility, verdict, whole_table
from understudy.report.charts import Series, line_chart
from understudy.report.grids import image_grid
from understudy.report.node import Element

_fill = functools.partial(page.fill, "internal")


COPIES = "EXACT COPIES of real rows: this is no synthetic table. Not private: do not share the rows or this page."


def header_says_copied(root: Element) -> bool:
    """Whether the diagnostics found copies of real rows."""
    return root.get("diagnostics").get("copied").value is True


def render(root: Element) -> str:
    """The whole page from the root of a result."""
    header = root["header"]
    return page.page(
        title="Evaluation of a synthetic table",
        banner=COPIES
        if header_says_copied(root)
        else "Not private: do not share. This page was computed from real rows.",
        red=True,
        sheet="NOT PRIVATE: DO NOT SHARE",
        lead=_fill("lead", header=header, certificate=certificate.short(header["certificate"])),
        sections=(
            ("verdict", "Verdict", verdict.section(root)),
            ("certificate", "Certificate", certificate.face(header["certificate"])),
            ("settings", "Predictive models", utility.settings(root)),
            ("images", "Images", _images(root["images"])),
            ("groups", "Who is hurt", utility.groups(root)),
            ("whole", "The table as a whole", whole_table.measures(root)),
            ("shapes", "Columns one by one", fidelity.shapes(root)),
            ("pairs", "Columns together", whole_table.pairs(root)),
            ("mmd", "Distance between the tables", rows.discrepancy(root)),
            ("dimensions", "Binary columns", rows.dimension_wise(root)),
            ("schema", "Rules of the schema", fidelity.violations(root["release"]["violations"])),
            ("diagnostics", "Diagnostics, not privacy evidence", _diagnostics(root["diagnostics"])),
            ("method", "How this was computed", _fill("method", header=header, warnings=root["warnings"])),
        ),
        foot="Drawn from result.json alone. Charts show rounded figures; the page's source and result.json hold the exact ones.",
    )


def _images(found: Element) -> Markup:
    if not found:
        return Markup()
    classes = [c.text for c in found["classes"]]
    real, synthetic = (
        image_grid(f"Grid of {side} images, one row per class", found[f"{side}_grid_png"].text, classes)
        for side in ("real", "synthetic")
    )
    return _fill("images", found=found, real=real, synthetic=synthetic)


def _diagnostics(found: Element) -> Markup:
    if not found:
        return Markup()
    return _fill("diagnostics", found=found, drawing=_distances(found["distances"]))


def _distances(far: Element) -> Markup:
    if not far:
        return Markup()
    quantiles = [q.number for q in far["quantiles"]]
    series = [
        Series(name=f"{side} rows to training rows", x=quantiles, y=[v.number for v in far[f"{key}_to_train"]])
        for side, key in (("held-out real", "holdout"), ("synthetic", "synthetic"))
    ]
    return line_chart("Distance to the closest training row", series, x_label="share of rows", y_label="distance")
