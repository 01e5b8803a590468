"""A generator around another one: all that it does not say otherwise is done by the inner one."""

from dataclasses import dataclass
from typing import Any

from understudy.conversation import Generator


@dataclass(frozen=True)
class Wrapped:
    """A generator that passes everything on to the one inside; attacks change one method of it."""

    inner: Generator

    def init(self, key: Any, hints: Any) -> Any:
        """As the generator inside."""
        return self.inner.init(key, hints)

    def query(self, state: Any, key: Any) -> Any:
        """As the generator inside."""
        return self.inner.query(state, key)

    def update(self, state: Any, query: Any, answer: Any, key: Any) -> tuple[Any, dict[str, Any]]:
        """As the generator inside."""
        return self.inner.update(state, query, answer, key)

    def sampler(self, state: Any) -> dict[str, Any]:
        """As the generator inside."""
        return self.inner.sampler(state)

    def sample(self, sampler: dict[str, Any], classes: Any, key: Any) -> Any:
        """As the generator inside."""
        return self.inner.sample(sampler, classes, key)

    def to_dict(self) -> dict[str, Any]:
        """As the generator inside."""
        return self.inner.to_dict()

    def mismatch(self, weights: Any) -> str:
        """As the generator inside."""
        return self.inner.mismatch(weights)
