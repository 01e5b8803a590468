"""What is asked where one number stands for a pair (`scores.py`), of tables and files that differ in one person.

As in `test_few_rows_neighbours.py`: a conversation with one table is repeated with its neighbour, whose released answers are the
same, so that every question must be, and the exact sums may lie apart by what was paid for. Noise is seeded and nobody has more
rows than are kept, so no chance is involved. The tables are small: that products pay is said by hand, and there are always rows
enough to ask about pairs.

The wall clips every person's vector to a norm of 1, so that a map which is too long is not seen in what leaves. Wrong maps are
therefore compared without it, and so is the right one: it is no longer than 1 by itself.
"""

import itertools
import math
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.accounting.ledger import entries_from_dict
from understudy.engine import opened
from understudy.fit import fit
from understudy.measure.cells import Grouping, Node
from understudy.methods.clique_tree import method as own
from understudy.methods.clique_tree import scores
from understudy.methods.clique_tree.columns import Columns
from understudy.private import SeededNoise, mapping, table
from understudy.private.answers import sums
from understudy.private.mapping import Block, apply
from understudy.questions import Counts, Distances, Sums
from understudy.questions.sums import SUM_GRID
from understudy.recipe import Opening
from understudy.schema import Column, Schema

from ..fit import test_neighbours as files
from ..questions.test_questions import moved
from .test_few_rows_neighbours import BY_PERSON, BY_ROW, COLUMNS, conversation, pair
from .test_few_rows_resume import ASKED, died_and_resumed

QUICK = us.CliqueTree(epsilon=1.0, passes=2)
PRECISE = us.CliqueTree(
    epsilon=1e3, passes=2
)  # marginals are as good as exact: scores of values that nobody has are large
PAIRS = (own.DISTANCES, own.LEVELS, own.COUNTS)
ONE = Column(name="z", kind="categorical", categories=("a",))
SCHEMAS = {
    "row": BY_ROW,
    "person": BY_PERSON,
    "no label": Schema(columns=COLUMNS),
    "number": Schema(columns=(*COLUMNS, Column(name="m", kind="integer", lower=0, upper=9, missing=True)), label="n"),
    "one class": Schema(columns=(*COLUMNS[:3], ONE), label="z"),
    "two": Schema(columns=(COLUMNS[0], ONE)),
}
SLACK = 1e-5  # of answers other than sums: `moved` knows their noise with six digits


@contextmanager
def products(pays=lambda *_: True):
    """Pairs are asked about, and products asked for where `pays` says so."""
    with mock.patch.object(own, "products_pay", pays), mock.patch.object(own, "enough_rows", lambda *_: 0.0):
        yield


def moves(estimator, schema, both, seed=1):
    """By purpose: what was asked, and how far a person moves it, where 1 is paid for; of sums in whole numbers."""
    both = both if seed % 2 else both[::-1]
    first = asked(estimator, schema, both[0], seed)
    return apart(first, asked(estimator, schema, both[1], seed, first))


def asked(estimator, schema, rows, seed, before=None):
    """A conversation, of which all that was announced was asked, and nothing else."""
    after = Opening(mock.Mock(), None)  # nothing is asked any more when a model is fitted
    with mock.patch.object(own.CliqueTree, "opening_of", lambda *_: after):
        found = conversation(estimator, rows, schema, seed, before)
    announced = [(charge.purpose, charge.event) for charge in estimator.plan(schema).charges]
    assert [(purpose, question.event) for purpose, question in found.questions] == announced
    return found


def apart(first, second):
    """How far the exact answers of two conversations lie apart."""
    found = {}
    for (purpose, question), one, other in zip(first.questions, first.exact, second.exact, strict=True):
        if isinstance(question, Sums):
            steps = sum(int(step) ** 2 for step in (one - other).ravel())
            found[purpose] = Sums, math.sqrt(steps) / SUM_GRID if steps > SUM_GRID**2 else (steps / SUM_GRID**2) ** 0.5
        else:
            found[purpose] = type(question), moved(question, one, other) * question.sigma / (1.0 + SLACK)
    return found


def largest(found):
    return max(apart for _, apart in found.values())


def tables(schema, others, odd, seed):
    """As `pair`; numbers of columns that it does not have are missing, and of one category there is one."""
    both = (one.assign(z="a").reindex(columns=schema.names) for one in pair(schema, others, odd, seed))
    return tuple(both)


# -- tables --------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SCHEMAS)
def test_neighbours_are_asked_the_same_and_move_sums_by_what_is_paid(name):
    schema = SCHEMAS[name]
    for seed, (how, others, odd) in enumerate(
        [(QUICK, 0, True), (PRECISE, 1, False), (QUICK, 40, False), (PRECISE, 40, True)]
    ):
        with products():
            found = moves(how, schema, tables(schema, others, odd, seed), seed)
        assert [found[purpose][0] for purpose in PAIRS] == [Distances, Distances, Sums]
        assert largest(found) <= 1.0
        assert found[own.COUNTS][1] > 0.3  # whoever comes or goes is in it


def test_one_column_is_counted_whatever_products_would_pay():
    for schema in (Schema(columns=COLUMNS[:1]), Schema(columns=(COLUMNS[0], ONE), label="z")):
        with products():
            found = moves(QUICK, schema, tables(schema, 2, True, 1))
        assert found[own.COUNTS][0] is Counts and largest(found) <= 1.0


FAR = Schema(columns=tuple(Column(name=f"x{k}", kind="integer", lower=0, upper=7) for k in range(6)))


def far_away():
    """Somebody at the other end of all columns. Nearly all others have one value, so that scores of the other end are large."""
    random = np.random.default_rng(0)
    seldom = random.random((400, 6)) < 0.005
    without = pd.DataFrame(np.where(seldom, random.integers(0, 8, (400, 6)), 0), columns=FAR.names)
    return pd.concat([without, pd.DataFrame([[7] * 6], columns=FAR.names)], ignore_index=True), without


@contextmanager
def lengths(found):
    """Writes down how long the scores of rows are, over R."""
    cells = mapping.STEPS[scores.LengthCells]

    def listening(step, block, of):
        found.extend((np.linalg.norm(of(step.of), axis=1) / step.largest).tolist())
        return cells(step, block, of)

    with mock.patch.dict(mapping.STEPS, {scores.LengthCells: listening}):
        yield


def test_rows_whose_scores_are_cut_move_sums_by_what_is_paid():
    seen = []
    with products(), lengths(seen):
        found = moves(PRECISE, FAR, far_away())
    assert max(seen) > scores.LENGTHS[-2]  # f is at its last step
    assert 0.9 < found[own.COUNTS][1] <= 1.0


# -- files ---------------------------------------------------------------------------------------------------------------------
def odd_files(tmp_path, kind, person):
    """A file without the odd row, and some with it. Nobody else has the odd row's id; without an id it is left out."""
    random = np.random.default_rng(7)
    for number in range(4 if kind == "csv" else 3):
        paths = [tmp_path / f"{name}{number}.{kind}" for name in ("with", "without")]
        place = int(random.integers(files.ROWS + 1))
        if kind == "csv":
            odd = files.odd_line(random)
            who = [b"x" * 5000, b"-1", b"", b"'"][number]
            odd = who + b"," + odd.split(b",", 1)[-1] if person else odd
            files.write_csv(paths[0], odd, place)
            files.write_csv(paths[1], None, 0)
        else:
            for path, own_odd in zip(paths, (random, None), strict=True):
                files.write_parquet(path, np.random.default_rng(number), own_odd, place)
        yield paths


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("person", [False, True], ids=["row", "person"])
def test_neighbouring_files_are_asked_the_same_and_move_sums_by_what_is_paid(tmp_path, capfd, kind, person):
    schema = files.schema_of(files.CSV, person)
    for seed, paths in enumerate(odd_files(tmp_path, kind, person)):
        with products():
            found = moves(QUICK, schema, paths, seed)
        assert found[own.COUNTS][0] is Sums and largest(found) <= 1.0
    assert capfd.readouterr() == ("", "")


# -- which question is asked ---------------------------------------------------------------------------------------------------
def test_released_values_decide_what_is_asked():
    """Both ways are taken, and each by both neighbours."""
    taken = set()
    for seed in range(4):
        with products(lambda columns, *_: columns.rows > 40.0):
            found = moves(QUICK, BY_ROW, tables(BY_ROW, 40, seed > 1, seed), seed)
        assert largest(found) <= 1.0
        taken.add(found[own.COUNTS][0])
    assert taken == {Counts, Sums}


def one_factor(rows=1500):
    """Twelve columns that show one thing: products pay."""
    random = np.random.default_rng(0)
    both = 0.7 * random.normal(size=(rows, 1)) + 0.7 * random.normal(size=(rows, 12))
    return pd.DataFrame(np.clip(np.rint(2.5 + 1.2 * both), 0, 5).astype(int)).rename(columns="q{}".format)


def test_what_products_are_forecast_to_tell_follows_from_released_values():
    """Without anybody's say."""
    rows = one_factor()
    schema = Schema(columns=tuple(Column(name=name, kind="integer", lower=0, upper=5) for name in rows))
    odd = pd.DataFrame([[5, 0] * 6], columns=schema.names)
    found = moves(QUICK, schema, (pd.concat([rows, odd], ignore_index=True), rows))
    assert found[own.COUNTS][0] is Sums and largest(found) <= 1.0


class Counting(us.CliqueTree):
    """Mutant: rows that are there, not released values, decide what is asked."""

    def begin(self, curator, codec, counts, plan):
        there = len(curator._blocks.gathered())
        with products(lambda *_: there > 40):
            return super().begin(curator, codec, counts, plan)


class Peeking(us.CliqueTree):
    """Mutant: scores, and with them R, follow from the classes that rows have, not from released marginals."""

    def begin(self, curator, codec, counts, plan):
        exact = np.bincount(curator._blocks.gathered().classes, minlength=codec.class_count).astype(float)

        def peeking(columns, weights):
            return SCORES(columns._replace(masses=[exact, *columns.masses[1:]]), weights)

        with products(), mock.patch.object(scores, "Scores", peeking):
            return super().begin(curator, codec, counts, plan)


SCORES, SUMS = scores.Scores, scores.Sums


@pytest.mark.parametrize("mutant", [Counting, Peeking])
def test_what_rows_decide_is_seen(mutant):
    with products(), pytest.raises(AssertionError, match="clique counts: another question"):
        moves(mutant(epsilon=1.0, passes=2), BY_ROW, tables(BY_ROW, 40, False, 1))


# -- the map without the wall's clipping ---------------------------------------------------------------------------------------
def without_clipping():
    """The wall adds up what it is given."""
    return mock.patch.object(sums, "weights", lambda length, most=sums.WEIGHT: np.broadcast_to(most, length.shape))


CORNER = Schema(
    columns=(*FAR.columns, Column(name="who", kind="identifier", dtype="int64")), unit="who", max_rows_per_unit=4
)


def corner():
    """A person of four rows, all at the end of every column; the values of others are even."""
    others = pd.DataFrame(np.random.default_rng(0).integers(0, 8, (400, 6)), columns=FAR.names).assign(
        who=np.arange(400)
    )
    person = pd.DataFrame([[7] * 6] * 4, columns=FAR.names).assign(who=1000)
    return pd.concat([others, person], ignore_index=True), others


def unclipped(**wrong):
    seen = []
    with products(), without_clipping(), lengths(seen), mock.patch.multiple(scores, **wrong):
        found = moves(PRECISE, CORNER, corner())[own.COUNTS]
    assert found[0] is Sums and 1.2 < max(seen) < 8.0  # f is at work
    return found[1]


def test_the_map_is_no_longer_than_1_by_itself():
    """But for its grid: 2^-20 in every coordinate."""
    assert 0.9 < unclipped(COLUMNS=scores.COLUMNS) <= 1.0 + 1e-5


def test_products_that_are_not_cut_are_seen():
    """Mutant: R is forgotten."""

    class Uncut(SCORES):
        @property
        def products(self):
            return self.some(self.left) * self.some(self.right)

    with products(), without_clipping(), mock.patch.object(scores, "Scores", Uncut):
        assert moves(PRECISE, CORNER, corner())[own.COUNTS][1] > 1.2


def test_products_that_have_the_whole_norm_are_seen():
    """Mutant: columns are in the vector, and products as if they were not."""
    assert unclipped(product_size=lambda radius: math.sqrt(2.0) / radius**2) > 1.1


def test_rows_of_a_person_that_are_added_up_are_seen():
    """Mutant: four rows, each with a norm of 1."""
    assert unclipped(Sums=lambda vector, groups, sigma, average: SUMS(vector, groups, sigma)) > 3.0


def test_rows_of_a_person_that_are_added_up_are_clipped():
    """The wall bounds what a person gives, whatever was asked for."""
    with products(), mock.patch.object(scores, "Sums", lambda *asked, average: SUMS(*asked)):
        assert moves(PRECISE, CORNER, corner())[own.COUNTS][1] <= 1.0


# -- a row's vector is its own -------------------------------------------------------------------------------------------------
class Listening:
    """A curator that answers nothing."""

    def ask(self, purpose, question):
        self.question = question
        raise StopIteration


def categories_only(columns=5, categories=7):
    """A question about 35 scores: rows begin at any place of a register."""
    nodes = [Node(f"c{k}", k * categories, categories, onehot=True) for k in range(columns)]
    masses = [np.arange(1.0, categories + 1.0) * (k + 1.0) for k in range(columns)]
    one, cells = Grouping(np.arange(1), 1), Grouping(np.arange(categories), categories)
    counts, levels = [np.asarray([500.0]), *masses], [[one], *([cells] for _ in nodes)]
    found = Columns(nodes, 1, 500.0, counts, [1.0] * (columns + 1), counts, levels, 1.0)
    curator = Listening()
    with pytest.raises(StopIteration):
        scores.ask_products(curator, found, own.COUNTS, 1.0, {3: 2.0})
    return curator.question


def test_a_row_has_the_same_vector_wherever_it_stands():
    """Bit for bit; and so have sums of any cut into blocks."""
    question, random = categories_only(), np.random.default_rng(1)
    rows = np.eye(7, dtype=np.float32)[random.integers(0, 7, (37, 5))].reshape(37, 35)
    rows[random.random(rows.shape) < 0.01] = np.nan
    rows[3], rows[4], rows[5] = np.inf, -1e30, 0.0
    classes = np.zeros(37, np.int32)
    whole = apply(question.vector, Block(rows, classes))
    assert whole.shape == (37, 5 * 7 + 10 * 49) and np.isfinite(whole).all()
    total = sums.start(question, 35)
    sums.add(question, total, Block(rows, classes))
    for cut in ([0, 37], [0, 1, 37], [0, 5, 6, 7, 20, 37], range(38)):
        own_total = sums.start(question, 35)
        for first, last in itertools.pairwise(cut):
            part = Block(np.array(rows[first:last]), classes[first:last])
            assert apply(question.vector, part).tobytes() == whole[first:last].tobytes()
            sums.add(question, own_total, part)
        assert own_total.tobytes() == total.tobytes()
    order = random.permutation(37)
    assert apply(question.vector, Block(rows[order], classes)).tobytes() == whole[order].tobytes()


@pytest.mark.parametrize("engine", ["inline", pytest.param("processes:2", marks=pytest.mark.slow)])
def test_rows_that_are_read_again_release_the_same_bit_for_bit(tmp_path, engine):
    """As rows in memory do, whoever reads them."""
    rows = tables(BY_ROW, 300, True, 0)[0].astype({"x": float, "n": float, "f": bool})
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), tmp_path / "t.parquet", row_group_size=90)

    def weights(reader, held):
        with mock.patch.object(table, "IN_MEMORY", table.IN_MEMORY if held else 0), products():
            model = fit(QUICK, tmp_path / "t.parquet", BY_ROW, noise=SeededNoise(3), engine=reader)
        return {name: value.tobytes() for name, value in model.weights.items()}

    with opened(engine) as running, opened("inline") as inline:
        assert weights(inline, True) == weights(running, False)


# -- charges -------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("pays", [False, True], ids=["counts", "products"])
@pytest.mark.parametrize("name", ["person", "no label"])
def test_what_is_announced_is_charged(name, pays):
    with products(lambda *_: pays):
        model = fit(QUICK, tables(SCHEMAS[name], 40, True, 1)[0], SCHEMAS[name], noise=SeededNoise(1))
    charges = entries_from_dict(model.ledger)[1]
    assert [(one.purpose, one.event) for one in charges] == [(one.purpose, one.event) for one in model.plan.charges]


@pytest.mark.parametrize("how", ["before", "half", "after"])
def test_a_fit_that_dies_at_products_goes_on(tmp_path, how):
    """What was said stays said, and is charged once; the question about products is the same."""
    with products():
        before, written, after, model = died_and_resumed(tmp_path, how, 6)
    assert len(before) == 6 and len(written) == 6 + (how == "after")
    assert after[:6] == before and [purpose for purpose, _, _ in after] == ASKED
    charges = entries_from_dict(model.ledger)[1]
    assert [charge.purpose for charge in charges] == [charge.purpose for charge in model.plan.charges] == ASKED
    assert any(not one.fitted and not one.cells for one in model.released)  # products were asked for
