"""`python -m benchmarks.figures` draws what the results hold, beside what the papers print, and names what is missing."""

import re
import sys
from xml.etree import ElementTree

import pytest

from benchmarks import figures, runner, store
from benchmarks.suites import SUITES


def ran(suite, **figures_of):
    """A record per cell; the metrics are functions of the cell."""
    return [
        {"cell": c.key, "status": "ok", "dataset": c.dataset, "method": c.method, "epsilon": c.epsilon, "seed": c.seed}
        | {"options": dict(c.options), "metrics": {name.replace("_", "-"): f(c) for name, f in figures_of.items()}}
        for c in runner.cells(SUITES[suite])
    ]


def marks(drawing):
    """(series, x, y) of every mark, as its tip says."""
    tips = re.findall(r"<title>([^<]*): ([-0-9.,]+), ([-0-9.]+)</title>", drawing)
    return {(name, float(x.replace(",", "")), float(y)) for name, x, y in tips}


def command(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["figures.py", *words])
    try:
        figures.main()
    except SystemExit as end:
        return end.code
    return 0


def test_directions_beside_the_published_numbers(tmp_path, monkeypatch):
    def accuracy(c):
        projected = min(c.options.get("projected", 0), 50)  # 784 of them are no projection
        return 0.98 if c.method == "real" else 0.3 + 0.01 * projected + 1e-4 * c.options["teachers"]

    for one in ran("g-pate-table-3", accuracy=accuracy):
        store.append(tmp_path / "g-pate-table-3.jsonl", one)
    assert command(monkeypatch, "directions", "--results", str(tmp_path), "--out", str(tmp_path / "out")) == 0
    dimensions, teachers = ((tmp_path / "out" / f"g-pate-{n}.svg").read_text() for n in ("dimensions", "teachers"))
    for drawing in (
        dimensions,
        teachers,
    ):  # by itself, without a page: markup escaped the quotes of what replaced its font
        assert ElementTree.fromstring(drawing).get("font-family") == "sans-serif"
    ours = {("ours: g-pate", x, y) for x, y in ((5, 0.39), (10, 0.44), (20, 0.54))}
    ours |= {(f"{who}, no projection", x, y) for x in (5, 20) for who, y in (("published", 0.114), ("ours", 0.84))}
    assert marks(dimensions) == ours | {("published", x, y) for x, y in ((5, 0.464), (10, 0.563), (20, 0.56))}
    ours = {("ours: g-pate", x, y) for x, y in ((2000, 0.42), (3000, 0.43), (4000, 0.44))}
    assert marks(teachers) == ours | {("published", x, y) for x, y in ((2000, 0.424), (3000, 0.522), (4000, 0.563))}


def test_runs_with_other_options_are_not_averaged_together():
    fits = ran("g-pate-table-3", accuracy=lambda c: 0.5)
    bare = [r | {"options": r["options"] | {"moments_share": 0.0}, "metrics": {"accuracy": 0.3}} for r in fits[1:]]
    found = marks(figures.directions([*fits, *bare])["g-pate-teachers"])
    assert ("ours: g-pate", 2000, 0.5) in found and ("ours: g-pate, moments_share=0.0", 2000, 0.3) in found


def test_budgets_with_level_lines_for_what_is_not_private(tmp_path):
    level = {"real": 0.6, "medgan": 0.41, "corgan": 0.44}
    records = ran(
        "rdp-cgan-table-2",
        dimension_wise_f1=lambda c: level.get(c.method) or 0.1 + 0.01 * c.epsilon + 0.02 * c.seed,
        mmd=lambda c: None if c.method == "real" else 0.05,
    )
    made = figures.budgets(records)
    assert set(made) == {f"rdp-cgan-{word}-{name}" for word in ("mmd", "f1") for name in ("mimic3-demo", "hiva")}
    f1 = made["rdp-cgan-f1-hiva"]
    private = {(name, x, y) for name in ("rdp-cgan", "dpgan") for x, y in ((1, 0.13), (10, 0.22))}
    levels = {(f"{name} (not private)", x, y) for name, y in (("medgan", 0.41), ("corgan", 0.44)) for x in (1, 10)}
    assert marks(f1) == private | levels
    assert "trained on real rows" in f1 and "trained on real rows" not in made["rdp-cgan-mmd-hiva"]


def test_each_code_a_point():
    run = {"dataset": "hiva", "method": "dpgan", "epsilon": 1.0, "share_real": [0.5, 0.125], "f1_real": [0.7]}
    run |= {"share_synthetic": [0.25, 0.0], "f1_synthetic": [0.35]}
    made = figures.codes([run, run | {"epsilon": 10.0}, run | {"method": "corgan"}])
    assert set(made) == {f"codes-{word}-hiva-{method}" for word in ("share", "f1") for method in ("dpgan", "corgan")}
    share, f1 = marks(made["codes-share-hiva-dpgan"]), marks(made["codes-f1-hiva-dpgan"])
    assert share == {(f"epsilon {e}", x, y) for e in (1, 10) for x, y in ((0.5, 0.25), (0.125, 0.0))}
    assert f1 == {(f"epsilon {e}", 0.7, 0.35) for e in (1, 10)}
    assert marks(made["codes-share-hiva-corgan"]) == {("not private", 0.5, 0.25), ("not private", 0.125, 0.0)}


@pytest.mark.parametrize("what", ["directions", "budgets"])
def test_missing_results_are_named(what, tmp_path, monkeypatch, capsys):
    assert command(monkeypatch, what, "--results", str(tmp_path), "--out", str(tmp_path)) == 2
    assert "python -m benchmarks run --suite" in capsys.readouterr().err


def test_missing_data_are_named_before_anything_is_fitted(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("UNDERSTUDY_DATA", raising=False)
    assert command(monkeypatch, "codes", "--results", str(tmp_path), "--out", str(tmp_path)) == 2
    assert "UNDERSTUDY_DATA" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
