"""Noisy clipped gradient over a Poisson sample of units: the answer of DPGAN and RDP-CGAN.

Abadi et al. 2016, arXiv:1607.00133. The question is a set of weights w, the answer, for a sample S in which each unit takes
part with probability q, is

    sum_{u in S}  g_u min(1, C / |g_u|)  +  N(0, sigma^2 C^2 I),        g_u = grad_w sum_{x of unit u} loss(w, x)

with loss the part of a network's loss that looks at real rows. The generator divides by the expected number of rows in a
sample, q times a public or released count (never by the true number), and adds what generated rows contribute, which needs
no noise.

Guarantee. A unit in the sample moves the sum by at most C, whatever the loss is: `loss` is a function of one row, it is
mapped over rows by `vmap`, so no row can see another, and the factor of a unit is computed from the norm of its own
gradient. Noise is added once, to the sum. So a round costs PoissonSampledDpEvent(q, GaussianDpEvent(sigma)) for adding or
removing one unit, and T rounds T times that. All units of the sample are used, however many there are
(`understudy.private.sampling`), so nothing is truncated.

Edges. A gradient with NaN or infinite coordinates counts as zero; so does one of norm 0. That is decided for each unit by its
own rows, before anything is added up: whoever counts as zero, and every place of a piece that holds nobody, is replaced by a unit
whose gradient is finite, times exactly 0. So no value of a row, and no row at which a loss has no derivative, touches what
others add. An empty sample gives noise alone. Normalisation across rows (batch norm) would let a row see others; it is refused
with an explanation, not silently removed.

Not covered: sums and noise are 32-bit floating-point numbers, so the guarantee holds for real arithmetic. Answers are
rounded to 1/1024 of the noise's deviation, which hides the low digits that known attacks read (Mironov 2012), but no proof
is claimed.

Clipping takes two passes, norms first and then the gradient of sum_u factor_u loss_u; that is the same sum as in
`clipped_grad` of jax-privacy, which serves as judge in the tests, and several times faster because no unit's gradient is
kept.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import dp_accounting as dpa
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
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
FINENESS = 1024.0  # answers are multiples of the noise's deviation divided by this
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

    def __post_init__(self) -> None:
        refuse_mixing(self.losses)

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

    def chosen(self, bits: UInt32[Array, " units"]) -> Bool[Array, " units"]:
        """Which units take part."""
        return stream.coins(bits, self.sampling_rate)

    def total(self, data: Units, chosen: Array, weights: Weights, number: int) -> Float[Array, " coordinates"]:
        """Sum of clipped gradients over the sample. Private: it must not leave without noise."""

        def gradient(loss: UnitLoss, weights: Weights, members: Members) -> Weights:
            return self.gradient(loss, weights, members, self.clips[number])

        return summed(self.losses[number], gradient, data, chosen, weights, self.piece, self.per_unit)

    def gradient(self, loss: UnitLoss, weights: Weights, members: Members, clip: float) -> Weights:
        """Sum over the units of a piece, each clipped to norm `clip`."""

        def squared_norm(*unit: Array) -> Array:
            return sum(
                (jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(jax.grad(loss)(weights, *unit))), jnp.zeros(())
            )

        norm = jnp.sqrt(jax.vmap(squared_norm)(*members))
        sound = jnp.isfinite(norm) & (norm > 0.0)
        factor = jnp.where(sound, jnp.minimum(1.0, clip / jnp.where(sound, norm, 1.0)), 0.0)
        # Zero times NaN is NaN, so a unit that counts as zero is not put through the second pass: the first sound one stands in.
        stand_in = jnp.argmax(sound)
        kept = jax.tree.map(
            lambda part: jnp.where(sound.reshape(-1, *[1] * (part.ndim - 1)), part, part[stand_in][None]), members
        )

        def weighted(weights: Weights) -> Array:
            return jnp.sum(factor * jax.vmap(loss, in_axes=(None, 0, 0, 0))(weights, *kept))

        found = jax.grad(weighted)(weights)
        # Finite for every unit by the first pass; a sum in another order might still overflow, and must not leave as NaN.
        return jax.tree.map(lambda leaf: jnp.where(sound.any() & jnp.isfinite(leaf), leaf, 0.0), found)

    def noised(self, total: Float[Array, " n"], bits: Array, clip: float) -> Float[Array, " n"]:
        """The sum with Gaussian noise, rounded to a grid far below its deviation."""
        deviation = self.sigma * clip
        noisy = total + deviation * stream.normals(bits, total.shape[0])
        grid = deviation / FINENESS
        return jnp.round(noisy / grid) * grid


def longest(query: GradientQuery) -> int:
    """Coordinates of the longest gradient that can be asked for."""
    return max(int(ravel_pytree(weights)[0].shape[0]) for weights in query.weights)


def asked(query: GradientQuery, of: Callable[[int, Weights], Float[Array, " own"]]) -> Float[Array, " coordinates"]:
    """`of(phase, weights)` for the phase that is asked about, padded to a common length."""
    most = longest(query)

    def branch(number: int) -> Callable[[], Array]:
        def run() -> Float[Array, " coordinates"]:
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
) -> Float[Array, " coordinates"]:
    """`gradient` of every piece of the sample, added up, flat."""
    flat, unravel = ravel_pytree(weights)
    of_unit = unit_loss(loss, per_unit)

    def add(total: Array, members: Members) -> Array:
        return total + ravel_pytree(gradient(of_unit, unravel(flat), members))[0]

    try:
        total: Array = pieces(data, chosen, piece, per_unit, add, jnp.zeros_like(flat))
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
