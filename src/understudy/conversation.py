"""The conversation across the wall, as types.

A generator is public. It asks (`query`), learns from answers (`update`) and draws rows (by `sample`, `columns` or `encoded`). No
signature contains a private row, so whatever a generator does is post-processing of what was released. A mechanism (in
`understudy.private`) holds the rows and answers. `fit.py` is the only place where the two meet.
"""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from understudy.schema.drawn import Columns

State = Any  # a pytree of arrays, carried from round to round
Hints = Any  # what the opening found out, as arrays or None: where learning starts
Query = Any  # what is asked: arrays computed from the generator's state alone
Answer = Any  # what was released: noisy integers
Info = dict[str, Float[Array, ""]]  # looked at, never carried; computed from released values only


@runtime_checkable
class Generator(Protocol):
    """Ask and learn. Implementations are frozen dataclasses of public settings; all functions are pure."""

    def init(self, key: PRNGKeyArray, hints: Hints) -> State:
        """The state before the first round, from released values."""
        ...

    def query(self, state: State, key: PRNGKeyArray) -> Query:
        """What is asked in the next round: a function of the state alone."""
        ...

    def update(self, state: State, query: Query, answer: Answer, key: PRNGKeyArray) -> tuple[State, Info]:
        """The state after an answer, and figures to look at."""
        ...

    def sampler(self, state: State) -> Mapping[str, Array | np.ndarray]:
        """The part of the state that the artifact keeps: what `sample` needs, by name."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Settings for the artifact; `from_dict(settings, codec)` is the way back."""
        ...

    def mismatch(self, weights: Mapping[str, Any]) -> str:
        """What is wrong with loaded weights, in words; empty when nothing is."""
        ...


class Silent:
    """A generator's half of the rounds where there are none: all that it draws from was released before."""

    def query(self, state: State, key: PRNGKeyArray) -> Query:
        """Nothing is asked."""
        return {}

    def update(self, state: State, query: Query, answer: Answer, key: PRNGKeyArray) -> tuple[State, Info]:
        """Nothing is learned."""
        return state, {}


class RowGenerator(Generator, Protocol):
    """Draws encoded rows, all columns together: networks."""

    def sample(
        self, sampler: dict[str, Array], classes: Int[Array, " rows"], key: PRNGKeyArray
    ) -> Float[Array, "rows width"]:
        """Encoded rows, one of each class asked for."""
        ...


class ColumnGenerator(Generator, Protocol):
    """Draws column by column, without an encoded row: tables. `fitted_afterwards` says that every block takes long."""

    def columns(self, sampler: Mapping[str, np.ndarray]) -> Columns:
        """What draws rows of given classes; whatever can be prepared is prepared here."""
        ...


class ArrayGenerator(Generator, Protocol):
    """Draws encoded rows with NumPy, whose normal numbers are quicker than compiled ones."""

    def encoded(
        self, sampler: Mapping[str, np.ndarray], classes: np.ndarray, random: np.random.Generator
    ) -> np.ndarray:
        """Encoded rows, one of each class asked for."""
        ...
