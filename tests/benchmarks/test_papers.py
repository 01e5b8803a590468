"""The page of the papers' tables: one number per cell, and verdicts that can go either way."""

from pathlib import Path

import pytest

from benchmarks import command, papers, store

ROOT = Path(__file__).resolve().parents[2]


def record(auroc, seed=0, **more):
    models = {"logistic": {"auroc": auroc + 0.2}, "tree": {"auroc": auroc - 0.2}}
    fields = {"dataset": "epileptic-seizure", "method": "pate-gan", "epsilon": 1.0, "options": {}, "max_rows": 20_000}
    fields |= {"classifiers": None, "seed": seed, "status": "ok", "finished": "2026-01-01", "models": models}
    fields |= {"metrics": {"auroc": auroc}} | more
    return fields | {"cell": f"{fields['dataset']}{fields['method']}{seed}{fields['finished']}"}


def page(tmp_path, **files):
    for suite, records in files.items():
        for one in records:
            store.append(tmp_path / f"{suite.replace('_', '-')}.jsonl", one)
    return papers.write(tmp_path / "papers.md", tmp_path)


def line(text, *holding):
    return next(row for row in text.splitlines() if row.startswith("|") and all(part in row for part in holding))


CELL = ("Epileptic", "pate-gan |", "AUROC", "0.7681")  # Table 2 of the paper


def test_verdicts_go_either_way(tmp_path):
    for number, (low, high, verdict) in enumerate(
        [(0.90, 0.92, "above"), (0.50, 0.52, "below"), (0.70, 0.84, "within the spread")]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = page(folder, pate_gan_table_2=[record(low), record(high, seed=1)])
        assert line(text, *CELL).endswith(f"| {verdict} |")
    assert line(page(tmp_path, pate_gan_table_2=[record(0.9)]), *CELL).endswith("| above (one run) |")


def test_a_cell_has_one_number_whichever_suite_it_came_from(tmp_path):
    old, new = record(0.60), record(0.90, finished="2026-02-02")
    text = page(tmp_path, methods=[new], rdp_cgan_table_6=[old])
    assert "0.9000 (one run)" in line(text, *CELL)
    assert "0.6000 (" not in text


def test_a_mean_mixes_no_two_versions_of_the_code(tmp_path):
    old = [record(0.60, seed=seed) for seed in (0, 1)]
    new = [record(0.90, seed=0, finished="2026-02-02", code="a"), record(0.92, seed=2, finished="2026-02-03", code="a")]
    assert "0.9100 (0.0141, 2)" in line(page(tmp_path, methods=[*old, *new]), *CELL)


def test_what_cannot_be_compared_says_why(tmp_path):
    void = record(0.9, guarantee="void")
    text = page(tmp_path, pate_gan_table_2=[void], g_pate_table_1=[record(0.9, dataset="credit-card-fraud")])
    assert line(text, *CELL).endswith("| not run (time unknown) |")
    assert "0.9000" not in line(text, "Credit", "pate-gan |", "AUPRC"), "not set beside the published figure"
    assert line(text, "Credit", "synthcity").endswith("another implementation |")
    assert "another share of the rare class" in line(text, "Credit", "pate-gan |", "AUPRC")


def test_tables_are_written_again_from_the_files_and_per_model_cells_print(tmp_path):
    """Published figures of a paper's own models stand beside ours; runs of variants that a suite no longer has are left alone."""
    models = {"logistic-g-pate": {"auroc": 0.9}, "mlp-g-pate": {"auroc": 0.8}}
    credit = record(0.85, dataset="credit-card-fraud", method="g-pate", models=models, classifiers=["logistic-g-pate"])
    store.append(tmp_path / "g-pate-table-1.jsonl", credit)
    store.append(tmp_path / "gradients-start.jsonl", record(0.8, method="dpgan", options={"rounds": 7}))
    assert command.run(["tables", "--results", str(tmp_path)]) == 0
    text = (tmp_path / "g-pate-table-1.md").read_text(encoding="utf-8")
    assert "| logistic-g-pate | 0.9251 | 0.9000 (one run)" in text
    assert not (tmp_path / "gradients-start.md").exists()


def test_runs_judged_by_other_models_do_not_enter_a_table(tmp_path):
    """G-PATE's Table 1 is about four models with settings of their own: the average of twelve is another figure."""
    twelve = record(0.61, dataset="credit-card-fraud")
    named = {f"{name}-g-pate": {"auroc": 0.9} for name in ("logistic", "adaboost", "bagging", "mlp")}
    four = record(0.9, 1, dataset="credit-card-fraud", models=named, classifiers=list(named))
    text = page(tmp_path, g_pate_table_1=[four], pate_gan_table_2=[twelve])
    assert "0.9000 (one run)" in line(text, "Credit", "pate-gan |", "AUROC", "0.8872")
    assert "0.6100 (one run)" in line(text, "Credit", "pate-gan |", "AUROC", "0.8737")


def test_what_was_not_run_has_its_time_beside_it(tmp_path):
    seconds = {"fit_seconds": 100.0, "evaluate_seconds": 320.0}
    other = record(0.9, method="dpgan", **seconds)
    elsewhere = record(0.9, dataset="cardiovascular", **seconds | {"fit_seconds": 40.0})
    text = page(tmp_path, methods=[other, elsewhere])
    assert line(text, *CELL).endswith("| not run (about 6 min) |")


def test_a_published_variant_that_no_suite_makes_is_not_the_default(tmp_path):
    cell = {"dataset": "mnist", "method": "g-pate", "metrics": {"accuracy": 0.8}}
    best = record(0.8, 1, **cell | {"options": {"projected": 10, "teachers": 400}, "metrics": {"accuracy": 0.7}})
    text = page(tmp_path, g_pate_table_2=[record(0.8, **cell)], g_pate_table_3=[best])
    assert "not run" in line(text, "MNIST", "projection=none")
    assert "0.7000 (one run)" in line(text, "MNIST", "projection=10") and "0.7000" in line(
        text, "MNIST", "teachers=4000"
    )


def test_runs_that_are_judged_otherwise_do_not_replace_each_other():
    """A whole-table run of the same fit is newer and has no AUROC of twelve models."""
    whole = record(0.9, finished="2026-02-02", scoring="whole-table")
    assert len(store.newest([record(0.8), whole])) == 2


@pytest.mark.parametrize("other", [{"split": "official"}, {"delta": 1e-6}, {"rows": 500}])
def test_runs_on_other_rows_or_with_another_delta_do_not_replace_each_other(other):
    """As it was: suites were pooled by data set, method and epsilon, and the newest run of another split took their place."""
    ours = {"split": "random", "delta": 1e-5, "rows": None}
    assert (
        len(store.newest([record(0.8, **ours), record(0.9, 1, finished="2026-02-02", code="new", **(ours | other))]))
        == 2
    )


def test_a_run_whose_rows_are_of_one_class_was_run(tmp_path):
    """Feature and model rankings have no figure there, and that is not for want of running it."""
    rows = {"dataset": "credit-card-fraud", "epsilon": 0.01}
    cell = ("Credit", "pate-gan |", "ranking agreement", "| 0.01 |", "0.6909")
    one_class, scored = page(tmp_path, methods=[record(0.5, **rows)]), page(tmp_path, methods=[record(0.6, 1, **rows)])
    assert line(one_class, *cell).endswith("| no score: rows of one class |")
    assert "not run" in line(scored, *cell), "the table's own metric was not taken"


def test_the_page_in_the_repository_is_the_one_that_the_results_give(tmp_path):
    text = papers.write(tmp_path / "papers.md", ROOT / "benchmarks" / "results")
    assert (ROOT / "docs" / "papers.md").read_text(encoding="utf-8") == text


def test_curves_have_a_column_for_every_epsilon_that_was_run(tmp_path):
    runs = [record(0.7, epsilon=epsilon, seed=seed) for epsilon in (0.1, 10.0) for seed in (0, 1)]
    runs = [one | {"cell": str(number)} for number, one in enumerate(runs)]
    gan = record(0.9, method="gan", epsilon=1.0)
    void = record(0.1, epsilon=5.0, guarantee="void")
    text = page(tmp_path, methods=[*runs, gan, void]).partition("### AUROC, UCI Epileptic")[2].partition("###")[0]
    rows = [row for row in text.splitlines() if row.startswith("|")]
    assert rows[0] == "| method | 0.1 | 10 | inf |"
    assert rows[2:] == ["| gan | - | - | 0.900 (1) |", "| pate-gan | 0.700 (2) | 0.700 (2) | - |"]
