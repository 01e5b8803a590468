"""Files that only grow: JSON lines, each with a hash over itself and the line before, shared by processes under a lock.

    chain_i = SHA-256(chain_{i-1} || canonical JSON of line i)

Whoever edits, inserts, removes or moves a line breaks every hash after it. Lines cut off at the end leave a whole chain;
for those a hash noted elsewhere is needed (`understudy.account` keeps one beside the file)."""

import hashlib
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from understudy.accounting.plan import canonical
from understudy.errors import UsageError
from understudy.files import PRIVATE, write_atomically

PATIENCE = 120.0  # seconds to wait for other processes


def chain(head: str, body: Mapping[str, Any]) -> str:
    """The hash of a line after one whose hash is `head`."""
    return hashlib.sha256(head.encode() + canonical(body)).hexdigest()


def line(head: str, body: Mapping[str, Any]) -> bytes:
    """The line as it stands in the file, line end included."""
    return canonical({**body, "chain": chain(head, body)}) + b"\n"


def head_path(path: Path) -> Path:
    """Where the hash of the last line is noted."""
    return path.with_name(path.name + ".head")


def note(path: Path, head: str) -> None:
    """Write down, whole or not at all, which line is known to be on disk."""
    write_atomically(head_path(path), head + "\n", mode=PRIVATE)


def write_new(path: Path, bodies: Sequence[Mapping[str, Any]]) -> None:
    """A new file with these lines and its head, or nothing: the file has its name only when both are on disk."""
    head, lines = "", b""
    for body in bodies:
        lines += line(head, body)
        head = chain(head, body)
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    with opened(path.absolute().parent, os.O_RDONLY, lock=True) as folder:  # one writer of new files at a time
        if path.exists():
            raise UsageError(f"{str(path)!r} exists already; an account is never written over")
        scratch = path.with_name(f".{path.name[:80]}.{secrets.token_hex(4)}.part")
        try:
            with opened(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
                write(file, lines)
                os.fsync(file)
            note(path, head)
            os.replace(scratch, path)
            os.fsync(folder)
        finally:
            scratch.unlink(missing_ok=True)


@contextmanager
def opened(path: Path, flags: int, *, lock: bool = False) -> Iterator[int]:
    """A descriptor, closed at the end, which lets go of the lock; the system takes that back from whoever is killed."""
    file = os.open(path, flags, PRIVATE)
    try:
        if lock:
            wait_for(file, exclusive=bool(flags & os.O_RDWR) or path.is_dir(), name=str(path))
        yield file
    finally:
        os.close(file)


def wait_for(file: int, *, exclusive: bool, name: str) -> None:
    """The lock, as soon as nobody else holds it."""
    try:
        import fcntl
    except ImportError:
        raise UsageError("account: this system has no file locks (flock), and charges would not be safe") from None
    kind = (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB
    until, pause = time.monotonic() + PATIENCE, 0.001
    while True:
        try:
            return fcntl.flock(file, kind)
        except BlockingIOError:
            if time.monotonic() > until:
                raise UsageError(f"account: {name!r} is in use by another run; try again") from None
            time.sleep(pause * (0.5 + secrets.randbelow(1000) / 1000))
            pause = min(2 * pause, 0.05)


def write(file: int, content: bytes) -> None:
    """All of it; `os.write` may take less."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(file, rest) :]


def read_from(file: int, start: int) -> bytes:
    """Everything from a place on."""
    os.lseek(file, start, os.SEEK_SET)
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)
