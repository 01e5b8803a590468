"""The question of every method that learns from noisy gradients: weights, and which network they are asked about."""

from typing import Any, NamedTuple

from jaxtyping import Array, Int


class Question(NamedTuple):
    """`weights[phase]` is what the answer is the gradient for; the answer is one flat vector, padded to the longest."""

    phase: Int[Array, ""]
    weights: tuple[Any, ...]
