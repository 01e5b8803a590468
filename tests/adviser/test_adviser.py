"""The adviser judges from public facts and shipped results, and says when nothing will work."""

import json
import math
from dataclasses import replace

import pytest

from benchmarks.experience import collect, write
from understudy.adviser import Experience, Facts, advise, facts_of, from_dict, nearness, outlooks, shipped
from understudy.errors import UsageError
from understudy.methods.registry import METHODS
from understudy.schema import Column, Schema


def schema_with(numeric: int = 5, categorical: int = 5, *, label: str | None = "y", **more) -> Schema:
    columns = [Column(name=f"n{i}", kind="continuous", lower=0, upper=1) for i in range(numeric)]
    columns += [Column(name=f"c{i}", kind="categorical", categories=("a", "b", "c")) for i in range(categorical)]
    return Schema(columns=(*columns, Column(name="y", kind="categorical", categories=(0, 1))), label=label, **more)


def seen(title: str, method: str, score: float, **changes) -> Experience:
    facts = facts_of(schema_with(), 1.0, 1e-5, 10_000)
    return Experience(
        title=title,
        method=method,
        facts=replace(facts, **changes),
        metric="auroc",
        score=score,
        sd=0.01,
        seeds=3,
        real=0.9,
        chance=0.5,
        seconds=5.0,
    )


def test_facts_are_public_and_complete():
    facts = facts_of(schema_with(3, 1, rows=500), 2.0)
    assert facts == Facts(
        epsilon=2.0, delta=1e-5, rows=500, columns=4, numeric=0.75, classes=2, rows_per_unit=1, label="binary"
    )


def test_a_table_is_near_itself_and_far_from_others():
    facts = facts_of(schema_with(), 1.0, rows=10_000)
    assert nearness(facts, facts) == 1.0
    assert nearness(facts, replace(facts, rows=100)) < 0.05
    assert nearness(facts, replace(facts, columns=1000)) < 0.05
    # ten times the rows at a tenth of mu is the same signal
    tenth = replace(facts, epsilon=facts_of_signal(facts))
    assert nearness(replace(tenth, rows=100_000), facts) == pytest.approx(1.0, abs=0.01)


def facts_of_signal(facts: Facts) -> float:
    from understudy.accounting.gaussian import epsilon, mu

    return epsilon(mu(facts.epsilon, facts.delta) / 10, facts.delta)


def test_the_method_with_least_regret_wins_even_if_it_ran_on_harder_tables():
    known = [seen("easy", "a", 0.85), seen("easy", "b", 0.84), seen("hard", "b", 0.7), seen("hard", "a", 0.6)]
    advice = advise(schema_with(), epsilon=1.0, rows=10_000, experience=known)
    assert advice.method == "b"
    assert advice.useful
    assert "a" in advice.why


def test_a_method_hardly_tried_on_such_tables_is_not_recommended():
    known = [seen("far", "b", 0.9, columns=2000), *(seen(f"near {i}", "a", 0.7) for i in range(3))]
    weights = [nearness(facts_of(schema_with(), 1.0, rows=10_000), one.facts) for one in known]
    assert [one.method for one in outlooks(known, weights)] == ["a"]


def test_no_similar_table_gives_a_rule_of_thumb_and_says_so():
    known = [seen("far", "pate-gan", 0.9, columns=2000)]
    advice = advise(schema_with(), epsilon=1.0, rows=10_000, experience=known)
    assert advice.method in METHODS
    assert "rule of thumb" in advice.why
    assert not advice.similar
    assert advise(schema_with(500, 0), epsilon=1.0, experience=known).method == "mean-embedding"


@pytest.mark.parametrize(("rows", "epsilon"), [(50, 1.0), (1000, 0.01)])
def test_too_little_data_is_called_hopeless(rows, epsilon):
    advice = advise(schema_with(), epsilon=epsilon, rows=rows)
    assert not advice.useful
    assert "No method" in advice.expect


def test_person_level_needs_more_people():
    assert advise(schema_with(), epsilon=1.0, rows=1000).useful
    one = schema_with()
    who = Column(name="who", kind="identifier")
    wide = replace(one, columns=(*one.columns, who), unit="who", max_rows_per_unit=50)
    assert not advise(wide, epsilon=1.0, rows=1000).useful


@pytest.mark.parametrize("rows", [None, 300, 30_000, 3_000_000])
@pytest.mark.parametrize("numeric", [0, 4, 600])
@pytest.mark.parametrize("label", ["y", None])
def test_shipped_results_answer_any_schema(rows, numeric, label):
    advice = advise(schema_with(numeric, 3, label=label), epsilon=1.0, rows=rows)
    assert advice.method in METHODS
    assert all(math.isfinite(one.kept) for one in advice.outlook)
    assert advice.why.count(". ") == 1  # two sentences
    json.dumps(advice.to_dict())


def test_shipped_results_are_of_methods_that_exist():
    assert shipped()
    for one in shipped():
        assert one.method in METHODS
        assert 0.0 <= one.chance < one.real <= 1.0
        assert one.seeds >= 1


def test_a_budget_that_cannot_be_is_refused():
    with pytest.raises(UsageError, match="epsilon"):
        advise(schema_with(), epsilon=-1.0)


def record(method: str, seed: int, auroc: float, **more):
    base = {"cell": f"{method}{seed}{more}", "status": "ok", "dataset": "breast-cancer", "method": method, "seed": seed}
    base |= {"epsilon": None if method == "real" else 1.0, "delta": None if method == "real" else 1e-5}
    base |= {"options": {}, "rows": None, "columns": None, "classifiers": None, "scoring": "utility"}
    base |= {"auroc": auroc, "metrics": {"auroc": auroc}, "train_rows": 455, "fit_seconds": 2.0, "guarantee": "valid"}
    return base | more


def test_results_files_become_experience(tmp_path):
    lines = [
        record("real", 0, 0.98),
        record("mst", 0, 0.9),
        record("mst", 1, 0.8),
        record("mst", 2, 0.1, status="failed"),
        record("mst", 3, 0.1, options={"steps": 1}),
        record("mst", 4, 0.1, guarantee="void"),
        record("pate-gan-as-published", 0, 0.99),
    ]
    (tmp_path / "some.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    (tmp_path / "some-quick.jsonl").write_text(json.dumps(record("independent", 0, 0.99)))
    (one,) = collect(tmp_path)
    assert (one.method, one.score, one.real, one.seeds) == ("mst", 0.85, 0.98, 2)
    write(tmp_path, tmp_path / "adviser.json")
    (again,) = json.loads((tmp_path / "adviser.json").read_text())["results"]
    assert from_dict(again) == one


def test_no_results_is_said(tmp_path):
    with pytest.raises(UsageError, match="no full results"):
        write(tmp_path, tmp_path / "adviser.json")
