"""Spikes: values that many rows share are found in two looks, smooth columns are left alone, and a look is paid for."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from understudy.measure.cells import Node, estimate, first_edges, make_nodes, single_values, with_edges
from understudy.measure.one_way import count_closely, noise_of
from understudy.measure.spikes import (
    CLOSE,
    NONE,
    Spikes,
    around,
    closer,
    first_look,
    recut_around,
    worth_looking,
)
from understudy.schema import Codec, Column, Schema

from ..wall import ask
from .test_cells import counted

NOISE = 60.0


def column(step: float = 0.0) -> Node:
    return with_edges(Node("x", 0, 0, edges=np.zeros(1), step=step), first_edges(step, None))


def found_in(values: np.ndarray, step: float = 0.0, seed: int = 0) -> tuple[Spikes, Node]:
    """Spikes after two looks, and the column's last cells, all with noise."""
    rng, node = np.random.default_rng(seed), column(step)
    look, rows = first_look(node, 1, 1), float(len(values))
    for last in (False, True):
        if look.node is not None:
            look = closer(look, counted(look.node, values) + rng.normal(0.0, NOISE, look.node.size), NOISE)
        noisy = counted(node, values) + rng.normal(0.0, NOISE, node.size)
        mass = estimate(node, noisy, NOISE, rows)
        node = recut_around(node, noisy, mass, NOISE, 40, look.into if last else NONE)
    return look.into, node


def values_of(spikes: Spikes) -> np.ndarray:
    return np.asarray(0.5 * (spikes.low + spikes.high))


@pytest.mark.parametrize(("count", "rows"), [(5, 8_000), (20, 27_000), (50, 60_000)])
def test_a_column_of_few_numbers_ends_with_these_numbers(count: int, rows: int) -> None:
    """Five, twenty and fifty of half a million numbers: each is a cell of its own, and next to nothing is expected between them.
    Seeded."""
    rng, step = np.random.default_rng(count), 1.0 / 528_490
    numbers = np.sort(rng.choice(528_490, count, replace=False)) * step
    values = np.concatenate([numbers.repeat(600), rng.choice(numbers, rows - 600 * count)])
    _, node = found_in(values, step)
    assert node.edges is not None and node.share is not None
    single, mass = single_values(node.edges, node.step), counted(node, values)
    assert mass[single].sum() == len(values)
    assert node.share[~single].sum() < 0.05 and node.size <= 200


def test_numbers_without_decimals_end_within_four_millionths_of_the_range() -> None:
    rng = np.random.default_rng(1)
    numbers = np.sort(rng.random(20)).astype(np.float32).astype(float)
    spikes, _ = found_in(rng.choice(numbers, 27_000))
    nearest = np.abs(values_of(spikes)[:, None] - numbers).min(axis=0)
    assert nearest.max() < 2e-6 and len(spikes.low) == 20


def test_spikes_beside_smooth_numbers_are_found_and_the_others_keep_their_cells() -> None:
    """A third of the rows at six round incomes, the others anywhere: twenty cells or more stay for these. Seeded."""
    rng, step = np.random.default_rng(2), 1e-6
    round_ones = np.asarray([12e3, 30e3, 40e3, 50e3, 60e3, 100e3]) * step
    smooth = np.rint(np.minimum(rng.lognormal(10.5, 0.8, 20_000), 9.9e5)) * step
    values = np.where(rng.random(20_000) < 0.3, rng.choice(round_ones, 20_000), smooth)
    spikes, node = found_in(values, step)
    np.testing.assert_allclose(values_of(spikes), round_ones, atol=0.1 * step)
    assert node.edges is not None and node.share is not None
    wide = ~single_values(node.edges, node.step)
    assert wide.sum() > 20 and node.share[wide].sum() == pytest.approx(0.7, abs=0.1)


@pytest.mark.parametrize("width", [0.2, 1e-2, 1e-3, 1e-7])
def test_smooth_columns_keep_their_cells_however_narrow(width: float) -> None:
    """Also where all rows lie in what two looks take for one value. Few cells stand out by chance. Seeded."""
    values = np.clip(0.5 + np.random.default_rng(3).normal(0.0, width, 30_000), 0.001, 0.999)
    spikes, node = found_in(values)
    assert node.edges is not None and len(spikes.low) <= 4
    wide = np.diff(node.edges) > max(10.0 * width, 1.01 * CLOSE)
    assert counted(node, values)[wide].sum() < 0.02 * len(values)


def test_looks_at_many_smooth_columns_cost_little_noise() -> None:
    """Of thirty columns only some are looked into again, in a few hundred cells each. Seeded."""
    rng, cells = np.random.default_rng(4), 0
    for _ in range(30):
        values = np.clip(rng.normal(0.5, 0.1, 30_000), 0.001, 0.999)
        look = first_look(column(), 30, 30)
        assert look.node is not None
        then = closer(look, counted(look.node, values) + rng.normal(0.0, NOISE, look.node.size), NOISE)
        cells += look.node.size + (0 if then.node is None else then.node.size)
    assert cells < 20_000


def test_cells_are_compared_with_those_around_them() -> None:
    np.testing.assert_allclose(
        around(np.asarray([1.0, 1, 9, 1, 1, 1, 1, 1, 1, 1, 5, 5, 5])), [1.0] * 10 + [3, 3, 3], atol=2
    )
    assert around(np.asarray([7.0])).tolist() == [0.0]
    assert around(np.asarray([7.0, 1.0])).tolist() == [1.0, 7.0]


def test_nothing_is_looked_for_where_it_could_not_stand_out() -> None:
    assert worth_looking(30_000.0, 25.0, 6, 1) and not worth_looking(700.0, 25.0, 6, 1)
    assert not worth_looking(30_000.0, 25.0, 6, 30)


CODEC = Codec(Schema(columns=tuple(Column(name=name, kind="continuous", lower=0, upper=1) for name in "ab")))


def moved(rows: Any, noise: tuple[float, ...] | None = None, groups: tuple[int, int] = (0, 1)) -> float:
    """How far a unit of these rows moves cells and looks together, each table over its noise for multiplier 1."""
    drafts = make_nodes(CODEC)
    looks = [first_look(draft, 2, 2) for draft in drafts[: max(groups) + 1]]
    question = count_closely(drafts, np.asarray(groups), looks, [None] * len(looks), CODEC, 1.0, share=True)
    deviations = question.deviations if noise is None else noise
    answered = zip(ask(question, rows), deviations, strict=True)
    return float(np.sqrt(sum(((counts / deviation) ** 2).sum() for counts, deviation in answered)))


@settings(max_examples=15, deadline=None)
@given(hnp.arrays(np.float32, (1, 2), elements=st.floats(0, 1, width=32)))
def test_a_row_moves_cells_and_looks_by_at_most_their_noise(row: Any) -> None:
    assert moved(row) == pytest.approx(1.0)


def test_looks_that_are_not_paid_for_would_be_noticed() -> None:
    """The kept wrong version: the noise of two tables where four are counted."""
    assert moved(np.asarray([[0.2, 0.7]], np.float32), (math.sqrt(2.0),) * 4) > 1.4


def test_columns_alike_are_looked_at_together() -> None:
    """Both columns of a row in one cell move a table by two; the kept wrong version has the noise of one column."""
    same, apart = np.full((1, 2), 0.2, np.float32), np.asarray([[0.2, 0.7]], np.float32)
    assert moved(same, groups=(0, 0)) == pytest.approx(1.0) and moved(apart, groups=(0, 0)) < 0.75
    assert moved(same, (math.sqrt(1.5), math.sqrt(3.0)), (0, 0)) == pytest.approx(2.0)


def test_many_columns_have_fewer_cells() -> None:
    """A million of all columns: 20,000 columns that are cut together would take gigabytes."""
    for looks, columns, cells in ((1, 256, 4096), (1, 20_000, 52), (64, 64, 256)):
        node = first_look(column(), looks, columns).node
        assert node is not None and cells <= node.size <= cells + 4  # and those of both bounds


def test_noise_is_that_of_a_column() -> None:
    drafts = make_nodes(CODEC)
    question = count_closely(drafts, np.zeros(2, int), [first_look(drafts[0], 1, 2)], [None], CODEC, 3.0, share=True)
    assert noise_of(question, 0) == pytest.approx(3.0 * math.sqrt(1.5))
    assert noise_of(question, -1) == pytest.approx(3.0 * math.sqrt(3.0))
