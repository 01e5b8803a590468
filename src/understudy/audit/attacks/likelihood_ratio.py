"""The strongest attack there is: how likely is what was released, with the target and without?

Every Gaussian answer is y = f(table) + Z with Z ~ N(0, s^2), and the attacker knows both tables. So for each answer, given the
ones before it (on which the question may depend),

    log p(y | D) / p(y | D') = ((y - f(D'))^2 - (y - f(D))^2) / (2 s^2),        summed over all answers,

which no test can beat (Neyman, Pearson 1933). The exact answers f(D), f(D') come from the package's own curator and mechanisms,
run on both tables without noise but with the released answers in place of their own, so that they follow the same conversation.
What cannot be known for sure (which teacher got which row) is drawn anew; the ratio is then a guess at the best score, and
bounds from it are as valid as from any other score. Answers that are not linear in their noise (found categories and bounds,
chosen marginals and directions) are left out; of the rounds, the votes of PATE-GAN, single or joint, are looked
at, and with a canary the noisy gradients (`gradient_ratio.py`).

A canary generator makes the rounds as telling as they can be: it asks the same question in every round, about rows far out in the
target's direction, after practice rows at the origin. A teacher that holds the target then answers 1, any other 0. Where teachers
answer with vectors, practice rows lie between the others' rows and the target's, and judged rows on both sides of them: with the
target a teacher's vector points its way, without it a teacher of another row points the opposite way. The guarantee covers it: it
holds for questions chosen in any way.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import dp_accounting as dpa
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.accounting import Ledger, Plan
from understudy.audit.attacks.gradient_ratio import Still, WatchedGradient
from understudy.audit.attacks.wrapped import Wrapped
from understudy.audit.shadow import Brief, Enough, KeptTable, Tables, Watch
from understudy.audit.targets import Pair, Side
from understudy.conversation import Answer, Hints, Info, Query, State
from understudy.estimator import Estimator
from understudy.fit import open_conversation
from understudy.private import Curator, Mechanism, NoiseSource, Release
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.joint_votes import JointVotes
from understudy.private.mechanisms.noisy_gradient import NoisyGradient
from understudy.private.mechanisms.teacher_votes import TeacherVotes
from understudy.private.noise import IntArray
from understudy.private.rounds import Data, Held, program
from understudy.questions import Step
from understudy.questions.panels import Panel
from understudy.questions.rounds import Judgement
from understudy.recipe import Opening
from understudy.schema import Codec
from understudy.teller import Teller

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

    def draw(self, kind: object, scale: float, shape: tuple[int, ...]) -> np.ndarray:
        """Remember what was asked for and give the fixed value instead of noise."""
        self.asked.append((str(kind), float(scale), int(np.prod(shape, dtype=np.int64))))
        return np.full(shape, self.value, np.int64)

    def secret(self, size: int) -> bytes:
        """Zeros: nothing is hidden from the auditor."""
        return bytes(size)


class Witness(Curator):
    """Goes through a conversation that takes place elsewhere and says what each answer would be on its own table."""

    __slots__ = ("_heard", "_scales", "exact")

    def __init__(self, table: KeptTable, real: Curator, scales: dict[Any, Any]) -> None:
        super().__init__(table, real._schema, real._ledger, NoNoise())
        self._heard, self._scales = real.transcript, scales
        self.exact: list[Exact | None] = []

    def _release(self, purpose: str, event: object, compute: Callable[[], Any]) -> Any:
        said = self._heard[len(self.exact)]
        self.exact.append(self._compare(purpose, said, compute))
        return said

    def _compare(self, purpose: str, said: object, compute: Callable[[], Any]) -> "Exact | None":
        noise: Any = self._noise
        noise.value, noise.asked = 0, []
        exact, heard = flat(compute()), flat(said)
        if exact is None or heard is None or len(heard) != len(exact):
            return None
        asked = tuple(noise.asked)
        key = (purpose, asked, len(exact))
        if key not in self._scales:  # one step of noise more shows how the answer scales it
            noise.value = 1
            moved = flat(compute())
            step = np.zeros(len(exact)) if moved is None or len(moved) != len(exact) else moved - exact
            scale = np.concatenate([np.full(size, scale) for _, scale, size in asked] or [np.zeros(0)])
            linear = len(scale) == len(exact) and bool(np.all(step > 0.0))
            self._scales[key] = scale * step if linear else None
        scale = self._scales[key]
        return None if scale is None else Exact(heard, exact, scale, asked[0][0] == "gaussian")


class Exact(NamedTuple):
    """What was said, the exact answer, and the noise's scale in the same units."""

    heard: np.ndarray
    exact: np.ndarray
    scale: np.ndarray
    gaussian: bool


class Overheard(Curator):
    """Passes every question on to a curator, and to a witness for each table of the pair."""

    __slots__ = ("asked", "last", "real", "witnesses")

    def __init__(self, real: Curator, tables: tuple[KeptTable, KeptTable], last: int, scales: dict[Any, Any]) -> None:
        super().__init__(None, real._schema, real._ledger, NoNoise())
        self.real, self.last = real, last
        self.asked: list[tuple[str, Any]] = []
        self.witnesses = [Witness(table, real, scales) for table in tables]

    def adopt(self, codec: Codec) -> Release[None]:
        """All three take the codec."""
        for one in (*self.witnesses, self.real):
            release = one.adopt(codec)
        return release

    def see(self, row_map: Step) -> Release[None]:
        """All three take the row map."""
        for one in (*self.witnesses, self.real):
            release = one.see(row_map)
        return release

    def ask(self, purpose: str, question: Any) -> Release[Any]:
        """The real answer; both witnesses note what theirs would have been."""
        self.asked.append((purpose, question))
        release: Release[Any] | None = None
        with contextlib.suppress(Enough):
            release = self.real.ask(purpose, question)
        for witness in self.witnesses:
            witness.ask(purpose, question)
        if release is None or len(self.real.transcript) == self.last:
            raise Enough
        return release

    @property
    def moves(self) -> list[tuple[str, Any, float | None]]:
        """Purpose, question, and how far apart the answers of both witnesses are, squared, in units of the noise."""
        pairs = zip(self.witnesses[0].exact, self.witnesses[1].exact, strict=True)
        squares = [
            None if a is None or b is None else float((((a.exact - b.exact) / a.scale) ** 2).sum()) for a, b in pairs
        ]
        return [(*asked, square) for asked, square in zip(self.asked, squares, strict=True)]

    @property
    def ratio(self) -> float:
        """Log-likelihood ratio of all answers whose noise is known."""
        pairs = zip(self.witnesses[0].exact, self.witnesses[1].exact, strict=True)
        known = [(one, other) for other, one in pairs if other is not None and one is not None]
        return sum((log_ratio(a.heard, b.exact, a.exact, a.scale, a.gaussian) for a, b in known), 0.0)


def flat(value: object) -> np.ndarray | None:
    """Nested lists of numbers as one vector; None for anything else."""
    if isinstance(value, (list, tuple)):
        if value and all(type(item) in (float, int) for item in value):
            return np.asarray(value, np.float64)
        parts = [flat(item) for item in value]
        if any(part is None for part in parts):
            return None
        return np.concatenate([part for part in parts if part is not None] or [np.zeros(0)])
    return np.asarray([value], np.float64) if isinstance(value, (int, float)) else None


def of_first_answers(estimator: Estimator, pair: Pair, plan: Plan, transcripts: Sequence[list[Any]]) -> np.ndarray:
    """Log-likelihood ratios of everything that fits released once."""
    tables, scales = kept_tables(pair), {}  # type: ignore[var-annotated]
    found = []
    for said in transcripts:
        real = Curator(None, pair.schema, Ledger(plan), NoNoise(), transcript=said)
        found.append(listen(estimator, pair, plan, Overheard(real, tables, len(said), scales)))
    return np.asarray(found)


def of_brief_fits(
    estimator: Estimator, pair: Pair, plan: Plan, frame: Side, count: int, noise: NoiseSource
) -> np.ndarray:
    """The same for fresh fits of a method without rounds, which end with their last answer: one pass, nothing kept."""
    tables, scales, own = kept_tables(pair), {}, Tables(frame, pair.schema)  # type: ignore[var-annotated]
    found = []
    for _ in range(count):
        real = Brief(own.fresh(), pair.schema, Ledger(plan), noise)
        found.append(listen(estimator, pair, plan, Overheard(real, tables, -1, scales)))
    return np.asarray(found)


def listen(estimator: Estimator, pair: Pair, plan: Plan, curator: Overheard) -> float:
    """The log-likelihood ratio of the single answers of one fit."""
    with contextlib.suppress(Enough):
        open_conversation(estimator, curator, pair.schema, plan, Teller(None, plan))
    return curator.ratio


def log_ratio(heard: np.ndarray, without: np.ndarray, with_: np.ndarray, scale: np.ndarray, gaussian: bool) -> float:
    """log p(heard with the target) - log p(heard without it), for Gaussian or Laplace noise of this scale."""
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
    sides: tuple[Blocks, ...] = field(default=(), compare=False)

    @property
    def program(self) -> "Watched":
        """The compiled part: without the tables."""
        return replace(self, inner=program(self.inner), sides=())

    def event(self, rounds: int) -> dpa.DpEvent:
        """The price of the mechanism inside; watching costs nothing."""
        return self.inner.event(rounds)

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        """The noise of the mechanism inside."""
        return self.inner.tape(rounds, noise)

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Data, Held]:
        """Data and held state of the real table and of both sides of the pair."""
        own = self.inner.prepare(blocks, noise)
        both = [self.inner.prepare(side, noise) for side in self.sides]
        return tuple(zip(own, *both, strict=True))  # type: ignore[return-value]

    def answer(
        self, data: Data, held: Held, query: Query, noise: Int[Array, "..."], key: PRNGKeyArray
    ) -> tuple[Held, Answer]:
        """The real answer with the log-likelihood ratio of the two sides."""
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


class Listener(Wrapped):
    """A generator that also writes down the ratio, and how the round was answered on average."""

    def update(self, state: State, query: Query, answer: Answer, key: PRNGKeyArray) -> tuple[State, Info]:
        """Learn from the real answer as ever, and report the ratio of the round."""
        said, ratio = answer
        state, _ = self.inner.update(state, query, said, key)
        return state, {"log_ratio": ratio, "answer": said.mean()}


@dataclass(frozen=True)
class Canary:
    """Asks about the target in every round and learns nothing. Its state is the target's row as the teachers see it."""

    classes: int
    judged: int

    def init(self, key: PRNGKeyArray, hints: Hints) -> State:
        """The target's direction is all it knows."""
        return jnp.asarray(hints)

    def query(self, state: State, key: PRNGKeyArray) -> Judgement:
        """Ask about rows far out in the target's direction."""
        width = state.shape[0]
        practice = jnp.zeros((CANARY_STEPS, self.classes, 1, width))
        return Judgement(practice, jnp.broadcast_to(FAR * state, (self.classes, self.judged, width)))

    def update(self, state: State, query: Query, answer: Answer, key: PRNGKeyArray) -> tuple[State, Info]:
        """Nothing is learned, so that every round asks the same."""
        return state, {}

    def sampler(self, state: State) -> dict[str, Array]:
        """The target's direction."""
        return {"target": state}

    def sample(
        self, sampler: dict[str, Array], classes: Int[Array, " rows"], key: PRNGKeyArray
    ) -> Float[Array, "rows width"]:
        """The same row for every class."""
        return jnp.broadcast_to(sampler["target"], (classes.shape[0], sampler["target"].shape[0]))

    def to_dict(self) -> dict[str, object]:
        """No options."""
        return {}

    def mismatch(self, weights: object) -> str:
        """Any weights fit."""
        return ""


class PanelCanary(Canary):
    """The same for vectors of answers. Its state is where practice rows lie, and the way from the others to the target.

    Teachers see rows in units of the practice rows, cut off at +-3. With these a third of the way up and a sixth of it wide, the
    target stands at 3 and the others at -2, so that one of each in a shard sums to the target's side: a teacher of another row
    turns round when the target joins it, and its vector moves by 2 C.
    """

    def query(self, state: State, key: PRNGKeyArray) -> Panel:  # type: ignore[override]
        """Practice rows on both sides of their middle; judged rows as far out as can be."""
        middle, way = state[0], state[1]
        wide = jnp.abs(way) / 6.0
        practice = jnp.stack([middle - wide, middle + wide])
        far = jnp.stack([middle + FAR * way, middle - FAR * way])
        judged = far[jnp.arange(self.judged) % 2]
        every = (self.classes, *judged.shape)
        return Panel(
            jnp.broadcast_to(practice[None, None], (1, self.classes, *practice.shape)),
            jnp.broadcast_to(judged[None], every),
        )

    def sampler(self, state: State) -> dict[str, Array]:
        """The way to the target."""
        return {"target": state[1]}


def watcher(pair: Pair, canary: bool) -> Watch:
    """Puts two noiseless copies beside a mechanism, and with `canary` a canary in the generator's place."""
    tables = kept_tables(pair)

    def watch(opening: Opening, codec: Codec, curator: Curator) -> Opening:
        mechanism = opening.mechanism
        joint = isinstance(mechanism, JointVotes)
        votes = joint or (isinstance(mechanism, TeacherVotes) and mechanism.answers != "label")
        if not votes and not (canary and isinstance(mechanism, NoisyGradient)):
            return opening  # not linear in its noise, or compiled at great cost
        plain = [table._blocks(codec) for table in tables]
        viewed = opening.marginals is not None and curator._blocks is not curator._rows()._blocks(codec)
        sides = tuple(side.seen(opening.marginals.row_map) if viewed else side for side in plain)  # type: ignore[union-attr]
        generator, hints = opening.generator, opening.hints
        if isinstance(mechanism, NoisyGradient):
            still = Listener(Still(generator))
            return opening._replace(generator=still, mechanism=WatchedGradient(mechanism, sides))
        assert isinstance(mechanism, TeacherVotes | JointVotes)
        noise = NoNoise()
        mechanism.tape(1, noise)
        kind, scale, _ = noise.asked[0] if noise.asked else ("gaussian", SHARP, 0)
        if canary:
            kind_of, hints = (PanelCanary, way_to_target(sides)) if joint else (Canary, direction(sides))
            generator = kind_of(codec.class_count, mechanism.judged)
        watched = Watched(mechanism, kind == "gaussian", scale, sides)
        return opening._replace(generator=Listener(generator), hints=hints, mechanism=watched)

    return watch


def kept_tables(pair: Pair) -> tuple[KeptTable, KeptTable]:
    """Both sides of the pair behind the wall."""
    return KeptTable(pair.without, pair.schema), KeptTable(pair.with_, pair.schema)


def direction(sides: tuple[Blocks, ...]) -> np.ndarray:
    """The target's row, made as long as 1."""
    row = target_row(sides)
    return np.asarray(row / max(float(np.linalg.norm(row)), 1e-6))


def way_to_target(sides: tuple[Blocks, ...]) -> np.ndarray:
    """A third of the way from the mean of the others (the origin, if there are none) to the target, and that way."""
    others, target = sides[0].gathered().rows, target_row(sides)
    middle = others.mean(axis=0) if len(others) else np.zeros_like(target)
    return np.stack([middle + (target - middle) / 3.0, target - middle])


def target_row(sides: tuple[Blocks, ...]) -> np.ndarray:
    """What D has and D' has not."""
    without, with_ = (side.gathered().rows for side in sides)
    known = {row.tobytes() for row in without}  # rows of units stand in no order that is known
    own = [row for row in with_ if row.tobytes() not in known] or [*with_, np.ones(with_.shape[1], np.float32)]
    return np.asarray(own[0])


def ratios_of_rounds(info: Sequence[dict[str, np.ndarray]]) -> np.ndarray:
    """Sum over rounds, in double precision; nothing where there were no rounds."""
    return np.asarray(
        [float(np.sum(one["log_ratio"], dtype=np.float64)) if "log_ratio" in one else 0.0 for one in info]
    )
