"""Publish how good stand-ins are: one plan, one entry in the holder's account, three questions.

Rows of the people are private. They are read by the curator alone, which answers three questions, each charged to the ledger
before it is computed; bins, models, reference shares and the stand-ins' own rows are public. What is written is a function
of the three answers and of public values. The account is charged for all of it, on disk, before the first answer.

**Who pays.** The people of the table that is asked. If they are others than those of the fit (held-out people), the people of
the fit pay nothing more; somebody who is in both pays for both, and that price is stated when the model is named.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import dp_accounting as dpa
import numpy as np

from understudy.account import Payer, account_of
from understudy.accounting import Budget, Charge, Ledger, Plan, prior
from understudy.accounting import epsilon as price
from understudy.accounting.ledger import refuse_taken
from understudy.artifact import Model
from understudy.errors import UsageError
from understudy.plan import describe_unit
from understudy.private import Curator, NoiseSource, PrivateTable, SecureNoise
from understudy.private.mapping import Block, apply
from understudy.published import intervals, unseen
from understudy.published.judges import CALIBRATION_BINS, Judges, learn
from understudy.published.measures import Asked, Reference, ask
from understudy.published.result import Figure, Published, StandIn
from understudy.questions import Clique, Counts, MeanDistances, Step
from understudy.questions.row_maps import Label, LookUp, joined
from understudy.schema import Codec, Schema, codec_of

WHAT = "published evaluation"
PEOPLE, DISTANCES, SCORES = "people", "mean distances", "score tables"
MODELS_PART, CALIBRATION_PART = 0.7, 0.3  # of the budget of score tables


@dataclass(frozen=True, eq=False)
class Candidate:
    """One stand-in, encoded: public."""

    name: str
    rows: np.ndarray
    classes: np.ndarray
    judges: Judges | None


def plan(schema: Schema, budget: Budget) -> Plan:
    """What will be asked, with its noise, before a row is read."""
    scored = schema.label_kind in ("binary", "multiclass")
    noise = intervals.scales(budget, scored)
    details = {
        PEOPLE: "how many there are, and how many have a pair of values that a stand-in has not",
        DISTANCES: "means over columns, pairs, triples, associations and queries",
        SCORES: "classes by binned scores of models",
    }
    return Plan(
        method=WHAT,
        budget=budget,
        unit=describe_unit(schema),
        charges=tuple(Charge(name, dpa.GaussianDpEvent(sigma), details[name]) for name, sigma in noise.items()),
        parameters={"noise": noise},
        notes=(),
    )


def publish(
    synthetic: Sequence[Any],
    real: object,
    schema: Schema,
    *,
    epsilon: float,
    delta: float = 1e-5,
    model: Model | None = None,
    models: Sequence[str] | None = None,
    account: Payer | None = None,
    record: str | Path | None = None,
    names: Sequence[str] | None = None,
    noise: NoiseSource | None = None,
) -> Published:
    """Figures of one or several stand-ins (`synthetic`: frames or files) on the people of `real`, with noise for `epsilon`.

    `schema` must have public bounds and categories for every column; `model`, the one that was fitted, brings those that
    it estimated and paid for. `models` are names of `evaluate`'s models; `account` is charged before the first answer;
    `record` is where the ledger is written. `noise` other than the operating system's voids the figures.
    """
    budget, resolved = Budget(epsilon, delta), check(schema, model)
    if not synthetic:
        raise UsageError("synthetic: give at least one stand-in")
    refuse_taken(record)
    announced, source = plan(schema, budget), noise or SecureNoise()
    codec = codec_of(resolved, True)
    called = list(names or [f"stand-in {number}" for number in range(1, len(synthetic) + 1)])
    candidates = [candidate(name, one, codec, models) for name, one in zip(called, synthetic, strict=True)]
    asked = ask(codec, candidates[0].rows, candidates[0].classes, carry)
    table = PrivateTable(real, schema)
    payer = account_of(account)
    postings = () if payer is None else payer.postings(announced, schema)
    if payer is not None:
        payer.check(postings)  # refused, nothing is left behind
    ledger = Ledger(announced, record)  # a place that cannot be written is found before anything is charged
    try:
        receipt = None if payer is None else payer.charge(WHAT, postings, announced.fingerprint())
        curator = Curator(table, schema, ledger, source)
        curator.adopt(codec)
        people, left_out = ask_people(curator, asked, candidates, announced, schema.max_rows_per_unit)
        measured = ask_distances(curator, asked, candidates, announced, schema.max_rows_per_unit, people)
        judged = ask_scores(curator, codec, candidates, announced, schema.max_rows_per_unit)
    finally:
        ledger.close()
        table.close()
    events = [charge.event for charge in announced.charges]
    fitted = [] if model is None else [charge.event for charge in model.plan.charges]
    voted = [charge.event for charge in prior.charges(schema.to_dict())] if model is None else []
    return Published(
        epsilon=price(events, delta),
        delta=delta,
        unit=announced.unit,
        level=intervals.LEVEL,
        people=people.figure,
        stand_ins=tuple(
            StandIn(
                name=one.name,
                measures=figures,
                k_marginal=intervals.k_marginal(figures),
                unseen=missed,
                auroc=scored[0],
                models=scored[1],
                calibration=scored[2],
            )
            for one, missed, figures, scored in zip(candidates, left_out, measured, judged, strict=True)
        ),
        both_epsilon=price([*fitted, *events], delta) if fitted else None,
        ledger=ledger.to_dict(),
        account=None if receipt is None else receipt.to_dict(),
        void_reason=source.void_reason,
        kinds_epsilon=price([*voted, *events], delta) if voted else None,
    )


def check(schema: Schema, model: Model | None) -> Schema:
    """The schema with every bound and list that is public or was paid for; UsageError where something is missing."""
    if model is not None and model.schema.fingerprint() != schema.fingerprint():
        raise UsageError("schema: the model was fitted with another schema; give the one of its fit")
    resolved = schema if model is None else model.resolved
    for column in resolved.columns:
        if not column.resolved:
            raise UsageError(
                f"column {column.name!r} has no public bounds or categories, and taking them from the rows would leak; name the "
                "model, whose fit has paid for them, or write them into the schema"
            )
    return resolved


def candidate(name: str, source: object, codec: Codec, models: Sequence[str] | None) -> Candidate:
    """Encode a stand-in and let models learn from it."""
    encoded = codec.encode(source)
    if len(encoded.rows) == 0:
        raise UsageError(f"synthetic: {name} has no rows")
    label = codec.schema.label
    if codec.class_count < 2:
        return Candidate(name, encoded.rows, encoded.classes, None)
    positive = None
    if codec.schema.label_kind == "binary" and label is not None:
        values = [str(value) for value in codec.class_values]
        wanted = codec.schema.positive
        positive = values.index(str(wanted)) if wanted is not None and str(wanted) in values else len(values) - 1
    return Candidate(
        name,
        encoded.rows,
        encoded.classes,
        learn(encoded.rows, encoded.classes, codec.class_count, positive, models, carry),
    )


def carry(step: Step, rows: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """A row map on public rows: exactly what the wall does to the rows of people."""
    return apply(step, Block(rows, classes))


class People(NamedTuple):
    """How many there are, and the deviation of the noise on it."""

    figure: Figure
    deviation: float


def ask_people(
    curator: Curator, asked: Asked, candidates: Sequence[Candidate], announced: Plan, rows_per_unit: int
) -> tuple[People, list[Figure | None]]:
    """How many people there are, and the share of them that every stand-in leaves out (`unseen`)."""
    steps: list[Step] = [LookUp(Label(), (np.zeros(asked.cells.sizes[0], np.int64),))]
    codes = [carry(asked.step, one.rows, one.classes) for one in candidates] if asked.pairs else []
    steps += [unseen.unseen(asked, own) for own in codes]
    question = Counts.of_cliques(
        joined(*steps),
        (1, *(2 for _ in codes)),
        [(number,) for number in range(len(steps))],
        announced.parameters["noise"][PEOPLE],
        rows_per_unit,
        share=True,
        budgets=(intervals.NUMBER, *((1.0 - intervals.NUMBER) / len(codes) for _ in codes)),
    )
    (whole, *tables), (deviation, *others) = curator.ask(PEOPLE, question).value, question.deviations
    people = People(intervals.number_of(float(whole[0]), deviation), deviation)
    if not codes:
        return people, [None for _ in candidates]
    each = zip(tables, others, codes, strict=True)
    return people, [intervals.left_out(table, noise, unseen.floor(asked, own)) for table, noise, own in each]


def ask_distances(
    curator: Curator,
    asked: Asked,
    candidates: Sequence[Candidate],
    announced: Plan,
    rows_per_unit: int,
    people: People,
) -> list[tuple[Figure, ...]]:
    """Every stand-in's mean distances from people."""
    noise = announced.parameters["noise"]
    about = max(people.figure.value, 1.0)
    references, floors = [], []
    for one in candidates:
        codes = carry(asked.step, one.rows, one.classes)
        reference = Reference.of(asked, codes, round(about))
        random = np.random.default_rng(13)
        again = codes[random.integers(len(codes), size=min(max(round(about), 1), 1_000_000))]
        references.append(reference)
        floors.append({measure: reference.value(measure, again) for measure in asked.measures})
    groups = tuple(reference.expected(measure, about) for reference in references for measure in asked.measures)
    question = MeanDistances(asked.step, asked.sizes, groups, noise[DISTANCES], rows_per_unit, share=True)
    released = iter(curator.ask(DISTANCES, question).value.tolist())
    number = people.figure.value
    return [
        tuple(
            intervals.distance(measure, next(released), number, question.deviation, people.deviation, floor[measure])
            for measure in asked.measures
        )
        for floor in floors
    ]


Scored = tuple[Figure | None, tuple[str, ...], tuple[Any, ...]]


def ask_scores(
    curator: Curator, codec: Codec, candidates: Sequence[Candidate], announced: Plan, rows_per_unit: int
) -> list[Scored]:
    """AUROC and calibration of every stand-in's models, all tables in one answer."""
    able = [one.judges for one in candidates if one.judges is not None]
    if not able or SCORES not in announced.parameters["noise"]:
        return [(None, (), ()) for _ in candidates]
    steps: list[Step] = [Label()]
    cliques: list[Clique] = []
    sizes, budgets = [codec.class_count], []
    tables = sum(len(judge.judged) for judges in able for judge in judges.every)
    for judges in able:
        for judge in judges.every:
            first = len(sizes)
            steps.append(judge.cells)
            sizes += [judge.bins] * codec.class_count
            cliques += [(0, first + number) for number in judge.judged]
            budgets += [MODELS_PART / tables] * len(judge.judged)
        cliques.append((0, len(sizes)))
        steps.append(judges.calibration)
        sizes.append(CALIBRATION_BINS)
        budgets.append(CALIBRATION_PART / len(able))
    question = Counts.of_cliques(
        joined(*steps),
        tuple(sizes),
        cliques,
        announced.parameters["noise"][SCORES],
        rows_per_unit,
        share=True,
        budgets=tuple(budgets),
    )
    released = iter(zip(curator.ask(SCORES, question).value, question.deviations, strict=True))
    return [(None, (), ()) if one.judges is None else read_scores(one.judges, released) for one in candidates]


def read_scores(judges: Judges, released: Any) -> Scored:
    """Figures of one stand-in, from the next tables."""
    judged = [number for judge in judges.every for number in judge.judged]
    own = [next(released) for _ in judged]
    found = intervals.auroc([table for table, _ in own], judged, own[0][1]) if own else None
    table, deviation = next(released)
    bins = len(judges.predicted)
    shown = intervals.calibration(
        table[:, :bins], judged[-1] if judged else len(table) - 1, deviation, judges.predicted
    )
    return found, tuple(judge.name for judge in judges.every), shown
