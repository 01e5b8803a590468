"""A conversation of many rounds, run in compiled chunks.

One round is   query -> answer -> update,   all pure functions of arrays, so a chunk of rounds is one `lax.scan`:

    tape (noise of the chunk) drawn  ->  checkpoint written  ->  ledger charged  ->  chunk runs  ->  generator state leaves

The noise does not depend on data, which is why it can be drawn ahead. A chunk that was interrupted is repeated from its
checkpoint with the same tape and the same keys, so it releases the same answers again and costs nothing more; the ledger
accepts the repetition only with the tape's own digest.
"""

from typing import Any, Protocol, runtime_checkable

import dp_accounting as dpa
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.accounting import Ledger
from understudy.conversation import Answer, Generator, Query, State
from understudy.private.noise import IntArray, NoiseSource, digest
from understudy.private.release import Release
from understudy.private.table import UnitIds
from understudy.schema import Encoded

__all__ = ["Conversation", "Mechanism"]

Held = Any  # what the mechanism carries from round to round (teachers); private
Data = Any  # what it reads and never changes (shards); private


@runtime_checkable
class Mechanism(Protocol):
    """Answers a generator's question about rows it holds. A frozen dataclass of public settings."""

    def event(self, rounds: int) -> dpa.DpEvent: ...

    def tape(self, rounds: int, noise: NoiseSource) -> IntArray: ...

    def prepare(self, encoded: Encoded, units: UnitIds, row_level: bool, noise: NoiseSource) -> tuple[Data, Held]: ...

    def answer(
        self, data: Data, held: Held, query: Query, noise: Int[Array, "..."], key: PRNGKeyArray
    ) -> tuple[Held, Answer]: ...


class Conversation:
    """The private side of a running fit: data, teachers, secret keys. Only generator states leave."""

    __slots__ = ("_data", "_held", "_key", "_ledger", "_mechanism", "_noise", "_purpose", "_tape", "done")

    def __init__(
        self, purpose: str, mechanism: Mechanism, data: Data, held: Held, ledger: Ledger, noise: NoiseSource
    ) -> None:
        self._purpose, self._mechanism, self._ledger, self._noise = purpose, mechanism, ledger, noise
        self._data, self._held = jax.tree.map(jnp.asarray, (data, held))
        self._key = np.frombuffer(noise.secret(8), np.uint32)
        self._tape: IntArray | None = None
        self.done = 0

    def __repr__(self) -> str:
        return "Conversation(contents are private)"

    def prepare(self, rounds: int) -> None:
        """Draw the noise of the next rounds. Separate from `advance` so that a checkpoint can be written in between."""
        if self._tape is None:
            self._tape = self._mechanism.tape(rounds, self._noise)

    def advance(self, generator: Generator, state: State, key: PRNGKeyArray) -> Release[tuple[State, Any]]:
        """Run the prepared rounds. `key` steers the generator's public randomness."""
        if self._tape is None:
            raise RuntimeError("prepare the rounds before advancing")
        rounds = len(self._tape)
        event = self._mechanism.event(rounds)
        self._ledger.charge(self._purpose, event, token=f"rounds from {self.done}", digest=digest(self._tape))
        secret = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(self._key)), self.done)
        tape = jnp.asarray(self._tape.astype(np.int32))
        held, state, info = run_chunk(self._mechanism, generator, self._data, self._held, state, tape, secret, key)
        self._held, self._tape, self.done = held, None, self.done + rounds
        return Release((state, info), event)

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

    def one_round(carry: Any, inputs: Any) -> Any:
        held, state = carry
        noise, key_secret, key_public = inputs
        key_query, key_update = jax.random.split(key_public)
        query = generator.query(state, key_query)
        held, answer = mechanism.answer(data, held, query, noise, key_secret)
        state, info = generator.update(state, query, answer, key_update)
        return (held, state), info

    rounds = tape.shape[0]
    keys = jax.random.split(secret, rounds), jax.random.split(public, rounds)
    (held, state), info = jax.lax.scan(one_round, (held, state), (tape, *keys))
    return held, state, info
