"""The game of DPGAN, RDP-CGAN and the references: adversarial networks that learn from noisy gradients, on the public side.

A round asks for one gradient: the first rounds about the autoencoder, if there is one (`pretraining.py`), the others about
the critic D (Torfi, Fox, Reddy 2022, Algorithm 2; Xie et al. 2018 for DPGAN):

    query    the weights
    answer   B g = noisy sum of clipped gradients of the loss on real rows, B the expected number of rows in a sample
    update   critic: one step along g + grad of its loss on generated rows G(z); every n_D rounds the generator takes a step

Only the answer carries information about rows. The term of the generated rows, the generator's steps, and the moments that
samples are matched to are functions of released values and free.

How rows are drawn, what the losses are, which terms the generator's loss has and how samples are finished are parts (`parts.py`);
this file is the game that all of them play.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.conversation import Info
from understudy.methods.gradients import parts
from understudy.methods.gradients.critic import Critic, CriticParams
from understudy.methods.gradients.objectives import Objective, RealLoss
from understudy.methods.gradients.parts import Settings
from understudy.methods.gradients.pretraining import Pretraining
from understudy.methods.gradients.rows import RowNetwork
from understudy.methods.gradients.samples import Samples
from understudy.nn.autoencoder import Reconstruction
from understudy.nn.copula import Start, mismatch
from understudy.nn.heads import Heads
from understudy.nn.mlp import Params
from understudy.questions.rounds import GradientQuery
from understudy.schema import Codec

# First values, as far as commits and docs say.
MEMORY = 20.0  # generator steps that the averaged weights remember
RECENT = 0.1  # weight of a round in the running share of generated rows that the critic knows


class Hints(NamedTuple):
    """Released: where samples should lie, and how common every class is."""

    start: Start
    shares: np.ndarray | Array  # [classes]
    expected: np.ndarray | Array  # rows in a sample, from public or released values


class GanState(NamedTuple):
    """Networks, their optimisers, and where the game is."""

    autoencoder: dict[str, Params]  # empty without one
    critic: CriticParams
    generator: Params
    autoencoder_opt: optax.OptState
    critic_opt: optax.OptState
    generator_opt: optax.OptState
    average: Params  # of the generator's weights over its steps
    hints: Hints
    round: Int[Array, ""]
    since: Int[Array, ""]  # critic steps since the last generator step
    steps: Int[Array, ""]  # n_D
    turns: Int[Array, ""]  # generator steps so far
    known: Float[Array, ""]  # running share of generated rows that the critic knows


@dataclass(frozen=True)
class GanGenerator:
    """One game: its settings, and the columns it is played about."""

    heads: Heads
    classes: int
    settings: Settings

    # -- parts ----------------------------------------------------------------------------------------------------------
    @property
    def losses(self) -> tuple[Reconstruction | RealLoss, ...]:
        """The losses on real rows, in the order of their stages."""
        real = RealLoss(self._critic, self._objective)
        return (real,) if self._pretraining is None else (self._pretraining.loss, real)

    @property
    def critic_weights(self) -> int:
        """How many numbers the critic has."""
        return sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(self._critic.init, jax.random.key(0))))

    @property
    def _critic(self) -> Critic:
        return parts.critic(self.settings, self.heads, self.classes)

    @property
    def _objective(self) -> Objective:
        return parts.objective(self.settings)

    @property
    def _pretraining(self) -> Pretraining | None:
        return parts.pretraining(self.settings, self.heads)

    @property
    def _rows(self) -> RowNetwork:
        return parts.row_network(self.settings, self.heads, self.classes)

    @property
    def _samples(self) -> Samples:
        stage = self._pretraining
        decoder = () if stage is None else tuple(stage.autoencoder.decoder.shapes().items())
        copula = parts.copula(self.settings, self.heads, self.classes)
        return Samples(self._rows, copula, decoder, self.settings.matched, self.settings.moments)

    @property
    def _critic_optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.settings.critic_learning_rate, b1=0.5)

    @property
    def _generator_optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.settings.generator_learning_rate, b1=0.5)

    # -- the conversation -----------------------------------------------------------------------------------------------
    def init(self, key: PRNGKeyArray, hints: Hints) -> GanState:
        """First weights; a copula starts at the released moments."""
        key_autoencoder, key_critic, key_generator = jax.random.split(key, 3)
        stage = self._pretraining
        autoencoder = {} if stage is None else stage.autoencoder.init(key_autoencoder)
        critic = self._objective.constrained(self._critic.init(key_critic))
        generator = self._rows.init(key_generator, hints.start)
        return GanState(
            autoencoder,
            critic,
            generator,
            () if stage is None else stage.optimiser.init(autoencoder),
            self._critic_optimiser.init(critic),
            self._generator_optimiser.init(generator),
            generator,
            jax.tree.map(jnp.asarray, hints),
            jnp.zeros((), jnp.int32),
            jnp.zeros((), jnp.int32),
            jnp.asarray(self.settings.critic_steps, jnp.int32),
            jnp.zeros((), jnp.int32),
            jnp.ones(()),
        )

    def query(self, state: GanState, key: PRNGKeyArray) -> GradientQuery:
        """The weights whose gradient is wanted."""
        stage = self._pretraining
        if stage is None:
            return GradientQuery(jnp.zeros((), jnp.int32), (state.critic,))
        return GradientQuery(stage.over(state.round), (state.autoencoder, state.critic))

    def update(
        self, state: GanState, query: GradientQuery, answer: Float[Array, " coordinates"], key: PRNGKeyArray
    ) -> tuple[GanState, Info]:
        """One step of whoever asked."""
        stage = self._pretraining
        if stage is None:
            state, info = self._play(state, answer, key)
        else:
            state, info = jax.lax.cond(
                query.phase == 0,
                lambda: self._encode(stage, state, answer),
                lambda: self._play(state, answer, key),
            )
        return state._replace(round=state.round + 1), info

    def _encode(
        self, stage: Pretraining, state: GanState, answer: Float[Array, " coordinates"]
    ) -> tuple[GanState, Info]:
        """One step of the autoencoder."""
        gradient = like(state.autoencoder, answer / state.hints.expected)
        autoencoder, opt, norm = stage.step(state.autoencoder, state.autoencoder_opt, gradient)
        moved = state._replace(autoencoder=autoencoder, autoencoder_opt=opt)
        return moved, {"gradient": norm, "critic_on_generated": jnp.zeros(())}

    def _play(self, state: GanState, answer: Float[Array, " coordinates"], key: PRNGKeyArray) -> tuple[GanState, Info]:
        """One step of the critic, and when it is due one of the generator."""
        key_rows, key_generator = jax.random.split(key)
        rows, classes = self._generated(state, state.generator, jnp.asarray(state.hints.shares), key_rows)

        def on_generated(critic: CriticParams) -> tuple[Array, Array]:
            scores = self._judge(critic, rows, classes)
            return self._objective.on_generated(scores), scores

        (_, scores), of_generated = jax.value_and_grad(on_generated, has_aux=True)(state.critic)
        of_real = like(state.critic, answer / state.hints.expected)
        gradient = jax.tree.map(jnp.add, of_real, of_generated)
        updates, opt = self._critic_optimiser.update(gradient, state.critic_opt, state.critic)
        critic = self._objective.constrained(optax.apply_updates(state.critic, updates))
        known = (1.0 - RECENT) * state.known + RECENT * (scores < 0.0).astype(jnp.float32).mean()
        state = state._replace(critic=critic, critic_opt=opt, since=state.since + 1, known=known)
        state = jax.lax.cond(state.since >= state.steps, lambda: self._improve(state, key_generator), lambda: state)
        return state, {"gradient": optax.tree.norm(of_real), "critic_on_generated": scores.mean()}

    def _improve(self, state: GanState, key: PRNGKeyArray) -> GanState:
        """The generator's turn."""
        shares = jnp.asarray(state.hints.shares)
        if (
            self.settings.information
        ):  # moments of a rare class need rows; the critic knows the class: its optimum stays
            shares = jnp.full(self.classes, 1.0 / self.classes)

        def loss(generator: Params, key: PRNGKeyArray) -> Array:
            rows, classes = self._generated(state, generator, shares, key)
            value = self._objective.of_generator(self._judge(state.critic, rows, classes))
            for term in parts.terms(self.settings, self.heads, self.classes):
                value = value + term(generator, state.hints.start, state.critic, rows, classes)
            return value

        def step(carry: tuple[Params, optax.OptState], key: PRNGKeyArray) -> tuple[tuple[Params, optax.OptState], None]:
            generator, opt = carry
            updates, opt = self._generator_optimiser.update(jax.grad(loss)(generator, key), opt, generator)
            return (optax.apply_updates(generator, updates), opt), None

        keys = jax.random.split(key, self.settings.generator_steps)
        (generator, opt), _ = jax.lax.scan(step, (state.generator, state.generator_opt), keys)
        # A running mean at first, later one that forgets: noise in the answers averages out of the weights.
        weight = 1.0 / jnp.minimum(1.0 + state.turns, MEMORY)
        average = jax.tree.map(lambda old, new: old + weight * (new - old), state.average, generator)
        return state._replace(
            generator=generator,
            generator_opt=opt,
            average=average,
            since=jnp.zeros((), jnp.int32),
            steps=self._objective.next_steps(state.steps, state.known),
            turns=state.turns + 1,
        )

    def _generated(
        self, state: GanState, generator: Params, shares: Float[Array, " classes"], key: PRNGKeyArray
    ) -> tuple[Array, Array]:
        """Generated rows as the critic sees them, with classes as common as `shares` says."""
        key_class, key_row = jax.random.split(key)
        classes = jax.random.choice(key_class, self.classes, (self.settings.batch,), p=shares)
        y = self._rows.scores(generator, decoder(state), classes, key_row)
        start, copula = state.hints.start, parts.copula(self.settings, self.heads, self.classes)
        return copula.view(start._asdict(), self._rows.from_thresholds(jnp.asarray(start.threshold), y)), classes

    def _judge(self, critic: CriticParams, rows: Array, classes: Array) -> Float[Array, " rows"]:
        scores: Array = jax.vmap(self._critic, in_axes=(None, 0, 0))(critic, rows, classes)
        return scores

    # -- rows and artifact ----------------------------------------------------------------------------------------------
    def sampler(self, state: GanState) -> dict[str, Array]:
        """Weights of the averaged generator and decoder, and what matches samples to the released moments."""
        keep = lambda state: self._samples.keep(state.average, decoder(state), state.hints.start)  # noqa: E731
        kept: dict[str, Array] = jax.jit(keep)(state)
        return kept

    def sample(
        self, sampler: dict[str, Array], classes: Int[Array, " rows"], key: PRNGKeyArray
    ) -> Float[Array, "rows width"]:
        """Encoded rows, one of each class asked for."""
        return self._samples.draw(sampler, classes, key)

    def to_dict(self) -> dict[str, Any]:
        """The settings, as the artifact keeps them."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self.settings).items()
        }

    @classmethod
    def from_dict(cls, settings: dict[str, Any], codec: Codec) -> "GanGenerator":
        """The way back from `to_dict`."""
        plain: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
        }
        return cls(Heads.of(codec.blocks, codec.width), codec.class_count, Settings(**plain))

    def mismatch(self, weights: Mapping[str, Any]) -> str:
        """What is wrong with loaded weights; empty when nothing is."""
        return mismatch(weights, self._samples.shapes())


def decoder(state: GanState) -> Params:
    """The autoencoder's second half; empty without one."""
    return state.autoencoder.get("decoder", {})


def like(weights: Any, flat: Float[Array, " coordinates"]) -> Any:
    """The front of a flat vector in the shape of `weights`."""
    vector, unravel = ravel_pytree(weights)
    return unravel(flat[: vector.shape[0]])
