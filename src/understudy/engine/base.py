"""The three verbs, once for all back ends. A back end says only how a function gets to its tasks (`answers`).

What comes back from a worker is looked at before it counts: every task is answered once and by its own number, and a sum has
the type and shape of the sum of nothing (`exact.checked`).
Pieces of a private table are closed work (`answer.py`).
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from understudy.engine import exact
from understudy.engine.answer import Answer
from understudy.engine.seats import InlineSeat, Seat

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int, str], None]  # finished tasks, all tasks, label of the one that just finished
WORKER = "UNDERSTUDY_WORKER"  # set in worker processes
AHEAD = 4  # results for each worker that may wait for their turn


class Cancelled(RuntimeError):
    """The caller's `cancel` event was set before all tasks had finished."""


class Refused(RuntimeError):
    """A worker answered with something that cannot be an answer."""


class Engine(ABC):
    """Where work runs. Use it as a context manager: what it started ends with it."""

    name: ClassVar[str]
    by_default: bool = False  # nobody named it: it is used where it pays

    @property
    def workers(self) -> int:
        """How many pieces are worked on at once."""
        return 1

    @abstractmethod
    def answers(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        *,
        closed: bool,
        ahead: int,
        cancel: threading.Event | None = None,
    ) -> Iterator[Answer]:
        """`attempt` for every task, in any order; none is begun that is more than `ahead` tasks beyond the first open one."""

    def seats(self, most: int) -> Sequence[Seat]:
        """Workers that stay (`seats.py`), at most so many. Whoever takes them closes them."""
        return [InlineSeat()]

    def close(self) -> None:
        """End what this engine started."""
        return

    def __enter__(self) -> "Engine":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- the three verbs -----------------------------------------------------------------------------------------------
    def sum_over_partitions(
        self,
        question: Callable[[Task], Any],
        partitions: Sequence[Task],
        start: Callable[[], Any],
        on_progress: Callable[[], None] | None = None,
    ) -> Any:
        """`start()` plus `question(p)` for every partition. `on_progress` is called when one is done."""
        total = start()
        for _, value in self._once(question, partitions, closed=True, ahead=AHEAD * self.workers):
            total = exact.merged(total, checked(value, start()))
            if on_progress is not None:
                on_progress()
        return total

    def map_partitions(self, function: Callable[[Task], Result], partitions: Sequence[Task]) -> Iterator[Result]:
        """`function(p)` for every partition, in their order; some are computed ahead of the one that is taken."""
        early: dict[int, Result] = {}
        following = 0
        for number, value in self._once(function, partitions, closed=True, ahead=AHEAD * self.workers):
            early[number] = value
            while following in early:
                yield early.pop(following)
                following += 1

    def map_jobs(
        self,
        function: Callable[[Task], Result],
        jobs: Sequence[Task],
        *,
        progress: Progress | None = None,
        labels: Sequence[str] | None = None,
        cancel: threading.Event | None = None,
    ) -> list[Result]:
        """`[function(job) for job in jobs]`; a job's own exception ends them all."""
        jobs = list(jobs)
        names = list(labels) if labels is not None else [str(i + 1) for i in range(len(jobs))]
        results: dict[int, Result] = {}
        for number, value in self._once(function, jobs, closed=False, ahead=len(jobs), cancel=cancel):
            results[number] = value
            if progress is not None:
                progress(len(results), len(jobs), names[number])
        return [results[i] for i in range(len(jobs))]

    def _once(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        *,
        closed: bool,
        ahead: int,
        cancel: threading.Event | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """Every task's number and result, each exactly once."""
        open_ = set(range(len(tasks)))
        for answer in self.answers(function, tasks, closed=closed, ahead=ahead, cancel=cancel):
            if not isinstance(answer, Answer) or answer.number not in open_:
                raise Refused("a worker answered a piece twice, or one that nobody asked for; the result was refused")
            if answer.failure is not None:
                raise answer.failure
            open_.discard(answer.number)
            yield answer.number, answer.value
        if open_:
            raise Refused("not every piece was answered; the result was refused")


def checked(value: Any, like: Any) -> Any:
    """A worker's sum; `Refused` if it cannot be one."""
    problem = exact.problem(value, like)
    if problem:
        raise Refused(f"a worker returned {problem}; the result was refused, and what was charged stays charged")
    return value


class Inline(Engine):
    """One task after another, in this process."""

    name = "inline"

    def answers(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        *,
        closed: bool,
        ahead: int,
        cancel: threading.Event | None = None,
    ) -> Iterator[Answer]:
        """See `Engine.answers`. Exceptions are raised where they happen."""
        for number, task in enumerate(tasks):
            check_cancel(cancel, number, len(tasks))
            yield Answer(number, function(task))


def check_cancel(cancel: threading.Event | None, done: int, total: int) -> None:
    """`Cancelled` if that was asked for."""
    if cancel is not None and cancel.is_set() and done < total:
        raise Cancelled(f"cancelled after {done} of {total} tasks")
