"""Utility against the budget, and against the number of teachers (PATE-GAN Fig. 1 and Table 4; audit Fig. 1 and Table
11).

One line of results per cell, as in a suite, and one drawing per metric: mean over seeds with the range of the runs,
the real rows (setting A) and chance as thin lines. Teachers may be given as numbers or, as in the papers, as a share
of the training rows: `N/1000`.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.cells import REAL, Cell
from benchmarks.published import look_up
from benchmarks.registry import DATASETS
from benchmarks.tables import METRIC_TITLES
from understudy.errors import UsageError
from understudy.report.charts import Reference, Series, line_chart

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
TEACHERS = ("N/50", "N/100", "N/500", "N/1000", "N/5000")
METRICS = ("auroc", "auprc")


def cells(
    *,
    dataset: str,
    methods: Sequence[str],
    epsilons: Sequence[float],
    teachers: Sequence[int | None],
    delta: float,
    seeds: int,
    classifiers: tuple[str, ...] | None = None,
    rows: int | None = None,
    max_rows: int = 20_000,
    options: Mapping[str, Any] | None = None,
) -> list[Cell]:
    """Every budget with every number of teachers (None: the method's own choice), and setting A once per seed."""
    found = []
    for seed in range(seeds):
        real = Cell(
            dataset=dataset,
            method=REAL,
            epsilon=None,
            delta=None,
            seed=seed,
            classifiers=classifiers,
            rows=rows,
            max_rows=max_rows,
        )
        found.append(real)
        for method in methods:
            for epsilon in epsilons:
                for count in teachers:
                    own = dict(options or {}) | ({} if count is None else {"teachers": count})
                    found.append(replace(real, method=method, epsilon=float(epsilon), delta=delta, options=own))
    return list({cell.key: cell for cell in found}.values())


def teacher_counts(words: Sequence[str], train_rows: int) -> list[int]:
    """`50` or `N/1000` as numbers of teachers, at least one each, without repeats."""
    counts = []
    for word in words:
        text = word.strip()
        whole = text[2:] if text.upper().startswith("N/") else text
        if not whole.isdigit() or int(whole) < 1:
            raise UsageError(f"--teachers {word!r}: give a number, or a share of the training rows such as N/1000")
        counts.append(max(1, train_rows // int(whole)) if whole is not text else int(whole))
    return list(dict.fromkeys(counts))


def drawings(records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """File ending -> SVG: against epsilon if several were run, against teachers if several were run, per metric."""
    good = [record for record in records if record["status"] == "ok"]
    if not good:
        return {}
    fits = [record for record in good if record["method"] != REAL]
    made = {}
    for metric in METRICS:
        for axis, values in (
            ("epsilon", {r["epsilon"] for r in fits}),
            ("teachers", {r["options"].get("teachers") for r in fits}),
        ):
            if len(values) > 1 and any(r["metrics"].get(metric) is not None for r in fits):
                made[f"{axis}-{metric}"] = draw(good, metric, axis)
    return made


def draw(records: Sequence[Mapping[str, Any]], metric: str, axis: str) -> str:
    """One chart: a line per method (and per value of the other axis)."""
    dataset = records[0]["dataset"]
    fits = [r for r in records if r["method"] != REAL and r["metrics"].get(metric) is not None]
    groups: dict[tuple[str, Any], dict[float, list[float]]] = {}
    for record in fits:
        place = record["epsilon"] if axis == "epsilon" else record["options"].get("teachers")
        other = record["options"].get("teachers") if axis == "epsilon" else record["epsilon"]
        if place is not None:
            groups.setdefault((record["method"], other), {}).setdefault(float(place), []).append(
                record["metrics"][metric]
            )
    series = [_series(_name(method, other, axis, groups), points) for (method, other), points in groups.items()]
    series += _published(dataset, metric) if axis == "teachers" else []
    real = [r["metrics"][metric] for r in records if r["method"] == REAL and r["metrics"].get(metric) is not None]
    references = [Reference(name="real data (setting A)", value=statistics.fmean(real) if real else None)]
    references += [Reference(name="chance", value=0.5)] if metric == "auroc" else []
    title = DATASETS[dataset].title if dataset in DATASETS else dataset
    word = METRIC_TITLES[metric]
    return line_chart(
        f"{title}: {word} against {axis}",
        series,
        x_label=axis,
        y_label=word,
        x_log=True,
        bands=False,
        references=references,
    )


def _series(name: str, points: Mapping[float, list[float]]) -> Series:
    places = sorted(points)
    runs = [points[place] for place in places]
    return Series(
        name=name,
        x=places,
        y=[statistics.fmean(r) for r in runs],
        low=[min(r) for r in runs],
        high=[max(r) for r in runs],
    )


def _name(method: str, other: Any, axis: str, groups: Mapping[tuple[str, Any], Any]) -> str:
    if other is None or len({key[1] for key in groups}) == 1:
        return method
    return f"{method}, {other} teachers" if axis == "epsilon" else f"{method}, epsilon {other:g}"


def _published(dataset: str, metric: str) -> list[Series]:
    """Audit Table 11: teachers as a share of the 9,200 training rows; best of 25, so points and no intervals."""
    rows = list(look_up("pate-gan-audit", table="11", dataset=dataset, metric=metric))
    train_rows = 9_200
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        share = int(row.variant.removeprefix("teachers=N/"))
        found.setdefault(row.method, []).append((max(1, train_rows // share), row.value))
    return [
        Series(
            name=f"audited {name} (best of 25)",
            x=[x for x, _ in sorted(points)],
            y=[y for _, y in sorted(points)],
            points_only=True,
        )
        for name, points in found.items()
    ]
