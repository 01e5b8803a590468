"""PATE-GAN as a method: options, plan, opening (Jordon, Yoon, van der Schaar 2019).

Sound defaults come from public or released values. What decides the quality of the votes is k mu: the noise on a vote share is
sqrt(T) / (k mu) for T answers, so thousands of teachers of few rows each and few rounds with many student and generator steps
in each are the useful regime. With `start="none"` nothing is paid for but the class histogram and the votes; with
`noise="laplace"` besides, all of it has a price at delta = 0 (pure differential privacy), where losses add up: the fewer answers
the better.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Plan
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.measure.warm_start import (
    STARTS,
    StartFrom,
    announce_start_from,
    histogram_beside,
    rounds_weight,
    start_from,
    start_note,
)
from understudy.methods.pate_gan.generator import PateGanGenerator
from understudy.methods.teachers import (
    FEWEST_ROWS,
    USEFUL_SHARE,
    announce_report,
    as_conditioned,
    class_count,
    classes_per_unit,
    ensembles,
    memory_note,
    rows_by_noise,
)
from understudy.nn.heads import Heads
from understudy.plan import preparation
from understudy.private.mechanisms.reported_votes import reported
from understudy.private.mechanisms.teacher_votes import TeacherVotes
from understudy.questions.rounds import REPORT
from understudy.recipe import Announced, Curator, Mechanism, Opening, check_choice, check_counts, check_positive
from understudy.schema import Codec, Schema

VOTES = "teacher votes"
NO_VOTES = (
    "no votes are asked for: on top of paid moments they cannot pay for themselves, and the result is what the moments say; "
    "votes_share=0.1 asks for them all the same, start=none (or method pate-gan-joint) learns from votes alone"
)
USUAL_WEIGHT = 0.1  # of the votes, beside the weights of the start


@dataclass(kw_only=True, eq=False, repr=False)
class PateGan(Estimator):
    """Options; None means a default computed from public or released values (see `settings`)."""

    method: ClassVar[str] = "pate-gan"
    words: ClassVar[Mapping[str, str]] = {
        "rows_per_teacher": "rows that a teacher should have, on average; None: as many as the noise of the votes allows",
    }

    start: StartFrom = "moments"  # what is paid for before the votes
    teachers: int | None = None  # per class; None: the released class count / rows_per_teacher
    by_class: bool = True  # an ensemble per class, or one for all rows with the label as one more column
    rows_per_teacher: float | None = 5.0  # None: as many as the noise of the votes allows, so k follows from epsilon
    most_teachers: int = 100_000  # of all classes together; bounds memory, and surplus rows of a shard are left out
    rounds: int = 30
    judged: int = 32  # answers per class and round
    practice: int = 64  # generated rows per teacher step
    teacher_steps: int = 5  # n_T
    student_steps: int = 50  # n_S
    generator_steps: int = 10
    batch: int = 64
    latent: int = 8
    hidden: int = 32
    student_hidden: int = 64
    teacher_learning_rate: float | None = None
    teacher_decay: float | None = None
    student_learning_rate: float = 1e-3
    student_decay: float = 1.0
    generator_learning_rate: float = 1e-4
    noise: Literal["gaussian", "laplace"] = "gaussian"
    answers: Literal["score", "share", "label"] = "score"
    student: Literal["cross-entropy", "wasserstein"] = "cross-entropy"
    replay: bool = True
    marginals_share: float = 0.2
    moments_share: float = 0.6
    votes_share: float | None = None  # None: none on top of paid moments, where they cannot pay for themselves
    report_share: float = 0.0  # of the squared loss, for a sanitised data-dependent epsilon of the votes; 0: none

    def check_options(self) -> None:
        check_counts(
            rounds=self.rounds,
            judged=self.judged,
            practice=self.practice,
            teacher_steps=self.teacher_steps,
            student_steps=self.student_steps,
            generator_steps=self.generator_steps,
            batch=self.batch,
            latent=self.latent,
            hidden=self.hidden,
            student_hidden=self.student_hidden,
            teachers=1 if self.teachers is None else self.teachers,
            most_teachers=self.most_teachers,
        )
        check_positive(
            rows_per_teacher=1.0 if self.rows_per_teacher is None else self.rows_per_teacher,
            marginals_share=self.marginals_share,
            votes_share=1.0 if self.votes_share is None else self.votes_share,
        )
        if self.moments_share < 0.0:
            raise UsageError(f"moments_share={self.moments_share} must not be negative; 0 switches the moments off")
        check_choice(start=(self.start, STARTS))
        check_choice(
            noise=(self.noise, ("gaussian", "laplace")),
            answers=(self.answers, ("score", "share", "label")),
            student=(self.student, ("cross-entropy", "wasserstein")),
        )
        check_report(self.report_share, self.answers, self.noise)
        if self.report_share and not self.weight:
            raise UsageError(
                f"report_share={self.report_share} is about votes, and none are asked for: give votes_share, too"
            )

    def announce(self, schema: Schema) -> list[Announced]:
        seen = as_conditioned(schema, self.by_class)
        start = announce_start_from(seen, self.start, self.marginals_share, self.moments_share)

        def event(z: float) -> dpa.DpEvent:
            return self._votes((1,), 1, classes_per_unit(seen), z).event(self.rounds)

        detail = f"{self.rounds} rounds x {self.judged} answers per class"
        if not self.weight:
            return start
        votes = Announced(VOTES, self.weight, event, answers=self.rounds * self.judged, detail=detail)
        report = announce_report(self.report_share, [*preparation(self, schema, self.budget), *start, votes])
        return [*start, *report, votes]

    def conditional(self, schema: Schema) -> bool:
        return bool(self.by_class)

    @property
    def weight(self) -> float:
        """Of the votes; 0 where they could not pay for themselves, and then nothing is asked in rounds."""
        return rounds_weight(self.start if self.moments_share else "marginals", self.votes_share, USUAL_WEIGHT)

    @property
    def histogram_weight(self) -> float:
        return histogram_beside(self.weight) if self.start == "none" else super().histogram_weight

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        schema = codec.schema
        heads = Heads.of(codec.blocks, codec.width)
        marginals, start = start_from(self.start, curator, codec, counts, plan)
        noise = plan.parameters["noise"]
        if VOTES not in noise:
            generator = self._generator(heads, codec.class_count)
            return Opening(generator, start._replace(trust=np.zeros_like(start.trust)), marginals=marginals)
        teachers, capacity = self._ensembles(counts, schema, noise)
        mechanism = self._votes(teachers, capacity, classes_per_unit(schema), noise[VOTES], codec.width)
        blur = mechanism.scale / math.sqrt(self.rounds * self.judged) / np.asarray(teachers, float)[:, None]
        start = start._replace(trust=1.0 / (1.0 + (blur / USEFUL_SHARE) ** 2))
        generator = self._generator(heads, codec.class_count)
        asked = with_report(mechanism, self.report_share, self.rounds, plan)
        return Opening(generator, start, VOTES, asked, self.rounds, marginals)

    def advice(
        self, schema: Schema, settings: dict[str, Any], noise: Mapping[str, float], rows: int | None
    ) -> list[str]:
        """Whether the votes and the moments can be told from their noise, in words, before a row is read."""
        schema = as_conditioned(schema, self.by_class)
        if not self.weight:
            return [NO_VOTES, *start_note(schema, noise)]
        answers = self.rounds * self.judged
        sigma = self._votes((1,), 1, classes_per_unit(schema), noise[VOTES]).scale
        notes = [f"vote noise: {sigma:,.0f} votes on each of {answers:,} answers per class", *start_note(schema, noise)]
        if rows is None:
            needed = math.ceil(sigma / math.sqrt(answers) / USEFUL_SHARE)
            notes.append(
                f"votes become useful from about {needed:,} teachers per class, i.e. "
                f"{round(needed * (self.rows_per_teacher or FEWEST_ROWS)):,} rows per class; plan with `rows` (in the schema "
                "too, if the count is public) to see what to expect"
            )
            return notes
        classes = class_count(schema)
        counts = np.full(classes, rows / classes)
        chosen, capacity = self._ensembles(counts, schema, noise)
        teachers = chosen[0]
        blur = sigma / math.sqrt(answers) / teachers
        notes.append(
            f"about {teachers:,} teachers per class if classes were equal: the votes resolve {blur:.1%} of a share"
        )
        notes += memory_note(schema, sum(chosen), capacity)
        if blur > USEFUL_SHARE:
            notes.append(
                "the votes will be mostly noise and the result will rest on the paid marginals and moments; what would help: "
                "more rows, a larger epsilon, fewer rows per unit, or public bounds instead of estimates"
                if self.start != "none"
                else "the votes will be mostly noise and nothing else is paid for; more rows, epsilon or a start would help"
            )
        return notes

    def _ensembles(self, counts: np.ndarray, schema: Schema, noise: Mapping[str, float]) -> tuple[tuple[int, ...], int]:
        """Teachers of every class and rows a shard can hold, from released counts and the plan's noise."""
        rows: float | np.ndarray | None = self.rows_per_teacher
        if rows is None:
            scale = self._votes((1,), 1, classes_per_unit(schema), noise[VOTES]).scale
            rows = rows_by_noise(counts, math.sqrt(self.rounds * self.judged) / scale)
        return ensembles(counts, schema, self.teachers, rows, self.most_teachers)

    def _votes(
        self, teachers: tuple[int, ...], capacity: int, touched: int, sigma: float, width: int = 1
    ) -> TeacherVotes:
        """Weak teachers on purpose: with few rows in many dimensions an unrestrained teacher knows its own rows by heart and
        calls everything else fake. Decay of the order of the noise in a shard's mean keeps logits near one and votes useful.
        """
        rows = self.rows_per_teacher or FEWEST_ROWS
        decay = 0.5 * math.sqrt(width / rows) if self.teacher_decay is None else self.teacher_decay
        learning_rate = 0.5 / max(decay, 1.0) if self.teacher_learning_rate is None else self.teacher_learning_rate
        return TeacherVotes(
            teachers=teachers,
            capacity=capacity,
            judged=self.judged,
            classes_per_unit=touched,
            kind=self.noise,
            sigma=sigma,
            answers=self.answers,
            learning_rate=learning_rate,
            weight_decay=decay,
        )

    def _generator(self, heads: Heads, classes: int) -> PateGanGenerator:
        names = (
            "latent hidden student_hidden judged practice teacher_steps student_steps generator_steps batch rounds "
            "student_learning_rate generator_learning_rate student_decay student replay"
        )
        return PateGanGenerator(heads=heads, classes=classes, **{name: getattr(self, name) for name in names.split()})


def check_report(share: float, answers: str, noise: str) -> None:
    """A report is about labels with Gaussian noise, and leaves something for the answers."""
    if not 0.0 <= share < 1.0:
        raise UsageError(f"report_share={share} must be a share from 0 (no report) to below 1")
    if share and (answers != "label" or noise != "gaussian"):
        raise UsageError(
            f"report_share={share} is about thresholded votes with Gaussian noise: set answers='label' and noise='gaussian'"
        )


def with_report(votes: TeacherVotes, share: float, rounds: int, plan: Plan) -> Mechanism:
    """The votes, and a report on them at the end where a share of the budget pays for one."""
    return reported(votes, rounds, plan.parameters["noise"][REPORT], plan.budget.delta) if share else votes
