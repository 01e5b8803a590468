"""Other packages get the whole table: what they are handed and what comes back from them is the same rows."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd

from benchmarks import peers
from understudy.evaluate.table import prepare
from understudy.schema import Column, Schema

SCHEMA = Schema(
    columns=[
        Column(name="smokes", kind="categorical", categories=(0, 1), missing=True),
        Column(name="word", kind="categorical", categories=("a", "b")),
        Column(name="age", kind="integer", lower=10, upper=90, missing=True),
        Column(name="income", kind="continuous", lower=0.0, upper=5.0, codes=("N",)),
        Column(name="both", kind="integer", lower=0, upper=9, codes=(99, 98), missing=True),
    ]
)


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "smokes": [0.0, 1.0, np.nan, 1.0],  # floats, because one is missing
            "word": ["a", "b", "a", "a"],
            "age": [10.0, np.nan, 41.0, 90.0],
            "income": ["0.0", "N", "5.0", "2.25"],
            "both": [99.0, 98.0, np.nan, 9.0],
        }
    )


def test_rows_survive_the_way_to_a_peer_and_back(tmp_path):
    columns, rows = peers.public_columns(SCHEMA, table())
    rows.to_csv(tmp_path / "train.csv", index=False)
    job = json.loads(json.dumps({"train": str(tmp_path / "train.csv"), "columns": columns}))
    handed = peers.read_training(job)
    for name, facts in job["columns"].items():
        if "categories" in facts:
            assert set(handed[name]) <= set(facts["categories"])
        else:
            assert handed[name].between(facts["lower"], facts["upper"]).all()
    handed.to_csv(tmp_path / "rows.csv", index=False)
    back = prepare(peers.read_rows(tmp_path / "rows.csv", SimpleNamespace(schema=SCHEMA)), SCHEMA)
    real = prepare(table(), SCHEMA)
    for name, values in real.values.items():
        np.testing.assert_array_equal(back.values[name], values, err_msg=name)
    for name, which in real.coded.items():
        np.testing.assert_array_equal(back.coded[name], which, err_msg=name)


def test_what_stands_beside_numbers_has_a_bin_of_its_own():
    columns, rows = peers.public_columns(SCHEMA, table())
    lower, upper = columns["both"]["lower"], columns["both"]["upper"]
    number = ((rows["both"] - lower) / (upper - lower) * peers.BINS).astype(int)
    assert number.tolist()[:3] == [1, 0, 2]  # 99, 98, missing: from the lower bound downwards missing, 99, 98
