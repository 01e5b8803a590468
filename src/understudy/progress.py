"""Progress: what a fit tells (`teller.py`) on standard error, from the first second on, unless nobody looks.

A terminal gets a live line (stage, round, time left, epsilon announced and spent); a log file gets a plain line when
the stage changes and then at most one every few seconds. Only public figures are shown: stages, rounds and prices come
from the plan, never from rows.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LOG_SECONDS = float(os.environ.get("UNDERSTUDY_LOG_SECONDS", "10"))  # the local page asks for more
WORDS = {
    "plan": "planning",
    "read": "reading the table",
    "estimate": "finding bounds and categories",
    "begin": "asking the first questions",
    "question": "asking",
    "rounds": "learning",
    "finish": "finishing",
}


@contextmanager
def bar(stage: str, total: int, quiet: bool, *, timed: bool = False) -> Iterator[Callable[[int], None]]:
    """A plain counter for work of known size; yields a function that advances it. `timed`: plain lines say the time left, too."""
    if quiet:
        yield lambda step: None
    elif not watched():
        log, done, began = _Log(), 0, time.monotonic()

        def count(step: int) -> None:
            nonlocal done
            done += step
            log.line(stage, done, total, _left(time.monotonic() - began, done, total) if timed else "")

        yield count
    else:
        with _display() as display:
            task = display.add_task(stage, total=total, spent="")
            yield lambda step: display.advance(task, step)


def _left(seconds: float, done: int, total: int) -> str:
    """How long the rest takes if it goes on like this; nothing for a few seconds."""
    rest = seconds * (total - done) / done if done else 0.0
    return "" if rest < LOG_SECONDS else f", about {f'{rest / 60:.0f} min' if rest > 90 else f'{rest:.0f} s'} left"


class FitProgress:
    """The callback a fit reports to: a dictionary with stage, round, rounds and the epsilon spent so far."""

    def __init__(self, epsilon: float, quiet: bool = False) -> None:
        self.epsilon, self.quiet = epsilon, quiet
        self._display: Progress | None = None
        self._task: TaskID | None = None
        self._stage = ""
        self._spent = 0.0
        self._log = _Log()

    def __enter__(self) -> "FitProgress":
        if not self.quiet and watched():
            self._display = _display()
            self._display.start()
            self({"stage": "starting"})
        return self

    def __exit__(self, *_: object) -> None:
        if self._display is not None:
            self._display.stop()

    def __call__(self, event: Mapping[str, Any]) -> None:
        if self.quiet:
            return
        self._spent = float(event.get("epsilon_spent", self._spent))
        stage = WORDS.get(str(event["stage"]), str(event["stage"]))
        done, total = int(event.get("round", 0)), event.get("rounds") or None
        if "share" in event:  # of one pass over the table
            done, total = round(100 * event["share"]), 100
            stage = f"{stage}: {event['purpose']}" if "purpose" in event else stage
        price = f"epsilon {self._spent:.3g} spent of {event.get('epsilon_planned', self.epsilon):.4g}"
        if self._display is None:
            if "share" in event and done == total and stage == self._stage:
                return  # a pass was announced when it began; its end is the next line
            self._stage = stage
            self._log.line(stage, done, total, f", {price}")
            return
        if self._task is None or stage != self._stage:
            if self._task is not None:
                self._display.remove_task(self._task)
            self._task, self._stage = self._display.add_task(stage, total=total, spent=price), stage
        self._display.update(self._task, completed=done, total=total, spent=price)


class _Log:
    """Plain lines for a file or a pipe: when the stage changes, at its end, and now and then in between."""

    def __init__(self) -> None:
        self._stage, self._last = "", float("-inf")

    def line(self, stage: str, done: int, total: int | None, more: str = "") -> None:
        now = time.monotonic()
        finished = total is not None and done >= total
        if stage == self._stage and now - self._last < LOG_SECONDS and not finished:
            return
        self._stage, self._last = stage, now
        sys.stderr.write(f"{stage}{f' {done:,}/{total:,}' if total else ''}{more}\n")
        sys.stderr.flush()


def watched() -> bool:
    """Whether somebody looks: a terminal, or a notebook."""
    shell = sys.modules.get("IPython")
    if shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell":
        return True
    return sys.stderr is not None and sys.stderr.isatty()


def _display() -> "Progress":
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[spent]}"),
        console=Console(stderr=True),
        transient=True,
    )
