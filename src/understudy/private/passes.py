"""One pass over a table: whole numbers added up over its parts, by an engine or on all cores of this process.

Parts know nothing of each other. A worker adds the blocks of its parts to a total of its own, and totals are added at
the end, so the result is the same for any number of workers, parts and blocks.

| the table | who adds up |
| --- | --- |
| files, read again for every question | the engine (`understudy.engine`): each worker reads its own parts and returns sums |
| rows in memory | threads of this process: NumPy and PyArrow release the interpreter while they work |

What a worker is sent are the public question and which part of which file to read; what comes back are exact sums, which are
private and stay between worker and curator. Noise is added here, afterwards, once.

Progress is told in twentieths of a pass, always as many: how many parts there are is nobody's business.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from understudy.engine import Engine
from understudy.engine.exact import together

TICKS = 20
PIECES = 8  # for each worker: a lost one is computed again, and sums are sent so many times
Told = Callable[[float], None]
Part = Callable[[], Iterable[Any]]
Nothing = Callable[[], Any]  # the sums of no rows, to which blocks are added
Add = Callable[[Any, Any], None]


def add_up(
    parts: Sequence[Part], start: Nothing, add: Add, told: Told | None = None, engine: Engine | None = None
) -> Any:
    """`add(total, block)` for every block of every part."""
    if engine is not None and len(parts) > 1 and all(getattr(part, "portable", False) for part in parts):
        pieces = dealt(parts, PIECES * engine.workers)
        ticker = Ticker(len(pieces), told)
        found = engine.sum_over_partitions(partial(sum_of, start, add), pieces, start, ticker.done)
    else:
        ticker = Ticker(len(parts), told)
        found = by_threads(parts, start, add, ticker)
    ticker.finish()
    return found


def dealt(parts: Sequence[Any], most: int) -> list[tuple[Any, ...]]:
    """At most so many pieces of neighbouring parts."""
    size = max(-(-len(parts) // most), 1)
    return [tuple(parts[first : first + size]) for first in range(0, len(parts), size)]


def sum_of(start: Nothing, add: Add, parts: Sequence[Part]) -> Any:
    """The sum over some parts, one after another: what a worker does."""
    total = start()
    with threadpool_limits(1), np.errstate(all="ignore"):  # a warning would depend on somebody's row
        for part in parts:
            for block in part():
                add(total, block)
    return total


def by_threads(parts: Sequence[Part], start: Nothing, add: Add, ticker: "Ticker") -> Any:
    """The same in this process, on all cores."""
    queue, lock = iter(parts), Lock()

    def work(_: int) -> Any:
        total = start()
        while True:
            with lock:
                part = next(queue, None)
            if part is None:
                return total
            with np.errstate(all="ignore"):
                for block in part():
                    add(total, block)
            ticker.done()

    workers = min(len(parts), os.cpu_count() or 1)
    if workers <= 1:
        return work(0)
    # Our threads are enough: matrix products that start threads of their own wait for each other.
    with threadpool_limits(1), ThreadPoolExecutor(workers) as pool:
        return together(start(), pool.map(work, range(workers)))


class Ticker:
    """Tells progress at fixed shares of a pass."""

    def __init__(self, parts: int, told: Told | None) -> None:
        self._parts, self._told, self._ready, self._said, self._lock = max(parts, 1), told, 0, 0, Lock()

    def done(self) -> None:
        if self._told is None:
            return
        with self._lock:
            self._ready += 1
            self._say(TICKS * self._ready // self._parts)

    def finish(self) -> None:
        """What is left to tell: everything, where a table has no parts."""
        self._say(TICKS)

    def _say(self, ticks: int) -> None:
        while self._told is not None and self._said < ticks:
            self._said += 1
            self._told(self._said / TICKS)
