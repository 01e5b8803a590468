"""How alike the tables are: columns one by one, the whole table, rules of the schema."""

from dataclasses import dataclass

from understudy.evaluate.result.summary import Summary
from understudy.evaluate.result.whole_table import WholeTable


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
class CodeShare:
    """A code beside numbers (999: not asked), and the share of all cells that it takes."""

    code: str
    real: float
    synthetic: float


@dataclass(frozen=True, kw_only=True)
class ColumnShape:
    """One column's distribution, real beside synthetic."""

    column: str
    kind: str
    measure: str  # "total variation" or "kolmogorov-smirnov"
    distance: Summary  # 0 = same distribution, 1 = disjoint
    histogram: Histogram
    real_missing: float  # share of cells; codes are not missing
    synthetic_missing: Summary
    real_mean: float | None = None
    synthetic_mean: Summary | None = None
    real_sd: float | None = None
    synthetic_sd: Summary | None = None
    codes: tuple[CodeShare, ...] = ()  # beside numbers; synthetic: of the first table
    distinct_real: int = 0
    distinct_synthetic: int = 0


@dataclass(frozen=True, kw_only=True)
class Violation:
    """A rule of the schema that synthetic rows break, and how many do."""

    column: str
    rule: str  # e.g. "below lower", "above upper", "unknown category", "missing not allowed", "column absent"
    share: Summary  # of synthetic rows


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """How alike the tables are: columns one by one, the table as a whole, rules of the schema."""

    shapes: tuple[ColumnShape, ...]
    whole: WholeTable | None  # None: no column, or no row on one side
    violations: tuple[Violation, ...]  # empty: every synthetic row obeys the schema
    notes: tuple[str, ...] = ()
