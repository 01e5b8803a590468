"""PATE-GAN's public side: generator and student (Jordon, Yoon, van der Schaar 2019, Section 4 and Algorithm 1).

A round of the conversation:

    query    rows for the teachers to practise on, and rows u_j = G(z_j) to be judged (each judged row is paid for)
    answer   r_j = noisy share of teachers that call u_j real
    update   n_S student steps on Eq. 7,    L_S = -sum_j r_j log S(u_j) + (1 - r_j) log(1 - S(u_j)),
             then generator steps on Eq. 5 in its non-saturating form,   L_G = -sum_j log S(G(z_j))

Cross-entropy is linear in r_j, so the unbiased noisy share serves as the target as it is. With `student="wasserstein"` the
student is a critic with bounded weights instead,

    L_S = -sum_j (r_j - mean r) S(u_j),       L_G = -sum_j S(G(z_j))

the difference between its mean over rows as they are voted real and as they are voted fake, up to a factor.

The student also learns from the answers of earlier rounds (replay: post-processing, free). The generator starts from released
class moments and is held to them by their own standard error, and a class whose answers drown in noise is trusted little
(`Start.trust`, from public values), so that noisy answers can refine but not wreck what was paid for before.
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
from understudy.questions.rounds import Judgement
from understudy.schema import Codec

WEIGHT_CLIP = 0.1  # bound on every weight of a Wasserstein student, as DPGAN's critic has


class PateGanState(NamedTuple):
    """Generator, student, their optimisers, and the answers they learn from."""

    generator: Params
    student: Params
    generator_opt: optax.OptState
    student_opt: optax.OptState
    start: Start  # released, constant
    seen: Float[Array, "classes answers width"]  # replay: rows that were judged,
    shares: Float[Array, "classes answers"]  # and what was released about them
    answered: Int[Array, ""]


@dataclass(frozen=True)
class PateGanGenerator:
    """Public settings of PATE-GAN's generator and student."""

    heads: Heads
    classes: int
    latent: int
    hidden: int
    student_hidden: int
    judged: int
    practice: int
    teacher_steps: int
    student_steps: int
    generator_steps: int
    batch: int
    rounds: int
    student_learning_rate: float
    generator_learning_rate: float
    student_decay: float
    replay: bool
    student: Literal["cross-entropy", "wasserstein"] = "cross-entropy"

    @property
    def network(self) -> Copula:
        """The network that draws rows."""
        return Copula(self.heads, self.classes, self.latent, self.hidden)

    # -- the conversation ----------------------------------------------------------------------------------------------
    def init(self, key: PRNGKeyArray, hints: Start) -> PateGanState:
        key_generator, key_student = jax.random.split(key)
        generator = self.network.init(key_generator, hints)
        student = student_init(key_student, self.heads.width, self.classes, self.student_hidden)
        kept = self.rounds * self.judged if self.replay else self.judged
        return PateGanState(
            generator,
            student,
            self._generator_optimiser.init(generator),
            self._student_optimiser.init(student),
            jax.tree.map(jnp.asarray, hints),
            jnp.zeros((self.classes, kept, self.heads.width)),
            jnp.zeros((self.classes, kept)),
            jnp.zeros((), jnp.int32),
        )

    def query(self, state: PateGanState, key: PRNGKeyArray) -> Judgement:
        key_practice, key_judged = jax.random.split(key)
        practice = self._fakes(state, self.teacher_steps * self.practice, key_practice)
        practice = practice.reshape(self.classes, self.teacher_steps, self.practice, self.heads.width)
        return Judgement(jnp.swapaxes(practice, 0, 1), self._fakes(state, self.judged, key_judged))

    def update(
        self, state: PateGanState, query: Judgement, answer: Float[Array, "classes judged"], key: PRNGKeyArray
    ) -> tuple[PateGanState, Info]:
        slot = state.answered % state.seen.shape[1]
        state = state._replace(
            seen=jax.lax.dynamic_update_slice_in_dim(state.seen, query.judged, slot, axis=1),
            shares=jax.lax.dynamic_update_slice_in_dim(state.shares, answer, slot, axis=1),
            answered=state.answered + self.judged,
        )
        key_student, key_generator = jax.random.split(key)
        state, student_loss = self._learn_student(state, key_student)
        state, generator_loss = self._learn_generator(state, key_generator)
        trust = state.start.trust  # a class whose answers are noise would hide the others' mean
        return state, {
            "student_loss": student_loss,
            "generator_loss": generator_loss,
            "share": (trust * answer).sum() / (trust.sum() * self.judged),
        }

    def sampler(self, state: PateGanState) -> Params:
        return state.generator | self.network.fixed(state.start)

    def sample(self, sampler: Params, classes: Int[Array, " rows"], key: PRNGKeyArray) -> Float[Array, "rows width"]:
        return self.network.row(sampler, self.network.scores(sampler, classes, key))

    # -- learning ------------------------------------------------------------------------------------------------------
    def _fakes(self, state: PateGanState, rows: int, key: PRNGKeyArray) -> Float[Array, "classes rows width"]:
        classes = jnp.repeat(jnp.arange(self.classes), rows)
        y = self.network.scores(state.generator, classes, key)
        return self.network.view(state.start._asdict(), y).reshape(self.classes, rows, self.heads.width)

    def _learn_student(self, state: PateGanState, key: PRNGKeyArray) -> tuple[PateGanState, Float[Array, ""]]:
        filled = jnp.minimum(state.answered, state.seen.shape[1])

        def step(carry: Learned, key: PRNGKeyArray) -> tuple[Learned, Float[Array, ""]]:
            student, opt = carry
            picked = jax.random.randint(key, (self.classes, self.batch), 0, filled)
            rows = jnp.take_along_axis(state.seen, picked[..., None], axis=1)
            shares = jnp.take_along_axis(state.shares, picked, axis=1)
            of = critic_loss if self._critic else student_loss
            loss, grads = jax.value_and_grad(of)(student, rows, shares, state.start.trust)
            updates, opt = self._student_optimiser.update(grads, opt, student)
            student = optax.apply_updates(student, updates)
            if self._critic:
                student = jax.tree.map(lambda weight: jnp.clip(weight, -WEIGHT_CLIP, WEIGHT_CLIP), student)
            return (student, opt), loss

        keys = jax.random.split(key, self.student_steps)
        (student, opt), losses = jax.lax.scan(step, (state.student, state.student_opt), keys)
        return state._replace(student=student, student_opt=opt), losses.mean()

    def _learn_generator(self, state: PateGanState, key: PRNGKeyArray) -> tuple[PateGanState, Float[Array, ""]]:
        def loss(generator: Params, key: PRNGKeyArray) -> Float[Array, ""]:
            fakes = self._fakes(state._replace(generator=generator), self.batch, key)
            logits = student_logits(state.student, fakes)
            pleased = logits if self._critic else jax.nn.log_sigmoid(logits)
            fooled: Float[Array, ""] = -(state.start.trust * pleased).mean()
            return fooled + self._prior(generator, state.start)

        def step(carry: Learned, key: PRNGKeyArray) -> tuple[Learned, Float[Array, ""]]:
            generator, opt = carry
            value, grads = jax.value_and_grad(loss)(generator, key)
            updates, opt = self._generator_optimiser.update(grads, opt)
            return (optax.apply_updates(generator, updates), opt), value

        keys = jax.random.split(key, self.generator_steps)
        (generator, opt), losses = jax.lax.scan(step, (state.generator, state.generator_opt), keys)
        return state._replace(generator=generator, generator_opt=opt), losses.mean()

    def _prior(self, generator: Params, start: Start) -> Float[Array, ""]:
        """Minus the log-density of a normal prior around the released moments, per answer like the loss beside it."""
        moved = (generator["location"] - start.location) ** 2 + (generator["log_scale"] - start.log_scale) ** 2
        loose = (generator["mix"] ** 2).mean() + (generator["outer"] ** 2).mean()
        per_answer = self.heads.width / (2.0 * self.rounds * self.judged)
        return per_answer * ((moved / start.prior_deviation**2).mean() + loose)

    @property
    def _critic(self) -> bool:
        return self.student == "wasserstein"

    @property
    def _generator_optimiser(self) -> optax.GradientTransformation:
        return optax.flatten(
            optax.adam(self.generator_learning_rate)
        )  # one vector: fewer kernels, half the compile time

    @property
    def _student_optimiser(self) -> optax.GradientTransformation:
        return optax.flatten(optax.adamw(self.student_learning_rate, weight_decay=self.student_decay))

    # -- artifact --------------------------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("heads", "classes")}

    @classmethod
    def from_dict(cls, settings: dict[str, Any], codec: Codec) -> "PateGanGenerator":
        """The way back from `to_dict`."""
        return cls(heads=Heads.of(codec.blocks, codec.width), classes=codec.class_count, **settings)

    def mismatch(self, weights: Mapping[str, Any]) -> str:
        return mismatch(weights, self.network.shapes())


def student_init(key: PRNGKeyArray, width: int, classes: int, hidden: int) -> Params:
    """One hidden layer on the row and its class, and a linear path beside it."""
    key_inner, key_outer = jax.random.split(key)
    return {
        "inner": jax.random.normal(key_inner, (width, hidden)) / np.sqrt(width),
        "inner_class": jnp.zeros((classes, hidden)),
        "outer": jax.random.normal(key_outer, (hidden,)) / np.sqrt(hidden),
        "direct": jnp.zeros((classes, width)),
        "bias": jnp.zeros((classes,)),
    }


def student_logits(student: Params, rows: Float[Array, "classes rows width"]) -> Float[Array, "classes rows"]:
    """The student of each class on rows of that class."""
    hidden = jax.nn.relu(rows @ student["inner"] + student["inner_class"][:, None, :])
    direct = jnp.einsum("cnw,cw->cn", rows, student["direct"])
    return hidden @ student["outer"] + direct + student["bias"][:, None]


def critic_loss(
    student: Params,
    rows: Float[Array, "classes rows width"],
    shares: Float[Array, "classes rows"],
    trust: Float[Array, "classes 1"],
) -> Float[Array, ""]:
    """Of a Wasserstein student; linear in the noisy shares, too."""
    centred = shares - shares.mean(axis=1, keepdims=True)
    return -(trust * centred * student_logits(student, rows)).mean()


def student_loss(
    student: Params,
    rows: Float[Array, "classes rows width"],
    shares: Float[Array, "classes rows"],
    trust: Float[Array, "classes 1"],
) -> Float[Array, ""]:
    """Eq. 7: cross-entropy with the noisy share as target; linear in it, so the noise averages out."""
    logits = student_logits(student, rows)
    entropy = shares * jax.nn.log_sigmoid(logits) + (1.0 - shares) * jax.nn.log_sigmoid(-logits)
    return -(trust * entropy).mean()
