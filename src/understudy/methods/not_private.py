"""References without privacy: what the private methods are compared with. NOT PRIVATE, and every file they write says so.

A reference has the networks, the options and the loop of a private method, so that a comparison shows what privacy costs and
nothing else. What the method asks once (class counts, marginals, moments) is asked at epsilon 1,000, which leaves no noise to
speak of; `epsilon` is not used. What it asks in rounds has neither noise nor a price.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Budget, Charge, Plan
from understudy.estimator import Estimator
from understudy.private.mechanisms.silenced import Silenced
from understudy.recipe import Announced, Curator, Opening
from understudy.schema import Codec, Schema

STATISTICS_EPSILON = 1000.0
LITTLE = 1.0  # the noise multiplier that a method without noise believes in, where it weighs answers by their noise
NOT_PRIVATE = (
    "NOT PRIVATE: answers about real rows were used without noise; a reference to compare with, never to be published"
)


@dataclass(kw_only=True, eq=False, repr=False)
class NotPrivate(Estimator):
    """To derive from before the private method: `trained` is the purpose of its rounds."""

    private: ClassVar[bool] = False
    trained: ClassVar[str]
    words: ClassVar[Mapping[str, str]] = {
        "epsilon": "not used: statistics are asked for at epsilon 1,000, and what is asked in rounds has no noise",
        "rounds": "rounds of questions, as often as the generator asks; answers have no noise",
    }

    rounds: int = 1

    @property
    def void_reason(self) -> str:
        return NOT_PRIVATE

    @property
    def budget(self) -> Budget:
        Budget(self.epsilon, self.delta)  # refused when it makes no sense, like everywhere
        return Budget(STATISTICS_EPSILON, self.delta)

    def announce(self, schema: Schema) -> list[Announced]:
        return [release for release in super().announce(schema) if release.purpose != self.trained]

    def unpriced(self) -> tuple[Charge, ...]:
        event = dpa.SelfComposedDpEvent(dpa.NonPrivateDpEvent(), self.rounds)
        return (Charge(self.trained, event, "exact answers: no noise, no price"),)

    def advice(
        self, schema: Schema, settings: dict[str, Any], noise: Mapping[str, float], rows: int | None
    ) -> list[str]:
        return [NOT_PRIVATE]


@dataclass(kw_only=True, eq=False, repr=False)
class NoiseFree(NotPrivate):
    """The same, with the mechanism of the private method and its noise off."""

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        return silenced(super().begin(curator, codec, counts, as_if_noisy(plan, self.trained)))


def as_if_noisy(plan: Plan, purpose: str) -> Plan:
    """The plan with a little noise where there is none, for methods that compute with it."""
    noise = dict(plan.parameters["noise"]) | {purpose: LITTLE}
    return replace(plan, parameters=dict(plan.parameters) | {"noise": noise})


def silenced(opening: Opening) -> Opening:
    """The same conversation with noise off."""
    assert opening.mechanism is not None
    return opening._replace(mechanism=Silenced(opening.mechanism))
