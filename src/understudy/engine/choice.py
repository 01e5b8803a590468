"""Which engine: by name, by environment, or the default."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence

from understudy.engine.base import WORKER, Engine, Inline, Progress, Result, Task
from understudy.errors import UsageError

VARIABLE = "UNDERSTUDY_ENGINE"
NAMES = ("inline", "processes", "ray")
MOST_WORKERS = 1024


def cores() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_worker() -> bool:
    """Whether this process is a worker of ours."""
    return WORKER in os.environ


@contextlib.contextmanager
def opened(engine: str | Engine | None = None) -> Iterator[Engine]:
    """The engine that was named, ended afterwards; one that is running already is taken as it is, and goes on."""
    if isinstance(engine, Engine):
        yield engine
        return
    with made(engine) as running:
        yield running


def named(engine: str | Engine | None = None) -> str | Engine | None:
    """What was asked for, by the caller or else by the environment; None if nobody did."""
    return os.environ.get(VARIABLE) or None if engine is None else engine


def made(name: str | None = None) -> Engine:
    """An engine by its name; None: what the environment names, or the default."""
    wanted = os.environ.get(VARIABLE) or None if name is None else name
    if wanted is None:
        usual = by_name("inline" if in_worker() or cores() == 1 else "processes")
        usual.by_default = True
        return usual
    return by_name(wanted)


def by_name(name: str) -> Engine:
    """`inline`, `processes`, `processes:4`, `ray`, `ray:4`, `ray@HOST:PORT`; UsageError for others."""
    kind, _, address = name.partition("@")
    kind, _, number = kind.partition(":")
    workers = worker_count(name, number) if number else cores()
    if kind not in NAMES or ("@" in name and (kind != "ray" or number)) or (kind == "inline" and number):
        raise UsageError(
            f"engine {name!r} is unknown; use inline, processes, processes:4, ray, ray:4, or ray@HOST:PORT for a cluster"
        )
    if kind == "inline":
        return Inline()
    if kind == "processes":
        from understudy.engine.processes import Processes

        return Processes(workers)
    from understudy.engine.cluster import Ray

    return Ray(workers, address)


def worker_count(name: str, number: str) -> int:
    """How many workers the name of an engine asks for."""
    found = int(number) if number.isascii() and number.isdigit() else 0
    if not 1 <= found <= MOST_WORKERS:
        raise UsageError(f"engine {name!r}: the number of workers must be from 1 to {MOST_WORKERS}")
    return found


def run_jobs(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    labels: Sequence[str] | None = None,
    cancel: threading.Event | None = None,
    engine: str | Engine | None = None,
) -> list[Result]:
    """`map_jobs` on an engine that lives as long as the call: the named one, or `jobs` processes on this machine.

    `jobs` None: one for each core; 1: this process, no workers. It never changes a result.
    """
    tasks = list(tasks)
    if engine is None:
        number = min(cores() if jobs is None else max(1, jobs), len(tasks))
        engine = f"processes:{number}" if number > 1 else "inline"
    with opened(engine) as running:
        return running.map_jobs(function, tasks, progress=progress, labels=labels, cancel=cancel)
