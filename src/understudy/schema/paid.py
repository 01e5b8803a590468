"""The record of a private vote on the kinds of columns, in the schema file.

    kinds: {sigma: 78.3, epsilon: 0.05, delta: 1e-06, columns: 12, unit: patient}

The vote was one Gaussian answer with noise multiplier `sigma`; epsilon and delta are its price alone, for people to read. It is
part of the schema, hence of its fingerprint, and every plan made from the schema charges it (`understudy.accounting.prior`).
"""

import math
from dataclasses import dataclass
from typing import Any

from understudy.errors import UsageError
from understudy.schema.document import mapping


@dataclass(frozen=True, kw_only=True)
class PaidKinds:
    """What finding the kinds has cost: one Gaussian answer of noise multiplier `sigma`, for the unit named here.

    The price counts `unit` (None: one row) with all of its rows, so the schema must keep that unit.
    """

    sigma: float
    epsilon: float
    delta: float
    columns: int
    unit: str | None = None
    release: str = ""  # a name of its own for this vote: accounts count it once, however many plans carry it

    def __post_init__(self) -> None:
        for name in ("sigma", "epsilon", "delta", "columns"):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"kinds: {name} must be above 0 and finite, as `schema init` wrote it")

    @classmethod
    def from_entry(cls, entry: object) -> "PaidKinds | None":
        """The record that a schema file holds, if it holds one."""
        if entry is None:
            return None
        found = mapping(entry, "kinds", ("sigma", "epsilon", "delta", "columns", "unit", "release"))
        numbers = {name: found.get(name) for name in ("sigma", "epsilon", "delta")}
        for name, value in numbers.items():
            if not isinstance(value, int | float) or isinstance(value, bool):
                raise UsageError(f"kinds: {name} must be a number, as `schema init` wrote it")
        columns, unit = found.get("columns"), found.get("unit")
        if not isinstance(columns, int) or isinstance(columns, bool):
            raise UsageError("kinds: columns must be a whole number, as `schema init` wrote it")
        if unit is not None and not isinstance(unit, str):
            raise UsageError("kinds: unit must be the name of a column, as `schema init` wrote it")
        release = found.get("release", "")
        if not isinstance(release, str):
            raise UsageError("kinds: release must be a word, as `schema init` wrote it")
        measured = {name: float(value) for name, value in numbers.items()}  # type: ignore[arg-type]
        return cls(**measured, columns=columns, unit=unit, release=release)

    def entry(self) -> dict[str, Any]:
        """As the schema's document holds it."""
        found = {"sigma": self.sigma, "epsilon": self.epsilon, "delta": self.delta, "columns": self.columns}
        named = {"unit": self.unit, "release": self.release}
        return found | {name: value for name, value in named.items() if value}
