"""Which places of a row a question names: too few would be read as nothing, too many cost time."""

import numpy as np
import pytest

from understudy.private.looked_at import looked_at
from understudy.questions import Counts, Products
from understudy.questions.row_maps import Cosines, Cuts, Joined, Label, Outcomes, Places

EDGES = (np.asarray([0.5]),)


def cut(place: int, missing: int = -1, codes: tuple[int, ...] = ()) -> Cuts:
    return Cuts(np.asarray([place]), EDGES, np.asarray([missing]), codes=codes)


@pytest.mark.parametrize(
    ("step", "places"),
    [
        (Label(), set()),
        (Places(np.asarray([4, 1])), {1, 4}),
        (Places(), None),
        (cut(3), {3}),
        (cut(3, 4), {3, 4}),
        (cut(3, 4, (2,)), {3, 4, 5, 6}),
        (cut(3, -1, (2,)), {3}),  # codes follow a missing flag: without one they have no place
        (Outcomes(np.asarray([2, 7]), np.asarray([3, 1])), {2, 7}),
        (abs(Places(np.asarray([1])) - 0.5) * Places(np.asarray([2])), {1, 2}),
        (Joined((cut(0), cut(5, 6))), {0, 5, 6}),
        (Joined((cut(0), Cosines((2, 3, 1), 2))), None),
    ],
)
def test_places_are_those_that_the_steps_name(step, places):
    wanted = None if places is None else frozenset(places)
    assert looked_at(Products(step, 1, 1.0)) == wanted
    assert looked_at(Counts(step, (2,), (((0,),),), 1.0, 1)) == wanted
