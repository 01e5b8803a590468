"""The pages in a real browser: nothing is fetched, nothing overflows, and the figures are those of the file.

Run with `make test-browser`. Chromium is driven through its debugging pipe (one JSON message per NUL byte, the
DevTools protocol), so no driver and no library is needed; commands from outside are not bound by the page's
content-security policy, which forbids scripts of its own.
"""

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
SECONDS = 120.0
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


class Chromium:
    """A browser on the other end of two pipes (its descriptors 3 and 4)."""

    def __init__(self, program: str, profile: Path) -> None:
        to_read, self._to = _pipe()
        self._from, from_write = _pipe()
        null = (
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        )
        moves = (os.POSIX_SPAWN_DUP2, to_read, 3), (os.POSIX_SPAWN_DUP2, from_write, 4)
        args = [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self._pid = os.posix_spawn(program, args, os.environ, file_actions=[*moves, *null], setpgroup=0)
        os.close(to_read)
        os.close(from_write)
        self._buffer, self._number, self.requests = b"", 0, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = None
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Network.enable")
        self.call("Page.enable")

    _session: str | None = None

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        return self._wait(lambda m: m.get("id") == self._number)["result"]

    def _wait(self, wanted: Any) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            while b"\0" in self._buffer:
                raw, self._buffer = self._buffer.split(b"\0", 1)
                message = json.loads(raw)
                if message.get("method") == "Network.requestWillBeSent":
                    self.requests.append(message["params"]["request"]["url"])
                assert "error" not in message, message
                if wanted(message):
                    return message
            if select.select([self._from], [], [], 1.0)[0]:
                part = os.read(self._from, 1 << 20)
                if not part:
                    pytest.fail("Chromium ended before the test did; start it by hand to see why")
                self._buffer += part
        pytest.fail(f"Chromium did not answer within {SECONDS:.0f} seconds")

    def open(self, page: Path, size: tuple[int, int]) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=size[0],
            height=size[1],
            deviceScaleFactor=1,
            mobile=size[0] < 500,
        )
        self.requests.clear()
        self.call("Page.navigate", url=page.as_uri())
        self._wait(lambda m: m.get("method") == "Page.loadEventFired")

    def ask(self, expression: str) -> Any:
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"]["value"]

    def close(self) -> None:
        os.close(self._to)
        os.close(self._from)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _pipe() -> tuple[int, int]:
    """A pipe on high descriptors, so that moving its ends to 3 and 4 cannot overwrite one of them."""
    ends = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 40) for end in ends)
    for end in ends:
        os.close(end)
    return high[0], high[1]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.fail("no Chromium found; install one (Debian: the package 'chromium') or name it with CHROMIUM=/path")
    one = Chromium(program, tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ["internal", "release"])
def test_page_in_a_browser(browser, case, kind, size, at):
    page = case.parent / f"{kind}.html"
    browser.open(page, SIZES[size])
    seen = browser.ask(MEASURE)
    assert SIZES[size][0] - 20 <= seen["width"] <= SIZES[size][0], "less at most the bar for scrolling down"
    assert seen["scroll"] <= seen["width"], "the page scrolls sideways"
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


def test_the_watch_notices_a_request_that_leaves(browser, tmp_path):
    """Control: a page that does fetch is seen to try, so silence elsewhere means something."""
    page = tmp_path / "bad.html"
    page.write_text(
        '<!DOCTYPE html><title>x</title><div class="banner"></div><img src="http://127.0.0.1:9/x.png">',
        encoding="utf-8",
    )
    browser.open(page, SIZES["desktop"])
    assert "http://127.0.0.1:9/x.png" in browser.requests
