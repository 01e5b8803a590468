"""Exact answers to single questions: one file per question, each adds up whole numbers over blocks of rows, then adds
noise once.

    start(question, ...)            the sums of no rows
    add(question, total, block)     the same with the rows of one block (whole units) added
    release(question, total, noise) what may leave: the sums with exact integer noise, as plain lists

Sums of integers are the same in any order, so neither the cut into blocks nor the number of workers changes an answer.
"""

from types import ModuleType

from understudy.private.answers import (
    bounds,
    categories,
    choices,
    counts,
    distances,
    kinds,
    mean_distances,
    models,
    products,
    sums,
)
from understudy.questions import (
    ColumnBounds,
    ColumnCategories,
    ColumnKinds,
    Counts,
    Distances,
    MarginalChoice,
    MeanDistances,
    ModelChoice,
    Products,
    Sums,
)

# By exact type: a question that somebody outside derives from one of these is refused.
ANSWERS: dict[type, ModuleType] = {
    Counts: counts,
    Distances: distances,
    MeanDistances: mean_distances,
    Sums: sums,
    Products: products,
    MarginalChoice: choices,
    ModelChoice: models,
    ColumnBounds: bounds,
    ColumnCategories: categories,
    ColumnKinds: kinds,
}
