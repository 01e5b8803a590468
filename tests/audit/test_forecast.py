"""How long an audit takes is said before its first fit, by public facts; constants are those of the stored runs."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy.audit import batches, forecast, run
from understudy.audit.targets import record_pair, worst_case
from understudy.methods.registry import method
from understudy.schema import Column, Schema

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"


@pytest.mark.parametrize("name", forecast.PER_FIT)
def test_the_constants_are_those_of_the_stored_runs(name):
    stored = json.loads((RESULTS / f"audit-worst-case-{name}.json").read_text())
    one, rounds = forecast.PER_FIT[name]
    assert one == pytest.approx(1 / stored["fits_per_second"], rel=0.05)
    assert rounds == stored["options"].get("rounds", 0)


def test_time_grows_with_runs_rounds_and_cells():
    quick, pair = method("pate-gan")(epsilon=1.0, rounds=100), worst_case()
    low, high = forecast.seconds(quick, pair, 1000, 2)
    assert low < 870 < high and high / low == pytest.approx(forecast.APART**2)
    assert forecast.seconds(quick, pair, 2000, 2)[0] == pytest.approx(2 * low)
    assert forecast.seconds(quick, pair, 1000, 1)[0] == pytest.approx(2 * low)
    assert forecast.seconds(method("pate-gan")(epsilon=1.0, rounds=300), pair, 1000, 2)[0] == pytest.approx(3 * low)
    columns = tuple(Column(name=f"x{k}", kind="continuous", lower=0.0, upper=1.0) for k in range(36))
    rows = pd.DataFrame(np.zeros((858, 36)), columns=[column.name for column in columns])
    wide = record_pair(rows, Schema(columns=columns), 0)
    assert forecast.seconds(quick, wide, 1000, 2)[0] == pytest.approx(5.6 * low, rel=0.05)


@pytest.mark.parametrize(("name", "known"), [("mst", True), ("clique-tree", False)])
def test_it_is_told_before_the_first_fit(name, known, monkeypatch):
    class Started(Exception):
        pass

    def first_fit(*_, **__):
        raise Started

    monkeypatch.setattr(run.engines, "run_jobs", first_fit)
    told = []
    with pytest.raises(Started):
        run.run_audit(name, epsilon=1.0, runs=2000, seed=-3, progress=told.append)
    assert [event["stage"] for event in told] == ["forecast"] and (told[0]["seconds"] is not None) == known


def test_seeds_below_zero():
    """NumPy takes none of them; -3 and 3 are different seeds."""
    below, above = (batches.make_tasks(80, 20, seed) for seed in (-3, 3))
    assert [task.seed for task in below] != [task.seed for task in above] and all(task.seed >= 0 for task in below)
