"""G-PATE's public side: a generator that follows the direction most teachers agree on (Long et al. 2021, Algorithm 2).

A round of the conversation:

    query    rows for the teachers to practise on, rows x_j = G(z_j) to be judged, and a random projection R, entries N(0, 1/k)
    answer   for each judged row and projected coordinate the bin most teachers vote for, as its mid-point in units of the clip,
             or "no consensus"
    update   steps on Eq. 2,   L_G = mean_j |G(z_j) - (x_j + step du_j R^T)|^2,   with the same z_j

No consensus counts as du = 0: in that direction the row is asked to stay where it is. There is no student: the teachers' wishes
reach the generator as they were released. The generator may start from released class moments and is then held to them
by their own standard error, and classes whose answers drown in noise move little (`Start.trust`).
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.conversation import Info
from understudy.nn.copula import Copula, Learned, Params, Start, mismatch
from understudy.nn.heads import Heads
from understudy.nn.images import Deconv
from understudy.questions.rounds import Directions, Probe
from understudy.schema import Codec


class Hints(NamedTuple):
    """Released values a generator starts from."""

    start: Start
    shares: np.ndarray  # [classes] of the rows, for an ensemble that judges all classes


class GPateState(NamedTuple):
    """The generator, its optimiser, and what was released."""

    generator: Params
    opt: optax.OptState
    hints: Hints  # released, constant
    round: Int[Array, ""]


@dataclass(frozen=True)
class GPateGenerator:
    """Public settings of a generator that follows the directions teachers vote for."""

    heads: Heads
    classes: int
    by_class: bool  # an ensemble per class, or one that sees the class as a one-hot
    latent: int
    hidden: int
    rounds: int
    judged: int
    practice: int
    projected: int
    teacher_steps: int
    generator_steps: int
    generator_learning_rate: float
    step: float  # length of a wish: how far a row is asked to move
    hold: float  # weight of the released moments in the loss
    image: tuple[int, int, int] | None = None  # rows are pictures of this shape
    network: Literal["dense", "conv"] = "dense"  # conv: pictures are drawn by transposed convolutions

    @property
    def copula(self) -> Copula:
        """The network that draws rows."""
        return Copula(self.heads, self.classes, self.latent, self.hidden, self.image)

    @property
    def deconv(self) -> Deconv | None:
        """The network for images; `copula` still says how scores become rows."""
        if self.image is None or self.network == "dense":
            return None
        return Deconv(self.heads, self.classes, self.latent, self.hidden, self.image)

    # -- the conversation ----------------------------------------------------------------------------------------------
    def init(self, key: PRNGKeyArray, hints: Hints) -> GPateState:
        hints = jax.tree.map(jnp.asarray, hints)
        start, deconv = hints.start, self.deconv
        generator = (
            self.copula.init(key, start) if deconv is None else deconv.init(key, start.location, start.log_scale)
        )
        return GPateState(generator, self._optimiser.init(generator), hints, jnp.zeros((), jnp.int32))

    def query(self, state: GPateState, key: PRNGKeyArray) -> Probe:
        key_practice, key_class, key_judged, key_projection, key_latent = jax.random.split(key, 5)
        size = self.teacher_steps * self.practice
        practice = self._seen(state, self._draw_classes(state, size, key_class), key_practice)
        practice = practice.reshape(-1, self.teacher_steps, self.practice, practice.shape[-1])
        classes = self._draw_classes(state, self.judged, key_judged)
        judged = self._seen(state, classes, key_latent)
        projection = self._projection(key_projection, judged.shape[:2])
        return Probe(jnp.swapaxes(practice, 0, 1), judged, projection, classes, key_latent)

    def _projection(self, key: PRNGKeyArray, rows: tuple[int, ...]) -> Float[Array, "groups judged width projected"]:
        """One for every judged row; with as many dimensions as coordinates none, as in the paper's ablation (Table 3)."""
        width = self.heads.width
        if self.projected == width:
            return jnp.broadcast_to(jnp.eye(width), (*rows, width, width))
        normals = self.copula.normals(key, (*rows, self.projected, width))
        return jnp.swapaxes(normals, -1, -2) / jnp.sqrt(self.projected)

    def update(self, state: GPateState, query: Probe, answer: Directions, key: PRNGKeyArray) -> tuple[GPateState, Info]:
        width = self.heads.width
        moves = self._length(state.round) * jnp.einsum("gjk,gjwk->gjw", answer.middle, query.projection).reshape(
            -1, width
        )
        target = query.judged[..., :width].reshape(-1, width) + moves
        trust = state.hints.start.trust[query.classes]

        def loss(generator: Params) -> Float[Array, ""]:
            rows = self._rows(state, generator, query.classes, query.latent)
            distance: Float[Array, ""] = (trust * (rows - target) ** 2).mean()
            return distance + self.hold * self._prior(generator, state.hints.start)

        def step(carry: Learned, _: None) -> tuple[Learned, Float[Array, ""]]:
            generator, opt = carry
            value, grads = jax.value_and_grad(loss)(generator)
            if self.image is not None:
                grads = grads | {"location": jnp.zeros_like(grads["location"])}
            updates, opt = self._optimiser.update(grads, opt)
            return (optax.apply_updates(generator, updates), opt), value

        before = state.generator
        if self.image is not None:
            before = before | {"location": self._follow(state, query.classes, trust * moves)}
        (generator, opt), losses = jax.lax.scan(step, (before, state.opt), None, self.generator_steps)
        info = {"answered": answer.answered.mean(dtype=jnp.float32), "generator_loss": losses.mean()}
        return state._replace(generator=generator, opt=opt, round=state.round + 1), info

    def _length(self, number: Int[Array, ""]) -> Float[Array, ""]:
        """How far a row is asked to move; in pictures less and less, so that the noise of early answers is forgotten."""
        return jnp.asarray(self.step * (1.0 - number / self.rounds if self.image is not None else 1.0))

    def _follow(
        self, state: GPateState, classes: Int[Array, " rows"], moves: Float[Array, "rows width"]
    ) -> Float[Array, "classes width"]:
        """Location of every class after its rows' mean move, the minimum of Eq. 2 over it, drawn back to where it started by
        the weight of the released moments.

        In closed form, because steps normalised pixel by pixel (Adam) would move pixels without a wish as far as the others.
        """
        member = jax.nn.one_hot(classes, self.classes)
        mean = member.T @ moves / jnp.maximum(member.sum(axis=0), 1.0)[:, None]
        home, hold = jnp.asarray(state.hints.start.location), self.hold / state.hints.start.prior_deviation**2
        return home + (state.generator["location"] + mean - home) / (1.0 + hold)

    def sampler(self, state: GPateState) -> Params:
        return state.generator | self.copula.fixed(state.hints.start)

    def sample(self, sampler: Params, classes: Int[Array, " rows"], key: PRNGKeyArray) -> Float[Array, "rows width"]:
        return self.copula.row(sampler, self._scores(sampler, classes, key))

    # -- rows ------------------------------------------------------------------------------------------------------------
    def _draw_classes(self, state: GPateState, rows: int, key: PRNGKeyArray) -> Int[Array, " drawn"]:
        """`rows` of every class in turn, or `rows` in all by the released class shares."""
        if self.by_class:
            return jnp.repeat(jnp.arange(self.classes), rows)
        return jax.random.choice(key, self.classes, (rows,), p=state.hints.shares)

    def _rows(
        self, state: GPateState, generator: Params, classes: Int[Array, " rows"], key: PRNGKeyArray
    ) -> Float[Array, "rows width"]:
        return self.copula.view(state.hints.start._asdict(), self._scores(generator, classes, key))

    def _scores(self, generator: Params, classes: Int[Array, " rows"], key: PRNGKeyArray) -> Float[Array, "rows width"]:
        return (self.deconv or self.copula).scores(generator, classes, key)

    def _seen(
        self, state: GPateState, classes: Int[Array, " rows"], key: PRNGKeyArray
    ) -> Float[Array, "groups rows_of_group inputs"]:
        """Rows as the teachers see them."""
        rows = self._rows(state, state.generator, classes, key)
        if self.by_class:
            return rows.reshape(self.classes, -1, self.heads.width)
        return jnp.concatenate([rows, jax.nn.one_hot(classes, self.classes)], axis=1)[None]

    def _prior(self, generator: Params, start: Start) -> Float[Array, ""]:
        """Minus the log-density of a normal prior around the released moments."""
        moved = (generator["location"] - start.location) ** 2 + (generator["log_scale"] - start.log_scale) ** 2
        loose = ("mix", "outer") if self.deconv is None else ("last",)
        return (moved / start.prior_deviation**2).mean() + sum((generator[name] ** 2).mean() for name in loose)

    @property
    def _optimiser(self) -> optax.GradientTransformation:
        return optax.flatten(optax.adam(self.generator_learning_rate))

    # -- artifact --------------------------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("heads", "classes")}

    @classmethod
    def from_dict(cls, settings: dict[str, Any], codec: Codec) -> "GPateGenerator":
        """The way back from `to_dict`."""
        image = None if settings["image"] is None else tuple(settings["image"])
        heads = Heads.of(codec.blocks, codec.width)
        return cls(heads=heads, classes=codec.class_count, **settings | {"image": image})

    def mismatch(self, weights: Mapping[str, Any]) -> str:
        shapes = self.copula.shapes()
        if self.deconv is not None:
            shapes = {name: shapes[name] for name in ("rates", "scales", "threshold")} | self.deconv.shapes()
        return mismatch(weights, shapes)
