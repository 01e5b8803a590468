"""What crosses the wall carries its price.

A `Release` pairs a value with the privacy event that producing it cost. Every public function of `understudy.private`
returns one (a test walks `__all__` and reads the annotations), so nothing can leave without being priced.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

import dp_accounting as dpa

T = TypeVar("T")


@dataclass(frozen=True)
class Release(Generic[T]):
    """A value that may leave, and what producing it cost (`NoOpDpEvent` only for public inputs)."""

    value: T
    event: dpa.DpEvent
