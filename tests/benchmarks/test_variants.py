"""Suites that vary something but method and budget: cells, their options, and a row each in the table."""

import pytest

from benchmarks import runner, tables
from benchmarks.published import look_up
from benchmarks.suites import NOISE_FREE, NOT_PRIVATE, SUITES, Suite, Variant
from understudy import method
from understudy.methods.registry import METHODS

from .fakes import resolve, score
from .test_tables import record

WITH_VARIANTS = [suite for suite in SUITES.values() if suite.variants]
ABLATION, DIRECTIONS = SUITES["rdp-cgan-table-7"], SUITES["g-pate-table-3"]


def rows_of(suite, records, metric=0):
    built = tables.build(suite, records)[metric]
    return {row[1]: dict(zip(built.head, row, strict=True)) for row in built.rows}


def test_a_cell_per_variant_whose_options_tell_them_apart(tmp_path):
    suite = Suite(
        name="s",
        title="s",
        datasets=("breast-cancer",),
        methods=("resample",),
        seeds=1,
        variants=(Variant(), Variant(label="noisy", options={"noise": 1.0})),
    )
    cells = runner.cells(suite, options={"teachers": 5, "noise": 0.5})
    assert [c.options for c in cells[1:]] == [{"teachers": 5, "noise": 0.5}, {"teachers": 5, "noise": 1.0}]
    records = runner.run(cells, tmp_path / "r.jsonl", jobs=1, resolve=resolve, score=score, command="x")
    assert [r["options"] for r in records] == [c.options for c in cells]
    assert list(rows_of(suite, records)) == ["resample", "resample, noisy"]
    assert runner.run(cells, tmp_path / "r.jsonl", jobs=1, command="x") == records  # all finished: nothing runs again


def test_cells_of_real_rows_keep_their_key_and_those_of_methods_change_with_the_code(monkeypatch):
    """A changed key runs a finished cell again: wanted where the code has changed, and nowhere else."""
    real, fitted = runner.cells(SUITES["methods"])[:2]
    assert real.key == "4b11abf312e0b326"
    monkeypatch.setattr(runner, "fingerprint", lambda method: "changed")
    assert [
        cell.key == before.key for cell, before in zip(runner.cells(SUITES["methods"])[:2], (real, fitted), strict=True)
    ] == [True, False]


def test_the_variant_that_says_most_is_meant():
    assert ABLATION.variant({}).label == ""
    assert ABLATION.variant({"generator": "mlp"}).label == "without convolution in generator"
    assert ABLATION.variant({"generator": "mlp", "critic": "mlp", "rounds": 9}).label == "without convolution in either"
    assert SUITES["methods"].variant({"generator": "mlp"}) == Variant()


@pytest.mark.parametrize("suite", WITH_VARIANTS, ids=lambda suite: suite.name)
def test_variants_are_distinct_accepted_by_their_methods_and_published(suite):
    cells = [cell for cell in runner.cells(suite, seeds=1) if cell.method != "real"]
    assert len({cell.key for cell in cells}) == len(suite.datasets) * len(suite.methods) * len(suite.variants)
    assert len({one.label for one in suite.variants}) == len(suite.variants)
    for cell in cells:
        method(cell.method)(epsilon=cell.epsilon, delta=cell.delta, **cell.options).check_options()
    made = tables.build(suite, [_ran(cell) for cell in cells])
    assert len(made) == len(suite.metrics)
    for table in made:
        assert len(table.rows) == len(cells)
        assert ("published" in table.head) == bool(suite.references)
        if suite.references:
            place = table.head.index("published")
            assert "-" not in {row[place] for row in table.rows}


def _ran(cell):
    more = {"options": cell.options, "metrics": {"auroc": 0.6, "auprc": 0.5, "accuracy": 0.4}}
    return record(cell.dataset, cell.method, cell.epsilon, **more)


def test_ablations_stand_beside_the_published_ones():
    fits = [_ran(cell) for cell in runner.cells(ABLATION) if cell.method != "real"]
    cervical = [fit for fit in fits if fit["dataset"] == "cervical-cancer"]
    auroc, auprc = rows_of(ABLATION, cervical), rows_of(ABLATION, cervical, 1)
    assert {name: row["published"] for name, row in auroc.items()} == {
        "corgan": "0.9200",
        "corgan, without convolution in autoencoder": "0.9000",
        "corgan, without autoencoder": "0.8600",
        "corgan, without convolution in generator": "0.9200",
        "corgan, without convolution in critic": "0.9000",
        "corgan, without convolution in either": "0.8800",
    }
    assert auprc["corgan, without autoencoder"]["published"] == "0.5800"
    private = rows_of(ABLATION, [fit | {"method": "rdp-cgan"} for fit in cervical])
    assert "published" not in private["rdp-cgan"]  # the paper has no ablation with privacy


def test_the_paper_counts_the_teachers_of_all_digits():
    for one in DIRECTIONS.variants:
        name, _, value = one.published.partition("=")
        ours = one.options["projected"] if name == "projection" else 10 * one.options["teachers"]
        assert ours == (28 * 28 if value == "none" else int(value))
    best = [look_up("g-pate", table="3", variant=text)[0].value for text in ("projection=10", "teachers=4000")]
    assert best[0] == best[1]  # the same run, so one row of ours stands beside both


def test_methods_without_privacy_run_once_and_are_those_that_say_so():
    assert set(NOT_PRIVATE) == {name for name in METHODS if not getattr(method(name), "private", True)}
    assert set(NOISE_FREE) <= set(NOT_PRIVATE)
    cells = runner.cells(SUITES["rdp-cgan-table-2"], seeds=1, datasets=["hiva"])
    fits = [(cell.method, cell.epsilon) for cell in cells if cell.method != "real"]
    both = [(name, epsilon) for name in ("rdp-cgan", "dpgan") for epsilon in (1.0, 10.0)]
    assert fits == [*both, ("medgan", 1.0), ("corgan", 1.0)]


def test_references_without_privacy_stand_beside_numbers_without_privacy():
    names = ("medgan", "tablegan", "gan", "corgan", "dpgan")
    fits = [record("cervical-cancer", name) for name in names]
    found = rows_of(SUITES["rdp-cgan-table-4"], fits)
    published = {name: row["published"] for name, row in found.items()}
    assert published == {"medgan": "0.8900", "tablegan": "0.9000", "gan": "0.9000", "corgan": "0.9200", "dpgan": "-"}
    table_6 = rows_of(SUITES["rdp-cgan-table-6"], fits)
    assert (table_6["corgan"]["published"], table_6["dpgan"]["published"]) == ("0.9200", "0.8600")


def test_full_mimic_is_not_printed_beside_other_tables():
    suite = SUITES["rdp-cgan-table-2"]
    fit = record("mimic3-demo", "rdp-cgan", metrics={"dimension-wise-f1": 0.3, "mmd": 0.1})
    assert "published" not in rows_of(suite, [fit])["rdp-cgan"]
