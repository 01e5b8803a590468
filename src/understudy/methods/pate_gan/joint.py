"""PATE-GAN with votes as vectors: options, plan, opening.

What a round of joint votes is worth does not depend on how many rows are judged, and what all of them are worth hardly on the
number of rounds: with k teachers of a class, of which a share f has rows, m rows each, F features and the budget's mu, the mean
of a feature over the class is known at the end to

    2 sqrt(F / m) / (mu k f)      deviations of the generated rows,

so teachers of one row do best, and the rounds are as many as a generator needs that starts between public bounds. C is
the length that a teacher's centred vector has by chance, sqrt(n F / m) in units of its features: shorter, and what all teachers
agree on is cut first; longer, and the noise grows with it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

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
    start_from,
    start_note,
)
from understudy.methods.pate_gan.generator_joint import JointGenerator, JointHints
from understudy.methods.teachers import as_conditioned, class_count, classes_per_unit, ensembles, memory_note
from understudy.nn.heads import Heads
from understudy.private.mechanisms.joint_votes import MOST_JUDGED, JointVotes
from understudy.recipe import Announced, Curator, Opening, check_choice, check_counts, check_positive
from understudy.schema import Codec, Schema

VOTES = "joint votes"
# First values; rounds and steps were chosen while looking at credit and epileptic seizure (docs/pate-gan.md).
PER_FEATURE = 1.5  # judged rows per feature: fewer cannot tell the features apart, more cost time and say no more
LEAST_JUDGED = 64
USEFUL = 0.5  # deviations to which a mean must be known to be worth much


class Ensembles(NamedTuple):
    """Teachers of every class, rows a shard can hold, and how full shards are: from released counts."""

    teachers: tuple[int, ...]
    capacity: int
    filled: np.ndarray  # [classes] share of the shards that hold a row
    rows: np.ndarray  # [classes] mean number of rows in those


@dataclass(kw_only=True, eq=False, repr=False)
class PateGanJoint(Estimator):
    """PATE-GAN with one vector of answers per teacher and round; None means a default from public or released values."""

    method: ClassVar[str] = "pate-gan-joint"
    words: ClassVar[Mapping[str, str]] = {
        "judged": "generated rows that teachers judge per class and round; None: half as many again as there are features",
        "votes_share": "share for the teachers' votes",
    }

    start: StartFrom = "none"  # what is paid for before the votes
    teachers: int | None = None  # per class; None: the released class count / rows_per_teacher
    by_class: bool = True  # an ensemble per class, or one for all rows with the label as one more column
    rows_per_teacher: float = 1.0
    most_teachers: int = 100_000  # of all classes together; bounds memory, and surplus rows of a shard are left out
    rounds: int = 24
    whole_steps: int = 10
    judged: int | None = None  # None: half as many again as there are features
    practice: int = 512  # generated rows per teacher step
    teacher_steps: int = 1  # n_T
    batch: int = 512
    norm: float = 1.0
    marginals_share: float = 0.2
    moments_share: float = 0.6
    votes_share: float = 0.1

    def check_options(self) -> None:
        names = "most_teachers rounds whole_steps practice teacher_steps batch"
        check_counts(**{name: getattr(self, name) for name in names.split()})
        check_counts(teachers=1 if self.teachers is None else self.teachers, judged=self.judged or 1)
        names = "rows_per_teacher norm marginals_share moments_share votes_share"
        check_positive(**{name: getattr(self, name) for name in names.split()})
        if self.judged is not None and not 2 <= self.judged <= MOST_JUDGED:
            raise UsageError(f"judged={self.judged} must lie between 2 and {MOST_JUDGED:,}")
        check_choice(start=(self.start, STARTS))

    def announce(self, schema: Schema) -> list[Announced]:
        def event(z: float) -> dpa.DpEvent:
            return dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(z), int(self.rounds))

        schema = as_conditioned(schema, self.by_class)
        if not schema.features:
            raise UsageError(
                f"method {self.method!r} needs a column besides the label; choose pate-gan, mst or mean-embedding"
            )
        start = announce_start_from(schema, self.start, self.marginals_share, self.moments_share)
        detail = f"{self.rounds} rounds, one vector of answers per class and teacher"
        return [*start, Announced(VOTES, self.votes_share, event, answers=int(self.rounds), detail=detail)]

    def conditional(self, schema: Schema) -> bool:
        return bool(self.by_class)

    @property
    def histogram_weight(self) -> float:
        return histogram_beside(self.votes_share) if self.start == "none" else super().histogram_weight

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        marginals, start = start_from(self.start, curator, codec, counts, plan)
        generator = self._generator(Heads.of(codec.blocks, codec.width), codec.class_count)
        made = self._ensembles(counts, codec.schema)
        size = codec.width + len(generator.squared)
        # A logit of about 1/2 on a teacher's own row: no vote is saturated.
        learning_rate = 1.0 / (self.teacher_steps * size)
        slope = 0.5 * self.teacher_steps * learning_rate  # the first steps of Eq. 6 from zero
        mechanism = JointVotes(
            teachers=made.teachers,
            capacity=made.capacity,
            judged=generator.judged,
            classes_per_unit=classes_per_unit(codec.schema),
            sigma=plan.parameters["noise"][VOTES],
            norm=self.norm * slope * math.sqrt(generator.judged * size / power_of_two(float(made.rows.max()))),
            squared=generator.squared,
            learning_rate=learning_rate,
        )
        blur = mechanism.deviation / np.asarray(made.teachers, float)
        return Opening(
            generator, JointHints(start, blur, slope * made.filled), VOTES, mechanism, self.rounds, marginals
        )

    def advice(
        self, schema: Schema, settings: dict[str, Any], noise: Mapping[str, float], rows: int | None
    ) -> list[str]:
        """How well the votes can place the columns of a class, in words, before a row is read."""
        schema = as_conditioned(schema, self.by_class)
        notes = start_note(schema, noise)
        if rows is None:
            return [
                *notes,
                "plan with `rows` (in the schema too, if the count is public) to see what the votes resolve",
            ]
        made = self._ensembles(np.full(class_count(schema), rows / class_count(schema)), schema)
        touched = math.sqrt(classes_per_unit(schema))
        mu = math.sqrt(self.rounds) / noise[VOTES] / touched
        size = sum(2 if column.kind in ("continuous", "integer", "datetime") else 1 for column in schema.features)
        blur = 2.0 * math.sqrt(size / made.rows[0]) / (mu * made.teachers[0] * made.filled[0])
        notes.append(
            f"about {made.teachers[0]:,} teachers per class if classes were equal: means and spreads of columns are found "
            f"within about {blur:.2g} of a standard deviation"
        )
        if blur > USEFUL:
            notes.append(
                "that is too little to tell classes apart; more rows, fewer columns or a larger epsilon would help"
            )
        return notes + memory_note(schema, sum(made.teachers), made.capacity)

    def _ensembles(self, counts: np.ndarray, schema: Schema) -> Ensembles:
        teachers, capacity = ensembles(counts, schema, self.teachers, self.rows_per_teacher, self.most_teachers)
        each = np.asarray(counts, float) / np.asarray(teachers, float)
        filled = -np.expm1(-each / min(schema.max_rows_per_unit, 4))
        return Ensembles(teachers, capacity, filled, np.minimum(each / filled, capacity))

    def _generator(self, heads: Heads, classes: int) -> JointGenerator:
        size = heads.width + int(heads.coordinates("numeric").sum())
        judged = self.judged or min(max(math.ceil(PER_FEATURE * size), LEAST_JUDGED), MOST_JUDGED)
        names = "practice teacher_steps batch whole_steps"
        same = {name: getattr(self, name) for name in names.split()}
        return JointGenerator(heads=heads, classes=classes, judged=int(judged), **same)


def power_of_two(rows: float) -> float:
    """The nearest one: C need not be finer, and fits whose noisy counts differ a little share one compiled program."""
    return float(2.0 ** round(math.log2(max(rows, 1.0))))
