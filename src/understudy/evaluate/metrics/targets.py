"""Every column as a target: does boosting learn from synthetic rows what it learns from real ones, whatever is asked?

Targets are the label and three other columns drawn at random. A discrete column is predicted as it is (its `MOST_CLASSES` most
frequent outcomes, the rest as one class; missing is an outcome), a number as the question whether it lies above the median of
the real rows, so that every target has the same scale. Boosted trees are trained on at most `boosting.MAX_ROWS` real or synthetic
rows and tested on held-out real rows (without held-out rows on one half of the real ones, which then train on the other half).
AUROC is the macro average of one-vs-rest areas over the classes present among the test rows.

    kept = (AUROC from synthetic rows - 0.5) / (AUROC from real rows - 0.5)

A column that real rows predict with less than 0.55 says nothing; the next one is drawn, twice as many as wanted at most. Rows
without dependence keep nothing, by definition: a classifier trained on shuffled rows is right or wrong by chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from understudy.evaluate.boosting import MAX_ROWS, Design, chances
from understudy.evaluate.result import Summary, Target
from understudy.evaluate.table import Table, categories, evaluated, is_discrete
from understudy.schema import Schema

OTHERS = 3
MOST_CLASSES = 5
LEAST_GAIN = 0.05


@dataclass(frozen=True)
class Question:
    """A column as a class: the same classes for every table."""

    column: str
    classes: int
    kept: tuple[int, ...] | None  # discrete: codes of the classes in order, all others are the last class
    median: float = 0.0

    def of(self, table: Table) -> np.ndarray:
        """Class of every row; -1 where a number is missing."""
        values = table.values[self.column]
        if self.kept is None:
            return np.where(np.isnan(values), -1, values > self.median).astype(np.int64)
        out = np.full(len(values), len(self.kept))
        for number, code in enumerate(self.kept):
            out[values == code] = number
        return out


def question(real: Table, schema: Schema, name: str) -> Question:
    """How a column is asked for, from the real rows."""
    column, values = schema.column(name), real.values[name]
    if not is_discrete(column):
        known = values[np.isfinite(values)]
        return Question(name, 2, None, float(np.median(known)) if known.size else 0.0)
    counts = np.bincount(values + 2, minlength=len(categories(column)) + 2)  # from -2, unknown, and -1, missing
    order = [int(i) - 2 for i in np.argsort(-counts, kind="stable") if counts[i] > 0][:MOST_CLASSES]
    return Question(name, len(order) + 1, tuple(order))


def auroc(train: Table, test: Table, schema: Schema, asked: Question, seed: int) -> float | None:
    """Of boosted trees on the test rows; 0.5 where training shows one class, None where the test rows do."""
    design = Design(schema, without=asked.column)
    target, truth = asked.of(train), asked.of(test)
    known, held = target >= 0, truth >= 0
    present = [c for c in np.unique(truth[held]) if (truth[held] == c).sum() < held.sum()]
    if not present:
        return None
    if len(np.unique(target[known])) < 2:
        return 0.5
    model = design.fit(design.rows(train)[known], target[known], seed)
    scores = dict(zip(model.classes_, chances(model, design.rows(test)[held]).T, strict=True))
    nothing = np.zeros(held.sum())
    wanted = present[1:] if len(present) == 2 else present  # of two classes one says all
    return float(np.mean([roc_auc_score(truth[held] == c, scores.get(c, nothing)) for c in wanted]))


def compare(
    real: Table, held_out: Table | None, synthetic: Sequence[Table], schema: Schema, seed: int
) -> tuple[Target, ...]:
    """The label first, then other columns. The training rows drawn again are scored like a synthetic table: never the test rows,
    which they would know by heart.
    """
    train, test = _split(real, held_out, seed)
    if min(train.rows, test.rows, *(table.rows for table in synthetic)) == 0:
        return ()
    rng = np.random.default_rng([seed, 4])
    names = [c.name for c in evaluated(schema)]
    if len(names) < 2:
        return ()
    again = train.take(np.random.default_rng([seed, 6]).integers(train.rows, size=min(train.rows, 2 * MAX_ROWS)))
    others = [names[i] for i in rng.permutation(len(names)) if names[i] != schema.label]
    found: list[Target] = []
    label = [schema.label] if schema.label in names else []
    for name in [*label, *others[: 2 * OTHERS]]:
        if len(found) == OTHERS + len(label):
            break
        asked = question(real, schema, name)
        best = auroc(train.sample(MAX_ROWS, seed), test, schema, asked, seed)
        if best is None or (best < 0.5 + LEAST_GAIN and name != schema.label):
            continue
        scores = [auroc(t.sample(MAX_ROWS, seed), test, schema, asked, seed) for t in (*synthetic, again)]
        found.append(
            Target(
                column=name,
                classes=asked.classes,
                real=best,
                synthetic=Summary.of(scores[:-1]),
                bootstrap=scores[-1],
            )
        )
    return tuple(found)


def kept(score: float | None, real: float) -> float | None:
    """Share of the gain over chance; None where there is hardly any."""
    return None if score is None or real < 0.5 + LEAST_GAIN else (score - 0.5) / (real - 0.5)


def _split(real: Table, held_out: Table | None, seed: int) -> tuple[Table, Table]:
    if held_out is not None and held_out.rows > 0:
        return real, held_out.sample(5 * MAX_ROWS, seed)
    order = np.random.default_rng([seed, 5]).permutation(real.rows)
    half = real.rows // 2
    return real.take(order[:half]), real.take(order[half:]).sample(5 * MAX_ROWS, seed)
