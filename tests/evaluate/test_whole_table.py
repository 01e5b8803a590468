"""Whole-table measures: values worked out by hand, and damage that each of them has to notice."""

import numpy as np
import pandas as pd
import pytest

from understudy.evaluate import codes, whole_table
from understudy.evaluate.metrics import (
    associations,
    determined,
    impossible,
    k_marginal,
    marginals,
    queries,
    targets,
    told_apart,
)
from understudy.evaluate.metrics.queries import Condition
from understudy.evaluate.table import prepare
from understudy.evaluate.whole import MEASURES
from understudy.schema import Column, Schema

SMALL = Schema(
    columns=(
        Column(name="sex", kind="categorical", categories=("f", "m")),
        Column(name="role", kind="categorical", categories=("wife", "husband", "child"), missing=True),
        Column(name="age", kind="continuous", lower=0.0, upper=100.0, missing=True),
    )
)


def small(rows: list[tuple[str, str | None, float | None]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["sex", "role", "age"]).astype({"age": float})


REAL = small([("f", "wife", 30), ("f", "child", 5), ("m", "husband", 31), ("m", None, None)])
FAKE = small([("f", "wife", 30), ("f", "husband", 99), ("m", "husband", 31), ("m", None, 5)])


@pytest.fixture
def coded():
    real = prepare(REAL, SMALL)
    coding = codes.public_bins(real, SMALL)
    return coding.apply(real), coding.apply(prepare(FAKE, SMALL))


def test_codes_are_categories_and_public_bins(coded):
    real, fake = coded
    assert real.sizes == (5, 6, 21) and real.values == (2, 3, 20)
    assert real.columns[1].tolist() == [0, 2, 1, 4]  # missing comes behind three categories and the place of rare ones
    assert real.columns[2].tolist() == [6, 1, 6, 20]  # five years a bin; missing is an outcome
    assert fake.columns[2].tolist() == [6, 19, 6, 1]


def test_whole_numbers_with_few_values_have_a_bin_each_and_strays_go_to_the_nearest():
    schema = Schema(columns=(Column(name="n", kind="integer", lower=1, upper=16),))
    table = prepare(pd.DataFrame({"n": [1.0, 2, 16, -3, 99, np.nan]}), schema)
    coded = codes.public_bins(table, schema).apply(table)
    assert coded.columns[0].tolist() == [0, 1, 15, 0, 15, 16] and coded.sizes == (17,)


def test_rare_categories_share_a_code(monkeypatch):
    monkeypatch.setattr(codes, "MOST_OUTCOMES", 2)
    schema = Schema(columns=(Column(name="c", kind="categorical", categories=("a", "b", "c", "d")),))
    table = prepare(pd.DataFrame({"c": ["a", "c", "c", "a", "b", "d", "z"]}), schema)
    assert codes.public_bins(table, schema).apply(table).columns[0].tolist() == [0, 1, 1, 0, 2, 2, 4]


def test_percentile_bins_are_those_of_sdnist():
    """numpy.percentile with method 'higher', then intervals closed on the right, the lowest edge included."""
    schema = Schema(columns=(Column(name="x", kind="continuous", lower=0.0, upper=1e6),))
    values = np.random.default_rng(0).exponential(1000, 500)
    table = prepare(pd.DataFrame({"x": values}), schema)
    edges = [*np.unique(np.percentile(values, [5 * i for i in range(20)], method="higher")), values.max()]
    expected = pd.cut(values, bins=edges, labels=False, include_lowest=True)
    assert codes.percentiles(table, schema).apply(table).columns[0].tolist() == expected.tolist()


def test_distances_by_hand(coded):
    real, fake = coded
    assert marginals.one_way(real, fake).tolist() == [0.0, 0.25, 0.25]
    pairs = marginals.pairs_of(real.names, None)
    assert pairs == [(0, 1), (0, 2), (1, 2)]
    two = marginals.two_way(marginals.count_pairs(real, pairs), marginals.count_pairs(fake, pairs))
    assert two.tolist() == [0.25, 0.5, 0.5]
    assert marginals.of_sets(real, fake, [(0, 1, 2)]).tolist() == [0.5]


def test_large_joints_are_sorted_and_give_the_same(coded, monkeypatch):
    dense = marginals.of_sets(*coded, [(0, 1, 2), (1, 2)])
    monkeypatch.setattr(marginals, "MOST_DENSE", 1)
    assert np.array_equal(marginals.of_sets(*coded, [(0, 1, 2), (1, 2)]), dense)


def test_uniform_columns_by_hand(coded):
    """Two of two sexes: 0. Roles 1/4 each and a gap against 1/3 each: 1/4. Three of twenty bins and a gap: 3/4 and 1/20 apart."""
    assert marginals.uniform(coded[0]) == pytest.approx([0.0, 0.25, 0.5 * (0.45 + 0.2 + 18 / 20 + 0.25)])


def test_cramers_v_by_hand_and_of_independent_columns():
    """Three equal outcomes that agree: phi2 = 2, corrected by 4/(n-1), over min(r', c') - 1 with r' = 3 - 4/(n-1): one."""
    assert associations.cramers_v(np.eye(3) * 10) == pytest.approx(1.0)
    assert associations.cramers_v(np.full((3, 4), 7)) == 0.0
    assert associations.cramers_v(np.array([[5, 5], [0, 0]])) == 0.0
    n, phi2 = 40, (2 * (15**2 + 5**2) / 10 / 40) - 1  # 15, 5 / 5, 15: expected 10 in every cell
    expected = np.sqrt((phi2 - 1 / (n - 1)) / (1 - 1 / (n - 1)))
    assert associations.cramers_v(np.array([[15, 5], [5, 15]])) == pytest.approx(expected)


def test_association_errors_by_hand():
    every, strong = associations.errors(np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.5, 0.6]))
    assert every == pytest.approx(0.4 / 3) and strong == pytest.approx(0.15)
    assert associations.errors(np.array([0.1]), np.array([0.2]))[1] is None


def test_queries_by_hand(coded):
    asked = [(Condition(0, 0, 0), Condition(2, 0, 6)), (Condition(1, 4, 4),), (Condition(2, 19, 19),)]
    real, fake = (queries.answers(table, asked) for table in coded)
    assert real.tolist() == [0.5, 0.25, 0.0] and fake.tolist() == [0.25, 0.25, 0.25]
    assert queries.error(real, fake) == pytest.approx((0.5 + 0 + 25) / 3)  # the last answer counts as one percent


def test_queries_are_about_rows_that_exist(coded):
    found = queries.draw(coded[0], 0)
    assert len(found) == 200 and queries.answers(coded[0], found).min() >= 0.25
    ranges = [one for asked in found for one in asked if one.low < one.high]
    assert ranges and all(one.column == 2 and one.high < 20 for one in ranges)  # missing lies in no range


def test_k_marginal_by_hand_and_with_a_stable_column(coded):
    """Half of the rows differ in the only triple: 500 (2 - 1) = 500."""
    assert k_marginal.score(*coded, k_marginal.sets_of(coded[0].names, None, 0)) == pytest.approx(500.0)
    names = tuple("abcde")
    assert k_marginal.sets_of(names, "c", 0) == [(2, 0, 1), (2, 0, 3), (2, 0, 4), (2, 1, 3), (2, 1, 4), (2, 3, 4)]
    assert len(k_marginal.sets_of([str(i) for i in range(40)], "7", 0)) == k_marginal.SETS


def test_impossible_rows_by_hand(coded):
    """The woman who is a husband, and the man of five: two of four rows."""
    real, fake = coded
    pairs = marginals.pairs_of(real.names, None)
    counts, others = marginals.count_pairs(real, pairs), marginals.count_pairs(fake, pairs)
    assert impossible.share(fake, others, counts) == 0.5 and impossible.share(real, counts, counts) == 0.0
    worst = impossible.worst(real.names, [others], counts)
    assert {one.columns: one.share for one in worst} == {
        ("sex", "role"): 0.25,
        ("sex", "age"): 0.5,
        ("role", "age"): 0.5,
    }


def test_determined_pairs_by_hand():
    education = np.array([[30, 0, 0], [0, 40, 0], [0, 0, 30]])
    found = determined.find({(0, 1): education})
    assert [one.columns(("education", "number")) for one in found] == [("education", "number"), ("number", "education")]
    fake = np.array([[20, 5, 0], [0, 50, 0], [5, 0, 20]])
    assert [one.agreement({(0, 1): fake}) for one in found] == [0.9, 0.9]
    many_to_one = np.array([[40, 0], [10, 0], [0, 50]])
    assert [one.turned for one in determined.find({(0, 1): many_to_one})] == [False]


@pytest.mark.parametrize(
    "counts",
    [np.array([[95, 0], [0, 5]]), np.eye(30) * 3, np.array([[50, 2], [0, 48]]), np.array([[50, 50]])],
    ids=["nearly constant", "too few rows per value", "exceptions", "one value"],
)
def test_what_determines_nothing(counts):
    assert determined.find({(0, 1): counts}) == []


def test_targets_are_asked_alike_of_all_tables(patients, schema):
    real = prepare(patients(400, 1), schema)
    number = targets.question(real, schema, "bmi")
    classes = number.of(real)
    assert number.classes == 2 and (classes == -1).sum() == np.isnan(real.values["bmi"]).sum()
    assert abs((classes == 1).sum() - (classes == 0).sum()) <= 1
    city = targets.question(real, schema, "city")
    assert city.kept == (0, 1, 2) and set(city.of(real)) == {0, 1, 2}


def test_kept_share_by_hand():
    assert targets.kept(0.7, 0.9) == pytest.approx(0.5) and targets.kept(0.7, 0.53) is None


NUMBERED = {"low": 1, "middle": 2, "high": 3}


@pytest.fixture(scope="module")
def numbered(schema):
    """With a column that grade determines."""
    return Schema(columns=(*schema.columns, Column(name="number", kind="integer", lower=1, upper=3)), label="sick")


@pytest.fixture(scope="module")
def tables(patients, shuffled) -> dict[str, pd.DataFrame]:
    """Real rows and held-out ones, another sample of the same source, and damage."""

    def made(rows: int, seed: int) -> pd.DataFrame:
        return patients(rows, seed).assign(number=lambda frame: frame["grade"].map(NUMBERED))

    frame = made(1500, 1)
    return {
        "real": frame,
        "held out": made(1000, 3),
        "fresh": made(1500, 2),
        "shuffled": shuffled(frame),
        "shifted": frame.assign(age=frame["age"].where(np.arange(1500) > 500, 89)),
        "misnumbered": frame.assign(number=np.random.default_rng(1).permutation(frame["number"])),
    }


@pytest.fixture(scope="module")
def scored(tables, numbered):
    """Every table, measured against the real one by counting; two of them by classifiers."""
    named = [name for name in tables if name not in ("real", "held out")]
    counted = whole_table(
        tables["real"], [tables[n] for n in named], numbered, held_out=tables["held out"], boosted=False
    )
    few = [tables[name].head(500) for name in ("real", "fresh", "shuffled")]
    learned = whole_table(few[0], few[1:], numbered, held_out=tables["held out"])
    runs = {m.name: dict(zip(named, m.value.runs, strict=True)) for m in counted.measures}
    boosted = {m.name: dict(zip(named, m.value.runs, strict=False)) for m in learned.measures}
    return counted, learned, boosted | runs


@pytest.mark.parametrize(
    ("name", "table", "worse_by"),
    [
        ("one-way", "shifted", 0.01),
        ("two-way", "shuffled", 0.01),
        ("three-way", "shuffled", 0.02),
        ("association", "shuffled", 0.05),
        ("strong-association", "misnumbered", 0.1),
        ("query", "shuffled", 0.05),
        ("told-apart", "shuffled", 0.2),
        ("label-target", "shuffled", 0.5),
        ("other-targets", "shuffled", 0.3),
        ("k-marginal", "shuffled", 10),
        ("impossible-rows", "shuffled", 0.2),
        ("determined-pairs", "misnumbered", 0.2),
    ],
)
def test_every_measure_notices_its_damage(scored, name, table, worse_by):
    """Against a fresh sample of the same source, which is as good as a stand-in can be. Seeds are fixed."""
    runs = scored[2]
    sign = 1 if MEASURES[name][0] else -1
    assert sign * (runs[name]["fresh"] - runs[name][table]) > worse_by


def test_a_fresh_sample_is_near_the_floor_and_shuffled_rows_are_the_independent_reference(scored):
    counted, learned, runs = scored
    assert [m.name for m in learned.measures] == list(MEASURES)
    for one in counted.measures:
        if one.name != "one-way":
            span = abs(one.independent - one.bootstrap)
            assert abs(runs[one.name]["shuffled"] - one.independent) < 0.35 * span, one.name
            assert abs(runs[one.name]["fresh"] - one.held_out) < 0.5 * span, one.name
    assert counted.measure("one-way").independent == 0.0 and runs["one-way"]["shuffled"] == 0.0
    assert counted.measure("determined-pairs").held_out == 1.0
    assert {one.columns for one in counted.determined} == {("grade", "number"), ("number", "grade")}
    told = learned.measure("told-apart")
    assert abs(told.held_out - 0.5) < 0.1 and told.independent > 0.8 and told.floor == told.held_out
    assert learned.measure("other-targets").independent == 0.0 and learned.measure("other-targets").bootstrap > 0.7


def test_telling_columns_are_those_that_are_off(tables, numbered):
    real, shifted = (prepare(tables[name].head(600), numbered) for name in ("real", "shifted"))
    area, telling = told_apart.compare(real, shifted, numbered, 0, explain=True)
    assert area > 0.7 and telling[0] == "age"


def test_lost_lies_between_real_rows_and_no_dependence(patients, shuffled, schema):
    real = patients(1500, 1)
    bad = whole_table(real, shuffled(real, 5), schema, boosted=False)
    for name in ("two-way", "three-way", "association", "k-marginal"):
        assert bad.measure(name).lost == pytest.approx(1.0, abs=0.3)
    same = whole_table(real, real, schema, boosted=False)
    assert all(one.value.mean == one.perfect for one in same.measures)
    assert all(one.lost is None or one.lost <= 0 for one in same.measures)
    assert bad.boosted_rows == 0 and bad.measure("told-apart") is None


def test_nothing_depends_on_a_label_and_odd_tables_are_measured(patients, schema):
    bare = Schema(columns=schema.columns)
    frame = patients(300, 1)
    found = whole_table(frame, patients(200, 2), bare)
    assert found.measure("label-target") is None and found.measure("other-targets") is not None
    one = Schema(columns=(schema.column("city"),))
    assert [m.name for m in whole_table(frame, frame, one).measures] == ["one-way", "query", "told-apart", "k-marginal"]
    assert whole_table(frame, frame.head(0), bare) is None and whole_table(frame.head(0), frame, bare) is None
    absent = whole_table(frame, patients(50, 2).drop(columns="age"), bare, boosted=False)
    assert absent.measure("one-way").value.mean > 0.1


def test_wide_tables_count_pairs_of_some_columns():
    names = [f"c{i}" for i in range(100)]
    pairs = marginals.pairs_of(names, "c1")
    used = {i for pair in pairs for i in pair}
    assert len(used) in (60, 61) and 1 in used and len(pairs) == len(used) * (len(used) - 1) // 2
    assert len(marginals.triples_of(100, 100, 0)) == 100 and len(marginals.triples_of(4, 100, 0)) == 4


def test_real_rows_drawn_again_have_not_seen_the_rows_they_are_tested_on(patients, schema):
    """Without held-out rows one half of the real rows is tested on; drawn again with them in it, trees knew their answers."""
    found = {one.name: one for one in whole_table(patients(400, 1), patients(400, 1), schema).measures}
    assert found["other-targets"].bootstrap < 1.1 < found["other-targets"].value.mean  # the table itself has seen them
