"""Released counts as a product of their own: every noisy table of a model in one long table, with the noise's deviation.

    table  column_1  cell_1  column_2  cell_2  column_3  cell_3  count  deviation  counts_of

One line for each cell of each table. A cell is a value as the table writes it, a range (`18 to 24` of whole numbers, both
included; `0.5 to 1.25` of others, the last one not included but for the upper bound), or several of them joined by ` | `. An
empty cell beside a named column stands for missing values. `counts_of` says whether rows were counted, or people: then the
rows of a person share a weight of 1.

Each count is the true one plus noise with mean 0 and this deviation (integer, close to normal), so it may be negative, and
tables need not agree with each other. They were paid for by the fit: exporting them costs nothing.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from understudy.artifact import Model
from understudy.errors import UsageError
from understudy.released import Cell, Part, Released

SCHEMA = pa.schema(
    [
        ("table", pa.int32()),
        *((f"{what}_{place}", pa.string()) for place in (1, 2, 3) for what in ("column", "cell")),
        ("count", pa.float64()),
        ("deviation", pa.float64()),
        ("counts_of", pa.string()),
    ]
)


def counts(model: Model) -> pd.DataFrame:
    """The released counts of a model as a pandas frame."""
    return counts_arrow(model).to_pandas()


def counts_arrow(model: Model) -> pa.Table:
    """The same as an Arrow table. UsageError for models that keep none."""
    tables = [one for one in model.released if one.cells and one.named]
    if not tables:
        raise UsageError(
            f"counts: this model of method {model.method!r} keeps no tables of released counts; clique-tree, mst, aim and "
            "independent do"
        )
    return pa.concat_tables(_lines(number, one) for number, one in enumerate(tables, 1))


def _lines(number: int, table: Released) -> pa.Table:
    size = table.values.size
    axes = [axis for axis, name in enumerate(table.columns) if name]
    fields: dict[str, Any] = {"table": np.full(size, number, np.int32)}
    for place in (1, 2, 3):
        fields[f"column_{place}"] = fields[f"cell_{place}"] = pa.nulls(size, pa.string())
    for place, axis in enumerate(axes, 1):
        shape = table.values.shape
        words = pa.array([words_of(cell) for cell in table.cells[axis]], pa.string())
        own = np.tile(np.repeat(np.arange(shape[axis]), math.prod(shape[axis + 1 :])), math.prod(shape[:axis]))
        fields[f"column_{place}"] = pa.array([table.columns[axis]] * size)
        fields[f"cell_{place}"] = words.take(pa.array(own))
    fields["count"] = table.values.ravel()
    fields["deviation"] = np.broadcast_to(table.deviation, table.values.shape).ravel()
    fields["counts_of"] = ["people" if table.people else "rows"] * size
    return pa.table([fields[name] for name in SCHEMA.names], schema=SCHEMA)


def words_of(cell: Cell) -> str | None:
    """A cell as text; None for missing values alone."""
    return None if cell == (None,) else " | ".join(_texts(cell))


def _texts(cell: Cell) -> Iterator[str]:
    for part in cell:
        yield "(missing)" if part is None else " to ".join(map(_text, part)) if isinstance(part, tuple) else _text(part)


def _text(part: Part) -> str:
    return f"{part:.9g}" if isinstance(part, float) else str(part)
