"""A generator around another one: all that it does not say otherwise is done by the inner one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, PRNGKeyArray

from understudy.conversation import Answer, Generator, Hints, Info, Query, State


@dataclass(frozen=True)
class Wrapped:
    """A generator that passes everything on to the one inside; attacks change one method of it."""

    inner: Generator

    def init(self, key: PRNGKeyArray, hints: Hints) -> State:
        """As the generator inside."""
        return self.inner.init(key, hints)

    def query(self, state: State, key: PRNGKeyArray) -> Query:
        """As the generator inside."""
        return self.inner.query(state, key)

    def update(self, state: State, query: Query, answer: Answer, key: PRNGKeyArray) -> tuple[State, Info]:
        """As the generator inside."""
        return self.inner.update(state, query, answer, key)

    def sampler(self, state: State) -> Mapping[str, Array | np.ndarray]:
        """As the generator inside."""
        return self.inner.sampler(state)

    def __getattr__(self, name: str) -> Any:
        """What draws rows: as the generator inside, if it has it."""
        if name not in ("sample", "columns", "encoded"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    def to_dict(self) -> dict[str, object]:
        """As the generator inside."""
        return self.inner.to_dict()

    def mismatch(self, weights: Mapping[str, Any]) -> str:
        """As the generator inside."""
        return self.inner.mismatch(weights)
