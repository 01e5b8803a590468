"""The result of an evaluation: frozen records whose exact image is `result.json`, one file per idea.

`evaluation` is the whole and its JSON; `utility`, `fidelity`, `whole_table`, `rows` and `release` are its parts; every figure
over several runs is a `Summary`.
"""

from understudy.evaluate.result.evaluation import BANNER, FAMILIES, FORMAT, Evaluation, Header
from understudy.evaluate.result.fidelity import CodeShare, ColumnShape, Fidelity, Histogram, Violation
from understudy.evaluate.result.release import SyntheticColumn, SyntheticTable
from understudy.evaluate.result.rows import (
    NOT_EVIDENCE,
    Diagnostics,
    DimensionPrediction,
    DimensionProbability,
    DimensionWise,
    Distances,
    Images,
    Mmd,
)
from understudy.evaluate.result.summary import Matrix, Summary
from understudy.evaluate.result.utility import (
    OPTIMISTIC,
    Group,
    Groups,
    ModelScores,
    RankingAgreement,
    Setting,
    Utility,
)
from understudy.evaluate.result.whole_table import (
    Associations,
    DeterminedPair,
    ImpossiblePair,
    MarginalError,
    Measure,
    Target,
    WholeTable,
)

__all__ = [
    "BANNER", "FAMILIES", "FORMAT", "NOT_EVIDENCE", "OPTIMISTIC", "Associations", "CodeShare", "ColumnShape", "DeterminedPair",
    "Diagnostics", "DimensionPrediction", "DimensionProbability", "DimensionWise", "Distances", "Evaluation", "Fidelity",
    "Group", "Groups", "Header", "Histogram", "Images", "ImpossiblePair", "MarginalError", "Matrix", "Measure", "Mmd",
    "ModelScores", "RankingAgreement", "Setting", "Summary", "SyntheticColumn", "SyntheticTable", "Target", "Utility",
    "Violation", "WholeTable",
]  # fmt: skip
