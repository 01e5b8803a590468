"""Private folders for files that must not outlive a run: mode 0700, with a lock that says they are in use.

A folder is in use while somebody holds its lock, which the operating system takes back from a process that is killed; a
process number says nothing, for containers give the next run the number of the last. What is left behind by a kill is removed at
the next start.
"""

import os
import secrets
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from understudy.errors import UsageError

LOCK = "lock"


@dataclass
class Scratch:
    """A private folder and the lock that says it is in use."""

    folder: Path
    lock: int | None

    def remove(self) -> None:
        """Delete the folder and give up the lock."""
        if self.lock is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self.lock)
            self.lock = None


def private_folder(folder: str | Path | None, prefix: str) -> Scratch:
    """A new folder of mode 0700, locked before it has the name by which others look for what is left behind."""
    base = Path(folder) if folder is not None else usual_folder()
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not (ours(base) if folder is None else base.stat().st_uid == os.getuid()):
        raise UsageError(f"{str(base)!r} belongs to somebody else; name a folder for the checkpoint")
    clear(base, prefix)
    new = Path(tempfile.mkdtemp(prefix=".new-", dir=base))
    lock = os.open(new / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    take(lock)
    return Scratch(new.rename(base / f"{prefix}{secrets.token_hex(4)}"), lock)


def usual_folder() -> Path:
    """The user's own, below the system's temporary one."""
    return Path(tempfile.gettempdir()) / f"understudy-{os.getuid()}"


def ours(base: Path) -> bool:
    """Whether this is a folder of the user's, and no link: where everybody may write, somebody may have linked to another."""
    try:
        about = base.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid()


def clear_usual() -> None:
    """Remove what processes that are no more left behind there, whatever it was for."""
    base = usual_folder()
    if ours(base):
        clear(base, "[!.]")  # a folder that is just being made begins with a dot


def clear(folder: Path, prefix: str) -> None:
    """Remove what processes that are no more left behind in a folder."""
    for old in folder.glob(f"{prefix}*"):
        if not in_use(old):
            shutil.rmtree(old, ignore_errors=True)


def in_use(home: Path) -> bool:
    """Whether a living process holds the folder."""
    try:
        lock = os.open(home / LOCK, os.O_RDWR)
    except OSError:  # a folder in use has one
        return False
    free = take(lock)
    os.close(lock)
    return not free


def take(lock: int) -> bool:
    """Whether the lock is ours now. Where there are no such locks it never is, and nothing that may be in use is removed."""
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True
