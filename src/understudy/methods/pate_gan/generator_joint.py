"""The public side of joint votes: a student that is a regression, and a generator that follows it.

A round of the conversation (`private/mechanisms/joint_votes.py`):

    query    generated rows of every class to practise against, and n rows u_j to be judged
    answer   r = mean over teachers of their centred, clipped vectors, with noise of a known deviation tau
    update   student: S_c(u) = b_c psi(u), the ridge regression of r on the features psi of the judged rows,
                 b = Psi' (Psi Psi' + (tau^2 / v) 1)^-1 r,    v such that n tau^2 + v tr(Psi Psi') = |r|^2
             generator: ascent of mean_z S_c(G_c(z)) (Eq. 5 with a critic's score in place of log S), one step in the units of its
             own locations and scales, whole at first and later falling like 1 / round

Noise of a known size makes the best student a closed form: v is what the answers hold beyond their noise, so a round that is
noise alone moves nothing. Falling steps average the noise of all rounds (Robbins, Monro 1951), while each round asks about the
generator as it is by then. The features see one column at a time, so columns are drawn independently within a class.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.conversation import Info
from understudy.nn.copula import Copula, Params, Start, mismatch
from understudy.nn.heads import Heads
from understudy.questions.panels import Frame, Panel, features, frame_of
from understudy.schema import Codec

LEAST_PRIOR = 1e-9  # of v: below it there is nothing but noise
LEAST_RIDGE = 1e-4
LEAST_RATIO = 0.1  # of a variance to what it was, in one step
MOST_MOVE = 1.0  # of a location in one step, in deviations of the generated rows


class JointHints(NamedTuple):
    """Released or public: where rows start, and how a mean vote of every class is to be read."""

    start: Start
    blur: np.ndarray | Array  # [classes] tau
    slope: np.ndarray | Array  # [classes] mean vote of teachers that are not clipped, per unit of what they see


class JointState(NamedTuple):
    """The generator, what it started from, and the round."""

    generator: Params
    hints: JointHints
    round: Float[Array, ""]


@dataclass(frozen=True)
class JointGenerator:
    """Public settings of generator and student."""

    heads: Heads
    classes: int
    judged: int
    practice: int
    teacher_steps: int
    batch: int
    whole_steps: int

    @property
    def network(self) -> Copula:
        """The network that draws rows; its neural part stays at zero, for no feature would hold it."""
        return Copula(self.heads, self.classes, 1, 1)

    @property
    def squared(self) -> tuple[int, ...]:
        """Coordinates whose squares are features: the numeric ones."""
        return tuple(int(at) for at in np.flatnonzero(self.heads.coordinates("numeric")))

    # -- the conversation ----------------------------------------------------------------------------------------------
    def init(self, key: PRNGKeyArray, hints: JointHints) -> JointState:
        start = hints.start
        generator = self.network.untrained(jnp.asarray(start.location), jnp.asarray(start.log_scale))
        return JointState(generator, jax.tree.map(jnp.asarray, hints), jnp.zeros(()))

    def query(self, state: JointState, key: PRNGKeyArray) -> Panel:
        key_practice, key_judged = jax.random.split(key)
        practice = self._fakes(state, state.generator, self.teacher_steps * self.practice, key_practice)
        practice = practice.reshape(self.classes, self.teacher_steps, self.practice, self.heads.width)
        return Panel(jnp.swapaxes(practice, 0, 1), self._fakes(state, state.generator, self.judged, key_judged))

    def update(
        self, state: JointState, query: Panel, answer: Float[Array, "classes judged"], key: PRNGKeyArray
    ) -> tuple[JointState, Info]:
        frame = frame_of(query.practice)
        judged = features(frame, query.judged, self.squared)
        judged = judged - judged.mean(axis=1, keepdims=True)
        slope, blur = jnp.asarray(state.hints.slope), jnp.asarray(state.hints.blur)
        student, signal = jax.vmap(ridge)(judged, answer / slope[:, None], blur / slope)
        size = 1.0 / jnp.maximum(1.0, state.round - self.whole_steps + 1.0)
        generator = self._follow(state, frame, student, size, key)
        info = {"signal": signal.mean(), "student": jnp.sqrt((student**2).sum(axis=1)).mean()}
        return JointState(generator, state.hints, state.round + 1.0), info

    def sampler(self, state: JointState) -> Params:
        return state.generator | self.network.fixed(state.hints.start)

    def sample(self, sampler: Params, classes: Int[Array, " rows"], key: PRNGKeyArray) -> Float[Array, "rows width"]:
        return self.network.row(sampler, self.network.scores(sampler, classes, key))

    # -- learning ------------------------------------------------------------------------------------------------------
    def _fakes(
        self, state: JointState, generator: Params, rows: int, key: PRNGKeyArray
    ) -> Float[Array, "classes rows width"]:
        classes = jnp.repeat(jnp.arange(self.classes), rows)
        y = self.network.scores(generator, classes, key)
        return self.network.view(state.hints.start._asdict(), y).reshape(self.classes, rows, self.heads.width)

    def _follow(
        self, state: JointState, frame: Frame, student: Float[Array, "classes features"], size: Array, key: PRNGKeyArray
    ) -> Params:
        """One step up the student's mean score. Its slope in a location, in deviations, is how far the mean is off, and its slope
        in the logarithm of a scale is how far the variance is off, over what it is."""

        def score(generator: Params) -> Float[Array, ""]:
            fakes = self._fakes(state, generator, self.batch, key)
            return jnp.einsum("cnf,cf->", features(frame, fakes, self.squared), student) / self.batch

        slope = jax.grad(score)(state.generator)
        scale = jnp.exp(state.generator["log_scale"])
        move = jnp.clip(scale * slope["location"], -MOST_MOVE, MOST_MOVE)
        stretch = 0.5 * jnp.log(jnp.clip(1.0 + slope["log_scale"], LEAST_RATIO, 1.0 / LEAST_RATIO))
        return state.generator | {
            "location": state.generator["location"] + size * scale * move,
            "log_scale": state.generator["log_scale"] + size * stretch,
        }

    # -- artifact --------------------------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in ("heads", "classes")}

    @classmethod
    def from_dict(cls, settings: dict[str, Any], codec: Codec) -> "JointGenerator":
        """The way back from `to_dict`. Models of before say `settle` for `whole_steps`."""
        known = {"whole_steps" if name == "settle" else name: value for name, value in settings.items()}
        return cls(heads=Heads.of(codec.blocks, codec.width), classes=codec.class_count, **known)

    def mismatch(self, weights: Mapping[str, Any]) -> str:
        return mismatch(weights, self.network.shapes())


def ridge(
    judged: Float[Array, "rows features"], answer: Float[Array, " rows"], blur: Float[Array, ""]
) -> tuple[Float[Array, " features"], Float[Array, ""]]:
    """The student of one class, and how far its answers stand out: their deviation over that of their noise."""
    gram = judged @ judged.T
    beyond = jnp.maximum((answer**2).sum() - answer.shape[0] * blur**2, 0.0)
    prior = jnp.maximum(beyond / jnp.maximum(jnp.trace(gram), LEAST_PRIOR), LEAST_PRIOR)
    noise = blur**2 / prior + LEAST_RIDGE
    weights = jnp.linalg.solve(gram + noise * jnp.eye(answer.shape[0]), answer)
    return judged.T @ weights, jnp.sqrt((answer**2).mean()) / blur
