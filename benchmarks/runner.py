"""Run the cells of a suite: what is in the results file already is left out, the rest runs in parallel processes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import store
from benchmarks.cells import REAL, Cell, Resolve, Score, Task
from benchmarks.cells import run as run_cell
from benchmarks.fingerprint import fingerprint
from benchmarks.registry import dataset, find_file
from benchmarks.suites import NOT_PRIVATE, Suite, Variant

Report = Callable[[Mapping[str, Any], int, int], None]  # record of the finished cell, finished cells, all cells


def cells(
    suite: Suite,
    *,
    methods: Sequence[str] | None = None,
    epsilons: Sequence[float] | None = None,
    delta: float | None = None,
    seeds: int | None = None,
    datasets: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[Cell]:
    """Every cell of the suite, seed by seed, each data set's setting A before its fits. What a variant sets stands above
    `options`, so that rows of an ablation stay apart; methods without privacy run once, at the first budget.
    """
    chosen = [method for method in (suite.methods if methods is None else methods) if method != REAL]
    found: dict[str, Cell] = {}
    for seed in range(suite.seeds if seeds is None else seeds):
        for name in datasets or suite.datasets:
            real = Cell(
                dataset=name,
                method=REAL,
                epsilon=None,
                delta=None,
                seed=seed,
                scoring=suite.scoring,
                classifiers=suite.classifiers,
                max_rows=suite.max_rows,
                rows=suite.rows,
                split=suite.split,
                columns=suite.columns,
            )
            if suite.scoring != "whole-table":  # its records hold what real rows score
                found.setdefault(real.key, real)
            budgets = [float(epsilon) for epsilon in epsilons or suite.epsilons]
            fits = [
                (method, variant, epsilon)
                for method in chosen
                for variant in suite.variants or (Variant(),)
                for epsilon in (budgets[:1] if method in NOT_PRIVATE else budgets)
            ]
            for method, variant, epsilon in fits:
                cell = replace(
                    real,
                    method=method,
                    epsilon=epsilon,
                    delta=suite.delta if delta is None else delta,
                    options={**(options or {}), **variant.options},
                    code=fingerprint(method),
                )
                found.setdefault(cell.key, cell)
    return list(found.values())


def run(
    wanted: Sequence[Cell],
    file: Path,
    *,
    data: str | None = None,
    jobs: int | None = None,
    engine: str | None = None,
    report: Report | None = None,
    resolve: Resolve | None = None,
    score: Score | None = None,
    command: str | None = None,
) -> list[Mapping[str, Any]]:
    """Compute what is missing and return the records of all wanted cells, in their order.

    Cells are jobs: in `jobs` processes, or on the engine that is named (on a cluster `file` and `data` must be on storage
    that all nodes see under the same path). Data files are looked for before the first fit, so that a missing one is told
    at once.
    """
    from understudy import engine as engines

    for name in dict.fromkeys(cell.dataset for cell in wanted):
        if (entry := dataset(name)).file is not None:
            find_file(entry, data)
    store.prepare(file.parent)
    borrow(wanted, file)
    before = store.read(file)
    finished = {key for key, record in store.latest(before).items() if record["status"] == "ok"}
    missing = {cell.key: cell for cell in wanted if cell.key not in finished}
    named = engines.named(engine)
    workers = min(engines.cores() if jobs is None else max(1, jobs), max(1, len(missing)))
    task = Task(
        cell=next(iter(wanted)),
        data=data,
        file=str(file.resolve()),
        command=command_line() if command is None else command,
        resolve=resolve,
        score=score,
        threads=1 if (workers > 1 if named is None else named != "inline") else None,
    )
    seen, done = len(before), len(wanted) - len(missing)

    def progress(_count: int, _all: int, _label: str) -> None:
        # Workers append their lines themselves, so that nothing is lost with the parent; what is new is read off the
        # file.
        nonlocal seen, done
        records = store.read(file)
        for record in records[seen:]:
            if record["cell"] in missing:
                done += 1
                if report is not None:
                    report(record, done, len(wanted))
        seen = len(records)

    tasks = [replace(task, cell=cell) for cell in missing.values()]
    labels = [cell.label for cell in missing.values()]
    engines.run_jobs(run_cell, tasks, jobs=workers, engine=named if tasks else None, labels=labels, progress=progress)
    newest = store.latest(store.read(file))
    return [newest[cell.key] for cell in wanted]


def borrow(wanted: Sequence[Cell], file: Path) -> None:
    """Suites overlap: a cell that another suite has finished is the same computation, so its line is copied, not made again."""
    own = {record["cell"] for record in store.read(file) if record["status"] == "ok"}
    lacking = {cell.key for cell in wanted} - own
    others = [record for other in sorted(file.parent.glob("*.jsonl")) if other != file for record in store.read(other)]
    for key, record in store.latest(others).items():
        if key in lacking and record["status"] == "ok":
            store.append(file, record)


FOLDERS = {
    "--data": "DIR",
    "--out": "DIR",
    "--python": "ENV/bin/python",
}  # options of places, and what stands there instead


def command_line(words: Sequence[str] | None = None) -> str:
    """The command as typed, without the program's path and without folders: those are nobody's business in a
    results file.
    """
    typed = list(sys.argv if words is None else words)[1:]
    shown = {i + 1: FOLDERS[word] for i, word in enumerate(typed) if word in FOLDERS}
    return shlex.join(["python", "-m", "benchmarks", *(shown.get(i, word) for i, word in enumerate(typed))])
