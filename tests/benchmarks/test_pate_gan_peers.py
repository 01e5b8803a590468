"""Other people's PATE-GANs beside ours, with a tool that copies its table."""

import json
import sys

import pandas as pd
import pytest

from benchmarks import audit_figures, pate_gan_peers, pate_gan_peers_audit
from benchmarks.pate_gan_peers import SMARTNOISE, places_of, rows_of, run
from benchmarks.registry import load

COPIES = """
import sys, pandas as pd
source, out, words = sys.argv[3], sys.argv[4], sys.argv[5:]  # after --source DIR
table = pd.read_csv(source)
rows = table.sample(int(words[words.index("--rows") + 1]), replace=True, random_state=0)
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of wrappers, with one in it that does what the test says after reading its table."""
    monkeypatch.setattr(pate_gan_peers, "FOLDER", tmp_path)
    monkeypatch.setattr(pate_gan_peers, "RESULTS", tmp_path / "peers.jsonl")

    def write(last):
        (tmp_path / "turing.py").write_text(COPIES + last)
        return places_of([sys.executable], [f"turing={tmp_path}"])

    return write


def test_rows_of_a_tool_come_back_through_our_codec(place):
    split = load("breast-cancer", None, seed=0)
    made = rows_of("turing", split, 0, place("rows.to_csv(out, index=False)"), 60.0)
    assert list(made.columns) == list(split.train.columns) and len(made) == len(split.train) + 1000
    label = split.schema.label
    assert set(made[label]) == set(split.train[label])
    pd.testing.assert_series_equal(made.min(), split.train.min(), rtol=1e-4, atol=1e-4, check_dtype=False)


def test_a_run_records_its_rows_its_scores_and_nothing_of_this_machine(place, tmp_path, monkeypatch):
    monkeypatch.setattr(pate_gan_peers, "score", lambda *rows, **told: {"metrics": {"auroc": 0.75, "auprc": 0.5}})
    record = run("breast-cancer", None, "turing", 1, place("rows.to_csv(out, index=False)"), 60.0, 100)
    assert record["train_rows"] == 100 and record["auroc"] == 0.75 and str(tmp_path) not in json.dumps(record)
    pate_gan_peers.RESULTS.write_text("".join(json.dumps(record | {"seed": seed}) + "\n" for seed in (1, 1, 2)))
    assert "| breast-cancer | 100 | turing | 0.750 (0.000) | 0.500 (0.000) | 2 |" in pate_gan_peers.table()


def test_a_cell_is_not_run_again_until_it_failed_or_its_code_changed(place, monkeypatch):
    monkeypatch.setattr(pate_gan_peers, "score", lambda *rows, **told: {"metrics": {"auroc": 0.75, "auprc": 0.5}})
    again = ("breast-cancer", None, "turing", 1, place("rows.to_csv(out, index=False)"), 60.0, 100)
    record = run(*again)
    for known, runs in ((record, False), (record | {"version": "other"}, True), (record | {"error": "none"}, True)):
        pate_gan_peers.RESULTS.write_text(json.dumps(known) + "\n")
        assert (run(*again) is not None) == runs


def test_a_tool_that_fails_or_hangs_is_recorded_with_what_it_said(place):
    failing = run("breast-cancer", None, "turing", 0, place("raise ValueError('shapes differ')"), 60.0, None)
    assert failing["error"] == "ValueError: shapes differ" and "auroc" not in failing
    hanging = run("breast-cancer", None, "turing", 0, place("import time; time.sleep(60)"), 0.2, None)
    assert hanging["error"] == "stopped after 0.2 s"
    pate_gan_peers.RESULTS.write_text(json.dumps(failing) + "\n")
    assert "| - | - | 0; ValueError: shapes differ |" in pate_gan_peers.table()


def test_tools_have_places_by_name():
    places = places_of(["/one", "borealis=/two"], ["borealis=/checkout", "updated=/other"])
    assert places.words("borealis")[::2] == ["/two", "--source"] and places.words("updated, lamda 0.001")[0] == "/one"
    assert places.words("turing") is None and places.words(SMARTNOISE)[0] == "/one"
    assert places_of([], []).words(SMARTNOISE) is None
    with pytest.raises(SystemExit, match="NAME=DIR"):
        places_of([], ["borealis"])
    with pytest.raises(SystemExit, match="no such tool"):
        places_of([], ["nobody=/checkout"])


def test_a_tool_is_audited_and_its_result_says_what_it_was_told_and_not_where_it_is(
    place, tmp_path, monkeypatch, capsys
):
    for module in (audit_figures, pate_gan_peers_audit):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    place(
        "number = int(words[words.index('--count') + 1])\n"
        "for one in range(number): rows.to_csv(f'{out}/{one}.csv', index=False)"
    )
    words = [
        "audit",
        "--methods",
        "turing;borealis",
        "--minutes",
        "0",
        "--batch",
        "20",
        "--work",
        str(tmp_path / "work"),
    ]
    words += ["--python", sys.executable, "--source", f"turing={tmp_path}"]
    monkeypatch.setattr(sys, "argv", words)
    pate_gan_peers_audit.main()
    kept = (tmp_path / "audit-peers-turing.json").read_text()
    (outcome,) = json.loads(kept)["outcomes"]
    assert outcome["bounds"][0]["epsilon"] == outcome["bounds"][0]["largest"]  # a copy gives everything away
    assert "--teachers 2" in kept and str(tmp_path) not in kept
    said = capsys.readouterr().out
    assert "borealis: left out" in said and "| `turing` | 40 |" in said
