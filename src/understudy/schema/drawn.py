"""Drawn columns: what lies between a generator that draws column by column and a table of values."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np


class Drawn(NamedTuple):
    """One column of drawn rows.

    | column | `code` | `place` |
    | --- | --- | --- |
    | categories, booleans | number of the outcome | None |
    | numbers, dates, ordinals | place among `Column.specials`, below 0: a number; None: all are numbers | in [0, 1] |
    """

    code: np.ndarray | None
    place: np.ndarray | None = None

    @classmethod
    def joined(cls, pieces: "Sequence[Drawn]") -> "Drawn":
        """Pieces of one column, one after the other."""
        return cls(*(None if parts[0] is None else np.concatenate(parts) for parts in zip(*pieces, strict=True)))


Columns = Callable[
    [np.ndarray, np.random.Generator], list[Drawn]
]  # of rows of these classes, in the order of the features
