"""Tables with a known class structure."""

import numpy as np
import pandas as pd
import pytest

from understudy.schema import Column, Schema

COLUMNS = (
    Column(name="x", kind="continuous", lower=-10, upper=10),
    Column(name="y", kind="continuous", lower=-10, upper=10),
    Column(name="k", kind="integer", lower=0, upper=1000),
    Column(name="town", kind="categorical", categories=("a", "b", "c")),
    Column(name="flag", kind="boolean"),
    Column(name="late", kind="continuous", lower=0, upper=1, missing=True),
    Column(name="sick", kind="categorical", categories=("no", "yes")),
)


@pytest.fixture(scope="package")
def schema() -> Schema:
    return Schema(columns=COLUMNS, label="sick")


@pytest.fixture(scope="package")
def table() -> pd.DataFrame:
    return gaussian_table(20_000, 3)


def gaussian_table(rows: int, seed: int) -> pd.DataFrame:
    """Two classes: correlation 0.8 in one and -0.4 in the other, other means, an atom at zero, rates that depend on class."""
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < 0.3
    rho = np.where(sick, -0.4, 0.8)
    x = rng.normal(size=rows)
    y = rho * x + np.sqrt(1.0 - rho**2) * rng.normal(size=rows)
    late = np.where(rng.random(rows) < np.where(sick, 0.5, 0.1), np.nan, rng.beta(2, 5, rows))
    town = np.where(rng.random(rows) < np.where(sick, 0.6, 0.2), "a", np.where(rng.random(rows) < 0.5, "b", "c"))
    return pd.DataFrame(
        {
            "x": x + 1.5 * sick,
            "y": 0.5 * y - sick,
            "k": np.where(rng.random(rows) < 0.7, 0, rng.integers(0, 1000, rows)),
            "town": town,
            "flag": rng.random(rows) < np.where(sick, 0.7, 0.3),
            "late": late,
            "sick": np.where(sick, "yes", "no"),
        }
    )
