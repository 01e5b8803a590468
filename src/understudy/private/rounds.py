"""A conversation of many rounds, run in compiled chunks.

One round is   query -> answer -> update,   all pure functions of arrays, so a chunk of rounds is one `lax.scan`:

    tape (noise of the chunk) drawn -> checkpoint written -> ledger charged -> chunk runs -> checkpoint written -> state leaves

The noise does not depend on data, which is why it can be drawn ahead. A chunk that was interrupted is repeated from its
checkpoint with the same tape and the same keys, so it releases the same answers again and costs nothing more; the ledger
accepts the repetition only with the digest of the same tape and the same question (`digest.py`).
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, runtime_checkable

import dp_accounting as dpa
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.accounting import Ledger
from understudy.conversation import Answer, Generator, Query, State
from understudy.private.blocks import Blocks
from understudy.private.digest import digest
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.release import Release

__all__ = ["Conversation", "Mechanism"]

STEP = 64
Held = Any  # what the mechanism carries from round to round (teachers); private
Data = Any  # what it reads and never changes (shards); private


@runtime_checkable
class Mechanism(Protocol):
    """Answers a generator's question about rows it holds. A frozen dataclass of public settings."""

    def event(self, rounds: int) -> dpa.DpEvent:
        """The price of so many rounds."""
        ...

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray:
        """The noise of so many rounds, drawn ahead."""
        ...

    def prepare(self, blocks: Blocks, noise: NoiseSource) -> tuple[Data, Held]:
        """What is read and never changes, and what is carried from round to round; both stay inside."""
        ...

    def answer(
        self, data: Data, held: Held, query: Query, noise: Int[Array, "..."], key: PRNGKeyArray
    ) -> tuple[Held, Answer]:
        """What is carried on, and what may leave: the answer with this round's noise."""
        ...


@runtime_checkable
class Closing(Protocol):
    """A mechanism that has one more thing to release when all rounds are over, announced under a purpose of its own."""

    @property
    def purpose(self) -> str:
        """Under which the plan announces it."""
        ...

    @property
    def closing_event(self) -> dpa.DpEvent:
        """Its price."""
        ...

    def closing_coin(self, held: Held) -> IntArray:
        """What its noise is made of, for the ledger's digest."""
        ...

    def close(self, held: Held) -> dict[str, Any]:
        """What is released at the end."""
        ...


class Conversation:
    """The private side of a running fit: data, teachers, secret keys. Only generator states leave."""

    __slots__ = ("_blocks", "_data", "_held", "_key", "_ledger", "_mechanism", "_noise", "_purpose", "_tape", "done")

    def __init__(
        self,
        purpose: str,
        mechanism: Mechanism,
        data: Data,
        held: Held,
        ledger: Ledger,
        noise: NoiseSource,
        blocks: Blocks | None = None,
    ) -> None:
        """`data` is None where a mechanism gathers what it needs from `blocks` before every chunk of rounds."""
        self._blocks = blocks
        self._purpose, self._mechanism, self._ledger, self._noise = purpose, mechanism, ledger, noise
        self._data, self._held = jax.tree.map(jnp.asarray, (data, held))
        self._key = np.frombuffer(noise.secret(8), np.uint32)
        self._tape: IntArray | None = None
        self.done = 0

    def __repr__(self) -> str:
        return "Conversation(contents are private)"

    @property
    def streams(self) -> bool:
        """Whether rows are gathered from the table chunk by chunk: such a conversation cannot go on without it."""
        return self._data is None

    def prepare(self, rounds: int) -> None:
        """Draw the noise of the next rounds. Separate from `advance` so that a checkpoint can be written in between."""
        if self._tape is None:
            self._tape = self._mechanism.tape(rounds, self._noise)

    def advance(self, generator: Generator, state: State, key: PRNGKeyArray) -> Release[tuple[State, Any]]:
        """Run the prepared rounds. `key` steers the generator's public randomness."""
        event, tape, secret = self._charge(generator, jax.tree.leaves(state), jax.random.key_data(key))
        data, noise = self._data, tape
        if self.streams:
            data, noise = self._mechanism.gather(self._blocks, self._tape)  # type: ignore[attr-defined]
            data = jax.tree.map(jnp.asarray, data)
        held, state, info = self._run(generator, data, self._held, state, jnp.asarray(noise), secret, key)
        check(self._mechanism, held)
        self._held, self._tape, self.done = held, None, self.done + len(tape)
        return Release((state, info), event)

    def _run(self, generator: Generator, *chunk: Any) -> tuple[Held, State, Any]:
        """The rounds of a chunk in one program; a trace runs the same rounds one by one and looks at each."""
        found: tuple[Held, State, Any] = run_chunk(self._mechanism, generator, *chunk)
        return found

    def _charge(self, *asked: Any) -> tuple[dpa.DpEvent, Any, Any]:
        """Pay for the prepared rounds; returns their event, noise and secret key. `asked`: what the question is made of."""
        if self._tape is None:
            raise RuntimeError("prepare the rounds before advancing")
        event = self._mechanism.event(len(self._tape))
        same = digest(self._tape, program(self._mechanism), *asked)
        self._ledger.charge(self._purpose, event, token=f"rounds from {self.done}", digest=same)
        secret = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(self._key)), self.done)
        return event, self._tape.astype(np.int32), secret

    def conclude(self) -> Release[dict[str, Any]]:
        """What the mechanism has to say about the whole conversation, if anything: charged first, like everything else.

        Its noise is part of what it holds, so a fit that is resumed says the same again and the ledger takes it as a repetition.
        """
        if not isinstance(self._mechanism, Closing):
            return Release({}, dpa.NoOpDpEvent())
        mechanism, event = self._mechanism, self._mechanism.closing_event
        same = digest(mechanism.closing_coin(self._held), mechanism)
        self._ledger.charge(mechanism.purpose, event, token="conclusion", digest=same)
        return Release(mechanism.close(self._held), event)

    def close(self) -> None:
        """Let go of what is held outside this process; nothing, unless teachers are with workers (`sharded.py`)."""
        return

    @property
    def exhausted(self) -> bool:
        """Whether a research mechanism's own stopping rule says so; the others always run the rounds of the plan."""
        rule = getattr(self._mechanism, "exhausted", None)
        return rule is not None and bool(rule(self._held))

    # -- for understudy.private.checkpoint only -----------------------------------------------------------------------
    def _secret_state(self) -> dict[str, Any]:
        return {"held": self._held, "key": self._key, "tape": self._tape, "done": self.done}

    def _restore(self, secret: dict[str, Any]) -> None:
        self._held = jax.tree.map(jnp.asarray, secret["held"])
        self._key, self._tape, self.done = secret["key"], secret["tape"], secret["done"]


def check(mechanism: Mechanism, held: Held) -> None:
    """Let a mechanism that keeps its own account of what was charged look at it before anything leaves."""
    own = getattr(mechanism, "check", None)
    if own is not None:
        own(held)


class Round(NamedTuple):
    """What one round leaves: `held` stays inside, `state` and `info` are functions of noisy answers and may leave."""

    held: Held
    state: State
    info: dict[str, Float[Array, ""]]
    query: Query


def one_round(
    mechanism: Mechanism,
    generator: Generator,
    data: Data,
    held: Held,
    state: State,
    noise: Int[Array, "*answers"],
    secret: PRNGKeyArray,
    public: PRNGKeyArray,
) -> Round:
    """query -> answer -> update: the one step that fits, shadow fits and traces are made of."""
    key_query, key_update = jax.random.split(public)
    query = generator.query(state, key_query)
    held, answer = mechanism.answer(data, held, query, noise, secret)
    state, info = generator.update(state, query, answer, key_update)
    return Round(held, state, info, query)


def keys_of_rounds(secret: PRNGKeyArray, public: PRNGKeyArray, rounds: int) -> tuple[Array, Array]:
    """Keys of every round of a chunk, those of the mechanism and those of the generator."""
    return jax.random.split(secret, rounds), jax.random.split(public, rounds)


@eqx.filter_jit
def run_chunk(
    mechanism: Mechanism,
    generator: Generator,
    data: Data,
    held: Held,
    state: State,
    tape: Int[Array, "rounds *answers"],
    secret: PRNGKeyArray,
    public: PRNGKeyArray,
) -> tuple[Held, State, dict[str, Float[Array, " rounds"]]]:
    """The rounds of one chunk as one compiled program. Only `state` and `info`, functions of noisy answers, may leave."""

    def step(carry: tuple[Held, State], inputs: tuple[Array, Array, Array]) -> Any:
        after = one_round(mechanism, generator, data, *carry, *inputs)
        return (after.held, after.state), after.info

    keys = keys_of_rounds(secret, public, tape.shape[0])
    (held, state), info = jax.lax.scan(step, (held, state), (tape, *keys))
    return held, state, info


# -- many conversations at once: shadow models ------------------------------------------------------------------------------
def program(mechanism: Mechanism) -> Mechanism:
    """What the compiled answer depends on; settings that only show in array sizes are left out."""
    found: Mechanism = getattr(mechanism, "program", mechanism)
    return found


class SideBySide:
    """Many conversations in one compiled program, with the face of one; states and keys are stacked along a first axis.

    The conversations have the same program and are independent of each other: every one has its own rows, noise, secret key
    and ledger, which is charged as ever. Shards of unequal capacity are filled up with empty places.
    """

    __slots__ = ("_conversations", "_program")

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        self._conversations, self._program = tuple(conversations), program(conversations[0]._mechanism)
        if any(program(other._mechanism) != self._program for other in conversations):
            raise RuntimeError("conversations that advance together need the same mechanism")

    @property
    def done(self) -> int:
        """Rounds that every one of them has run."""
        return self._conversations[0].done

    @property
    def exhausted(self) -> bool:
        """Never: a mechanism with a stopping rule of its own cannot run beside others."""
        return False

    def prepare(self, rounds: int) -> None:
        """Draw the noise of the next rounds, for each its own."""
        for one in self._conversations:
            one.prepare(rounds)

    def advance(self, generator: Generator, states: State, keys: Any) -> Release[tuple[State, Any]]:
        """Run the prepared rounds of all; the event is that of each."""
        leaves, public = jax.tree.map(np.asarray, (jax.tree.leaves(states), jax.random.key_data(keys)))
        charged = [
            one._charge(generator, [leaf[at] for leaf in leaves], public[at])
            for at, one in enumerate(self._conversations)
        ]
        data, held = (stack([getattr(one, name) for one in self._conversations]) for name in ("_data", "_held"))
        tape, secret = np.stack([tape for _, tape, _ in charged]), jnp.stack([secret for *_, secret in charged])
        held, states, info = run_chunks(self._program, generator, data, held, states, tape, secret, keys)
        held = jax.tree.map(np.asarray, held)
        for number, one in enumerate(self._conversations):
            one._held = jax.tree.map(lambda leaf, at=number: leaf[at], held)
            check(self._program, one._held)
            one._tape, one.done = None, one.done + tape.shape[1]
        return Release((states, info), charged[0][0])


@eqx.filter_jit
def run_chunks(mechanism: Mechanism, generator: Generator, *stacked: Any) -> tuple[Held, State, Any]:
    """`run_chunk` for all of them at once."""
    found: tuple[Held, State, Any] = jax.vmap(partial(run_chunk, mechanism, generator))(*stacked)
    return found


def stack(trees: Sequence[Any]) -> Any:
    """Stack arrays along a new first axis, those of unequal size filled up with zeros, which masks show as empty.

    Unequal sizes go up to a multiple of `STEP`, so that the next stack is likely to fit the same compiled program.
    """

    def join(*leaves: Any) -> Any:
        arrays = [np.asarray(leaf) for leaf in leaves]
        sizes = np.asarray([array.shape for array in arrays])
        unequal = (sizes != sizes[0]).any(axis=0)
        shape = np.where(unequal, -(-sizes.max(axis=0) // STEP) * STEP, sizes.max(axis=0)).astype(int)
        joined = np.zeros((len(arrays), *shape), arrays[0].dtype)
        for number, array in enumerate(arrays):
            place: tuple[int | slice, ...] = (number, *(slice(int(size)) for size in array.shape))
            joined[place] = array
        return joined

    return jax.tree.map(join, *trees)
