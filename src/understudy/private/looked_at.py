"""Which numbers of an encoded row a question looks at. Found from the question alone, so that the columns of a large file that it
does not name are not read for it: a pass over one column of thirty costs a thirtieth."""

from typing import Any

import numpy as np

from understudy.questions import row_maps as maps
from understudy.questions.row_maps import Step

WHOLE_ROWS = (maps.Scores, maps.Cosines, maps.Forest, maps.Leaves)
Found = frozenset[int] | None  # None: the whole row


def looked_at(question: object) -> Found:
    """Places that the steps of a question name, the class apart."""
    places: set[int] = set()
    return frozenset(places) if _visit(question, places) else None


def _visit(thing: object, places: set[int]) -> bool:
    """Adds what a step and the steps inside it look at; False if that is the whole row."""
    if isinstance(thing, tuple):
        return all(_visit(part, places) for part in thing)
    if isinstance(thing, WHOLE_ROWS) or (isinstance(thing, maps.Places) and thing.index is None):
        return False
    for own in named(thing):
        places |= {int(place) for place in np.ravel(own) if place >= 0}
    inside = isinstance(thing, Step) or hasattr(thing, "event")
    return not inside or all(_visit(part, places) for part in vars(thing).values())


def named(step: object) -> tuple[Any, ...]:
    """What a step says about the places it looks at."""
    if isinstance(step, maps.Places):
        return (step.index,)
    if isinstance(step, maps.Cuts):
        each = zip(step.missing, step.codes, strict=True) if step.codes else ()
        return step.places, step.missing, *(np.arange(flag + 1, flag + 1 + codes) for flag, codes in each if flag >= 0)
    return (step.starts,) if isinstance(step, maps.Outcomes) else ()
