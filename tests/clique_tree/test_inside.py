"""Places inside cells: counts and columns stay as they are, and smooth dependence arrives where cells are coarse."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.fit import fit
from understudy.methods.clique_tree import inside
from understudy.methods.clique_tree.inside import (
    Coarser,
    ColumnOutcomes,
    Counted,
    Inside,
    best_known,
    cut,
    side_of,
    smooth,
)
from understudy.private.noise import SeededNoise
from understudy.schema import Column, Schema

ROWS, CELLS, OUTCOMES, CORRELATION = 20_000, 4, 64, 0.7


def columns():
    """Two numbers of 64 outcomes in four cells."""
    cell = np.repeat(np.arange(CELLS), OUTCOMES // CELLS)
    whole = np.ones(OUTCOMES, bool)
    return {0: ColumnOutcomes(cell, np.full(OUTCOMES, CELLS / OUTCOMES), whole, whole)}


def normal(rng):
    """Outcomes of two normal numbers that depend on each other, and places that are drawn inside their cells alone."""
    x = rng.normal(size=(ROWS, 2))
    x[:, 1] = CORRELATION * x[:, 0] + np.sqrt(1.0 - CORRELATION**2) * x[:, 1]
    outcome = x.argsort(axis=0).argsort(axis=0) * OUTCOMES // ROWS
    cell = outcome // (OUTCOMES // CELLS)
    alone = outcome.copy()
    for j in range(2):
        for k in range(CELLS):
            own = np.flatnonzero(cell[:, j] == k)
            alone[own, j] = outcome[rng.permutation(own), j]
    return outcome, np.c_[np.zeros(ROWS, int), cell].astype(np.int32), [alone[:, 0], alone[:, 1]]


def fitter(numbers=(0, 1), noise=1e-4):
    counted = Counted(*(np.asarray([one]) for one in (1, 2)), np.asarray([noise]))
    return Inside(counted, [1, 2], {number: columns()[0] for number in numbers}, Coarser([1, CELLS, CELLS], {}))


def apart(outcomes, truth):
    """Distance of the tables of 16 x 16 cells."""
    found = [np.bincount(a // 4 * 16 + b // 4, minlength=256) for a, b in (outcomes, truth.T)]
    return float(np.abs(found[0] - found[1]).sum()) / 2.0 / ROWS


def test_dependence_inside_cells_arrives_and_counts_stay():
    rng = np.random.default_rng(0)
    truth, cells, alone = normal(rng)
    found = fitter().fit(cells, alone, rng)
    for number in range(2):
        np.testing.assert_array_equal(found[number] // (OUTCOMES // CELLS), cells[:, number + 1])
        np.testing.assert_array_equal(np.bincount(found[number]), np.bincount(alone[number]))
    assert apart(alone, truth) > 0.12 and apart(found, truth) < 0.06
    tails = [(one[0] >= 62) & (one[1] >= 62) for one in (truth.T, alone, found)]
    assert tails[1].sum() < 0.3 * tails[0].sum() and tails[2].sum() > 0.6 * tails[0].sum()


def test_one_column_may_be_all_that_can_move():
    rng = np.random.default_rng(1)
    truth, cells, alone = normal(rng)
    found = fitter((0,)).fit(cells, alone, rng)
    assert found[1] is alone[1] and apart(found, truth) < apart(alone, truth)
    assert fitter(()).fit(cells, alone, rng) is alone


def test_much_noise_asks_for_nothing():
    """Where counts are noise, places stay independent: fine cells are those of independent columns."""
    rng = np.random.default_rng(2)
    _, cells, _ = normal(rng)
    fine = fitter().cut(cells)[0]
    side = side_of(fine, np.arange(CELLS))
    table = np.outer(*(np.full(CELLS, 1 / CELLS),) * 2) + 1e-3 * np.eye(CELLS)
    flat = smooth(table, 100.0, side, side)
    np.testing.assert_allclose(
        flat / (fine.shares[:, None] * fine.shares * 16.0), table[fine.cell][:, fine.cell], rtol=0.05
    )


def test_smooth_tables_keep_what_was_counted():
    rng = np.random.default_rng(3)
    table = rng.random((CELLS, CELLS)) + 4.0 * np.eye(CELLS)
    table /= table.sum()
    fines = [cut(columns()[0], table.sum(axis=axis), inside.GRIDS[0]) for axis in (1, 0)]
    sides = [side_of(fine, np.arange(CELLS)) for fine in fines]
    found = smooth(table, 1e-4, *sides)
    blocks = [np.eye(CELLS)[side.cell] for side in sides]
    np.testing.assert_allclose(blocks[0].T @ found @ blocks[1], table, rtol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), fines[0].shares, rtol=0.02)


def test_values_of_their_own_and_what_is_no_number_stand_for_themselves():
    cell = np.r_[0, 1, np.repeat(np.arange(2, 5), 20)]  # missing, a value of its own, numbers
    numbers, wide = cell > 0, cell > 1
    share = np.r_[1.0, 1.0, np.full(60, 1 / 20)]
    fine = cut(ColumnOutcomes(cell, share, numbers, wide), np.full(5, 0.2), inside.GRIDS[0])
    np.testing.assert_allclose(fine.shares.sum(), 1.0)
    side = side_of(fine, np.arange(5))
    np.testing.assert_array_equal(side.weights[:2], np.eye(5)[:2])
    assert not side.weights[2:, :2].any()
    np.testing.assert_allclose(side.weights.sum(axis=1), 1.0)
    joined = side_of(fine, np.asarray([0, 1, 1, 2, 2]))  # the value shares a cell with others in this table
    assert joined.weights.shape == (len(fine.cell), 3) and (joined.weights[0] == [1, 0, 0]).all()


def test_tables_of_all_pairs_have_no_more_cells_than_allowed(monkeypatch):
    _, cells, alone = normal(np.random.default_rng(4))
    sizes = []
    for most in (1 << 20, 300, 120, 1):
        monkeypatch.setattr(inside, "MOST", most)
        fine = fitter().cut(cells)
        sizes.append(len(fine[0].cell) if fine else 0)
        assert fitter().size(fine) <= max(most, 1)
    assert sizes[0] > sizes[1] > sizes[2] >= sizes[3] == 0
    assert fitter().fit(cells, alone, np.random.default_rng(4)) is alone


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_a_pair_that_was_counted_twice_the_finer_table_is_used(order):
    """In nodes 1 and 3, and in the finer ones of the same columns, 2 and 3."""
    counted = Counted(np.asarray([1, 2])[list(order)], np.asarray([3, 3]), np.asarray([1.0, 2.0])[list(order)])
    kept = best_known(counted, np.asarray([2, 4, 8, 4]), np.asarray([0, 1, 1, 2]))
    assert (kept.left.tolist(), kept.right.tolist(), kept.noise.tolist()) == ([2], [3], [2.0])


def test_levels_of_a_column():
    coarser = Coarser([1, 2, 4, 3], {2: np.asarray([0, 0, 1, 1])})
    assert [coarser.finest(node) for node in range(4)] == [0, 2, 2, 3]
    assert coarser.cells(1).tolist() == [0, 0, 1, 1] and coarser.cells(3).tolist() == [0, 1, 2]


def test_a_model_that_does_not_say_which_pairs_were_counted_still_draws():
    """Older artifacts: their numbers lie inside cells independently."""
    schema = Schema(columns=tuple(Column(name=name, kind="continuous", lower=-4, upper=4) for name in "ab"))
    rng = np.random.default_rng(5)
    x = rng.normal(size=3000)
    rows = pd.DataFrame({"a": x, "b": x + 0.2 * rng.normal(size=3000)})
    model = fit(us.CliqueTree(epsilon=3.0), rows, schema, noise=SeededNoise(0))
    weights = {name: value for name, value in model.weights.items() if not name.startswith("counted_")}
    older = replace(model.generator, pairs=0)
    assert model.generator.mismatch(model.weights) == older.mismatch(weights) == ""
    assert "counted_left" in model.generator.mismatch(weights)
    drawn = [
        np.column_stack([one.place for one in generator.columns(own)(np.zeros(2000, int), np.random.default_rng(0))])
        for generator, own in ((model.generator, model.weights), (older, weights))
    ]
    np.testing.assert_allclose(*(np.sort(part, axis=0) for part in drawn), atol=0.1)
    known, unknown = (np.corrcoef(part.T)[0, 1] for part in drawn)
    assert known > unknown > 0.8
