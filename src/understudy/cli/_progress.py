"""Progress on standard error: visible from the first second, silent when nobody looks.

A terminal gets a live line (stage, round, time left, epsilon announced and spent); a log file gets a plain line when
the stage changes and then at most one every few seconds. Only public figures are shown: stages, rounds and prices come
from the plan, never from rows.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

LOG_SECONDS = 10.0
WORDS = {
    "plan": "planning",
    "read": "reading the table",
    "estimate": "finding bounds and categories",
    "begin": "asking the first questions",
    "rounds": "learning",
    "finish": "finishing",
}


@contextmanager
def bar(stage: str, total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A plain counter for work of known size; yields a function that advances it."""
    if quiet:
        yield lambda step: None
        return
    with _display() as display:
        task = display.add_task(stage, total=total, spent="")
        yield lambda step: display.advance(task, step)


class FitProgress:
    """The callback a fit reports to: a dictionary with stage, round, rounds and the epsilon spent so far."""

    def __init__(self, epsilon: float, quiet: bool = False) -> None:
        self.epsilon, self.quiet = epsilon, quiet
        self._display: Any = None
        self._task: Any = None
        self._stage = ""
        self._spent = 0.0
        self._last = float("-inf")

    def __enter__(self) -> "FitProgress":
        if not self.quiet:
            self._display = _display()
            self._display.start()
            self._show("starting", 0, None, 0.0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._display is not None:
            self._display.stop()

    def __call__(self, event: Mapping[str, Any]) -> None:
        if not self.quiet:
            self._spent = float(event.get("epsilon_spent", self._spent))
            stage = str(event["stage"])
            self._show(WORDS.get(stage, stage), int(event.get("round", 0)), event.get("rounds") or None, self._spent)

    def _show(self, stage: str, done: int, total: int | None, spent: float) -> None:
        price = f"epsilon {spent:.3g} spent of {self.epsilon:g}"
        if not self._display.live.console.is_terminal:
            self._log(stage, done, total, price)
            return
        if stage != self._stage or self._task is None:
            if self._task is not None:
                self._display.remove_task(self._task)
            self._task = self._display.add_task(stage, total=total, spent=price)
            self._stage = stage
        self._display.update(self._task, completed=done, total=total, spent=price)

    def _log(self, stage: str, done: int, total: int | None, price: str) -> None:
        now = time.monotonic()
        finished = total is not None and done >= total
        if stage == self._stage and now - self._last < LOG_SECONDS and not finished:
            return
        self._stage, self._last = stage, now
        count = f" {done}/{total}" if total else ""
        sys.stderr.write(f"{stage}{count}, {price}\n")
        sys.stderr.flush()


def _display() -> Any:
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
