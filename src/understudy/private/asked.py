"""A question as workers get it: what to start from, and how a block of rows is added. Data only, so that it can be sent.

Everything in it is public: the question itself, the width of an encoded row, and the schema. `share` is the exception: a key
drawn for one pass that decides which texts are counted in it (`answers/categories.py`); it is thrown away after the pass and
never leaves the curator and its workers.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.private.answers import ANSWERS, categories
from understudy.private.mapping import Block
from understudy.private.units import Raw
from understudy.questions import Clique
from understudy.schema import Schema


@dataclass(frozen=True)
class Asked:
    """About encoded rows. `cliques`: of marginals only those that are not known yet; None: all that the question names."""

    question: Any
    width: int
    cliques: tuple[Clique, ...] | None = None

    def start(self) -> Any:
        """The sums of no rows."""
        nothing = ANSWERS[type(self.question)].start(self.question, self.width)
        return nothing if self.cliques is None else {clique: np.zeros_like(nothing[clique]) for clique in self.cliques}

    def add(self, total: object, block: Block) -> None:
        """Add the rows of one block."""
        ANSWERS[type(self.question)].add(self.question, total, block)


@dataclass(frozen=True)
class AskedRaw:
    """About cells as they were read, before rows are encoded."""

    question: Any
    schema: Schema
    share: categories.Share | None = None

    def start(self) -> Any:
        """The sums of no rows."""
        return ANSWERS[type(self.question)].start(self.question, 0)

    def add(self, total: object, read: Raw) -> None:
        """Add the rows of one block."""
        more = () if self.share is None else (self.share,)
        ANSWERS[type(self.question)].add(self.question, total, read.rows, read.units, self.schema, *more)
