"""The internal report: compares with real rows, so it is not private and says so in red on every screen and sheet."""

from understudy.report import certificate, fidelity, page, rows, utility, verdict
from understudy.report.charts import Series, line_chart
from understudy.report.grids import image_grid
from understudy.report.node import Node, figure, summary
from understudy.report.svg import esc, number

TITLE = "Evaluation of a synthetic table"
BANNER = "Not private: do not share. This page was computed from real rows."


def render(root: Node) -> str:
    """The whole page from the root of a result."""
    return page.page(
        title=TITLE,
        banner=BANNER,
        banner_css="stop",
        sheet="NOT PRIVATE: DO NOT SHARE",
        lead=_lead(root["header"]),
        sections=(
            page.section("verdict", "Verdict", verdict.html(root)),
            page.section("certificate", "Certificate", certificate.face(root["header"]["certificate"])),
            page.section("settings", "Predictive models", utility.settings(root)),
            page.section("images", "Images", _images(root["images"])),
            page.section("groups", "Who is hurt", utility.groups(root)),
            page.section("shapes", "Columns one by one", fidelity.shapes(root)),
            page.section("pairs", "Columns together", fidelity.pairs(root)),
            page.section("propensity", "Real or synthetic?", rows.propensity(root)),
            page.section("mmd", "Distance between the tables", rows.discrepancy(root)),
            page.section("dimensions", "Binary columns", rows.dimension_wise(root)),
            page.section("schema", "Rules of the schema", fidelity.violations(root["release"]["violations"])),
            page.section("diagnostics", "Diagnostics, not privacy evidence", _diagnostics(root["diagnostics"])),
            page.section("method", "How this was computed", _method(root)),
        ),
        foot=(
            "Drawn from result.json alone. Charts show rounded figures; the page's source and result.json hold the "
            "exact ones."
        ),
    )


def _lead(header: Node) -> str:
    samples = list(header["synthetic_rows"])
    rows = figure(samples[0]) if samples else "0"
    several = (
        ""
        if len(samples) < 2
        else f" × {number(len(samples))} samples"
        if len({s.value for s in samples}) == 1
        else f" and {number(len(samples) - 1)} more samples"
    )
    pairs = [
        ("Held-out real rows", figure(header["test_rows"])),
        ("Real training rows", figure(header["train_rows"]) if header["train_rows"] else "not given"),
        ("Synthetic rows", rows + several),
        ("Columns", figure(header["columns"])),
    ]
    if header["label"]:
        positive = f" (positive: {page.name(header['positive'].text)})" if header["positive"] else ""
        pairs.append((f"Label, {esc(header['label_kind'].text)}", page.name(header["label"].text) + positive))
    pairs.append(("Certificate", certificate.short(header["certificate"])))
    return page.paragraph(f"Computed {esc(header['created'].text[:16].replace('T', ' '))} UTC", "sub") + page.facts(
        pairs
    )


def _images(found: Node) -> str:
    if not found:
        return ""
    classes = [c.text for c in found["classes"]]
    text = (
        "A convolutional network with two layers, trained on real images, reaches accuracy "
        f"{figure(found['accuracy_a'])} on held-out real ones; "
        f"trained on synthetic images {summary(found['accuracy_b'])}."
    )
    grids = [
        page.figure(
            "Real (not private: these are real rows)",
            image_grid("Grid of real images, one row per class", found["real_grid_png"].text, classes),
            "What synthetic images should look like.",
        ),
        page.figure(
            "Synthetic",
            image_grid("Grid of synthetic images, one row per class", found["synthetic_grid_png"].text, classes),
            "What to see: recognisable classes, and different images within a row; a row of equal images is a "
            "generator that has collapsed.",
        ),
    ]
    rows = [[page.name(k), figure(v)] for k, v in found["accuracy_per_class_b"].items()]
    per_class = (
        page.table("Accuracy on real images of each class, trained on synthetic ones", ["Class", "Accuracy"], rows)
        if rows
        else ""
    )
    return page.paragraph(text) + page.plots(grids) + per_class + page.notes(n.text for n in found["notes"])


def _diagnostics(found: Node) -> str:
    if not found:
        return ""
    text = (
        f"Synthetic rows equal to a {esc(found['compared_with'].text)} row: "
        f"{summary(found['exact_copies'], 4, percent=True)}; "
        f"the same share for held-out real rows: {figure(found['exact_copies_expected'], 4, percent=True)}. "
        "Tables with few distinct rows have many copies by chance, so compare the two."
    )
    body = page.paragraph(
        f"<strong>{esc(found['label'].text)}</strong> Privacy rests on the certificate."
    ) + page.paragraph(text)
    far = found["distances"]
    if far:
        quantiles = [q.number for q in far["quantiles"]]
        series = [
            Series(
                name="held-out real rows to training rows", x=quantiles, y=[v.number for v in far["holdout_to_train"]]
            ),
            Series(
                name="synthetic rows to training rows", x=quantiles, y=[v.number for v in far["synthetic_to_train"]]
            ),
        ]
        drawing = line_chart(
            "Distance to the closest training row", series, x_label="share of rows", y_label="distance", y_limits=None
        )
        rows = [
            [figure(q, 2), figure(far["holdout_to_train"][i]), figure(far["synthetic_to_train"][i])]
            for i, q in enumerate(far["quantiles"])
        ]
        caption = (
            "What to see: synthetic rows much closer than held-out rows would suggest copying; further away proves "
            "nothing. Nearer to a training than to a holdout row: "
            f"{summary(far['closer_than_holdout'], 3, percent=True)} (50 % expected)."
        )
        body += page.plots(
            [
                page.figure(
                    "Distance to the closest record",
                    drawing,
                    caption,
                    page.table(
                        "Distance to the closest training row", ["Quantile", "Held-out real", "Synthetic"], rows
                    ),
                )
            ],
            wide=True,
        )
    return body + page.notes(n.text for n in found["notes"])


def _method(root: Node) -> str:
    header = root["header"]
    rows = [
        ["Families of metrics", ", ".join(page.name(m.text) for m in header["metrics"])],
        ["Predictive models", ", ".join(page.name(m.text) for m in header["models"]) or "none"],
        ["Rows a model trains on, at most", figure(header["max_rows"]) if header["max_rows"] else "no cap"],
        ["Seed", figure(header["seed"])],
        ["Seconds", figure(header["seconds"], 1)],
        ["Versions", ", ".join(f"{page.name(k)} {page.name(v.text)}" for k, v in header["versions"].items())],
    ]
    words = [w.text for w in root["warnings"]]
    warned = page.details(f"Warnings ({len(words)})", page.notes(words[:120])) if words else ""
    return (
        page.table("Settings of the evaluation", ["What", "Value"], rows, words=[1])
        + page.notes(n.text for n in header["notes"])
        + warned
    )
