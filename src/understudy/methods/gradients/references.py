"""The gradient methods without noise, as references (`methods/not_private.py`). NOT PRIVATE, and every file they write says so.

The systems are in `presets.py`. Left out of the originals, because it mixes rows: batch normalisation (all of them) and
medGAN's minibatch averaging, in whose place medgan has tableGAN's information loss (`methods/gradients/information.py`): with the
standard objective alone the critic wins within a few hundred rounds and rare categories vanish from the generated rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from understudy.accounting import Plan
from understudy.methods.gradients.generator import GanGenerator
from understudy.methods.gradients.method import GRADIENTS, GradientGan
from understudy.methods.not_private import NotPrivate
from understudy.private.mechanisms.plain_gradient import PlainGradient
from understudy.recipe import Mechanism


@dataclass(kw_only=True, eq=False, repr=False)
class Reference(NotPrivate, GradientGan):
    """A GAN that learns from exact gradients. A class and no preset: it has another mechanism and no price."""

    trained: ClassVar[str] = GRADIENTS
    words: ClassVar[Mapping[str, str]] = {
        "rounds": "gradients that are asked for, of autoencoder and critic together; they have no noise",
        "clip": "without effect: gradients are exact",
        "gradients_share": "any number: exact gradients are asked for, at no cost; None: on top of paid moments none are",
    }

    rounds: int = 1500
    gradients_share: float | None = 1.0  # they are asked for, on top of a start too: they cost nothing

    def _trust(self, generator: GanGenerator, plan: Plan, units: float) -> float:
        return 1.0

    def _mechanism(
        self, generator: GanGenerator, plan: Plan, sampling_rate: float, piece: int, per_unit: int, stripes: int
    ) -> Mechanism:
        return PlainGradient(generator.losses, sampling_rate, piece, per_unit)
