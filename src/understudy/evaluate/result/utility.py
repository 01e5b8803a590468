"""What models learn from a stand-in: settings A, B and C, ranking agreement, who is hurt."""

from dataclasses import dataclass

from understudy.evaluate.result.summary import Summary

OPTIMISTIC = "optimistic: choosing the best run by its score on real rows is not private"


@dataclass(frozen=True, kw_only=True)
class ModelScores:
    """One predictive model in one setting. `scores` maps metric (auroc, auprc, accuracy, r2, rmse) to its runs."""

    model: str
    scores: dict[str, Summary]
    notes: tuple[str, ...] = ()  # what the reader must know, e.g. one-class synthetic data counted as 0.5
    warnings: tuple[str, ...] = ()  # collected from the libraries, deduplicated
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A: real -> real. B: synthetic -> real. C: synthetic -> synthetic (PATE-GAN Section 5.1)."""

    name: str
    trained_on: str
    tested_on: str
    train_rows: tuple[int, ...]  # after the cap, per run
    test_rows: tuple[int, ...]
    models: tuple[ModelScores, ...]
    average: dict[str, Summary]  # over models within a run, then summarised over runs
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RankingAgreement:
    """Synthetic ranking agreement (PATE-GAN Eq. 8). Strict: a tied pair counts as no agreement, as printed there."""

    of: str  # "models" or "features"
    value: Summary
    items: tuple[str, ...]
    real: tuple[float | None, ...]  # what is ranked: score in setting A, or |Pearson correlation with the label|
    synthetic: tuple[float | None, ...]  # mean over runs
    tied_pairs: Summary  # share of pairs tied in either ranking: those can never agree
    without_ties: Summary  # agreement among the pairs that are tied in neither
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Utility:
    """Predictive models in settings A, B and C, and how well they are ranked."""

    task: str  # binary | multiclass | numeric
    metrics: tuple[str, ...]  # names in order; the first is the headline
    higher_is_better: dict[str, bool]
    base: dict[str, float | None]  # what knowing nothing scores on the test rows (auroc 0.5, auprc base rate, ...)
    settings: tuple[Setting, ...]
    ranking_models: RankingAgreement | None
    ranking_features: RankingAgreement | None
    best_note: str = OPTIMISTIC
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Group:
    """One class of the label, or one value (or range) of the named column."""

    value: str
    real_rows: int
    real_share: float
    synthetic_share: Summary
    vanished: bool  # present among the real rows, absent from every synthetic sample
    shape_distance: Summary  # mean distance over columns, within the group
    setting_a: dict[str, float | None]  # mean over models on the group's test rows
    setting_b: dict[str, Summary]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Groups:
    """Shares and scores per class or per value of a column."""

    by: str  # column
    role: str  # "class" or "subgroup"
    groups: tuple[Group, ...]
    vanished: tuple[str, ...]
    metrics: tuple[str, ...]
    notes: tuple[str, ...] = ()
