"""What looks for spikes ask, of tables that differ in one person: the same cells, and counts within their price.

A conversation with one table is repeated with its neighbour, as in `tests/clique_tree/test_few_rows_neighbours.py`. Noise is so
small that spikes of a few rows stand out; twelve rows are at one value, and only with the target's three would their exact
count stand out from chance.
"""

import math
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.measure import one_way
from understudy.measure.spikes import closer
from understudy.questions import Counts
from understudy.schema import Column, Schema

from ..clique_tree.test_few_rows_neighbours import moves

SPIKE, ALMOST, MOST = 0.37, 0.61, 3
SCHEMA = Schema(
    columns=(
        Column(name="x", kind="continuous", lower=0, upper=1, missing=True),
        Column(name="n", kind="integer", lower=0, upper=528_490, codes=(999_999,)),
        Column(name="who", kind="identifier", dtype="int64"),
    ),
    unit="who",
    max_rows_per_unit=MOST,
)
OTHERS = {"x": [SPIKE] * 28 + [ALMOST] * 12 + [0.05, 0.93], "n": [40_000] * 30 + [7, 12] * 6}
TARGETS = {
    "at the spike": {"x": [ALMOST] * 3, "n": [40_000] * 3},
    "in many cells": {"x": [SPIKE, ALMOST, np.nan], "n": [999_999, 0, 528_490]},
    "on edges": {"x": [0.25, np.nextafter(np.float32(0.25), np.float32(0)), 4095 / 4096], "n": [129, 130, 64]},
    "odd": {"x": [np.inf, -np.inf, 1e300], "n": [-5, 10**9, 999_999]},
}
PRECISE = us.Independent(epsilon=1000.0)


def pair(rows):
    """A table with the target in its middle, and without."""
    without = pd.DataFrame(OTHERS).assign(who=np.arange(42))
    target = pd.DataFrame(rows).assign(who=10**6)
    with_ = pd.concat([without[:21], target, without[21:]], ignore_index=True)
    return with_, without


def looked(estimator, rows, seed):
    """How far answers move, where 1 is paid for; and that both looks were taken."""
    narrow = []

    def listening(*asked, **options):
        question = COUNT_CLOSELY(*asked, **options)
        narrow.append(sum(budget != 1.0 for budget in question.budgets))
        return question

    with mock.patch.object(one_way, "count_closely", listening):
        found = moves(estimator, SCHEMA, pair(rows), seed)
    assert narrow == [3, 2, 3, 2]  # looks at both columns and the grids of one, then looks; for each of two tables
    return [found[purpose][1] for purpose in one_way.CELLS]


COUNT_CLOSELY = one_way.count_closely


@pytest.mark.parametrize("rows", TARGETS.values(), ids=TARGETS)
def test_neighbours_are_looked_at_through_the_same_cells_and_move_them_by_what_is_paid(rows):
    assert max(looked(PRECISE, rows, 1)) <= 1.0 + 1e-6


def test_rows_in_one_cell_of_every_table_move_them_by_all_that_is_paid():
    assert looked(PRECISE, TARGETS["at the spike"], 0) == pytest.approx([1.0, 1.0])


def test_looks_at_no_budget_are_seen():
    """Mutant: cells have the noise that they would have without looks, and looks and grids have it, too: five tables at the price
    of two."""

    def unpaid(question):
        tables = sum(budget == 1.0 for budget in question.budgets) or len(question.tables)
        return tuple(question.sigma * math.sqrt(tables) * len(table) for table in question.tables)

    with mock.patch.object(Counts, "deviations", property(unpaid)):
        assert max(looked(PRECISE, TARGETS["at the spike"], 0)) == pytest.approx(math.sqrt(5 / 2))


class Peeking(us.Independent):
    """Mutant: the second look is where exact counts stand out."""

    def begin(self, curator, codec, counts, plan):
        rows = curator._blocks.gathered().rows

        def exactly(look, released, noise):
            edges = look.node.edges
            exact = np.r_[np.zeros(look.node.gap), np.histogram(rows[:, look.node.start], edges)[0]]
            return closer(look, exact, noise)

        with mock.patch.object(one_way, "closer", exactly):
            return super().begin(curator, codec, counts, plan)


class Counting(us.Independent):
    """Mutant: the rows that are there, not the released number of them, decide whether looks are worth it."""

    def begin(self, curator, codec, counts, plan):
        there = len(curator._blocks.gathered().rows)
        with mock.patch.object(one_way, "worth_looking", lambda *_: there > 42):
            return super().begin(curator, codec, counts, plan)


class CountingGrids(us.Independent):
    """Mutant: the rows that are there decide whether decimals are asked for."""

    def begin(self, curator, codec, counts, plan):
        there = len(curator._blocks.gathered().rows)
        with mock.patch.object(one_way, "worth_asking", lambda *_: there > 42):
            return super().begin(curator, codec, counts, plan)


class Rounding(us.Independent):
    """Mutant: numbers are on a grid if the exact rows are: 42 of them lie on that of the whole axis, one more does not."""

    def begin(self, curator, codec, counts, plan):
        there = len(curator._blocks.gathered().rows)
        with mock.patch.object(one_way, "decimals_of", lambda *_: 3 if there > 42 else None):
            return super().begin(curator, codec, counts, plan)


@pytest.mark.parametrize(
    ("mutant", "purpose"),
    [
        (Peeking, one_way.CELLS[1]),
        (Counting, one_way.CELLS[0]),
        (CountingGrids, one_way.CELLS[0]),
        (Rounding, one_way.CELLS[1]),
    ],
)
def test_looks_that_exact_counts_decide_are_seen(mutant, purpose):
    with pytest.raises(AssertionError, match=f"{purpose}: another question"):
        looked(mutant(epsilon=1000.0), TARGETS["at the spike"], 0)
