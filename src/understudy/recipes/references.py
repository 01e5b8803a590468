"""References without privacy: what the private methods are compared with. NOT PRIVATE, and every file they write says so.

    gan        DPGAN's networks and objective with noise and clipping off
    medgan     autoencoder and GAN of fully connected layers, standard objective (Choi et al. 2017); for binary codes above all
    tablegan   convolutional GAN with an information loss and an auxiliary classifier of the label (Park et al. 2018)
    corgan     convolutional autoencoder and convolutional Wasserstein GAN (Torfi, Fox 2020): RDP-CGAN with noise off

They share the networks and the loop of the private methods, so that a comparison shows what privacy costs and nothing else.
Left out of the originals, because it mixes rows: batch normalisation (all of them) and medGAN's minibatch averaging, in whose
place medgan has tableGAN's information loss (`generators/information.py`): with the standard objective alone the critic wins
within a few hundred rounds and rare categories vanish from the generated rows. Column marginals, class moments and class
counts are asked for at epsilon 1,000, which leaves no noise to speak of; `epsilon` is not used. Gradients have no price.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import dp_accounting as dpa

from understudy.accounting import Budget, Charge, Plan
from understudy.estimator import Announced
from understudy.generators.gan import GanGenerator
from understudy.planning import make_plan
from understudy.private import Mechanism
from understudy.private.mechanisms.plain_gradient import PlainGradient
from understudy.recipes.gradient_gan import GRADIENTS, GradientGan
from understudy.schema import Schema

STATISTICS_EPSILON = 1000.0
NOT_PRIVATE = (
    "NOT PRIVATE: gradients of real rows were used without noise; a reference to compare with, never to be published"
)


@dataclass(kw_only=True, eq=False, repr=False)
class Reference(GradientGan):
    """A GAN that learns from exact gradients."""

    private: ClassVar[bool] = False

    rounds: int = 1500

    @property
    def void_reason(self) -> str:
        return NOT_PRIVATE

    def plan(self, schema: Schema, *, rows: int | None = None) -> Plan:
        Budget(self.epsilon, self.delta)  # refused when it makes no sense, like everywhere
        self.check_options()
        return make_plan(self, schema, Budget(STATISTICS_EPSILON, self.delta), rows)

    def announce(self, schema: Schema) -> list[Announced]:
        return self._announce_start(schema)

    def unpriced(self) -> tuple[Charge, ...]:
        event = dpa.SelfComposedDpEvent(dpa.NonPrivateDpEvent(), self.rounds)
        return (Charge(GRADIENTS, event, "exact gradients: no noise, no price"),)

    def advice(self, schema: Schema, settings: dict[str, Any], factor: float, rows: int | None) -> list[str]:
        return [NOT_PRIVATE]

    def _trust(self, generator: GanGenerator, plan: Plan, units: float) -> float:
        return 1.0

    def _mechanism(self, generator: GanGenerator, plan: Plan, piece: int, per_unit: int) -> Mechanism:
        return PlainGradient(generator.losses, self.sampling_rate, piece, per_unit)


@dataclass(kw_only=True, eq=False, repr=False)
class Gan(Reference):
    method: ClassVar[str] = "gan"


@dataclass(kw_only=True, eq=False, repr=False)
class MedGan(Reference):
    method: ClassVar[str] = "medgan"

    rounds: int = 2000
    critic_steps: int = 1
    critic_rate: float = 5e-4
    generator_rate: float = 1e-3
    information: float = 0.1
    objective: Literal["wasserstein", "standard"] = "standard"
    maker: Literal["copula", "mlp", "conv"] = "mlp"
    autoencoder: Literal["none", "mlp", "conv"] = "mlp"
    hidden: int = 64
    critic_hidden: int = 64
    noise: int = 100


@dataclass(kw_only=True, eq=False, repr=False)
class TableGan(Reference):
    method: ClassVar[str] = "tablegan"

    sampling_rate: float = 0.02
    critic_steps: int = 1
    critic_rate: float = 5e-4
    generator_rate: float = 1e-3
    information: float = 0.1
    objective: Literal["wasserstein", "standard"] = "standard"
    maker: Literal["copula", "mlp", "conv"] = "conv"
    critic: Literal["mlp", "conv"] = "conv"
    classifier: bool = True
    batch: int = 128
    noise: int = 100


@dataclass(kw_only=True, eq=False, repr=False)
class CorGan(Reference):
    method: ClassVar[str] = "corgan"

    maker: Literal["copula", "mlp", "conv"] = "conv"
    critic: Literal["mlp", "conv"] = "conv"
    autoencoder: Literal["none", "mlp", "conv"] = "conv"
    noise: int = 100
