"""The page in a real browser: the whole way with the mouse and with the keyboard alone, at any width, against a hostile page.

Run with `make test-browser`. The table is the demo's; the fit is the real command with the quickest method.
"""

import functools
import http.server
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

pytestmark = pytest.mark.browser

DESKTOP, PHONE, ZOOMED = (1280, 900), (375, 740), (640, 450)  # zoomed: 1280 x 900 at 200 %
TABLE = "table=0/visits.csv"
STATE = "document.querySelector('h1').textContent"

WIDE = """(() => { const width = document.documentElement.clientWidth;
  return [...document.body.querySelectorAll('*')].filter(e => { const box = e.getBoundingClientRect();
    return box.width > 1 && box.right > width + 1 && !e.closest('.scroll, textarea, pre'); })
    .map(e => e.tagName + '.' + e.className); })()"""
UNLABELLED = """[...document.querySelectorAll('input:not([type=hidden]), select, textarea')].filter(
  e => !e.labels.length && !e.ariaLabel).map(e => e.name)"""
UNNAMED = "[...document.querySelectorAll('a, button')].filter(e => !e.textContent.trim()).length"
# Contrast of every text with the ground it stands on (WCAG 2): at least 4.5, or 3 for large letters.
FAINT = """(() => {
  const line = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => { const [r, g, b] = c.map(v => line(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const parts = s => s.match(/[\\d.]+/g).map(Number);
  const ground = e => { for (; e; e = e.parentElement) { const c = parts(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
  const found = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || e.matches('input, select, textarea');
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (!own || box.width < 2 || e.closest('.skip, [disabled], noscript, option') || style.visibility === 'hidden') continue;
    const [a, b] = [light(parts(style.color).slice(0, 3)), light(ground(e))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05), large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) found.push(`${e.tagName}.${e.className} ${ratio.toFixed(2)} ${e.textContent.slice(0, 30)}`);
  }
  return found; })()"""


class Page:
    """`understudy serve --demo` in a process of its own."""

    def __init__(self, folder):
        words = [sys.executable, "-m", "understudy", "serve", str(folder), "--demo", "--no-browser", "--port", "0"]
        self.log = folder.with_suffix(".log")
        with self.log.open("wb") as out:
            self.process = subprocess.Popen(
                words, stdout=out, stderr=subprocess.STDOUT, env=os.environ | {"PYTHONUNBUFFERED": "1"}
            )
        end = time.monotonic() + 120
        while "/open?token=" not in self.log.read_text() and time.monotonic() < end:
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)
        self.folder, self.origin = folder, self.address.partition("/open")[0]

    @property
    def address(self):
        """The newest address that lets a browser in."""
        return re.findall(r"http://\S+/open\?token=\S+", self.log.read_text())[-1]

    def close(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)


@pytest.fixture(scope="module")
def served(tmp_path_factory, browser):
    page = Page(tmp_path_factory.mktemp("demo") / "demo")
    browser.open(page.address, DESKTOP)
    yield page
    page.close()
    assert "Traceback" not in page.log.read_text()


def go(browser, served, path, size=DESKTOP):
    browser.open(f"{served.origin}{path}", size)


def arrives(browser, text, seconds=300.0):
    browser.until(f"document.readyState === 'complete' && document.body.innerText.includes({text!r})", seconds)


def test_the_whole_way_with_the_mouse(browser, served):
    go(browser, served, "/")
    browser.click("a[href='/describe?table=0/visits.csv']")
    arrives(browser, "The schema is complete.")
    browser.click("button[name=then][value=plan]")
    arrives(browser, "What the best attacker gains")
    browser.ask("document.getElementById('method').value = 'independent'")
    browser.click("form.budget button")
    arrives(browser, "your choice")
    browser.click("form.actions button")
    arrives(browser, "Start the fit")
    browser.click("form[action='/fit/start'] button")
    arrives(browser, "Epsilon spent")
    assert browser.ask("document.querySelector('[data-stage]').getAttribute('aria-live')") == "polite"
    arrives(browser, "There is a model")
    browser.click("a.button")
    arrives(browser, "The certificate holds.")
    browser.ask("document.getElementById('rows-wanted').value = '500'")
    browser.click("form[action='/look/sample'] button")
    arrives(browser, "visits.synthetic.csv is there")
    assert (served.folder / "visits.synthetic.csv").read_text().count("\n") == 501
    browser.click("p.actions a.button")
    arrives(browser, "What may leave")
    assert "understudy fit visits.csv --schema visits.yaml --epsilon 1" in browser.ask("document.body.innerText")
    outside = [url for url in browser.requests if not url.startswith((served.origin, "data:", "about:"))]
    assert outside == []


class Keyboard:
    """Tab until an element has the focus, then Enter, letters or arrows; never the mouse."""

    def __init__(self, browser):
        self.browser = browser

    def to(self, selector, most=400):
        for _ in range(most):
            if self.browser.ask(f"document.activeElement.matches({selector!r})"):
                shown = self.browser.ask("getComputedStyle(document.activeElement).outlineStyle")
                assert shown != "none", "focus has to be seen"
                return
            self.browser.press("Tab", 9)
        pytest.fail(f"the keyboard does not reach {selector}")

    def enter(self):
        self.browser.press("Enter", 13, "\r")

    def write(self, text):
        self.browser.call("Input.insertText", text=text)


def test_the_whole_way_with_the_keyboard_alone(browser, served):
    """Another table: held-out rows, described by import, so that the other path through Describe is walked."""
    keys = Keyboard(browser)
    go(browser, served, "/")
    keys.to("a[href='/describe?table=0/held-out.csv']")
    keys.enter()
    arrives(browser, "left to say")
    keys.to("#dictionary")
    browser.ask(
        "(d => { d.value = [...d.options].find(o => o.text === 'visits.yaml').value; })(document.activeElement)"
    )
    keys.to("form[action='/describe/import'] button")
    keys.enter()
    arrives(browser, "The schema is complete.")
    keys.to("#unit")
    keys.to("button[name=then][value=plan]")
    keys.enter()
    arrives(browser, "What the best attacker gains")
    keys.to("#method")
    keys.write("")
    browser.press("i", 73, "i")  # letters choose in a list
    keys.to("form.budget button")
    keys.enter()
    arrives(browser, "your choice")
    keys.to("form.actions button")
    keys.enter()
    arrives(browser, "Start the fit")
    keys.to("form[action='/fit/start'] button")
    keys.enter()
    arrives(browser, "There is a model")
    keys.to("a.button")
    keys.enter()
    arrives(browser, "The certificate holds.")
    keys.to("#rows-wanted")
    keys.write("300")
    keys.enter()
    arrives(browser, "held-out.synthetic.csv is there")
    keys.to("p.actions a.button")
    keys.enter()
    arrives(browser, "What may leave")


def test_a_fit_can_be_cancelled_and_says_what_is_spent(browser, served):
    go(browser, served, f"/plan?{TABLE}&method=mst&epsilon=1")
    browser.click("form.actions button")
    arrives(browser, "Fit again")
    browser.click("input[name=again]")
    browser.click("form[action='/fit/start'] button")
    arrives(browser, "Epsilon spent")
    browser.click("[data-cancel]")
    browser.until("document.readyState === 'complete' && !document.querySelector('[data-events]')", 120)
    said = browser.ask("document.body.innerText")
    assert "Stopped." in said or "is spent" in said or "There is a model" in said


def test_what_is_typed_is_checked_at_once(browser, served):
    go(browser, served, f"/describe?{TABLE}")
    browser.ask(
        "(e => { e.value = '900'; e.dispatchEvent(new Event('input', {bubbles: true})); })(document.getElementById('lower-4'))"
    )
    browser.until("document.getElementById('problem-4').textContent.length > 0")
    assert "1 thing is left to say" in browser.ask("document.getElementById('judgement').innerText")
    assert "lower: 900" in browser.ask("document.querySelector('[data-text]').value")
    assert browser.ask("document.getElementById('judgement').getAttribute('aria-live')") == "polite"


def pages(served):
    steps = [f"/{step}?{TABLE}" for step in ("describe", "plan", "fit", "look", "hand-over", "report/internal")]
    return ["/", "/nowhere", *steps]


@pytest.mark.parametrize("size", [DESKTOP, PHONE, ZOOMED], ids=["desktop", "phone", "zoomed"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_read(browser, served, size, scheme):
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    for path in pages(served):
        go(browser, served, path, size)
        assert browser.ask(WIDE) == [], f"{path} is wider than the window"
        assert browser.ask("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), (
            f"a word of {path} sticks out"  # boxes may fit while a long path inside them does not
        )
        assert browser.ask(UNLABELLED) == [] and browser.ask(UNNAMED) == 0, path
        assert (
            browser.ask("document.querySelectorAll('h1').length") == 1
            and browser.ask("document.documentElement.lang") == "en"
        )
        assert browser.ask(FAINT) == [], path
    browser.call("Emulation.setEmulatedMedia", features=[])


def test_the_measure_of_contrast_notices_faint_text(browser, served):
    go(browser, served, "/")
    browser.ask("document.querySelector('.lead').style.color = 'rgb(170, 170, 170)'")
    assert len(browser.ask(FAINT)) == 1


def test_it_works_without_script(browser, served):
    """Save, plan and fit by forms alone; progress by pages that load themselves again."""
    go(browser, served, f"/fit?{TABLE}")
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        go(browser, served, f"/describe?{TABLE}")
        assert browser.ask("getComputedStyle(document.querySelector('#lower-4').closest('.bounds')).display") == "grid"
        assert browser.ask("getComputedStyle(document.querySelector('#lower-1').closest('.bounds')).display") == "none"
        browser.click("button[name=then][value=plan]")
        arrives(browser, "What the best attacker gains")
        go(browser, served, f"/look?{TABLE}")
        browser.click("form[action='/look/sample'] button")
        browser.until("!!document.querySelector('[data-events]')")
        assert browser.ask("document.querySelectorAll('meta[http-equiv=refresh]').length") == 1
        browser.until("document.readyState === 'complete' && !document.querySelector('[data-events]')")
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


HOSTILE = """<!DOCTYPE html><title>hostile</title><body><script>
const target = "TARGET", results = {};
const tries = {
  read: () => fetch(target + "/", {credentials: "include"}).then(a => a.text()).then(t => "READ " + t),
  opaque: () => fetch(target + "/", {credentials: "include", mode: "no-cors"}).then(a => "type " + a.type + " " + a.status),
  post: () => fetch(target + "/fit/start", {method: "POST", credentials: "include", mode: "no-cors",
    headers: {"content-type": "application/x-www-form-urlencoded"}, body: "table=0/visits.csv&again=1"})
    .then(a => "type " + a.type),
  events: () => new Promise(done => { const s = new EventSource(target + "/events?table=0/visits.csv", {withCredentials: true});
    s.onmessage = () => done("READ event"); s.onerror = () => done("error"); }),
  script: () => new Promise(done => { const s = document.createElement("script"); s.src = target + "/static/page.js";
    s.onload = () => done("LOADED"); s.onerror = () => done("error"); document.body.append(s); }),
  frame: () => new Promise(done => { const f = document.createElement("iframe"); f.src = target + "/";
    f.onload = () => { try { done("READ " + f.contentDocument.body.innerText); } catch (e) { done("blocked"); } };
    document.body.append(f); }),
  socket: () => new Promise(done => { const s = new WebSocket(target.replace("http", "ws") + "/events");
    s.onopen = () => done("OPEN"); s.onerror = () => done("error"); }),
};
window.finished = Promise.all(Object.entries(tries).map(async ([name, go]) => {
  results[name] = await go().catch(e => "error"); })).then(() => results);
</script>
<form id="form" method="post" action="TARGET/fit/start">
<input name="table" value="0/visits.csv"><input name="again" value="1"></form>"""


@pytest.fixture(params=["127.0.0.1", "localhost"], ids=["same-site", "cross-site"])
def hostile(request, tmp_path, served):
    """A page on another port of this machine (the same site, as browsers see it), or under another name."""
    (tmp_path / "index.html").write_text(HOSTILE.replace("TARGET", served.origin), encoding="utf-8")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    handler.func.log_message = lambda *_: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://{request.param}:{server.server_address[1]}/index.html"
    server.shutdown()
    server.server_close()


def test_a_hostile_page_can_neither_start_nor_read(browser, served, hostile):
    go(browser, served, "/")
    assert browser.ask(STATE) == "Choose a table", "this browser has the cookie"
    before = sorted((one.name, one.stat().st_mtime_ns) for one in served.folder.rglob("*"))
    browser.open(hostile, DESKTOP)
    found = browser.ask("window.finished")
    assert set(found) == {"read", "opaque", "post", "events", "script", "frame", "socket"}
    assert not [name for name, what in found.items() if "READ" in what or "LOADED" in what or "OPEN" in what], found
    browser.ask("document.getElementById('form').submit()")
    browser.until("document.body.innerText.includes('Refused')")
    assert served.origin in browser.ask("location.origin"), "the refusal is the page's own"
    browser.open(hostile, DESKTOP)
    browser.ask(
        f"(() => {{ const a = document.createElement('a'); a.href = '{served.origin}/'; document.body.append(a); a.click(); }})()"
    )
    browser.until("document.body.innerText.includes('Refused')")
    assert sorted((one.name, one.stat().st_mtime_ns) for one in served.folder.rglob("*")) == before
    go(browser, served, f"/fit?{TABLE}")
    assert browser.ask("document.querySelector('[data-events]')") is None, "nothing was started"
