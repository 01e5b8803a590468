"""Rows near the released mean of their class: post-processing, so nothing here knows the private side."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp

from understudy.nn.copula import mismatch


@dataclass(frozen=True)
class ToyGenerator:
    classes: int
    width: int

    def init(self, key: Any, hints: Any) -> Any:
        return {"means": jnp.asarray(hints, jnp.float32)}

    def query(self, state: Any, key: Any) -> Any:
        return {}

    def update(self, state: Any, query: Any, answer: Any, key: Any) -> Any:
        return state, {}

    def sampler(self, state: Any) -> Any:
        return state

    def sample(self, sampler: Any, classes: Any, key: Any) -> Any:
        means = sampler["means"][classes]
        return jnp.clip(means + 0.5 * jax.random.normal(key, means.shape), 0.0, 1.0)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, settings: dict[str, Any], codec: Any) -> "ToyGenerator":
        return cls(**settings)

    def mismatch(self, weights: Mapping[str, Any]) -> str:
        return mismatch(weights, {"means": (self.classes, self.width)})
