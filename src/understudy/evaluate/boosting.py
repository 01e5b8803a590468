"""Boosted trees for the measures that learn: which rows they see, and in which form.

Histogram gradient boosting of scikit-learn, `ITERATIONS` trees per class, everything else at its default. One feature per
column: numbers as they are, orders by position, categories as categories (beyond 250 of them as numbers), gaps as gaps. At
most `MAX_ROWS` rows of a table are drawn without replacement and recorded; the counts of other measures use every row.
One thread: the trees are small, and OpenMP threads that wait for each other on a busy machine take minutes.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from understudy.evaluate.table import Table, categories, evaluated, is_discrete
from understudy.schema import Schema

MAX_ROWS = 10_000
ITERATIONS = 60
_MOST_CATEGORIES = 250  # scikit-learn takes up to 255


@dataclass(frozen=True)
class Design:
    """The features of a table: every column but `without`."""

    schema: Schema
    without: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Columns in the order of the features."""
        return tuple(c.name for c in evaluated(self.schema) if c.name != self.without)

    @property
    def categorical(self) -> list[bool]:
        """Features without an order."""
        columns = [self.schema.column(name) for name in self.names]
        return [is_discrete(c) and c.kind != "ordinal" and len(categories(c)) < _MOST_CATEGORIES for c in columns]

    def rows(self, table: Table) -> np.ndarray:
        """Missing cells are NaN; unknown categories come after the known ones."""
        out = np.empty((table.rows, len(self.names)))
        for i, name in enumerate(self.names):
            values = table.values[name]
            if values.dtype == np.int32:
                unknown = len(categories(self.schema.column(name)))
                out[:, i] = np.where(values == -1, np.nan, np.where(values < 0, unknown, values))
            else:
                out[:, i] = np.clip(values, -1e30, 1e30)
        return out

    def fit(self, rows: np.ndarray, target: np.ndarray, seed: int) -> HistGradientBoostingClassifier:
        """A fitted classifier."""
        model = HistGradientBoostingClassifier(
            max_iter=ITERATIONS, random_state=seed, early_stopping=False, categorical_features=self.categorical
        )
        nothing = np.isnan(rows).all(axis=0)  # scikit-learn cannot bin a feature without a value
        with threadpool_limits(limits=1):
            return model.fit(np.where(nothing, 0.0, rows), target)


def chances(model: HistGradientBoostingClassifier, rows: np.ndarray) -> np.ndarray:
    """Predicted probabilities, one column per class of the model."""
    with threadpool_limits(limits=1):
        return np.asarray(model.predict_proba(rows))
