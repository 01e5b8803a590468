"""Workers that stay: a seat is one worker that is the same from call to call.

What a task leaves in the memory of its process is there for the next task of that seat: thousands of teachers need not be sent
back and forth in every round. It is a convenience, never the only copy. A seat whose worker died gets a new one, which
remembers nothing; the task is given to it again, and whoever asks must be able to tell it all anew.

Tasks of seats are closed work (`base.py`): what goes wrong comes back as one line without contents.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from understudy.engine.answer import Answer
from understudy.errors import UsageError

RESTARTS = 2  # of one worker over one task
DIED = f"workers died {RESTARTS + 1} times over the same piece; is there memory enough? what was charged stays charged"


class Seat(ABC):
    """One worker. `begin` gives it a task, `finish` waits for the answer; never two tasks at once."""

    def begin(self, function: Callable[[Any], Any], task: Any) -> None:
        """Give the worker something to do."""
        self._work = (function, task)
        self._send()

    def finish(self) -> Any:
        """What it made of it. A worker that died is replaced, by one that remembers nothing."""
        for _ in range(RESTARTS + 1):
            answer = self._received()
            if answer is not None:
                break
            self.close()
            self._send()
        else:
            raise UsageError(DIED)
        if answer.failure is not None:
            raise answer.failure
        return answer.value

    @abstractmethod
    def _send(self) -> None:
        """Hand `_work` to the worker, starting one if there is none; a worker that is dead shows in `_received`."""

    @abstractmethod
    def _received(self) -> Answer | None:
        """The answer, or None if the worker is dead."""

    @abstractmethod
    def close(self) -> None:
        """End the worker, in the middle of something or not."""


class InlineSeat(Seat):
    """This process."""

    def _send(self) -> None:
        return

    def _received(self) -> Answer:
        function, task = self._work
        return Answer(0, function(task))  # what is raised here is raised where it happens

    def close(self) -> None:
        return


def ask_all(seats: Sequence[Seat], function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    """`function(task)` by each seat for its own task, all at once."""
    for seat, task in zip(seats, tasks, strict=True):
        seat.begin(function, task)
    return [seat.finish() for seat in seats]
