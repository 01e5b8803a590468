"""Map a pure function over independent tasks: worker processes here, in order, with progress and a clean cancel.

    results = run(function, tasks, jobs=2, progress=show)

- Results come back in the order of the tasks, whatever order they finished in, so `jobs` never changes a result.
- Workers are loky's (the engine of joblib): started afresh, not forked, because JAX and OpenMP threads do not survive a
  fork, and without importing the caller's script, so a script without a main guard never runs twice. The pickles of
  functions and tasks stay between parent and child, nothing is stored.
- Ctrl-C, or a set `cancel` event, drops what has not started, ends the workers that this call started, and raises.
- Where processes cannot be started (no semaphores) the rest runs in this process and a `RuntimeWarning` says so.
"""

import os
import signal
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.backend import get_context

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int, str], None]  # finished tasks, all tasks, label of the one that just finished

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_POLL_SECONDS = 0.2
_WORKER = "UNDERSTUDY_WORKER"  # set in our worker processes


class Cancelled(RuntimeError):
    """The caller's `cancel` event was set before all tasks had finished."""


def cores() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_worker() -> bool:
    """Whether this process is a worker of ours."""
    return _WORKER in os.environ


def run(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    labels: Sequence[str] | None = None,
    cancel: threading.Event | None = None,
) -> list[Result]:
    """`[function(t) for t in tasks]` with `jobs` processes (None: one per core; 1: this process, no workers)."""
    tasks = list(tasks)
    names = list(labels) if labels is not None else [str(i + 1) for i in range(len(tasks))]
    jobs = min(cores() if jobs is None else max(1, jobs), len(tasks))
    results: dict[int, Result] = {}

    def finished(index: int, value: Result) -> None:
        results[index] = value
        if progress is not None:
            progress(len(results), len(tasks), names[index])

    if jobs > 1:
        try:
            _in_processes(function, tasks, jobs, finished, cancel)
        except (BrokenProcessPool, OSError) as error:
            text = f"worker processes failed ({type(error).__name__}); going on in one process"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
    for index, task in enumerate(tasks):
        if index not in results:
            if cancel is not None and cancel.is_set():
                raise Cancelled(f"cancelled after {len(results)} of {len(tasks)} tasks")
            finished(index, function(task))
    return [results[i] for i in range(len(tasks))]


def _in_processes(
    function: Callable[[Task], Result],
    tasks: list[Task],
    jobs: int,
    finished: Callable[[int, Result], None],
    cancel: threading.Event | None,
) -> None:
    pool = ProcessPoolExecutor(
        max_workers=jobs,
        context=get_context("loky"),  # of loky's contexts the one that does not import the main module
        initializer=signal.signal,  # Ctrl-C is the parent's to handle
        initargs=(signal.SIGINT, signal.SIG_IGN),
        env=dict.fromkeys(
            (*_THREADS, _WORKER), "1"
        ),  # many workers with many threads each would fight for the same cores
    )
    done_count = 0
    try:
        index_of: dict[Future[Result], int] = {pool.submit(function, task): i for i, task in enumerate(tasks)}
        pending = set(index_of)
        while pending:
            done, pending = wait(pending, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                finished(index_of[future], future.result())  # a task's own exception ends the whole map
                done_count += 1
            if cancel is not None and cancel.is_set() and pending:
                raise Cancelled(f"cancelled after {done_count} of {len(tasks)} tasks")
    except BaseException:
        pool.shutdown(kill_workers=True)  # a fit in progress is not waited for
        raise
    pool.shutdown()
