"""Columns that are missing together stay so, in a small table with a label.

Fits have seeded noise: nothing here fails by chance.
"""

from unittest import mock

import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.fit import fit as fit_model
from understudy.measure.cells import Grouping, Node
from understudy.methods.clique_tree import few_rows
from understudy.methods.clique_tree import method as own
from understudy.methods.clique_tree.columns import Columns
from understudy.methods.clique_tree.gaps import Apart, Gaps, gaps_of, with_rate
from understudy.private import Release, SeededNoise
from understudy.private.mapping import Block, apply
from understudy.schema import Codec, Column, Schema

from .test_few_rows_neighbours import moves

BLOCK = [f"q{k}" for k in range(14)]
SCHEMA = Schema(
    columns=(
        *(Column(name=name, kind="categorical", categories=("no", "yes"), missing=True) for name in BLOCK[:10]),
        *(Column(name=name, kind="continuous", lower=0, upper=1, missing=True) for name in BLOCK[10:]),
        Column(name="age", kind="integer", lower=0, upper=90, missing=True),
        Column(name="sick", kind="categorical", categories=("no", "yes")),
    ),
    label="sick",
)


def table(rows: int, share: float, seed: int = 0) -> pd.DataFrame:
    """A part of the rows answers none of fourteen questions; `age` is missing in a tenth of all."""
    rng = np.random.default_rng(seed)
    silent = rng.random(rows) < share
    found = {name: np.where(rng.random(rows) < 0.1, "yes", "no") for name in BLOCK[:10]}
    found |= {name: rng.random(rows) for name in BLOCK[10:]}
    frame = pd.DataFrame(found).mask(np.repeat(silent[:, None], 14, axis=1))
    age = pd.Series(rng.integers(20, 80, rows), dtype="float").mask(rng.random(rows) < 0.1)
    return frame.assign(age=age, sick=np.where(rng.random(rows) < 0.04, "yes", "no"))


def fit(frame: pd.DataFrame, seed: int = 0):
    return fit_model(us.CliqueTree(epsilon=1.0), frame, SCHEMA, noise=SeededNoise(seed))


def together(made: pd.DataFrame) -> tuple[float, float]:
    """Rows that miss nearly all of the block, and rows that miss something of it and not nearly all."""
    missing = made[BLOCK].isna().sum(axis=1)
    return float((missing >= 12).mean()), float(((missing > 1) & (missing < 12)).mean())


def test_what_is_missing_together_stays_so():
    made = fit(table(700, 0.12)).sample(4_000, seed=1)
    whole, part = together(made)
    assert 0.07 < whole < 0.18 and part < 0.05
    assert 0.02 < made.age.isna().mean() < 0.2
    silent = made[BLOCK].isna().sum(axis=1) >= 12
    assert made.age.isna()[silent].mean() < 0.5  # is not of the block


def test_the_plan_says_so():
    assert any("miss much at once" in note for note in us.CliqueTree(epsilon=1.0).plan(SCHEMA).notes)
    assert not any(
        "miss much" in note
        for note in us.CliqueTree(epsilon=1.0).plan(Schema(columns=SCHEMA.columns[-2:], label="sick")).notes
    )
    assert "what is missing together" in own.BY_CLASS_AND_GAPS


def test_without_it_every_column_is_missing_by_itself(monkeypatch):
    """The wrong version."""
    monkeypatch.setattr(own, "gaps_of", lambda *_: None)
    whole, part = together(fit(table(700, 0.12)).sample(4_000, seed=1))
    assert whole < 0.01 and part > 0.1


def test_a_table_that_misses_nothing_together_is_asked_as_if_it_could_not():
    with mock.patch.object(few_rows, "Apart", side_effect=AssertionError):
        fit(table(700, 0.0))


def test_a_model_with_gaps_can_be_copied_and_conditioned(tmp_path):
    model = fit(table(700, 0.12))
    copies = model.copies(2, rows=2_000, seed=3)
    assert all(0.04 < together(copy)[0] < 0.25 for copy in copies)
    assert model.sample(50, where="q3 is missing", seed=2)[BLOCK].isna().mean().mean() > 0.7
    model.save(tmp_path / "m")
    pd.testing.assert_frame_equal(us.load(tmp_path / "m").sample(20, seed=4), model.sample(20, seed=4))


def columns_with(*missing: float) -> tuple[Codec, Columns]:
    schema = Schema(columns=tuple(SCHEMA.columns[: len(missing)]))
    nodes = [Node(f"q{k}", 3 * k, 3, onehot=True) for k in range(len(missing))]
    masses = [np.asarray([100.0]), *(100.0 * np.asarray([0.9 - p, 0.1, p]) for p in missing)]
    levels = [[Grouping(np.arange(len(mass)), len(mass))] for mass in masses]
    return Codec(schema), Columns(nodes, 1, 100.0, masses, [1.0] * len(masses), masses, levels, 1.0)


def test_so_many_as_independent_columns_would_seldom_miss():
    """Of ten columns missing in a tenth each, four or more are in 1.3 % of the rows and five or more in 0.2 %."""
    found = gaps_of(*columns_with(*([0.1] * 10)))
    assert found is not None and found.least == 5 and found.numbers == list(range(1, 11))
    assert gaps_of(*columns_with(0.01, 0.01)).least == 2
    assert gaps_of(*columns_with(0.4, 0.4)) is None  # both are missing in 16 % anyway
    assert gaps_of(*columns_with(0.1)) is None
    assert gaps_of(*columns_with(0.1, 0.8)) is None  # missing as a rule
    assert gaps_of(*columns_with(0.05, 0.8, 0.05)).numbers == [1, 3]


def test_rates_of_the_block_are_1_and_others_are_usual():
    apart = Apart(Gaps([Node("x", 0, 2)] * 12, list(range(1, 13)), 2), 80.0, 20.0, 300.0)
    apart.rates, apart.error = np.r_[[0.9, 1.1, 0.8, 1.0, 0.95, 0.85, 1.05, 0.9], [0.2, -0.1, 0.0, 0.1]], 0.12
    found = apart.block(np.full(12, 0.02))
    assert (found[:8] > 0.9).all() and (found[8:] < 0.15).all() and (found >= 0.0).all() and (found <= 1.0).all()


class Saying:
    """A curator that has its answers."""

    def __init__(self, *answers):
        self.answers = list(answers)

    def ask(self, purpose, question):
        return Release(question.read(self.answers.pop(0)), question.event)


def test_others_are_left_where_fewer_rows_are_found_than_before():
    """Forty rows of a hundred miss much; after the classes are counted again twenty rows are left in all."""
    codec, columns = columns_with(0.05, 0.05, 0.05)
    asked, gaps = {own.DISTANCES: range(1, 4), own.LEVELS: [0]}, gaps_of(codec, columns)
    curator = Saying([[85, 10, 5]] * 3 + [[60, 40]], [[-60]])
    columns, apart = few_rows.ask_again(curator, columns, dict.fromkeys(asked, 1.0), asked, 1, gaps)
    assert columns.rows == 20.0 and apart.rows == apart.most == 10.0


def test_a_table_of_one_row_can_be_fitted():
    """It misses all, and the noise of one class takes it away: nobody was left for class means, and the fit died."""
    names = [f"q{k}" for k in range(40)]
    schema = Schema(
        columns=(
            *(Column(name=name, kind="categorical", categories=("no", "yes"), missing=True) for name in names),
            Column(name="sick", kind="categorical", categories=("no", "yes")),
        ),
        label="sick",
    )
    row = pd.DataFrame({**dict.fromkeys(names), "sick": ["no"]}, dtype=object)
    how = us.CliqueTree(epsilon=100.0, passes=1)
    assert fit_model(how, row, schema, noise=SeededNoise(59)).sample(3, seed=0).shape == (3, 41)


def test_a_rate_leaves_what_is_seen_as_it_was():
    found = with_rate(np.asarray([[0.6, 0.3, 0.1], [0.0, 0.0, 1.0]]), 2, 0.4)
    np.testing.assert_allclose(found[0], [0.4, 0.2, 0.4])
    assert np.isfinite(found).all()


# -- what a row can move -------------------------------------------------------------------------------------------------------
MOST = 4
BY_PERSON = Schema(
    columns=(*SCHEMA.columns, Column(name="who", kind="identifier", dtype="int64")),
    label="sick",
    unit="who",
    max_rows_per_unit=MOST,
)
ODD = pd.DataFrame(
    {name: [None, "yes", "zzz", None] for name in BLOCK[:10]}
    | {name: [np.nan, np.inf, -1e300, None] for name in BLOCK[10:]}
    | {"age": [None, 10**9, -5, 3.0], "sick": ["no", "yes", "zzz", None]}
)
FEW = us.CliqueTree(epsilon=1.0, passes=3)


def neighbours(schema: Schema, others: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A table with somebody who answers nothing, and without."""
    without, odd = table(others, 0.3, seed), ODD.iloc[[seed % 4]] if schema.unit is None else ODD
    if schema.unit is not None:
        without, odd = without.assign(who=np.arange(others) // MOST), odd.assign(who=10**6)
    return pd.concat([without.astype(object), odd.astype(object)], ignore_index=True), without.astype(object)


def gaps_stand_out():
    return mock.patch.object(few_rows, "GAPS_STAND_OUT", -np.inf)


@pytest.mark.parametrize("others", [0, 3, 40])
@pytest.mark.parametrize("schema", [SCHEMA, BY_PERSON], ids=["row", "person"])
def test_neighbours_are_asked_the_same_and_move_answers_by_what_is_paid(schema, others):
    for seed in range(4):
        with gaps_stand_out():
            found = moves(FEW, schema, neighbours(schema, others, seed), seed)
        assert max(apart for _, apart in found.values()) <= 1.0 + 1e-6
        if schema.unit is None and seed in (0, 3):  # misses all
            assert found[own.COUNTS][1] == pytest.approx(1.0, abs=1e-3)


def missing_vector(rows: np.ndarray) -> np.ndarray:
    nodes = [Node(f"q{k}", 3 * k, 3, onehot=True) for k in range(5)]
    apart = Apart(Gaps(nodes, list(range(1, 6)), 2), 80.0, 20.0, 300.0)
    return apply(apart.missing, Block(rows.astype(np.float32), np.zeros(len(rows), np.int32)))


def test_what_is_missing_has_length_1_whatever_a_row_holds():
    rng = np.random.default_rng(0)
    odd = [np.full(15, value) for value in (np.nan, np.inf, -1e30, 0.0)]
    found = missing_vector(np.stack([*rng.random((20, 15)), *odd]))
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-12)


def test_a_row_is_of_one_kind_wherever_it_stands():
    rng = np.random.default_rng(0)
    rows = rng.random((37, 15)).astype(np.float32)
    kind = Gaps([Node(f"q{k}", 3 * k, 3, onehot=True) for k in range(5)], [1, 2, 3, 4, 5], 2).kind
    whole = apply(kind, Block(rows, np.zeros(37, np.int32)))
    missing = (rows.reshape(37, 5, 3).argmax(axis=2) == 2).sum(axis=1) >= 2
    assert (whole[:, 0] == missing).all() and 0 < missing.sum() < 37
    for first in range(37):
        one = apply(kind, Block(rows[first : first + 1], np.zeros(1, np.int32)))
        assert one[0, 0] == whole[first, 0]


class Peeking(us.CliqueTree):
    """Mutant: how many values must be missing follows from the rows, not from released rates."""

    def begin(self, curator, codec, counts, plan):
        there = len(curator._blocks.gathered())

        def peeking(*known):
            return gaps_of(*known)._replace(least=3 if there > 40 else 2)

        with mock.patch.object(own, "gaps_of", peeking):
            return super().begin(curator, codec, counts, plan)


def test_a_limit_that_rows_decide_is_seen():
    with gaps_stand_out(), pytest.raises(AssertionError, match="pair distances: another question"):
        moves(Peeking(epsilon=1.0, passes=3), SCHEMA, neighbours(SCHEMA, 40, 0), 1)


def test_class_means_that_are_not_clipped_beside_them_are_seen():
    """Mutant: the wall adds up what it is given. Rows that miss much are no longer than 1 by themselves, others are."""
    unclipped = mock.patch(
        "understudy.private.answers.sums.weights", lambda length, most=1 << 12: np.full(len(length), most)
    )
    with gaps_stand_out(), unclipped:
        found = [moves(FEW, SCHEMA, neighbours(SCHEMA, 40, seed), seed)[own.COUNTS][1] for seed in (0, 1)]
    assert found[0] == pytest.approx(1.0, abs=1e-3) and found[1] > 1.2
