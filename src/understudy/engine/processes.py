"""Worker processes on this machine, started when the first work comes.

Workers are loky's (the engine of joblib): started afresh, not forked, because JAX and OpenMP threads do not survive a fork,
and without importing the caller's script, so a script without a main guard never runs twice. The pickles of functions, tasks and
results stay between parent and child, nothing is stored.

A worker that dies takes the pool with it: a new one is started and the pieces that were not answered are computed again. Where
that happens time and again, or processes cannot be started at all, the rest runs in this process. A worker whose parent is gone
ends itself. Ctrl-C, or an unfinished map, ends the workers that this engine started and no others.
"""

import os
import signal
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.backend import get_context

from understudy.engine.answer import Answer, attempt
from understudy.engine.base import WORKER, Engine, check_cancel
from understudy.engine.seats import Seat

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
POLL_SECONDS = 0.2
RESTARTS = 2  # of the pool, without one answer in between


class Processes(Engine):
    """A pool of worker processes."""

    name = "processes"

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._unfinished = False

    @property
    def workers(self) -> int:
        """Processes of the pool."""
        return self._workers

    def answers(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        *,
        closed: bool,
        ahead: int,
        cancel: threading.Event | None = None,
    ) -> Iterator[Answer]:
        """See `Engine.answers`."""
        todo, running, lost, done = deque(range(len(tasks))), dict[Future[Answer], int](), 0, 0
        self._unfinished = True
        while (todo or running) and lost <= RESTARTS:
            try:
                while todo and todo[0] < min([*running.values(), todo[0]]) + ahead:
                    future = self._started().submit(attempt, function, closed, todo[0], tasks[todo[0]])
                    running[future] = todo.popleft()  # only now: starting a pool may fail
                ready, _ = wait(running, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                for future in ready:
                    answer = future.result()
                    del running[future]
                    done, lost = done + 1, 0
                    yield answer
                check_cancel(cancel, done, len(tasks))
            except (BrokenProcessPool, OSError):  # somebody ended a worker, or none can be started
                lost += 1
                todo = deque(sorted([*todo, *running.values()]))
                running.clear()
                self._end(kill=True)
        for number in todo:
            if not closed and number == todo[0]:
                warnings.warn("worker processes failed; going on in one process", RuntimeWarning, stacklevel=4)
            check_cancel(cancel, done, len(tasks))
            done += 1
            yield attempt(function, closed, number, tasks[number])
        self._unfinished = False

    def seats(self, most: int) -> list[Seat]:
        """A pool of one worker for each; the other workers go, because nobody needs both at once."""
        self._end(kill=False)
        return [ProcessSeat() for _ in range(min(most, self._workers))]

    def close(self) -> None:
        """End the workers; those in the middle of something are not waited for."""
        self._end(kill=self._unfinished)

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                max_workers=self._workers,
                context=get_context("loky"),  # of loky's contexts the one that does not import the main module
                initializer=begin,
                initargs=(os.getpid(),),
                env=dict.fromkeys((*THREADS, WORKER), "1"),  # many workers with many threads each would fight for cores
            )
        return self._pool

    def _end(self, *, kill: bool) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(kill_workers=kill)


class ProcessSeat(Seat):
    """One worker process."""

    def __init__(self) -> None:
        self._own = Processes(1)
        self._future: Future[Answer] | None = None

    def _send(self) -> None:
        function, task = self._work
        try:
            self._future = self._own._started().submit(attempt, function, True, 0, task)
        except (BrokenProcessPool, OSError):
            self._future = None

    def _received(self) -> Answer | None:
        try:
            return None if self._future is None else self._future.result()
        except (BrokenProcessPool, OSError):
            return None

    def close(self) -> None:
        """End the process."""
        self._own._end(kill=True)


def begin(parent: int) -> None:
    """In a new worker: Ctrl-C is the parent's to handle, and nobody works for a parent that is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, args=(parent,), daemon=True).start()


def watch(parent: int) -> None:
    """End this process when its parent has ended."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
