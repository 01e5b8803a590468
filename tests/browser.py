"""A real browser for tests: Chromium driven through its debugging pipe.

One JSON message per NUL byte, the DevTools protocol, so no driver and no library is needed; commands from outside are not
bound by a page's content-security policy.
"""

import base64
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

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers give it 64 MB
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
SECONDS = 120.0


class Unanswered(AssertionError):
    """An expression or a command that failed; so does a right one while one page is being replaced by the next."""


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
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    _session: str | None = None

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        answer = self._wait(lambda m: m.get("id") == self._number)
        if "error" in answer:
            raise Unanswered(f"{method}: {answer['error']}")
        return answer["result"]

    def _wait(self, wanted: Any) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            while b"\0" in self._buffer:
                raw, self._buffer = self._buffer.split(b"\0", 1)
                message = json.loads(raw)
                if message.get("method") == "Network.requestWillBeSent":
                    self.requests.append(message["params"]["request"]["url"])
                if wanted(message):
                    return message
            if select.select([self._from], [], [], 1.0)[0]:
                part = os.read(self._from, 1 << 20)
                if not part:
                    pytest.fail("Chromium ended before the test did; start it by hand to see why")
                self._buffer += part
        pytest.fail(f"Chromium did not answer within {SECONDS:.0f} seconds")

    def open(self, page: Path | str, size: tuple[int, int], scale: float = 1.0) -> None:
        """Load a file or an address in a window of `size` (in pixels of the page) and wait until it is there."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=size[0],
            height=size[1],
            deviceScaleFactor=scale,
            mobile=size[0] < 500,
        )
        self.requests.clear()
        loader = self.call("Page.navigate", url=page.as_uri() if isinstance(page, Path) else page)["loaderId"]
        loaded = {"name": "load", "loaderId": loader}  # of this page, not a late one of the page before
        self._wait(lambda m: m.get("method") == "Page.lifecycleEvent" and loaded.items() <= m["params"].items())

    def ask(self, expression: str) -> Any:
        """What an expression of JavaScript gives in the page; a promise is waited for."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise Unanswered(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def until(self, expression: str, seconds: float = SECONDS) -> Any:
        """Wait for an expression to become true, over loads of other pages too, in whose middle there is nothing to ask."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            with contextlib.suppress(Unanswered):
                if found := self.ask(expression):
                    return found
            time.sleep(0.1)
        pytest.fail(
            f"not within {seconds:.0f} seconds: {expression}; the page says: {self.ask('document.body.innerText')}"
        )

    def press(self, key: str, code: int, text: str = "") -> None:
        """One key, as a keyboard sends it."""
        pressed = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **pressed, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **pressed)

    def click(self, selector: str) -> None:
        """A click of the mouse in the middle of an element."""
        x, y = self.ask(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, file: Path) -> None:
        """The whole page as a PNG file."""
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(taken["data"]))

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


def find() -> str:
    """The program, or one line that says how to get it."""
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.fail("no Chromium found; install one (Debian: the package 'chromium') or name it with CHROMIUM=/path")
    return program
