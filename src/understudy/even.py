"""Classes of drawn rows: shares without chance."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def even_classes(key: Any, weights: np.ndarray, rows: int) -> Any:
    """Classes in random order, each within one row of its share: independent draws would stray by the root of their number."""
    key_order, key_shift = jax.random.split(key)
    place = (jax.random.permutation(key_order, rows) + jax.random.uniform(key_shift)) / max(rows, 1)
    ends = jnp.asarray(np.cumsum(weights) / np.sum(weights), jnp.float32)
    last = int(np.flatnonzero(weights > 0.0)[-1])
    return jnp.minimum(jnp.searchsorted(ends, place.astype(jnp.float32), side="right"), last)
