"""Which questions a table is asked: one rule, from public and released values.

    few rows    a label, and products of columns would be noise     class means alone (`few_rows`)
    wide        50 or more numeric columns (public)                 columns alike are counted together; column shapes besides
    ordinary    all others                                          one-way marginals, class moments, products

**Few rows.** The noise on a mean product of two coordinates has deviation s = (3/4) sigma / n for n rows, and a matrix of
such noise has eigenvalues up to 2 s sqrt(width). Where that is more than `VISIBLE` of all variance, not even the leading
direction of the correlations stands out:

    2 (3/4) sigma sqrt(width) / n  >  VISIBLE

sigma is the noise multiplier that the plan gives (or would give) to products, n the released number of rows. A wide table
can have few rows as well: then both apply. The plan says from how many rows on a table counts as large (`size_note`).

The clique tree has a rule of its own (`enough_rows` and `CROWDED` in `methods/clique_tree/few_rows.py`), because there it is not
mean products that drown but counts of columns by class: their noise sigma sqrt(d) grows with the number of columns that share the
budget and not with the width of an encoded row, and a rare class drowns first.
"""

import math

from understudy.measure.shrinkage import NEIGHBOURS
from understudy.schema import Schema

VISIBLE = 0.075  # of all variance; set on cervical cancer and on cut tables by `python -m benchmarks.few_rows`


def wide(schema: Schema) -> bool:
    """Whether columns of a group are worth an answer about what each has of its own. From the schema alone."""
    return sum(column.kind not in ("categorical", "boolean") for column in schema.features) >= NEIGHBOURS


def few_rows(width: int, rows: float, sigma: float, classes: int = 2) -> bool:
    """Whether even the leading direction of the correlations drowns. Without classes there are no class means to ask for."""
    return classes > 1 and rows < enough_rows(width, sigma)


def enough_rows(width: int, sigma: float) -> float:
    """The least number of rows with which products of columns stand out from their noise."""
    return 2.0 * 0.75 * sigma * math.sqrt(width) / VISIBLE


def width_of(schema: Schema) -> int | None:
    """Numbers in an encoded row of a table with a label; None without one, or where it is not known before estimates."""
    if schema.label is None or not all(column.resolved for column in schema.features):
        return None
    width = sum(
        len(c.outcomes) if c.kind in ("categorical", "boolean") and len(c.outcomes) > 2 else 1 for c in schema.features
    )
    return width + sum(len(c.specials) for c in schema.features)


def size_note(schema: Schema, sigma: float) -> list[str]:
    """For the plan: what decides between the questions, as far as public values tell."""
    width = width_of(schema)
    if width is None:
        return []
    kind = "wide: columns alike are counted together; " if wide(schema) else ""
    return [
        f"{kind}below about {math.ceil(enough_rows(width, sigma)):,} rows (released, not read) class means alone are asked for"
    ]
