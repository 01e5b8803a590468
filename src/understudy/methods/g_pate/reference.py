"""G-PATE without noise: what directions of teachers can teach. NOT PRIVATE (`methods/not_private.py`).

g-pate-noise-free    the method of `method.py` with tests of consensus and answers as they are; every question that passes its
                     test is answered, and there is no start but the class counts
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.accounting import Plan
from understudy.methods.g_pate.method import DIRECTIONS, GPate
from understudy.methods.not_private import NotPrivate, as_if_noisy, silenced
from understudy.methods.preset import preset
from understudy.recipe import Curator, Opening
from understudy.schema import Codec


@dataclass(kw_only=True, eq=False, repr=False)
class Reference(NotPrivate, GPate):
    """A class and no preset: its answers have no noise and no price."""

    trained: ClassVar[str] = DIRECTIONS

    rounds: int = 100  # not None, as there is no noise that it could follow from

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        return silenced(super().begin(curator, codec, counts, as_if_noisy(plan, DIRECTIONS)))


GPateNoiseFree = preset(
    Reference,
    "GPateNoiseFree",
    "g-pate-noise-free",
    __name__,
    "G-PATE without privacy.",
    expected=1.0,
    marginals_share=0.0,
    moments_share=0.0,
)
