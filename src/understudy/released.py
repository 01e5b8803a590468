"""What a fit released about its rows, kept in the artifact with its noise: tables of counts and their standard deviations.

    values = true counts + N(0, deviation^2) in every cell         (integer noise; normal for all that follows)

The values left the wall and were paid for, so keeping them costs nothing. They are what error bars are made of: how far the
true counts may be from the released ones is known exactly, because the noise was drawn by us. A method that keeps its
tables in this form can be drawn again (`Model.copies`).

In the artifact: arrays `released/K` and `released/K/deviation` in `weights.safetensors`, and a list in `model.json` that
says which columns the axes of table K are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

PREFIX = "released/"


@dataclass(frozen=True, eq=False)
class Released:
    """Noisy counts of one marginal."""

    nodes: tuple[int, ...]  # of the model, one for each axis; 0 is the class
    columns: tuple[str, ...]  # their names; "" for the class of a table without a label
    values: np.ndarray
    deviation: np.ndarray  # of the noise: one number, or one for each cell

    @classmethod
    def of(cls, nodes: Sequence[int], names: Sequence[str], values: object, deviation: object) -> "Released":
        """`names[j]` is the column of node j."""
        own = tuple(int(node) for node in nodes)
        kept = np.asarray(values, np.float64), np.asarray(deviation, np.float64)
        return cls(own, tuple(names[node] for node in own), *kept)

    @property
    def named(self) -> frozenset[str]:
        """The columns that this table counts together."""
        return frozenset(name for name in self.columns if name)


def covers(tables: Iterable[Released], columns: Iterable[str]) -> bool:
    """Whether some table counts all of these columns together, so that nothing about them rests on the model."""
    wanted = frozenset(columns)
    return any(wanted <= table.named for table in tables) or not wanted


def to_arrays(tables: Sequence[Released]) -> dict[str, np.ndarray]:
    """The arrays of the artifact."""
    found = {f"{PREFIX}{number}": np.ascontiguousarray(table.values) for number, table in enumerate(tables)}
    return found | {f"{PREFIX}{number}/deviation": np.asarray(table.deviation) for number, table in enumerate(tables)}


def to_json(tables: Sequence[Released]) -> list[dict[str, Any]]:
    """What `model.json` says about them."""
    return [{"nodes": list(table.nodes), "columns": list(table.columns)} for table in tables]


def from_artifact(entries: Sequence[Mapping[str, Any]], arrays: Mapping[str, np.ndarray]) -> tuple[Released, ...]:
    """Read back; KeyError or TypeError if something is missing or of another kind."""
    return tuple(
        Released(
            tuple(int(node) for node in entry["nodes"]),
            tuple(str(name) for name in entry["columns"]),
            arrays[f"{PREFIX}{number}"],
            arrays[f"{PREFIX}{number}/deviation"],
        )
        for number, entry in enumerate(entries)
    )
