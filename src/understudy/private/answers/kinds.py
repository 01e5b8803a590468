"""Exact votes of cells on the kinds of their columns (`understudy.questions.kinds`)."""

import numpy as np
import pyarrow as pa

from understudy.private.noise import NoiseSource
from understudy.questions import ColumnKinds
from understudy.schema import Schema, cell_kind
from understudy.schema.kinds import EMPTY, SORTS
from understudy.schema.rows import Rows

RAW = True


def start(question: ColumnKinds, width: int) -> np.ndarray:
    """The sums of no rows."""
    return np.zeros((len(question.columns), len(SORTS)), np.int64)


def add(question: ColumnKinds, total: np.ndarray, rows: Rows, units: np.ndarray | None, schema: Schema) -> None:
    """A row votes once per column; each different text of a block is looked at once."""
    for number, name in enumerate(question.columns):
        keys = rows.keys(schema.column(name))
        keys = keys if pa.types.is_dictionary(keys.type) else keys.dictionary_encode()
        sorts = np.asarray([*map(cell_kind, keys.dictionary.to_pylist()), EMPTY], np.int64)
        cells = sorts[keys.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
        total[number] += np.bincount(cells, minlength=len(SORTS))


def release(question: ColumnKinds, total: np.ndarray, noise: NoiseSource) -> list[list[int]]:
    """The sums with exact integer noise."""
    noisy: list[list[int]] = (total + noise.draw("gaussian", question.deviation, total.shape)).tolist()
    return noisy
