"""Made-up tables with known structure."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def schema():
    from understudy.schema import Column, Schema

    return Schema(
        columns=(
            Column(name="id", kind="identifier"),
            Column(name="age", kind="integer", lower=0, upper=120),
            Column(name="city", kind="categorical", categories=("A", "B", "C")),
            Column(name="bmi", kind="continuous", lower=5.0, upper=60.0, missing=True),
            Column(name="grade", kind="ordinal", categories=("low", "middle", "high")),
            Column(name="flag", kind="boolean"),
            Column(name="seen", kind="datetime", lower="2010-01-01", upper="2025-01-01"),
            Column(name="sick", kind="categorical", categories=("no", "yes")),
        ),
        label="sick",
        positive="yes",
    )


@pytest.fixture(scope="session")
def patients() -> Callable[[int, int], pd.DataFrame]:
    """`patients(rows, seed)`: age, bmi and city drive the label; grade follows age; flag and seen are noise."""

    def make(rows: int, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        age = rng.integers(18, 90, rows)
        city = rng.choice(["A", "B", "C"], rows, p=[0.6, 0.3, 0.1])
        bmi = rng.normal(25, 4, rows) + 3 * (age > 50)
        logit = 0.08 * (age - 55) + 0.15 * (bmi - 26) + (city == "B")
        sick = np.where(rng.random(rows) < 1 / (1 + np.exp(-logit)), "yes", "no")
        return pd.DataFrame(
            {
                "id": np.arange(rows),
                "age": age,
                "city": city,
                "bmi": pd.Series(bmi).where(rng.random(rows) > 0.1),
                "grade": np.array(["low", "middle", "high"])[np.digitize(age, [40, 65])],
                "flag": rng.random(rows) < 0.3,
                "seen": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 2000, rows), unit="D"),
                "sick": sick,
            }
        )

    return make


@pytest.fixture(scope="session")
def shuffled() -> Callable[[pd.DataFrame, int], pd.DataFrame]:
    """Every column shuffled on its own: same marginals, no links."""

    def make(frame: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        return pd.DataFrame({c: frame[c].to_numpy()[rng.permutation(len(frame))] for c in frame.columns})

    return make


@pytest.fixture(scope="module")
def few_trees():
    """Boosting in a moment: for tests of everything but what it finds."""
    from understudy.evaluate import boosting

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boosting, "ITERATIONS", 3)
        yield
