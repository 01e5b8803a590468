"""Cells, scores and feature norms of the common footing."""

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from understudy.measure.one_way import ALIKE, blend, cuts, describe, one_way, recut, snap, with_tails
from understudy.private.mapping import Block, apply
from understudy.schema import Codec, Column, Schema

from ..wall import ask


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.float32, (7, 5), elements=st.floats(0, 1, width=32)), st.integers(1, 3))
def test_a_row_or_unit_moves_the_marginals_by_at_most_their_noise(rows: Any, groups: int) -> None:
    """Three numeric columns (the last with a missing flag), one one-hot block of two outcomes, whatever the cells."""
    group = np.minimum(np.arange(2), groups - 1)
    edges = np.tile(np.array([0.0, 0.2, 0.2, 0.7, 1.0]), (2, 1))
    rows = rows.copy()
    rows[:, 2] = np.round(rows[:, 2])
    rows[:, 3] = np.round(rows[:, 3])
    rows[:, 4] = 1.0 - rows[:, 3]
    numeric, flags = np.array([0, 1]), np.array([-1, 2])

    def moved(part: Any, most: int, units: Any = None) -> float:
        """By the rows of one unit, each table in units of its noise for multiplier 1."""
        question = one_way(numeric, flags, edges, group, [(3, 2)], 1.0, most)
        assert len(question.tables) == group.max() + 2
        found = zip(ask(question, part, units=units), question.deviations, strict=True)
        return float(np.sqrt(sum(((counts / deviation) ** 2).sum() for counts, deviation in found)))

    assert max(moved(rows[i : i + 1], 1) for i in range(len(rows))) <= 1.0 + 1e-12
    assert moved(rows, len(rows), np.zeros(len(rows), int)) <= 1.0 + 1e-12


def test_missing_values_are_in_no_cell() -> None:
    rows = np.array([[0.5, 1.0], [0.5, 0.0]], np.float32)
    cell = apply(cuts(np.array([0]), np.array([1]), np.array([[0.0, 0.4, 1.0]])), Block(rows, np.zeros(2, np.int32)))
    assert cell.tolist() == [[-1], [1]]


def test_whole_numbers_get_cells_of_their_own() -> None:
    few = snap(np.linspace(0, 1, 9), 1.0 / 3.0)
    np.testing.assert_allclose(few, [0, 0.5 / 3, 1.5 / 3, 2.5 / 3, 1, 1, 1, 1, 1])
    many = snap(np.array([0.0, 0.0101, 0.0102, 0.5, 1.0]), 0.001)
    np.testing.assert_allclose(many, [0, 0.0105, 0.5005, 1, 1])


def test_recut_finds_a_narrow_column_in_wide_bounds() -> None:
    """A standard normal within bounds of +-1,000: after two cuts the middle cells are narrower than a standard deviation."""
    values = np.random.default_rng(0).normal(size=20_000) / 2_000 + 0.5
    edges = np.linspace(0, 1, 33)[None, :]
    for _ in range(3):
        counts = np.bincount(np.clip(np.searchsorted(edges[0], values, "right") - 1, 0, 31), minlength=32)[None, :]
        edges, share = recut(edges, counts.astype(float), np.zeros(1), 32)
        assert share.sum() == 1.0 or abs(share.sum() - 1.0) < 1e-9
    assert np.sort(np.diff(edges[0]))[:20].max() < 1.0 / 2_000


def test_blend_trusts_counts_only_above_their_noise() -> None:
    expected = np.full((1, 4), 250.0)
    heard = blend(np.array([[400.0, 100.0, 300.0, 200.0]]), expected, 1.0)
    np.testing.assert_allclose(heard, [[400, 100, 300, 200]], rtol=0.01)
    drowned = blend(np.array([[4000.0, -4000.0, 3000.0, -2000.0]]), expected, 1e5)
    np.testing.assert_allclose(drowned / drowned.sum(), np.full((1, 4), 0.25), atol=0.01)


def test_columns_alike_in_kind_and_bounds_share_a_group() -> None:
    signal = tuple(Column(name=f"s{i}", kind="integer", lower=0, upper=255) for i in range(ALIKE))
    others = (
        Column(name="a", kind="continuous", lower=0, upper=1, missing=True),
        Column(name="b", kind="integer", lower=0, upper=9),
    )
    codec = Codec(Schema(columns=signal + others))
    flags, steps, group = describe(codec)
    assert len(set(group[:ALIKE])) == 1 and len(set(group)) == 3
    assert flags[ALIKE] >= 0 and (np.delete(flags, ALIKE) == -1).all()
    np.testing.assert_allclose(steps[[0, ALIKE, ALIKE + 1]], [1 / 255, 0, 1 / 9])
    assert codec.encode(pd.DataFrame({c.name: [0.0] for c in signal + others})).rows.shape == (1, codec.width)


def test_tails_are_short_in_wide_bounds_and_left_alone_in_tight_ones() -> None:
    edges = np.array([[0.0, 0.49, 0.5, 0.51, 1.0], [0.0, 0.25, 0.5, 0.75, 1.0]])
    cdf = np.array([[0.0, 0.01, 0.5, 0.99, 1.0], [0.0, 0.25, 0.5, 0.75, 1.0]])
    longer, share = with_tails(edges, cdf, np.zeros(2))
    assert (np.diff(longer, axis=1) >= 0).all() and (np.diff(share, axis=1) >= 0).all()
    drawn = np.interp(np.linspace(0, 1, 100_001), share[0], longer[0])
    assert np.quantile(drawn, 0.001) > 0.47 and drawn.std() < 0.02
    np.testing.assert_allclose(np.interp([0.1, 0.9], longer[1], share[1]), [0.1, 0.9])
