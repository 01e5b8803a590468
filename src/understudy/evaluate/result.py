"""The result of an evaluation: frozen records whose exact image is `result.json`.

The report is drawn from this file alone, so everything a page shows is here, and nothing here is a row of the real
table (the one exception, said so where it stands: the picture grid of an image evaluation).

Two kinds of contents, never mixed:
- `Evaluation.release` describes the synthetic table and the schema only. Synthetic rows of a private generator are
  public, so are statistics of them; its histogram edges come from the synthetic rows, never from the real ones. This is
  all a release report may use, beside the certificate in the header.
- everything else compares with real rows and is NOT private: the header carries the banner.

Exactness: `Evaluation.from_json(e.to_json()) == e`. Python floats survive JSON to the last bit; a figure that is not
defined (one class, constant column, no rows) is null, never NaN.
"""

import dataclasses
import json
import math
import statistics
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.files import write_atomically

FORMAT = 1
FAMILIES = ("utility", "fidelity", "mmd", "dimension", "groups", "diagnostics")
BANNER = "NOT PRIVATE: computed from real rows. Do not share."
OPTIMISTIC = "optimistic: choosing the best run by its score on real rows is not private"
NOT_EVIDENCE = "A diagnostic, not privacy evidence: no value of it shows that the synthetic table is private."

Matrix = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Summary:
    """One figure over several runs (synthetic samples or models). Undefined runs are None and left out of the rest."""

    runs: tuple[float | None, ...]
    mean: float | None
    sd: float | None  # sample standard deviation (n - 1); None below two runs
    low: float | None
    high: float | None
    best: float | None  # OPTIMISTIC: what the papers report
    higher_is_better: bool = True

    @classmethod
    def of(cls, runs: Sequence[float | None], higher_is_better: bool = True) -> "Summary":
        """From single runs; what is not finite counts as not measured."""
        kept = tuple(None if r is None or not math.isfinite(r) else float(r) for r in runs)
        known = [r for r in kept if r is not None]
        if not known:
            return cls(runs=kept, mean=None, sd=None, low=None, high=None, best=None, higher_is_better=higher_is_better)
        low, high = min(known), max(known)
        return cls(
            runs=kept,
            mean=statistics.fmean(known),
            sd=statistics.stdev(known) if len(known) > 1 else None,
            low=low,
            high=high,
            best=high if higher_is_better else low,
            higher_is_better=higher_is_better,
        )


@dataclass(frozen=True, kw_only=True)
class Header:
    """What was compared, with which settings, when and by which versions."""

    created: str  # ISO 8601, UTC
    test_rows: int  # held-out real rows
    train_rows: int | None  # real training rows; None when not given
    synthetic_rows: tuple[int, ...]  # one entry per synthetic sample
    columns: int  # evaluated columns (identifiers are not)
    kinds: dict[str, str]  # column -> kind of the schema
    label: str | None
    label_kind: str  # none | binary | multiclass | numeric
    positive: str | None
    classes: tuple[str, ...]  # label values of the schema in order; empty without a class label
    max_rows: int | None  # classifiers train on at most this many rows; None = no cap
    seed: int
    metrics: tuple[str, ...]  # families that were computed
    models: tuple[str, ...]
    versions: dict[str, str]
    certificate: dict[str, object] | None  # the face of the generator's certificate, as its artifact states it
    seconds: float
    private: bool = False  # always False
    banner: str = BANNER
    notes: tuple[str, ...] = ()


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
class Histogram:
    """Shares that can be drawn as bars. Numeric: `edges` has one more entry than shares. Else: `labels`.

    Shares are of the non-missing cells and sum to one together with `*_outside` (cells beyond the outer edges or
    unknown categories). The synthetic side is the mean over samples. Edges span both tables: internal report only.
    """

    edges: tuple[float, ...] | None
    labels: tuple[str, ...] | None
    real: tuple[float, ...]
    synthetic: tuple[float, ...]
    real_outside: float = 0.0
    synthetic_outside: float = 0.0
    is_datetime: bool = False  # edges are seconds since 1970-01-01


@dataclass(frozen=True, kw_only=True)
class ColumnShape:
    """One column's distribution, real beside synthetic."""

    column: str
    kind: str
    measure: str  # "total variation" or "kolmogorov-smirnov"
    distance: Summary  # 0 = same distribution, 1 = disjoint
    histogram: Histogram
    real_missing: float  # share of cells
    synthetic_missing: Summary
    real_mean: float | None = None
    synthetic_mean: Summary | None = None
    real_sd: float | None = None
    synthetic_sd: Summary | None = None
    distinct_real: int = 0
    distinct_synthetic: int = 0


@dataclass(frozen=True, kw_only=True)
class MarginalError:
    """How far the joint distribution of one set of columns is off."""

    columns: tuple[str, ...]
    distance: float  # total variation between the binned joint distributions, mean over samples


@dataclass(frozen=True, kw_only=True)
class Marginals:
    """Total variation over sets of `ways` columns, numeric columns cut into bins at the real rows' quantiles."""

    ways: int
    sets: int
    sets_possible: int
    bins: int
    mean: Summary
    worst: Summary
    noise: float | None  # the same figure between two halves of the real rows: what sampling alone costs
    worst_sets: tuple[MarginalError, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PairTrends:
    """Association of every pair of columns. `measures[i][j]`: "pearson", "cramers-v" or "correlation-ratio"."""

    columns: tuple[str, ...]
    measures: tuple[tuple[str, ...], ...]
    real: Matrix
    synthetic: Matrix  # mean over samples
    difference: Matrix  # synthetic - real
    mean_absolute_difference: Summary
    max_absolute_difference: Summary
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Propensity:
    """Can a classifier tell real from synthetic? AUROC 0.5: no. 1.0: always."""

    auroc: Summary
    pmse_ratio: Summary  # propensity mean squared error over its largest value p(1-p); 0 = cannot tell
    model: str
    rows: int  # rows per side
    telling_columns: tuple[str, ...] = ()  # columns the classifier leaned on most
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Violation:
    """A rule of the schema that synthetic rows break, and how many do."""

    column: str
    rule: str  # e.g. "below lower", "above upper", "unknown category", "missing not allowed", "column absent"
    share: Summary  # of synthetic rows


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """How alike the tables are: columns, pairs, marginals, and whether a classifier tells them apart."""

    shapes: tuple[ColumnShape, ...]
    shape_score: Summary  # 1 - mean distance over columns
    pairs: PairTrends
    two_way: Marginals | None
    three_way: Marginals | None
    propensity: Propensity | None
    violations: tuple[Violation, ...]  # empty: every synthetic row obeys the schema
    notes: tuple[str, ...] = ()


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
    exact_copies_expected: float | None  # the same share for held-out real rows
    compared_with: str  # "train" or "test"
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


@dataclass(frozen=True, kw_only=True)
class SyntheticColumn:
    """Statistics of one synthetic column, for the release report."""

    column: str
    kind: str
    missing: float
    edges: tuple[float, ...] | None
    labels: tuple[str, ...] | None
    shares: tuple[float, ...]
    outside: float
    mean: float | None
    sd: float | None
    quantiles: tuple[float, ...] | None  # 0, 5, 25, 50, 75, 95, 100 %; numeric kinds
    is_datetime: bool = False


@dataclass(frozen=True, kw_only=True)
class Release:
    """Schema and statistics of the first synthetic table: all that a release report may show beside the certificate."""

    schema: dict[str, object]
    rows: int
    columns: tuple[SyntheticColumn, ...]
    pair_columns: tuple[str, ...]
    pair_measures: tuple[tuple[str, ...], ...]
    pairs: Matrix
    violations: tuple[Violation, ...]
    grid_png: str | None = None


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The whole result: `result.json` is its exact image, and reports read nothing else."""

    header: Header
    release: Release
    fidelity: Fidelity | None = None
    utility: Utility | None = None
    mmd: Mmd | None = None
    dimension_wise: DimensionWise | None = None
    groups: tuple[Groups, ...] = ()
    diagnostics: Diagnostics | None = None
    images: Images | None = None
    warnings: tuple[str, ...] = ()
    format: int = FORMAT

    def to_dict(self) -> dict[str, object]:
        """As JSON values."""
        return {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self)}

    def to_json(self) -> str:
        """As the text of `result.json`."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False)

    def save(self, path: str | Path) -> None:
        """Write `result.json` whole or not at all."""
        write_atomically(path, self.to_json() + "\n")

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> "Evaluation":
        """From JSON values of the same format; another format is refused."""
        if data.get("format") != FORMAT:
            from understudy.errors import UsageError

            raise UsageError(f"result.json has format {data.get('format')!r}, this version reads format {FORMAT}")
        found: Evaluation = _build(cls, data)
        return found

    @classmethod
    def from_json(cls, text: str) -> "Evaluation":
        """From the text of `result.json`."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def load(cls, path: str | Path) -> "Evaluation":
        """From a saved `result.json`."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))


def _plain(value: object) -> object:
    """Dataclass tree -> JSON values; tuples become lists, non-finite numbers null."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _build(kind: Any, value: Any) -> Any:
    """JSON values -> the annotated type; the inverse of `_plain` on values this module can hold."""
    origin = typing.get_origin(kind)
    if value is None or kind is object:
        return value
    if origin in (typing.Union, types.UnionType):
        return _build(next(a for a in typing.get_args(kind) if a is not type(None)), value)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(**{f.name: _build(hints[f.name], value[f.name]) for f in dataclasses.fields(kind)})
    if origin is tuple:
        item = typing.get_args(kind)[0]
        return tuple(_build(item, v) for v in value)
    if origin is dict:
        return {k: _build(typing.get_args(kind)[1], v) for k, v in value.items()}
    return float(value) if kind is float else value
