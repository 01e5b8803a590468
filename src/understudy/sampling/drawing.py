"""Blocks of rows from a fitted generator, as Arrow tables.

    block b of a sample is drawn with numbers from (seed, b) alone

so that it is the same whoever draws it, and after whatever. Classes come first, in exact shares (`even.py`). Generators of tables
then draw column by column (`conversation.ColumnGenerator`): small whole numbers and places in [0, 1] that become Arrow columns
directly. Others draw encoded rows, which are decoded: networks with JAX (`conversation.RowGenerator`), latent normals with NumPy
(`conversation.ArrayGenerator`). All take as much memory as a block.
"""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import jax
import numpy as np
import pyarrow as pa
from jax import Array

from understudy.conversation import Generator, RowGenerator
from understudy.measure.marginals import Marginals
from understudy.sampling.even import even_classes
from understudy.schema import Codec
from understudy.schema.drawn import Columns
from understudy.seeds import BITS, rng

BATCH = 65_536  # rows of a block
EVERY = slice(None)  # all blocks of a sample


@dataclass(frozen=True)
class Source:
    """A generator with its weights, and what turns its draws into values."""

    generator: Generator
    weights: Mapping[str, np.ndarray]
    marginals: Marginals | None  # distribution functions through which numbers of networks go back
    codec: Codec

    @cached_property
    def columns(self) -> Columns | None:
        """What draws column by column, if the generator does."""
        made = getattr(self.generator, "columns", None)
        return None if made is None else made(self.weights)

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """The weights on JAX's device."""
        return {name: jax.numpy.asarray(value) for name, value in self.weights.items()}

    def tables(self, shares: np.ndarray, rows: int, batch: int, seed: int | None, blocks: slice) -> Iterator[pa.Table]:
        """Some blocks of a sample of so many rows, with these shares of the classes."""
        seed = secrets.randbits(BITS) if seed is None else seed
        starts = range(0, max(rows, 1), batch)
        for number in range(len(starts))[blocks]:
            first, random = starts[number], rng(seed, number)
            size = min(batch, rows - first)
            if self.columns is not None:
                classes = even_classes(random, shares, size)
                yield self.codec.decode_columns(self.columns(classes, random), classes, first_row=first)
            else:
                classes = even_classes(random, shares, size if rows <= batch else batch)  # one shape, one compilation
                encoded = self._encoded(classes, random)[:size]
                yield self.codec.decode_arrow(encoded, classes[:size], first_row=first)

    def _encoded(self, classes: np.ndarray, random: np.random.Generator) -> np.ndarray:
        direct = getattr(self.generator, "encoded", None)
        if direct is not None:
            encoded = direct(self.weights, classes, random)
        else:
            words = random.integers(
                1 << 32, size=4, dtype=np.uint32
            )  # all of the key: of 32 bits two blocks may get the same
            key = jax.random.wrap_key_data(jax.numpy.asarray(words), impl="rbg")
            encoded = np.asarray(draw(self.generator, self.arrays, jax.numpy.asarray(classes), key))
        return encoded if self.marginals is None else self.marginals.from_uniform(encoded)


@partial(jax.jit, static_argnums=0)
def draw(generator: RowGenerator, weights: dict[str, Array], classes: Array, key: Array) -> Array:
    """Generated rows; compiled once per generator and batch size, however often it is called."""
    return generator.sample(weights, classes, key)
