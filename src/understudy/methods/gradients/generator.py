"""Adversarial networks that learn from noisy gradients: the public side of DPGAN, RDP-CGAN and the references without privacy.

A round asks for one gradient. The first `autoencoder_rounds` rounds ask about the autoencoder (Torfi, Fox, Reddy 2022,
Algorithm 1), the others about the critic D, whose loss on real rows is -D(x) (Algorithm 2; Xie et al. 2018 for DPGAN):

    query    the weights
    answer   B g = noisy sum of clipped gradients of the loss on real rows, B the expected number of rows in a sample
    update   critic: one step along g + grad mean_j D(G(z_j)), then weights clipped to +-c (Wasserstein);
             every n_D rounds the generator takes a step on -mean_j D(G(z_j))

Only the answer carries information about rows. The term of the generated rows, the generator's steps, and the moments that
samples are matched to are functions of released values and free.

Samples are a mixture: a share of them (`Start.trust`, from released values) comes from what was trained, the others from the
start alone, with the same moments and no dependence within a class. Gradients that drown in their noise teach dependence
that is not there, and with a few hundred rows that did more harm than all they taught.

What G is made of: `copula` starts from released class moments and learns the dependence (`nn/copula.py`); `mlp` and
`conv` turn noise and class into scores, or into a code that the trained decoder turns into scores. With
`objective="standard"` the losses are those of Goodfellow et al. 2014 in their non-saturating form, and n_D may adapt (Bie,
Kamath, Zhang 2023): it doubles when the critic knows too few of the generated rows. With `information` the generator is
also held to the released class moments (`methods/gradients/information.py`).
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.conversation import Info
from understudy.measure.marginals import LARGEST_SCORE
from understudy.methods.gradients.critic import Critic, RealLoss
from understudy.methods.gradients.information import lost_information
from understudy.methods.gradients.matching import match, match_shapes, matched
from understudy.nn.autoencoder import Autoencoder, Reconstruction
from understudy.nn.conv import Conv, Norm, up
from understudy.nn.copula import Copula, Start, mismatch
from understudy.nn.heads import Heads
from understudy.nn.mlp import Mlp, Params
from understudy.questions.rounds import GradientQuery

LARGEST_STEPS = 200  # that an adapting n_D can reach
MEMORY = 20.0  # generator steps that the averaged weights remember
OTHERS = 1000  # folded into a key: far from the few numbers that `split` uses, which the trained rows are drawn by
WANTED_ACCURACY = 0.7  # share of generated rows that the critic should know


class Hints(NamedTuple):
    """Released: where samples should lie, and how common every class is."""

    start: Start
    shares: Any  # [classes]
    expected: Any  # rows in a sample, from public or released values


class GanState(NamedTuple):
    autoencoder: Any
    critic: Any
    maker: Params
    autoencoder_opt: Any
    critic_opt: Any
    maker_opt: Any
    average: Params  # of the maker's weights over rounds
    hints: Hints
    round: Int[Array, ""]
    since: Int[Array, ""]  # critic steps since the last generator step
    steps: Int[Array, ""]  # n_D
    turns: Int[Array, ""]  # generator steps so far
    known: Float[Array, ""]  # running share of generated rows that the critic knows


@dataclass(frozen=True)
class GanGenerator:
    heads: Heads
    classes: int
    rounds: int
    autoencoder_rounds: int
    maker: Literal["copula", "mlp", "conv"]
    critic: Literal["mlp", "conv"]
    autoencoder: Literal["none", "mlp", "conv"]
    objective: Literal["wasserstein", "standard"]
    classifier: bool
    noise: int
    code: int
    hidden: tuple[int, ...]
    channels: tuple[int, ...]
    critic_hidden: tuple[int, ...]
    critic_channels: tuple[int, ...]
    norm: Norm
    critic_norm: Norm
    batch: int
    critic_steps: int
    generator_steps: int
    adaptive: bool
    weight_clip: float
    autoencoder_rate: float
    critic_rate: float
    generator_rate: float
    matched: bool
    tethered: bool
    information: float = 0.0  # weight beside the critic's judgement

    # -- networks -------------------------------------------------------------------------------------------------------
    @property
    def losses(self) -> tuple[Any, ...]:
        """The losses on real rows, in the order of their phases."""
        real = RealLoss(self._critic, self.objective)
        return (real,) if self.autoencoder == "none" else (Reconstruction(self._autoencoder), real)

    @property
    def _critic(self) -> Critic:
        return Critic(
            self.heads,
            self.classes,
            self.critic,
            self.critic_hidden,
            self.critic_channels,
            self.critic_norm,
            self.classifier,
        )

    @property
    def _autoencoder(self) -> Autoencoder:
        kind: Literal["mlp", "conv"] = "conv" if self.autoencoder == "conv" else "mlp"
        return Autoencoder(self.heads, kind, self.code, self.channels if kind == "conv" else self.hidden, self.norm)

    @property
    def _copula(self) -> Copula:
        return Copula(self.heads, self.classes, self.noise, self.hidden[0])

    @property
    def _network(self) -> Conv | Mlp:
        """From noise and class to scores, or to a code."""
        inputs = self.noise + (self.classes if self.classes > 1 else 0)
        outputs = self.heads.width if self.autoencoder == "none" else self.code
        if self.maker == "conv":
            return up(outputs, 1, (*self.channels, inputs), self.norm)
        return Mlp((inputs, *self.hidden, outputs))

    def _scores(self, maker: Params, decoder: Any, classes: Int[Array, " rows"], key: PRNGKeyArray) -> Array:
        """y, before it becomes a row."""
        if self.maker == "copula":
            return self._copula.scores(maker, classes, key)
        key_latent, key_normal, key_gumbel = jax.random.split(key, 3)
        rows, width, network = classes.shape[0], self.heads.width, self._network
        z = jax.random.normal(key_latent, (rows, self.noise))
        if self.classes > 1:
            z = jnp.concatenate([z, jax.nn.one_hot(classes, self.classes)], axis=1)

        def one(z: Array) -> Array:
            x = network(maker, z[None, :] if isinstance(network, Conv) else z).reshape(-1)
            return x if self.autoencoder == "none" else self._autoencoder.decode(decoder, jnp.tanh(x))

        y = jax.vmap(one)(z)
        binary, onehot = self.heads.coordinates("binary"), self.heads.coordinates("onehot")
        if binary.any():
            y = jnp.where(binary[None, :], y + jax.random.logistic(key_normal, (rows, width)), y)
        if onehot.any():
            y = jnp.where(onehot[None, :], y + jax.random.gumbel(key_gumbel, (rows, width)), y)
        return y

    # -- the conversation -----------------------------------------------------------------------------------------------
    def init(self, key: PRNGKeyArray, hints: Hints) -> GanState:
        keys = jax.random.split(key, 3)
        autoencoder = {} if self.autoencoder == "none" else self._autoencoder.init(keys[0])
        critic = self._clipped(self._critic.init(keys[1]))
        maker = self._copula.init(keys[2], hints.start) if self.maker == "copula" else self._network.init(keys[2])
        return GanState(
            autoencoder,
            critic,
            maker,
            self._autoencoder_optimiser.init(autoencoder),
            self._critic_optimiser.init(critic),
            self._maker_optimiser.init(maker),
            maker,
            jax.tree.map(jnp.asarray, hints),
            jnp.zeros((), jnp.int32),
            jnp.zeros((), jnp.int32),
            jnp.asarray(self.critic_steps, jnp.int32),
            jnp.zeros((), jnp.int32),
            jnp.ones(()),
        )

    def query(self, state: GanState, key: PRNGKeyArray) -> GradientQuery:
        if self.autoencoder == "none":
            return GradientQuery(jnp.zeros((), jnp.int32), (state.critic,))
        phase = (state.round >= self.autoencoder_rounds).astype(jnp.int32)
        return GradientQuery(phase, (state.autoencoder, state.critic))

    def update(
        self, state: GanState, query: GradientQuery, answer: Float[Array, " coordinates"], key: PRNGKeyArray
    ) -> tuple[GanState, Info]:
        if self.autoencoder == "none":
            state, info = self._play(state, answer, key)
        else:
            state, info = jax.lax.cond(
                query.phase == 0,
                lambda: self._encode(state, answer),
                lambda: self._play(state, answer, key),
            )
        return state._replace(round=state.round + 1), info

    def _encode(self, state: GanState, answer: Float[Array, " coordinates"]) -> tuple[GanState, Info]:
        """One step of the autoencoder."""
        gradient = like(state.autoencoder, answer / state.hints.expected)
        updates, opt = self._autoencoder_optimiser.update(gradient, state.autoencoder_opt, state.autoencoder)
        moved = state._replace(autoencoder=optax.apply_updates(state.autoencoder, updates), autoencoder_opt=opt)
        return moved, {"gradient": optax.tree.norm(gradient), "critic_on_generated": jnp.zeros(())}

    def _play(self, state: GanState, answer: Float[Array, " coordinates"], key: PRNGKeyArray) -> tuple[GanState, Info]:
        """One step of the critic, and when it is due one of the generator."""
        key_fake, key_maker = jax.random.split(key)
        rows, classes = self._fakes(state, state.maker, state.hints.shares, key_fake)

        def on_generated(critic: Any) -> tuple[Array, Array]:
            scores = self._judge(critic, rows, classes)
            loss = scores.mean() if self.objective == "wasserstein" else jax.nn.softplus(scores).mean()
            return loss, scores

        (_, scores), of_fakes = jax.value_and_grad(on_generated, has_aux=True)(state.critic)
        of_reals = like(state.critic, answer / state.hints.expected)
        gradient = jax.tree.map(jnp.add, of_reals, of_fakes)
        updates, opt = self._critic_optimiser.update(gradient, state.critic_opt, state.critic)
        critic = self._clipped(optax.apply_updates(state.critic, updates))
        known = 0.9 * state.known + 0.1 * (scores < 0.0).astype(jnp.float32).mean()
        state = state._replace(critic=critic, critic_opt=opt, since=state.since + 1, known=known)
        state = jax.lax.cond(state.since >= state.steps, lambda: self._improve(state, key_maker), lambda: state)
        return state, {"gradient": optax.tree.norm(of_reals), "critic_on_generated": scores.mean()}

    def _improve(self, state: GanState, key: PRNGKeyArray) -> GanState:
        """The generator's turn."""

        shares = state.hints.shares
        if self.information:  # moments of a rare class need rows; the critic is told the class, so its optimum stays
            shares = jnp.full(self.classes, 1.0 / self.classes)

        def loss(maker: Params, key: PRNGKeyArray) -> Array:
            rows, classes = self._fakes(state, maker, shares, key)
            scores = self._judge(state.critic, rows, classes)
            value = -scores.mean() if self.objective == "wasserstein" else jax.nn.softplus(-scores).mean()
            if self.classifier:
                value = value + jax.vmap(self._critic.guess, in_axes=(None, 0, 0))(state.critic, rows, classes).mean()
            if self.information:
                lost = lost_information(self.heads, self.classes, state.hints.start, rows, classes)
                value = value + self.information * lost
            return value + self._tether(maker, state.hints.start)

        def step(carry: Any, key: PRNGKeyArray) -> Any:
            maker, opt = carry
            updates, opt = self._maker_optimiser.update(jax.grad(loss)(maker, key), opt, maker)
            return (optax.apply_updates(maker, updates), opt), None

        keys = jax.random.split(key, self.generator_steps)
        (maker, opt), _ = jax.lax.scan(step, (state.maker, state.maker_opt), keys)
        steps = state.steps
        if self.adaptive:
            steps = jnp.where(state.known < WANTED_ACCURACY, jnp.minimum(2 * steps, LARGEST_STEPS), steps)
        # A running mean at first, later one that forgets: noise in the answers averages out of the weights.
        weight = 1.0 / jnp.minimum(1.0 + state.turns, MEMORY)
        average = jax.tree.map(lambda old, new: old + weight * (new - old), state.average, maker)
        return state._replace(
            maker=maker,
            maker_opt=opt,
            average=average,
            since=jnp.zeros((), jnp.int32),
            steps=steps,
            turns=state.turns + 1,
        )

    def _tether(self, maker: Params, start: Start) -> Float[Array, ""]:
        """Holds a copula to the released moments by their standard error."""
        if not self.tethered or self.maker != "copula":
            return jnp.zeros(())
        moved = (maker["location"] - start.location) ** 2 + (maker["log_scale"] - start.log_scale) ** 2
        return 0.05 * (moved / start.tether**2).mean()

    def _fakes(self, state: GanState, maker: Params, shares: Array, key: PRNGKeyArray) -> tuple[Array, Array]:
        """Generated rows as the critic sees them, with classes as common as `shares` says."""
        key_class, key_row = jax.random.split(key)
        classes = jax.random.choice(key_class, self.classes, (self.batch,), p=shares)
        y = self._scores(maker, self._decoder(state), classes, key_row)
        return self._copula.view(state.hints.start._asdict(), self._shifted(state.hints.start, y)), classes

    def _shifted(self, start: Any, y: Array) -> Array:
        """A copula counts binary scores from released thresholds, the other networks from 0."""
        if self.maker == "copula":
            return y
        return jnp.where(self.heads.coordinates("binary")[None, :], y + jnp.asarray(start.threshold)[None, :], y)

    def _bounded(self, y: Array) -> Array:
        """The critic sees scores up to a border, so what a network makes beyond it nobody has taught it."""
        if self.maker == "copula":
            return y
        numeric = self.heads.coordinates("numeric")[None, :]
        return jnp.where(numeric, jnp.clip(y, -LARGEST_SCORE, LARGEST_SCORE), y)

    def _judge(self, critic: Any, rows: Array, classes: Array) -> Float[Array, " rows"]:
        return jax.vmap(self._critic, in_axes=(None, 0, 0))(critic, rows, classes)

    def _decoder(self, state: GanState) -> Any:
        return state.autoencoder["decoder"] if self.autoencoder != "none" else {}

    def _clipped(self, critic: Any) -> Any:
        if self.objective != "wasserstein":
            return critic
        clip = self.weight_clip
        return critic | {"critic": jax.tree.map(lambda w: jnp.clip(w, -clip, clip), critic["critic"])}

    @property
    def _autoencoder_optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.autoencoder_rate)

    @property
    def _critic_optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.critic_rate, b1=0.5)

    @property
    def _maker_optimiser(self) -> optax.GradientTransformation:
        return optax.adam(self.generator_rate, b1=0.5)

    @property
    def critic_weights(self) -> int:
        return sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(self._critic.init, jax.random.key(0))))

    # -- rows -----------------------------------------------------------------------------------------------------------
    def sampler(self, state: GanState) -> dict[str, Array]:
        """GradientQuery of the averaged generator and decoder, and what matches samples to the released moments."""
        return jax.jit(self._sampler)(state)

    def _sampler(self, state: GanState) -> dict[str, Array]:
        start = state.hints.start
        kept = {f"maker/{name}": value for name, value in state.average.items()}
        kept |= {f"decoder/{name}": value for name, value in self._decoder(state).items()}
        kept |= self._copula.fixed(start)
        if self.tethered:
            kept |= {f"start/{name}": getattr(start, name) for name in ("location", "log_scale", "trust")}
        if self.matched:
            draw = lambda classes, key: self._scores(state.average, self._decoder(state), classes, key)  # noqa: E731
            kept |= match(self.heads, self.classes, start, draw)
        return kept

    def sample(
        self, sampler: dict[str, Array], classes: Int[Array, " rows"], key: PRNGKeyArray
    ) -> Float[Array, "rows width"]:
        y = self._scores(part(sampler, "maker/"), part(sampler, "decoder/"), classes, key)
        if self.matched:
            y = matched(self.heads, sampler, y, classes)
        else:
            y = self._bounded(self._shifted(Fixed(sampler["threshold"]), y))
        return self._copula.row(sampler, self._mixed(sampler, y, classes, key) if self.tethered else y)

    def _mixed(self, sampler: dict[str, Array], y: Array, classes: Int[Array, " rows"], key: PRNGKeyArray) -> Array:
        """Rows that the start would draw, in place of those that the training is not trusted for."""
        key_coin, key_alone = jax.random.split(jax.random.fold_in(key, OTHERS))
        start = part(sampler, "start/")
        alone = self._copula.scores(self._copula.untrained(start["location"], start["log_scale"]), classes, key_alone)
        return jnp.where(jax.random.uniform(key_coin, (len(classes), 1)) < start["trust"][classes], y, alone)

    # -- artifact -------------------------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        settings = {name: value for name, value in asdict(self).items() if name not in ("heads", "classes")}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}

    @classmethod
    def from_dict(cls, settings: dict[str, Any], codec: Any) -> "GanGenerator":
        plain: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
        }
        return cls(heads=Heads.of(codec.blocks, codec.width), classes=codec.class_count, **plain)

    def mismatch(self, weights: Any) -> str:
        width = self.heads.width
        fixed = dict.fromkeys(("rates", "scales", "threshold"), (width,))
        own = self._copula.shapes() if self.maker == "copula" else self._network.shapes()
        shapes = {f"maker/{name}": shape for name, shape in own.items() if name not in fixed} | fixed
        if self.autoencoder != "none":
            shapes |= {f"decoder/{name}": shape for name, shape in self._autoencoder.decoder.shapes().items()}
        if self.tethered:
            shapes |= {f"start/{name}": (self.classes, width) for name in ("location", "log_scale")}
            shapes |= {"start/trust": (self.classes, 1)}
        return mismatch(weights, shapes | (match_shapes(self.classes, width) if self.matched else {}))


class Fixed(NamedTuple):
    threshold: Any


def like(weights: Any, flat: Float[Array, " coordinates"]) -> Any:
    """The front of a flat vector in the shape of `weights`."""
    vector, unravel = ravel_pytree(weights)
    return unravel(flat[: vector.shape[0]])


def part(weights: dict[str, Array], prefix: str) -> Params:
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}
