"""Where runs of cells that hold something are found in noisy counts."""

import numpy as np

from understudy.questions.bounds import THRESHOLD, clearest


def test_a_run_at_the_first_cell_is_scored_like_any_other():
    for place in (0, 3, 29):
        counts = np.zeros(30)
        counts[place] = THRESHOLD + 0.5
        assert clearest(counts) == (place, place + 1)
        counts[place] = THRESHOLD - 0.5
        assert clearest(counts) is None


def test_fewer_cells_than_the_longest_run_are_searched_whole():
    assert clearest(np.array([100.0])) == (0, 1)
    assert clearest(np.array([5.0, 5.0, 5.0])) == (0, 3)
