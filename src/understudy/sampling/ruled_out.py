"""Which of several conditions a model rules out: those that have probability 0 also without the others.

A model that cannot draw rows under conditions names all of them. People want to know which one to change: conditions whose
removal leaves the rest impossible are not to blame. Joined by `or` every box is impossible by itself, so each is asked.
"""

from typing import Any

from understudy.errors import UsageError
from understudy.schema.boxes import Box, Boxes

MOST_TRIED = 256  # conditions; leaving one out is a computation in the tree


def to_blame(source: Any, found: Boxes) -> UsageError | None:
    """The error that names the conditions which cannot hold for any row of `source`; None if all of them are needed for that."""
    named = {one.column.name for box in found for one in box}
    if len(named) < 2 or sum(map(len, found)) > MOST_TRIED:
        return None
    parts = list(dict.fromkeys(tuple(one.column.name for one in needed(source, box)) for box in found))
    parts = [part for part in parts if not any(set(other) < set(part) for other in parts)]
    if len(parts) == 1 and set(parts[0]) == named:
        return None
    lists = [", ".join(map(repr, part)) for part in parts]
    if len(parts) > 1:
        each = ", and so have those on ".join(lists).replace(", and so", " have probability 0, and so", 1)
        return UsageError(f"where: no row of this model fulfils any part between `or`: conditions on {each}")
    which = (
        f"condition on {lists[0]}: it has" if len(parts[0]) == 1 else f"conditions on {lists[0]}: together they have"
    )
    return UsageError(f"where: no row of this model fulfils the {which} probability 0, whatever else is asked for")


def needed(source: Any, box: Box) -> Box:
    """Conditions of one box that have probability 0 without the others."""
    left = box
    for one in box:
        rest = tuple(other for other in left if other is not one)
        if rest and not drawn(source, rest):
            left = rest
    return left


def drawn(source: Any, box: Box) -> bool:
    """Whether rows can be drawn under these conditions."""
    try:
        source.where((box,))
    except UsageError:
        return False
    return True
