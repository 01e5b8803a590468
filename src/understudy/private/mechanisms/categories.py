"""Private list of categories: counts of unknown keys, noised and thresholded.

Each unit counts each of its distinct values once: at most k keys, by one each, where k is the largest number of rows of a
unit times the number of columns that share the list. The counts get discrete Gaussian noise of scale sqrt(k) sigma and only
those above a threshold are released. Keys held by nobody else appear with probability at most delta' (Rogers 2023), which the
price contains:

    ComposedDpEvent([GaussianDpEvent(sigma), EpsilonDeltaDpEvent(0, delta')]).

A rare category stays unnamed; its rows become `other`.
"""

import math
from collections import Counter
from dataclasses import dataclass

import dp_accounting as dpa
from scipy import stats

from understudy.accounting import EpsilonDeltaDpEvent
from understudy.private.noise import NoiseSource
from understudy.private.table import UnitIds

LARGEST_LIST = 1000


@dataclass(frozen=True)
class PrivateCategories:
    sigma: float
    delta: float
    keys_per_unit: int  # rows of a unit x columns that share the list

    @property
    def event(self) -> dpa.DpEvent:
        threshold = EpsilonDeltaDpEvent(0.0, self.delta)
        return dpa.ComposedDpEvent([dpa.GaussianDpEvent(self.sigma), threshold])

    @property
    def scale(self) -> float:
        return self.sigma * math.sqrt(self.keys_per_unit)

    @property
    def threshold(self) -> int:
        """Smallest integer t with k Pr[1 + Z >= t] <= delta': a key of one unit passes with probability at most delta'."""
        return 2 + math.ceil(self.scale * float(stats.norm.isf(self.delta / self.keys_per_unit)))

    def release(self, values: list[str], units: UnitIds, noise: NoiseSource) -> tuple[str, ...]:
        """The keys that pass, in alphabetical order, at most `LARGEST_LIST` of the largest."""
        counts = Counter(value for value, _ in set(zip(values, units.tolist(), strict=True)))
        keys = sorted(key for key in counts if is_unicode(key))
        noisy = noise.draw("gaussian", self.scale, (len(keys),))
        totals = [(counts[key] + int(extra), key) for key, extra in zip(keys, noisy, strict=True)]
        passing = [(total, key) for total, key in totals if total >= self.threshold]
        return tuple(sorted(key for _, key in sorted(passing, reverse=True)[:LARGEST_LIST]))


def is_unicode(key: str) -> bool:
    """Half a surrogate pair is no text: no file could hold such a category. Decided key by key, so sensitivities stay."""
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
