"""Small tables with the columns of the real ones, so that no test needs a data file."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import registry
from understudy.schema import Schema


def schema_of(name: str) -> Schema:
    """A schema of the benchmark; reading a file of a thousand columns takes seconds, so once is enough."""
    return _read(registry.schema_path(name))


@cache
def _read(path: Path) -> Schema:
    return Schema.load(path)


class CachedSchema:
    """Stands in for `Schema` in the registry: reads each file once."""

    @staticmethod
    def load(path: Path) -> Schema:
        return _read(path)


@pytest.fixture(autouse=True)
def read_each_schema_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "Schema", CachedSchema)


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
