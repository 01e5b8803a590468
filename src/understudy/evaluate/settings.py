"""Settings A, B and C: what models learn from the stand-in, beside what they learn from the real rows.

Jordon et al. 2019, Section 5.1:

    A  trained on real rows,       tested on held-out real rows        the ceiling
    B  trained on synthetic rows,  tested on held-out real rows        does the stand-in teach?
    C  trained on synthetic rows,  tested on other synthetic rows      does it rank models as the real rows do?

One fit serves B and C: a synthetic table is cut 80/20 (its own seed) unless its test part is given, the larger part
trains. Training takes at most `max_rows` rows (20,000), testing at most five times as many; both are drawn without
replacement and recorded. Rows whose label is missing or unknown are left out and counted in a note.

Several synthetic tables give several runs: mean, standard deviation, range; the best is reported as the papers do and
labelled optimistic, because choosing it looks at real rows once more.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy import engine
from understudy.evaluate import classifiers, features
from understudy.evaluate.classifiers import HIGHER_IS_BETTER, METRICS, Job, Outcome, TestSet
from understudy.evaluate.result import ModelScores, Setting, Summary
from understudy.evaluate.table import Table, categories
from understudy.schema import Schema

MAX_ROWS = 20_000
TEST_FACTOR = 5
SYNTHETIC_TEST_SHARE = 0.2


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is predicted: the label column as the schema declares it."""

    column: str
    task: classifiers.Task
    classes: tuple[str, ...]
    positive: int

    @classmethod
    def of(cls, schema: Schema) -> "Target | None":
        """What the schema's label asks models to predict; None without a label."""
        kind = schema.label_kind
        if kind == "none" or schema.label is None:
            return None
        if kind == "numeric":
            return cls(column=schema.label, task="numeric", classes=(), positive=0)
        outcomes = categories(schema.column(schema.label))
        positive = next((i for i, v in enumerate(outcomes) if v == schema.positive_value), len(outcomes) - 1)
        task: classifiers.Task = "binary" if len(outcomes) == 2 else "multiclass"
        return cls(column=schema.label, task=task, classes=tuple(str(v) for v in outcomes), positive=positive)

    def usable(self, table: Table) -> np.ndarray:
        """Rows whose label is known, as a mask."""
        values = table.values[self.column]
        return np.isfinite(values) if self.task == "numeric" else values >= 0

    def values(self, table: Table) -> np.ndarray:
        """Labels as models take them: numbers, or class indices."""
        return table.values[self.column].astype(np.float64 if self.task == "numeric" else np.int64)


@dataclass(frozen=True, kw_only=True)
class Side:
    """One training table and the tables its models are tested on."""

    name: str  # "A" or the run's number
    train: Table
    tests: Mapping[str, Table]
    dropped: int = 0


@dataclass(frozen=True, kw_only=True)
class Runs:
    """Outcomes by run and model: `real` is setting A, each entry of `synthetic` gives B and C."""

    target: Target
    models: tuple[str, ...]
    real: dict[str, Outcome] | None
    synthetic: tuple[dict[str, Outcome], ...]
    sides: tuple[Side, ...]
    group_counts: Mapping[str, int]


def compute(
    schema: Schema,
    target: Target,
    *,
    train: Table | None,
    test: Table,
    synthetic: Sequence[Table],
    synthetic_test: Sequence[Table] | None,
    models: tuple[str, ...],
    groups: Mapping[str, tuple[np.ndarray, int]],
    max_rows: int | None,
    seed: int,
    jobs: int | None,
    progress: engine.Progress | None,
    cancel: threading.Event | None,
) -> Runs:
    """Fit every model on every training table, in parallel. `groups`: code per row of `test`, number of groups."""
    test_most = None if max_rows is None else TEST_FACTOR * max_rows
    usable = target.usable(test)
    real_test, real_groups = _draw_test(test, usable, groups, test_most, seed)
    sides = []
    if train is not None:
        kept = target.usable(train)
        sides.append(
            Side(
                name="A",
                train=train.take(kept).sample(max_rows, seed),
                tests={"real": real_test},
                dropped=int((~kept).sum() + (~usable).sum()),
            )
        )
    for number, table in enumerate(synthetic):
        own_test = None if synthetic_test is None else synthetic_test[number]
        sides.append(_synthetic_side(number, table, own_test, target, real_test, max_rows, test_most, seed))
    jobs_list, labels = [], []
    for number, side in enumerate(sides):
        made = _jobs(side, schema, target, models, real_groups, seed + number)
        jobs_list += made
        labels += [f"setting {'A' if side.name == 'A' else 'B, C'}: {job.model}" for job in made]
    # Longest first would need timings; a stable order by model keeps the workers evenly loaded well enough.
    outcomes = engine.run_jobs(classifiers.run, jobs_list, jobs=jobs, progress=progress, labels=labels, cancel=cancel)
    rows = [dict(zip(models, outcomes[i : i + len(models)], strict=True)) for i in range(0, len(outcomes), len(models))]
    return Runs(
        target=target,
        models=models,
        real=rows[0] if train is not None else None,
        synthetic=tuple(rows[1:] if train is not None else rows),
        sides=tuple(sides),
        group_counts={by: count for by, (_, count) in groups.items()},
    )


def summarise(runs: Runs) -> tuple[Setting, ...]:
    """The three settings as the result shows them; A is left out when no real training rows were given."""
    made = []
    synthetic_sides = [s for s in runs.sides if s.name != "A"]
    if runs.real is not None:
        made.append(_setting("A", "real", "real", runs, [runs.real], [runs.sides[0]]))
    if runs.synthetic:
        made.append(_setting("B", "synthetic", "real", runs, list(runs.synthetic), synthetic_sides))
        made.append(_setting("C", "synthetic", "synthetic", runs, list(runs.synthetic), synthetic_sides))
    return tuple(made)


def _setting(
    name: str, trained: str, tested: str, runs: Runs, outcomes: list[dict[str, Outcome]], sides: list[Side]
) -> Setting:
    metrics = METRICS[runs.target.task]
    models = []
    for model in runs.models:
        own = [o[model] for o in outcomes]
        models.append(
            ModelScores(
                model=model,
                scores={m: Summary.of([o.scores[tested][m] for o in own], HIGHER_IS_BETTER[m]) for m in metrics},
                notes=_collect([o.notes for o in own]),
                warnings=_collect([o.warnings for o in own]),
                seconds=round(sum(o.seconds for o in own), 3),
            )
        )
    average = {m: Summary.of([_mean([o[k].scores[tested][m] for k in runs.models]) for o in outcomes],
                             HIGHER_IS_BETTER[m]) for m in metrics}  # fmt: skip
    dropped = sum(s.dropped for s in sides)
    return Setting(
        name=name,
        trained_on=trained,
        tested_on=tested,
        train_rows=tuple(s.train.rows for s in sides),
        test_rows=tuple(s.tests[tested].rows for s in sides),
        models=tuple(models),
        average=average,
        notes=(f"{dropped} rows without a usable label were left out",) if dropped else (),
    )


def model_scores(runs: Runs) -> tuple[list[float | None], list[list[float | None]]]:
    """Headline metric per model: setting A, and setting C per run (what the ranking agreement compares)."""
    headline = METRICS[runs.target.task][0]
    real = [] if runs.real is None else [runs.real[m].scores["real"][headline] for m in runs.models]
    return real, [[o[m].scores["synthetic"][headline] for m in runs.models] for o in runs.synthetic]


def group_scores(runs: Runs, by: str) -> tuple[list[dict[str, float | None]], list[dict[str, Summary]]]:
    """Per group: mean over models in A, and the same per run in B."""
    count = runs.group_counts[by]
    real = [_group_mean(runs.real, by, g) if runs.real is not None else {} for g in range(count)]
    synthetic = []
    for g in range(count):
        per_run = [_group_mean(o, by, g) for o in runs.synthetic]
        names = per_run[0] if per_run else {}
        synthetic.append({m: Summary.of([r[m] for r in per_run], HIGHER_IS_BETTER[m]) for m in names})
    return real, synthetic


def _group_mean(outcomes: dict[str, Outcome], by: str, group: int) -> dict[str, float | None]:
    rows = [o.groups["real"][by][group] for o in outcomes.values()]
    return {m: _mean([r[m] for r in rows]) for m in rows[0]}


def _synthetic_side(
    number: int,
    table: Table,
    own_test: Table | None,
    target: Target,
    real_test: Table,
    max_rows: int | None,
    test_most: int | None,
    seed: int,
) -> Side:
    kept = target.usable(table)
    table = table.take(kept)
    if own_test is None:
        order = np.random.default_rng([seed, number]).permutation(table.rows)
        cut = round(SYNTHETIC_TEST_SHARE * table.rows)
        own_test, table = table.take(order[:cut]), table.take(order[cut:])
    else:
        own_test = own_test.take(target.usable(own_test))
    return Side(
        name=str(number),
        train=table.sample(max_rows, seed),
        tests={"real": real_test, "synthetic": own_test.sample(test_most, seed)},
        dropped=int((~kept).sum()),
    )


def _draw_test(
    test: Table, usable: np.ndarray, groups: Mapping[str, tuple[np.ndarray, int]], most: int | None, seed: int
) -> tuple[Table, dict[str, tuple[np.ndarray, int]]]:
    """Test rows with a label, at most `most`, and the group codes of exactly those."""
    index = np.flatnonzero(usable)
    if most is not None and len(index) > most:
        index = np.sort(np.random.default_rng(seed).choice(index, size=most, replace=False))
    return test.take(index), {by: (codes[index], count) for by, (codes, count) in groups.items()}


def _jobs(
    side: Side,
    schema: Schema,
    target: Target,
    models: tuple[str, ...],
    groups: Mapping[str, tuple[np.ndarray, int]],
    seed: int,
) -> list[Job]:
    encoder = features.fit(side.train, schema, without=target.column, flags=False)
    tests = {
        name: TestSet(
            features=encoder.apply(table), target=target.values(table), groups=groups if name == "real" else {}
        )
        for name, table in side.tests.items()
    }
    rows, values = encoder.apply(side.train), target.values(side.train)
    return [
        Job(
            model=model,
            task=target.task,
            classes=max(1, len(target.classes)),
            positive=target.positive,
            features=rows,
            target=values,
            tests=tests,
            seed=seed,
        )
        for model in models
    ]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.mean(known)) if known else None


def _collect(texts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Each text once; with several runs, how many it concerned."""
    counts: dict[str, int] = {}
    for run in texts:
        for text in run:
            counts[text] = counts.get(text, 0) + 1
    return tuple(t if len(texts) == 1 else f"{t} ({n} of {len(texts)} runs)" for t, n in counts.items())
