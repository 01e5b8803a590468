"""Two bugs of audited implementations (Ganev et al. 2025, Table 2): output left in scaled units, integers rounded down.

The check is a round trip through the codec; each wrong decoder must fail it.
"""

import numpy as np
import pandas as pd
import pytest

from understudy.schema import Codec, Column, Schema

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0, upper=90),
        Column(name="weight", kind="continuous", lower=40.0, upper=140.0),
    )
)
FRAME = pd.DataFrame({"age": [0, 29, 57, 58, 90], "weight": [40.0, 61.5, 80.25, 99.0, 140.0]})


def decode(rows):
    return Codec(SCHEMA).decode(rows, np.zeros(len(rows), np.int32))


def left_in_scaled_units(rows):
    return pd.DataFrame(rows, columns=["age", "weight"])


def rounded_down(rows):
    return decode(rows).assign(age=np.floor(rows[:, 0] * 90).astype(int))


def comes_back(decoder):
    # Half a cell below the exact value, as a network would give it: rounding to nearest must still find the integer.
    rows = Codec(SCHEMA).encode(FRAME).rows - np.array([[0.4 / 90, 0.0]], np.float32)
    found = decoder(np.clip(rows, 0, 1))
    return found["age"].tolist() == FRAME["age"].tolist() and np.allclose(found["weight"], FRAME["weight"], atol=1e-3)


def test_rows_come_back_in_their_own_units_with_integers_rounded_to_nearest():
    assert comes_back(decode)


@pytest.mark.parametrize("mutant", [left_in_scaled_units, rounded_down])
def test_the_round_trip_catches_the_audited_mistakes(mutant):
    assert not comes_back(mutant)
