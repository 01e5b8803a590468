"""Every page: self-contained, well-formed, small, readable by machines that read aloud, and true to its file."""

import html
import json
import re
from importlib import resources
from pathlib import Path

import pytest
from jinja2 import UndefinedError

from understudy import report
from understudy.report import svg
from understudy.report.node import Element
from understudy.report.page import fill

KINDS = ("internal", "release")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
FETCHING = {
    "src",
    "srcset",
    "href",
    "xlink:href",
    "action",
    "formaction",
    "data",
    "poster",
    "background",
    "ping",
    "cite",
}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def page(case: Path, kind: str, parse):
    return parse((case.parent / f"{kind}.html").read_text(encoding="utf-8"))


def test_nothing_is_fetched(page):
    assert [e.attributes["content"] for e in page.all("meta") if e.attributes.get("http-equiv")] == [POLICY]
    assert not [
        e.tag for e in page.elements if e.tag in {"script", "link", "iframe", "object", "embed", "base", "form"}
    ]
    for element in page.elements:
        assert not [name for name in element.attributes if name.startswith("on")], "an event handler"
        for name in FETCHING & element.attributes.keys():
            assert re.match(r"#[a-z-]+$|data:image/png;base64,[A-Za-z0-9+/=]+$", element.attributes[name] or ""), (
                element
            )
    css = "".join(e.text for e in page.all("style")) + "".join(e.attributes.get("style") or "" for e in page.elements)
    assert "url(" not in css and "@import" not in css and "@font-face" not in css


def test_figures_equal_those_of_the_file(page, case, at):
    """Address, exact value and printed text of every figure; the text is the value at the decimals it shows."""
    data = json.loads(case.read_text(encoding="utf-8"))
    figures = [e for e in page.elements if "data-value" in e.attributes]
    assert len(figures) >= 3
    for element in figures:
        value = at(data, element.attributes["data-path"])
        assert element.attributes["data-value"] == repr(value)
        if element.tag == "span":
            assert reads_as(element.text, value), (element.text, value)


def reads_as(text: str, value: float) -> bool:
    """Whether the text is the value rounded to the decimals the text has."""
    scale = 0.01 if text.endswith(" %") else 1.0
    plain = text.removesuffix(" %").replace(",", "")
    mantissa, _, exponent = plain.partition("e")
    decimals = len(mantissa.partition(".")[2])
    step = 10.0 ** (int(exponent or 0) - decimals) * scale
    if exponent:
        step = max(step, abs(value) * 0.006)  # padding zeros are dropped from powers of ten
    return abs(float(plain) * scale - value) <= 0.5 * step * (1 + 1e-9) + 1e-12 * abs(value)


@pytest.mark.parametrize(
    ("text", "value", "same"),
    [("0.812", 0.8123, True), ("0.812", 0.8130, False), ("41.2 %", 0.4118, True), ("41.2 %", 0.414, False),
     ("20,190", 20190, True), ("20,190", 20191, False), ("1e-5", 1e-5, True), ("1e-5", 2e-5, False)],
)  # fmt: skip
def test_the_comparison_of_text_and_value_can_fail(text, value, same):
    assert reads_as(text, value) is same


def test_pages_are_small(case, kind):
    assert (case.parent / f"{kind}.html").stat().st_size < report.LIMIT_BYTES == 3_000_000


def test_structure_reads_aloud(page):
    assert [e.attributes.get("lang") for e in page.all("html")] == ["en"]
    assert (
        len(page.all("h1")) == len(page.all("main")) == len(page.all("title")) - len(page.all("svg")) - tips(page) == 1
    )
    ids = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(ids) == len(set(ids))
    assert all((e.attributes["href"] or "")[1:] in ids for e in page.all("a"))
    for drawing in page.all("svg"):
        assert drawing.attributes["role"] == "img" and drawing.attributes["aria-label"]
    assert len(page.all("caption")) == len(page.all("table"))
    assert all(e.attributes.get("scope") in ("row", "col") for e in page.all("th"))


def tips(page) -> int:
    return sum("svg" in e.parents[:-1] for e in page.all("title"))


def test_every_chart_has_a_caption_and_numbers(results, parse):
    """Heat maps and group charts keep their numbers in the table that follows; all others in their own figure."""
    text = (results("adult").parent / "internal.html").read_text(encoding="utf-8")
    figures = re.findall(r"<figure>.*?</figure>", text, flags=re.S)
    assert len(figures) > 15
    for figure in figures:
        assert "<figcaption>" in figure
        title = re.search(r'aria-label="([^"]*)"', figure)
        assert title is not None
        shared = title[1].startswith(("Association of pairs", "Share of rows per value"))
        assert ("<table>" in figure) is not shared, title[1]
    assert "Numbers (55 pairs" in text and "Per value of" in text


def test_names_cannot_become_markup(results, kind):
    text = (results("adult").parent / f"{kind}.html").read_text(encoding="utf-8")
    assert "<script" not in text and "alert(1)&lt;/script&gt;" in text
    assert "年齢の説明がとても長い列名です" in text and "عمر المريض" in text
    assert "<b>" not in text and "&lt;b&gt;" in text and "&amp;amp;" in text


def test_templates_never_switch_the_escaping_off():
    """Nothing but the drawings and the templates themselves is markup, so no template may call other text safe."""
    templates = sorted(resources.files("understudy.report").joinpath("templates").iterdir(), key=lambda t: t.name)
    assert len([t for t in templates if t.name.endswith(".html")]) > 8
    for template in templates:
        text = template.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe\b|autoescape|markup\(|<script", text, flags=re.IGNORECASE), template.name


@pytest.mark.parametrize("value", ["<b>&</b>", '" onload="x', "a\nb\x00"])
def test_what_a_template_prints_is_escaped_and_cleaned(value):
    shown = fill("parts", "fact", title=value, value=Element(value))
    words = html.escape(svg.clean(value)).replace("&quot;", "&#34;")
    assert shown == f"<div><dt>{words}</dt><dd>{words}</dd></div>"


def test_what_a_template_was_not_given_is_an_error():
    with pytest.raises(UndefinedError, match="value"):
        fill("parts", "fact", title="Rows")


def test_wide_tables_show_the_most_telling_columns_and_say_so(results):
    text = (results("wide").parent / "internal.html").read_text(encoding="utf-8")
    assert "The 24 of 617 columns that are furthest off" in text
    assert "Shown are the 30 of 60 columns whose associations differ most" in text
    assert "All columns in numbers (617)" in text


def test_tables_are_cut_before_the_page_grows(maker, tmp_path):
    """More columns than a table of a page shows."""
    wide = maker.wide(60)
    data = json.loads(wide.to_json())
    data["fidelity"]["shapes"] = data["fidelity"]["shapes"] * 15
    data["release"]["columns"] = data["release"]["columns"] * 15
    data["release"]["schema"]["columns"] = {f"c{i}": {"kind": "continuous", "lower": 0, "upper": 1} for i in range(900)}
    (tmp_path / "result.json").write_text(json.dumps(data), encoding="utf-8")
    for path in report.write(tmp_path / "result.json", tmp_path):
        assert path.stat().st_size < report.LIMIT_BYTES
        assert "All columns in numbers (700)" in path.read_text(encoding="utf-8")


def test_equal_input_gives_equal_bytes(results, tmp_path):
    for path in report.write(results("adult"), tmp_path):
        assert path.read_bytes() == (results("adult").parent / path.name).read_bytes()


DARK = [("#14181b", "#e6e6e1"), ("#14181b", "#a9b1b8"), ("#1c2226", "#a9b1b8"), ("#14181b", "#8cc0f0")]


def test_the_style_is_readable_by_everyone(parse, results):
    """WCAG 2: contrast at least 4.5 to 1 for the text colours of the style sheet on their grounds."""
    css = "".join(
        e.text for e in parse((results("bare").parent / "internal.html").read_text(encoding="utf-8")).all("style")
    )
    pairs = re.findall(r"background: (#[0-9a-f]{6}); color: (#[0-9a-f]{6})", css)
    assert len(pairs) >= 5
    for ground, ink in [*pairs, ("#ffffff", "#57606a"), ("#f6f8fa", "#57606a"), ("#ffffff", "#0b57a4"), *DARK]:
        assert ink in css and contrast(ground, ink) >= 4.5, (ground, ink)


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
