"""Codes beside numbers (`pay = N`), as questions ask for them.

Questions about numbers take codes for gaps (`columns.numbers_alone`). So that they can be asked for all the same, every column
with codes gets a companion in the drawn tables: the place of each cell among `Column.specials`, `NUMBER` where it is a number.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from understudy.infer.condition import THERE, Condition
from understudy.schema import Column, Schema

NUMBER = -1


def companion(name: str) -> str:
    """The name of a column's companion; no column of a table is called so."""
    return f"\x00special of {name}"


def specials(cells: pd.Series, column: Column) -> np.ndarray:
    """The place of every cell among `Column.specials`, `NUMBER` for numbers."""
    found = np.full(len(cells), NUMBER, np.int32)
    text = cells.astype("string").str.replace(column.decimal, ".", regex=False) if column.has_words else cells
    numbers = pd.to_numeric(text, errors="coerce").astype(float)
    for place, special in enumerate(column.specials):
        if special is None:
            same = cells.isna()
        elif isinstance(special, str):
            same = cells == special
        else:
            same = numbers == special
        found[same.fillna(False).to_numpy(bool)] = place
    return found


def with_companions(rows: pd.DataFrame, schema: Schema) -> Mapping[str, np.ndarray]:
    """The companions of a table's columns with codes."""
    return {companion(c.name): specials(rows[c.name], c) for c in schema.columns if c.codes}


@dataclass(frozen=True)
class OfSpecials(Condition):
    """Whether a column of numbers with codes holds one of these specials (or, with `!=` and `is not missing`, none of them)."""

    of: Column | None = None
    places: frozenset[int] = frozenset()

    @property
    def negated(self) -> bool:
        """Whether it asks for everything else."""
        return self.sign in ("!=", THERE)

    def holds(self, rows: pd.DataFrame) -> pd.Series:
        """Row by row; a missing value fulfils no comparison."""
        own = self._specials(rows)
        found = np.isin(own, list(self.places))
        if self.negated:
            gap = self.of is not None and self.of.missing
            found = ~found & ~((own == 0) & gap)
        return pd.Series(found, index=rows.index)

    def there(self, rows: pd.DataFrame) -> np.ndarray:
        """Numbers and codes; no missing values, but where it asks for these."""
        own = self._specials(rows)
        gap = self.of is not None and self.of.missing and not self.about_gaps
        return (own != 0) if gap else np.ones(len(own), bool)

    def _specials(self, rows: pd.DataFrame) -> np.ndarray:
        if companion(self.column) in rows:
            return np.asarray(rows[companion(self.column)])
        assert self.of is not None
        return specials(rows[self.column], self.of)


@dataclass(frozen=True)
class Outcome:
    """A code as `Resolution` looks at conditions: it shows a column's outcomes in their order, of which specials come first."""

    asked: OfSpecials

    @property
    def column(self) -> str:
        """Its name."""
        return self.asked.column

    def holds(self, rows: pd.DataFrame) -> pd.Series:
        """Which outcomes are meant."""
        assert self.asked.of is not None
        place = np.arange(len(rows))
        own = np.where(place < len(self.asked.of.specials), place, NUMBER)
        return self.asked.holds(pd.DataFrame({companion(self.column): own}))
