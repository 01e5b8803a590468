"""The strongest attack there is: how likely is what was released, with the target and without?

Every Gaussian answer is y = f(table) + Z with Z ~ N(0, s^2), and the attacker knows both tables. So for each answer, given the
ones before it (on which the question may depend),

    log p(y | D) / p(y | D') = ((y - f(D'))^2 - (y - f(D))^2) / (2 s^2),        summed over all answers,

which no test can beat (Neyman, Pearson 1933). The exact answers f(D), f(D') come from the package's own curator and mechanisms,
run on both tables without noise but with the released answers in place of their own, so that they follow the same conversation.
What cannot be known for sure (which teacher got which row) is drawn anew; the ratio is then a guess at the best score, and
bounds from it are as valid as from any other score. Answers that are not linear in their noise (found categories and bounds,
chosen marginals and directions, gradients over samples) are left out; of the rounds, the votes of PATE-GAN are looked at.

A canary generator makes the rounds as telling as they can be: it asks the same question in every round, about rows far out in the
target's direction, after practice rows at the origin. A teacher that holds the target then answers 1, any other 0. The guarantee
covers it: it holds for questions chosen in any way.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from understudy.accounting import Ledger, Plan
from understudy.audit.shadow import KeptTable, Watch
from understudy.audit.targets import Pair
from understudy.conversation import Generator
from understudy.estimator import Estimator, Opening
from understudy.fit import Progress, open_conversation
from understudy.generators.pate_gan import Judgement
from understudy.private import Curator, Mechanism, NoiseSource
from understudy.private.mechanisms.teacher_votes import TeacherVotes
from understudy.private.rounds import program
from understudy.schema import Codec, Encoded

FAR = 1e4  # how far out the canary asks
SHARP = 1e-3  # scale that is assumed where a mechanism draws no noise
CANARY_STEPS = 60  # of practice, in every round


# -- what is asked once ---------------------------------------------------------------------------------------------------
class NoNoise:
    """Adds the same number everywhere and writes down which noise was asked for."""

    void_reason = "no noise: void"

    def __init__(self) -> None:
        self.value = 0
        self.asked: list[tuple[str, float, int]] = []

    def draw(self, kind: Any, scale: float, shape: tuple[int, ...]) -> np.ndarray:
        self.asked.append((str(kind), float(scale), int(np.prod(shape, dtype=np.int64))))
        return np.full(shape, self.value, np.int64)

    def secret(self, size: int) -> bytes:
        return bytes(size)


class Enough(Exception):
    """The last released answer has been looked at."""


class Witness(Curator):
    """Goes through a conversation that took place and says what each answer would have been on its own table."""

    __slots__ = ("_said", "exact")

    def __init__(self, table: KeptTable, pair: Pair, plan: Plan, said: Sequence[Any]) -> None:
        super().__init__(table, pair.schema, Ledger(plan), NoNoise())
        self._said = list(said)
        self.exact: list[tuple[np.ndarray, np.ndarray, np.ndarray, bool] | None] = []

    def _release(self, purpose: str, event: Any, compute: Callable[[], Any]) -> Any:
        said = self._said[len(self.exact)]
        self.exact.append(self._compare(said, compute))
        if len(self.exact) == len(self._said):
            raise Enough
        return said

    def _compare(self, said: Any, compute: Callable[[], Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool] | None:
        """What was said, the exact answer, the noise's scale in the same units, and whether it is Gaussian."""
        noise: Any = self._noise
        noise.value, noise.asked = 0, []
        exact = flat(compute())
        asked = list(noise.asked)
        noise.value = 1
        moved = flat(compute())
        heard = flat(said)
        if exact is None or moved is None or heard is None or len(heard) != len(exact) or len(moved) != len(exact):
            return None
        scale = np.concatenate([np.full(size, scale) for _, scale, size in asked] or [np.zeros(0)])
        step = moved - exact
        if len(scale) != len(exact) or not np.all(step > 0.0):
            return None
        return heard, exact, scale * step, asked[0][0] == "gaussian"


def flat(value: Any) -> np.ndarray | None:
    """Nested lists of numbers as one vector; None for anything else."""
    if isinstance(value, (list, tuple)):
        parts = [flat(item) for item in value]
        if any(part is None for part in parts):
            return None
        return np.concatenate([part for part in parts if part is not None] or [np.zeros(0)])
    return np.asarray([value], np.float64) if isinstance(value, (int, float)) else None


def ratio_of_first_answers(
    estimator: Estimator, pair: Pair, plan: Plan, tables: tuple[KeptTable, KeptTable], said: Sequence[Any]
) -> float:
    """Log-likelihood ratio of everything that was asked once."""
    sides = []
    for table in tables:
        witness = Witness(table, pair, plan, said)
        with contextlib.suppress(Enough):
            open_conversation(estimator, witness, pair.schema, plan, Progress(None, plan))
        sides.append(witness.exact)
    total = 0.0
    for without, with_ in zip(*sides, strict=True):
        if without is not None and with_ is not None:
            heard, exact, scale, gaussian = with_
            total += log_ratio(heard, without[1], exact, scale, gaussian)
    return total


def log_ratio(heard: np.ndarray, without: np.ndarray, with_: np.ndarray, scale: np.ndarray, gaussian: bool) -> float:
    if gaussian:
        return float((((heard - without) ** 2 - (heard - with_) ** 2) / (2.0 * scale**2)).sum())
    return float(((np.abs(heard - without) - np.abs(heard - with_)) / scale).sum())


# -- the rounds -----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Watched:
    """A mechanism beside two copies of itself that answer from D' and D without noise. Its answer carries the ratio."""

    inner: Mechanism
    gaussian: bool
    scale: float  # of the noise on the tape
    sides: tuple[tuple[Encoded, Any], ...] = field(default=(), compare=False)

    @property
    def program(self) -> "Watched":
        return replace(self, inner=program(self.inner), sides=())

    def event(self, rounds: int) -> Any:
        return self.inner.event(rounds)

    def tape(self, rounds: int, noise: NoiseSource) -> Any:
        return self.inner.tape(rounds, noise)

    def prepare(self, encoded: Encoded, units: Any, row_level: bool, noise: NoiseSource) -> tuple[Any, Any]:
        own = self.inner.prepare(encoded, units, row_level, noise)
        both = [self.inner.prepare(*side, row_level, noise) for side in self.sides]
        return tuple(zip(own, *both, strict=True))  # type: ignore[return-value]

    def answer(self, data: Any, held: Any, query: Any, noise: Any, key: Any) -> tuple[Any, Any]:
        own, said = self.inner.answer(data[0], held[0], query, noise, key)
        nothing = jnp.zeros_like(noise)
        without_held, without = self.inner.answer(data[1], held[1], query, nothing, key)
        with_held, with_ = self.inner.answer(data[2], held[2], query, nothing, key)
        _, moved = self.inner.answer(data[2], held[2], query, nothing + 1, key)
        scale = self.scale * (moved - with_)
        if self.gaussian:
            ratio = ((said - without) ** 2 - (said - with_) ** 2) / (2.0 * scale**2)
        else:
            ratio = (jnp.abs(said - without) - jnp.abs(said - with_)) / scale
        return (own, without_held, with_held), (said, ratio.sum())


@dataclass(frozen=True)
class Listener:
    """A generator that also writes down the ratio, and how the round was answered on average."""

    inner: Generator

    def init(self, key: Any, hints: Any) -> Any:
        return self.inner.init(key, hints)

    def query(self, state: Any, key: Any) -> Any:
        return self.inner.query(state, key)

    def update(self, state: Any, query: Any, answer: Any, key: Any) -> tuple[Any, dict[str, Any]]:
        said, ratio = answer
        state, _ = self.inner.update(state, query, said, key)
        return state, {"log_ratio": ratio, "answer": said.mean()}

    def sampler(self, state: Any) -> dict[str, Any]:
        return self.inner.sampler(state)

    def sample(self, sampler: dict[str, Any], classes: Any, key: Any) -> Any:
        return self.inner.sample(sampler, classes, key)

    def to_dict(self) -> dict[str, Any]:
        return self.inner.to_dict()

    def mismatch(self, weights: Any) -> str:
        return self.inner.mismatch(weights)


@dataclass(frozen=True)
class Canary:
    """Asks about the target in every round and learns nothing. Its state is the target's row as the teachers see it."""

    classes: int
    judged: int

    def init(self, key: Any, hints: Any) -> Any:
        return jnp.asarray(hints)

    def query(self, state: Any, key: Any) -> Judgement:
        width = state.shape[0]
        practice = jnp.zeros((CANARY_STEPS, self.classes, 1, width))
        return Judgement(practice, jnp.broadcast_to(FAR * state, (self.classes, self.judged, width)))

    def update(self, state: Any, query: Any, answer: Any, key: Any) -> tuple[Any, dict[str, Any]]:
        return state, {}

    def sampler(self, state: Any) -> dict[str, Any]:
        return {"target": state}

    def sample(self, sampler: dict[str, Any], classes: Any, key: Any) -> Any:
        return jnp.broadcast_to(sampler["target"], (classes.shape[0], sampler["target"].shape[0]))

    def to_dict(self) -> dict[str, Any]:
        return {}

    def mismatch(self, weights: Any) -> str:
        return ""


def watcher(pair: Pair, canary: bool) -> Watch:
    """Puts two noiseless copies beside a mechanism, and with `canary` a canary in the generator's place."""
    tables = kept_tables(pair)

    def watch(opening: Opening, codec: Codec, curator: Curator) -> Opening:
        mechanism = opening.mechanism
        if not isinstance(mechanism, TeacherVotes) or mechanism.answers == "label":
            return opening  # not linear in the noise of its tape
        noise = NoNoise()
        mechanism.tape(1, noise)
        kind, scale, _ = noise.asked[0] if noise.asked else ("gaussian", SHARP, 0)
        plain = [(table._encode(codec), table._unit_ids()) for table in tables]
        viewed = opening.marginals is not None and curator._encoded is not curator._rows()._encode(codec)
        sides = tuple((seen(encoded, opening) if viewed else encoded, units) for encoded, units in plain)
        generator, hints = opening.generator, opening.hints
        if canary:
            generator, hints = Canary(codec.class_count, mechanism.judged), direction(sides)
        watched = Watched(mechanism, kind == "gaussian", scale, sides)
        return opening._replace(generator=Listener(generator), hints=hints, mechanism=watched)

    return watch


def kept_tables(pair: Pair) -> tuple[KeptTable, KeptTable]:
    return KeptTable(pair.without, pair.schema), KeptTable(pair.with_, pair.schema)


def seen(encoded: Encoded, opening: Opening) -> Encoded:
    return encoded._replace(rows=opening.marginals.view(encoded.rows))  # type: ignore[union-attr]


def direction(sides: tuple[tuple[Encoded, Any], ...]) -> np.ndarray:
    """The target's row, made as long as 1: what D has and D' has not."""
    row = sides[1][0].rows[-1] if len(sides[1][0].rows) else np.ones(sides[1][0].rows.shape[1], np.float32)
    return row / max(float(np.linalg.norm(row)), 1e-6)


def ratios_of_rounds(info: Sequence[dict[str, np.ndarray]]) -> np.ndarray:
    """Sum over rounds, in double precision; nothing where there were no rounds."""
    return np.asarray(
        [float(np.sum(one["log_ratio"], dtype=np.float64)) if "log_ratio" in one else 0.0 for one in info]
    )
