"""One cell of a benchmark: fit one method on one data set with one budget and one seed, sample, score.

The seed draws the split and starts the method, so the spread over seeds contains both. The method `real` fits
nothing: it scores the training rows themselves (setting A). A cell runs alone, catches its own errors and returns one
flat record; nothing is shared between cells.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import store
from benchmarks.registry import DATASETS, Split, load
from understudy.errors import UsageError
from understudy.evaluate.people import one_of_each
from understudy.schema import Schema

REAL = "real"
Resolve = Callable[[str], Callable[..., Any]]
Score = Callable[..., dict[str, Any]]

_PACKAGES = ("jax", "equinox", "optax", "dp-accounting", "opendp", "scikit-learn", "xgboost-cpu", "numpy", "pandas")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What is computed. Two cells with equal fields are the same computation and share their result."""

    dataset: str
    method: str
    epsilon: float | None
    delta: float | None
    seed: int
    scoring: str = "utility"
    options: Mapping[str, Any] = field(default_factory=dict)
    classifiers: tuple[str, ...] | None = None
    max_rows: int = 20_000
    rows: int | None = None
    split: str = "random"
    columns: int | None = None
    code: str = ""  # fingerprint of the method's code: a cell of older code is another one, and runs again

    @property
    def key(self) -> str:
        """Identity in the results file. Real rows have no code and keep the key that they always had."""
        fields = asdict(self)
        if not self.code:
            del fields["code"]
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def place(self) -> tuple[Any, ...]:
        """What is computed, whatever the code: two cells at one place are an old result and a new one."""
        return self.dataset, self.method, self.epsilon, self.seed, self.scoring, json.dumps(dict(self.options))

    @property
    def label(self) -> str:
        budget = "" if self.epsilon is None else f", epsilon {self.epsilon:g}"
        return f"{self.dataset}, {self.method}{budget}, seed {self.seed}"


@dataclass(frozen=True, kw_only=True)
class Task:
    """A cell and what a worker needs to run it. `resolve` and `score` are replaced in tests."""

    cell: Cell
    data: str | None
    file: str
    command: str = ""
    resolve: Resolve | None = None
    score: Score | None = None
    threads: int | None = None


def run(task: Task) -> dict[str, Any]:
    """Compute one cell, append its line to the results file, and return the record. Only a full disk or the like
    raises.
    """
    _limit_threads(task.threads)
    start = time.perf_counter()
    record: dict[str, Any] = {"cell": task.cell.key, "status": "ok", **_identity(task.cell)}
    reset_peak()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # collected by the evaluation where they matter; here they would only garble the progress
            record |= compute(task)
    except Exception as error:  # a cell that fails must not end the others
        record |= {"status": "failed", "error": _describe(error)}
    record |= {
        "total_seconds": round(time.perf_counter() - start, 3),
        "peak_mb": peak_mb(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "command": task.command,
        "versions": versions(),
    }
    store.append(Path(task.file), record)
    return record


def compute(task: Task) -> dict[str, Any]:
    """Fit, sample, score."""
    cell = task.cell
    train, test, schema = load(cell.dataset, task.data, seed=cell.seed, split=cell.split, rows=cell.rows)
    if cell.columns is not None:
        train, test, schema = most_frequent_codes(train, test, schema, cell.columns)
    clock = _Clock()
    found: dict[str, Any] = {}
    entry = DATASETS.get(cell.dataset)
    known, held = (each_once(rows, schema, cell.seed) if entry and entry.people else rows for rows in (train, test))
    if cell.method == REAL:
        synthetic, synthetic_test = known, held
    else:
        model = (task.resolve or _method)(cell.method)(
            epsilon=cell.epsilon, delta=cell.delta, seed=cell.seed, **cell.options
        )
        model = model.fit(train, schema)
        found["fit_seconds"] = clock.lap()
        synthetic = model.sample(len(known), seed=cell.seed)
        found["sample_seconds"] = clock.lap()
        synthetic_test = model.sample(max(1, len(held)), seed=cell.seed + 1_000_003)
        found |= _claim(model)
        clock.lap()
    scored = (task.score or _score)(
        synthetic,
        synthetic_test,
        train=known,
        test=held,
        schema=schema,
        scoring=cell.scoring,
        classifiers=cell.classifiers,
        max_rows=cell.max_rows,
        seed=cell.seed,
        stable=entry.stable if entry else None,
    )
    headline = {name: scored["metrics"].get(name) for name in ("auroc", "auprc")}
    return {
        **headline,
        **scored,
        "train_rows": len(train),
        "test_rows": len(held),
        "synthetic_rows": len(synthetic),
        "fit_seconds": 0.0,
        "sample_seconds": 0.0,
        **found,
        "evaluate_seconds": clock.lap(),
    }


def each_once(rows: pd.DataFrame, schema: Schema, seed: int) -> pd.DataFrame:
    """One row of each unit, drawn at random."""
    drawn = one_of_each(rows, schema, seed)
    assert drawn is not None, "the table has no column of units"
    return rows.iloc[drawn.places].reset_index(drop=True)


def most_frequent_codes(train: pd.DataFrame, test: pd.DataFrame, schema: Schema, count: int) -> Split:
    """The table cut down to its most frequent 0/1 columns (identifiers and label stay), for quick runs on public
    code tables.
    """
    codes = [column.name for column in schema.features if column.categories == (0, 1)]
    frequent = set(train[codes].mean().sort_values(ascending=False, kind="stable").index[:count])
    kept = [column for column in schema.columns if column.name not in codes or column.name in frequent]
    names = [column.name for column in kept]
    return Split(train[names], test[names], replace(schema, columns=tuple(kept)))


def versions() -> dict[str, str]:
    """Our version and those of the packages that decide the numbers."""
    from understudy import __version__

    found = {"understudy": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def reset_peak() -> None:
    """Forget earlier cells' peak memory of this process, where Linux lets us."""
    with contextlib.suppress(OSError):  # then the peak is that of the whole process
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float | None:
    """Peak resident memory of this process since `reset_peak`, in megabytes; None where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    kilobytes = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), None)
    return None if kilobytes is None else round(int(kilobytes) / 1024, 1)


class _Clock:
    def __init__(self) -> None:
        self.last = time.perf_counter()

    def lap(self) -> float:
        now = time.perf_counter()
        seconds, self.last = now - self.last, now
        return round(seconds, 3)


def _identity(cell: Cell) -> dict[str, Any]:
    fields = asdict(cell)
    fields["classifiers"] = None if cell.classifiers is None else list(cell.classifiers)
    return fields


def _claim(model: Any) -> dict[str, Any]:
    """Whether the method claims a valid guarantee at all: a void one (research presets) must show in the results."""
    reason = getattr(model, "void_reason", "")
    return {"guarantee": "void", "void_reason": reason} if reason else {"guarantee": "valid"}


def _describe(error: Exception) -> str:
    # Tables here are public, but the habit stays: a foreign exception's text may quote rows, ours do not.
    return str(error) if isinstance(error, UsageError) else type(error).__name__ + _place(error)


def _place(error: Exception) -> str:
    """The innermost place in our own files."""
    import understudy

    trace, place = error.__traceback__, ""
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        for package in (Path(__file__).parent, Path(understudy.__file__).parent):
            if package in file.parents:
                place = f" in {file.relative_to(package.parent).as_posix()} line {trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _limit_threads(threads: int | None) -> None:
    """Parallel cells with many threads each would fight for the same cores. Takes effect because JAX is imported
    after it.
    """
    if threads is None:
        return
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, str(threads))
    if threads == 1 and "XLA_FLAGS" not in os.environ:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"


def _method(name: str) -> Callable[..., Any]:
    from understudy import method

    return method(name)


def _score(*frames: Any, **settings: Any) -> dict[str, Any]:
    from benchmarks.score import score

    return score(*frames, **settings)
