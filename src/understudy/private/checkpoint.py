"""Checkpoints hold private state: rows in shards, teachers, secret keys, noise that is about to be used.

A folder of its own, mode 0700, files of mode 0600, marked secret, removed after success. Only this module writes it. Format
is safetensors and JSON, so that reading it back runs no code.

    record.json        what the fit was begun with, and which folder this is
    opening.jsonl      every answer of the opening, written down before anybody gets it
    data, state        shards, and what changes from chunk to chunk, once there are rounds
    ledger.jsonl       what was charged

A fit that ended in its opening (a partition was gone, the process was killed) goes on with the question that has no answer
here. One that gathers its rows from the table chunk by chunk cannot go on once its rounds have begun: it leaves a ledger and
nothing else, and what it charged is spent. Its ledger is never removed here; the next fit is refused with the figure, until
somebody who has read it moves the folder away.

Noise that was not drawn yet will be drawn by whoever resumes, so two copies of a folder would become two releases for one
charge. The record knows its folder by the number that the file system gave it, and a copy is refused. File systems give the
number of a folder that was removed to the next one, so a copy that is put back where the first was may have it: what tells them
apart is the file system's own mark of every folder that had the number, or, where it has none, when `SECRET.txt` was written.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from understudy.accounting import epsilon
from understudy.accounting.ledger import charges_in
from understudy.conversation import State
from understudy.errors import UsageError
from understudy.files import PRIVATE, write_atomically
from understudy.private.curator import QUESTION
from understudy.private.rounds import Conversation

SECRET = "SECRET.txt"
RECORD, OPENING = "record.json", "opening.jsonl"
GET_VERSION = 0x80087601  # FS_IOC_GETVERSION of Linux
MARK = (
    "SECRET: rows, teachers and noise of an unfinished fit. Never share this folder; delete it when the fit is over.\n"
)


class Checkpoint:
    """A folder for the state of one unfinished fit."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._lock: int | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else fits into this folder meanwhile: a second fit is refused before it deletes or charges anything."""
        try:
            if self.folder.is_dir():
                self._take()
            yield
        finally:
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def _take(self) -> None:
        """Lock the folder. The operating system takes the lock back from a process that is killed; where there are no such locks,
        nobody is refused."""
        with contextlib.suppress(OSError):
            self._lock = os.open(self.folder, os.O_RDONLY)
        if self._lock is not None and locked_by_another(self._lock):
            raise self._in_use()

    def _in_use(self) -> UsageError:
        return UsageError(f"another fit is using the checkpoint folder {str(self.folder)!r}; name another folder")

    @property
    def ledger_path(self) -> Path:
        """Where the charges are written."""
        return self.folder / "ledger.jsonl"

    def exists(self) -> bool:
        """Whether a fit that has charged something can go on here."""
        try:
            charged = self.ledger_path.read_bytes().count(b"\n") > 1  # the first line says which plan it is
        except OSError:
            charged = False
        return self.in_rounds() or (charged and (self.folder / RECORD).is_file())

    def in_rounds(self) -> bool:
        """Whether a chunk of rounds was saved here."""
        return (self.folder / "state.safetensors").is_file()

    def spent(self, delta: float) -> float:
        """Epsilon of all that the ledger in this folder has charged; 0 if there is none."""
        charges = charges_in(self.ledger_path)
        return epsilon([charge.event for charge in charges], delta) if charges else 0.0

    def refuse_spent(self, delta: float) -> None:
        """UsageError if a fit that cannot go on died here after it had charged something."""
        spent = self.spent(delta)
        if spent:
            raise UsageError(
                f"{str(self.folder)!r} holds the ledger of a fit that ended early and had charged epsilon {spent:.4g} at delta "
                f"{delta:g}; it cannot be resumed, and another fit costs its own epsilon on top. Note "
                "that, move the folder away (its ledger.jsonl is the record), and fit again"
            )

    def create(self, delta: float) -> None:
        """Start afresh, unless something was charged here. A folder that holds anything else is left alone.

        Nothing is looked at or deleted before the folder is ours: another fit may make it at any moment.
        """
        try:
            with contextlib.suppress(FileExistsError):
                self.folder.mkdir(parents=True, mode=0o700)
            if self._lock is None:
                self._take()
            self.refuse_spent(delta)
            if any(self.folder.iterdir()) and not (self.folder / SECRET).is_file():
                raise UsageError(f"{str(self.folder)!r} holds files that are no checkpoint; choose another folder")
            empty(self.folder)
        except OSError as error:
            raise UsageError(f"cannot write the checkpoint to {str(self.folder)!r}: {error.strerror}") from None
        self._write(SECRET, MARK.encode())

    def remove(self) -> None:
        """Delete it all."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def begin(self, record: dict[str, Any]) -> None:
        """What the fit was begun with: fingerprint of plan and table, seed."""
        self._write(RECORD, json.dumps(record | {"folder": self.identity()}).encode())

    def identity(self) -> list[int]:
        """What no copy of this folder has, not even one that is put back in its place."""
        return [self.folder.stat().st_ino, generation(self.folder) or (self.folder / SECRET).stat().st_ctime_ns]

    def give_up(self) -> None:
        """From here on the fit cannot go on without its process."""
        (self.folder / RECORD).unlink(missing_ok=True)

    def write_down(self, answer: Any) -> None:
        """One more answer of the opening."""
        descriptor = os.open(self.folder / OPENING, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            file.write(json.dumps({"answer": answer}).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def answers(self, charged: Sequence[str] = ()) -> list[Any]:
        """The answers of the opening so far. A line that was cut off was no answer to anybody, and goes.

        `charged`: tokens of the ledger, in order. Whatever was charged after a question was asked with its answer in hand: such
        an answer must be here, for a second one would have other noise.
        """
        path = self.folder / OPENING
        try:
            whole, _, rest = path.read_bytes().rpartition(b"\n") if path.exists() else (b"", b"", b"")
            if rest:
                self._write(OPENING, whole + b"\n" if whole else b"")
            found = [json.loads(line)["answer"] for line in whole.splitlines()]
            if len(found) < sum(token.startswith(QUESTION) for token in charged[:-1]):
                raise ValueError("lost answers")
            return found
        except (OSError, KeyError, TypeError, ValueError):
            raise self._damaged() from None

    def save_once(self, conversation: Conversation) -> None:
        """What does not change during the conversation: shards."""
        self._write("data.safetensors", save(flat("data", conversation._data)))

    def save_state(self, conversation: Conversation, state: State, extra: dict[str, Any]) -> None:
        """Everything needed to repeat the prepared chunk with the same noise; no tape: the rounds are over."""
        secret = conversation._secret_state()
        arrays = flat("held", secret["held"]) | flat("state", state) | {"key": np.asarray(secret["key"])}
        if secret["tape"] is not None:
            arrays["tape"] = np.asarray(secret["tape"])
        # The ledger's head before this chunk is charged: its line is in the file, whenever the process dies from here on.
        metadata = {"done": str(secret["done"]), "extra": json.dumps(extra), "head": conversation._ledger.head}
        self._write("state.safetensors", save(arrays, metadata=metadata))

    def record(self) -> dict[str, Any]:
        """What `begin` wrote."""
        try:
            found, here = dict(json.loads((self.folder / RECORD).read_text())), self.identity()
        except (OSError, TypeError, ValueError):
            raise UsageError(
                f"{str(self.folder)!r} holds no checkpoint that can be resumed; move the folder away (what its ledger holds is "
                "spent) and fit without resume=True"
            ) from None
        if found.get("folder") != here:
            raise UsageError(
                f"{str(self.folder)!r} is a copy of a checkpoint; resumed beside the first it would be a second release for one "
                "charge: resume the folder in which the fit was begun"
            )
        return found

    def restore(self, conversation: Conversation, state: State) -> tuple[State, dict[str, Any]]:
        """Put shards, teachers, keys and tape back; returns the generator's state and the extra values."""
        try:
            data = load((self.folder / "data.safetensors").read_bytes())
            raw = (self.folder / "state.safetensors").read_bytes()
            arrays, header = load(raw), metadata_of(raw)
            held = unflat("held", conversation._held, arrays)
            conversation._data = unflat("data", conversation._data, data)
            conversation._restore(
                {"held": held, "key": arrays["key"], "tape": arrays.get("tape"), "done": int(header["done"])}
            )
            return unflat("state", state, arrays), json.loads(header["extra"])
        except (OSError, SafetensorError, KeyError, TypeError, ValueError):
            raise self._damaged() from None

    def head(self) -> str:
        """A line that the ledger must still hold: `Ledger.reopen(..., must_contain=head)`; none before there are rounds."""
        if not self.in_rounds():
            return ""
        try:
            return metadata_of((self.folder / "state.safetensors").read_bytes())["head"]
        except (OSError, KeyError, TypeError, ValueError):
            raise self._damaged() from None

    def _damaged(self) -> UsageError:
        return UsageError(
            f"the checkpoint in {str(self.folder)!r} is damaged; move the folder away (what its ledger holds is spent) and fit "
            "without resume=True"
        )

    def _write(self, name: str, content: bytes) -> None:
        """Atomic, synced, readable by the owner alone. What a killed process left half written goes: nobody else writes here."""
        for part in self.folder.glob(f".{name}.*.part"):
            part.unlink()
        write_atomically(self.folder / name, content, mode=PRIVATE)


def generation(folder: Path) -> int:
    """The mark by which ext4, XFS and Btrfs tell a folder from others that had its number before; 0 where there is none."""
    try:
        import fcntl

        descriptor = os.open(folder, os.O_RDONLY)
        try:
            return int.from_bytes(fcntl.ioctl(descriptor, GET_VERSION, bytes(8))[:4], "little")
        finally:
            os.close(descriptor)
    except (ImportError, OSError):
        return 0


def locked_by_another(descriptor: int) -> bool:
    """Whether another living process holds the lock."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (ImportError, OSError):  # a system, or a file system, without such locks
        return False
    return False


def empty(folder: Path) -> None:
    """Delete what is in a folder, not the folder."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    folder.chmod(0o700)


def metadata_of(raw: bytes) -> dict[str, str]:
    """The texts in the header of a safetensors file."""
    return dict(json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"])


def flat(name: str, tree: object) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    """The arrays of a tree, by number."""
    return {f"{name}/{i}": np.asarray(leaf, order="C") for i, leaf in enumerate(jax.tree.leaves(tree))}


def unflat(name: str, like: object, arrays: dict[str, np.ndarray[Any, np.dtype[Any]]]) -> Any:
    """Arrays back into the structure of `like`; shapes are those of the checkpoint."""
    leaves, structure = jax.tree.flatten(like)
    return jax.tree.unflatten(structure, [jax.numpy.asarray(arrays[f"{name}/{i}"]) for i in range(len(leaves))])
