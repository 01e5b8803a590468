"""A curator of rows that nobody owns: what questions would have released about simulated rows. No table, no ledger, no price.

Copies of a fitted model (`understudy.methods.mean_embedding.redraw`) put rows drawn from it in the place of the people and
ask the method's own questions again, through the code that answers them for real. The rows are public and the noise is seeded:
nothing here may ever see a private row.
"""

from typing import Any

import numpy as np

from understudy.private.answers import ANSWERS
from understudy.private.curator import Curator
from understudy.private.mapping import Block
from understudy.private.noise import SeededNoise
from understudy.private.release import Release
from understudy.questions import Question


class Simulation(Curator):
    """Answers questions about public rows `rows` [n, width] of these classes; `units` where people are counted."""

    def __init__(self, rows: np.ndarray, classes: np.ndarray, units: np.ndarray | None, seed: int) -> None:
        self.block, self.noise = Block(rows, classes, units), SeededNoise(seed)

    def ask(self, purpose: str, question: Question) -> Release[Any]:
        """Sums with noise; nobody is asked, and nothing is charged."""
        answer = ANSWERS[type(question)]
        total = answer.start(question, self.block.rows.shape[1])
        answer.add(question, total, self.block)
        return Release(question.read(answer.release(question, total, self.noise)), question.event)
