"""The only training loop: a generator and a curator talk, chunk by chunk. Audits and traces run it too.

    plan  ->  estimates  ->  class histogram  ->  the method's own first questions  ->  rounds  ->  model

Every step goes through the curator, which charges the ledger before it answers. What this loop reports while it runs (stage,
round, epsilon, the generator's own figures) are public values or functions of released ones.
"""

import contextlib
import sys
import types
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from understudy import estimates
from understudy.account import Payer
from understudy.accounting import Plan
from understudy.artifact import Model
from understudy.begin import Begun, begun
from understudy.conversation import Generator, State
from understudy.engine import Engine, at_a_job, in_worker, opened
from understudy.errors import UsageError
from understudy.files import alone
from understudy.plan import already_paid, make_plan
from understudy.private import Curator, NoiseSource, Release, SecureNoise
from understudy.private.checkpoint import Checkpoint
from understudy.private.units import PREFIX
from understudy.questions import ColumnBounds, class_counts
from understudy.recipe import Opening, Recipe
from understudy.schema import Bounds, Schema, codec_of
from understudy.scratch import clear, clear_usual
from understudy.seeds import folded, sequence
from understudy.teller import Teller


class _Callable(types.ModuleType):
    """`understudy.fit` is a module and, at the surface, a verb: `us.fit(data, schema, epsilon=1.0)`."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from understudy.easy import fit

        return fit(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
History = dict[str, list[Any]]  # what the generator wrote down, round by round
CHUNKS = 12  # progress, checkpoints and Ctrl-C happen between chunks


def fit(
    recipe: Recipe,
    data: object,
    schema: Schema,
    *,
    progress: Callable[[dict[str, Any]], None] | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    out: str | Path | None = None,
    account: Payer | None = None,
    noise: NoiseSource | None = None,
    engine: str | Engine | None = None,
) -> Model:
    """Fit `recipe` on a frame or file. `noise` other than the operating system's voids the certificate.

    With `out` the model is saved before the checkpoint goes, so that a full disk does not lose a fit that was paid for;
    a second fit into the same folder is refused while the first one runs, before it spends anything.
    `account` is charged when the table was found and before anything is released; a resumed fit is not charged again.
    `engine` (`understudy.engine`) says where tables too large for memory are added up; it never shows in the model.
    """
    if noise is None and in_worker() and not at_a_job():  # workers read the main script again; jobs are dealt
        raise UsageError(
            "a fit was started inside a worker process, where it would spend its budget once more for each worker; fit in the "
            "main process"
        )
    store = Checkpoint(checkpoint) if checkpoint is not None else None
    with contextlib.ExitStack() as held:
        if out is not None:
            held.enter_context(alone(out))
        if store is not None:
            held.enter_context(store.held())
        running = held.enter_context(opened(engine))
        return fit_alone(recipe, data, schema, progress, store, resume, out, noise or SecureNoise(), account, running)


def fit_alone(
    recipe: Recipe,
    data: object,
    schema: Schema,
    progress: Callable[[dict[str, Any]], None] | None,
    store: Checkpoint | None,
    resume: bool,
    out: str | Path | None,
    noise: NoiseSource,
    account: Payer | None,
    engine: Engine,
) -> Model:
    """`fit`, by whoever has the checkpoint's folder to itself."""
    plan = make_plan(recipe, schema)
    recipe, _ = recipe.taken_by(schema)
    teller = Teller(progress, plan)
    teller.tell("plan")
    clear_usual()  # of a fit that was killed
    if store is not None:
        clear(store.folder, PREFIX)
    run = begun(recipe, data, schema, plan, store, resume, account, noise.void_reason, teller, engine)
    try:
        teller.ledger = run.ledger
        if run.table is not None:
            run.table.open(None if store is None else store.folder, told=teller.share("read"), engine=run.engine)
        curator = Curator(
            run.table,
            schema,
            run.ledger,
            noise,
            transcript=None if store is None else store.answers(run.ledger.tokens),
            told=teller.passes,
            engine=run.engine,
            write_down=None if store is None else store.write_down,
        )
        teller.tell("estimate")
        resolved, counts, opening = open_conversation(recipe, curator, schema, plan, teller)
        state, history, report = conversed(opening, curator, run.seed, store, teller)
        teller.tell("finish", teller.rounds)
        model = finished(recipe, schema, resolved, counts, plan, opening, run, state, history, report)
    finally:
        run.ledger.close()
        if run.table is not None:
            run.table.close()
    if out is not None:
        model.save(out)
    if store is not None:
        store.remove()
    return model


def conversed(
    opening: Opening, curator: Curator, seed: int, store: Checkpoint | None, teller: Teller
) -> tuple[State, History, dict[str, Any]]:
    """The rounds, if the method has any: what the generator is at the end, what it wrote down, and what is reported of it."""
    key_init, key_rounds = public_keys(seed)
    state, history = first_state(opening.generator, key_init, opening.hints), History()
    if opening.mechanism is None:
        return state, history, {"statement": opening.said} if opening.said else {}
    folder = None if store is None else store.folder
    conversation = curator.converse(opening.purpose, opening.mechanism, apart=True, folder=folder).value
    with contextlib.closing(conversation):  # workers that keep teachers
        teller.rounds = opening.rounds
        # A conversation that streams would need the table itself to go on: nothing is saved but its ledger.
        saved = None if conversation.streams else store
        if store is not None and saved is None:
            store.give_up()
        elif saved is not None and saved.in_rounds():
            state, history = saved.restore(conversation, state)
        elif saved is not None:
            saved.save_once(conversation)
        state, history = talk(
            opening,
            conversation,
            state,
            key_rounds,
            save=None if saved is None else partial(saved.save_state, conversation),
            on_progress=lambda done, figures: teller.tell("rounds", done, figures=figures),
            history=history,
        )
        return state, history, conversation.conclude().value


def finished(
    recipe: Recipe,
    schema: Schema,
    resolved: Schema,
    counts: np.ndarray,
    plan: Plan,
    opening: Opening,
    run: Begun,
    state: State,
    history: History,
    report: dict[str, Any],
) -> Model:
    """What may leave: released values, what follows from them, and what they cost."""
    return Model(
        method=recipe.method,
        generator=opening.generator,
        weights={name: np.asarray(value) for name, value in opening.generator.sampler(state).items()},
        schema=schema,
        resolved=resolved,
        class_counts=tuple(float(count) for count in counts),
        plan=plan,
        ledger=run.ledger.to_dict(),
        void_reason=run.void_reason or plan.void_reason,
        conditional=recipe.conditional(schema),
        marginals=opening.marginals,
        released=opening.released,
        history=history,
        report=report,
        account=None if run.receipt is None else run.receipt.to_dict(),
    )


def open_conversation(
    recipe: Recipe, curator: Curator, schema: Schema, plan: Plan, teller: Teller
) -> tuple[Schema, np.ndarray, Opening]:
    """Everything that is asked once: the schema's estimates, class counts, and the method's own start."""
    multiplier = plan.parameters["noise"]
    recipe, _ = recipe.taken_by(schema)
    for charge in already_paid(schema, plan.budget):
        curator.enter(charge.purpose, charge.event)
    found = {}
    for group in schema.estimates:
        question = estimates.question(schema, group, plan.budget.delta, multiplier[f"estimate {group}"])
        value = curator.ask(f"estimate {group}", question).value
        found[group] = Bounds(*value) if isinstance(question, ColumnBounds) else value
    resolved = schema.with_estimates(found)
    codec = codec_of(resolved, recipe.conditional(schema))
    curator.adopt(codec)
    if "class histogram" in multiplier:
        histogram = class_counts(
            codec.class_count,
            multiplier["class histogram"],
            schema.max_rows_per_unit,
            share=recipe.by_person,
            pure=plan.budget.pure,
        )
        counts = np.maximum(curator.ask("class histogram", histogram).value[0], 1.0)
    else:
        counts = np.asarray([float(schema.rows or 1)])
    teller.tell("begin")
    opening = recipe.begin(curator, codec, counts, plan)
    return resolved.with_decimals(opening.decimals), counts, opening


@runtime_checkable
class Rounds(Protocol):
    """A conversation, or many side by side: what the loop needs of it."""

    @property
    def done(self) -> int:
        """Rounds that are over."""
        ...

    @property
    def exhausted(self) -> bool:
        """Whether a stopping rule of its own says so."""
        ...

    def prepare(self, rounds: int) -> None:
        """Draw the noise of the next rounds."""
        ...

    def advance(self, generator: Generator, state: State, key: Any, /) -> Release[tuple[State, Any]]:
        """Charge and run the prepared rounds."""
        ...


def talk(
    opening: Opening,
    conversation: Rounds,
    state: State,
    key: Array,
    *,
    save: Callable[[State, History], None] | None = None,
    on_progress: Callable[[int, Mapping[str, Any]], None] | None = None,
    history: History | None = None,
    chunks: int = CHUNKS,
) -> tuple[State, History]:
    """The rounds of every fit, shadow fit and trace. `save` is called before a chunk is charged and run: interrupted anywhere,
    a fit goes on from there with the same noise. It is called again before anything of the chunk leaves, after the last one too:
    a chunk that is run a second time, perhaps on another processor or with a file of rows gone, has shown nobody anything.
    `on_progress` hears the rounds done and the generator's own figures.
    """
    history = {} if history is None else history
    chunk = getattr(opening.mechanism, "rounds_at_once", 0) or -(-opening.rounds // chunks)

    def going_on() -> bool:
        """Whether there are rounds left; those of the next chunk are then prepared, and what there is is saved."""
        more = conversation.done < opening.rounds and not conversation.exhausted
        if more:
            conversation.prepare(min(chunk, opening.rounds - conversation.done))
        if save is not None:
            save(state, history)
        return more

    more = going_on()
    while more:
        state, info = conversation.advance(opening.generator, state, fold_in(key, conversation.done)).value
        for name, values in info.items():
            history.setdefault(name, []).extend(np.asarray(values, float).T.tolist())
        done, more = conversation.done, going_on()
        if on_progress is not None:
            on_progress(done, {name: values[-1] for name, values in history.items()})
    return state, history


def fold_in(key: Array, done: int) -> Array:
    """The key of the next chunk: of one conversation, or of each of many."""
    return jax.random.fold_in(key, done) if key.ndim == 0 else jax.vmap(jax.random.fold_in, (0, None))(key, done)


def first_state(generator: Generator, key: PRNGKeyArray, hints: object) -> State:
    """Where the generator starts: initial weights, and what was released. What draws with NumPy compiles nothing."""
    if hasattr(generator, "columns") or hasattr(generator, "encoded"):
        return generator.init(key, as_arrays(hints))
    return strongly_typed(jax.jit(generator.init)(key, as_arrays(hints)))


def public_key(seed: int) -> PRNGKeyArray:
    """Key of public randomness: initial weights, latent noise. XLA's own generator compiles and runs faster than Threefry."""
    return jax.random.key(folded(seed), impl="rbg")


def public_keys(seed: int) -> tuple[PRNGKeyArray, PRNGKeyArray]:
    """One for first weights and one for rounds, by NumPy: to split a key JAX compiles longer than some methods fit, and for
    `jnp.asarray` it compiles, too."""
    bits = sequence(seed).generate_state(8, np.uint32)
    init, rounds = (jax.random.wrap_key_data(jax.device_put(half), impl="rbg") for half in (bits[:4], bits[4:]))
    return init, rounds


def strongly_typed(state: object) -> Any:
    """Arrays made from bare Python numbers have a weak type, and rounds return strong ones: the program would compile twice."""
    return jax.tree.map(lambda leaf: leaf.astype(leaf.dtype) if leaf.weak_type else leaf, state)


def as_arrays(hints: object) -> Any:
    """Released values as 32-bit arrays."""
    return jax.tree.map(lambda value: np.asarray(value, np.float32), hints)
