"""Noisy histogram of the classes, and with it the noisy number of rows.

    release_c = (rows of class c) + Z_c,     Z ~ discrete Gaussian of scale m sigma,

where m is the largest number of rows of a unit. A unit changes the counts by at most m in total, hence L2 sensitivity m and
one Gaussian answer `GaussianDpEvent(sigma)`. Without a class label there is one bin, which is the noisy count.
"""

from dataclasses import dataclass

import dp_accounting as dpa
import numpy as np

from understudy.private.noise import IntArray, NoiseSource


@dataclass(frozen=True)
class ClassHistogram:
    sigma: float
    max_rows_per_unit: int

    @property
    def event(self) -> dpa.DpEvent:
        return dpa.GaussianDpEvent(self.sigma)

    def release(
        self, classes: np.ndarray[tuple[int], np.dtype[np.int32]], class_count: int, noise: NoiseSource
    ) -> IntArray:
        counts = np.bincount(classes, minlength=class_count).astype(np.int64)
        return counts + noise.draw("gaussian", self.sigma * self.max_rows_per_unit, (class_count,))
