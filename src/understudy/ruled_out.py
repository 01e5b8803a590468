"""Which of several conditions a model rules out: those that have probability 0 also without the others.

A model that cannot draw rows under conditions names all of them. People want to know which one to change: conditions whose
removal leaves the rest impossible are not to blame.
"""

from typing import Any

from understudy.errors import UsageError
from understudy.schema.boxes import Box, Boxes


def to_blame(source: Any, found: Boxes) -> UsageError | None:
    """The error that names the conditions which cannot hold for any row of `source`; None if all of them are needed for that."""
    if len(found) != 1 or len(found[0]) < 2:
        return None
    left = found[0]
    for one in found[0]:
        rest = tuple(other for other in left if other is not one)
        if rest and not drawn(source, rest):
            left = rest
    if len(left) == len(found[0]):
        return None
    names = ", ".join(repr(one.column.name) for one in left)
    which = f"condition on {names}: it has" if len(left) == 1 else f"conditions on {names}: together they have"
    return UsageError(f"where: no row of this model fulfils the {which} probability 0, whatever else is asked for")


def drawn(source: Any, box: Box) -> bool:
    """Whether rows can be drawn under these conditions."""
    try:
        source.where((box,))
    except UsageError:
        return False
    return True
