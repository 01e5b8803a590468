"""Fingerprints of what decides an answer: the noise, and the question it is added to.

A chunk of rounds may be repeated for free only if it is the same chunk: the same noise *and* the same question. Two questions
answered with one noise are two answers whose difference has no noise at all. So the ledger's digest of a chunk covers

    the tape        every number of it
    the question    mechanism and generator (their classes and all their settings), the generator's state and its public key

All are written out by kind and content, never by address, so the digest is the same in every process that runs the same version;
the version itself is compared by `begin.fingerprint`.

A short tape could be guessed by trying tapes, so a digest is as secret as the noise: it stays with the checkpoint.
"""

import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

PLAIN = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis), slice, np.dtype)


def digest(tape: object, *question: object) -> str:
    """SHA-256 of a tape and of what is asked with it."""
    found = hashlib.sha256()
    for part in described((np.asarray(tape), *question)):
        found.update(len(part).to_bytes(8, "little"))  # so that no two lists of parts read the same
        found.update(part)
    return found.hexdigest()


def described(thing: object) -> Iterator[bytes]:
    """A value, part by part, as bytes that depend on nothing but its kind and content."""
    if isinstance(thing, type):
        yield named(thing)
        return
    if hasattr(thing, "dtype") and hasattr(thing, "shape"):  # whichever library holds it
        array = np.asarray(thing)
        yield f"array {array.dtype.str} {array.shape}".encode()
        yield np.ascontiguousarray(array).tobytes()
        return
    yield named(type(thing))
    if isinstance(thing, PLAIN):
        yield repr(thing).encode()
    elif isinstance(thing, Mapping):
        yield from within(list(thing.items()))
    elif isinstance(thing, tuple | list):
        yield from within(thing)
    elif isinstance(thing, set | frozenset):
        yield from within(sorted(thing, key=repr))
    elif is_dataclass(thing):
        yield from within([(field.name, getattr(thing, field.name)) for field in fields(thing)])
    elif isinstance(thing, functools.partial):
        yield from within((thing.func, thing.args, thing.keywords))
    elif hasattr(thing, "__self__") and hasattr(thing, "__func__"):
        yield from within((thing.__func__, thing.__self__))
    elif callable(thing) and hasattr(thing, "__qualname__"):
        yield named(thing)
        cells = getattr(thing, "__closure__", None) or ()
        yield from within([cell.cell_contents for cell in cells])
    elif hasattr(thing, "__dict__"):
        yield from within(sorted(vars(thing).items()))
    else:
        raise TypeError(f"a {type(thing).__name__} in a question has no lasting description")


def within(parts: Sequence[object]) -> Iterator[bytes]:
    """Parts of a whole, with their number first."""
    yield str(len(parts)).encode()
    for part in parts:
        yield from described(part)


def named(thing: Any) -> bytes:
    """A class or function by its module and name."""
    return f"{thing.__module__}.{thing.__qualname__}".encode()
