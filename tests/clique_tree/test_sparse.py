"""Cells that are believed empty, and columns of few numbers that are found. Seeded: cannot fail by chance."""

import numpy as np

from understudy.methods.clique_tree.descent import Measured, descend, settled, start, unlikely
from understudy.methods.clique_tree.sparse import believed_empty
from understudy.methods.clique_tree.tree import CliqueTree

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
    found = descend(CliqueTree([1, 10, 10], [(1, 2)], [], ROWS), [item], 200).found[0]
    assert found[empty].sum() < 1.0 and np.trace(found) > 0.995 * ROWS


def test_where_columns_do_not_depend_on_each_other_no_cell_with_rows_is_emptied():
    true = np.outer(SHARES, SHARES) * ROWS
    empty = believed_empty(noisy(true), NOISE)
    assert true[empty].sum() < 0.001 * ROWS
    assert not believed_empty(np.zeros((2, 2)), NOISE).any()
    assert np.isfinite(start(Measured((1, 2), noisy(true), NOISE), empty)).all()
