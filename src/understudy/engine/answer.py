"""What comes back from a worker: a value, or what went wrong.

Pieces of a private table are *closed* work: whatever goes wrong in a worker comes back as one line without contents. Library
errors (`UsageError`) are written for users and name files and columns only, so their text is kept; of any other nothing
but the fact.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from understudy.errors import UsageError

_dealt: set[int] = set()  # numbers of the open work that this process is at
FAILED = "a worker failed on a piece of the table; what was charged stays charged"


@dataclass(frozen=True)
class Answer:
    """What a worker made of the task of this number: a value, or what went wrong."""

    number: int
    value: Any = None
    failure: BaseException | None = None


def attempt(function: Callable[[Any], Any], closed: bool, number: int, task: Any) -> Answer:
    """One task, in a worker: nothing is raised there, because engines write what is raised into their logs."""
    if not closed:
        _dealt.add(number)
    try:
        return Answer(number, function(task))
    except Exception as error:
        return Answer(number, failure=without_contents(error) if closed else error)
    finally:
        _dealt.discard(number)


def at_a_job() -> bool:
    """Whether this process is at a job, and not at a piece of a table or still reading the main script.

    A job is dealt once, and again if its worker died over it: a fit in it is then begun anew and charged anew, as if its holder
    had begun it again. An account that it names has both entries.
    """
    return bool(_dealt)


def without_contents(error: Exception) -> Exception:
    """The same failure, saying nothing about rows."""
    return UsageError(str(error)) if isinstance(error, UsageError) else RuntimeError(FAILED)
