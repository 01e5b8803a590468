"""One figure over several runs."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

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
