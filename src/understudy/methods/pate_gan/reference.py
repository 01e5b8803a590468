"""PATE-GAN without noise: what its networks, teachers and votes can learn. NOT PRIVATE (`methods/not_private.py`).

pate-gan-noise-free    the method of `method.py` with votes as they are; no start but the class counts, more rounds, and a
                       generator that may move faster, because nothing has to be averaged
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from understudy.accounting import Plan
from understudy.methods.not_private import NotPrivate, as_if_noisy, silenced
from understudy.methods.pate_gan.method import VOTES, PateGan
from understudy.methods.preset import preset
from understudy.recipe import Curator, Opening
from understudy.schema import Codec


@dataclass(kw_only=True, eq=False, repr=False)
class Reference(NotPrivate, PateGan):
    """A class and no preset: its answers have no noise and no price."""

    trained: ClassVar[str] = VOTES

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        return silenced(super().begin(curator, codec, counts, as_if_noisy(plan, VOTES)))


PateGanNoiseFree = preset(
    Reference,
    "PateGanNoiseFree",
    "pate-gan-noise-free",
    __name__,
    "PATE-GAN without privacy.",
    start="none",
    rounds=200,
    generator_learning_rate=5e-3,
)
