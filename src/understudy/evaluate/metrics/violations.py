"""Schema violations: synthetic rows that the declared table could not hold."""

from collections.abc import Sequence

import numpy as np

from understudy.evaluate.result import Summary, Violation
from understudy.evaluate.table import MISSING, UNKNOWN, Table, evaluated, is_discrete
from understudy.schema import Column, Schema

_TOLERANCE = 1e-6  # of the width between the bounds: float32 rounding at the edge is no violation


def find(synthetic: Sequence[Table], schema: Schema) -> tuple[Violation, ...]:
    """Every rule that at least one synthetic row breaks, with the share of rows that break it."""
    found: dict[tuple[str, str], list[float]] = {}
    for number, table in enumerate(synthetic):
        for column in evaluated(schema):
            rules = {"column absent": 1.0} if column.name in table.absent else _rules(table, column)
            for rule, share in rules.items():
                if share > 0:
                    found.setdefault((column.name, rule), [0.0] * len(synthetic))[number] = share
    return tuple(
        Violation(column=name, rule=rule, share=Summary.of(runs, higher_is_better=False))
        for (name, rule), runs in found.items()
    )


def _rules(table: Table, column: Column) -> dict[str, float]:
    values = table.values[column.name]
    if values.size == 0:
        return {}
    if is_discrete(column):
        broken = {"unknown category": values == UNKNOWN, "missing not allowed": values == MISSING}
    else:
        broken = {"missing not allowed": np.isnan(values), "infinite": np.isinf(values)}
        if column.lower is not None and column.upper is not None:
            low, high = column.bounds
            slack = _TOLERANCE * (high - low)
            broken |= {"below lower": values < low - slack, "above upper": values > high + slack}
        if column.kind == "integer":
            known = values[np.isfinite(values)]
            broken["not whole"] = np.mod(known, 1.0) != 0
    if column.missing or column.codes:
        del broken["missing not allowed"]
    return {rule: float(rows.sum() / values.size) for rule, rows in broken.items()}
