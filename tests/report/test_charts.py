"""Drawings: well-formed, escaped, and with marks where the figures say."""

import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.report import svg
from understudy.report.charts import Mark, Reference, Series, bar_chart, line_chart
from understudy.report.grids import diverging, heat_map, image_grid, png_size
from understudy.report.shares import category_bars, histogram

few = settings(max_examples=25, deadline=None)
anything = st.text(max_size=40)
figures = st.one_of(st.none(), st.floats(), st.integers(-(10**9), 10**9))


def check(drawing: str) -> ElementTree.Element:
    """Parses as XML, has an accessible name, and keeps every number finite."""
    root = ElementTree.fromstring(drawing)
    assert root.get("role") == "img" and root.get("aria-label")
    assert "nan" not in re.sub(r"<title>.*?</title>|>[^<]*<|aria-label=\"[^\"]*\"", "", drawing).lower()
    return root


@few
@given(anything)
def test_escaped_text_survives_a_parser(words):
    safe = svg.esc(words)
    assert ElementTree.fromstring(f'<a b="{safe}">{safe}</a>').text == (svg.clean(words) or None)


def test_controls_become_visible():
    assert svg.clean("a\nb\tc\x00d\u202ee\ud800") == "a⏎b⇥c\ufffdd\ufffde\ufffd"


@few
@given(anything, st.floats(8, 300))
def test_fitted_text_fits(words, width):
    assert svg.text_width(svg.fit_text(words, width)) <= max(width, svg.text_width("…"))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.81234, "0.812"), (20190, "20,190"), (1e-5, "1e-5"), (0.00027, "2.7e-4"), (None, "–"), (math.nan, "–"),
     (True, "–"),
     (0, "0"), (0.0, "0.000"), (1234.5, "1,234.5"), (-0.5, "-0.500"), (3.2e9, "3,200,000,000"), (math.inf, "–")],
)  # fmt: skip
def test_numbers_as_people_read_them(value, text):
    assert svg.number(value) == text


@few
@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9), st.integers(2, 8))
def test_ticks_are_few_and_inside(low, spread, count):
    ticks = svg.nice_ticks(low, low + spread, count)
    assert len(ticks) <= count + 1
    assert all(low - 1e-6 * spread <= t <= low + spread * (1 + 1e-6) for t in ticks)


@few
@given(st.floats(1e-12, 1e6), st.floats(1.01, 1e9))
def test_log_ticks_exist_inside(low, factor):
    ticks = svg.log_ticks(low, low * factor)
    assert ticks and all(low * 0.99 <= t <= low * factor * 1.01 for t in ticks)


@few
@given(st.lists(figures, max_size=6), anything, st.booleans())
def test_line_charts_take_anything(values, name, log):
    x = list(range(1, len(values) + 1))
    one = Series(name=name, x=x, y=values, low=values, high=values)
    check(
        line_chart(name or "t", [one, one], x_label=name, y_label=name, x_log=log, y_log=log, bands=log, diagonal=True)
    )


@few
@given(st.lists(st.tuples(anything, figures, figures), max_size=5), st.booleans())
def test_bar_charts_take_anything(rows, bars):
    drawn = [(n, [Mark(value=v, low=w, high=w, runs=(v, w))]) for n, v, w in rows]
    check(bar_chart("t", drawn, ["only"], label="l", bars=bars, references=(Reference(name="r", value=0.5),)))


@few
@given(st.lists(st.tuples(anything, st.floats(0, 1)), max_size=8))
def test_histograms_take_anything(rows):
    labels, shares = [n for n, _ in rows], [v for _, v in rows]
    check(category_bars("t", labels, [("real", shares), ("synthetic", shares)], rest="more"))
    if rows:
        check(histogram("t", [float(i) for i in range(len(rows) + 1)], [("real", shares), ("synthetic", shares)]))
        check(histogram("t", [1.0] * (len(rows) + 1), [("synthetic", shares)]))


@few
@given(st.lists(anything, max_size=5), figures)
def test_heat_maps_take_anything(labels, value):
    check(heat_map("t", labels, [[value] * len(labels)] * len(labels), limit=0.5, key="k"))


def test_error_bars_and_dots_stand_where_the_figures_are():
    drawing = bar_chart(
        "t", [("m", [Mark(value=0.75, low=0.5, high=1.0, path="/x")])], ["s"], label="AUROC", limits=(0.5, 1.0)
    )
    root = check(drawing)
    mark = next(e for e in root.iter() if e.get("data-path") == "/x")
    assert mark.get("data-value") == "0.75"
    start = float(re.match(r"M([\d.]+),", mark.get("d")).group(1)) + 4  # the circle's left edge plus its radius
    whisker = next(e.get("d") for e in root.iter() if re.match(r"M[\d.]+,[\d.]+H", e.get("d") or ""))
    low, high = (float(v) for v in re.match(r"M([\d.]+),[\d.]+H([\d.]+)", whisker).groups())
    assert start == pytest.approx((low + high) / 2, abs=0.11)


def test_bars_start_at_zero():
    root = check(bar_chart("t", [("a", [Mark(value=0.4)]), ("b", [Mark(value=0.8)])], ["s"], label="l", bars=True))
    widths = [float(e.get("width")) for e in root.iter() if e.get("fill") == svg.BLUE and e.get("height") == "10"]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.02)


def test_missing_points_break_a_line():
    one = Series(name="s", x=[1, 2, 3, 4, 5], y=[1.0, 2.0, None, 2.0, 1.0])
    lines = [e for e in check(line_chart("t", [one], x_label="x", y_label="y")).iter() if e.get("fill") == "none"]
    assert len(lines) == 2


def test_log_axes_space_powers_evenly():
    axis = svg.scale([0.1, 10.0], 0, 100, log=True)
    assert axis.at(1.0) == pytest.approx(50) and axis.at(0.0) is None and axis.ticks() == [0.1, 1.0, 10.0]


def test_colours_tell_sign_and_strength():
    assert diverging(0.0) == "#f7f7f7"
    red, _, blue = (int(diverging(0.8)[i : i + 2], 16) for i in (1, 3, 5))
    assert red > blue
    red, _, blue = (int(diverging(-0.8)[i : i + 2], 16) for i in (1, 3, 5))
    assert blue > red
    assert diverging(2.0) == diverging(1.0)


def test_no_figure_is_not_drawn_as_zero():
    empty = heat_map("t", ["a", "b"], [[1.0, None], [None, 1.0]])
    zero = heat_map("t", ["a", "b"], [[1.0, 0.0], [0.0, 1.0]])
    assert empty.count('fill="#ffffff"') == 2 and zero.count('fill="#ffffff"') == 0


def test_image_grids_hold_the_png_and_refuse_others(maker):
    data = maker.images().images.real_grid_png
    assert png_size(data) == (280, 280)
    root = check(image_grid("t", data, ["0", "1"]))
    assert [e.get("href") for e in root.iter() if e.tag.endswith("image")] == [f"data:image/png;base64,{data}"]
    for wrong in ("", "AAAA", 'x" onload="alert(1)', "iVBORw0KGgo="):
        assert "no readable PNG" in image_grid("t", wrong)


def test_series_differ_without_colour():
    kinds = {re.sub(r"[\d.,-]", "", svg.marker(i, 0, 0, "#000000")) for i in range(3)}
    assert len(kinds) == 3 and len(set(svg.SERIES_DASHES)) == len(svg.SERIES_DASHES)


def test_figures_near_the_largest_float_do_not_overflow():
    from understudy.report import svg

    for values in ([1.7e308], [-1.7e308, 1.7e308]):
        assert all(abs(tick) <= 1e301 for tick in svg.scale(values, 0, 100).ticks())
