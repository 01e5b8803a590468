"""Cells, resuming, failures: what the results file holds after whatever happens."""

import json

import pytest

from benchmarks import runner, store
from benchmarks.cells import Cell, each_once, most_frequent_codes
from benchmarks.registry import load
from benchmarks.suites import SUITES, suite
from understudy.errors import UsageError

from .fakes import resolve, score

BUILTIN = SUITES["builtin"]


def run(cells, file, **more):
    return runner.run(cells, file, jobs=1, resolve=resolve, score=score, command="python -m benchmarks run", **more)


def breast(seeds=1, **more):
    return runner.cells(BUILTIN, methods=["resample"], seeds=seeds, datasets=["breast-cancer"], **more)


def test_one_line_per_cell_with_what_a_reader_needs(tmp_path):
    records = run(breast(), tmp_path / "r.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert lines == list(records)
    assert [line["method"] for line in lines] == ["real", "resample"]
    expected = {
        "dataset",
        "method",
        "epsilon",
        "delta",
        "seed",
        "auroc",
        "auprc",
        "models",
        "fit_seconds",
        "sample_seconds",
        "evaluate_seconds",
        "peak_mb",
        "versions",
        "command",
        "status",
        "train_rows",
        "synthetic_rows",
        "guarantee",
    }
    assert expected <= set(lines[1])
    assert (lines[1]["epsilon"], lines[1]["delta"], lines[1]["seed"]) == (1.0, 1e-5, 0)
    assert lines[1]["train_rows"] == lines[1]["synthetic_rows"] == 456


def test_finished_cells_are_not_repeated_and_torn_lines_are_ignored(tmp_path):
    file = tmp_path / "r.jsonl"
    run(breast(), file)
    with file.open("a") as handle:
        handle.write('{"cell": "torn')
    before = file.read_text()
    reported = []
    again = run(
        breast(), file, report=lambda record, done, everything: reported.append((record["seed"], done, everything))
    )
    assert file.read_text() == before
    assert not reported
    assert len(again) == 2
    file.write_text(before + "\n")
    run(
        breast(seeds=2),
        file,
        report=lambda record, done, everything: reported.append((record["seed"], done, everything)),
    )
    assert reported == [(1, 3, 4), (1, 4, 4)]


def test_a_cell_that_another_suite_has_finished_is_taken_from_there(tmp_path):
    run(breast(), tmp_path / "one.jsonl")
    reported = []
    run(breast(seeds=2), tmp_path / "other.jsonl", report=lambda record, done, everything: reported.append(record))
    one, other = (store.read(tmp_path / name) for name in ("one.jsonl", "other.jsonl"))
    assert other[:2] == one and len(other) == 4
    assert [record["seed"] for record in reported] == [1, 1]


def test_a_failing_cell_is_recorded_and_the_others_go_on(tmp_path):
    file = tmp_path / "r.jsonl"
    bad = breast(options={"fail": True})
    odd = breast(options={"noise": -1})
    records = run([*bad, *odd[1:], *breast()[1:]], file)
    assert [r["status"] for r in records] == ["ok", "failed", "failed", "ok"]
    assert records[1]["error"] == "the budget is too small for one round; raise --epsilon"
    assert records[2]["error"].startswith("ZeroDivisionError")
    assert "quote" not in file.read_text()  # a foreign exception's text may hold a row


def test_failed_cells_are_tried_again(tmp_path):
    file = tmp_path / "r.jsonl"
    cells = breast(options={"fail": True})
    run(cells, file)
    run(cells, file)
    assert [r["status"] for r in store.read(file)] == ["ok", "failed", "failed"]
    store.append(file, store.read(file)[-1] | {"status": "ok"})
    assert store.latest(store.read(file))[cells[1].key]["status"] == "ok"


def test_keys_tell_cells_apart_and_are_stable():
    cells = runner.cells(BUILTIN, methods=["a", "b"], epsilons=[1.0, 2.0], seeds=2)
    assert len({cell.key for cell in cells}) == len(cells) == 2 * 3 * (1 + 4)
    cell = Cell(dataset="adult", method="pate-gan", epsilon=1.0, delta=1e-5, seed=0)
    assert cell.key == Cell(dataset="adult", method="pate-gan", epsilon=1.0, delta=1e-5, seed=0).key
    assert (
        cell.key
        != Cell(dataset="adult", method="pate-gan", epsilon=1.0, delta=1e-5, seed=0, options={"teachers": 5}).key
    )


@pytest.mark.slow
@pytest.mark.parametrize("where", [{"jobs": 2}, {"engine": "processes:2"}, {"engine": "ray:2"}], ids=str)
def test_parallel_processes_write_the_same_lines(tmp_path, where):
    cells = breast(seeds=2)
    one = run(cells, tmp_path / "one.jsonl")
    two = runner.run(cells, tmp_path / "two.jsonl", resolve=resolve, score=score, command="x", **where)
    assert [(r["cell"], r["auroc"]) for r in one] == [(r["cell"], r["auroc"]) for r in two]


def test_cells_run_on_the_engine_that_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("UNDERSTUDY_ENGINE", "processes")
    with pytest.raises(UsageError, match="'nowhere' is unknown"):
        runner.run(breast(), tmp_path / "r.jsonl", engine="nowhere", resolve=resolve, score=score, command="x")
    records = runner.run(breast(), tmp_path / "r.jsonl", engine="inline", resolve=resolve, score=score, command="x")
    assert {record["status"] for record in records} == {"ok"}


def test_missing_data_is_told_before_anything_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("UNDERSTUDY_DATA", raising=False)
    with pytest.raises(UsageError, match="UCI ML repository: Adult"):
        run(runner.cells(SUITES["mixed"], methods=[]), tmp_path / "r.jsonl")
    assert not (tmp_path / "r.jsonl").exists()


def test_out_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="--out"):
        run(breast(), tmp_path / "file" / "r.jsonl")


def test_command_line_hides_folders():
    words = [
        "/x/benchmarks/__main__.py",
        "run",
        "--data",
        "/y/data",
        "--out",
        "/r",
        "--seeds",
        "5",
        "--python",
        "/z/bin/python",
    ]
    wanted = "python -m benchmarks run --data DIR --out DIR --seeds 5 --python ENV/bin/python"
    assert runner.command_line(words) == wanted


def test_every_suite_has_a_smaller_quick_variant_and_known_data_sets():
    from benchmarks.registry import DATASETS

    for one in SUITES.values():
        quick = one.quick()
        assert set(one.datasets) <= set(DATASETS)
        assert len(runner.cells(quick, methods=["m"])) < len(runner.cells(one, methods=["m"]))
        assert quick.rows is not None
        assert {c.key for c in runner.cells(quick)}.isdisjoint(c.key for c in runner.cells(one))
    with pytest.raises(UsageError, match="did you mean 'pate-gan-table-2'"):
        suite("pate-gan-tabel-2")


def test_quick_code_tables_keep_the_most_frequent_codes():
    import pandas as pd

    from understudy.schema import Column, Schema

    codes = tuple(Column(name=n, kind="categorical", categories=(0, 1)) for n in "abc")
    schema = Schema(columns=(Column(name="id", kind="identifier"), *codes), unit="id")
    frame = pd.DataFrame({"id": range(4), "a": [0, 0, 0, 1], "b": [1, 1, 1, 1], "c": [0, 1, 1, 0]})
    train, _, cut = most_frequent_codes(frame, frame, schema, 2)
    assert list(train.columns) == [c.name for c in cut.columns] == ["id", "b", "c"]


def test_people_are_scored_by_one_row_of_each():
    import pandas as pd

    from understudy.schema import Column, Schema

    columns = (Column(name="id", kind="identifier"), Column(name="x", kind="integer", lower=0, upper=9))
    frame = pd.DataFrame({"id": ["a", "a", "b", "a", None, "c"], "x": range(6)})
    drawn = [each_once(frame, Schema(columns=columns, unit="id"), seed) for seed in range(20)]
    assert all(rows["id"].tolist() in (["a", "b", "c"], ["b", "a", "c"]) for rows in drawn)
    assert {x for rows in drawn for x in rows["x"]} == {0, 1, 2, 3, 5}  # of `a` any row, of nobody none


@pytest.mark.slow
def test_real_scores_of_a_real_cell(tmp_path):
    """Setting A through the true scorer: breast cancer is easy, so the mean of three classifiers is above 0.9."""
    cells = runner.cells(BUILTIN.quick(), methods=[], datasets=["breast-cancer"])
    record = runner.run(cells, tmp_path / "r.jsonl", jobs=1)[0]
    assert record["status"] == "ok", record
    assert record["auroc"] > 0.9
    assert len(load("breast-cancer").train) == record["train_rows"]
