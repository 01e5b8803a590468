"""The handle is opaque, and contributions are bounded per unit."""

import copy

import numpy as np
import pandas as pd
import pytest

from understudy.accounting import Ledger
from understudy.methods.pate_gan.method import PateGan
from understudy.private import Curator, PrivateTable, SecureNoise
from understudy.private.units import bring_together
from understudy.schema import Column, Schema
from understudy.schema.reading import open_table


def schema(unit=True, most=2):
    columns = (Column(name="x", kind="continuous", lower=0, upper=1), Column(name="who", kind="identifier"))
    return Schema(columns=columns, unit="who" if unit else None, max_rows_per_unit=most if unit else 1)


def frame(counts):
    who = np.repeat(list(counts), list(counts.values()))
    return pd.DataFrame({"x": np.linspace(0, 1, len(who)), "who": who})


def test_the_handle_shows_nothing():
    table = PrivateTable(frame({"secret-name": 3}), schema())
    assert "secret-name" not in repr(table) and "secret-name" not in str(table)
    assert "private" in repr(Curator(table, schema(), Ledger(PateGan().plan(schema())), SecureNoise()))
    for forbidden in (lambda: len(table), lambda: list(table), lambda: table[0], lambda: copy.deepcopy(table)):
        with pytest.raises(TypeError):
            forbidden()
    assert not hasattr(table, "__dict__")


def kept(table, own):
    """Whose rows are kept, and the number of their unit within the wall."""
    (block,) = [block for part in bring_together(open_table(table, own), own, None).parts for block in part()]
    where = np.searchsorted(table["x"], block.rows.numbers(own.column("x")))
    return table.iloc[where], block.units


def test_at_most_the_declared_number_of_rows_per_unit_is_kept():
    rows, units = kept(frame({"a": 90, "b": 1, "c": 2}), schema(most=2))
    assert rows["who"].value_counts().to_dict() == {"a": 2, "b": 1, "c": 2}
    assert len(set(zip(rows["who"], units.tolist(), strict=True))) == len(set(units.tolist())) == 3


def test_which_rows_are_kept_is_random_and_unit_wise():
    """60 draws of 2 out of 30 rows all equal: probability below 1e-150."""
    picks = {tuple(sorted(kept(frame({"a": 30}), schema(most=2))[0]["x"])) for _ in range(60)}
    assert len(picks) > 1


def test_a_row_without_an_id_is_left_out():
    table = frame({"a": 3, "b": 1})
    table["who"] = table["who"].astype(object)
    table.loc[[0, 3], "who"] = [None, float("nan")]
    rows, _ = kept(table, schema(most=5))
    assert sorted(rows.index) == [1, 2]


def test_without_a_unit_every_row_is_its_own():
    own = schema(unit=False)
    (block,) = [block for part in PrivateTable(frame({"a": 5}), own)._parts for block in part()]
    assert len(block.rows.numbers(own.column("x"))) == 5 and block.units is None


def test_keeping_the_first_rows_by_position_would_be_caught():
    """Mutant: the first m rows of a unit always survive, so the choice is not random."""
    picks = {tuple(frame({"a": 30}).groupby("who").head(2)["x"]) for _ in range(60)}
    assert len(picks) == 1
