"""What may be asked across the wall: public values, no rows, no noise.

A *single question* (`Counts`, `Distances`, `MeanDistances`, `Sums`, `Products`, `MarginalChoice`, `ModelChoice`, `ColumnBounds`,
`ColumnCategories`, `ColumnKinds`) is a frozen value: row maps, groups, clipping, noise, and `event`, its price, with a docstring
that proves its sensitivity. `curator.ask(purpose, question)` is the only door for them; `understudy.private.answers`
has a file per question that adds up exact integers. The query types of conversations in rounds are in `rounds.py`.
"""

from understudy.questions.bounds import ColumnBounds
from understudy.questions.categories import ColumnCategories
from understudy.questions.choices import POINTS, MarginalChoice, ModelChoice
from understudy.questions.counts import Clique, Counts, class_counts
from understudy.questions.distances import Distances
from understudy.questions.kinds import ColumnKinds
from understudy.questions.mean_distances import MeanDistances
from understudy.questions.products import Products
from understudy.questions.row_maps import Step, describe, digest
from understudy.questions.sums import Sums

Question = (
    Counts
    | Distances
    | MeanDistances
    | Sums
    | Products
    | MarginalChoice
    | ModelChoice
    | ColumnBounds
    | ColumnCategories
    | ColumnKinds
)

__all__ = [
    "POINTS",
    "Clique",
    "ColumnBounds",
    "ColumnCategories",
    "ColumnKinds",
    "Counts",
    "Distances",
    "MarginalChoice",
    "MeanDistances",
    "ModelChoice",
    "Products",
    "Question",
    "Step",
    "Sums",
    "class_counts",
    "describe",
    "digest",
]
