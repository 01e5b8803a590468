"""PATE-GAN as published: Algorithm 1 with the networks of the paper's appendix (Jordon, Yoon, van der Schaar 2019).

Generator and student have hidden layers of d, d/2 and d units, ReLU, sigmoid output; latent uniform on [0, 1]^d; Adam with rate
1e-4; per generator step n_S student steps on 64 fresh labelled fakes each. The label is one more column. For research: what the
paper's stopping rule does to the guarantee is said in `methods/pate_gan/published.py`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.conversation import Info
from understudy.nn.copula import Learned, Params, mismatch
from understudy.nn.heads import Heads
from understudy.questions.rounds import Judgement
from understudy.schema import Codec


class PublishedState(NamedTuple):
    """Generator, student and their optimisers."""

    generator: Params
    student: Params
    generator_opt: optax.OptState
    student_opt: optax.OptState


@dataclass(frozen=True)
class PublishedGenerator:
    """Public settings of the generator and student of the published code."""

    heads: Heads
    batch: int = 64
    teacher_steps: int = 5  # n_T
    student_steps: int = 5  # n_S
    learning_rate: float = 1e-4

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the generator's layers."""
        width = self.heads.width
        return (width, width, max(width // 2, 1), width)

    def init(self, key: PRNGKeyArray, hints: None) -> PublishedState:
        key_generator, key_student = jax.random.split(key)
        generator = mlp_init(key_generator, (*self.sizes, self.heads.width))
        student = mlp_init(key_student, (*self.sizes, 1))
        optimiser = optax.adam(self.learning_rate)
        return PublishedState(generator, student, optimiser.init(generator), optimiser.init(student))

    def query(self, state: PublishedState, key: PRNGKeyArray) -> Judgement:
        steps = self.teacher_steps + self.student_steps
        fakes = self._rows(state.generator, steps * self.batch, key)
        practice = fakes[: self.teacher_steps * self.batch].reshape(self.teacher_steps, 1, self.batch, self.heads.width)
        return Judgement(practice, fakes[self.teacher_steps * self.batch :][None])

    def update(
        self, state: PublishedState, query: Judgement, answer: Float[Array, "classes judged"], key: PRNGKeyArray
    ) -> tuple[PublishedState, Info]:
        optimiser = optax.adam(self.learning_rate)
        rows = query.judged.reshape(self.student_steps, self.batch, self.heads.width)
        labels = answer.reshape(self.student_steps, self.batch)

        def student_step(carry: Learned, inputs: tuple[Array, Array]) -> tuple[Learned, Float[Array, ""]]:
            student, opt = carry
            loss, grads = jax.value_and_grad(cross_entropy)(student, *inputs)
            updates, opt = optimiser.update(grads, opt)
            return (optax.apply_updates(student, updates), opt), loss

        (student, student_opt), losses = jax.lax.scan(student_step, (state.student, state.student_opt), (rows, labels))

        def fooled(generator: Params) -> Float[Array, ""]:
            logits = mlp(student, self._rows(generator, self.batch, key))[:, 0]
            return jax.nn.log_sigmoid(-logits).mean()  # Eq. 5: log(1 - S(G(z)))

        loss, grads = jax.value_and_grad(fooled)(state.generator)
        updates, generator_opt = optimiser.update(grads, state.generator_opt)
        generator = optax.apply_updates(state.generator, updates)
        info = {"student_loss": losses.mean(), "generator_loss": loss, "share": answer.mean()}
        return PublishedState(generator, student, generator_opt, student_opt), info

    def sampler(self, state: PublishedState) -> Params:
        return state.generator

    def sample(self, sampler: Params, classes: Int[Array, " rows"], key: PRNGKeyArray) -> Float[Array, "rows width"]:
        return self._rows(sampler, classes.shape[0], key)

    def _rows(self, generator: Params, rows: int, key: PRNGKeyArray) -> Float[Array, "rows width"]:
        return jax.nn.sigmoid(mlp(generator, jax.random.uniform(key, (rows, self.heads.width))))

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "heads"}

    @classmethod
    def from_dict(cls, settings: dict[str, Any], codec: Codec) -> "PublishedGenerator":
        """The way back from `to_dict`."""
        return cls(heads=Heads.of(codec.blocks, codec.width), **settings)

    def mismatch(self, weights: Mapping[str, Any]) -> str:
        sizes = (*self.sizes, self.heads.width)
        shapes = {f"weight{i}": pair for i, pair in enumerate(pairwise(sizes))}
        return mismatch(weights, shapes | {f"bias{i}": (size,) for i, size in enumerate(sizes[1:])})


def mlp_init(key: PRNGKeyArray, sizes: tuple[int, ...]) -> Params:
    """Xavier initialisation, as in the paper."""
    params = {}
    for i, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        limit = np.sqrt(6.0 / (fan_in + fan_out))
        key, key_weight = jax.random.split(key)
        params[f"weight{i}"] = jax.random.uniform(key_weight, (fan_in, fan_out), minval=-limit, maxval=limit)
        params[f"bias{i}"] = jnp.zeros(fan_out)
    return params


def mlp(params: Params, rows: Float[Array, "rows inputs"]) -> Float[Array, "rows outputs"]:
    """A fully connected network with one activation between layers."""
    layers = len(params) // 2
    for i in range(layers):
        rows = rows @ params[f"weight{i}"] + params[f"bias{i}"][None, :]
        rows = jax.nn.relu(rows) if i < layers - 1 else rows
    return rows


def cross_entropy(student: Params, rows: Float[Array, "rows width"], labels: Float[Array, " rows"]) -> Float[Array, ""]:
    """Of the student on labels that teachers gave."""
    logits = mlp(student, rows)[:, 0]
    return -(labels * jax.nn.log_sigmoid(logits) + (1.0 - labels) * jax.nn.log_sigmoid(-logits)).mean()
