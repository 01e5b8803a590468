"""Exact votes of cells on the kinds of their columns (`understudy.questions.kinds`)."""

from typing import Any

import numpy as np
import pyarrow as pa

from understudy.private.noise import NoiseSource
from understudy.questions import ColumnKinds
from understudy.schema import Schema, cell_kind
from understudy.schema.kinds import EMPTY, SORTS

RAW = True


def start(question: ColumnKinds, width: int) -> Any:
    return np.zeros((len(question.columns), len(SORTS)), np.int64)


def add(question: ColumnKinds, total: Any, rows: Any, units: Any, schema: Schema) -> None:
    """A row votes once per column; each different text of a block is looked at once."""
    for number, name in enumerate(question.columns):
        keys = rows.keys(schema.column(name))
        keys = keys if pa.types.is_dictionary(keys.type) else keys.dictionary_encode()
        sorts = np.asarray([*map(cell_kind, keys.dictionary.to_pylist()), EMPTY], np.int64)
        cells = sorts[keys.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
        total[number] += np.bincount(cells, minlength=len(SORTS))


def release(question: ColumnKinds, total: Any, noise: NoiseSource) -> list[list[int]]:
    noisy: list[list[int]] = (total + noise.draw("gaussian", question.deviation, total.shape)).tolist()
    return noisy
