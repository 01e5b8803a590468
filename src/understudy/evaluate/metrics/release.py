"""Statistics of the synthetic table alone: all that a release report may show beside the certificate.

Every number here is a function of the schema and of synthetic rows, hence post-processing of a private release. No
real row, bin edge or category found in the real table enters; a test compares two evaluations that differ only in the
real rows.
"""

from dataclasses import replace

import numpy as np

from understudy.evaluate.metrics import pairs, shapes, violations
from understudy.evaluate.result import SyntheticColumn, SyntheticTable
from understudy.evaluate.table import Table, categories, evaluated, is_discrete
from understudy.infer.columns import ColumnIntervals
from understudy.schema import Column, Schema

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def describe(
    synthetic: Table,
    schema: Schema,
    public: Schema,
    grid_png: str | None = None,
    origin: dict[str, str] | None = None,
    intervals: ColumnIntervals | None = None,
) -> SyntheticTable:
    """`schema` may have categories filled in from both tables; `public` is what the holder declared. `intervals`: of the
    columns' figures, where the model can draw copies (`understudy.infer.columns`)."""
    columns = pairs.drawn_columns(schema)
    return SyntheticTable(
        schema=public.to_dict(),
        rows=synthetic.rows,
        columns=tuple(
            _with_intervals(_with_gaps(_column(synthetic.values[c.name], c, public), synthetic, c), intervals)
            for c in evaluated(schema)
        ),
        pair_columns=tuple(c.name for c in columns),
        pair_measures=tuple(tuple(pairs.measure(a, b) for b in columns) for a in columns),
        pairs=pairs.as_matrix(pairs.matrix(synthetic, columns)),
        violations=violations.find([synthetic], schema),
        grid_png=grid_png,
        origin=origin,
    )


def _with_intervals(column: SyntheticColumn, found: ColumnIntervals | None) -> SyntheticColumn:
    if found is None:
        return column
    name, labels = column.column, column.labels
    return replace(
        column,
        mean_interval=None if column.mean is None else found.mean(name),
        missing_interval=found.missing(name),
        quantile_intervals=None if column.quantiles is None else tuple(found.quantile(name, q) for q in QUANTILES),
        share_intervals=tuple(found.share(name, label) for label in labels)
        if labels is not None
        else found.between(name, column.edges or ()),
    )


def _with_gaps(found: SyntheticColumn, table: Table, column: Column) -> SyntheticColumn:
    """Cells without a value, and codes beside numbers, each counted on its own."""
    shares = tuple((code, round(share, 6)) for code, share in shapes.code_shares(table, column).items())
    return replace(found, missing=shapes.missing_share(table, column), codes=shares)


def _column(values: np.ndarray, column: Column, public: Schema) -> SyntheticColumn:
    if is_discrete(column):
        return _outcomes(values, column, declared=public.column(column.name).categories is not None)
    edges = shapes.bin_edges([values], column)
    shares, outside = shapes.binned(values, edges)
    known = shapes.finite(values)
    mean, sd = shapes.mean_and_sd(values)
    return SyntheticColumn(
        column=column.name,
        kind=column.kind,
        missing=0.0,
        edges=tuple(float(e) for e in edges),
        labels=None,
        shares=shares,
        outside=outside,
        mean=mean,
        sd=sd,
        quantiles=tuple(float(q) for q in np.quantile(known, QUANTILES)) if known.size else None,
        is_datetime=column.kind == "datetime",
    )


def _outcomes(values: np.ndarray, column: Column, *, declared: bool) -> SyntheticColumn:
    outcomes = categories(column)
    share = shapes.shares(values, len(outcomes))
    # Categories found in the tables (not declared) are public only if the synthetic table shows them.
    shown = [i for i in range(len(outcomes)) if declared or column.kind == "boolean" or share[i] > 0]
    order = sorted(shown, key=lambda i: -share[i])[: shapes.MOST_BARS - 1] if len(shown) > shapes.MOST_BARS else shown
    labels, bars = [str(outcomes[i]) for i in order], [float(share[i]) for i in order]
    if len(order) < len(shown):
        labels.append(f"{len(shown) - len(order)} more")
        bars.append(max(0.0, float(share[:-1].sum()) - sum(bars)))
    return SyntheticColumn(
        column=column.name,
        kind=column.kind,
        missing=0.0,
        edges=None,
        labels=tuple(labels),
        shares=shapes.rounded(np.array(bars)),
        outside=round(float(share[-1]), 6),
        mean=None,
        sd=None,
        quantiles=None,
    )
