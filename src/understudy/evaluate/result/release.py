"""What a release report may show: the schema and statistics of the synthetic table."""

from dataclasses import dataclass

from understudy.evaluate.result.fidelity import Violation
from understudy.evaluate.result.summary import Matrix

Interval = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class SyntheticColumn:
    """Statistics of one synthetic column, for the release report."""

    column: str
    kind: str
    missing: float  # codes are not missing
    edges: tuple[float, ...] | None
    labels: tuple[str, ...] | None
    shares: tuple[float, ...]
    outside: float
    mean: float | None
    sd: float | None
    quantiles: tuple[float, ...] | None  # 0, 5, 25, 50, 75, 95, 100 %; numeric kinds
    is_datetime: bool = False
    codes: tuple[tuple[str, float], ...] = ()  # beside numbers: each with its share of the cells
    # 95 % intervals about the population, from copies of the model; None: it cannot draw any, or says nothing about this
    mean_interval: Interval | None = None
    missing_interval: Interval | None = None
    quantile_intervals: tuple[Interval | None, ...] | None = None
    share_intervals: tuple[Interval | None, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class SyntheticTable:
    """Schema and statistics of the first synthetic table: all that a release report may show beside the certificate."""

    schema: dict[str, object]
    rows: int
    columns: tuple[SyntheticColumn, ...]
    pair_columns: tuple[str, ...]
    pair_measures: tuple[tuple[str, ...], ...]
    pairs: Matrix
    violations: tuple[Violation, ...]
    grid_png: str | None = None
    origin: dict[str, str] | None = (
        None  # digests of the verified model and of the file it made, that file's name and day;
    )
    # None: not known
