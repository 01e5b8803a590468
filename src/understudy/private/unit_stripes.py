"""A conversation about samples too large for one process: an engine's workers keep the units, stripe by stripe.

A round of noisy gradients is a sum of whole numbers over a Poisson sample of units (`mechanisms/noisy_gradient.py`). Every unit
is in one stripe, every stripe with one worker. Of a round the workers get the public query and, for each of their stripes, a
key; each draws the coins of its units, adds up the clipped gradients of those that take part, and returns the sum.
Sums are added up, the round's noise is added once, here, and the generator learns from it (`apart.py`).

Guarantee. The answer is that of the mechanism in one process: a unit has one coin of its own in every round, a word that no
other unit, round or stripe has (`sampling.secrets_of_stripes`), takes part with all of its rows or none, and is added once.
A worker that dies is replaced by one that reads its stripes again; it is told the same query and key, so its sum is the same.
No answer was given meanwhile, and nothing is charged.

Bit for bit. How many stripes there are and who is in which (units of a block in turn) does not depend on the engine. So the same
program goes over the same arrays wherever that happens, and the answers are the same for any number of workers of one kind.

What crosses: public queries; keys of coins, which say who takes part and nothing about the noise; exact sums. Keys and sums are
private, between worker and curator only. Rows lie in private files beside the checkpoint, mode 0600.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from understudy.conversation import Answer, Generator, Query, State
from understudy.engine import Engine
from understudy.engine.base import checked
from understudy.engine.seats import Seat, ask_all
from understudy.private.apart import Apart, Home, block_path, dealt, shares, without_keys, write_sorted
from understudy.private.blocks import Blocks, Part
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.rounds import Held
from understudy.private.sampling import Units, assembled, secrets_of_stripes
from understudy.private.stream import WORDS

FOLDER = "units"


@runtime_checkable
class Summing(Protocol):
    """A mechanism that can ask some of its units at a time: whole numbers that are added up before noise is."""

    @property
    def stripes(self) -> int:
        """In how many stripes its units are; 1: they stay here."""
        ...

    def common(self, noise: NoiseSource) -> Any:
        """What is carried on from round to round."""
        ...

    def added(self, data: Units, secret: Any, query: Query) -> Any:
        """The sum over a sample of these units, in whole numbers. Private."""
        ...

    def with_noise(self, total: Any, query: Query, noise: Any) -> Answer:
        """The answer, from the sum over all units and the tape's noise."""
        ...


class Sampled(Apart):
    """A conversation whose units are with workers."""

    __slots__ = ("_owners", "_summing")

    def _employ(self, mechanism: Any, width: int, folder: Path | None, engine: Engine) -> "Owners":
        self._summing: Summing = mechanism
        self._owners = Owners(mechanism, width, folder, engine)
        return self._owners

    def _count(self, query: Query, noise: Any) -> IntArray:
        return self._owners.add_up(query, noise)

    def _learn(self, generator: Generator, *given: Any) -> tuple[Held, State, dict[str, Any]]:
        common, *rest = given
        return common, *learned(self._summing, generator, *rest)

    def close(self) -> None:
        self._owners.close()


@eqx.filter_jit
def learned(
    mechanism: Summing, generator: Generator, state: State, query: Query, total: Any, noise: Any, public: PRNGKeyArray
) -> tuple[State, dict[str, Any]]:
    """The rest of `rounds.one_round`, when the sum is there."""
    return generator.update(state, query, mechanism.with_noise(total, query, noise), jax.random.split(public)[1])


class Owners:
    """The workers that hold the units, as the curator sees them."""

    def __init__(self, mechanism: Summing, width: int, folder: Path | None, engine: Engine) -> None:
        """`folder`: that of the checkpoint, if there is one."""
        self._mechanism, self._width, self._engine = mechanism, width, engine
        self._home = Home(folder, FOLDER)
        self._seats: Sequence[Seat] = ()
        self._nobody: IntArray | None = None  # the sum over no units; queries of a conversation have one shape

    def deal_out(self, blocks: Blocks, key: bytes = b"") -> None:
        """All rows to private files, sorted by the stripe of their unit, for which nothing is drawn."""
        self._home.deal_out(blocks, UnitDealer(self._home.path, self._mechanism.stripes), self._engine)

    def add_up(self, query: Query, secret: Any) -> IntArray:
        """The sum over the sample that a round's secret draws. Private."""
        stripes, sent = self._mechanism.stripes, without_keys(query)
        self._seats = self._seats or self._engine.seats(stripes)
        secrets = secrets_of_stripes(secret, stripes)
        turns = [
            Turn(self._home.path, self._mechanism, self._width, own, secrets[list(own)], sent)
            for own in shares(stripes, len(self._seats))
        ]
        if self._nobody is None:
            self._nobody = self._sum_of_nobody(sent)
        found = [checked(total, self._nobody) for total in ask_all(self._seats, serve, turns)]
        total: IntArray = np.sum(found, axis=0, dtype=np.int64)
        return total

    def _sum_of_nobody(self, query: Query) -> IntArray:
        """What a worker's sum must look like."""
        units, secret = assembled([], [], [], self._width), jnp.zeros(WORDS, jnp.int32)
        return np.zeros(jax.eval_shape(self._mechanism.added, units, secret, query).shape, np.int64)

    def close(self) -> None:
        """End the workers, and remove files that no checkpoint needs."""
        for seat in self._seats:
            seat.close()
        forget(self._home.path)
        self._home.remove()


# -- dealing ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitDealer:
    """Writes the rows of a part to private files, sorted by the stripe of their unit."""

    home: Path
    stripes: int

    def __call__(self, task: tuple[int, Part]) -> int:
        """The number of blocks of this part."""
        number, part = task
        blocks = 0
        with np.errstate(all="ignore"):  # a warning would depend on somebody's row
            for block in part():
                rows = np.asarray(block.rows, np.float32)
                records = np.zeros(len(rows), record(rows.shape[1]))
                records["unit"] = np.arange(len(rows)) if block.units is None else block.units
                records["class"], records["row"] = block.classes, rows
                write_sorted(
                    block_path(self.home, number, blocks), records["unit"] % self.stripes, self.stripes, records
                )
                blocks += 1
        return blocks


def record(width: int) -> np.dtype[Any]:
    """A row on its way to a stripe. Units are numbered block by block."""
    return np.dtype([("unit", "<i8"), ("class", "<i4"), ("row", "<f4", (width,))])


def units_of(home: Path, number: int, stripes: int, width: int) -> Units:
    """The units of one stripe."""
    rows, classes, sizes = [], [], []
    for own in dealt(home, number, stripes, record(width)):
        first = np.flatnonzero(np.diff(own["unit"], prepend=-1))
        rows.append(own["row"])
        classes.append(own["class"])
        sizes.append(np.diff(first, append=len(own)))
    return assembled(rows, classes, sizes, width)


# -- keeping ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)  # nothing that prints it shows a key
class Turn:
    """What a worker is asked to do: add up over samples of its stripes, each drawn with a key of its own."""

    home: Path
    mechanism: Summing
    width: int
    stripes: tuple[int, ...]
    secrets: IntArray
    query: Query


KEPT: dict[tuple[Path, int], Units] = {}  # in the process of a worker, by fit and stripe


def serve(turn: Turn) -> IntArray:
    """What a worker does in its turn: every stripe after the other, read if it is not here."""
    query, total = jax.tree.map(jnp.asarray, turn.query), np.zeros((), np.int64)
    for number, secret in zip(turn.stripes, turn.secrets, strict=True):
        if (turn.home, number) not in KEPT:
            units = units_of(turn.home, number, turn.mechanism.stripes, turn.width)
            KEPT[turn.home, number] = jax.tree.map(jnp.asarray, units)
        found = added(turn.mechanism, KEPT[turn.home, number], jnp.asarray(secret, jnp.int32), query)
        total = total + np.asarray(found, np.int64)
    return np.asarray(total)


@eqx.filter_jit
def added(mechanism: Summing, units: Units, secret: Any, query: Query) -> Any:
    """`Summing.added` as one compiled program, the same for all stripes of a size."""
    return mechanism.added(units, secret, query)


def forget(home: Path) -> None:
    """Let go of units that nobody will ask for again, in the process that kept them."""
    for key in [key for key in KEPT if key[0] == home]:
        del KEPT[key]
