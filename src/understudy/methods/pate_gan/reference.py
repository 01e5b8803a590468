"""PATE-GAN without noise: what its networks, teachers and votes can learn. NOT PRIVATE (`methods/not_private.py`).

pate-gan-noise-free    the method of `method.py` with votes as they are; no start but the class counts, more rounds, and a
                       generator that may move faster, because nothing has to be averaged
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from understudy.methods.not_private import NoiseFree
from understudy.methods.pate_gan.method import VOTES, PateGan
from understudy.methods.preset import preset


@dataclass(kw_only=True, eq=False, repr=False)
class Reference(NoiseFree, PateGan):
    """A class and no preset: its answers have no noise and no price."""

    trained: ClassVar[str] = VOTES
    words: ClassVar[Mapping[str, str]] = {
        "noise": "without effect: votes have no noise",
        "votes_share": "votes are asked for in any case and cost nothing",
    }


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
