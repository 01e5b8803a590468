"""The preset `as-published`: Algorithm 1, its hyper-parameters, its moments accountant and its stopping rule, for research.

Its certificate is void: the number of rounds is chosen by a data-dependent epsilon, which is itself private (the paper's
Algorithm 1 does not have the guarantee it claims; see docs/pate-gan.md). Rows are still partitioned by a keyed hash and
columns are still scaled by public bounds, so that those mistakes of public implementations are not repeated here.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Charge, Plan
from understudy.estimator import Estimator
from understudy.methods.pate_gan.generator_published import PublishedGenerator
from understudy.nn.heads import Heads
from understudy.private.mechanisms.published_votes import PublishedVotes
from understudy.recipe import Announced, Curator, Opening, check_positive
from understudy.schema import Codec, Schema

VOTES = "teacher votes, as published"


@dataclass(kw_only=True, eq=False, repr=False)
class PateGanAsPublished(Estimator):
    """Options of the published algorithm; its accountant depends on the data, so the certificate is void."""

    method: ClassVar[str] = "pate-gan-as-published"
    words: ClassVar[Mapping[str, str]] = {
        "epsilon": "the data-dependent epsilon at which training stops; no guarantee",
        "teachers": "teachers in all; None: the released number of rows / 1000",
        "batch": "generated rows per step; each of the student's asks for a vote",
        "student_steps": "steps of the student per round (n_S); each asks for batch votes",
        "learning_rate": "learning rate of teachers, student and generator, as the paper has it",
    }

    teachers: int | None = None  # None: released row count / 1000, one of the paper's choices
    inverse_scale: float = 0.01  # lambda; the paper does not state its value
    batch: int = 64
    teacher_steps: int = 5
    student_steps: int = 5
    learning_rate: float = 1e-4
    max_rounds: int = 2000

    @property
    def void_reason(self) -> str:
        return (
            "as published: training stops by a data-dependent epsilon, which is itself private; the guarantee is void"
        )

    def check_options(self) -> None:
        check_positive(
            inverse_scale=self.inverse_scale,
            batch=self.batch,
            teacher_steps=self.teacher_steps,
            student_steps=self.student_steps,
            learning_rate=self.learning_rate,
            max_rounds=self.max_rounds,
            teachers=self.teachers or 1,
        )

    def conditional(self, schema: Schema) -> bool:
        return False

    def announce(self, schema: Schema) -> list[Announced]:
        return []

    def unpriced(self) -> tuple[Charge, ...]:
        """One unpriced event per chunk at most; the ledger lists them all the same."""
        return (Charge(VOTES, dpa.SelfComposedDpEvent(dpa.NonPrivateDpEvent(), self.max_rounds), "not a valid price"),)

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        rows = float(counts.sum())
        teachers = self.teachers or max(round(rows / 1000), 2)
        mean = rows / teachers
        mechanism = PublishedVotes.of(
            teachers,
            math.ceil(mean + 5.0 * math.sqrt(mean) + 1),
            self.student_steps * self.batch,
            self.learning_rate,
            inverse_scale=self.inverse_scale,
            delta=self.delta,
            epsilon=self.epsilon,
        )
        heads = Heads.of(codec.blocks, codec.width)
        generator = PublishedGenerator(heads, self.batch, self.teacher_steps, self.student_steps, self.learning_rate)
        return Opening(generator, None, VOTES, mechanism, self.max_rounds)

    def settings(self, schema: Schema, rows: int | None) -> dict[str, Any]:
        return super().settings(schema, rows) | {"preset": "as-published"}
