"""Shadow models: hundreds of whole fits in one compiled program.

A shadow fit is a fit. Its plan, curator, ledger and mechanisms are those of `understudy.fit`; what is asked once runs in Python,
fit by fit, and the rounds of all fits that have the same program run side by side:

    plan (once)  ->  estimates, histogram, first questions (each fit)  ->  rounds of all fits (vmap)  ->  rows of all fits (vmap)

The loop is that of every fit (`understudy.fit.talk`), over many conversations side by side. Differences from a fit that a user
starts, none of which the guarantee leans on: the rounds run as one chunk, public randomness comes in another order, no model
folder is written, and the rows of an unchanging table are encoded once.

Noise is seeded by default, which is quick and repeatable but means that the operating system's generator and OpenDP's exact
sampler are not what is audited; `secure=True` draws the noise like a fit does.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
from jaxtyping import Array, PRNGKeyArray

from understudy.accounting import Ledger, Plan
from understudy.artifact import shares
from understudy.audit.targets import Pair, Side
from understudy.conversation import Generator, Hints, State
from understudy.estimator import Estimator
from understudy.fit import History, as_arrays, first_state, fit, open_conversation, public_key, talk
from understudy.measure.marginals import Marginals
from understudy.private import Conversation, Curator, NoiseSource, PrivateTable, SecureNoise, SeededNoise
from understudy.private.blocks import Blocks
from understudy.private.rounds import STEP, Data, SideBySide, program, stack
from understudy.private.sampling import Units
from understudy.questions import Question
from understudy.recipe import Opening
from understudy.sampling.drawing import EVERY, Source, draw
from understudy.schema import Codec, Schema, codec_of
from understudy.schema.codec import to_pandas
from understudy.seeds import folded, sequence
from understudy.teller import Teller

Watch = Callable[[Opening, Codec, Curator], Opening]  # may wrap mechanism and generator before the rounds


class KeptTable(PrivateTable):
    """A table that is encoded once for many fits. Only where nothing about it is drawn at random: one row, one unit."""

    __slots__ = ("_known",)

    def _blocks(self, codec: Codec) -> Blocks:
        known: dict[Schema, Blocks] = getattr(self, "_known", {})
        if codec.schema not in known:
            known = {codec.schema: super()._blocks(codec)}
            self._known = known
        return known[codec.schema]


@dataclass
class Tables:
    """Gives every fit its table."""

    frame: Side
    schema: Schema
    kept: PrivateTable | None = None

    def fresh(self) -> PrivateTable:
        """The private table of the next fit; with units it is dealt anew."""
        if self.schema.unit is not None:  # which rows of a unit are kept is drawn anew for every fit
            return PrivateTable(self.frame, self.schema)
        if self.kept is None:
            self.kept = KeptTable(self.frame, self.schema)
        return self.kept


class Enough(Exception):
    """Everything that was announced has been asked; what follows is post-processing."""


class Brief(Curator):
    """A curator that ends the fit with its last answer, for attackers who look at nothing else."""

    __slots__ = ()

    def _release(self, purpose: str, question: Question, compute: Callable[[], Any]) -> Any:
        value = super()._release(purpose, question, compute)
        if self._ledger._counts == self._ledger.plan.announced():
            raise Enough
        return value


def opens_rounds(estimator: Estimator, pair: Pair, plan: Plan) -> bool:
    """Whether the method asks in rounds: tried on the table without the target."""
    curator = Curator(KeptTable(pair.without, pair.schema), pair.schema, Ledger(plan), SeededNoise(0))
    return open_conversation(estimator, curator, pair.schema, plan, Teller(None, plan))[2].mechanism is not None


class Opened(NamedTuple):
    """A fit after its first questions."""

    resolved: Schema
    counts: np.ndarray
    opening: Opening
    transcript: list[Any]
    conversation: Conversation | None


@dataclass
class Fitted:
    """What the fits released, in their order."""

    resolved: list[Schema]
    counts: list[np.ndarray]  # released class counts
    transcripts: list[list[Any]]  # every answer that was given once
    marginals: list[Marginals | None]
    weights: list[dict[str, np.ndarray]]
    generators: list[Generator]
    info: list[dict[str, np.ndarray]] = field(default_factory=list)  # what the generators wrote down, round by round
    conditional: bool = True

    def __len__(self) -> int:
        return len(self.weights)

    def sizes(self, schema: Schema) -> np.ndarray:
        """How many rows each model would draw by default."""
        if schema.rows is not None:
            return np.full(len(self), schema.rows)
        return np.asarray([max(round(float(counts.sum())), 1) for counts in self.counts])


def open_fit(
    estimator: Estimator, table: PrivateTable, schema: Schema, plan: Plan, noise: NoiseSource, watch: Watch | None
) -> Opened:
    """Everything that is asked once, through a curator and a ledger of its own."""
    curator = Curator(table, schema, Ledger(plan), noise)
    resolved, counts, opening = open_conversation(estimator, curator, schema, plan, Teller(None, plan))
    conversation = None
    if opening.mechanism is not None:
        if watch is not None:
            opening = watch(opening, codec_of(resolved, estimator.conditional(schema)), curator)
        conversation = curator.converse(opening.purpose, opening.mechanism).value  # type: ignore[arg-type]
        conversation._data = jax.tree.map(
            with_spare_places, conversation._data, is_leaf=lambda part: isinstance(part, Units)
        )
    return Opened(resolved, counts, opening, curator.transcript, conversation)


def with_spare_places(data: Data) -> Data:
    """Units of no rows, up to a multiple of `STEP`: they never take part, and both tables of a pair get the same shapes."""
    if not isinstance(data, Units):
        return data
    spare = {name: -np.shape(part)[0] % STEP for name, part in data._asdict().items()}
    return Units(
        *(np.pad(part, [(0, spare[name])] + [(0, 0)] * (np.ndim(part) - 1)) for name, part in data._asdict().items())
    )


def shadow_fits(
    estimator: Estimator,
    frame: Side,
    schema: Schema,
    count: int,
    *,
    seed: int | None = None,
    secure: bool = False,
    plan: Plan | None = None,
    watch: Watch | None = None,
) -> Fitted:
    """`count` independent fits on the same table."""
    seed = secrets.randbits(32) if seed is None else folded(seed)
    plan = estimator.plan(schema) if plan is None else plan
    tables, noise = Tables(frame, schema), SecureNoise() if secure else SeededNoise(seed)
    opened: list[Opened] = []
    for _ in range(count):
        opened.append(open_fit(estimator, tables.fresh(), schema, plan, noise, watch))
        if hasattr(opened[0].opening.mechanism, "exhausted"):
            return one_at_a_time(estimator, frame, schema, count, noise)
    fitted = Fitted(
        resolved=[one.resolved for one in opened],
        counts=[one.counts for one in opened],
        transcripts=[one.transcript for one in opened],
        marginals=[one.opening.marginals for one in opened],
        weights=[{} for _ in opened],
        generators=[one.opening.generator for one in opened],
        info=[{} for _ in opened],
        conditional=estimator.conditional(schema),
    )
    key = public_key(seed)
    for number, group in enumerate(groups(opened)):
        if draws_with_numpy(opened[group[0]]):
            for i in group:
                fitted.weights[i] = started(opened[i], key)
            continue
        filled = filled_up(group, count) if opened[group[0]].conversation is None else group
        weights, info = run_group([opened[i] for i in filled], jax.random.fold_in(key, number))
        for place, i in enumerate(group):
            fitted.weights[i] = {name: value[place] for name, value in weights.items()}
            fitted.info[i] = {name: value[place] for name, value in info.items()}
    return fitted


def groups(opened: Sequence[Opened]) -> list[list[int]]:
    """Positions of fits that can share one compiled program."""
    found: dict[tuple[object, ...], list[int]] = {}
    for number, one in enumerate(opened):
        shapes = tuple(np.shape(leaf) for leaf in jax.tree.leaves(one.opening.hints))
        mechanism = one.opening.mechanism
        key = (one.opening.generator, None if mechanism is None else program(mechanism), one.opening.rounds, shapes)
        found.setdefault(key, []).append(number)
    return list(found.values())


def draws_with_numpy(one: Opened) -> bool:
    """Without rounds and without a network there is nothing to compile, and trees that follow noise would compile fit by fit."""
    return one.conversation is None and any(hasattr(one.opening.generator, name) for name in ("columns", "encoded"))


def started(one: Opened, key: PRNGKeyArray) -> dict[str, np.ndarray]:
    """What an artifact keeps of a fit that was over with its first questions."""
    generator = one.opening.generator
    state = first_state(generator, key, one.opening.hints)
    return {name: np.asarray(value) for name, value in sorted(generator.sampler(state).items())}


def filled_up(group: list[int], size: int) -> list[int]:
    """The last of a group again and again: methods that choose their own structure form groups of any size, and to compile for
    each size takes longer than to compute some fits in vain."""
    return group + group[-1:] * (size - len(group))


def run_group(opened: Sequence[Opened], key: PRNGKeyArray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Initial states, rounds and the part of the states that an artifact keeps, stacked."""
    generator = opened[0].opening.generator
    key_init, key_rounds = jax.random.split(key)
    hints = stack([as_arrays(one.opening.hints) for one in opened])
    states = init_all(generator, jax.random.split(key_init, len(opened)), hints)
    history: History = {}
    conversations = [one.conversation for one in opened if one.conversation is not None]
    if conversations:
        keys = jax.random.split(key_rounds, len(opened))
        states, history = talk(opened[0].opening, SideBySide(conversations), states, keys, chunks=1)
    weights = {name: np.asarray(value) for name, value in jax.vmap(generator.sampler)(states).items()}
    return weights, {name: np.asarray(rounds).T for name, rounds in history.items()}


@partial(jax.jit, static_argnums=0)
def init_all(generator: Generator, keys: Array, hints: Hints) -> State:
    """Initial states of all fits at once."""
    return jax.vmap(generator.init)(keys, hints)


@partial(jax.jit, static_argnums=0)
def draw_all(generator: Generator, weights: dict[str, Any], classes: Array, keys: Array) -> Array:
    """Encoded rows of all fits at once."""
    rows: Array = jax.vmap(lambda *one: draw(generator, *one))(weights, classes, keys)
    return rows


def sample_tables(fitted: Fitted, rows: int, seed: int | None = None) -> list[pd.DataFrame]:
    """`rows` generated rows of every fit: of networks drawn together, decoded together, as `Model.sample` would."""
    seed = secrets.randbits(32) if seed is None else folded(seed)
    if len(fitted) and not hasattr(fitted.generators[0], "sample"):  # nothing to compile
        return [sampled(fitted, i, rows, int(own)) for i, own in enumerate(sequence(seed).generate_state(len(fitted)))]
    rng, key = np.random.default_rng(seed), public_key(seed)
    encoded: dict[int, np.ndarray] = {}
    classes = [rng.choice(len(counts), rows, p=shares(tuple(counts))).astype(np.int32) for counts in fitted.counts]
    together: dict[Generator, list[int]] = {}
    for number, generator in enumerate(fitted.generators):
        together.setdefault(generator, []).append(number)
    for number, (generator, group) in enumerate(together.items()):
        filled = filled_up(group, len(fitted))
        weights = stack([fitted.weights[i] for i in filled])
        keys = jax.random.split(jax.random.fold_in(key, number), len(filled))
        found = np.asarray(draw_all(generator, weights, jnp.asarray(np.stack([classes[i] for i in filled])), keys))
        for place, i in enumerate(group):
            marginals = fitted.marginals[i]
            encoded[i] = found[place] if marginals is None else marginals.from_uniform(found[place])
    return decode_together(fitted, [encoded[i] for i in range(len(fitted))], classes)


def sampled(fitted: Fitted, number: int, rows: int, seed: int) -> pd.DataFrame:
    """Rows of one fit, as `Model.sample` has them."""
    codec = codec_of(fitted.resolved[number], fitted.conditional)
    source = Source(fitted.generators[number], fitted.weights[number], fitted.marginals[number], codec)
    weights = shares(tuple(fitted.counts[number]))
    return to_pandas(next(source.tables(weights, rows, max(rows, 1), seed, EVERY)), codec.schema)


def decode_together(fitted: Fitted, encoded: list[np.ndarray], classes: list[np.ndarray]) -> list[pd.DataFrame]:
    """Decode fits that resolved to the same schema in one go."""
    tables: dict[int, pd.DataFrame] = {}
    same: dict[str, list[int]] = {}
    for number, resolved in enumerate(fitted.resolved):
        same.setdefault(resolved.fingerprint(), []).append(number)
    for group in same.values():
        codec = codec_of(fitted.resolved[group[0]], fitted.conditional)
        whole = codec.decode(np.concatenate([encoded[i] for i in group]), np.concatenate([classes[i] for i in group]))
        stops = np.cumsum([len(encoded[i]) for i in group])
        for i, stop in zip(group, stops, strict=True):
            tables[i] = whole.iloc[stop - len(encoded[i]) : stop].reset_index(drop=True)
    return [tables[i] for i in range(len(encoded))]


def one_at_a_time(estimator: Estimator, frame: Side, schema: Schema, count: int, noise: NoiseSource) -> Fitted:
    """For methods that stop by a rule of their own: their rounds cannot run side by side."""
    models = [fit(estimator, frame, schema, noise=noise) for _ in range(count)]
    return Fitted(
        resolved=[model.resolved for model in models],
        counts=[np.asarray(model.class_counts) for model in models],
        transcripts=[[list(model.class_counts)] for model in models],
        marginals=[model.marginals for model in models],
        weights=[dict(model.weights) for model in models],
        generators=[model.generator for model in models],
        info=[{} for _ in models],
        conditional=estimator.conditional(schema),
    )
