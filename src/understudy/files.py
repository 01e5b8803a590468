"""Write a file whole or not at all: a reader never sees half of it, and a full disk leaves what was there before.

The contents go to a neighbour with a name of its own, reach the disk, and replace the file in one step; of two writers of
one file the last one wins, and they do not mix. What goes wrong is raised with the name of the file that was asked for.
Folders that take long to make have one writer at a time (`alone`).

What is written piece by piece has the same neighbour and the same last step where it is written: tables of any length
(`schema.writers.TableWriter`), rows on their way to their units (`private.units.write_file`), and a new account, whose name
is taken under a lock and which is on disk before its folder says so (`chained.write_new`).
"""

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from understudy.errors import UsageError

ORDINARY = 0o666  # less the user's umask, as `open` makes files
PRIVATE = 0o600  # for the owner alone


def write_atomically(path: str | Path, content: str | bytes, *, mode: int = ORDINARY, synced: bool = True) -> Path:
    """Put `content` (text as UTF-8, line ends as they are) at `path`, and return that as a path.

    Files that are only of use to this process and its workers need not reach the disk first: `synced=False`.
    """
    path = Path(path)
    part = path.with_name(f".{path.name[:80]}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if synced:
                file.flush()
                os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        error.filename = str(path)
        error.filename2 = None
        raise
    finally:
        part.unlink(missing_ok=True)
    return path


@contextlib.contextmanager
def alone(path: str | Path) -> Iterator[None]:
    """Nobody else makes `path` meanwhile: a lock on a hidden file beside it, given back by the system if we are killed.

    UsageError if somebody is at it. Where a file system knows no locks, nothing is locked.
    """
    target = Path(os.path.abspath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    place = target.with_name(f".{target.name[:80]}.lock")
    while True:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise UsageError(
                f"another fit is writing to {str(path)!r}; nothing was spent. Wait for it, or choose another folder"
            ) from None
        except OSError:
            break  # no locks here
        with contextlib.suppress(FileNotFoundError):
            if os.stat(place).st_ino == os.fstat(descriptor).st_ino:
                break
        os.close(descriptor)  # whoever held it before has just removed it
    try:
        yield
    finally:
        place.unlink(missing_ok=True)
        os.close(descriptor)


def write_json(path: Path, document: object) -> None:
    """A JSON file, written whole or not at all."""
    write_atomically(path, json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """The contents of a JSON file; UsageError where it is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{str(path)!r} is missing: {str(path.parent)!r} is not a complete model folder") from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        raise UsageError(f"{str(path)!r} cannot be read: it is damaged or not a model file") from None
