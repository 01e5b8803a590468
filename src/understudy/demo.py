"""The table of `understudy demo`: the RAND health insurance experiment, which ships inside statsmodels.

20,190 yearly records of 5,912 persons, the person as privacy unit; `demo.yaml` says what is public about it. Persons and
not records are split, so that nobody is on both sides. The table is public.
"""

from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd

from understudy.schema import Schema

SCHEMA = Path(__file__).with_suffix(".yaml")
TEST_SHARE = 0.2


def source() -> pd.DataFrame:
    """The table as published. The ready-made frame of statsmodels has no person column; the file beside it does."""
    path = resources.files("statsmodels.datasets.randhie") / "src" / "randhie.csv"
    with resources.as_file(path) as file:
        return pd.read_csv(file)


def derive(frame: pd.DataFrame) -> pd.DataFrame:
    """Self-rated health as one ordered column, and whether the person saw a doctor that year.

    `black` and `physlm` hold group means for the few people where the answer is unknown; they are rounded to 0 or 1.
    """
    health = np.select(
        [frame["hlthp"] == 1, frame["hlthf"] == 1, frame["hlthg"] == 1], ["poor", "fair", "good"], "excellent"
    )
    return frame.assign(
        health=health,
        visited=(frame["mdvis"] > 0).astype(np.int64),
        black=frame["black"].round().astype(np.int64),
        physlm=frame["physlm"].round().astype(np.int64),
    )


def load(seed: int) -> tuple[pd.DataFrame, pd.DataFrame, Schema]:
    """Records of four fifths of the persons, those of the others, and the schema."""
    schema = Schema.load(SCHEMA)
    frame = derive(source())[[column.name for column in schema.columns]]
    record_of, persons = pd.factorize(frame[schema.unit])
    rng = np.random.default_rng(np.random.SeedSequence([seed, 20]))
    held_out = rng.permutation(len(persons))[: round(TEST_SHARE * len(persons))]
    is_test = np.isin(record_of, held_out)
    return frame[~is_test].reset_index(drop=True), frame[is_test].reset_index(drop=True), schema
