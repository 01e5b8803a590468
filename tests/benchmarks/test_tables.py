"""Tables, README section and drawings say what is in the results file."""

from pathlib import Path

import pytest

from benchmarks import readme, runner, sweep, tables
from benchmarks.score import model_agreement
from benchmarks.suites import SUITES
from understudy.errors import UsageError

from .fakes import resolve, score

ROOT = Path(__file__).resolve().parents[2]


def record(dataset="epileptic-seizure", method="pate-gan", epsilon=1.0, seed=0, status="ok", auroc=0.7, **more):
    models = {"logistic": {"auroc": auroc, "auprc": 0.5}, "tree": {"auroc": auroc - 0.1, "auprc": 0.3}}
    fields = {"dataset": dataset, "method": method, "epsilon": epsilon, "delta": 1e-5, "seed": seed, "options": {}}
    fields |= {"cell": f"{dataset}{method}{epsilon}{seed}{more.get('options', '')}", "status": status}
    if status == "ok":
        fields |= {"models": models, "models_c": models, "metrics": {"auroc": auroc - 0.05, "auprc": 0.4}}
    return fields | more


REAL = [record(method="real", epsilon=None, seed=seed, auroc=0.95) for seed in (0, 1)]
OURS = [record(seed=0, auroc=0.70), record(seed=1, auroc=0.80)]


def test_published_beside_ours_and_real():
    (auroc, auprc) = tables.build(SUITES["pate-gan-table-2"], [*REAL, *OURS])
    assert auroc.head == (
        "data set",
        "method",
        "epsilon",
        "published",
        "original",
        "updated",
        "synthcity",
        "turing",
        "borealis",
        "smartnoise",
        "ours mean (sd)",
        "ours best",
        "real data (setting A)",
        "gain kept",
    )
    row = dict(zip(auroc.head, auroc.rows[0], strict=True))
    assert row["published"] == "0.7681"
    assert (row["turing"], row["smartnoise"]) == ("0.7425", "0.6963")
    assert row["ours mean (sd)"] == "0.7000 (0.0707)"
    assert row["ours best"] == "0.7500"  # per classifier 0.8 and 0.7, then the average
    assert row["real data (setting A)"] == "0.9000"
    assert row["gain kept"] == "50%"  # (0.70 - 0.50) / (0.90 - 0.50)
    assert dict(zip(auprc.head, auprc.rows[0], strict=True))["published"] == "0.6512"
    assert "original" not in auprc.head  # the audit's Table 4 is AUROC only


def test_models_with_settings_of_a_paper_stand_beside_its_cells_and_other_class_shares_do_not():
    models = {"logistic-g-pate": {"auroc": 0.9, "auprc": 0.8}}
    ours = record("credit-card-fraud", "g-pate", models=models, metrics={"auroc": 0.9, "auprc": 0.8})
    found = {table.title.rpartition(": ")[2]: table for table in tables.build(SUITES["g-pate-table-1"], [ours])}
    cells = [dict(zip(found["AUROC"].head, row, strict=True)) for row in found["AUROC"].rows]
    assert next(cell for cell in cells if cell["model"] == "logistic-g-pate")["published"] == "0.9251"
    assert "published" not in found["AUPRC"].head


def test_failed_runs_and_void_guarantees_are_said():
    rows = tables.build(SUITES["pate-gan-table-2"], [*REAL, OURS[0], record(seed=1, status="failed", error="x")])[
        0
    ].rows
    assert rows[0][-4] == "0.6500 (one run); 1 failed"
    rows = tables.build(SUITES["pate-gan-table-2"], [*REAL, record(guarantee="void")])[0].rows
    assert rows[0][-4].endswith("guarantee void")
    rows = tables.build(SUITES["pate-gan-table-2"], [record(status="failed", error="x")])[0].rows
    assert rows[0][-4] == "-; 1 failed"


def test_per_model_rows_and_the_budget_decide_what_is_published():
    built = tables.build(SUITES["audit-table-5"], [*REAL, *OURS])[0]
    by_model = {row[3]: dict(zip(built.head, row, strict=True)) for row in built.rows}
    assert by_model["tree"]["synthcity"] == "0.7470"
    assert by_model["average"]["synthcity"] == "0.7165"
    assert by_model["logistic"]["ours mean (sd)"] == "0.7500 (0.0707)"
    ten = tables.build(SUITES["pate-gan-table-8"], [record(epsilon=10.0), record(epsilon=1.0)])[0]
    assert [(row[2], row[3]) for row in ten.rows] == [("10", "0.8718"), ("1", "0.7681")]


def test_setting_a_suite_prints_real_rows():
    built = tables.build(SUITES["pate-gan-table-5"], REAL)[0]
    row = dict(zip(built.head, built.rows[0], strict=True))
    assert (row["published"], row["audit"], row["real data (setting A)"]) == ("0.9809", "0.8103", "0.9000")


def test_ranking_agreement_is_equation_8():
    real = {"a": {"auroc": 0.9}, "b": {"auroc": 0.8}, "c": {"auroc": 0.7}}
    assert model_agreement(real, real) == 1.0
    swapped = {"a": {"auroc": 0.8}, "b": {"auroc": 0.9}, "c": {"auroc": 0.7}}
    assert model_agreement(real, swapped) == pytest.approx(2 / 3)
    tied = {name: {"auroc": 0.5} for name in real}
    assert model_agreement(real, tied) == 0.0
    assert model_agreement(real, {}) is None
    sra = tables.build(
        SUITES["pate-gan-table-3"], [record("credit-card-fraud", "real", None), record("credit-card-fraud")]
    )[0]
    assert dict(zip(sra.head, sra.rows[0], strict=True))["published"] == "0.8364"
    assert sra.rows[0][-3].startswith("1.0000")


def test_markdown_and_html_hold_the_same_cells_and_escape():
    built = [tables.Table("<b>&", ("data set", "x"), (("<script>", "0.5"),))]
    page = tables.html(built, "t<")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "| <script> | 0.5 |" in tables.markdown(built)


def test_readme_section_is_replaced_between_markers(tmp_path):
    from benchmarks import store

    file = tmp_path / "README.md"
    file.write_text("before\n<!-- results -->\nold\n<!-- /results -->\nafter\n")
    assert "No results yet" in readme.update(file, tmp_path)
    rivals = [
        record(method="mst", auroc=0.9),
        record(method="mst", epsilon=10.0, auroc=0.99),
        record(method="aim", auroc=0.99, options={"rounds": 1}),
        record(method="dpgan", auroc=0.99, guarantee="void"),
        record(method="independent", status="failed", error="x"),
    ]
    for one in (*REAL, *OURS, *rivals):
        store.append(tmp_path / "methods.jsonl", one)
    section = readme.update(file, tmp_path)
    text = file.read_text()
    assert text.startswith("before\n<!-- results -->\n") and text.endswith("<!-- /results -->\nafter\n")
    assert section in text and "old" not in text
    row = "| UCI Epileptic Seizure | 0.900 | 0.700 (0.071) pate-gan | 0.700 (0.071) | 0.768 (pate-gan) |"  # mst has one run only
    assert [line for line in section.splitlines() if line.startswith("|")][2:] == [row]
    assert readme.update(file, tmp_path) == section
    assert file.read_text() == text
    (tmp_path / "plain.md").write_text("no markers")
    with pytest.raises(UsageError, match="lacks the markers"):
        readme.update(tmp_path / "plain.md", tmp_path)


def test_readme_takes_the_newest_run_of_a_cell_whichever_suite_it_came_from(tmp_path):
    from benchmarks import store

    for one in OURS:
        store.append(tmp_path / "methods.jsonl", one | {"finished": "2026-01-01"})
    other = record(seed=0, auroc=0.9) | {"cell": "new", "finished": "2026-02-02", "code": "a"}
    store.append(tmp_path / "pate-gan-table-2.jsonl", other)
    store.append(
        tmp_path / "gradients-sanity.jsonl", other | {"cell": "few", "max_rows": 5_000, "finished": "2026-03-03"}
    )
    assert "| 0.850 (one run) pate-gan | 0.850 (one run) |" in readme.section_of(tmp_path)


def test_readme_is_short_and_shows_the_results_as_they_are():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.section_of(ROOT / "benchmarks" / "results") in text, "run python -m benchmarks readme"
    assert len(text.splitlines()) < 130
    assert "make demo" in text and "make test" in text


def test_sweep_cells_and_drawing(tmp_path):
    cells = sweep.cells(
        dataset="breast-cancer", methods=["resample"], epsilons=[0.1, 1.0, 10.0], teachers=[None], delta=1e-5, seeds=2
    )
    assert len(cells) == 2 * (1 + 3)
    records = runner.run(cells, tmp_path / "s.jsonl", jobs=1, resolve=resolve, score=score, command="x")
    made = sweep.drawings(records)
    assert set(made) == {"epsilon-auroc", "epsilon-auprc"}
    assert made["epsilon-auroc"].startswith("<svg")
    assert "Breast Cancer Wisconsin" in made["epsilon-auroc"]
    assert "real data (setting A)" in made["epsilon-auroc"]


def test_teachers_sweep_shows_the_audited_points():
    fits = [record(seed=s, auroc=0.7 + 0.01 * t, options={"teachers": t}) for s in (0, 1) for t in (9, 92)]
    drawing = sweep.drawings([*REAL, *fits])["teachers-auroc"]
    assert "audited synthcity (best of 25)" in drawing


def test_teacher_counts():
    assert sweep.teacher_counts(["N/50", "N/1000", "7", "N/100000"], 9_200) == [184, 9, 7, 1]
    for wrong in ("0", "N/0", "many", "-3"):
        with pytest.raises(UsageError, match="--teachers"):
            sweep.teacher_counts([wrong], 100)
