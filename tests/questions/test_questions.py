"""Every question: announced is charged, no unit moves an answer by more than its price, and no cut into blocks shows."""

import math
from collections import Counter
from dataclasses import fields, replace

import dp_accounting as dpa
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from understudy import questions
from understudy.accounting import Budget, Charge, Ledger, LedgerError, Plan
from understudy.private import Curator, PrivateTable, SecureNoise, SeededNoise
from understudy.private.answers import ANSWERS, choices, counts, distances, mean_distances, products, sums
from understudy.private.blocks import Blocks as Private
from understudy.private.passes import add_up
from understudy.questions import Counts, Distances, MarginalChoice, MeanDistances, ModelChoice, Sums
from understudy.questions.counts import WEIGHT_GRID
from understudy.questions.distances import FINE, Blocks
from understudy.questions.mean_distances import Expected
from understudy.questions.row_maps import Places
from understudy.schema import Codec, Column, Schema

from ..wall import FreeLedger, NoNoise
from .table import CLASSES, QUESTIONS, RAW_QUESTIONS, ROWS_PER_UNIT, SCHEMA, WIDTH
from .test_row_maps import ODD

ASKED = QUESTIONS | RAW_QUESTIONS


MANY = 1e6


class Steady:
    """No noise; or, to see how much there would be, `MANY` times its scale."""

    void_reason = "test"

    def __init__(self, times=0.0):
        self.times = times

    def draw(self, kind, scale, shape):
        return np.full(shape, round(scale * self.times), np.int64)

    def secret(self, size):
        return bytes(size)


def exact(question, blocks):
    answer = ANSWERS[type(question)]
    start = lambda: answer.start(question, blocks.width)  # noqa: E731
    return add_up(blocks.parts, start, lambda total, block: answer.add(question, total, block))


def flat(released):
    return np.concatenate([np.asarray(part, float).ravel() for part in released])


def moved(question, one, other):
    """How far two exact sums lie apart in deviations of the noise that is added to each coordinate."""
    answer = ANSWERS[type(question)]
    first, second = (flat(answer.release(question, total, Steady())) for total in (one, other))
    deviation = (flat(answer.release(question, one, Steady(MANY))) - first) / MANY
    return float(np.linalg.norm((first - second) / deviation))


def test_the_table_names_every_question():
    assert {type(question) for question in ASKED.values()} == set(ANSWERS) == set(questions.Question.__args__)


def tables():
    return st.integers(1, 12).flatmap(
        lambda n: st.tuples(
            hnp.arrays(np.float32, (n, WIDTH), elements=ODD),
            hnp.arrays(np.int32, n, elements=st.integers(0, CLASSES - 1)),
            st.lists(st.integers(0, 5), min_size=n, max_size=n),
        )
    )


def capped(units):
    """At most ROWS_PER_UNIT rows of a unit, as the table hands them out."""
    seen = Counter()
    keep = []
    for row, unit in enumerate(units):
        seen[unit] += 1
        if seen[unit] <= ROWS_PER_UNIT:
            keep.append(row)
    return np.asarray(keep, int)


GAUSSIAN = {
    name: question for name, question in QUESTIONS.items() if not isinstance(question, MarginalChoice | ModelChoice)
}


@pytest.mark.parametrize("name", GAUSSIAN)
@settings(max_examples=60, deadline=None)
@given(tables(), st.booleans())
def test_no_unit_moves_an_answer_by_more_than_its_price(name, table, by_row):
    """Hostile rows, with and without the first row's unit: the change is at most 1 / sigma in deviations of the noise."""
    rows, classes, units = table[0], table[1], np.asarray(table[2])
    question = QUESTIONS[name]
    keep = capped(units)
    rows, classes, units = rows[keep], classes[keep], units[keep]
    gone = np.arange(len(units)) == 0 if by_row else units == units[0]
    cut = lambda kept: Private.of(rows[kept], classes[kept], None if by_row else units[kept])  # noqa: E731
    full, less = exact(question, cut(np.ones(len(units), bool))), exact(question, cut(~gone))
    assert moved(question, full, less) <= 1.0 / question.sigma * (1.0 + 1e-6)
    assert question.event == dpa.GaussianDpEvent(question.sigma)


class NotClipped(Sums):
    """Mutant: the clipped copy is made, the raw copy is summed."""


def add_raw(question, total, block):
    total[0] += (
        (np.nan_to_num(block.rows[:, : total.shape[1]].astype(float)).clip(-9, 9) * sums.SUM_GRID).sum(0).astype(int)
    )


class OneTableForAll(Counts):
    """Mutant: the sensitivity of one marginal for all of them."""

    @property
    def deviations(self):
        return tuple(self.sigma * self.rows_per_unit for _ in self.tables)


class OneRow(Counts):
    """Mutant: noise for one row where a unit may have several."""

    @property
    def deviations(self):
        return tuple(self.sigma * math.sqrt(len(self.tables)) for _ in self.tables)


class BudgetsForgotten(Counts):
    """Mutant: noise that falls with a table's budget and does not pay for it elsewhere."""

    @property
    def deviations(self):
        return tuple(self.sigma * self.rows_per_unit / math.sqrt(budget) for budget in self.budgets)


class OneDistance(Distances):
    """Mutant: the sensitivity of one distance for all of them."""

    @property
    def deviation(self):
        return self.sigma * self.rows_per_unit


class LikeAnEstimate(Distances):
    """Mutant: blocks move with the rows, and are treated as if they were known."""

    @property
    def deviation(self):
        return self.sigma * self.rows_per_unit


class NoiseForgotten(Distances):
    """Mutant: pairs are chosen by distances that hardly have noise."""

    @property
    def deviation(self):
        return 1e-3


class OneMean(MeanDistances):
    """Mutant: the sensitivity of one mean for all groups."""

    @property
    def deviation(self):
        return self.sigma * self.rows_per_unit


class OneRowOfMeans(MeanDistances):
    """Mutant: noise for one row where a unit may have several."""

    @property
    def deviation(self):
        return self.sigma * math.sqrt(len(self.groups))


class SumForMean(MeanDistances):
    """Mutant: the group's sum is released with the noise of its mean."""


def release_sums(question, total, noise):
    return [
        mean * len(group)
        for mean, group in zip(mean_distances.release(question, total, noise), question.groups, strict=True)
    ]


@pytest.mark.parametrize("kind", [MeanDistances, OneMean, OneRowOfMeans, SumForMean])
def test_wrong_noise_of_mean_distances_is_caught_by_the_same_check(kind, monkeypatch):
    """Marginals that are expected to be empty move furthest: every row away from them. The right question reaches its bound."""
    rows, classes, units = np.full((3, WIDTH), 0.2, np.float32), np.zeros(3, np.int32), np.zeros(3, int)
    right = QUESTIONS["mean distances"]
    empty = tuple(tuple(Expected(one.clique, 0 * one.counts, 0) for one in group) for group in right.groups)
    question = kind(right.cells, right.sizes, empty, right.sigma, right.rows_per_unit)
    wrong = type("Wrong", (), {"start": mean_distances.start, "add": mean_distances.add, "release": release_sums})
    monkeypatch.setitem(ANSWERS, kind, wrong if kind is SumForMean else mean_distances)
    full, less = (exact(question, Private.of(rows[:n], classes[:n], units[:n])) for n in (3, 0))
    answer = ANSWERS[kind]
    apart = np.asarray(answer.release(question, full, Steady())) - np.asarray(answer.release(question, less, Steady()))
    change = float(np.linalg.norm(apart)) / question.deviation * question.sigma
    assert 0.99 < change <= 1.0 + 1e-9 if kind is MeanDistances else change > 1.5


@pytest.mark.parametrize("kind", [BudgetsForgotten, OneDistance, NoiseForgotten])
def test_wrong_noise_of_the_clique_tree_is_caught_by_the_same_check(kind, monkeypatch):
    rows, classes, units = np.full((3, WIDTH), 0.9, np.float32), np.zeros(3, np.int32), np.zeros(3, int)
    right = QUESTIONS["counts of unequal budgets" if kind is BudgetsForgotten else "distances"]
    values = {field.name: getattr(right, field.name) for field in fields(right)}
    if kind is not BudgetsForgotten:
        values["known"] = tuple(one if isinstance(one, tuple) else 0 * one for one in right.known)  # they move furthest
    question = kind(**values)
    monkeypatch.setitem(ANSWERS, kind, counts if kind is BudgetsForgotten else distances)
    full, less = (exact(question, Private.of(rows[:n], classes[:n], units[:n])) for n in (3, 0))
    assert moved(question, full, less) > 1.5 / question.sigma


def test_a_block_moves_a_distance_twice(monkeypatch):
    """A cell of next to no share: its row moves the distance by 2, which the noise for one would not cover."""
    blocks = Blocks.of(np.zeros(15), np.r_[np.full(14, 1.0), 1e-9])
    rows, classes = np.zeros((1, WIDTH), np.float32), np.zeros(1, np.int32)
    rows[0, 2], rows[0, 8] = 1.0, 1.0  # the last cell of nodes 3 and 4
    right = QUESTIONS["distances from blocks"]
    monkeypatch.setitem(ANSWERS, LikeAnEstimate, distances)
    for kind in (Distances, LikeAnEstimate):
        question = kind(right.cells, right.sizes, right.cliques, (blocks,), right.sigma, 1)
        full, less = (exact(question, Private.of(rows[:n], classes[:n], None)) for n in (1, 0))
        change = moved(question, full, less) * question.sigma
        assert change > 1.9 if kind is LikeAnEstimate else 0.95 < change <= 1.0


@pytest.mark.parametrize(
    "share", [np.full(5, FINE), np.asarray([3 * FINE, -FINE, -FINE, 0, 0])], ids=["above", "below"]
)
def test_shares_of_a_block_above_one_or_below_nothing_are_refused(share):
    """Unchecked, shares that add up to 1 and are negative in part let one row move a distance by more than 2."""
    known = Blocks(np.zeros(5, int), share)
    with pytest.raises(ValueError, match="add up"):
        Distances(QUESTIONS["counts"].cells, (5,), ((0,),), (known,), 1.0, 1)
    one_row = np.eye(5, dtype=np.int64)
    assert max(distances.distance(row, known, 1) for row in one_row) > 2 * FINE


def test_a_choice_with_a_negative_weight_is_refused():
    """Its score would move by that weight, and the noise is made for the largest one."""
    right = QUESTIONS["choice of a marginal"]
    values = {field.name: getattr(right, field.name) for field in fields(right)}
    with pytest.raises(ValueError, match="negative"):
        MarginalChoice(**values | {"weights": (-9, *right.weights[1:])})


@pytest.mark.parametrize("mutant", ["not clipped", "one table", "one row"])
def test_wrong_versions_are_caught_by_the_same_check(mutant, monkeypatch):
    rows, classes, units = np.full((3, WIDTH), 0.9, np.float32), np.zeros(3, np.int32), np.zeros(3, int)
    kinds = {"not clipped": NotClipped, "one table": OneTableForAll, "one row": OneRow}
    if mutant == "not clipped":
        question = NotClipped(Places() * 5.0, 1, 1.0)
        wrong = type("Wrong", (), {"start": sums.start, "add": staticmethod(add_raw), "release": sums.release})
    else:
        right = QUESTIONS["counts"]
        question = kinds[mutant](right.cells, right.sizes, right.tables, right.sigma, right.rows_per_unit)
        wrong = counts
    monkeypatch.setitem(ANSWERS, kinds[mutant], wrong)
    full, less = (exact(question, Private.of(rows[:n], classes[:n], units[:n])) for n in (3, 0))
    assert moved(question, full, less) > 1.5 / question.sigma


@pytest.mark.parametrize("name", ["shared class counts", "shared counts", "shared choice of a marginal"])
def test_rows_that_share_no_weight_are_caught(name, monkeypatch):
    """Noise of one row's influence is right only because a unit's rows share it: three full rows move an answer three times as
    far."""
    full = lambda block, grid: np.full(len(block), grid, np.int64)  # noqa: E731
    question, rows = QUESTIONS[name], np.zeros((43, WIDTH), np.float32)
    classes, units = np.zeros(43, np.int32), np.r_[np.arange(1, 41), 0, 0, 0]

    def change():
        """By how much the unit moves an answer, over what it may."""
        with_, less = (exact(question, Private.of(rows[:n], classes[:n], units[:n])) for n in (43, 40))
        if isinstance(question, MarginalChoice):
            return np.abs(scores_of(question, with_) - scores_of(question, less)).max() / question.influence
        return moved(question, with_, less) * question.sigma

    assert change() <= 1.0 + 1e-6
    for module in (counts, choices):
        monkeypatch.setattr(module, "unit_shares", full)
    assert change() > 1.5


def test_scores_beyond_64_bits_are_chosen_by_and_never_told(monkeypatch):
    """Shared weights of a hundred million people in a wide table make them. The largest is chosen all the same."""
    far = [5, 2**70, -(2**70)]
    assert choices.noisy_max(far, 1e6, SecureNoise()) == 1
    assert all(abs(choices.within(a) - choices.within(a + 7)) <= 7 for a in (2**63 - 4, -(2**63) - 3, 0))
    monkeypatch.setattr(
        choices, "within", int
    )  # mutant: a score that is the people's own ends the fit, and is in the message
    with pytest.raises(ValueError, match=str(2**70)):
        choices.noisy_max(far, 1e6, SecureNoise())


def test_shared_and_whole_counts_of_the_same_cells_are_kept_apart():
    """The wall keeps exact counts for later questions; in other units they would be wrong by a factor of 2^20."""
    shared, whole = (questions.class_counts(CLASSES, 1.0, 3, share=share) for share in (True, False))
    people = Schema(
        columns=(Column(name="x", kind="boolean"), Column(name="who", kind="identifier")),
        unit="who",
        max_rows_per_unit=3,
    )
    curator = Curator(None, people, FreeLedger(), NoNoise())
    curator._blocks = Private.of(np.zeros((4, 1), np.float32), np.zeros(4, np.int32), np.asarray([0, 0, 1, 2]))
    found = [float(curator.ask("counts", one).value[0][0]) for one in (whole, shared, whole)]
    assert found == [4.0, 3.0, 4.0]


def test_a_judge_of_many_numbers_gives_the_points_of_one():
    """Whatever a judge says: one that gives every place of a row its points would move a total many times too far."""
    judge = Places() * 1e9
    question = ModelChoice((judge,), 1.0, 1)
    assert exact(question, Private.of(np.ones((1, WIDTH), np.float32), np.zeros(1, np.int32))) <= question.influence


def scores_of(question, exact):
    """Of every candidate, from exact counts."""
    public = zip(question.candidates, question.estimates, question.penalties, question.weights, strict=True)
    return np.asarray([w * choices.score(exact[clique], e, p, question.grid) for clique, e, p, w in public])


@pytest.mark.parametrize("name", ["choice of a marginal", "shared choice of a marginal", "choice of a model"])
@settings(max_examples=60, deadline=None)
@given(tables())
def test_no_unit_moves_a_score_by_more_than_the_choice_is_built_for(name, table):
    question, units = QUESTIONS[name], np.asarray(table[2])
    keep = capped(units)
    rows, classes, units = table[0][keep], table[1][keep], units[keep]
    stay = units != units[0]
    full, less = (exact(question, Private.of(rows[k], classes[k], units[k])) for k in (slice(None), stay))
    if name == "choice of a model":
        change = np.abs(full - less)
    else:
        change = np.abs(scores_of(question, full) - scores_of(question, less))
    assert max(change) <= question.influence
    assert question.scale == pytest.approx(2 * question.influence / questions.choices.bounded_range(question.sigma))


@pytest.mark.parametrize("name", QUESTIONS)
@settings(max_examples=20, deadline=None)
@given(tables(), st.randoms(), st.booleans())
def test_neither_order_nor_blocks_nor_workers_show(name, table, random, by_row):
    rows, classes, units = table
    keep = capped(units)
    rows, classes, units = rows[keep], classes[keep], np.asarray(units)[keep]
    question, order = QUESTIONS[name], list(range(len(rows)))
    random.shuffle(order)
    whole = Private.of(rows, classes, None if by_row else units)
    other = Private.of(rows[order], classes[order], None if by_row else units[order])
    single = [
        Private.of(rows[units == u], classes[units == u], None if by_row else units[units == u]) for u in set(units)
    ]
    pieces = Private(tuple(part for one in single for part in one.parts), WIDTH, by_row)
    expected = exact(question, whole)
    for cut in (other, pieces):
        found = exact(question, cut)
        if isinstance(expected, dict):
            assert all((found[key] == expected[key]).all() for key in expected)
        else:
            assert (found == expected).all()


# -- cells as they were read -------------------------------------------------------------------------------------------------


def raw_total(question, frame):
    table = PrivateTable(frame, SCHEMA)
    answer = ANSWERS[type(question)]
    add = lambda total, raw: answer.add(question, total, raw.rows, raw.units, SCHEMA)  # noqa: E731
    return add_up(table._parts, lambda: answer.start(question, 0), add)


CELL = st.sampled_from(["", "1", "2.5", "1e400", "abc", "2020-01-01", "9999-12-31", "red", "7", "nan", "\x00", "0x10"])


@pytest.mark.parametrize("name", RAW_QUESTIONS)
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(CELL, CELL, CELL, CELL, st.sampled_from("abcd")), min_size=1, max_size=8))
def test_no_unit_moves_an_estimate_by_more_than_its_price(name, rows):
    question = RAW_QUESTIONS[name]
    keep = capped([row[-1] for row in rows])
    frame = pd.DataFrame([rows[i] for i in keep], columns=["x", "when", "a", "b", "who"], dtype=object)
    full, less = raw_total(question, frame), raw_total(question, frame[frame["who"] != frame["who"].iloc[0]])
    if name == "categories":
        change = [full[key] - less[key] for key in full]
        assert all(0 <= c <= 1 for c in change) and sum(change) <= question.keys_per_unit
    else:
        wide = math.sqrt(len(question.columns)) if name == "kinds" else len(question.columns)
        assert np.linalg.norm(full - less) <= question.rows_per_unit * wide * (1 + 1e-9)
        assert question.deviation == pytest.approx(question.sigma * question.rows_per_unit * wide)


# -- the door -------------------------------------------------------------------------------------------------------------------


ROW_SCHEMA = Schema(
    columns=(*(Column(name=f"x{i}", kind="continuous", lower=0, upper=1) for i in range(WIDTH)),
             Column(name="y", kind="categorical", categories=("no", "yes")),
             Column(name="who", kind="identifier", dtype="string")),
    label="y", unit="who", max_rows_per_unit=ROWS_PER_UNIT,
)  # fmt: skip


def curator_of(question, rows=40, charges=1):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((rows, WIDTH)), columns=[f"x{i}" for i in range(WIDTH)])
    frame["y"], frame["who"] = rng.choice(["no", "yes"], rows), [f"p{i // 2}" for i in range(rows)]
    event = question.event if charges == 1 else dpa.SelfComposedDpEvent(question.event, charges)
    plan = Plan(
        method="test", budget=Budget(50.0, 1e-5), unit="who", charges=(Charge("asked", event),), parameters={}, notes=()
    )
    ledger = Ledger(plan)
    return Curator(PrivateTable(frame, ROW_SCHEMA), ROW_SCHEMA, ledger, SeededNoise(0)), ledger


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_is_asked_is_charged_once_and_nothing_more(name):
    question = QUESTIONS[name]
    curator, ledger = curator_of(question)
    curator.adopt(Codec(ROW_SCHEMA))
    release = curator.ask("asked", question)
    assert release.event == question.event
    assert [charge.event for charge in ledger.spent] == [question.event]
    with pytest.raises(LedgerError):
        curator.ask("asked", question)
    assert len(curator.transcript) == 1


class Derived(Sums):
    """A question of somebody else's making."""

    @property
    def event(self):
        return dpa.NoOpDpEvent()


def test_a_question_that_the_wall_does_not_know_is_refused():
    curator, ledger = curator_of(QUESTIONS["sums"])
    curator.adopt(Codec(ROW_SCHEMA))
    with pytest.raises(RuntimeError, match="no question"):
        curator.ask("asked", Derived(Places(), 1, 1.0))
    assert not ledger.spent


@pytest.mark.parametrize("name", ["counts", "choice of a marginal", "choice of a model", "class counts"])
def test_a_question_priced_for_fewer_rows_than_a_unit_may_have_is_refused(name):
    from dataclasses import replace

    question = replace(QUESTIONS[name], rows_per_unit=ROWS_PER_UNIT - 1)
    curator, ledger = curator_of(question)
    curator.adopt(Codec(ROW_SCHEMA))
    with pytest.raises(RuntimeError, match="fewer rows"):
        curator.ask("asked", question)
    assert not ledger.spent


def test_grid_vectors_never_exceed_norm_one():
    """Exact integer norms of 20,000 vectors of every length, alone and as rows of units."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(20_000, 5)) * np.exp(rng.normal(size=(20_000, 1)) * 3)
    steps = sums.on_grid(vectors)
    weighed = (steps * sums.weights(sums.lengths(steps))[:, None]).astype(np.int64)
    assert (weighed.astype(object) ** 2).sum(axis=1).max() <= sums.SUM_GRID**2
    owner = rng.integers(0, 6000, 20_000)
    steps = products.on_grid(vectors, owner)[0].astype(np.int64)
    lengths = np.zeros(6000, object)
    np.add.at(lengths, owner, (steps.astype(object) ** 2).sum(axis=1))
    assert lengths.max() <= products.PRODUCT_GRID**2


def test_only_a_weight_that_rows_share_needs_a_finer_grid_than_whole_rows():
    grids = {
        (n, share): replace(QUESTIONS["distances"], rows_per_unit=n, share=share).grid
        for n in (1, 3)
        for share in (False, True)
    }
    assert grids == {(1, False): 1, (1, True): 1, (3, False): 1, (3, True): WEIGHT_GRID}
