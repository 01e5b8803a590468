"""An opaque handle on the training rows.

`PrivateTable` has no `repr` of its contents, no length, no iteration, no attribute that a caller outside
`understudy.private` should touch. Contributions are bounded on entry: at most `max_rows_per_unit` rows of a unit are kept,
chosen at random among that unit's own rows, so that adding or removing a unit touches no other unit's rows.
"""

import hashlib
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from understudy.schema import Codec, Encoded, Schema
from understudy.schema.tables import as_frame, read_table

UnitIds = np.ndarray[tuple[int], np.dtype[np.uint64]]


class PrivateTable:
    """The rows, behind the wall. Reading it is the privilege of `understudy.private`."""

    __slots__ = ("_frame", "_schema", "_units")

    def __init__(self, source: Any, schema: Schema) -> None:
        frame = read_table(source, schema) if isinstance(source, (str, Path)) else as_frame(source, schema)
        self._schema = schema
        self._frame, self._units = bound_contributions(frame, schema)

    def __repr__(self) -> str:
        return "PrivateTable(contents are private)"

    def __len__(self) -> NoReturn:
        raise TypeError("the number of rows is private; ask the curator for a noisy count")

    def __iter__(self) -> NoReturn:
        raise TypeError("the rows are private")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private table cannot be copied out of the process")

    # -- for understudy.private only ------------------------------------------------------------------------------
    def _column(self, name: str) -> "pd.Series[Any]":
        return self._frame[name]

    def _encode(self, codec: Codec) -> Encoded:
        return codec.encode(self._frame)

    def _unit_ids(self) -> UnitIds:
        return self._units


def bound_contributions(frame: pd.DataFrame, schema: Schema) -> tuple[pd.DataFrame, UnitIds]:
    """Keep at most `max_rows_per_unit` rows of every unit; give every unit a number that reveals nothing.

    Without a unit column every row is a unit of its own. A row whose unit is null is a unit of its own too: nothing says
    whom it belongs to. Which rows are kept depends on the unit's own rows and on fresh secret bits, never on the order or
    the number of other people's rows.
    """
    if schema.unit is None:
        return frame.reset_index(drop=True), np.arange(len(frame), dtype=np.uint64)
    units = hash_units(frame[schema.unit].tolist(), secrets.token_bytes(32))
    order = np.random.default_rng(secrets.randbits(256)).permutation(len(units))
    rank = pd.Series(units[order]).groupby(units[order], sort=False).cumcount().to_numpy()
    keep = np.sort(order[rank < schema.max_rows_per_unit])
    return frame.iloc[keep].reset_index(drop=True), units[keep]


def hash_units(ids: Sequence[Any], key: bytes) -> UnitIds:
    """64-bit keyed BLAKE2b of every unit's id; equal ids get equal numbers, null ids a fresh number each."""
    known: dict[Any, int] = {}
    hashed = np.empty(len(ids), np.uint64)
    for row, value in enumerate(ids):
        if value is None or value is pd.NaT or value is pd.NA or value != value:
            hashed[row] = secrets.randbits(64)
            continue
        if value not in known:
            text = str(value).encode("utf-8", "surrogatepass")
            known[value] = int.from_bytes(hashlib.blake2b(text, key=key, digest_size=8).digest(), "little")
        hashed[row] = known[value]
    return hashed
