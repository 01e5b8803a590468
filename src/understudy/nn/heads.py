"""Which coordinates of a row are numeric, binary, or outcomes of which one-hot block."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class Block(NamedTuple):
    """The part of a codec's block that networks need."""

    head: str
    start: int
    size: int


@dataclass(frozen=True)
class Heads:
    """Static description of an encoded row; hashable, so that it can be part of a compiled program."""

    width: int
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, blocks: Iterable[Any], width: int) -> "Heads":
        """From a codec's blocks (anything with `head`, `start` and `size`)."""
        return cls(width=width, blocks=tuple(Block(block.head, block.start, block.size) for block in blocks))

    def coordinates(self, head: str) -> np.ndarray:
        """Mask of the coordinates that belong to blocks of one kind of head."""
        mask = np.zeros(self.width, bool)
        for block in self.blocks:
            if block.head == head:
                mask[block.start : block.start + block.size] = True
        return mask

    def softmax(self, logits: Float[Array, "rows width"]) -> Float[Array, "rows width"]:
        """Soft-max within every block; coordinates of other blocks do not matter."""
        weights = jnp.exp(logits - jax.lax.stop_gradient(self._per_block(logits, jax.ops.segment_max)))
        return weights / self._per_block(weights, jax.ops.segment_sum)

    def winners(self, logits: Float[Array, "rows width"]) -> Float[Array, "rows width"]:
        """1 for the largest coordinate of every block, 0 elsewhere."""
        return (logits >= self._per_block(logits, jax.ops.segment_max)).astype(logits.dtype)

    def _per_block(self, values: Float[Array, "rows width"], reduce: Any) -> Float[Array, "rows width"]:
        ids = np.zeros(self.width, np.int32)
        for number, block in enumerate(self.blocks):
            ids[block.start : block.start + block.size] = number
        reduced = reduce(values.T, ids, num_segments=len(self.blocks), indices_are_sorted=True)
        return jnp.asarray(reduced[ids].T)
