"""One mixed table and tiny options, shared by the tests that fit.

Compilation is what costs. Ten thousand teachers for a few dozen rows give shards of the same capacity whatever the noisy row
counts are, so that all fits of a schema share one compiled program.
"""

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest

from understudy.methods.registry import METHODS, method
from understudy.schema import Column, Schema

TEACHERS = 10_000
SIZES: dict[str, Any] = {"rounds": 3, "judged": 4, "practice": 8, "batch": 8, "teachers": TEACHERS, "seed": 0}
STEPS: dict[str, Any] = {"teacher_steps": 1, "student_steps": 2, "generator_steps": 1}
NETS: dict[str, Any] = {"hidden": 4, "latent": 2, "student_hidden": 4}
TINY = SIZES | STEPS | NETS | {"votes_share": 0.1}
DIRECTIONS: dict[str, Any] = {
    **{"rounds": 3, "judged": 4, "projected": 2, "practice": 4, "teachers": TEACHERS, "chunk": TEACHERS},
    **{"teacher_hidden": 2, "teacher_steps": 1, "generator_steps": 1, "hidden": 4, "latent": 2},
}
GRADIENTS: dict[str, Any] = {
    **{"rounds": 3, "sampling_rate": 0.5, "batch": 8, "critic_steps": 1, "latent": 2, "code": 4, "hidden": 4},
    **{"channels": 1, "critic_hidden": 4, "critic_channels": 1, "layers": 2, "gradients_share": 0.2},
}

# Every method of the package is tested, with its defaults unless quicker options stand here.
QUICK: dict[str, dict[str, Any]] = {
    "pate-gan": TINY,
    "pate-gan-as-published": {
        **{"max_rounds": 3, "batch": 8, "teacher_steps": 1, "student_steps": 1, "teachers": TEACHERS},
        "inverse_scale": 1e-4,
    },
    "pate-gan-noise-free": TINY,
    "g-pate": DIRECTIONS,
    "g-pate-noise-free": DIRECTIONS,
    "g-pate-as-published": DIRECTIONS,
    "g-pate-data-dependent": DIRECTIONS,
    "pate-gan-joint": {name: SIZES[name] for name in ("rounds", "judged", "practice", "batch", "teachers", "seed")},
    # Shares, because thresholded votes of so many teachers are the same whatever the noise.
    "pate-gan-priced": {
        "rounds": 3,
        "batch": 8,
        "teacher_steps": 1,
        "student_steps": 1,
        "teachers": TEACHERS,
        "answers": "share",
    },
    **dict.fromkeys(("dpgan", "rdp-cgan", "gan", "medgan", "tablegan", "corgan"), GRADIENTS),
    "mst": {"steps": 5},
    "aim": {"steps": 5},
    "clique-tree": {"passes": 5},
}
# Presets of sizes alone: with the quick options they are their base once more, compiled for nothing (or for pictures only).
SAME_AS_BASE = ("dpgan-as-published", "rdp-cgan-as-published", "g-pate-pictures-as-published")
GENERATORS = {name: method(name)(**{"seed": 0} | QUICK.get(name, {})) for name in METHODS if name not in SAME_AS_BASE}
# They compile for seconds; pate-gan, whose loop is theirs, stands for them where all kinds of tables are tried.
ROUNDS = ("dpgan", "g-pate", "pate-gan-joint", "pate-gan-priced", "pate-gan-as-published")

COLUMNS = (
    Column(name="age", kind="integer", lower=0, upper=120, dtype="int32"),
    Column(name="income", kind="continuous", lower=0, upper=100_000, missing=True),
    Column(name="grade", kind="ordinal", categories=("low", "mid", "high")),
    Column(name="city", kind="categorical", categories=("Ulm", "Köln", "Paris"), missing=True, other=True),
    Column(name="smoker", kind="boolean"),
    Column(name="visits", kind="integer", lower=0, upper=9, missing=True),
    Column(name="seen", kind="datetime", lower="2010-01-01", upper="2020-12-31"),
    Column(name="who", kind="identifier"),
    Column(name="sick", kind="categorical", categories=("no", "yes")),
)
LABELS = {"binary": "sick", "multiclass": "grade", "numeric": "age", "none": None}


def mixed_schema(label: str | None = "sick", **more: Any) -> Schema:
    return Schema(columns=COLUMNS, label=label, **more)


def mixed_table(rows: int = 60, seed: int = 0) -> pd.DataFrame:
    """Nulls, categories, dates, booleans, whole numbers with and without gaps, identifiers."""
    rng = np.random.default_rng(seed)
    seen = pd.Timestamp("2010-01-01") + pd.to_timedelta(rng.integers(0, 4000, rows), unit="D")
    visits = pd.array(rng.integers(0, 9, rows), dtype="Int64")
    visits[rng.random(rows) < 0.2] = pd.NA
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, rows).astype(np.int32),
            "income": np.where(rng.random(rows) < 0.2, np.nan, rng.uniform(0, 1e5, rows)),
            "grade": pd.Series(rng.choice(["low", "mid", "high"], rows), dtype="str"),
            "city": pd.Series(rng.choice(np.array(["Ulm", "Köln", "Paris", None], object), rows), dtype="str"),
            "smoker": rng.random(rows) < 0.3,
            "visits": visits,
            "seen": seen.as_unit("us"),
            "who": np.arange(rows, dtype=np.int64) + 7_000,
            "sick": pd.Series(rng.choice(["no", "yes"], rows), dtype="str"),
        }
    )


@pytest.fixture(autouse=True, scope="module")
def quick_compilation() -> Iterator[None]:
    """Half the time goes into optimising programs that run for milliseconds."""
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
