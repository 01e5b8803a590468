"""The gradient itself, neither clipped nor noised. NOT private: for the references that private methods are compared with.

The same Poisson sample of units and the same question as `noisy_gradient`, but the sum leaves as it is. Its event has no
price, so the ledger, the certificate and the report of whatever used it say that there is no guarantee.
"""

from dataclasses import dataclass
from typing import Any

import dp_accounting as dpa
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.private import stream
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.noisy_gradient import RowLoss, UnitLoss, Weights, asked, summed
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.rounds import Held
from understudy.private.sampling import Members, Units, by_unit
from understudy.questions.rounds import GradientQuery


@dataclass(frozen=True)
class PlainGradient:
    """Public settings; see `NoisyGradient`."""

    losses: tuple[RowLoss, ...]
    sampling_rate: float
    piece: int = 64
    per_unit: int = 1

    def event(self, rounds: int) -> dpa.DpEvent:
        return dpa.SelfComposedDpEvent(dpa.NonPrivateDpEvent(), rounds)

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        return stream.secrets_of_rounds(rounds, noise)

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Any, Any]:
        return by_unit(blocks), ()

    def answer(
        self, data: Units, held: Held, query: GradientQuery, noise: Int[Array, " words"], key: PRNGKeyArray
    ) -> tuple[Any, Float[Array, " coordinates"]]:
        chosen = stream.coins(stream.words(noise, data.size.shape[0]), self.sampling_rate)

        def of(number: int, weights: Weights) -> Float[Array, " own"]:
            return summed(self.losses[number], gradient, data, chosen, weights, self.piece, self.per_unit)

        return held, asked(query, of)


def gradient(loss: UnitLoss, weights: Weights, members: Members) -> Weights:
    """Of the sum over all units of a piece."""
    return jax.grad(lambda weights: jnp.sum(jax.vmap(loss, in_axes=(None, 0, 0, 0))(weights, *members)))(weights)
