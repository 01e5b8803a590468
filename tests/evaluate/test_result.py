"""`result.json` is the exact image of the result."""

import json
import math

import pytest

from understudy.errors import UsageError
from understudy.evaluate.result import (
    BANNER,
    Associations,
    ColumnShape,
    DeterminedPair,
    Evaluation,
    Fidelity,
    Header,
    Histogram,
    ImpossiblePair,
    MarginalError,
    Measure,
    Summary,
    SyntheticTable,
    Target,
    WholeTable,
)


def small() -> Evaluation:
    header = Header(
        created="2024-01-01T00:00:00+00:00", test_rows=3, train_rows=None, synthetic_rows=(3, 4), columns=1,
        kinds={"a": "continuous"}, label=None, label_kind="none", positive=None, classes=(), max_rows=20_000, seed=0,
        metrics=("fidelity",), models=(), versions={"numpy": "2"}, certificate={"epsilon": 1.0, "files": ["x"]},
        seconds=0.1,
    )  # fmt: skip
    shape = ColumnShape(
        column="a", kind="continuous", measure="kolmogorov-smirnov", distance=Summary.of([0.1, 1 / 3]),
        histogram=Histogram(edges=(0.0, 0.5, 1.0), labels=None, real=(0.1, 0.9), synthetic=(0.2, 0.8)),
        real_missing=0.0, synthetic_missing=Summary.of([0.0]), real_mean=math.pi, synthetic_mean=Summary.of([3.0]),
    )  # fmt: skip
    whole = WholeTable(
        compared_with="test", real_rows=3, held_out_rows=None, bins=20, boosted_rows=0,
        measures=(Measure.of("two-way", Summary.of([0.2, None], False), 0.0, None, bootstrap=0.1, independent=1 / 3),),
        associations=Associations(
            columns=("a", "b"), real=((1.0, None), (None, 1.0)), synthetic=((1.0, 0.5), (0.5, 1.0)),
            difference=((0.0, None), (None, 0.0)), strong=0),
        worst_sets=(MarginalError(columns=("a", "b"), distance=0.4),),
        targets=(Target(column="a", classes=2, real=0.9, synthetic=Summary.of([0.8, 0.7]), bootstrap=None),),
        telling_columns=("a",), impossible=(ImpossiblePair(columns=("a", "b"), share=0.25),),
        determined=(DeterminedPair(columns=("a", "b"), real=1.0, synthetic=Summary.of([0.5, 0.6])),),
    )  # fmt: skip
    fidelity = Fidelity(shapes=(shape,), whole=whole, violations=())
    release = SyntheticTable(
        schema={"columns": {"a": {"kind": "continuous"}}}, rows=3, columns=(), pair_columns=("a",),
        pair_measures=(("pearson",),), pairs=((1.0,),), violations=(),
    )  # fmt: skip
    return Evaluation(header=header, release=release, fidelity=fidelity)


def test_json_round_trip_is_exact(tmp_path):
    result = small()
    assert Evaluation.from_json(result.to_json()) == result
    result.save(tmp_path / "result.json")
    assert Evaluation.load(tmp_path / "result.json") == result
    assert list(tmp_path.iterdir()) == [tmp_path / "result.json"]


def test_result_is_marked_not_private():
    plain = json.loads(small().to_json())
    assert plain["header"]["private"] is False
    assert plain["header"]["banner"] == BANNER


def test_unknown_format_is_refused_with_a_way_out():
    data = small().to_dict() | {"format": 99}
    with pytest.raises(UsageError, match="format 99"):
        Evaluation.from_dict(data)


def test_summary_leaves_undefined_runs_out_and_knows_the_direction():
    s = Summary.of([0.2, None, float("nan"), 0.4], higher_is_better=False)
    assert s.runs == (0.2, None, None, 0.4)
    assert (s.low, s.high, s.best) == (0.2, 0.4, 0.2)
    assert s.mean == pytest.approx(0.3) and s.sd == pytest.approx(math.sqrt(0.02))
    assert Summary.of([]).mean is None and Summary.of([0.7]).sd is None


@pytest.mark.parametrize(
    ("mean", "bootstrap", "held_out", "independent", "floor", "lost"),
    [
        (0.2, 0.1, 0.15, 0.3, 0.1, 0.5),
        (0.05, 0.1, None, 0.3, 0.1, -0.25),
        (0.2, 0.1, None, 0.12, 0.1, None),  # no dependence is hardly worse than real rows: nothing can be said
        (0.2, 0.1, None, 0.05, 0.1, None),
        (0.2, 0.0, 0.1, 0.3, 0.1, 0.5),  # copies cannot but look perfect: held-out rows are the floor
        (0.2, 0.0, None, 0.4, 0.0, 0.5),
        (0.2, None, None, 0.4, None, None),
    ],
)
def test_floor_and_loss_by_hand(mean, bootstrap, held_out, independent, floor, lost):
    known = {"bootstrap": bootstrap, "held_out": held_out, "independent": independent}
    found = Measure.of("two-way", Summary.of([mean], False), 0.0, None, **known)
    assert found.floor == floor and found.lost == (None if lost is None else pytest.approx(lost))


@pytest.mark.parametrize(("independent", "lost"), [(0.495, None), (0.54, None), (0.7, 2.0)])
def test_shuffled_columns_that_cannot_be_told_are_no_measure(independent, lost):
    known = {"bootstrap": 0.44, "held_out": 0.5, "independent": independent}
    found = Measure.of("told-apart", Summary.of([0.9], False), 0.5, None, **known).lost
    assert found == (None if lost is None else pytest.approx(lost))


def test_loss_where_more_is_better():
    known = {"bootstrap": 900.0, "held_out": None, "independent": 700.0}
    assert Measure.of("k-marginal", Summary.of([850.0]), 1000.0, None, **known).lost == pytest.approx(0.25)
    assert Measure.of("k-marginal", Summary.of([850.0]), 1000.0, None, **known | {"independent": 880.0}).lost is None
