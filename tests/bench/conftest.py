"""Small tables with the columns of the real ones, so that no test needs a data file."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy.schema import Schema


def table_of(schema: Schema, rows: int, seed: int = 0) -> pd.DataFrame:
    """Rows drawn at random within the schema: right columns, types and ranges, no meaning."""
    rng = np.random.default_rng(seed)
    columns = {}
    for column in schema.columns:
        if column.kind == "identifier":
            columns[column.name] = np.arange(rows) // 2
        elif column.categories is not None:
            columns[column.name] = [column.categories[i] for i in rng.integers(len(column.categories), size=rows)]
        elif column.kind == "integer":
            columns[column.name] = rng.integers(int(column.lower), int(column.upper), size=rows, endpoint=True)
        else:
            columns[column.name] = rng.uniform(column.lower, column.upper, size=rows)
    return pd.DataFrame(columns)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder
