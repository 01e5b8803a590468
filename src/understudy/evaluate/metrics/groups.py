"""Who is hurt: the figures per class of the label and per subgroup of a named column.

Noise erases rare groups first (Bagdasaryan et al. 2019, Ganev et al. 2022), and averages hide it. For every group: its
share among real and synthetic rows, whether it vanished, how far its columns' shapes are off, and what models score on
its real test rows when trained on real (A) or synthetic rows (B).

Classes score one-vs-rest AUROC and recall, subgroups the task's own metrics. A numeric column is cut at the real rows'
quartiles. Groups beyond the 25 largest are joined.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.errors import UsageError
from understudy.evaluate.metrics import shapes
from understudy.evaluate.result import Group, Groups, Summary
from understudy.evaluate.settings import Runs, group_scores
from understudy.evaluate.table import MISSING, Table, categories, evaluated, is_discrete
from understudy.schema import Column, Schema

MOST_GROUPS = 25
_SHAPE_ROWS = 20_000


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """A way to sort rows of any table into groups; `code` gives a number per row, -1 for none."""

    column: str
    role: str  # "class" or "subgroup"
    names: tuple[str, ...]
    code: Callable[[Table], np.ndarray]

    @property
    def key(self) -> str:
        """Its name in the scores of the predictive models."""
        return "class" if self.role == "class" else f"by {self.column}"


def by_class(schema: Schema) -> Grouping | None:
    """Groups by class label; none where the label has no classes."""
    if schema.label is None or schema.label_kind not in ("binary", "multiclass"):
        return None
    name = schema.label
    names = tuple(str(v) for v in categories(schema.column(name)))
    return Grouping(column=name, role="class", names=names, code=lambda table: table.values[name])


def by_column(schema: Schema, name: str, real: Table) -> Grouping:
    """Groups by the values of a column, numbers cut at quantiles of the real rows."""
    column = next((c for c in evaluated(schema) if c.name == name), None)
    if column is None:
        raise UsageError(f"by: {name!r} is no column of the schema (or an identifier)")
    return _discrete(column, real) if is_discrete(column) else _numeric(column, real)


def _discrete(column: Column, real: Table) -> Grouping:
    outcomes = [str(v) for v in categories(column)]
    counts = np.bincount(real.values[column.name][real.values[column.name] >= 0], minlength=len(outcomes))
    kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_GROUPS])
    joined = len(outcomes) > len(kept)
    names = [outcomes[i] for i in kept] + (["all others"] if joined else []) + (["missing"] if column.missing else [])
    table = np.full(len(outcomes) + 2, len(kept) if joined else -1, dtype=np.int32)
    table[kept] = np.arange(len(kept))
    table[-2], table[MISSING] = -1, len(names) - 1 if column.missing else -1
    return Grouping(
        column=column.name, role="subgroup", names=tuple(names), code=lambda t: table[t.values[column.name]]
    )


def _numeric(column: Column, real: Table) -> Grouping:
    known = shapes.finite(real.values[column.name])
    edges = np.unique(np.quantile(known, [0.25, 0.5, 0.75])) if known.size else np.array([0.0])
    texts = [_number(e, column.kind) for e in edges]
    names = [f"up to {texts[0]}"]
    names += [f"{a} to {b}" for a, b in itertools.pairwise(texts)] + [f"above {texts[-1]}"]
    gap = column.missing or bool(column.codes)
    missing = len(names) if gap else -1
    names += ["missing"] if gap else []

    def code(table: Table) -> np.ndarray:
        values = table.values[column.name]
        return np.where(np.isnan(values), missing, np.searchsorted(edges, values, side="left")).astype(np.int32)

    return Grouping(column=column.name, role="subgroup", names=tuple(names), code=code)


def _number(value: float, kind: str) -> str:
    if kind == "datetime":
        return str(np.datetime64(int(value), "s").astype("datetime64[D]"))
    return f"{value:g}"


def compare(grouping: Grouping, real: Table, synthetic: Sequence[Table], schema: Schema, runs: Runs | None) -> Groups:
    """Shares, vanished groups and shapes; scores where models were run (`runs`)."""
    own = grouping.code(real)
    others = [grouping.code(t) for t in synthetic]
    setting_a: list[dict[str, float | None]] = []
    setting_b: list[dict[str, Summary]] = []
    if runs is not None and grouping.key in runs.group_counts:
        setting_a, setting_b = group_scores(runs, grouping.key)
    made = []
    for g, name in enumerate(grouping.names):
        mine, theirs = own == g, [o == g for o in others]
        gone = bool(mine.any() and theirs and not any(t.any() for t in theirs))
        distances = [_shape(real, mine, t, o, schema, grouping.column) for t, o in zip(synthetic, theirs, strict=True)]
        notes = []
        if gone:
            notes.append("vanished: present among the real rows, absent from every synthetic table")
        elif not mine.any():
            notes.append("no real test rows: nothing to score")
        made.append(
            Group(
                value=name,
                real_rows=int(mine.sum()),
                real_share=float(mine.mean()) if mine.size else 0.0,
                synthetic_share=Summary.of([float(t.mean()) if t.size else 0.0 for t in theirs]),
                vanished=gone,
                shape_distance=Summary.of(distances, higher_is_better=False),
                setting_a=setting_a[g] if setting_a else {},
                setting_b=setting_b[g] if setting_b else {},
                notes=tuple(notes),
            )
        )
    metrics = tuple(setting_b[0]) if setting_b else ()
    return Groups(
        by=grouping.column,
        role=grouping.role,
        groups=tuple(made),
        vanished=tuple(g.value for g in made if g.vanished),
        metrics=metrics,
    )


def _shape(
    real: Table, mine: np.ndarray, synthetic: Table, theirs: np.ndarray, schema: Schema, without: str
) -> float | None:
    """Shapes within the group, at most 20,000 rows a side (the distance is no finer than that)."""
    if not mine.any() or not theirs.any():
        return None
    one = real.take(np.flatnonzero(mine)[:_SHAPE_ROWS])
    two = synthetic.take(np.flatnonzero(theirs)[:_SHAPE_ROWS])
    return shapes.mean_distance(one, two, schema, without=without)
