"""Cells that are believed empty, and columns of few numbers that are found. Seeded: cannot fail by chance."""

import numpy as np
import pytest

from understudy.methods.clique_tree.descent import Measured, descend, settled, start, unlikely
from understudy.methods.clique_tree.sparse import believed_empty
from understudy.methods.clique_tree.tree import JunctionTree

ROWS, NOISE = 40_000.0, 20.0
SHARES = np.asarray([0.3, 0.2, 0.15, 0.1, 0.08, 0.07, 0.05, 0.03, 0.015, 0.005])


def noisy(true, seed=0):
    return true + np.random.default_rng(seed).normal(0.0, NOISE, true.shape)


def test_where_one_column_determines_the_other_nearly_all_other_cells_are_empty():
    true = np.diag(SHARES) * ROWS
    empty = believed_empty(noisy(true), NOISE)
    assert not empty[np.diag_indices(10)].any() and empty.sum() >= 80
    raw = np.maximum(noisy(true), 0.0)
    item = Measured((1, 2), noisy(true), NOISE)
    assert np.abs(settled(item, ROWS, unlikely(item)) - true).sum() < 0.5 * np.abs(raw * ROWS / raw.sum() - true).sum()
    found = descend(JunctionTree([1, 10, 10], [(1, 2)], [], ROWS), [item], 200).found[0]
    assert found[empty].sum() < 1.0 and np.trace(found) > 0.995 * ROWS


def test_where_columns_do_not_depend_on_each_other_no_cell_with_rows_is_emptied():
    true = np.outer(SHARES, SHARES) * ROWS
    empty = believed_empty(noisy(true), NOISE)
    assert true[empty].sum() < 0.001 * ROWS
    assert not believed_empty(np.zeros((2, 2)), NOISE).any()
    assert np.isfinite(start(Measured((1, 2), noisy(true), NOISE), empty)).all()


def test_of_a_table_that_is_nothing_but_noise_some_cell_keeps_the_rows():
    """About one such table in 20,000 looks empty everywhere: a fit of few rows died of it when its budget was spent."""
    noise = [[-15.2, -19.1, -27.1, -19.0, 59.5], [-42.1, -4.2, -36.9, -29.3, 40.1], [25.0, 16.8, -24.1, 23.8, -40.1]]
    item = Measured((0, 1), np.asarray(noise), 30.0)
    assert unlikely(item).all()
    assert settled(item, 6.0, unlikely(item)).sum() == pytest.approx(6.0)
    first = np.zeros((3, 5))
    first[0] = 1.0
    found = settled(item._replace(possible=first), 6.0, unlikely(item))
    assert found.sum() == pytest.approx(6.0) and (found[1:] == 0.0).all()
