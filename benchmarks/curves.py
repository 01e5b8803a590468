"""What the papers draw and do not print: utility against epsilon. Ours as numbers, and where their other figures are repeated."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.registry import DATASETS
from benchmarks.tables import METRIC_TITLES

Record = Mapping[str, Any]


class Curve(NamedTuple):
    """One figure: a data set, a metric, and the figures of the papers that draw it."""

    drawn: str
    dataset: str
    metric: str


CURVES = (
    Curve("PATE-GAN Figure 1, audit Figure 6", "credit-card-fraud", "auroc"),
    Curve("PATE-GAN Figure 2, audit Figure 7", "credit-card-fraud", "auprc"),
    Curve("audit Figures 1 and 8", "epileptic-seizure", "auroc"),
    Curve("audit Figure 9, RDP-CGAN Figure 4", "epileptic-seizure", "auprc"),
    Curve("RDP-CGAN Figure 4", "cervical-cancer", "auprc"),
)
PREFACE = """## Figures that are curves over epsilon

The papers draw these without printing their values, so ours stand alone: mean of twelve models, number of seeds in brackets. The
share of frauds is not the original's, so AUPRC on credit says nothing beside PATE-GAN's Figure 2.
"""
METHODS, REFERENCE = ("pate-gan", "dpgan", "rdp-cgan"), "gan"
ELSEWHERE = """Of the others, audit Figures 2 to 4 and 11 (rows that teachers see, their losses, the accountant) are in
[audit-trace.md](audit-trace.md), 5 and 12 (attacks) in [audit.md](audit.md), RDP-CGAN's 2 and 3 (codes) in
[gradients.md](gradients.md), G-PATE's pictures in [g-pate.md](g-pate.md). Audit Figure 10 (MNIST as a table of 784 numbers, two
classifiers, about half an hour for a seed of three budgets) was not run. The rest are block diagrams.
"""


def section(records: Sequence[Record]) -> str:
    """All of them, as Markdown."""
    return "\n".join([PREFACE, *(table(one, records) for one in CURVES), ELSEWHERE])


def table(curve: Curve, records: Sequence[Record]) -> str:
    """A row for each method, a column for each epsilon that was run."""
    found: dict[str, dict[float, list[float]]] = {}
    for record in records:
        value = record["metrics"].get(curve.metric) if counts(record, curve.dataset) else None
        if value is not None:
            epsilon = float("inf") if record["method"] == REFERENCE else record["epsilon"]
            found.setdefault(record["method"], {}).setdefault(epsilon, []).append(value)
    epsilons = sorted({epsilon for own in found.values() for epsilon in own})
    head = ["method", *(f"{epsilon:g}" for epsilon in epsilons)]
    rows = [[name, *(cell(found[name].get(epsilon)) for epsilon in epsilons)] for name in found]
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *sorted(rows))]
    title = f"### {METRIC_TITLES.get(curve.metric, curve.metric)}, {DATASETS[curve.dataset].title} ({curve.drawn})\n"
    return "\n".join([title, *lines, ""])


def counts(record: Record, dataset: str) -> bool:
    """A run of a method with its default options and a valid price, scored by all twelve models."""
    known = record["method"] in METHODS or record["method"] == REFERENCE
    valid = record["method"] == REFERENCE or record.get("guarantee", "valid") != "void"
    return (
        record["dataset"] == dataset and known and valid and not record["options"] and record.get("classifiers") is None
    )


def cell(values: Sequence[float] | None) -> str:
    return f"{statistics.fmean(values):.3f} ({len(values)})" if values else "-"
