"""What conversations whose rows are with an engine's workers have in common: private files that rows are dealt into, sorted by
stripe, and rounds that run one by one, because every round asks all workers.

    dealing    whoever reads a part of the table writes its rows, sorted by stripe, to a private file for each block
    keeping    a worker that has a stripe reads its range of all files
    a round    the generator's query  -->  each worker: whole numbers  -->  sum + noise  -->  the generator's update

What stripes are made of is the business of `stripes.py` (teachers) and `unit_stripes.py` (units). How many there are depends on
public options and released counts, never on the engine, so that arrays have the same shape wherever they are worked on.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from understudy.accounting import Ledger
from understudy.conversation import Generator, Query, State
from understudy.engine import Engine, Inline
from understudy.errors import UsageError
from understudy.files import PRIVATE, write_atomically
from understudy.private.blocks import Blocks, Part
from understudy.private.noise import IntArray, NoiseSource
from understudy.private.rounds import Conversation, Held, keys_of_rounds
from understudy.scratch import Scratch, private_folder


@runtime_checkable
class Keeping(Protocol):
    """The workers that hold the rows, as the curator sees them."""

    def deal_out(self, blocks: Blocks, key: bytes) -> None:
        """All rows to private files, sorted by stripe; `key`: what draws are made from, if there are any."""
        ...

    def close(self) -> None:
        """End the workers, and remove files that no checkpoint needs."""
        ...


class Apart(Conversation):
    """A conversation whose rows are with workers. `_held` is what the mechanism carries besides what they keep."""

    __slots__ = ()

    def __init__(
        self,
        purpose: str,
        mechanism: Any,
        ledger: Ledger,
        noise: NoiseSource,
        blocks: Blocks,
        folder: Path | None,
        engine: Engine | None,
        resumed: bool,
    ) -> None:
        super().__init__(purpose, mechanism, (), mechanism.common(noise), ledger, noise)
        keepers = self._employ(mechanism, blocks.width, folder, engine or Inline())
        if not resumed:
            try:
                keepers.deal_out(blocks, noise.secret(32))
            except BaseException:
                self.close()
                raise

    @abstractmethod
    def _employ(self, mechanism: Any, width: int, folder: Path | None, engine: Engine) -> Keeping:
        """Whoever will keep the rows."""

    def _run(self, generator: Generator, *chunk: Any) -> tuple[Held, State, Any]:
        _, common, state, tape, secret, public = chunk
        infos: list[dict[str, Any]] = []
        for noise, key in zip(tape, keys_of_rounds(secret, public, len(tape))[1], strict=True):
            query = asked(generator, state, key)
            counts = jnp.asarray(self._count(query, noise), jnp.int32)
            common, state, info = self._learn(generator, common, state, query, counts, noise, key)
            infos.append(info)
        return common, state, {name: jnp.stack([info[name] for info in infos]) for name in infos[0]}

    @abstractmethod
    def _count(self, query: Query, noise: Any) -> IntArray:
        """What all workers say, added up. Private."""

    @abstractmethod
    def _learn(self, generator: Generator, *given: Any) -> tuple[Held, State, dict[str, Any]]:
        """What is carried on, and what the generator makes of the sum and the round's noise."""


@eqx.filter_jit
def asked(generator: Generator, state: State, public: PRNGKeyArray) -> Query:
    """The first third of `rounds.one_round`."""
    return generator.query(state, jax.random.split(public)[0])


class Home:
    """A private folder that workers read: part of the checkpoint, or one that goes when the conversation ends."""

    def __init__(self, folder: Path | None, name: str) -> None:
        """`folder`: that of the checkpoint, if there is one."""
        self._scratch: Scratch | None = None
        if folder is None:
            self._scratch = private_folder(None, f"understudy-{name}-")
            self.path = self._scratch.folder.resolve()
        else:
            self.path = (folder / name).resolve()
            self.path.mkdir(mode=0o700, exist_ok=True)

    def deal_out(self, blocks: Blocks, dealer: Callable[[tuple[int, Part]], int], engine: Engine) -> None:
        """All rows to private files: by the engine where parts are files."""
        for old in self.path.glob("rows-*"):  # of a deal that was not finished
            old.unlink()
        portable = all(getattr(part, "portable", False) for part in blocks.parts)
        for _ in (engine if portable else Inline()).map_partitions(dealer, list(enumerate(blocks.parts))):
            pass

    def remove(self) -> None:
        """Remove files that no checkpoint needs."""
        if self._scratch is not None:
            self._scratch.remove()


def write_sorted(path: Path, stripe: Any, stripes: int, records: Any) -> None:
    """The rows of one block, sorted by stripe, after a list of where each stripe begins."""
    order = np.argsort(stripe, kind="stable")
    ends = np.searchsorted(stripe[order], np.arange(stripes + 1))
    write(path, ends.astype("<i8").tobytes() + records[order].tobytes())


def write(path: Path, content: bytes) -> None:
    """A private file, whole or not at all."""
    write_atomically(path, content, mode=PRIVATE, synced=False)


def block_path(home: Path, part: int, block: int) -> Path:
    """Where the rows of a block are."""
    return home / f"rows-{part:08d}-{block:08d}"


def dealt(home: Path, number: int, stripes: int, kind: np.dtype[Any]) -> Iterator[np.ndarray]:
    """Rows of one stripe, file by file. A worker on a machine that has no such folder would keep nobody, and say nothing."""
    if not home.is_dir():
        raise UsageError(
            f"a worker does not see the folder {str(home)!r} that rows were dealt into; name a checkpoint on storage that all "
            "machines share"
        )
    for path in sorted(home.glob("rows-*")):
        with open(path, "rb") as file:
            ends = np.frombuffer(file.read(8 * (stripes + 1)), "<i8")
            file.seek(8 * (stripes + 1) + int(ends[number]) * kind.itemsize)
            yield np.frombuffer(file.read(int(ends[number + 1] - ends[number]) * kind.itemsize), kind)


def shares(stripes: int, workers: int) -> list[tuple[int, ...]]:
    """Which stripes each worker has."""
    return [tuple(range(first, stripes, workers)) for first in range(workers)]


def without_keys(query: Query) -> Query:
    """A query as workers get it: arrays; keys with which the generator draws rows again are not theirs to have."""

    def sent(leaf: Any) -> Any:
        return None if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.asarray(leaf)

    return jax.tree.map(sent, query)
