"""Fully connected networks as functions of one row; `vmap` makes batches of them, so that rows cannot meet."""

from dataclasses import dataclass
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

Params = dict[str, Array]


@dataclass(frozen=True)
class Mlp:
    """`sizes` from input to output; leaky ReLU between layers. The last layer starts at `last` times its usual size."""

    sizes: tuple[int, ...]
    last: float = 1.0

    def init(self, key: PRNGKeyArray) -> Params:
        params: Params = {}
        layers = len(self.sizes) - 1
        for i, (fan_in, fan_out) in enumerate(pairwise(self.sizes)):
            size = np.sqrt(2.0 / fan_in) * (self.last if i == layers - 1 else 1.0)
            params[f"weight{i}"] = size * jax.random.normal(jax.random.fold_in(key, i), (fan_in, fan_out))
            params[f"bias{i}"] = jnp.zeros(fan_out)
        return params

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of all weights, by name."""
        weights = {f"weight{i}": pair for i, pair in enumerate(pairwise(self.sizes))}
        return weights | {f"bias{i}": (size,) for i, size in enumerate(self.sizes[1:])}

    def __call__(self, params: Params, x: Float[Array, " inputs"]) -> Float[Array, " outputs"]:
        layers = len(self.sizes) - 1
        for i in range(layers):
            x = x @ params[f"weight{i}"] + params[f"bias{i}"]
            x = jax.nn.leaky_relu(x, 0.2) if i < layers - 1 else x
        return x
