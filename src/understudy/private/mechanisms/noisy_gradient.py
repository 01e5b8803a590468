"""Noisy clipped gradient over a Poisson sample of units: the answer of DPGAN and RDP-CGAN.

Abadi et al. 2016, arXiv:1607.00133. The question is a set of weights w, the answer, for a sample S in which each unit takes
part with probability q, is

    sum_{u in S}  g_u min(1, C / |g_u|)  +  N(0, sigma^2 C^2 I),        g_u = grad_w sum_{x of unit u} loss(w, x)

with loss the part of a network's loss that looks at real rows, on a grid of G = `levels` steps per C:

    sum_{u in S}  k_u  +  round(sigma G Z),    k_u = round(g_u min(1, C / |g_u|) R / C),    R = (1 - 2^-10) G - sqrt(n) / 2

for n coordinates and Z standard normal, handed out times C / R. Whole numbers add up to the same sum in any order.
The generator divides by the expected number of rows in a sample, q times a public or released count (never by the true number),
and adds what generated rows contribute, which needs no noise.

Guarantee. A unit in the sample moves the sum by at most G steps, whatever the loss is: `loss` is a function of one row, it is
mapped over rows by `vmap`, so no row can see another, and k_u is computed from the unit's own gradient. Rounding lengthens a
vector by at most sqrt(n) / 2, so |k_u| <= G in real arithmetic; on the computer the squares of k_u are added up as integers, and
a unit that were longer all the same would count as zero. That sum cannot come round to a small number: up to `MOST` coordinates
the length that was divided by is right within a quarter, so |k_u|^2 is below 2 G^2 < 2^32. (For C from `LEAST_CLIP` on: then a
coordinate whose square vanishes in 32 bits is far below half a step, and R / C is a number.) Noise is added once, to the sum.
So a round costs PoissonSampledDpEvent(q, GaussianDpEvent(sigma)) for adding or removing one unit, and T rounds T times that:
because the sum is whole, adding rounded noise is the same as rounding afterwards, which is post-processing. Sums and noise that
leave 32 bits come round, which is post-processing as well. Workers may add up stripes of units (`private.unit_stripes`): a
unit is in one of them, and noise is added to the sum of all. All units of the sample are used, however many there are
(`understudy.private.sampling`), so nothing is truncated.

Edges. A gradient with NaN or infinite coordinates counts as zero; so does one of norm 0. That is decided for each unit by its
own rows, before anything is added up. So no value of a row, and no row at which a loss has no derivative, touches what others
add. An empty sample gives noise alone. Normalisation across rows (batch norm) would let a row see others; it is refused with an
explanation, not silently removed.

Steps. Floating-point numbers below 2^23 hold every whole number and its halves, and Z is at most 9.5: G is the largest power of
two up to `LEVELS` with 9.5 sigma G < 2^23, so that noise can be any whole number around every sum and no digit of it stays bare.

Not covered: Z comes from 32-bit floating-point arithmetic (`understudy.private.stream`). The low digits that known attacks read
(Mironov 2012) are not there, because what leaves is a whole number of steps for every table; but the noise has the probabilities
of a rounded Gaussian only up to that arithmetic. Exact integer noise, `SecureNoise().draw("gaussian", 16384.0, (200_000,))`,
takes 17 microseconds a number: ten minutes for a fit of 2,000 rounds and 20,000 coordinates. And a unit's own gradient is a
floating-point number before it is rounded: that it is the same in every place of a piece is a property of the compiled program,
which the tests look at and nobody has proved.

`clipped_grad` of jax-privacy serves as judge in the tests.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import dp_accounting as dpa
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jax.typing import DTypeLike
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from understudy.errors import UsageError
from understudy.private import stream
from understudy.private.blocks import Blocks
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.rounds import Held
from understudy.private.sampling import Members, Units, by_unit, gather, pieces
from understudy.questions.rounds import GradientQuery

Weights = Any  # of a network, as a pytree of arrays
RowLoss = Callable[[Weights, Float[Array, " width"], Int[Array, ""]], Float[Array, ""]]
UnitLoss = Callable[[Weights, Array, Array, Array], Array]  # rows of one unit, their classes, which places hold a row
LEVELS = 1 << 14  # steps of the grid per C at most: 2^17 units add up within 32 bits
FINEST = 2.0**23 / 9.5  # deviation of noise in steps, at most
MOST = 1 << 22  # coordinates of a gradient
LEAST_CLIP, MOST_CLIP = 1e-12, 1e12  # C
MIXES = (
    "normalises across rows: in a network trained by noisy gradients one person's row would change the gradients of others, and "
    "the guarantee would be void; use group or layer normalisation, which see one row at a time"
)


@dataclass(frozen=True)
class NoisyGradient:
    """Public settings. `losses` are functions of (weights, one row, its class); the question says which is asked about."""

    losses: tuple[RowLoss, ...]
    clips: tuple[float, ...]  # C, for each loss
    sampling_rate: float  # q
    sigma: float  # deviation of the noise in units of C
    piece: int = 64  # units at a time
    per_unit: int = 1  # rows that one unit can have
    stripes: int = 1  # in which units are with an engine's workers, if more than one

    def __post_init__(self) -> None:
        refuse_mixing(self.losses)
        for clip in self.clips:
            if not LEAST_CLIP <= clip <= MOST_CLIP:
                raise UsageError(f"clip={clip:g} must lie between {LEAST_CLIP:g} and {MOST_CLIP:g}")

    @property
    def levels(self) -> int:
        """G: steps of the grid per C."""
        return min(LEVELS, 1 << max(math.floor(math.log2(FINEST / max(self.sigma, 1.0))), 0))

    def event(self, rounds: int) -> dpa.DpEvent:
        return dpa.SelfComposedDpEvent(
            dpa.PoissonSampledDpEvent(self.sampling_rate, dpa.GaussianDpEvent(self.sigma)), rounds
        )

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        return stream.secrets_of_rounds(rounds, noise)

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Any, Any]:
        return (None if blocks.held is None else by_unit(blocks)), ()

    def gather(self, blocks: Blocks, tape: IntArray) -> tuple[Units, Any]:
        """For a table that is not held: the samples of all rounds of a tape, drawn in one pass, and the tape with who is in."""
        data, members = gather(blocks, tape, self.sampling_rate)
        # 32 bits, as the compiled program reads them: this is the largest array of a round's sample.
        return data, np.concatenate([tape.astype(np.int32), members], axis=1, dtype=np.int32)

    def answer(
        self, data: Units, held: Held, query: GradientQuery, noise: Int[Array, " words"], key: PRNGKeyArray
    ) -> tuple[Any, Float[Array, " coordinates"]]:
        """The noisy gradient of the loss that is asked about, flat, padded to the length of the longest one."""
        reserved, own = stream.normal_words(longest(query)), noise[: stream.WORDS]
        if noise.shape[0] > stream.WORDS:  # the sample was drawn before (`gather`)
            bits, chosen = stream.words(own, reserved), noise[stream.WORDS :] > 0
        else:
            bits = stream.words(own, reserved + data.size.shape[0])
            chosen = self.chosen(bits[reserved:])

        def of(number: int, weights: Weights) -> Float[Array, " coordinates"]:
            return self.noised(self.total(data, chosen, weights, number), bits, self.clips[number])

        return held, asked(query, of)

    # -- in stripes (`private.unit_stripes`): what some of the units add up to, and what is told of all of them together ----
    def common(self, noise: NoiseSource) -> tuple[()]:
        """What is carried on from round to round: nothing."""
        return ()

    def added(self, data: Units, secret: Int[Array, " words"], query: GradientQuery) -> Int[Array, " coordinates"]:
        """The sum over a sample of these units, in steps of the grid. Private."""
        chosen = self.chosen(stream.words(secret, data.size.shape[0]))
        return asked(query, lambda number, weights: self.total(data, chosen, weights, number))

    def with_noise(
        self, total: Int[Array, " coordinates"], query: GradientQuery, noise: Int[Array, " words"]
    ) -> Float[Array, " coordinates"]:
        """The answer: the sum over all stripes with noise."""
        bits = stream.words(noise, stream.normal_words(longest(query)))

        def of(number: int, weights: Weights) -> Float[Array, " own"]:
            own = ravel_pytree(weights)[0].shape[0]
            return self.noised(total[:own], bits, self.clips[number])

        return asked(query, of)

    def chosen(self, bits: UInt32[Array, " units"]) -> Bool[Array, " units"]:
        """Which units take part."""
        return stream.coins(bits, self.sampling_rate)

    def total(self, data: Units, chosen: Array, weights: Weights, number: int) -> Int[Array, " coordinates"]:
        """Sum of clipped gradients over the sample, in steps of the grid. Private: it must not leave without noise."""

        def steps(loss: UnitLoss, weights: Weights, members: Members) -> Int[Array, " coordinates"]:
            return self.steps(loss, weights, members, self.clips[number]).sum(axis=0)

        return summed(self.losses[number], steps, data, chosen, weights, self.piece, self.per_unit, jnp.int32)

    def steps(self, loss: UnitLoss, weights: Weights, members: Members, clip: float) -> Int[Array, "units coordinates"]:
        """The gradient of each unit of a piece, clipped, on the grid."""
        leaves = jax.tree.leaves(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0, 0))(weights, *members))
        flat = jnp.concatenate([leaf.reshape(leaf.shape[0], -1) for leaf in leaves], axis=1)
        norm = jnp.sqrt(jnp.sum(flat * flat, axis=1, keepdims=True))
        sound = jnp.isfinite(norm) & (norm > 0.0)
        factor = jnp.minimum(1.0, clip / jnp.where(sound, norm, 1.0)) * (self.reach(flat.shape[1]) / clip)
        found = jnp.round(jnp.where(sound, flat * factor, 0.0)).astype(jnp.int32)
        squares = jnp.square(found).astype(jnp.uint32).sum(axis=1, keepdims=True, dtype=jnp.uint32)
        return jnp.where(squares <= self.levels**2, found, 0)

    def noised(self, total: Int[Array, " n"], bits: Array, clip: float) -> Float[Array, " n"]:
        """The sum with Gaussian noise, both in whole steps, as a gradient."""
        noise = jnp.round(self.sigma * self.levels * stream.normals(bits, total.shape[0])).astype(jnp.int32)
        return self.unscaled(total + noise, clip)

    def unscaled(self, steps: Int[Array, " n"], clip: float) -> Float[Array, " n"]:
        """Steps of the grid as a gradient."""
        return steps.astype(jnp.float32) * (clip / self.reach(steps.shape[0]))

    def deviation(self, weights: Weights, clip: float) -> float:
        """Of the noise on an answer: sigma C, and a little more for the room that rounding takes."""
        return self.sigma * clip * self.levels / self.reach(ravel_pytree(weights)[0].shape[0])

    def reach(self, coordinates: int) -> float:
        """R: how long a gradient may be in steps, so that it is no longer than G when its coordinates have been rounded."""
        found = self.levels * (1.0 - 2.0**-10) - math.sqrt(coordinates) / 2.0
        if coordinates > MOST or found < self.levels / 2.0:
            raise UsageError(
                f"a network of {coordinates:,} weights is too large for gradients with so much noise; raise epsilon, or take "
                "fewer rounds or a smaller network"
            )
        return found


def longest(query: GradientQuery) -> int:
    """Coordinates of the longest gradient that can be asked for."""
    return max(int(ravel_pytree(weights)[0].shape[0]) for weights in query.weights)


def asked(query: GradientQuery, of: Callable[[int, Weights], Array]) -> Array:
    """`of(phase, weights)` for the phase that is asked about, padded to a common length."""
    most = longest(query)

    def branch(number: int) -> Callable[[], Array]:
        def run() -> Array:
            found = of(number, query.weights[number])
            return jnp.pad(found, (0, most - found.shape[0]))

        return run

    if len(query.weights) == 1:
        answer: Array = branch(0)()
    else:
        answer = jax.lax.switch(query.phase, [branch(number) for number in range(len(query.weights))])
    return answer


def summed(
    loss: RowLoss,
    gradient: Callable[[UnitLoss, Weights, Members], Weights],
    data: Units,
    chosen: Bool[Array, " units"],
    weights: Weights,
    piece: int,
    per_unit: int,
    dtype: DTypeLike = jnp.float32,
) -> Array:
    """`gradient` of every piece of the sample, added up, flat."""
    flat, unravel = ravel_pytree(weights)
    of_unit = unit_loss(loss, per_unit)

    def add(total: Array, members: Members) -> Array:
        return total + ravel_pytree(gradient(of_unit, unravel(flat), members))[0].astype(dtype)

    try:
        total: Array = pieces(data, chosen, piece, per_unit, add, jnp.zeros(flat.shape, dtype))
        return total
    except NameError as reason:  # a collective over rows has no axis here
        if "axis name" in str(reason):
            raise UsageError(f"a network {MIXES}") from None
        raise


def unit_loss(loss: RowLoss, per_unit: int) -> UnitLoss:
    """Loss of one unit: the sum over its rows, which only meet here."""
    if per_unit == 1:
        return lambda weights, rows, classes, present: present[0] * loss(weights, rows[0], classes[0])

    def summed(weights: Weights, rows: Array, classes: Array, present: Array) -> Array:
        return jnp.sum(present * jax.vmap(loss, in_axes=(None, 0, 0))(weights, rows, classes))

    return summed


def refuse_mixing(thing: object) -> None:
    """UsageError if a loss is, or holds, a module that normalises across rows."""
    if isinstance(thing, eqx.nn.BatchNorm):
        raise UsageError(f"{type(thing).__name__} {MIXES}")
    if isinstance(thing, tuple | list):
        parts = list(thing)
    elif isinstance(thing, dict):
        parts = list(thing.values())
    elif is_dataclass(thing):
        parts = [getattr(thing, field.name) for field in fields(thing)]
    else:
        parts = []
    for part in parts:
        refuse_mixing(part)
