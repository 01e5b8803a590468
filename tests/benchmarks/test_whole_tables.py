"""The whole-table suite: which code made a cell, what its records hold, and how they are shown."""

from dataclasses import replace

import pandas as pd
import pytest

from benchmarks import peers, runner, store, whole_tables
from benchmarks.fingerprint import SHARED, fingerprint, meaning
from benchmarks.registry import DATASETS, Split, load
from benchmarks.score import score
from benchmarks.suites import SUITES
from benchmarks.whole_table_peers import cell_of
from understudy.evaluate.whole import MEASURES
from understudy.methods.registry import METHODS
from understudy.schema import Column, Schema

SUITE = SUITES["whole-table"]


def test_the_suite_covers_its_tables_and_every_measure():
    assert tuple(SUITE.metrics) == tuple(MEASURES)
    assert set(SUITE.datasets) <= set(DATASETS) and set(SUITE.methods) <= set(METHODS)
    assert SUITE.epsilons == (0.1, 1.0, 10.0, 100.0) and len(SUITE.datasets) == 9
    cells = runner.cells(SUITE, datasets=["adult"], methods=["mst"], epsilons=[1.0], seeds=1)
    assert [cell.method for cell in cells] == ["mst"]  # no setting A: every record holds what real rows score


def test_cells_change_with_the_code_of_their_method_and_with_nothing_else(monkeypatch):
    one = runner.cells(SUITE, datasets=["adult"], methods=["mst"], epsilons=[1.0], seeds=1)[0]
    assert one.code == fingerprint("mst") and len(one.code) == 8
    monkeypatch.setattr(runner, "fingerprint", lambda method: "changed")
    two = runner.cells(SUITE, datasets=["adult"], methods=["mst"], epsilons=[1.0], seeds=1)[0]
    assert two.key != one.key and two.place == one.place


def test_the_fingerprint_covers_the_method_and_what_it_stands_on_but_no_words():
    assert fingerprint("mst") == fingerprint("aim") != fingerprint("mean-embedding")  # one folder, another one
    assert fingerprint("no such method") == ""
    assert SHARED == ("measure", "questions", "private")
    said = meaning('"""Doc."""\n\ndef f(x):\n    """More."""\n    return x + 1  # why\n')
    assert said == meaning("def f(x): return x + 1") != meaning("def f(x): return x + 2")


def test_cells_of_every_suite_know_the_code_that_makes_them():
    cell = runner.cells(SUITES["builtin"], datasets=["breast-cancer"], methods=["mst"], seeds=1)[1]
    assert cell.code == fingerprint("mst") and cell.key != replace(cell, code="").key


@pytest.fixture(scope="module")
def record():
    train, test, schema = load("breast-cancer")
    made = score(
        train.sample(200, random_state=0), test, train=train.head(300), test=test.head(60), schema=schema,
        scoring="whole-table", classifiers=None, max_rows=100, seed=0, stable=None,
    )  # fmt: skip
    cell = {
        "dataset": "adult",
        "method": "mst",
        "epsilon": 1.0,
        "seed": 0,
        "options": {},
        "status": "ok",
        "fit_seconds": 2.0,
    }
    return cell | made


def test_a_record_holds_measures_and_their_references(record):
    assert set(MEASURES) - {"determined-pairs"} <= set(record["metrics"])
    assert record["metrics"]["label-auroc-real"] > 0.9
    two = record["references"]["two-way"]
    assert two["bootstrap"] < two["independent"] and set(two) == {"bootstrap", "held_out", "independent", "lost"}


def test_tables_show_methods_references_and_failures(record):
    failed = record | {"method": "aim", "status": "failed", "error": "too many columns"}
    (table,) = whole_tables.build(SUITE, [record, record | {"seed": 1}, failed])
    by_name = {row[0]: row for row in table.rows}
    assert set(by_name) == {"mst", "aim", "real rows again", "held-out rows", "no dependence"}
    assert by_name["mst"][2] == "2" and by_name["aim"][2] == "too many columns"
    assert len({len(row) for row in table.rows} | {len(table.head)}) == 1
    assert "Adult" in table.title and "docs/evaluation.md" in whole_tables.FOOTNOTE


def test_results_of_older_code_are_called_so(tmp_path, record):
    file = tmp_path / "r.jsonl"
    base = record | {"cell": "1", "code": fingerprint("mst"), "finished": "2026"}
    for one in (
        base,
        base | {"cell": "2", "seed": 1, "code": "old"},
        base | {"cell": "3", "method": "dpmm mst", "code": "0.1"},
        base | {"cell": "4", "options": {"focus": "PUMA"}},
    ):
        store.append(file, one)
    assert [(r["method"], r["seed"]) for r in whole_tables.current(file)] == [
        ("mst", 0),
        ("mst (older code)", 1),
        ("dpmm mst", 0),
        ("mst, focus=PUMA", 0),  # beside the one without options, not in its place
    ]


def test_peers_get_public_facts_and_their_rows_come_back_in_the_schemas_terms(tmp_path):
    schema = Schema(
        columns=(
            Column(name="who", kind="identifier"),
            Column(name="n", kind="integer", lower=0, upper=9, missing=True),
            Column(name="x", kind="continuous", lower=0.0, upper=1.0),
            Column(name="c", kind="categorical", categories=(1, 2), missing=True),
            Column(name="b", kind="boolean"),
        )
    )
    frame = pd.DataFrame(
        {"who": [1, 2, 3], "n": [3, None, 9], "x": [0.1, 0.2, 0.3], "c": [1, None, 2], "b": [True, False, True]}
    )
    columns, given = peers.public_columns(schema, frame.astype({"c": "Int64"}))
    step = 9.0 / (peers.BINS - 1)  # a missing number has a bin of its own below the others
    assert columns["n"] == {"lower": -step, "upper": 9.0} and columns["x"] == {"lower": 0.0, "upper": 1.0}
    assert columns["c"] == {"categories": ["1", "2", "missing"]}
    assert given["c"].tolist() == ["1", "missing", "2"] and given["n"].tolist() == [3.0, -0.5 * step, 9.0]
    given.assign(n=[3.4, 12, -1]).to_csv(tmp_path / "rows.csv", index=False)
    back = peers.read_rows(tmp_path / "rows.csv", Split(frame, frame, schema))
    assert back["n"].tolist() == [3, 9, None] and back["b"].tolist() == [True, False, True]
    assert back["c"].tolist()[0] == 1 and back["c"].isna().tolist() == [False, True, False]


def test_a_peers_cell_knows_its_package(record):
    one, two = (cell_of("dpmm mst", version, "adult", 1.0, 0) for version in ("0.1", "0.2"))
    assert one.key != two.key and one.place == two.place and one.method == "dpmm mst"
