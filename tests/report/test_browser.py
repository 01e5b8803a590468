"""The reports in a real browser: nothing is fetched, nothing overflows, and the figures are those of the file.

Run with `make test-browser`.
"""

import json

import pytest

from ..serve.test_browser import FAINT

pytestmark = pytest.mark.browser

SIZES = {"phone": (360, 740), "desktop": (1280, 900)}

MEASURE = """(() => {
  const width = document.documentElement.clientWidth;
  const wide = [...document.body.querySelectorAll('*')].filter(e => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && box.right > width + 1 && !e.closest('.scroll') && !e.closest('svg');
  }).map(e => e.tagName + '.' + e.className);
  const clipped = [...document.querySelectorAll('svg.chart')].flatMap(drawing => {
    const frame = drawing.getBoundingClientRect();
    return [...drawing.querySelectorAll('text')].filter(t => {
      const box = t.getBoundingClientRect();
      return frame.width > 0 && box.width > 0 && (box.left < frame.left - 4 || box.right > frame.right + 4);
    }).map(t => t.textContent);
  });
  const letters = [...document.querySelectorAll('svg.chart text')].map(t => {
    const drawing = t.ownerSVGElement, shown = drawing.getBoundingClientRect().width;
    return shown ? parseFloat(getComputedStyle(t).fontSize) * shown / drawing.viewBox.baseVal.width : 99;
  });
  const banner = document.querySelector('.banner');
  return {width, scroll: document.documentElement.scrollWidth, wide, clipped, smallest: Math.min(99, ...letters),
          drawings: document.querySelectorAll('svg.chart').length,
          banner: banner.textContent, ground: getComputedStyle(banner).backgroundColor,
          broken: [...document.querySelectorAll('svg image, img')]
            .filter(e => e.getBoundingClientRect().width < 10).length};
})()"""
FIGURES = """[...document.querySelectorAll('[data-value]')].map(
  e => [e.dataset.path, e.dataset.value, e.tagName === 'SPAN' ? e.textContent : null])"""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["internal", "release"])
def test_page_in_a_browser(browser, case, kind, size, at):
    page = case.parent / f"{kind}.html"
    browser.open(page, SIZES[size])
    seen = browser.ask(MEASURE)
    assert SIZES[size][0] - 20 <= seen["width"] <= SIZES[size][0], "less at most the bar for scrolling down"
    assert seen["scroll"] <= seen["width"], f"the page scrolls sideways, by {seen['wide']}"
    assert seen["wide"] == [] and seen["broken"] == 0
    assert seen["clipped"] == []
    assert seen["drawings"] == 0 or seen["smallest"] >= 4.5
    red = kind == "internal" or case.parent.name.startswith("bare")
    assert (seen["ground"] == "rgb(179, 38, 30)") is red
    data = json.loads(case.read_text(encoding="utf-8"))
    figures = browser.ask(FIGURES)
    assert len(figures) >= 3
    for path, value, text in figures:
        assert value == repr(at(data, path)) and text != ""
    outside = [u for u in browser.requests if u != page.as_uri() and not u.startswith("data:image/png;base64,")]
    assert page.as_uri() in browser.requests and outside == []


@pytest.mark.parametrize("kind", ["internal", "release"])
def test_reports_can_be_read_on_a_dark_screen(browser, case, kind):
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    try:
        browser.open(case.parent / f"{kind}.html", SIZES["desktop"])
        assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 27)"
        assert browser.ask(FAINT) == []
    finally:
        browser.call("Emulation.setEmulatedMedia", features=[])


def test_the_watch_notices_a_request_that_leaves(browser, tmp_path):
    """Control: a page that does fetch is seen to try, so silence elsewhere means something."""
    page = tmp_path / "bad.html"
    page.write_text(
        '<!DOCTYPE html><title>x</title><div class="banner"></div><img src="http://127.0.0.1:9/x.png">',
        encoding="utf-8",
    )
    browser.open(page, SIZES["desktop"])
    assert "http://127.0.0.1:9/x.png" in browser.requests
