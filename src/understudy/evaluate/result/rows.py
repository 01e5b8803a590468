"""Figures over whole rows: kernel distance, binary columns, copies, pictures."""

from dataclasses import dataclass, field

from understudy.evaluate.result.summary import Summary

NOT_EVIDENCE = "A diagnostic, not privacy evidence: no value of it shows that the synthetic table is private."


@dataclass(frozen=True, kw_only=True)
class Mmd:
    """Unbiased squared maximum mean discrepancy, Gaussian kernel, bandwidth = median distance of the real rows."""

    value: Summary  # may be slightly negative when the tables agree
    noise: float | None  # between two halves of the real rows
    bandwidth: float
    real_rows: int
    synthetic_rows: int


@dataclass(frozen=True, kw_only=True)
class DimensionProbability:
    """Share of ones per binary column (dimension-wise probability)."""

    columns: tuple[str, ...]
    real: tuple[float, ...]  # share of ones per binary column
    synthetic: tuple[float, ...]  # mean over samples
    mean_absolute_difference: Summary
    correlation: Summary  # Pearson, over columns


@dataclass(frozen=True, kw_only=True)
class DimensionPrediction:
    """F1 of predicting one binary column from all others, trained on real or on synthetic, tested on real rows."""

    model: str  # forest | xgboost | tree
    top: int  # the columns with most ones among the real training rows, at most 10, 50 or 100 of them
    columns: tuple[str, ...]
    real: tuple[float, ...]
    synthetic: tuple[float, ...]  # mean over samples
    real_mean: float
    synthetic_mean: Summary


@dataclass(frozen=True, kw_only=True)
class DimensionWise:
    """Binary tables: probability and prediction, column by column."""

    probability: DimensionProbability
    prediction: tuple[DimensionPrediction, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Distances:
    """Distance to the closest record, as quantiles (5, 25, 50, 75, 95 %) over rows."""

    quantiles: tuple[float, ...]
    synthetic_to_train: tuple[float, ...]
    holdout_to_train: tuple[float, ...]
    closer_than_holdout: Summary  # share of synthetic rows nearer to a training than to a holdout row; 0.5 expected


@dataclass(frozen=True, kw_only=True)
class Diagnostics:
    """Copies and distances: reasons to look closer, never evidence of privacy."""

    exact_copies: Summary  # share of synthetic rows equal to a training row (test rows when no train given)
    exact_copies_expected: float | None  # the same of held-out real rows (no train given: that equal another of them)
    compared_with: str  # "train" or "test"
    copied: bool = False  # more copies than chance explains: real rows, not synthetic ones
    distances: Distances | None
    label: str = NOT_EVIDENCE
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Images:
    """Pictures as base64 PNG (grey or RGB), one row of the grid per class. The real grid shows real rows."""

    height: int
    width: int
    channels: int
    classes: tuple[str, ...]
    real_grid_png: str  # NOT PRIVATE
    synthetic_grid_png: str
    columns_in_grid: int
    accuracy_a: float | None  # CNN trained on real, tested on real
    accuracy_b: Summary  # trained on synthetic, tested on real
    accuracy_per_class_b: dict[str, float | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
