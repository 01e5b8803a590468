"""Teachers of a large ensemble in stripes: who holds which rows, and what a worker does with its own. See `sharded.py`.

A stripe is a range of teachers, of every class the same: teacher i belongs to stripe i // size. Sizes come from public options
and released counts (`cut_into`), never from the engine, so that teachers are trained in arrays of the same shape wherever that
happens, with the same rounding.

    dealing    a worker reads its parts of the table, draws each unit's teacher and each row's lottery number from a key that was
               drawn for this deal, and writes the rows, sorted by stripe, to a private file for each block
    keeping    a worker that has a stripe reads its range of all files, trains its teachers, and answers in whole numbers

The key makes draws of a block the same whoever makes them (SHAKE-256 of key and number of the block), so a worker that dies
may be replaced in the middle. It is shared with workers and thrown away when all is dealt.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from safetensors.numpy import load, save

from understudy.conversation import Answer, Query
from understudy.private.apart import block_path, dealt, write, write_sorted
from understudy.private.blocks import Part
from understudy.private.noise import IntArray, Kind, NoiseSource
from understudy.private.partition import FREE, Dealing, Shards, assign_teachers, fill, grouped, tickets

STRIPE = 1 << 24  # numbers that the rows and weights of a stripe take: 64 MB
Own = Any  # what teachers carry from round to round: arrays with leading axes [classes, teachers]; private
Common = Any  # what a mechanism carries besides; stays with the curator


@runtime_checkable
class Striped(Protocol):
    """A mechanism that can ask some of its teachers at a time: whole numbers that are added up before noise is."""

    @property
    def dealing(self) -> Dealing:
        """How rows get to teachers."""
        ...

    def untaught(self, places: int, width: int, secret: bytes) -> Own:
        """So many teachers of every class before they have seen anything."""
        ...

    def common(self, noise: NoiseSource) -> Common:
        """What is carried on besides teachers."""
        ...

    def count(self, data: Shards, held: Own, query: Query, first: ArrayLike = 0) -> tuple[Own, Any]:
        """What the teachers from number `first` on say, in whole numbers. Private."""
        ...

    def tell(self, common: Common, counts: Any, noise: Any) -> tuple[Common, Answer]:
        """The answer, from the counts of all teachers and the tape's noise."""
        ...


class Cut(NamedTuple):
    """How teachers are cut into stripes."""

    stripes: int
    size: int


def cut_into(mechanism: Striped, width: int) -> Cut:
    """An even number of stripes, so that two workers have as much to do, or one for an ensemble that needs no cutting."""
    dealing = mechanism.dealing
    most, classes = max(dealing.teachers), len(dealing.teachers)
    own = jax.eval_shape(lambda: mechanism.untaught(1, width, b"\0"))
    numbers = classes * dealing.capacity * width + sum(leaf.size for leaf in jax.tree.leaves(own))
    fit = max(STRIPE // numbers, 1)
    stripes = 1 if most <= fit else 2 * -(-most // (2 * fit))
    size = -(-most // stripes)
    if dealing.at_once and size > dealing.at_once:
        size = -(-size // dealing.at_once) * dealing.at_once
    return Cut(-(-most // size), size)


# -- dealing ---------------------------------------------------------------------------------------------------------------


class Expanded:
    """Secret bytes of one block, made from a key: the same for whoever reads the block."""

    void_reason = ""

    def __init__(self, key: bytes, *numbers: int) -> None:
        self._key, self._drawn = key + b"".join(number.to_bytes(8, "little") for number in numbers), 0

    def draw(self, kind: Kind, scale: float, shape: tuple[int, ...]) -> IntArray:
        """Not made from a key."""
        raise RuntimeError("noise is drawn by the curator")

    def secret(self, size: int) -> bytes:
        """The next bytes."""
        self._drawn += 1
        return hashlib.shake_256(self._key + self._drawn.to_bytes(8, "little")).digest(size)


@dataclass(frozen=True, repr=False)  # nothing that prints it shows the key
class Dealer:
    """Writes the rows of a part to private files, sorted by the stripe of their teacher."""

    home: Path
    dealing: Dealing
    cut: Cut
    key: bytes

    def __call__(self, task: tuple[int, Part]) -> int:
        """The number of blocks of this part."""
        number, part = task
        blocks = 0
        with np.errstate(all="ignore"):  # a warning would depend on somebody's row
            for block in part():
                noise = Expanded(self.key, number, blocks)
                groups, rows = grouped(block, self.dealing.labels)
                teacher = assign_teachers(block, groups, np.asarray(self.dealing.teachers, np.int32), noise)
                self._write(block_path(self.home, number, blocks), groups, teacher, rows, tickets(len(rows), noise))
                blocks += 1
        return blocks

    def _write(self, path: Path, groups: Any, teacher: Any, rows: Any, ticket: Any) -> None:
        stripes, size = self.cut
        records = np.zeros(len(rows), record(rows.shape[1]))
        records["place"] = groups * size + teacher % size
        records["ticket"], records["row"] = ticket, rows
        write_sorted(path, teacher // size, stripes, records)


def record(width: int) -> np.dtype[Any]:
    """A row on its way to a teacher."""
    return np.dtype([("place", "<i8"), ("ticket", "<u8"), ("row", "<f4", (width,))])


def shards_of(home: Path, dealing: Dealing, how: Cut, number: int, width: int) -> Shards:
    """The rows of every teacher of one stripe."""
    stripes, size = how
    shape = (len(dealing.teachers) * size, dealing.capacity)
    rows, lottery = np.zeros((*shape, width), np.float32), np.full(shape, FREE, np.uint64)
    for own in dealt(home, number, stripes, record(width)):
        fill(rows, lottery, own["place"], own["row"], own["ticket"])
    shard = (len(dealing.teachers), size, dealing.capacity)
    return Shards(rows.reshape(*shard, width), (lottery != FREE).astype(np.float32).reshape(shard))


# -- keeping ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Turn:
    """What a worker is asked to do: go on from a round, answer some queries, and seal what its teachers are then.

    `sealed`: the round at which they were sealed last, if whoever does not have them may begin from there; None otherwise.
    """

    home: Path
    mechanism: Striped
    cut: Cut
    width: int
    secret: bytes
    stripes: tuple[int, ...]
    done: int
    queries: tuple[Query, ...] = ()
    sealed: int | None = None
    seal: bool = False


class Reply(NamedTuple):
    """Counts of the last query; `lost` if the worker does not have its teachers as they were then."""

    lost: bool
    counts: Any = None


@dataclass
class Kept:
    """Teachers in the memory of a worker."""

    done: int
    shards: dict[int, Shards] = field(default_factory=dict)
    own: dict[int, Own] = field(default_factory=dict)


KEPT: dict[tuple[Path, tuple[int, ...]], Kept] = {}  # in the process of a worker, by fit and stripes


def serve(turn: Turn) -> Reply:
    """What a worker does in its turn."""
    kept = KEPT.get((turn.home, turn.stripes))
    if kept is None or kept.done != turn.done:
        if turn.sealed != turn.done:
            return Reply(lost=True)
        kept = KEPT[turn.home, turn.stripes] = begun(turn, kept)
    counts = None
    for query in turn.queries:
        counts = answered(turn, kept, jax.tree.map(jnp.asarray, query))
    if turn.seal:
        for number in turn.stripes:
            arrays = enumerate(jax.tree.leaves(kept.own[number]))
            write(seal_path(turn.home, number, kept.done), save({str(i): np.asarray(a, order="C") for i, a in arrays}))
    return Reply(lost=False, counts=counts)


def begun(turn: Turn, kept: Kept | None) -> Kept:
    """Teachers as they were sealed; their rows are read again unless they are here."""
    found = Kept(turn.done)
    for number in turn.stripes:
        there = None if kept is None else kept.shards.get(number)
        found.shards[number] = there or jax.tree.map(
            jnp.asarray, shards_of(turn.home, turn.mechanism.dealing, turn.cut, number, turn.width)
        )
        own = turn.mechanism.untaught(turn.cut.size, turn.width, turn.secret)
        if turn.done:
            arrays = load(seal_path(turn.home, number, turn.done).read_bytes())
            leaves, structure = jax.tree.flatten(own)
            own = jax.tree.unflatten(structure, [jnp.asarray(arrays[str(i)]) for i in range(len(leaves))])
        found.own[number] = own
    return found


def answered(turn: Turn, kept: Kept, query: Query) -> IntArray:
    """One round: every stripe after the other, counts added up."""
    total: Any = 0
    for number in turn.stripes:
        first = jnp.int32(number * turn.cut.size)
        own, counts = counted(turn.mechanism, kept.shards[number], kept.own[number], query, first)
        kept.own[number], total = own, total + np.asarray(counts, np.int64)
    kept.done += 1
    return np.asarray(total, np.int64)


@eqx.filter_jit
def counted(mechanism: Striped, shards: Shards, own: Own, query: Query, first: Any) -> tuple[Own, Any]:
    """`Striped.count` as one compiled program, the same for all stripes."""
    return mechanism.count(shards, own, query, first)


def forget(home: Path) -> None:
    """Let go of teachers that nobody will ask again, in the process that kept them."""
    for key in [key for key in KEPT if key[0] == home]:
        del KEPT[key]


def seal_path(home: Path, number: int, done: int) -> Path:
    """Where a stripe's teachers are sealed."""
    return home / f"teachers-{number:06d}-{done:08d}"


def drop_seals(home: Path, stripes: int, kept: Sequence[int]) -> None:
    """Remove teachers sealed at other rounds than these."""
    wanted = {seal_path(home, number, done) for number in range(stripes) for done in kept}
    for path in home.glob("teachers-*"):
        if path not in wanted:
            path.unlink(missing_ok=True)
