"""One-way marginals: what a row or unit can move, which columns are counted together, what comes out without noise."""

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import understudy as us
from understudy.measure.cells import Node, alike, make_nodes
from understudy.measure.one_way import averages, count_cells
from understudy.measure.shrinkage import NEIGHBOURS
from understudy.schema import Codec, Column, Schema

from ..wall import ask

MIXED = Codec(
    Schema(
        columns=(
            Column(name="a", kind="continuous", lower=0, upper=1),
            Column(name="b", kind="continuous", lower=0, upper=1, missing=True),
            Column(name="c", kind="categorical", categories=("x", "y", "z")),
        )
    )
)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.float32, (7, 6), elements=st.floats(0, 1, width=32)), st.integers(1, 3), st.booleans())
def test_a_row_or_unit_moves_the_marginals_by_at_most_their_noise(rows: Any, groups: int, by_class: bool) -> None:
    """Two numeric columns, the second with a missing flag, and a one-hot block, counted alone or together, whatever the cells."""
    edges, rows = np.array([0.0, 0.2, 0.2, 0.7, 1.0]), rows.copy()
    rows[:, 2] = np.round(rows[:, 2])
    nodes = [
        Node("a", 0, 4, edges=edges),
        Node("b", 1, 3, edges=edges[1:], missing=2),
        Node("c", 3, 4, onehot=True),
    ]
    numbers = np.minimum(np.arange(3), groups - 1)

    def moved(part: Any, units: Any = None) -> float:
        """By the rows of one unit, each table in units of its noise for multiplier 1."""
        question = count_cells(nodes, numbers, MIXED, 1.0, share=True, by_class=by_class)
        question = type(question)(
            *(getattr(question, name) for name in ("cells", "sizes", "tables", "sigma")), len(part), True
        )
        answered = zip(ask(question, part, units=units), question.deviations, strict=True)
        return float(np.sqrt(sum(((counts / deviation) ** 2).sum() for counts, deviation in answered)))

    assert max(moved(rows[i : i + 1]) for i in range(len(rows))) <= 1.0 + 1e-12
    assert moved(rows, np.zeros(len(rows), int)) <= 1.0 + 1e-12


def test_a_group_is_averaged_over_its_columns() -> None:
    rows = np.array([[0.1, 0.9, 0.0, 1.0, 0.0, 0.0]] * 3 + [[0.9, 0.9, 0.0, 1.0, 0.0, 0.0]], np.float32)
    nodes = [Node("a", 0, 2, edges=np.array([0.0, 0.5, 1.0])), Node("b", 1, 2, edges=np.array([0.0, 0.5, 1.0]))]
    question = count_cells(nodes, np.zeros(2, int), MIXED, 1.0)
    found = averages(ask(question, rows), question, np.zeros(2, int))
    assert [part.tolist() for part in found] == [[1.5, 2.5]] * 2


def test_columns_alike_in_kind_and_bounds_are_cut_together() -> None:
    signal = tuple(Column(name=f"s{i}", kind="integer", lower=0, upper=255) for i in range(NEIGHBOURS))
    others = (
        Column(name="a", kind="continuous", lower=0, upper=1, missing=True),
        Column(name="b", kind="integer", lower=0, upper=9),
    )
    codec = Codec(Schema(columns=signal + others))
    nodes = make_nodes(codec)
    groups = alike(codec, nodes)
    assert len(set(groups[:NEIGHBOURS].tolist())) == 1 and len(set(groups.tolist())) == 3
    assert nodes[NEIGHBOURS].missing is not None and nodes[NEIGHBOURS + 1].size == 10
    np.testing.assert_allclose([nodes[k].step for k in (0, NEIGHBOURS, NEIGHBOURS + 1)], [1 / 255, 0, 1 / 9])


def test_spikes_codes_and_values_on_bounds_come_back() -> None:
    """Hours with spikes, an amount that is often zero and often at its bound: what a fixed number of cells smears.

    Encoded rows are 32-bit numbers, so a zero inside the bounds comes back as 3e-6.
    At epsilon 100 a share moves by noise of some 1e-4; 4,000 drawn rows move it by 0.008, so 0.05 is six deviations.
    """
    rng = np.random.default_rng(0)
    hours = np.where(
        rng.random(8_000) < 0.5,
        40,
        np.where(rng.random(8_000) < 0.3, rng.choice([45, 50], 8_000), rng.integers(1, 100, 8_000)),
    )
    amount = np.clip(np.where(rng.random(8_000) < 0.4, 0.0, rng.normal(500.0, 400.0, 8_000)), -100.0, 1_000.0)
    table = pd.DataFrame({"hours": hours, "amount": amount})
    schema = Schema(
        columns=(
            Column(name="hours", kind="integer", lower=1, upper=99),
            Column(name="amount", kind="continuous", lower=-100, upper=1_000),
        )
    )
    made = us.Independent(epsilon=100.0, seed=0).fit(table, schema).sample(4_000, seed=1)
    shares = [part.hours.value_counts(normalize=True).reindex(range(1, 100), fill_value=0.0) for part in (table, made)]
    assert np.abs(shares[0] - shares[1]).max() < 0.05
    for value in (0.0, 1_000.0):
        assert abs(np.isclose(made.amount, value, atol=1e-3).mean() - (table.amount == value).mean()) < 0.05
