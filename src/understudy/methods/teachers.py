"""Ensembles of teachers, for PATE-GAN and G-PATE: how many, how large, and how many of them one unit can reach.

All of it follows from public values and released class counts.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import dp_accounting as dpa
import numpy as np

from understudy.questions.categories import LARGEST_LIST
from understudy.questions.rounds import REPORT
from understudy.recipe import Announced
from understudy.schema import Schema

USEFUL_SHARE = 0.02  # a mean difference between vote shares that can be learned from
FEWEST_ROWS, MOST_ROWS = 5.0, 100.0  # of a teacher whose shard grows with epsilon


def is_conditional(schema: Schema) -> bool:
    """Whether there is a class label to condition on."""
    return schema.label_kind in ("binary", "multiclass")


def as_conditioned(schema: Schema, by_class: bool) -> Schema:
    """The table as a method sees it: with a class label to condition on, or with that label as one more column."""
    return schema if by_class else replace(schema, label=None, positive=None)


def class_count(schema: Schema) -> int:
    """Number of classes as far as it is public; a label whose categories are still to be found could have any number."""
    if schema.label is None or not is_conditional(schema):
        return 1
    column = schema.column(schema.label)
    return len(column.outcomes) if column.resolved else LARGEST_LIST


def rows_by_noise(counts: np.ndarray, mu: float) -> np.ndarray:
    """Rows per teacher of every ensemble: as many as the noise allows.

    All answers together know a vote share to 1 / (k mu), k = n / m teachers of m rows each. Larger shards make better teachers
    and fewer of them, so m is the largest one at which that is `USEFUL_SHARE`, between `FEWEST_ROWS` and `MOST_ROWS`.
    """
    return np.asarray(np.clip(USEFUL_SHARE * mu * counts, FEWEST_ROWS, MOST_ROWS))


def announce_report(share: float, others: Sequence[Announced]) -> list[Announced]:
    """A report of the data-dependent price that gets this share of the squared loss beside the others."""
    if not share:
        return []
    weight = share / (1.0 - share) * sum(release.weight for release in others)
    return [Announced(REPORT, weight, dpa.GaussianDpEvent, detail="one number, by smooth sensitivity")]


def ensembles(
    counts: np.ndarray, schema: Schema, teachers: int | None, rows_per_teacher: float | np.ndarray, most: int
) -> tuple[tuple[int, ...], int]:
    """Teachers of every ensemble and rows a shard can hold, from released counts.

    A table so large that `most` teachers would have more rows than they are meant to leaves the surplus of each shard out: what
    decides the votes is the number of teachers.
    """
    per_unit = min(schema.max_rows_per_unit, 4)  # rows of one unit sit in one shard
    meant = rows_per_teacher * per_unit
    wanted = np.full(len(counts), teachers) if teachers else np.maximum(counts / meant, 2)
    fitting = wanted * min(1.0, most / float(wanted.sum())) if teachers is None else wanted
    chosen = tuple(int(value) for value in np.ceil(fitting))
    mean = float(np.max(counts / np.asarray(chosen)))
    if teachers is None:
        mean = min(mean, max(float(np.max(meant)), float(np.max(counts / np.ceil(wanted)))))
    return chosen, math.ceil(mean + 3.0 * math.sqrt(mean * per_unit) + 1)


def memory_note(schema: Schema, teachers: int, capacity: int) -> list[str]:
    """What the teachers' shards take, where that is worth saying."""
    width = sum(len(c.outcomes) if c.kind in ("categorical", "boolean") and c.resolved else 1 for c in schema.features)
    size = 4e-9 * teachers * (capacity + 1) * width
    return (
        [f"the teachers' shards take about {size:.1f} GB, and the whole fit about six times that"]
        if size >= 0.1
        else []
    )


def classes_per_unit(schema: Schema) -> int:
    """How many classes one unit can have rows in: 1 at row level, where the classes are disjoint data."""
    if not is_conditional(schema) or schema.unit is None:
        return 1
    return min(class_count(schema), schema.max_rows_per_unit)
