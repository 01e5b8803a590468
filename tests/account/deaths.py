"""Kill a process at every step by which it writes an account, and look at what is left. Run as a script: prints one JSON object.

A step is a system call that changes the disk (write, fsync, replace, ftruncate). The child dies by SIGKILL before a step, after
it, or in the middle of a write. Nothing in the package knows of this.
"""

import json
import os
import signal
import sys
from pathlib import Path

import dp_accounting as dpa

from understudy.account import Account
from understudy.accounting.book import Posting
from understudy.errors import UsageError

ONE = [Posting("x", dpa.GaussianDpEvent(50.0))]
STEPS = ("write", "fsync", "replace", "ftruncate")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def deadly(number: int, how: str) -> None:
    """Patch `os` so that step `number` is the last one."""
    count = 0

    def wrap(name, real):
        def step(*args, **kwargs):
            nonlocal count
            count += 1
            if count - 1 == number:
                if how == "before":
                    die()
                if how == "half" and name == "write":
                    real(args[0], bytes(args[1])[: len(args[1]) // 2])
                    die()
                result = real(*args, **kwargs)
                if how == "after":
                    die()
                return result
            return real(*args, **kwargs)

        return step

    for name in STEPS:
        setattr(os, name, wrap(name, getattr(os, name)))


def child(action, number: int, how: str) -> tuple[bool, bool]:
    """Whether `action` returned, and whether the child was killed."""
    read, write = os.pipe()
    real_write = os.write
    pid = os.fork()
    if pid == 0:
        try:
            deadly(number, how)
            action()
            real_write(write, b"returned")
        finally:
            os._exit(0)
    os.close(write)
    returned = os.read(read, 100) == b"returned"
    os.close(read)
    return returned, os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def fresh(folder: Path) -> Path:
    for old in folder.iterdir():
        old.unlink()
    return folder / "a.account"


MOST = 12  # steps of any of these, and some more: the last ones must go through


def charges(folder: Path, how: str) -> list[str]:
    """A charge killed at every step, again and again on the same account, with a charge that is not killed after it."""
    problems, deaths, path = [], [], fresh(folder)
    Account.create(path, units=["patient"], epsilon=3, delta=1e-5)
    for number in range(MOST):
        before = len(Account(path).book.entries)
        returned, killed = child(lambda: Account(path).charge("killed", ONE), number, how)
        seen = len(Account(path).book.entries)
        if seen not in (before, before + 1) or (returned and seen != before + 1):
            problems.append(f"step {number} {how}: {before} entries became {seen}, returned={returned}")
        Account(path).charge("next", ONE)
        if len(Account(path).book.entries) != seen + 1:
            problems.append(f"step {number} {how}: the next charge was lost")
        deaths.append(killed)
    return problems + judged(deaths)


def judged(deaths: list[bool]) -> list[str]:
    """The kills must have happened, and must have come to an end."""
    return [] if any(deaths) and not deaths[-1] else [f"killed at {sum(deaths)} of {len(deaths)} steps"]


def creations(folder: Path, how: str) -> list[str]:
    problems, deaths = [], []
    for number in range(MOST):
        path = fresh(folder)
        make = lambda path=path: Account.create(path, units=["patient"], epsilon=3, delta=1e-5)  # noqa: E731
        _, killed = child(make, number, how)
        if not path.exists():
            make()
        if Account(path).charge("x", ONE).number != 1:
            problems.append(f"step {number} {how}: the new account is not empty")
        deaths.append(killed)
    return problems + judged(deaths)


def moves(folder: Path, how: str) -> list[str]:
    problems, deaths = [], []
    for number in range(MOST):
        path, place = fresh(folder), folder / "b.account"
        Account.create(path, units=["patient"], epsilon=3, delta=1e-5).charge("x", ONE)
        _, killed = child(lambda path=path, place=place: Account(path).move(place), number, how)
        takers = [one for one in (path, place) if one.exists() and takes(one)]
        if len(takers) > 1:
            problems.append(f"step {number} {how}: both files take charges")
        if not place.exists():
            Account(path).move(place)
        if takes(path) or not takes(place) or Account(place).book.entries[0].what != "x":
            problems.append(f"step {number} {how}: the move was not completed")
        deaths.append(killed)
    return problems + judged(deaths)


def takes(path: Path) -> bool:
    try:
        Account(path).check(ONE)
    except UsageError:
        return False
    return True


if __name__ == "__main__":
    place = Path(sys.argv[1])
    found = {
        f"{act.__name__} {how}": act(place, how)
        for act in (charges, creations, moves)
        for how in ("before", "half", "after")
    }
    print(json.dumps(found))
