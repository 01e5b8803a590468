"""Whole-table results as text: one table per data set, methods and budgets in rows, measures in columns.

Below the methods stand the references of the same run: real rows drawn again, held-out real rows, and columns without
dependence. Every figure is a mean over seeds, with the standard deviation where there are several.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import store
from benchmarks.fingerprint import fingerprint
from benchmarks.registry import DATASETS
from benchmarks.suites import Suite
from benchmarks.tables import Table

REFERENCES = {"bootstrap": "real rows again", "held_out": "held-out rows", "independent": "no dependence"}
FOOTNOTE = (
    "Means over seeds (standard deviation); what each measure is stands in docs/evaluation.md. More is better for label-target, "
    "other-targets, k-marginal and determined-pairs, less for all others (told-apart: 0.5 is best). Real rows again: a bootstrap "
    "of the training rows; no dependence: the training rows with every column shuffled on its own. Other "
    "AUROC / real: mean over the other targets of AUROC from synthetic over AUROC from real rows, chance not taken off."
)
AUROCS = ("label-auroc", "other-targets-auroc-over-real")
Record = Mapping[str, Any]


def current(file: Path) -> list[Record]:
    """The last record of every place; a method whose code has changed since is called so, and one with options by these."""
    found: dict[tuple[Any, ...], Record] = {}
    for record in sorted(store.latest(store.read(file)).values(), key=lambda one: one["finished"]):
        stale = record["code"] != (fingerprint(record["method"]) or record["code"])
        name = ", ".join([record["method"], *(f"{option}={value}" for option, value in record["options"].items())])
        found[record["dataset"], name, record["epsilon"], record["seed"]] = {
            **record,
            "method": f"{name} (older code)" if stale else name,
        }
    return list(found.values())


def build(suite: Suite, records: Sequence[Record]) -> list[Table]:
    """One table per data set that has a finished cell."""
    made = []
    for name in suite.datasets:
        own = [r for r in records if r["dataset"] == name]
        good = [r for r in own if r["status"] == "ok"]
        if own:
            title = DATASETS[name].title if name in DATASETS else name
            made.append(Table(f"{suite.title}: {title}", _head(suite), tuple(_rows(suite, own, good))))
    return made


def _head(suite: Suite) -> tuple[str, ...]:
    return ("method", "epsilon", "seeds", *suite.metrics, "label AUROC", "other AUROC / real", "fit (s)")


def _rows(suite: Suite, own: Sequence[Record], good: Sequence[Record]) -> list[tuple[str, ...]]:
    rows = []
    for method, epsilon in dict.fromkeys((r["method"], r["epsilon"]) for r in own):
        runs = [r for r in good if (r["method"], r["epsilon"]) == (method, epsilon)]
        failed = [r for r in own if (r["method"], r["epsilon"]) == (method, epsilon) and r["status"] != "ok"]
        if not runs:
            rows.append((method, f"{epsilon:g}", failed[0]["error"], *[""] * (len(suite.metrics) + 3)))
            continue
        figures = [_figure([r["metrics"].get(name) for r in runs]) for name in (*suite.metrics, *AUROCS)]
        rows.append((method, f"{epsilon:g}", str(len(runs)), *figures, _figure([r["fit_seconds"] for r in runs])))
    for key, title in REFERENCES.items():
        known = [[r["references"].get(m, {}).get(key) for r in good] for m in suite.metrics]
        label = [r["metrics"].get("label-auroc-real") for r in good] if key == "bootstrap" else []
        if any(value is not None for values in known for value in values):
            rows.append((title, "", "", *(_figure(values, False) for values in known), _figure(label, False), "", ""))
    return rows


def _figure(values: Sequence[float | None], spread: bool = True) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return ""
    mean = statistics.fmean(known)
    digits = 0 if mean >= 100 else 1 if mean >= 10 else 3
    around = f" ({statistics.stdev(known):.{digits}f})" if spread and len(known) > 1 else ""
    return f"{mean:.{digits}f}{around}"
