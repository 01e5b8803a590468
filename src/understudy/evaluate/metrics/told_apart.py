"""Told from real: can boosted trees tell real rows from synthetic ones?

Equally many rows of both (at most `boosting.MAX_ROWS` a side), three-fold cross-validation, mean AUROC of the folds. 0.5: they
cannot tell; 1.0: they always can. A bootstrap of the real rows scores a little below 0.5, because copies of a row lie on both
sides of a fold under different names.

`telling_columns`: the columns whose shuffling among the test rows costs the classifier most, i.e. where to look first.
"""

import numpy as np
from sklearn.metrics import roc_auc_score

from understudy.evaluate.boosting import MAX_ROWS, Design, chances
from understudy.evaluate.table import Table
from understudy.schema import Schema

FOLDS = 3
LEAST_ROWS = 20
_SHUFFLE_ROWS, _MOST_SHUFFLED, _TELLING, _LEAST_DROP = 2_000, 100, 5, 0.01


def compare(
    real: Table, synthetic: Table, schema: Schema, seed: int, *, most: int = MAX_ROWS, explain: bool = False
) -> tuple[float | None, tuple[str, ...]]:
    """AUROC, and with `explain` the telling columns; None below `LEAST_ROWS` rows."""
    size = min(real.rows, synthetic.rows, most)
    if size < LEAST_ROWS:
        return None, ()
    design = Design(schema)
    rows = np.concatenate([design.rows(real.sample(size, seed)), design.rows(synthetic.sample(size, seed + 1))])
    fake = np.repeat([0, 1], size)
    fold = np.tile(np.random.default_rng(seed).permutation(size) % FOLDS, 2)
    areas: list[float] = []
    telling: tuple[str, ...] = ()
    for k in range(FOLDS):
        model = design.fit(rows[fold != k], fake[fold != k], seed)
        held, truth = rows[fold == k], fake[fold == k]
        areas.append(float(roc_auc_score(truth, chances(model, held)[:, 1])))
        if explain and k == 0:
            telling = _telling(model, held, truth, design.names, seed)
    return float(np.mean(areas)), telling


def _telling(model: object, rows: np.ndarray, fake: np.ndarray, names: tuple[str, ...], seed: int) -> tuple[str, ...]:
    order = np.random.default_rng(seed).permutation(len(rows))[:_SHUFFLE_ROWS]
    rows, fake = rows[order], fake[order]
    if len(names) > _MOST_SHUFFLED or len(np.unique(fake)) < 2:
        return ()
    whole, rng, drops = roc_auc_score(fake, chances(model, rows)[:, 1]), np.random.default_rng(seed), {}
    for i, name in enumerate(names):
        shuffled = rows.copy()
        shuffled[:, i] = rng.permutation(rows[:, i])
        drops[name] = whole - roc_auc_score(fake, chances(model, shuffled)[:, 1])
    ranked = sorted(names, key=lambda name: -drops[name])[:_TELLING]
    return tuple(name for name in ranked if drops[name] > _LEAST_DROP)
