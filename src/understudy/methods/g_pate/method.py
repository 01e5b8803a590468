"""G-PATE as a method: options, plan, opening (Long et al. 2021).

What a question is worth is (teachers x mu) / sqrt(questions): the noise of an arg-max over T questions is sqrt(2 T) / mu votes.
So the defaults ask little (few rounds, few fakes, few projected coordinates), with as many teachers as the rows allow and two
bins, i.e. teachers vote on the sign of a coordinate. Ensembles are split by class, which costs nothing where a unit has one.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import dp_accounting as dpa
import numpy as np
from scipy.special import ndtr

from understudy.accounting import Plan, gaussian
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.measure.marginals import Marginals, NormalScores, public_marginals
from understudy.measure.warm_start import announce_start, ask_class_start, ask_start, public_start, start_note
from understudy.methods.g_pate.generator import GPateGenerator, Hints
from understudy.methods.teachers import USEFUL_SHARE, announce_report, classes_per_unit, ensembles
from understudy.nn.copula import Start
from understudy.nn.heads import Heads
from understudy.nn.images import ConvTeacher
from understudy.nn.mlp import Mlp
from understudy.plan import preparation
from understudy.private.mechanisms.reported_gradients import reported
from understudy.private.mechanisms.teacher_gradients import MOST_UNITS, TeacherGradients, TeacherNetwork
from understudy.questions.rounds import REPORT
from understudy.recipe import Announced, Curator, Mechanism, Opening, check_choice, check_counts, check_positive
from understudy.schema import Codec, Schema

DIRECTIONS = "teacher directions"
SPREAD = 0.4  # of pixels around their class's location, where nothing was paid for; black is -1, white 1
PIXEL_CELLS = 64  # between black and white, where class moments are paid for
LOOSE = 1e3  # prior_deviation of a generator that has nothing to be held to
MOST_ANSWER_UNITS = 10**6  # an answer's noise is then 1/700 of a test's
# Beside 0.1 for the class ratio, whose noise is then 141 rows at epsilon 1, as Laplace noise at epsilon 0.01 has.
PUBLISHED_SHARE = 142.0


class Choices(NamedTuple):
    """Options whose default depends on the kind of table."""

    teacher_hidden: int
    teacher_learning_rate: float
    teacher_decay: float
    step: float
    marginals_share: float
    moments_share: float
    directions_share: float


TABLES = Choices(
    teacher_hidden=8,
    teacher_learning_rate=0.3,
    teacher_decay=0.1,
    step=0.1,
    marginals_share=0.2,
    moments_share=0.6,
    directions_share=0.1,
)


def pictures(pixels: int, hidden: int) -> Choices:
    """Pixels are on a common scale as they are, and thousands of teachers of one class agree on where it lies: all but the
    class ratio goes into directions, as in the paper.

    Logits grow with the number of pixels, so rates fall with it. A linear teacher forgets 30 % in a step, so that its wish is
    about the present fakes; one with a hidden layer would forget how to see.
    """
    return Choices(
        teacher_hidden=hidden,
        teacher_learning_rate=1.0 / pixels,
        teacher_decay=(0.03 if hidden else 0.3) * pixels,
        step=2.0,
        marginals_share=0.0,
        moments_share=0.0,
        directions_share=PUBLISHED_SHARE,
    )


@dataclass(kw_only=True, eq=False, repr=False)
class GPate(Estimator):
    """Options; None means a default computed from public or released values."""

    method: ClassVar[str] = "g-pate"
    words: ClassVar[Mapping[str, str]] = {
        "rounds": "how often the generator asks; more rounds mean more noise on each answer; None: as many as sigma_test leaves",
        "judged": "generated rows that teachers judge per ensemble and round",
        "clip": "largest size of a projected coordinate that is told apart (c); bins divide what lies within",
        "marginals_share": "share of the squared loss for one-way marginals and cells of the columns; None: by the kind of table",
        "moments_share": "share for locations, scales and rates of columns per class; None: by the kind of table",
        "directions_share": (
            "share for the directions in which teachers would move generated rows; None: by the kind of table"
        ),
    }

    teachers: int | None = None  # per ensemble; None: its released row count / rows_per_teacher
    rows_per_teacher: float = 5.0
    most_teachers: int = 100_000  # of all ensembles together; bounds memory
    by_class: bool = True  # an ensemble per class, or one that sees the class
    network: Literal["dense", "conv"] = "dense"  # conv: generator and teachers for images, appendix A.6
    teacher_hidden: int | None = None  # units of a teacher's hidden layer; 0: linear teachers
    teacher_kernels: int = 8  # of convolutional teachers
    teacher_steps: int = 3
    teacher_learning_rate: float | None = None
    teacher_decay: float | None = None
    practice: int = 32  # generated rows per teacher step
    chunk: int = 4096  # teachers at once; bounds memory
    rounds: int | None = 30  # None: as many as `sigma_test` leaves
    judged: int = 16  # rows per ensemble and round
    projected: int = 5  # k; as many as a row has coordinates: no projection
    bins: int = 2  # B
    clip: float = 1e-3  # c
    threshold: float = 0.55  # share of the teachers that makes a consensus
    answer_units: int = 8  # price of an answer, where a test of consensus costs 1
    expected: float = 0.6  # share of the questions that the plan pays answers for
    sigma_test: float | None = None  # with rounds=None: noise of the test in votes
    step: float | None = None  # how far a row is asked to move
    generator_steps: int = 5
    generator_learning_rate: float = 2e-3
    latent: int = 8
    hidden: int = 32
    marginals_share: float | None = None  # 0 with moments_share 0: start from nothing
    moments_share: float | None = None
    directions_share: float | None = None
    report_share: float = 0.0  # of the squared loss, for a sanitised data-dependent epsilon of the directions; 0: none

    def check_options(self) -> None:
        names = "teacher_steps practice chunk judged projected bins answer_units generator_steps latent hidden teacher_kernels"
        check_counts(**{name: getattr(self, name) for name in names.split()})
        check_counts(rounds=self.rounds or 1, teachers=1 if self.teachers is None else self.teachers)
        check_positive(
            rows_per_teacher=self.rows_per_teacher,
            clip=self.clip,
            expected=self.expected,
            generator_learning_rate=self.generator_learning_rate,
        )
        given = {name: getattr(self, name) for name in Choices._fields if getattr(self, name) is not None}
        check_positive(
            **{name: given[name] for name in ("step", "directions_share", "teacher_learning_rate") if name in given}
        )
        for name in ("teacher_decay", "marginals_share", "moments_share"):
            if given.get(name, 0.0) < 0.0:
                raise UsageError(f"{name}={given[name]} must not be negative; 0 switches it off")
        check_choice(network=(self.network, ("dense", "conv")))
        if self.network == "conv" and self.teacher_hidden == 0:
            raise UsageError("network=conv needs teacher_hidden of at least 1")
        if self.bins < 2:
            raise UsageError(f"bins={self.bins} must be at least 2: teachers vote between bins")
        if self.answer_units > MOST_ANSWER_UNITS:
            raise UsageError(
                f"answer_units={self.answer_units:g} must be at most {MOST_ANSWER_UNITS:,}: an answer costs that many tests"
            )
        if not 0.0 <= self.threshold <= 1.0 or not self.expected <= 1.0:
            raise UsageError(f"threshold={self.threshold} and expected={self.expected} are shares from 0 to 1")
        if self.rounds is None and self.sigma_test is None:
            raise UsageError("rounds=None needs sigma_test: the number of rounds then follows from the noise")
        if not 0.0 <= self.report_share < 1.0:
            raise UsageError(f"report_share={self.report_share} must be a share from 0 (no report) to below 1")
        if self.teacher_hidden is not None and (
            self.teacher_hidden < 0 or self.teacher_hidden != int(self.teacher_hidden)
        ):
            raise UsageError(f"teacher_hidden={self.teacher_hidden} must be a whole number; 0 means linear teachers")
        if self.allowance > MOST_UNITS:
            raise UsageError(
                f"judged={self.judged:g} x projected={self.projected:g} questions a round, with answer_units="
                f"{self.answer_units:g} for an answer, take {self.allowance:,} units; at most {MOST_UNITS:,} can be counted"
            )

    def choices(self, schema: Schema) -> Choices:
        """What was given, and defaults for this kind of table."""
        image = self._image(schema)
        hidden = self.teacher_hidden or (8 if self.network == "conv" else 0)
        base = TABLES if image is None else pictures(math.prod(image), hidden)
        given = {name: getattr(self, name) for name in Choices._fields if getattr(self, name) is not None}
        chosen = base._replace(**given)
        if chosen.moments_share and not chosen.marginals_share and image is None:
            raise UsageError(
                "moments_share needs marginals_share: moments are taken of columns seen through their marginals"
            )
        return chosen

    def _image(self, schema: Schema) -> tuple[int, int, int] | None:
        """The shape of the pictures, where rows are pictures and perhaps a class; otherwise None."""
        images = [column for column in schema.columns if column.kind == "image"]
        if len(images) == 1 and len(schema.features) == math.prod(images[0].shape):
            return images[0].shape
        if self.network == "conv":
            raise UsageError(
                "network=conv needs a schema with one image column and no other features but a class label"
            )
        return None

    # -- the plan ----------------------------------------------------------------------------------------------------------
    def announce(self, schema: Schema) -> list[Announced]:
        if not schema.features:
            raise UsageError(
                f"method {self.method!r} needs a column besides the label; choose pate-gan, mst or mean-embedding"
            )
        rounds = self.round_count(schema)

        def event(z: float) -> dpa.DpEvent:
            return dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(z), rounds * self.allowance)

        detail = (
            f"{rounds} rounds x {int(self.judged * self.projected)} questions, at most {self.allowance} units a round"
        )
        units = rounds * self.allowance
        weight = self.choices(schema).directions_share
        directions = Announced(DIRECTIONS, weight, event, answers=units, detail=detail)
        start = self._announce_start(schema)
        others = [*preparation(self, schema, self.budget), *start, directions]
        return [*start, *announce_report(self.report_share, others), directions]

    def _announce_start(self, schema: Schema) -> list[Announced]:
        chosen = self.choices(schema)
        return announce_start(schema, 0.0 if self._image(schema) else chosen.marginals_share, chosen.moments_share)

    @property
    def allowance(self) -> int:
        """Units a round is charged: all its tests, and answers to the expected share of its questions, at least one."""
        questions = int(self.judged * self.projected)
        return questions + int(self.answer_units) * max(math.ceil(self.expected * questions), 1)

    def round_count(self, schema: Schema) -> int:
        """The given number, or the one that brings the noise of the test nearest to `sigma_test`."""
        rounds = self._round_count(schema)
        if rounds * self.allowance > MOST_UNITS:
            given = f"rounds={self.rounds:g}" if self.rounds is not None else f"sigma_test={self.sigma_test:g}"
            raise UsageError(
                f"{given}: {rounds:,} rounds of {self.allowance:,} units each are more than the {MOST_UNITS:,} that can be "
                "counted; lower it, or ask less in a round (judged, projected, answer_units)"
            )
        return rounds

    def _round_count(self, schema: Schema) -> int:
        if self.rounds is not None:
            return int(self.rounds)
        assert self.sigma_test is not None
        mu = gaussian.mu(self.epsilon, self.delta)
        unit = self.sigma_test / math.sqrt(self._touched(schema))
        units = (unit * mu) ** 2 * self.choices(schema).directions_share / self._total_weight(schema)
        return max(round(units / self.allowance), 1)

    def _total_weight(self, schema: Schema) -> float:
        announced = preparation(self, schema, self.budget) + self._announce_start(schema)
        weights = sum(release.weight for release in announced) + self.choices(schema).directions_share
        return weights / (1.0 - self.report_share)

    def _touched(self, schema: Schema) -> int:
        """How many ensembles one unit can have rows in."""
        return classes_per_unit(schema) if self.by_class else 1

    def settings(self, schema: Schema, rows: int | None) -> dict[str, Any]:
        found = {"rounds": self.round_count(schema), "allowance": self.allowance}
        return super().settings(schema, rows) | self.choices(schema)._asdict() | found

    def advice(
        self, schema: Schema, settings: dict[str, Any], noise: Mapping[str, float], rows: int | None
    ) -> list[str]:
        """How loud the noise is, in votes, before a row is read."""
        mechanism = self._mechanism(self.choices(schema), (1,), 1, 0, self._touched(schema), noise[DIRECTIONS], 1, None)
        questions = settings["rounds"] * mechanism.questions
        teachers = math.ceil(mechanism.sigma_answer / math.sqrt(questions) / USEFUL_SHARE)
        return [
            f"noise of {mechanism.sigma_test:,.0f} votes on a test of consensus and {mechanism.sigma_answer:,.0f} on an answer; "
            f"{questions:,} questions per ensemble",
            f"directions become useful from about {teachers:,} teachers per ensemble, i.e. "
            f"{round(teachers * self.rows_per_teacher):,} rows; below that the result rests on what was paid for at the start",
            *start_note(schema, noise),
        ]

    # -- the opening -----------------------------------------------------------------------------------------------------
    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        schema, heads = codec.schema, Heads.of(codec.blocks, codec.width)
        image, chosen = self._image(schema), self.choices(schema)
        if image is None and chosen.marginals_share:
            marginals, start = ask_start(curator, codec, counts, plan)
        else:
            marginals, start = self._public_start(curator, codec, heads, counts, plan)
        if not chosen.moments_share:
            start = start._replace(prior_deviation=np.full_like(start.prior_deviation, LOOSE))
        sizes = counts if self.by_class else np.asarray([counts.sum()])
        teachers, capacity = ensembles(sizes, schema, self.teachers, self.rows_per_teacher, self.most_teachers)
        labels = 0 if self.by_class else codec.class_count
        touched = self._touched(schema)
        unit = self._unit(plan, touched)
        mechanism = self._mechanism(chosen, teachers, capacity, labels, touched, unit, codec.width, image)
        rounds = plan.parameters["settings"]["rounds"]
        generator = self._generator(chosen, heads, codec.class_count, image, rounds)
        hints = Hints(self._trusted(start, mechanism, rounds), counts / counts.sum())
        asked: Mechanism = mechanism
        if self.report_share:
            asked = reported(mechanism, rounds, self.expected, plan.parameters["noise"][REPORT], plan.budget.delta)
        return Opening(generator, hints, DIRECTIONS, asked, rounds, marginals)

    def _public_start(
        self, curator: Curator, codec: Codec, heads: Heads, counts: np.ndarray, plan: Plan
    ) -> tuple[Marginals, Start]:
        """No marginals are paid for: pictures, whose marginals are public, and the published setting."""
        pictures = self._image(codec.schema) is not None
        marginals = picture_marginals(heads) if pictures else public_marginals(heads)
        start = public_start(heads, marginals, codec.class_count)
        if self.choices(codec.schema).moments_share:
            d = len(marginals.numeric)
            scores = NormalScores(marginals, np.full(d, -1), np.zeros(d, np.int64), 0.0)
            start = ask_class_start(curator, codec, scores, counts, plan, start)
        elif pictures:
            start = start._replace(log_scale=np.full_like(start.log_scale, math.log(SPREAD)))
        curator.see(marginals.row_map)
        return marginals, start

    def _unit(self, plan: Plan, touched: int) -> float:
        """Noise multiplier of one unit of the filter, as the plan found it."""
        return float(plan.parameters["noise"][DIRECTIONS])

    def _trusted(self, start: Start, mechanism: TeacherGradients, rounds: int) -> Start:
        """Classes whose votes cannot be told from noise are asked to move little; with one ensemble all are alike."""
        asked = math.sqrt(rounds * mechanism.questions)
        blur = mechanism.sigma_answer / asked / np.asarray(mechanism.teachers, float)[:, None]
        trust = 1.0 / (1.0 + (blur / USEFUL_SHARE) ** 2) if self.by_class else np.ones((1, 1))
        return start._replace(trust=np.broadcast_to(trust, start.trust.shape).copy())

    def _mechanism(
        self,
        chosen: Choices,
        teachers: tuple[int, ...],
        capacity: int,
        labels: int,
        touched: int,
        unit: float,
        width: int,
        image: tuple[int, int, int] | None,
    ) -> TeacherGradients:
        hidden = (chosen.teacher_hidden,) if chosen.teacher_hidden else ()
        network: TeacherNetwork = Mlp((width + labels, *hidden, 1), last=0.1)
        if self.network == "conv" and image is not None:
            network = ConvTeacher(image, labels, self.teacher_kernels, chosen.teacher_hidden)
        return TeacherGradients(
            network=network,
            teachers=teachers,
            labels=labels,
            capacity=capacity,
            judged=int(self.judged),
            projected=int(self.projected),
            bins=int(self.bins),
            clip=self.clip,
            threshold=self.threshold,
            touched=touched,
            unit=unit,
            answer_units=int(self.answer_units),
            allowance=self.allowance,
            learning_rate=chosen.teacher_learning_rate,
            decay=chosen.teacher_decay,
            chunk=self.chunk,
        )

    def _generator(
        self, chosen: Choices, heads: Heads, classes: int, image: tuple[int, int, int] | None, rounds: int
    ) -> GPateGenerator:
        names = "by_class network latent hidden judged practice projected teacher_steps generator_steps generator_learning_rate"
        return GPateGenerator(
            heads=heads,
            classes=classes,
            image=image,
            rounds=rounds,
            step=chosen.step,
            hold=heads.width / (2.0 * self.judged * self.projected) * chosen.step**2,
            **{name: getattr(self, name) for name in names.split()},
        )


def picture_marginals(heads: Heads) -> Marginals:
    """Black is a score of -1 and white of 1, and scores beyond them are black and white: public, the same for every pixel."""
    base = public_marginals(heads)
    edges = np.tile(np.linspace(0.0, 1.0, PIXEL_CELLS + 1), (len(base.numeric), 1))
    return base._replace(edges=edges, cdf=ndtr(-1.0) + (ndtr(1.0) - ndtr(-1.0)) * edges)
