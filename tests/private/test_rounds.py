"""How conversations that run together share one compiled program."""

import numpy as np

from understudy.private.rounds import STEP, stack


def test_arrays_of_unequal_size_are_filled_up_to_a_size_that_others_have_too():
    few, more = np.ones((3, 2)), np.ones((STEP + 1, 2))
    joined = stack([few, more])
    assert joined.shape == (2, 2 * STEP, 2), "a multiple of the step where sizes differ, as it is elsewhere"
    assert joined[0].sum() == few.sum() and joined[1].sum() == more.sum()
    assert stack([few, few]).shape == (2, 3, 2)
