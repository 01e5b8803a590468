"""References without privacy: what the private methods are compared with. NOT PRIVATE, and every file they write says so.

The systems are in `presets.py`.

They share the networks and the loop of the private methods, so that a comparison shows what privacy costs and nothing else.
Left out of the originals, because it mixes rows: batch normalisation (all of them) and medGAN's minibatch averaging, in whose
place medgan has tableGAN's information loss (`methods/gradients/information.py`): with the standard objective alone the
critic wins within a few hundred rounds and rare categories vanish from the generated rows. Column marginals, class moments
and class counts are asked for at epsilon 1,000, which leaves no noise to speak of; `epsilon` is not used. Gradients have no
price.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import dp_accounting as dpa

from understudy.accounting import Budget, Charge, Plan
from understudy.measure.warm_start import announce_begin
from understudy.methods.gradients.generator import GanGenerator
from understudy.methods.gradients.method import GRADIENTS, GradientGan
from understudy.private.mechanisms.plain_gradient import PlainGradient
from understudy.recipe import Announced, Mechanism
from understudy.schema import Schema

STATISTICS_EPSILON = 1000.0
NOT_PRIVATE = (
    "NOT PRIVATE: gradients of real rows were used without noise; a reference to compare with, never to be published"
)


@dataclass(kw_only=True, eq=False, repr=False)
class Reference(GradientGan):
    """A GAN that learns from exact gradients. A class and no preset: it has another mechanism and no price."""

    private: ClassVar[bool] = False

    rounds: int = 1500

    @property
    def void_reason(self) -> str:
        return NOT_PRIVATE

    @property
    def budget(self) -> Budget:
        Budget(self.epsilon, self.delta)  # refused when it makes no sense, like everywhere
        return Budget(STATISTICS_EPSILON, self.delta)

    def announce(self, schema: Schema) -> list[Announced]:
        return announce_begin(schema, self.start, self.marginals_share, self.moments_share)

    def unpriced(self) -> tuple[Charge, ...]:
        event = dpa.SelfComposedDpEvent(dpa.NonPrivateDpEvent(), self.rounds)
        return (Charge(GRADIENTS, event, "exact gradients: no noise, no price"),)

    def advice(
        self, schema: Schema, settings: dict[str, Any], noise: Mapping[str, float], rows: int | None
    ) -> list[str]:
        return [NOT_PRIVATE]

    def _trust(self, generator: GanGenerator, plan: Plan, units: float) -> float:
        return 1.0

    def _mechanism(self, generator: GanGenerator, plan: Plan, rate: float, piece: int, per_unit: int) -> Mechanism:
        return PlainGradient(generator.losses, rate, piece, per_unit)
