"""A conversation with more teachers than one program should hold: an engine's workers keep them, stripe by stripe.

Of every round the public query goes to all workers; each trains its own teachers, and whole numbers come back. They are added
up, the round's noise is added once, here, and the generator learns from the sum. So answers are the same, bit for bit, for
any number of workers and any engine. Small ensembles run as one compiled program (`rounds.py`); which of the two it
is depends on the number of teachers alone (`stripes.cut_into`).

    curator   generator's query  -->  each worker: its teachers train and vote  -->  sum + noise  -->  generator's update

What crosses: public queries, sums of votes (private, between worker and curator only). Teachers and their rows stay in the
worker's memory and in private files beside the checkpoint, mode 0600: rows as they were dealt, and teachers as they were at the
beginning of the chunk of rounds that is running. A worker that dies is replaced by one that reads these and is told the queries
of the chunk again, so its votes are the same. Nothing is charged for that: no answer was given that is not given again.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from understudy.conversation import Generator, Query, State
from understudy.engine import Engine
from understudy.engine.base import checked
from understudy.engine.seats import Seat, ask_all
from understudy.private.apart import Apart, Home, shares, without_keys
from understudy.private.blocks import Blocks
from understudy.private.noise import IntArray
from understudy.private.partition import Shards
from understudy.private.rounds import Held, Mechanism
from understudy.private.stripes import Dealer, Striped, Turn, cut_into, drop_seals, forget, serve

FOLDER = "teachers"


def in_stripes(mechanism: Mechanism, width: int) -> bool:
    """Whether a mechanism has so many teachers, for rows of this width, that they are asked stripe by stripe."""
    return isinstance(mechanism, Striped) and cut_into(mechanism, width + mechanism.dealing.labels).stripes > 1


class Sharded(Apart):
    """A conversation whose teachers are with workers."""

    __slots__ = ("_keepers", "_striped")

    def _employ(self, mechanism: Any, width: int, folder: Path | None, engine: Engine) -> "Keepers":
        self._striped: Striped = mechanism
        self._keepers = Keepers(mechanism, width, self._key.tobytes(), folder, engine)
        return self._keepers

    def _run(self, generator: Generator, *chunk: Any) -> tuple[Held, State, Any]:
        self._keepers.seal(self.done)
        return super()._run(generator, *chunk)

    def _count(self, query: Query, noise: Any) -> IntArray:
        return self._keepers.count(query)

    def _learn(self, generator: Generator, *given: Any) -> tuple[Held, State, dict[str, Any]]:
        return learned(self._striped, generator, *given)

    def close(self) -> None:
        self._keepers.close()

    # -- for understudy.private.checkpoint only -----------------------------------------------------------------------
    def _secret_state(self) -> dict[str, Any]:
        self._keepers.seal(self.done)
        return super()._secret_state()

    def _restore(self, secret: dict[str, Any]) -> None:
        super()._restore(secret)
        self._keepers.go_on(self.done, self._key.tobytes())


@eqx.filter_jit
def learned(
    mechanism: Striped,
    generator: Generator,
    common: Any,
    state: State,
    query: Query,
    counts: Any,
    noise: Any,
    public: PRNGKeyArray,
) -> tuple[Any, State, dict[str, Any]]:
    """The rest of `rounds.one_round`, when the counts are there."""
    common, answer = mechanism.tell(common, counts, noise)
    return common, *generator.update(state, query, answer, jax.random.split(public)[1])


class Keepers:
    """The workers that hold the teachers, as the curator sees them."""

    def __init__(self, mechanism: Striped, width: int, secret: bytes, folder: Path | None, engine: Engine) -> None:
        """`secret`: what untaught teachers are made from. `folder`: that of the checkpoint, if there is one."""
        self._mechanism, self._engine, self._secret = mechanism, engine, secret
        self._width = width + mechanism.dealing.labels
        self._cut = cut_into(mechanism, self._width)
        self._folder = Home(folder, FOLDER)
        self._home = self._folder.path
        self._seats: Sequence[Seat] = ()
        self._sealed = 0  # rounds that teachers had had when they were sealed
        self._since: list[Query] = []  # queries of the rounds since then

    def deal_out(self, blocks: Blocks, key: bytes) -> None:
        """All rows to private files, sorted by the stripe of their teacher."""
        self._folder.deal_out(blocks, Dealer(self._home, self._mechanism.dealing, self._cut, key), self._engine)

    def go_on(self, done: int, secret: bytes) -> None:
        """From where a checkpoint has sealed the teachers."""
        self._sealed, self._since, self._secret = done, [], secret

    def count(self, query: Query) -> IntArray:
        """What all teachers say to a query, in whole numbers. Private."""
        sent = without_keys(query)
        nobody = self._nobody(sent)
        found = [checked(counts, nobody) for counts in self._ask((sent,))]
        self._since.append(sent)
        total: IntArray = np.sum(found, axis=0, dtype=np.int64)
        return total

    def seal(self, done: int) -> None:
        """Write down all teachers as they are after `done` rounds, which is now."""
        if done != self._sealed + len(self._since):
            raise RuntimeError("teachers are not where the conversation is")
        if self._since:
            self._ask((), seal=True)
            before, self._sealed, self._since = self._sealed, done, []
            drop_seals(self._home, self._cut.stripes, (before, done))  # a checkpoint may still name the one before

    def _ask(self, queries: tuple[Query, ...], seal: bool = False) -> list[Any]:
        """Every worker's counts. Who has lost its teachers begins again where they were sealed."""
        self._seats = self._seats or self._engine.seats(self._cut.stripes)
        mine, everyone = shares(self._cut.stripes, len(self._seats)), range(len(self._seats))
        done, before = self._sealed + len(self._since), tuple(self._since)
        turn = Turn(self._home, self._mechanism, self._cut, self._width, self._secret, (), done, queries, None, seal)
        replies = ask_all(self._seats, serve, [replace(turn, stripes=mine[at]) for at in everyone])
        lost = [at for at in everyone if replies[at].lost]
        anew = replace(turn, done=self._sealed, queries=before + queries, sealed=self._sealed)
        told = ask_all([self._seats[at] for at in lost], serve, [replace(anew, stripes=mine[at]) for at in lost])
        again = dict(zip(lost, told, strict=True))
        return [again.get(at, replies[at]).counts for at in everyone]

    def _nobody(self, query: Query) -> IntArray:
        """Counts of nobody: what a worker's must look like."""
        dealing, size = self._mechanism.dealing, self._cut.size
        kind: Any = jax.ShapeDtypeStruct
        shard = (len(dealing.teachers), size, dealing.capacity)
        data = Shards(kind((*shard, self._width), np.float32), kind(shard, np.float32))
        own = jax.eval_shape(lambda: self._mechanism.untaught(size, self._width, self._secret))
        counts = jax.eval_shape(self._mechanism.count, data, own, query, jnp.int32(0))[1]
        return np.zeros(counts.shape, np.int64)

    def close(self) -> None:
        """End the workers, and remove files that no checkpoint needs."""
        for seat in self._seats:
            seat.close()
        forget(self._home)
        self._folder.remove()
