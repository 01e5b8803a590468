"""The whole evaluation: read, prepare, compute each family, assemble the frozen result.

Tables become arrays one after the other, so that a file's frame is gone before the next is read. The order of work is
models first (they take longest and run in parallel), then the families in the order of the report.
"""

import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from understudy import engine, manifest
from understudy.errors import UsageError
from understudy.evaluate import classifiers, estimated, images, people, settings, table, whole
from understudy.evaluate.metrics import (
    diagnostics,
    dimension,
    groups,
    mmd,
    pairs,
    ranking,
    release,
    shapes,
    violations,
)
from understudy.evaluate.result import FAMILIES, Evaluation, Fidelity, Header, Utility
from understudy.infer.columns import column_intervals
from understudy.schema import Schema
from understudy.schema.images import spread_frame, spread_schema

Source = object  # a frame (pandas, polars, PyArrow) or the path of a CSV or Parquet file
Value = TypeVar("Value")

Progress = engine.Progress
MAX_ROWS = settings.MAX_ROWS


def evaluate(
    synthetic: Source | Sequence[Source],
    test: Source,
    schema: Schema,
    *,
    train: Source | None = None,
    synthetic_test: Source | Sequence[Source] | None = None,
    models: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    by: Sequence[str] = (),
    max_rows: int | None = MAX_ROWS,
    image_shape: tuple[int, int] | tuple[int, int, int] | None = None,
    certificate: dict[str, object] | None = None,
    model: str | Path | None = None,
    count: str | None = None,
    stable: str | None = None,
    seed: int = 0,
    jobs: int | None = 1,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
) -> Evaluation:
    """Evaluate one or several synthetic tables against held-out real rows.

    Tables are frames (pandas, polars, PyArrow) or files (CSV, Parquet); files are read, converted and dropped one after
    the other. `train` (the rows the generator saw) enables setting A, the ranking agreement and distances. `max_rows`
    caps what classifiers train on. `by` names columns whose groups are reported. `jobs=None` uses every core.
    `image_shape` (height, width[, channels]) adds the CNN and the picture grid. `certificate` is kept in the header.
    `model` is the folder that made the synthetic files: only then may a release report be written. Its certificate must
    verify, and every file must have the manifest that `understudy sample` left beside it. `count` ("people", "rows") says
    whether distributions are compared with one real row of each person (`evaluate.people`); None: as the manifests say.
    `stable` is the column that SDNist's k-marginal keeps in every marginal.
    """
    start = time.perf_counter()
    origin = None
    if model is not None:
        certificate, origin = manifest.verified(model).to_dict(), origin_of(synthetic, model)
    families = _families(metrics if metrics is None or model is None else (*metrics, "diagnostics"))
    chosen = classifiers.choose(None if models is None else tuple(models)) if "utility" in families else ()
    if max_rows is not None and max_rows < 2:
        raise UsageError(f"max_rows={max_rows}: classifiers need at least 2 rows")
    sources = list(synthetic) if isinstance(synthetic, list | tuple) else [synthetic]
    if not sources:
        raise UsageError("synthetic: give at least one synthetic table")
    files = {"synthetic": _name(sources[0]), "test": _name(test), "train": _name(train)}
    shape = _image_shape(image_shape)
    if stable is not None and stable not in schema.names:
        raise UsageError(f"stable: there is no column {stable!r} in the schema")
    whom = people.Compared()
    if count is not None or {"fidelity", "mmd"} & set(families):
        whom = people.compared(sources, test, train, schema, count, seed)
    tests, declared = _as_list(synthetic_test, len(sources)), schema
    if pictures := [column for column in schema.columns if column.kind == "image"]:
        shape = shape or (pictures[0].shape if len(pictures) == 1 else None)

        def flat(source: Source) -> pd.DataFrame:
            return spread_frame(frame_of(source, declared), declared)

        sources, tests, test = [flat(s) for s in sources], [flat(s) for s in tests], flat(test)
        train, schema = None if train is None else flat(train), spread_schema(schema)
    public = schema
    schema, from_synthetic, prepared, prepared_tests, held, known = _read(schema, sources, tests, test, train)

    target = settings.Target.of(schema)
    with_models = "utility" in families and target is not None and bool(chosen)
    wants_dimension = "dimension" in families and (metrics is not None or dimension.applies(schema))
    fits = len(chosen) * (len(prepared) + (known is not None)) if with_models else 0
    steps = _Steps(fits + 6 * ("fidelity" in families) + sum(f in families for f in ("mmd", "groups", "diagnostics"))
                   + wants_dimension + (shape is not None) + 1, progress, cancel)  # fmt: skip
    groupings = _groupings(schema, held, by, "groups" in families)
    out: dict[str, Any] = {}
    notes = [*([whom.note] if whom.note else []), *estimated.note(public)]
    runs = None
    if with_models and target is not None:
        runs = settings.compute(
            schema, target, train=known, test=held, synthetic=prepared, synthetic_test=prepared_tests, models=chosen,
            groups={g.key: (g.code(held), len(g.names)) for g in groupings},
            max_rows=max_rows, seed=seed, jobs=jobs, progress=steps.inner, cancel=cancel,
        )  # fmt: skip
        out["utility"] = _utility(runs, schema, target, known, held, prepared)
    elif "utility" in families:
        notes.append("the schema names no label: settings A, B and C do not apply")
    if known is None and with_models:
        notes.append("no real training rows given: setting A and the ranking agreement are left out")
    if "fidelity" in families:
        out["fidelity"] = _fidelity(whom, known, held, prepared, schema, stable, seed, steps)
    if "mmd" in families:
        out["mmd"] = steps.do("mmd", lambda: mmd.compare(whom.of(held, known)[0], prepared, schema, seed))
    if wants_dimension:
        half = known if known is not None else held
        out["dimension_wise"] = steps.do("dimension-wise", lambda: dimension.compare(
            half, held, prepared, schema, seed=seed, max_rows=max_rows, jobs=jobs, progress=steps.label,
            cancel=cancel))  # fmt: skip
        if known is None:
            notes.append(
                "dimension-wise prediction on real rows was trained on its own test rows: give the training rows (train)"
            )
        if out["dimension_wise"] is None:
            notes.append("dimension-wise figures need at least three binary columns and rows on both sides")
    if "groups" in families:
        out["groups"] = steps.do(
            "groups", lambda: tuple(groups.compare(g, held, prepared, schema, runs) for g in groupings)
        )
    if "diagnostics" in families:
        out["diagnostics"] = steps.do("diagnostics", lambda: diagnostics.compare(known, held, prepared, schema, seed))
    grid = None
    if shape is not None:
        out["images"] = steps.do("pictures", lambda: images.compare(
            schema, shape, train=known, test=held, synthetic=prepared, max_rows=max_rows, seed=seed))  # fmt: skip
        grid = images.synthetic_grid(prepared[0], from_synthetic, shape)
    described = steps.do(
        "synthetic table",
        lambda: release.describe(
            prepared[0], from_synthetic, public, grid, origin, None if model is None else column_intervals(model)
        ),
    )
    header = _header(
        schema, target, held, known, prepared, models=chosen, metrics=families, max_rows=max_rows, seed=seed,
        certificate=None if certificate is None else json.loads(json.dumps(certificate)), notes=tuple(notes),
        seconds=round(time.perf_counter() - start, 3), files=files,
    )  # fmt: skip
    return Evaluation(header=header, release=described, warnings=_warnings(out), **out)


def origin_of(synthetic: Source | Sequence[Source], model: str | Path) -> dict[str, str]:
    """The digests that bind the synthetic files to their model."""
    sources = synthetic if isinstance(synthetic, list | tuple) else [synthetic]
    found = []
    for source in sources:
        if not isinstance(source, str | Path):
            raise UsageError("model: only files that 'understudy sample' wrote can be traced to a model, not frames")
        found.append(manifest.check(source, model))
    if not found:
        raise UsageError("synthetic: give at least one synthetic table")
    return {"model": found[0].model, "file": found[0].sha256, "name": found[0].file, "made": found[0].made}


def _families(metrics: Sequence[str] | None) -> tuple[str, ...]:
    if metrics is None:
        return FAMILIES
    for name in metrics:
        if name not in FAMILIES:
            raise UsageError(f"metrics: unknown family {name!r}; known are {', '.join(FAMILIES)}")
    return tuple(f for f in FAMILIES if f in metrics)


def _image_shape(shape: tuple[int, ...] | None) -> tuple[int, int, int] | None:
    if shape is None:
        return None
    if len(shape) not in (2, 3) or min(shape) < 1 or min(shape[:2]) < 4:
        raise UsageError("image_shape: give height x width, each at least 4, and channels 1 or 3, e.g. 28x28")
    return (shape[0], shape[1], shape[2] if len(shape) == 3 else 1)


def _as_list(value: Source | Sequence[Source] | None, count: int) -> list[Source]:
    if value is None:
        return []
    values = list(value) if isinstance(value, list | tuple) else [value]
    if len(values) != count:
        raise UsageError(f"synthetic_test: give one table for each of the {count} synthetic tables")
    return values


def _read(
    schema: Schema, sources: list[Source], test_sources: list[Source], test: Source, train: Source | None
) -> tuple[Schema, Schema, list[table.Table], list[table.Table] | None, table.Table, table.Table | None]:
    """All tables as arrays, and the schema twice: with categories found in any table, and in the synthetic one only.

    Files are read in blocks, one after the other. Categories that were left to estimate are taken from the tables,
    synthetic ones first (the release part stops there).
    """
    wanted = [*sources, *test_sources, test, *([] if train is None else [train])]
    from_synthetic, schema = with_found(schema, wanted[:1]), with_found(schema, wanted)
    tables = [table.prepare(source, schema) for source in wanted]
    count, more = len(sources), len(test_sources)
    return (
        schema,
        from_synthetic,
        tables[:count],
        tables[count : count + more] or None,
        tables[count + more],
        tables[-1] if train is not None else None,
    )


def _name(source: Source | None) -> str:
    """What the report calls a table: its file's name, or nothing."""
    return Path(source).name if isinstance(source, str | Path) else ""


def frame_of(source: Source, schema: Schema) -> pd.DataFrame:
    """A table as a pandas frame, whatever it is."""
    if isinstance(source, pd.DataFrame):
        return source
    from understudy.schema import as_frame, read_table

    return read_table(source, schema) if isinstance(source, str | Path) else as_frame(source, schema)


def with_found(schema: Schema, sources: Sequence[Any]) -> Schema:
    """Fill categories that are still to be estimated from the given tables, in their order."""
    found: dict[str, tuple[str, ...]] = {}
    for group, columns in schema.estimates.items():
        if columns[0].kind == "categorical":
            found[group] = tuple(dict.fromkeys(v for source in sources for v in table.keys(source, schema, columns)))
    return schema.with_estimates(found) if found else schema


class _Steps:
    """Counts steps across families, and stops between them when cancelled."""

    def __init__(self, total: int, progress: Progress | None, cancel: threading.Event | None) -> None:
        self.total, self.progress, self.cancel, self.done = total, progress, cancel, 0

    def do(self, label: str, work: Callable[[], Value]) -> Value:
        self.stop(label)
        value = work()
        self.inner(0, 0, label)
        return value

    def next(self, label: str) -> None:
        """A step that is about to begin, told by whoever takes it."""
        self.stop(label)
        self.inner(0, 0, label)

    def stop(self, label: str) -> None:
        if self.cancel is not None and self.cancel.is_set():
            raise engine.Cancelled(f"cancelled before: {label}")

    def inner(self, _done: int, _total: int, label: str) -> None:
        self.done += 1
        self.label(0, 0, label)

    def label(self, _done: int, _total: int, label: str) -> None:
        if self.progress is not None:
            self.progress(min(self.done, self.total), self.total, label)


def _groupings(schema: Schema, held: table.Table, by: Sequence[str], wanted: bool) -> list[groups.Grouping]:
    made = [groups.by_column(schema, name, held) for name in dict.fromkeys(by) if name != schema.label]
    if not wanted:
        return made
    own = groups.by_class(schema)
    return [own, *made] if own is not None else made


def _utility(
    runs: settings.Runs,
    schema: Schema,
    target: settings.Target,
    known: table.Table | None,
    held: table.Table,
    prepared: list[table.Table],
) -> Utility:
    names = classifiers.METRICS[target.task]
    real, per_run = settings.model_scores(runs)
    associations = None if known is None else pairs.label_association(known, schema)
    others = [pairs.label_association(t, schema) for t in prepared]
    return Utility(
        task=target.task,
        metrics=names,
        higher_is_better={m: classifiers.HIGHER_IS_BETTER[m] for m in names},
        base=classifiers.base_score(target.task, target.values(held.take(target.usable(held))), target.positive),
        settings=settings.summarise(runs),
        ranking_models=ranking.compare("models", runs.models, real, per_run) if real and len(real) > 1 else None,
        ranking_features=None if associations is None else ranking.compare(
            "features", list(associations), list(associations.values()), [list(o.values()) for o in others]),
    )  # fmt: skip


def _fidelity(
    whom: people.Compared,
    known: table.Table | None,
    held: table.Table,
    prepared: list[table.Table],
    schema: Schema,
    stable: str | None,
    seed: int,
    steps: "_Steps",
) -> Fidelity:
    """Against the rows that the generator saw, where given: they are what it was asked to imitate, and the larger table."""
    held, known = whom.of(held, known)
    real, other, name = (held, None, "test") if known is None else (known, held, "train")
    return Fidelity(
        shapes=steps.do("column shapes", lambda: shapes.compare(real, prepared, schema)),
        whole=whole.compare(
            real, prepared, schema, held_out=other, stable=stable, seed=seed, compared_with=name, tick=steps.next
        ),
        violations=steps.do("schema violations", lambda: violations.find(prepared, schema)),
    )


def _header(
    schema: Schema,
    target: settings.Target | None,
    held: table.Table,
    known: table.Table | None,
    prepared: list[table.Table],
    **rest: Any,
) -> Header:
    columns = table.evaluated(schema)
    return Header(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        test_rows=held.rows,
        train_rows=None if known is None else known.rows,
        synthetic_rows=tuple(t.rows for t in prepared),
        columns=len(columns),
        kinds={c.name: c.kind for c in columns},
        label=schema.label,
        label_kind=schema.label_kind,
        positive=target.classes[target.positive] if target is not None and target.task == "binary" else None,
        classes=() if target is None else target.classes,
        versions=versions_used(),
        **rest,
    )


def versions_used() -> dict[str, str]:
    """Of what the figures depend on."""
    from importlib.metadata import PackageNotFoundError, version

    from understudy import __version__

    found = {"understudy": __version__, "python": sys.version.split()[0]}
    for name in ("numpy", "pandas", "scikit-learn", "xgboost-cpu", "xgboost", "jax"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _warnings(out: dict[str, Any]) -> tuple[str, ...]:
    """What a reader should see first: vanished groups, models that could not learn, broken rules."""
    found = []
    looked = out.get("diagnostics")
    if looked is not None and looked.copied:
        share = max(value for value in looked.exact_copies.runs if value is not None)
        found.append(
            f"EXACT COPIES: {share:.1%} of the synthetic rows are {looked.compared_with} rows; this is no synthetic table, do "
            "not release it"
        )
    for grouping in out.get("groups", ()):
        if grouping.vanished:
            what = "classes" if grouping.role == "class" else f"groups of {grouping.by}"
            found.append(f"vanished {what}: {', '.join(grouping.vanished)}")
    utility = out.get("utility")
    for setting in utility.settings if utility is not None else ():
        troubled = [m for m in setting.models if m.notes]
        if troubled:
            found.append(f"setting {setting.name}: {len(troubled)} models with notes, e.g. {troubled[0].notes[0]}")
    fidelity = out.get("fidelity")
    if fidelity is not None and fidelity.violations:
        found.append(f"{len({v.column for v in fidelity.violations})} columns break the schema in synthetic rows")
    return tuple(found)
