"""Tables so small that every class answer asks for class means: sensitivity of each look, sparse signals, absent outcomes."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from understudy.measure.cells import make_nodes
from understudy.measure.class_moments import CELLS, MOMENTS, ClassFeatures
from understudy.measure.few_rows import ask_means, class_rates, present_rates, starting_rates
from understudy.measure.marginals import normal_scores
from understudy.measure.products import PAIRS
from understudy.measure.which_questions import few_rows
from understudy.methods.mean_embedding.method import MeanEmbedding
from understudy.private import Curator
from understudy.private.answers.sums import groups_of
from understudy.private.mapping import Block, apply
from understudy.private.release import Release
from understudy.questions import Sums
from understudy.questions.sums import SUM_GRID
from understudy.schema import Column, Schema, codec_of

from ..wall import ask

NOISE = {MOMENTS: 5.0, CELLS: 13.0, PAIRS: 7.0}
COUNTED = 15.0
SMALL = Schema(
    columns=(
        Column(name="x", kind="continuous", lower=0, upper=1, missing=True),
        Column(name="flag", kind="boolean"),
        Column(name="town", kind="categorical", categories=("a", "b", "c")),
        Column(name="sick", kind="categorical", categories=("no", "yes")),
    ),
    label="sick",
)


def features(schema: Schema, counts: tuple[float, ...] = (600.0, 50.0)) -> ClassFeatures:
    """Seen through marginals that found uniform numbers and even outcomes."""
    codec = codec_of(schema, True)
    nodes = make_nodes(codec)
    masses = [np.diff(node.edges) if node.ordered else np.ones(node.size) for node in nodes]
    masses = [
        650.0 * np.r_[[0.5] * (node.missing is not None), mass / mass.sum()]
        for node, mass in zip(nodes, masses, strict=True)
    ]
    scores = normal_scores(nodes, masses, np.arange(len(nodes)), codec.width, COUNTED * 2.0)
    return ClassFeatures(codec, scores, np.asarray(counts))


class Witness(Curator):
    """Answers like a curator, with noise of its own choosing, and writes down how far one unit moved each answer."""

    def __init__(self, rows: Any, classes: Any, units: Any, gone: Any, clip: bool = True) -> None:
        self.rows, self.classes, self.units, self.gone, self.clip = rows, classes, units, gone, clip
        self.moved: dict[str, float] = {}

    def ask(self, purpose: str, question: Any) -> Release[Any]:
        kept = ~self.gone
        units = None if self.units is None else self.units[kept]
        answer = ask if self.clip else plain_sum
        full = answer(question, self.rows, self.classes, self.units)
        rest = answer(question, self.rows[kept], self.classes[kept], units)
        self.moved[purpose] = float(np.linalg.norm((full - rest) * SUM_GRID))
        noise = np.random.default_rng(len(self.moved)).normal(size=full.shape) * question.sigma
        return Release(full + noise, question.event)


def plain_sum(question: Sums, rows: Any, classes: Any, units: Any) -> Any:
    """The mutant: nobody clips."""
    block = Block(rows, classes)
    own, vectors = groups_of(question, block, 0, len(block)), apply(question.vector, block)
    return np.stack([vectors[own == number].sum(axis=0) for number in range(question.groups)])


@settings(max_examples=40, deadline=None)
@given(hnp.arrays(np.float32, (6, 6), elements=st.sampled_from([0.0, 0.5, 1.0, 7.0, np.inf, np.nan])), st.booleans())
def test_a_unit_moves_every_look_by_at_most_its_noise_unit(rows: Any, by_unit: bool) -> None:
    """Worst rows: far corners, values outside [0, 1], no numbers at all; a person may have rows of both classes."""
    units = np.array([7, 8, 7, 7, 9, 7], np.uint64) if by_unit else None
    gone = np.array([7, 8, 7, 7, 9, 7]) == 7 if by_unit else np.arange(6) == 3
    identifier = (Column(name="who", kind="identifier"),)
    persons = Schema(columns=SMALL.columns + identifier, label="sick", unit="who", max_rows_per_unit=4)
    witness = Witness(rows, np.array([0, 1, 1, 0, 1, 1]), units, gone)
    ask_means(witness, features(persons if by_unit else SMALL), NOISE, [MOMENTS, CELLS, PAIRS])
    assert list(witness.moved) == [MOMENTS, CELLS, PAIRS]
    assert max(witness.moved.values()) <= SUM_GRID


def test_without_clipping_a_far_row_would_move_more() -> None:
    rows = np.zeros((4, 6), np.float32)
    rows[3] = [0.99, 0.0, 7.0, 0.0, 0.0, 7.0]
    witness = Witness(rows, np.array([0, 0, 1, 1]), None, np.arange(4) == 3, clip=False)
    ask_means(witness, features(SMALL), NOISE, [MOMENTS, CELLS, PAIRS])
    assert max(witness.moved.values()) > SUM_GRID


def test_small_is_a_matter_of_public_and_released_numbers() -> None:
    assert few_rows(77, 686.0, 7.47)
    assert not few_rows(77, 6_860.0, 7.47)
    assert not few_rows(77, 686.0, 0.747)


def test_outcomes_that_drown_share_what_they_hold_together() -> None:
    np.testing.assert_allclose(present_rates(np.array([0.5, 0.02, -0.01, 0.01]), 0.1), [0.5, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(present_rates(np.array([0.5, *[0.08] * 4]), 0.1), [0.5, *[0.08] * 4])


def test_rates_are_common_unless_a_class_stands_out() -> None:
    own = features(SMALL)
    start, usual = starting_rates(own)
    kept = np.setdiff1d(own.discrete, usual)
    common = np.array([0.10, 0.30, 0.30, 0.30])[: len(kept)]
    found = np.stack([common, common + np.array([0.0, 0.5, 0.02, 0.0])[: len(kept)]])
    rates = class_rates(found, np.array([0.01, 0.05]), own, start, kept)
    gap = rates[1, kept] - rates[0, kept]
    assert gap[1] > 0.45 and abs(gap[0]) < 1e-9
    for block in own.codec.blocks:
        if block.size > 1:
            np.testing.assert_allclose(rates[:, block.start : block.start + block.size].sum(axis=1), 1.0, atol=1e-4)


@pytest.mark.parametrize("size", [2, 3, 25, 29, 31, 50])
def test_a_column_that_drowns_keeps_its_usual_outcome(size: int) -> None:
    """Even rates are stored with single precision, which may round them below 1 / size: something must be left of them."""
    column = Column(name="town", kind="categorical", categories=tuple(f"t{i}" for i in range(size)))
    own = features(Schema(columns=(column, SMALL.columns[-1]), label="sick"))
    rates, _ = starting_rates(own)
    assert np.isfinite(rates).all()
    assert rates[: own.codec.blocks[0].size].sum() == pytest.approx(1.0 if size > 2 else rates[0])


def sparse_table(rows: int, seed: int) -> pd.DataFrame:
    """Thirty binary columns: one tells the classes apart, nine are common, twenty never happen. A sixth of the rows is sick."""
    rng = np.random.default_rng(seed)
    sick = np.arange(rows) % 6 == 0
    told = rng.random(rows) < np.where(sick, 0.9, 0.05)
    common = rng.random((rows, 9)) < 0.2
    frame = pd.DataFrame(np.concatenate([told[:, None], common, np.zeros((rows, 20), bool)], axis=1))
    frame.columns = [f"b{i}" for i in range(30)]
    return frame.assign(age=rng.normal(50.0, 15.0, rows), sick=np.where(sick, "yes", "no"))


SPARSE = Schema(
    columns=(
        *(Column(name=f"b{i}", kind="boolean") for i in range(30)),
        Column(name="age", kind="continuous", lower=0, upper=120),
        Column(name="sick", kind="categorical", categories=("no", "yes")),
    ),
    label="sick",
)


@pytest.fixture(scope="module")
def sparse() -> MeanEmbedding:
    return MeanEmbedding(epsilon=1.0, seed=0).fit(sparse_table(720, 0), SPARSE)


def test_a_single_telling_column_is_found_at_epsilon_one(sparse: MeanEmbedding) -> None:
    """120 sick rows and a gap of 0.85, which is about ten errors of 0.08; half of the gap counts as found.

    Of the nine other columns four may differ by 0.15, two errors, or more: P(more than four) is below 1e-5.
    """
    made = sparse.sample(20_000, seed=1)
    means = made.drop(columns=["age"]).groupby("sick")[[f"b{i}" for i in range(30)]].mean()
    gap = means.loc["yes"] - means.loc["no"]
    assert gap["b0"] > 0.4
    assert (gap[[f"b{i}" for i in range(1, 10)]].abs() < 0.15).sum() >= 5


def test_what_never_happens_is_not_made_up(sparse: MeanEmbedding) -> None:
    """Rates of the twenty empty columns are 0 unless they stand out by four errors, or a class by itself by 1.4 (one in six).

    More than ten such: less than once in 10,000 fits.
    """
    made = sparse.sample(20_000, seed=2)
    assert ((made[[f"b{i}" for i in range(10, 30)]].mean()) < 0.002).sum() >= 10


def test_charges_of_a_small_table_are_those_of_the_plan(sparse: MeanEmbedding) -> None:
    plan, entries = sparse.fitted.plan, sparse.fitted.ledger["entries"]
    assert few_rows(31, 720.0, plan.parameters["noise"][PAIRS])
    assert [entry["purpose"] for entry in entries] == [charge.purpose for charge in plan.charges]
    assert plan.epsilon <= 1.0


def test_a_small_table_of_outcomes_alone() -> None:
    """Without a numeric column there are no densities to bend; the telling column is found as above."""
    table = sparse_table(720, 0).drop(columns=["age"])
    schema = Schema(columns=tuple(column for column in SPARSE.columns if column.name != "age"), label="sick")
    made = MeanEmbedding(epsilon=1.0, seed=0).fit(table, schema).sample(2_000, seed=1)
    assert made[made.sick == "yes"].b0.mean() - made[made.sick == "no"].b0.mean() > 0.4
