"""What the few-rows path asks, of tables that differ in one person: the same questions, and answers within their price.

A conversation with one table is repeated with its neighbour: the released answers are the same, so every question must be,
and the exact answers may lie apart by what was paid for. No chance is involved: the noise is seeded, and nobody has more rows
than are kept.
"""

from unittest import mock

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.accounting import Ledger
from understudy.audit.targets import made_up
from understudy.fit import open_conversation
from understudy.methods.clique_tree import method as own
from understudy.private import Curator, PrivateTable, SeededNoise
from understudy.private.answers import sums
from understudy.questions import Counts, Sums, digest
from understudy.schema import Column, Schema
from understudy.teller import Teller

from ..questions.test_questions import moved

MOST = 4  # rows of a person
COLUMNS = (
    Column(name="x", kind="continuous", lower=-1, upper=1, missing=True),
    Column(name="n", kind="integer", lower=0, upper=50, codes=(99,)),
    Column(name="c", kind="categorical", categories=("a", "b", "c"), missing=True),
    Column(name="f", kind="boolean"),
    Column(name="y", kind="categorical", categories=("no", "yes", "maybe")),
)
BY_ROW = Schema(columns=COLUMNS, label="y")
BY_PERSON = Schema(
    columns=(*COLUMNS, Column(name="who", kind="identifier", dtype="int64")),
    label="y",
    unit="who",
    max_rows_per_unit=MOST,
)
ODD = {
    "x": [np.nan, np.inf, -np.inf, 1e300, -1.0, 1.0],
    "n": [99, -5, 10**9, 0, 50],
    "c": ["a", "c", "zzz", "", None],
    "f": [True, False, None],
    "y": ["no", "yes", "zzz", None],
}


def rows(count, random, odd):
    usual = {"x": [-0.2, 0.0, 0.3], "n": [1, 2, 7], "c": ["a", "b"], "f": [False], "y": ["no", "no", "yes"]}
    drawn = {
        name: [values[k] for k in random.integers(0, len(values), count)]
        for name, values in (ODD if odd else usual).items()
    }
    return pd.DataFrame(drawn, dtype=object)


def pair(schema, others, odd, seed):
    """A table with somebody and without: all rows of a person, which may be of several classes."""
    random = np.random.default_rng(seed)
    without, more = rows(others, random, False), rows(1 if schema.unit is None else MOST, random, odd)
    if schema.unit is not None:
        without, more = without.assign(who=np.arange(others) // MOST), more.assign(who=10**6)
    return pd.concat([without, more], ignore_index=True), without


class Asked(Curator):
    """Writes down every question and its exact answer."""

    __slots__ = ("exact", "heard", "questions")

    def ask(self, purpose, question):
        self.exact.append(self._exact(purpose, question))
        self.questions.append((purpose, question))
        if self.heard is not None:
            assert digest(question) == digest(self.heard[len(self.questions) - 1][1]), f"{purpose}: another question"
        return super().ask(purpose, question)


def conversation(estimator, table, schema, seed, before=None):
    plan = estimator.plan(schema)
    said = None if before is None else before.transcript
    curator = Asked(PrivateTable(table, schema), schema, Ledger(plan), SeededNoise(seed), transcript=said)
    curator.exact, curator.questions, curator.heard = [], [], None if before is None else before.questions
    open_conversation(estimator, curator, schema, plan, Teller(None, plan))
    return curator


def worst(estimator, schema, others, odd, seed):
    """By purpose: what was asked, and how far a person moves it, where 1 is paid for."""
    return moves(estimator, schema, pair(schema, others, odd, seed), seed)


def moves(estimator, schema, both, seed):
    both = both if seed % 2 else both[::-1]
    first = conversation(estimator, both[0], schema, seed)
    second = conversation(estimator, both[1], schema, seed, first)
    assert len(first.questions) == len(second.questions)
    return {
        purpose: (type(question), moved(question, one, other) * question.sigma)
        for (purpose, question), one, other in zip(first.questions, first.exact, second.exact, strict=True)
    }


FEW = us.CliqueTree(epsilon=1.0, passes=3)


@pytest.mark.parametrize("odd", [False, True], ids=["usual", "odd"])
@pytest.mark.parametrize("others", [0, 2, 40])
@pytest.mark.parametrize("schema", [BY_ROW, BY_PERSON], ids=["row", "person"])
def test_neighbours_are_asked_the_same_and_move_answers_by_what_is_paid(schema, others, odd):
    for seed in range(4):
        found = worst(FEW, schema, others, odd, seed)
        kinds = [found[purpose][0] for purpose in (own.DISTANCES, own.LEVELS, own.COUNTS)]
        assert kinds == [Counts, Counts, Sums]  # the path of few rows
        assert max(apart for _, apart in found.values()) <= 1.0 + 1e-6


@pytest.mark.parametrize("name", ["labelled-corner", "labelled-person"])
def test_pairs_of_the_audit_reach_the_class_means(name):
    """And move them by much of what is paid: an audit that sees nothing there would say nothing."""
    found = made_up(name)
    reached = moves(FEW, found.schema, (found.with_, found.without), 1)
    assert [reached[purpose][0] for purpose in (own.DISTANCES, own.LEVELS, own.COUNTS)] == [Counts, Counts, Sums]
    assert 0.5 < reached[own.COUNTS][1] <= max(apart for _, apart in reached.values()) <= 1.0 + 1e-6


class Peeking(us.CliqueTree):
    """Mutant: rows that are there, not the released number of them, decide what is asked."""

    def begin(self, curator, codec, counts, plan):
        there = len(curator._blocks.gathered())
        with mock.patch.object(own, "enough_rows", lambda *_: np.inf if there > 40 else 0.0):
            return super().begin(curator, codec, counts, plan)


def test_a_path_that_rows_decide_is_seen():
    with pytest.raises(AssertionError, match="pair distances: another question"):
        worst(Peeking(epsilon=1.0, passes=3), BY_ROW, 40, False, 1)


def test_the_noise_of_one_column_for_all_is_seen():
    """Mutant: columns are asked again with the noise of one, whatever their number."""
    narrow = property(lambda question: tuple(question.sigma for _ in question.tables))
    with mock.patch.object(Counts, "deviations", narrow):
        found = worst(FEW, BY_ROW, 40, False, 1)
        asked = dict(conversation(FEW, pair(BY_ROW, 40, False, 1)[0], BY_ROW, 1).questions)
    assert [found[purpose][1] for purpose in (own.DISTANCES, own.LEVELS)] == pytest.approx(
        [len(asked[own.DISTANCES].tables) ** 0.5, 1.0]
    )  # four columns and what is missing together, one label


def test_class_means_that_are_not_clipped_are_seen():
    """Mutant: the radius is known to whoever reads the answer and forgotten by whoever adds up."""
    with mock.patch.object(sums, "weights", lambda length, most=sums.WEIGHT: np.broadcast_to(most, length.shape)):
        found = [worst(FEW, BY_ROW, 40, True, seed)[own.COUNTS][1] for seed in range(4)]
    assert max(found) > 1.2
