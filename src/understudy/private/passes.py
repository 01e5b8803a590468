"""One pass over a table: whole numbers added up over its parts, on all cores.

Parts know nothing of each other. A worker adds the blocks of its parts to a total of its own, and totals are added at
the end, so the result is the same for any number of workers, parts and blocks. NumPy and PyArrow release the
interpreter while they work, so threads do; memory is a block for each of them.

Progress is told in twentieths of a pass, always as many: how many parts there are is nobody's business.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

TICKS = 20
Told = Callable[[float], None]


def add_up(
    parts: Sequence[Callable[[], Iterable[Any]]],
    start: Callable[[], Any],
    add: Callable[[Any, Any], None],
    told: Told | None = None,
) -> Any:
    """`add(total, block)` for every block of every part."""
    ticker, queue, lock = Ticker(len(parts), told), iter(parts), Lock()

    def work(_: int) -> Any:
        total = start()
        while True:
            with lock:
                part = next(queue, None)
            if part is None:
                return total
            with np.errstate(all="ignore"):  # a warning would depend on somebody's row
                for block in part():
                    add(total, block)
            ticker.done()

    workers = min(len(parts), os.cpu_count() or 1)
    if workers <= 1:
        found = work(0)
    else:
        # Our threads are enough: matrix products that start threads of their own wait for each other.
        with threadpool_limits(1), ThreadPoolExecutor(workers) as pool:
            found = together(start(), pool.map(work, range(workers)))
    ticker.finish()
    return found


def together(total: Any, others: Iterable[Any]) -> Any:
    """Sums of several workers, added up."""
    for other in others:
        total = merged(total, other)
    return total


def merged(one: Any, other: Any) -> Any:
    """Two sums added up, whatever holds them."""
    if isinstance(one, Counter):
        one.update(other)
        return one
    if isinstance(one, dict):
        return {key: one[key] + other[key] for key in one}
    return np.asarray(one + other)


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
