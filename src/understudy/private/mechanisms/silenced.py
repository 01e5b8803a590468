"""Answers without their noise. NOT private: for the references that private methods are compared with.

The same rows, teachers and questions as the mechanism it stands for, but the tape is blank. Its event has no price, so the
ledger, the certificate and the report of whatever used it say that there is no guarantee.
"""

from dataclasses import dataclass

import dp_accounting as dpa
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from understudy.conversation import Answer, Query
from understudy.private.blocks import Blocks
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.rounds import Data, Held, Mechanism


@dataclass(frozen=True)
class Silenced:
    """Another mechanism with zeros in place of its noise."""

    mechanism: Mechanism

    def event(self, rounds: int) -> dpa.DpEvent:
        return dpa.SelfComposedDpEvent(dpa.NonPrivateDpEvent(), rounds)

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        return np.zeros_like(self.mechanism.tape(rounds, noise))

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Data, Held]:
        return self.mechanism.prepare(blocks, noise)

    def answer(
        self, data: Data, held: Held, query: Query, noise: Int[Array, "..."], key: PRNGKeyArray
    ) -> tuple[Held, Answer]:
        return self.mechanism.answer(data, held, query, noise, key)
