"""What a fit released about its rows, kept in the artifact with its noise: tables of counts and their standard deviations.

    values = true counts + N(0, deviation^2) in every cell         (integer noise; normal for all that follows)

The values left the wall and were paid for, so keeping them costs nothing. They are a product of their own
(`understudy.export`), and they are what error bars are made of: how far the true counts may be from the released ones is
known exactly, because the noise was drawn by us. A method that keeps its tables in this form can be drawn again
(`Model.copies`).

A table is kept as it was released, with words for its cells (`cells`), or as the model was fitted to it (`fitted`), or both
at once: a fit may add up outcomes to cells and leave out the noise of those that it believes empty.

In the artifact: arrays `released/K` and `released/K/deviation` in `weights.safetensors`, and in `model.json` what the axes
of table K are; axes that several tables share are written once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

PREFIX = "released/"

Part = Any  # one value of a column, None for a missing one, or (first, last): a range of numbers
Cell = tuple[Part, ...]  # what is counted together


@dataclass(frozen=True, eq=False)
class Released:
    """Noisy counts of one marginal."""

    nodes: tuple[int, ...]  # of the model, one for each axis; 0 is the class
    columns: tuple[str, ...]  # their names; "" for the class of a table without a label
    values: np.ndarray
    deviation: np.ndarray  # of the noise: one number, or one for each cell
    cells: tuple[tuple[Cell, ...], ...] = ()  # what the cells of every axis hold; none: not as released
    fitted: bool = True  # whether the model was fitted to these values
    people: bool = False  # whether the rows of a person share a weight of 1, so that people are counted and not rows

    @classmethod
    def of(
        cls, nodes: Sequence[int], names: Sequence[str], values: object, deviation: object, **more: Any
    ) -> "Released":
        """`names[j]` is the column of node j."""
        own = tuple(int(node) for node in nodes)
        kept = np.asarray(values, np.float64), np.asarray(deviation, np.float64)
        return cls(own, tuple(names[node] for node in own), *kept, **more)

    @property
    def named(self) -> frozenset[str]:
        """The columns that this table counts together."""
        return frozenset(name for name in self.columns if name)


def fitted_tables(tables: Iterable[Released]) -> tuple[Released, ...]:
    """Those that the model was fitted to."""
    return tuple(table for table in tables if table.fitted)


def estimated(tables: Iterable[Released]) -> bool:
    """Whether the model was fitted to tables that were never counted, but estimated from other answers: of few rows."""
    found = fitted_tables(tables)
    return bool(found) and not any(len(table.nodes) == 1 or table.cells for table in found)


def without_counts(tables: Iterable[Released]) -> bool:
    """Whether pairs of columns are known by products of scores: such a table counts nothing and is not fitted."""
    return any(not table.fitted and not table.cells for table in tables)


def covers(tables: Iterable[Released], columns: Iterable[str]) -> bool:
    """Whether some table counts all of these columns together, so that nothing about them rests on the model."""
    wanted = frozenset(columns)
    return any(wanted <= table.named for table in tables) or not wanted


def to_arrays(tables: Sequence[Released]) -> dict[str, np.ndarray]:
    """The arrays of the artifact."""
    found = {f"{PREFIX}{number}": np.ascontiguousarray(table.values) for number, table in enumerate(tables)}
    return found | {f"{PREFIX}{number}/deviation": np.asarray(table.deviation) for number, table in enumerate(tables)}


def to_json(tables: Sequence[Released]) -> dict[str, Any]:
    """What `model.json` says about them."""
    axes = {axis: number for number, axis in enumerate(dict.fromkeys(axis for one in tables for axis in one.cells))}
    return {
        "axes": [[list(map(_plain, cell)) for cell in axis] for axis in axes],
        "tables": [
            {
                "nodes": list(table.nodes),
                "columns": list(table.columns),
                "axes": [axes[axis] for axis in table.cells],
                "fitted": table.fitted,
                "people": table.people,
            }
            for table in tables
        ],
    }


def _plain(part: Part) -> object:
    return list(part) if isinstance(part, tuple) else part


def from_artifact(document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> tuple[Released, ...]:
    """Read back; KeyError, IndexError or TypeError if something is missing or of another kind."""
    axes = [
        tuple(tuple(tuple(part) if isinstance(part, list) else part for part in cell) for cell in axis)
        for axis in document.get("axes", ())
    ]
    return tuple(
        Released(
            tuple(int(node) for node in entry["nodes"]),
            tuple(str(name) for name in entry["columns"]),
            arrays[f"{PREFIX}{number}"],
            arrays[f"{PREFIX}{number}/deviation"],
            tuple(axes[axis] for axis in entry["axes"]),
            bool(entry["fitted"]),
            bool(entry["people"]),
        )
        for number, entry in enumerate(document.get("tables", ()))
    )
