"""How likely a noisy gradient is with the target and without: the answers of DPGAN and RDP-CGAN, for who sees every one of them.

A round answers y = sum over the sample + N(0, s^2 I), s = sigma C, and a unit is in the sample with probability q. Let g be the
target's clipped gradient at the weights that were asked about and m the mean of the others' sum, q times their sum. Then, up to
who of the others was in the sample (which the attacker does not know, and which moves y little beside the noise),

    log p(y | D) / p(y | D') = log( 1 - q + q exp( (<y - m, g> - |g|^2 / 2) / s^2 ) ),        summed over rounds.

With nobody else in the table (`lonely`) this is exact, and so the best score there is. g and m come from the mechanism's own sum
over both tables with everybody in the sample.

The canary is a generator that learns nothing: it asks about its first weights in every round, so all rounds ask for the gradient
at a place known beforehand. At a Wasserstein critic the target's gradient is longer than C there and moves the sum by all of C.
"""

import math
from dataclasses import dataclass, field, replace

import dp_accounting as dpa
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from understudy.audit.attacks.wrapped import Wrapped
from understudy.conversation import Answer, Info, Query, State
from understudy.private import NoiseSource
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.noisy_gradient import NoisyGradient, asked
from understudy.private.noise import IntArray
from understudy.private.rounds import Data, Held


@dataclass(frozen=True)
class WatchedGradient:
    """A mechanism beside the exact sums over D' and D. Its answer carries the ratio."""

    inner: NoisyGradient
    sides: tuple[Blocks, ...] = field(default=(), compare=False)

    @property
    def program(self) -> "WatchedGradient":
        """The compiled part: without the tables."""
        return replace(self, sides=())

    def event(self, rounds: int) -> dpa.DpEvent:
        """The price of the mechanism inside; watching costs nothing."""
        return self.inner.event(rounds)

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        """The noise of the mechanism inside."""
        return self.inner.tape(rounds, noise)

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Data, Held]:
        """The blocks of the real table, then of both sides of the pair."""
        own, held = self.inner.prepare(blocks, noise)
        return (own, *(self.inner.prepare(side, noise)[0] for side in self.sides)), held

    def answer(
        self, data: Data, held: Held, query: Query, noise: Int[Array, "..."], key: PRNGKeyArray
    ) -> tuple[Held, Answer]:
        """The real answer with the log-likelihood ratio of the two sides."""
        held, said = self.inner.answer(data[0], held, query, noise, key)
        rate = self.inner.sampling_rate
        deviations = [self.inner.deviation(*own) for own in zip(query.weights, self.inner.clips, strict=True)]
        others, everyone = (self.sum_over(side, query) for side in data[1:])
        target = everyone - others
        nearer = ((said - rate * others) * target).sum() - (target * target).sum() / 2.0
        present = math.log(rate) + nearer / jnp.asarray(deviations, jnp.float32)[query.phase] ** 2
        absent = math.log1p(-rate) if rate < 1.0 else -math.inf
        return held, (said, jnp.logaddexp(present, absent))

    def sum_over(self, side: Data, query: Query) -> Array:
        """The exact answer with everybody in the sample."""

        def of(number: int, weights: State) -> Array:
            return self.inner.unscaled(self.inner.total(side, side.size > 0, weights, number), self.inner.clips[number])

        return asked(query, of)


class Still(Wrapped):
    """The generator's first question, again and again."""

    def update(self, state: State, query: Query, answer: Answer, key: PRNGKeyArray) -> tuple[State, Info]:
        """Nothing is learned, so that every round asks the same."""
        return state, {}
