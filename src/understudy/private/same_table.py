"""Is this the table that an interrupted fit was begun with? Sealed into its checkpoint, asked when it is resumed.

A resumed fit goes on with the rows that its checkpoint holds, so another table would be certified that was never read. The
seal has the public facts (names and types of the columns) and a BLAKE2b digest of the file's bytes under a fresh secret
key. It stands in the checkpoint, which is private, or in a comparison's file for the owner alone, and goes with it. Whoever has
digest and key can try guesses at the rows; without the key it says nothing about the file.
Frames have no bytes of their own: their facts and their number of rows are sealed.
"""

import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping
from typing import Any

from understudy.schema import Schema, storage
from understudy.schema.draft import column_types
from understudy.schema.facts import file_format, require_file
from understudy.schema.parquet_rows import is_folder, parquet_files

_BLOCK = 1 << 20


def seal(source: object, schema: Schema) -> dict[str, Any]:
    """What `differs` will look at; private, because it was computed from the rows."""
    key = secrets.token_bytes(32)
    return {"facts": _facts(source, schema), "key": key.hex(), "digest": _digest(source, key)}


def differs(source: object, schema: Schema, sealed: Mapping[str, Any]) -> bool:
    """Whether `source` is another table than the sealed one. UsageError if there is no such file."""
    if _facts(source, schema) != sealed["facts"]:
        return True
    return not hmac.compare_digest(_digest(source, bytes.fromhex(sealed["key"])), sealed["digest"])


def _is_file(source: object) -> bool:
    return isinstance(source, str | os.PathLike)


def _facts(source: Any, schema: Schema) -> dict[str, str]:
    if _is_file(source):
        if file_format(source) not in ("csv", "parquet"):
            return {}
        if not is_folder(source):
            require_file(source)
    elif isinstance(source, Mapping) or not hasattr(source, "columns"):
        return {}
    found = column_types(source)
    return {name: str(found.get(name)) for name in schema.names}


def _digest(source: Any, key: bytes) -> str:
    found = hashlib.blake2b(key=key)
    if not _is_file(source):
        found.update(str(len(source)).encode() if hasattr(source, "__len__") else b"")
    elif is_folder(source):
        names = storage.names_in(source) if storage.is_address(source) else os.listdir(source)
        for name in sorted(names):
            found.update(os.fsencode(name) + b"\0")
        for file in parquet_files(source):
            _add(found, file)
    else:
        _add(found, source)
    return found.hexdigest()


def _add(found: Any, path: Any) -> None:
    with storage.opened(path) as file:
        while block := file.read(_BLOCK):
            found.update(block)
