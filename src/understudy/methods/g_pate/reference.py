"""G-PATE without noise: what directions of teachers can teach. NOT PRIVATE (`methods/not_private.py`).

g-pate-noise-free    the method of `method.py` with tests of consensus and answers as they are; every question that passes its
                     test is answered, and there is no start but the class counts
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from understudy.methods.g_pate.method import DIRECTIONS, GPate
from understudy.methods.not_private import NoiseFree
from understudy.methods.preset import preset


@dataclass(kw_only=True, eq=False, repr=False)
class Reference(NoiseFree, GPate):
    """A class and no preset: its answers have no noise and no price."""

    trained: ClassVar[str] = DIRECTIONS
    words: ClassVar[Mapping[str, str]] = {
        "expected": "share of a round's questions that is answered, at most",
        "directions_share": "without effect: directions are asked for in any case and cost nothing",
    }

    rounds: int = 100  # not None, as there is no noise that it could follow from


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
