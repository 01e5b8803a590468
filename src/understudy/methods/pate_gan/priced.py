"""PATE-GAN as the paper describes it, with a price that holds: its networks, losses and batches, rounds fixed beforehand.

Generator (uniform noise, layers of d, d/2 and d units) and student are the paper's (`generator_published.py`); the label is one
more column, one ensemble of k linear teachers sees all rows, and each round has n_T teacher steps (Eq. 6), n_S student steps on
thresholded noisy votes (Eq. 7) and one generator step (Eq. 5). What differs is the analysis: the paper trains until a
data-dependent epsilon is used up, which is itself private. Here the number of rounds is an option, and each of the
rounds x n_S x batch answers has the price of its noise, whatever the votes were. Nothing else is paid for but the number of rows.

    noise = "laplace"     as in the paper
    noise = "gaussian"    cheaper for thousands of answers

With k teachers the noise on a vote share is sqrt(T) / (k mu), so the paper's thousands of answers cost it all that a vote could
say (docs/pate-gan.md); `pate-gan-joint` asks otherwise.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Plan
from understudy.estimator import Estimator
from understudy.measure.warm_start import histogram_beside
from understudy.methods.pate_gan.generator_published import PublishedGenerator
from understudy.methods.pate_gan.method import check_report, with_report
from understudy.methods.teachers import announce_report
from understudy.nn.heads import Heads
from understudy.plan import preparation
from understudy.private.mechanisms.teacher_votes import TeacherVotes
from understudy.recipe import Announced, Curator, Opening, check_choice, check_counts, check_positive
from understudy.schema import Codec, Schema

VOTES = "teacher votes"
SURPLUS = 5.0  # deviations of a shard's number of rows that its capacity leaves room for


@dataclass(kw_only=True, eq=False, repr=False)
class PateGanPriced(Estimator):
    """Options of the paper's algorithm; the number of rounds is one of them, so the price is known beforehand."""

    method: ClassVar[str] = "pate-gan-priced"
    words: ClassVar[Mapping[str, str]] = {
        "teachers": "teachers in all; None: the released number of rows / 100",
        "rounds": "rounds of training, student_steps x batch answers in each; more of them mean more noise on each answer",
        "batch": "generated rows per step; each of the student's asks for a vote",
        "student_steps": "steps of the student per round (n_S); each asks for batch votes, so more mean more noise",
        "learning_rate": "learning rate of student and generator, as the paper has it",
        "teacher_learning_rate": "learning rate of teachers",
        "answers": "what the released share of votes says: the share, or the label of the majority",
        "noise": "gaussian or laplace noise on votes; with delta=0 laplace",
    }

    teachers: int | None = None  # None: the released number of rows / 100
    rounds: int = 20
    batch: int = 64
    teacher_steps: int = 5  # n_T
    student_steps: int = 5  # n_S
    learning_rate: float = 1e-3
    teacher_learning_rate: float = 0.1
    answers: Literal["share", "label"] = "label"  # the paper's thresholded vote, or the share before the threshold
    noise: Literal["gaussian", "laplace"] = "gaussian"
    report_share: float = 0.0  # of the squared loss, for a sanitised data-dependent epsilon of the votes; 0: none

    def check_options(self) -> None:
        check_counts(
            teachers=1 if self.teachers is None else self.teachers,
            rounds=self.rounds,
            batch=self.batch,
            teacher_steps=self.teacher_steps,
            student_steps=self.student_steps,
        )
        check_positive(learning_rate=self.learning_rate, teacher_learning_rate=self.teacher_learning_rate)
        check_choice(noise=(self.noise, ("gaussian", "laplace")), answers=(self.answers, ("share", "label")))
        check_report(self.report_share, self.answers, self.noise)

    def conditional(self, schema: Schema) -> bool:
        return False

    @property
    def histogram_weight(self) -> float:
        return histogram_beside(1.0)

    @property
    def judged(self) -> int:
        """Answers of a round."""
        return int(self.student_steps * self.batch)

    def announce(self, schema: Schema) -> list[Announced]:
        def event(z: float) -> dpa.DpEvent:
            return self._votes(1, 1, z).event(int(self.rounds))

        detail = f"{self.rounds} rounds x {self.student_steps} student steps x {self.batch} answers"
        votes = Announced(VOTES, 1.0, event, answers=int(self.rounds) * self.judged, detail=detail)
        return [*announce_report(self.report_share, [*preparation(self, schema, self.budget), votes]), votes]

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        rows = float(counts.sum())
        teachers = self.teachers or max(round(rows / 100.0), 2)
        mean = rows / teachers
        capacity = math.ceil(mean + SURPLUS * math.sqrt(mean * codec.schema.max_rows_per_unit) + 1)
        votes = self._votes(teachers, capacity, plan.parameters["noise"][VOTES])
        asked = with_report(votes, self.report_share, int(self.rounds), plan)
        heads = Heads.of(codec.blocks, codec.width)
        generator = PublishedGenerator(heads, self.batch, self.teacher_steps, self.student_steps, self.learning_rate)
        return Opening(generator, None, VOTES, asked, int(self.rounds))

    def advice(
        self, schema: Schema, settings: dict[str, Any], noise: Mapping[str, float], rows: int | None
    ) -> list[str]:
        """How the noise compares with the largest possible majority."""
        votes = self._votes(1, 1, noise[VOTES]).scale
        asked = f"vote noise: {votes:,.0f} votes on each of {int(self.rounds) * self.judged:,} answers"
        known = self.teachers or (None if rows is None else max(round(rows / 100.0), 2))
        if known is None or votes < known / 2.0:
            return [asked]
        return [
            f"{asked}, of {known:,} teachers: majorities drown in it; fewer rounds, smaller batches or more teachers help"
        ]

    def _votes(self, teachers: int, capacity: int, sigma: float) -> TeacherVotes:
        return TeacherVotes(
            teachers=(teachers,),
            capacity=capacity,
            judged=self.judged,
            classes_per_unit=1,
            kind=self.noise,
            sigma=sigma,
            answers=self.answers,
            learning_rate=self.teacher_learning_rate,
            weight_decay=0.0,
        )
