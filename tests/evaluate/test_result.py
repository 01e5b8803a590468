"""`result.json` is the exact image of the result."""

import json
import math

import pytest

from understudy.errors import UsageError
from understudy.evaluate.result import (
    BANNER,
    ColumnShape,
    Evaluation,
    Fidelity,
    Header,
    Histogram,
    PairTrends,
    Release,
    Summary,
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
    pairs = PairTrends(
        columns=("a",), measures=(("pearson",),), real=((None,),), synthetic=((1.0,),), difference=((None,),),
        mean_absolute_difference=Summary.of([None]), max_absolute_difference=Summary.of([]),
    )  # fmt: skip
    fidelity = Fidelity(
        shapes=(shape,), shape_score=Summary.of([0.5]), pairs=pairs, two_way=None, three_way=None, propensity=None,
        violations=(),
    )  # fmt: skip
    release = Release(
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
