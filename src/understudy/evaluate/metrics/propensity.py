"""Propensity: can a classifier tell real rows from synthetic ones?

Equal numbers of real and synthetic rows (at most 10,000 a side), half to train gradient-boosted trees (histogram
version, scikit-learn), half to test. AUROC 0.5: it cannot tell; 1.0: it always can. Beside it the propensity mean
squared error of Snoke et al. 2018 divided by its largest value, mean((p - 1/2)^2) / (1/4).

`telling_columns`: the columns whose shuffling among the test rows costs the classifier most, i.e. where to look first.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from understudy.evaluate import features
from understudy.evaluate.result import Propensity, Summary
from understudy.evaluate.table import Table
from understudy.schema import Schema

MAX_ROWS = 10_000
_MOST_SHUFFLED, _SHUFFLE_ROWS, _TELLING, _LEAST_DROP = 100, 2_000, 5, 0.01


def compare(real: Table, synthetic: Sequence[Table], schema: Schema, seed: int, most: int = MAX_ROWS) -> Propensity:
    """One thread: the trees are small, and OpenMP threads that wait for each other on a busy machine take minutes."""
    with threadpool_limits(limits=1):
        return _compare(real, synthetic, schema, seed, most)


def _compare(real: Table, synthetic: Sequence[Table], schema: Schema, seed: int, most: int) -> Propensity:
    areas, errors, size = [], [], 0
    telling: tuple[str, ...] = ()
    for number, table in enumerate(synthetic):
        size = min(real.rows, table.rows, most)
        found = _one(real.sample(size, seed), table.sample(size, seed + 1), schema, seed, explain=number == 0)
        areas.append(found[0])
        errors.append(found[1])
        telling = found[2] or telling
    return Propensity(
        auroc=Summary.of(areas, higher_is_better=False),
        pmse_ratio=Summary.of(errors, higher_is_better=False),
        model="histogram gradient boosting",
        rows=size,
        telling_columns=telling,
        notes=() if size >= 20 else ("too few rows to tell apart",),
    )


def _one(
    real: Table, synthetic: Table, schema: Schema, seed: int, *, explain: bool
) -> tuple[float | None, float | None, tuple[str, ...]]:
    if real.rows < 20:
        return None, None, ()
    encoder = features.fit(real, schema)  # scale does not matter to trees; gaps do: they are flagged where declared
    rows = np.concatenate([encoder.apply(real), encoder.apply(synthetic)])
    fake = np.repeat([0, 1], real.rows)
    order = np.random.default_rng(seed).permutation(len(rows))
    train, test = order[: len(rows) // 2], order[len(rows) // 2 :]
    if len(np.unique(fake[train])) < 2 or len(np.unique(fake[test])) < 2:
        return None, None, ()
    model = HistGradientBoostingClassifier(max_iter=50, random_state=seed, early_stopping=False).fit(
        rows[train], fake[train]
    )
    chance = model.predict_proba(rows[test])[:, 1]
    area = float(roc_auc_score(fake[test], chance))
    error = float(np.mean((chance - 0.5) ** 2) / 0.25)
    return area, error, _telling(model, rows[test], fake[test], encoder.owners, seed) if explain else ()


def _telling(
    model: HistGradientBoostingClassifier, rows: np.ndarray, fake: np.ndarray, owners: tuple[str, ...], seed: int
) -> tuple[str, ...]:
    rows, fake = rows[:_SHUFFLE_ROWS], fake[:_SHUFFLE_ROWS]
    columns = list(dict.fromkeys(owners))
    if len(np.unique(fake)) < 2 or len(columns) > _MOST_SHUFFLED:
        return ()
    whole, rng, drops = roc_auc_score(fake, model.predict_proba(rows)[:, 1]), np.random.default_rng(seed), {}
    for name in columns:
        own = [i for i, owner in enumerate(owners) if owner == name]
        shuffled = rows.copy()
        shuffled[:, own] = rows[rng.permutation(len(rows))][:, own]
        drops[name] = whole - roc_auc_score(fake, model.predict_proba(shuffled)[:, 1])
    ranked = sorted(columns, key=lambda n: -drops[n])[:_TELLING]
    return tuple(n for n in ranked if drops[n] > _LEAST_DROP)
