"""Commands that run beside the page: each a process of its own, the very command line that the page shows.

A job's two outputs go to files without a name, so it never waits for a reader, and a page that is closed loses nothing.
Progress is read from the plain lines that a fit writes for logs (`understudy.progress`); they hold public figures only. To
cancel is Ctrl-C (SIGINT): the fit ends by itself, in order, and says what it leaves behind.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import IO, Any

from understudy.errors import UsageError

MOST_OUTPUT = 1 << 18  # bytes of output that a page shows; the last ones
STOPPING = 20.0  # seconds that a job gets to end in order when the page is closed
LOG_SECONDS = "1"  # how often the child reports the same stage
PROGRESS = re.compile(
    r"(?P<stage>.+?)(?: (?P<done>[\d,]+)/(?P<total>[\d,]+))?, epsilon (?P<spent>\S+) spent of (?P<planned>\S+)"
)
STEPS = (  # of what is not charged: `sample` counts rows, `evaluate` measures
    re.compile(r"(?P<stage>sampling) (?P<done>[\d,]+)/(?P<total>[\d,]+)"),
    re.compile(r"(?P<done>\d+)/(?P<total>\d+) (?P<stage>.+)"),
)


@dataclass
class Job:
    """One command: running, or how it ended."""

    words: list[str]
    process: "subprocess.Popen[bytes]"
    out: IO[bytes]
    err: IO[bytes]
    started: float = field(default_factory=time.monotonic)
    began: float = field(default_factory=time.time)  # by the clock of the files
    ended: float | None = None
    cancelled: bool = False

    @property
    def kind(self) -> str:
        """The command's first word."""
        return self.words[0]

    @property
    def code(self) -> int | None:
        """The exit code; None while it runs."""
        found = self.process.poll()
        if found is not None and self.ended is None:
            self.ended = time.monotonic()
        return found

    @property
    def state(self) -> str:
        """running, stopping, done, stopped, no (a check that failed) or failed."""
        code = self.code
        if code is None:
            return "stopping" if self.cancelled else "running"
        if code == 0:
            return "done"
        if code == 130 or (self.cancelled and code < 0):
            return "stopped"
        return "no" if code == 1 else "failed"

    def output(self) -> list[str]:
        """Lines of its result."""
        return _tail(self.out)

    def messages(self) -> list[str]:
        """Lines it said while it ran, progress left out."""
        return [line for line in _tail(self.err) if not _step(line)]

    def progress(self) -> dict[str, Any]:
        """Where it is, in public figures, as events and pages show it."""
        said = [found for line in _tail(self.err) if (found := _step(line))]
        event: dict[str, Any] = {"state": self.state, "seconds": round((self.ended or time.monotonic()) - self.started)}
        event |= {"stage": "starting", "done": 0, "total": 0, "spent": "0", "planned": ""}
        if said:
            last = said[-1].groupdict()
            event |= {name: last[name] for name in ("stage", "spent", "planned") if last.get(name)}
            event |= {name: int((last[name] or "0").replace(",", "")) for name in ("done", "total")}
        return event

    def cancel(self) -> None:
        """What Ctrl-C would do."""
        if self.code is None:
            self.cancelled = True
            self.process.send_signal(signal.SIGINT)

    def forget(self) -> None:
        """Let go of what it said."""
        self.out.close()
        self.err.close()


class Jobs:
    """The jobs of all tables; one at a time for each."""

    def __init__(self) -> None:
        self._jobs: dict[tuple[str, str], Job] = {}
        self._lock = threading.Lock()

    def find(self, name: str, kind: str) -> Job | None:
        """The last job of that kind for a table."""
        return self._jobs.get((name, kind))

    def running(self, name: str) -> Job | None:
        """What runs for a table now."""
        return next((job for (table, _), job in self._jobs.items() if table == name and job.code is None), None)

    def start(self, name: str, words: list[str]) -> Job:
        """Run `understudy WORDS`; refused while another command works on the same table."""
        with self._lock:
            if (busy := self.running(name)) is not None:
                raise UsageError(f"`understudy {busy.kind}` is still running for this table; wait for it or cancel it")
            job = _spawn(words)
            if (old := self._jobs.get((name, job.kind))) is not None:
                old.forget()
            self._jobs[name, job.kind] = job
            return job

    def close(self) -> None:
        """End everything in order; a fit keeps its checkpoint."""
        left = [job for job in self._jobs.values() if job.code is None]
        for job in left:
            job.cancel()
        end = time.monotonic() + STOPPING
        for job in left:
            try:
                job.process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                job.process.terminate()
                job.process.wait()
        for job in self._jobs.values():
            job.forget()
        self._jobs.clear()


def _spawn(words: list[str]) -> Job:
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115  (closed by `forget`)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "understudy", *words],  # -P: a file in the data folder is never taken for a module
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        env=os.environ | {"UNDERSTUDY_LOG_SECONDS": LOG_SECONDS, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,  # Ctrl-C in the terminal reaches the page, which passes it on once
    )
    return Job(words, process, out, err)


def _step(line: str) -> "re.Match[str] | None":
    """The figures of a line that tells progress."""
    return next((found for form in (PROGRESS, *STEPS) if (found := form.fullmatch(line))), None)


def _tail(file: IO[bytes]) -> list[str]:
    size = os.fstat(file.fileno()).st_size
    text = os.pread(file.fileno(), MOST_OUTPUT, max(0, size - MOST_OUTPUT)).decode("utf-8", "replace")
    return [line for line in text.splitlines() if line.strip()]
