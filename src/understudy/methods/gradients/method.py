"""What DPGAN, RDP-CGAN and the references share: options, plan and opening of a conversation about gradients.

    estimates, class histogram  ->  column marginals  ->  class moments  ->  `rounds` noisy gradients

The first releases are the same as PATE-GAN's (`measure/warm_start.py`) and can be left out (`start`): `moments` pays for
marginals and class moments, `marginals` for the former alone, `none` for neither, so that all of the budget goes into
gradients, as in the papers.

The sampling rate q is an option, because the price depends on it and the number of rows is private; how many rows a sample
has follows from the table. Where the schema says how many rows there are, `sample_size` gives the papers' mini-batch instead
(q = sample_size / units). A round costs PoissonSampled(q, Gaussian(sigma)). For large sigma the squared loss of T rounds
is T q^2 / sigma^2, so sigma = q z with z the noise multiplier that the plan would give to T answers without sampling;
calibration then prices the true events, by privacy-loss distributions.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Plan
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.measure.warm_start import (
    STARTS,
    StartFrom,
    announce_start_from,
    histogram_beside,
    rounds_weight,
    start_from,
    start_note,
)
from understudy.methods.gradients.generator import GanGenerator, Hints
from understudy.methods.gradients.parts import Settings
from understudy.nn.heads import Heads
from understudy.private.mechanisms.noisy_gradient import NoisyGradient
from understudy.recipe import Announced, Curator, Mechanism, Opening, check_choice, check_counts, check_positive
from understudy.schema import Codec, Schema

GRADIENTS = "gradients"
# Noise over the clipping norm, averaged over all rounds, at which half of the samples still come from the training.
USEFUL_NOISE = 0.3
WIDE = 100  # columns from which on convolutions find what moments do not hold; between 33 and 178 nothing was measured
USUAL_WEIGHT = 0.2  # of the gradients, beside the weights of the start
NO_GRADIENTS = (
    "no gradients are asked for: on top of paid moments they cannot pay for themselves here, and the result is what these say; "
    "gradients_share=0.2 asks for them all the same, start=none learns from gradients alone"
)
LARGE = 1 << 16  # weights of a network that every plan must have room for
LARGEST_PIECE = 256  # units whose gradients are computed at once
# Units of a sample in a stripe: many pieces, of which only the last is not full, and more work than it is to ask a worker (some
# 5 ms a round; a stripe of dpgan's critic takes some 25 ms of one core: `python -m benchmarks.gradient_speed workers`).
PER_STRIPE = 4096
MOST_STRIPES = 64
FLOATING = (
    "gradients are added up exactly, as whole numbers, with noise that is rounded to whole numbers: no low digit of a sum "
    "leaves; but the noise is drawn in 32-bit floating point, whose distance from a true Gaussian is not in the guarantee"
)


@dataclass(kw_only=True, eq=False, repr=False)
class GradientGan(Estimator):
    """Options; what they default to is the business of the methods."""

    words: ClassVar[Mapping[str, str]] = {
        "rounds": "gradients that are asked for, of autoencoder and critic together; more mean more noise on each",
        "generator_steps": "steps of the generator at each of its turns; free",
        "critic_steps": "rounds of the critic before each turn of the generator (n_D)",
    }

    start: StartFrom = "moments"
    rounds: int = 300  # gradients that are asked for, all together
    sampling_rate: float = 0.05  # q
    sample_size: int | None = None  # expected units of a sample, where the number of rows is public: q follows from it
    clip: float = 1.0  # largest norm of a unit's gradient
    critic_steps: int = 5  # n_D: rounds per generator step
    generator_steps: int = 1
    adaptive: bool = False  # n_D doubles when the critic knows too few of the generated rows
    objective: Literal["wasserstein", "standard"] = "wasserstein"
    generator: Literal["copula", "mlp", "conv"] = "copula"
    critic: Literal["mlp", "conv"] = "mlp"
    autoencoder: Literal["none", "mlp", "conv"] = "none"
    autoencoder_share: float = 0.3  # of the rounds
    classifier: bool = False
    information: float = 0.0  # weight of the loss that holds generated rows to the released moments
    latent: int = 8  # dimension of what rows are drawn from
    code: int = 128
    hidden: int = 32
    layers: int = 5  # of a convolutional network
    channels: int = 4  # of its first layer; each layer doubles them
    critic_hidden: int = 32
    critic_channels: int = 4
    normalisation: Literal["group", "none", "batch"] = "group"
    critic_normalisation: Literal["group", "none", "batch"] = "none"
    batch: int = 256  # generated rows per step
    weight_clip: float = 0.1
    autoencoder_learning_rate: float = 5e-3
    critic_learning_rate: float = 5e-3
    generator_learning_rate: float = 5e-3
    marginals_share: float = 0.2
    moments_share: float = 0.5
    gradients_share: float | None = None  # None: on top of paid moments only where they can pay (`weight`)

    def check_options(self) -> None:
        counts = (
            "rounds critic_steps generator_steps latent code hidden layers channels critic_hidden critic_channels batch"
        )
        check_counts(**{name: getattr(self, name) for name in counts.split()})
        positive = (
            "clip weight_clip autoencoder_learning_rate critic_learning_rate generator_learning_rate marginals_share "
            "moments_share"
        )
        check_positive(**{name: getattr(self, name) for name in positive.split()})
        check_positive(gradients_share=1.0 if self.gradients_share is None else self.gradients_share)
        check_counts(sample_size=1 if self.sample_size is None else self.sample_size)
        if not 0.0 < self.sampling_rate <= 1.0:
            raise UsageError(f"sampling_rate={self.sampling_rate} must be above 0 and at most 1")
        if self.autoencoder != "none" and not 1 <= self._autoencoder_rounds < self.rounds:
            raise UsageError(
                f"autoencoder_share={self.autoencoder_share} of {self.rounds} rounds must leave rounds for autoencoder and critic"
            )
        for name in ("normalisation", "critic_normalisation"):
            if getattr(self, name) == "batch":
                raise UsageError(
                    f"{name}='batch' mixes rows, so that one person's row changes the others' gradients and the guarantee is "
                    "void; use 'group', which sees one row at a time"
                )
        norms = ("group", "none")
        check_choice(
            start=(self.start, STARTS),
            objective=(self.objective, ("wasserstein", "standard")),
            generator=(self.generator, ("copula", "mlp", "conv")),
            critic=(self.critic, ("mlp", "conv")),
            autoencoder=(self.autoencoder, ("none", "mlp", "conv")),
            normalisation=(self.normalisation, norms),
            critic_normalisation=(self.critic_normalisation, norms),
        )
        if not 0.0 <= self.information < math.inf:
            raise UsageError(f"information={self.information} must be 0 or above")
        if self.information and self.start != "moments":
            raise UsageError(
                f"information={self.information} holds generated rows to released moments, so it needs start='moments'; "
                "with another start set information=0"
            )
        if self.adaptive and self.objective != "standard":
            raise UsageError(
                "adaptive=true needs objective='standard': a Wasserstein critic does not say real or generated"
            )
        if self.generator == "copula" and self.autoencoder != "none":
            raise UsageError(
                "generator='copula' makes rows without a code; with an autoencoder use generator='mlp' or 'conv'"
            )

    @property
    def _autoencoder_rounds(self) -> int:
        return 0 if self.autoencoder == "none" else round(self.autoencoder_share * self.rounds)

    # -- plan -----------------------------------------------------------------------------------------------------------
    def announce(self, schema: Schema) -> list[Announced]:
        if not schema.features and (self.autoencoder != "none" or self.generator != "copula"):
            raise UsageError(
                f"method {self.method!r} needs a column besides the label; choose dpgan, mst or mean-embedding"
            )
        start = announce_start_from(schema, self.start, self.marginals_share, self.moments_share)
        weight = self.weight(schema)
        return [*start, self._announce_gradients(self.effective_sampling_rate(schema), weight)] if weight else start

    def effective_sampling_rate(self, schema: Schema) -> float:
        """q: as given, or from the size of a sample and the public number of rows (of units: at least rows / rows per unit)."""
        if self.sample_size is None:
            return self.sampling_rate
        if schema.rows is None:
            raise UsageError(
                f"sample_size={self.sample_size} needs a public number of rows ('rows' in the schema), because the "
                "price depends on the share that a sample is; without it set sample_size=None and give sampling_rate"
            )
        return min(self.sample_size * schema.max_rows_per_unit / schema.rows, 1.0)

    def weight(self, schema: Schema) -> float:
        """Of the gradients; 0 where they could not pay for themselves, and then none are asked for.

        On top of a paid start the fully connected game (dpgan) lost to that start on all three tables where they were paired, and
        convolutional networks (rdp-cgan) were above it on the table of 187 columns and below on the one of 11.
        """
        wide = self.generator == "conv" and len(schema.features) >= WIDE
        return rounds_weight(self.start, self.gradients_share, USUAL_WEIGHT, wide)

    @property
    def histogram_weight(self) -> float:
        if self.start != "none":
            return super().histogram_weight
        return histogram_beside(USUAL_WEIGHT if self.gradients_share is None else self.gradients_share)

    def _announce_gradients(self, sampling_rate: float, weight: float) -> Announced:
        def event(z: float) -> dpa.DpEvent:
            return NoisyGradient((), (), sampling_rate, sampling_rate * z).event(self.rounds)

        detail = f"{self.rounds - self._autoencoder_rounds} for the critic"
        if self._autoencoder_rounds:
            detail = f"{self._autoencoder_rounds} for the autoencoder, {detail}"
        return Announced(GRADIENTS, weight, event, answers=self.rounds, detail=detail)

    def settings(self, schema: Schema, rows: int | None) -> dict[str, Any]:
        found = {"autoencoder_rounds": self._autoencoder_rounds, "sampling_rate": self.effective_sampling_rate(schema)}
        return super().settings(schema, rows) | found

    def advice(
        self, schema: Schema, settings: dict[str, Any], noise: Mapping[str, float], rows: int | None
    ) -> list[str]:
        """How the noise compares with the largest possible gradient, before a row is read."""
        if not self.weight(schema):
            return [NO_GRADIENTS, *start_note(schema, noise)]
        sampling_rate = self.effective_sampling_rate(schema)
        sigma = sampling_rate * noise[GRADIENTS]
        NoisyGradient((), (self.clip,), sampling_rate, sigma).reach(LARGE)  # refused here, before anything is spent
        notes = [f"gradient noise: {sigma:.3g} times the clipping norm on each of {self.rounds:,} sums", FLOATING]
        notes += start_note(schema, noise)
        if rows is not None:
            blur = sigma / (sampling_rate * rows)
            notes.append(
                f"per coordinate the noise is {blur:.2%} of the largest mean gradient; with a few thousand weights "
                f"a single round is {'mostly noise' if blur > 0.01 else 'mostly signal'}"
            )
        return notes

    # -- fit ------------------------------------------------------------------------------------------------------------
    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        schema, rows = codec.schema, float(counts.sum())
        heads = Heads.of(codec.blocks, codec.width)
        marginals, start = start_from(self.start, curator, codec, counts, plan)
        generator = self._generator(heads, codec.class_count)
        sampling_rate = self.effective_sampling_rate(schema)
        expected = sampling_rate * rows
        shares, size = counts / counts.sum(), np.asarray(max(expected, 1.0))
        if not self.weight(schema):
            start = start._replace(trust=np.zeros((codec.class_count, 1)))
            return Opening(generator, Hints(start, shares, size), marginals=marginals)
        piece = piece_size(expected / schema.max_rows_per_unit)
        per_unit = 1 if schema.unit is None else schema.max_rows_per_unit
        stripes = stripes_of(expected / schema.max_rows_per_unit)
        mechanism = self._mechanism(generator, plan, sampling_rate, piece, per_unit, stripes)
        trust = self._trust(generator, plan, rows / schema.max_rows_per_unit)
        start = start._replace(trust=np.full((codec.class_count, 1), trust))
        hints = Hints(start, shares, size)
        return Opening(generator, hints, GRADIENTS, mechanism, self.rounds, marginals)

    def _trust(self, generator: GanGenerator, plan: Plan, units: float) -> float:
        """Share of the samples that comes from the training, from public and released values.

        The mean gradient of a round has norm C at most, and noise of norm C z sqrt(weights) / units on it; rounds average it.
        """
        noise = plan.parameters["noise"][GRADIENTS] * math.sqrt(generator.critic_weights)
        ratio = noise / max(units, 1.0) / math.sqrt(self.rounds - self._autoencoder_rounds)
        return float(1.0 / (1.0 + (ratio / USEFUL_NOISE) ** 2))

    def _mechanism(
        self, generator: GanGenerator, plan: Plan, sampling_rate: float, piece: int, per_unit: int, stripes: int
    ) -> Mechanism:
        sigma = sampling_rate * plan.parameters["noise"][GRADIENTS]
        clips = (self.clip,) * len(generator.losses)
        return NoisyGradient(generator.losses, clips, sampling_rate, sigma, piece, per_unit, stripes)

    def _generator(self, heads: Heads, classes: int) -> GanGenerator:
        same = (
            "rounds generator critic autoencoder objective classifier information latent code batch critic_steps "
            "generator_steps adaptive weight_clip autoencoder_learning_rate critic_learning_rate generator_learning_rate"
        )
        settings = Settings(
            autoencoder_rounds=self._autoencoder_rounds,
            hidden=(self.hidden, self.hidden),
            channels=doubling(self.channels, self.layers - 1),
            critic_hidden=(self.critic_hidden, self.critic_hidden),
            critic_channels=doubling(self.critic_channels, self.layers - 1),
            norm="group" if self.normalisation == "group" else "none",
            critic_norm="group" if self.critic_normalisation == "group" else "none",
            # Rows held to the moments while the generator learns keep the shapes it has learned.
            matched=self.start == "moments" and self.generator != "copula" and self.information == 0.0,
            moments=self.start == "moments",
            **{name: getattr(self, name) for name in same.split()},
        )
        return GanGenerator(heads, classes, settings)


def doubling(channels: int, layers: int) -> tuple[int, ...]:
    """Channels of all layers but the last, which ends in the code, the latent vector or the critic's one number."""
    return tuple(channels * 2**layer for layer in range(layers))


def piece_size(expected: float) -> int:
    """A power of two that holds most samples at once; from released values."""
    return int(min(max(2 ** math.ceil(math.log2(max(1.3 * expected, 1.0))), 8), LARGEST_PIECE))


def stripes_of(expected: float) -> int:
    """In how many stripes workers keep the units, from how many a sample has; an even number, so that two have as much to do."""
    return max(min(2 * int(expected / (2 * PER_STRIPE)), MOST_STRIPES), 1)
