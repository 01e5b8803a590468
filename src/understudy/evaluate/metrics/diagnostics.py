"""Exact copies and distance to the closest record. Diagnostics, NOT privacy evidence.

A private generator may emit a row that exists (common rows are common), and a leaking one may emit none. These figures
find bugs (a generator that stores rows) and nothing else; see e.g. Ganev and De Cristofaro 2023 on similarity-based
privacy metrics. They are labelled so in the result.

Copies: rows equal in every column, numbers compared at float32 precision. `expected` is the same share for held-out real
rows; without training rows, of the held-out rows that equal another one of them: one row more of their kind meets as many
(one half of them meets half as many in the other, so that honest rows of a small domain looked copied). Rows were copied, not
generated, where copies exceed it by more than a tenth of the rows; and where real rows hardly ever equal each other, where more
than `FEW` of the distinct rows are copies: a generator that repeats one row does not stand out by it.

Distance: Euclidean on features scaled to [0, 1] by the training rows; synthetic rows (2,000 at most) against training and
holdout rows of equal number (10,000 at most), all drawn at random; a row that equals any training (or held-out) row has
distance 0, drawn or not. A generator that treats both alike is nearer to the training row half of the time; copies of training
rows are always.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from understudy.evaluate import features
from understudy.evaluate.result import Diagnostics, Distances, Summary
from understudy.evaluate.table import Table
from understudy.schema import Schema

COPIED = 0.1  # share of the rows by which copies may exceed what is expected
SELDOM = 0.01  # share of real rows that equal another: surely less, and hardly any copy is due to chance
FEW, FEWEST = 0.02, 5  # share, and number, of distinct rows that may be copies then
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MAX_SYNTHETIC, MAX_REAL = 2_000, 10_000
_BLOCK = 500


def row_hashes(table: Table) -> np.ndarray:
    """One 64-bit hash per row, from the columns in order."""
    out = np.full(table.rows, 0x9E3779B97F4A7C15, dtype=np.uint64)
    for values in table.values.values():
        with np.errstate(over="ignore"):
            plain = values.astype(np.float32) + np.float32(0.0)  # -0.0 and 0.0 are one value
        column = pd.util.hash_array(plain)
        out = (out ^ column) * np.uint64(0x100000001B3)
        out ^= out >> np.uint64(29)
    return out


def copies(rows: Table, among: Table) -> float | None:
    """Share of `rows` that also occur in `among`."""
    if rows.rows == 0 or among.rows == 0:
        return None
    return float(np.isin(row_hashes(rows), row_hashes(among)).mean())


def copied(rows: Table, among: Table, expected: float, looked_at: int) -> bool:
    """Whether rows were taken from a table; `expected` is the share of copies among `looked_at` real rows."""
    share = copies(rows, among)
    if share is None:
        return False
    if share > expected + COPIED:
        return True
    surely = expected + 3.0 / max(looked_at, 1)  # of 3 / n no case in n rows is seen with a chance of 5 %
    distinct = np.unique(row_hashes(rows))
    found = int(np.isin(distinct, row_hashes(among)).sum())
    return surely < SELDOM and found >= FEWEST and found > FEW * len(distinct)


def closest(rows: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Distance of each row to its nearest neighbour, in blocks."""
    norm = (among * among).sum(axis=1)
    out = np.empty(len(rows))
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        squared = (block * block).sum(axis=1)[:, None] + norm - 2 * block @ among.T
        out[start : start + _BLOCK] = np.sqrt(np.maximum(squared.min(axis=1), 0.0))
    return out


def compare(train: Table | None, test: Table, synthetic: Sequence[Table], schema: Schema, seed: int) -> Diagnostics:
    """Exact copies and distances to the closest record, beside what held-out real rows show."""
    against = test if train is None else train
    shares = [copies(table, against) for table in synthetic]
    expected = copies(test, train) if train is not None else among_others(test)
    size = 0 if train is None else min(train.rows, test.rows, MAX_REAL)
    drawn = (
        f"distances: at most {MAX_SYNTHETIC:,} synthetic rows against {size:,} training and {size:,} held-out rows, all drawn "
        "at random; a row equal to any training or held-out row has distance 0"
    )
    return Diagnostics(
        exact_copies=Summary.of(shares, higher_is_better=False),
        exact_copies_expected=expected,
        compared_with="test" if train is None else "train",
        copied=any(copied(table, against, expected or 0.0, test.rows) for table in synthetic),
        distances=None if train is None else _distances(train, test, synthetic, schema, seed),
        notes=(drawn,) if train is not None else ("no training rows given: distances need them beside a holdout",),
    )


def among_others(table: Table) -> float | None:
    """Share of the rows that equal another row of the table: what one row more of the same kind has by chance."""
    if table.rows < 2:
        return None
    _, place, counts = np.unique(row_hashes(table), return_inverse=True, return_counts=True)
    return float((counts[place] > 1).mean())


def _distances(train: Table, test: Table, synthetic: Sequence[Table], schema: Schema, seed: int) -> Distances | None:
    size = min(train.rows, test.rows, MAX_REAL)
    if size == 0 or not any(t.rows for t in synthetic):
        return None
    encoder = features.fit(train, schema)
    known = encoder.apply(train.sample(size, seed)).astype(np.float64)
    held = encoder.apply(test.sample(size, seed)).astype(np.float64)
    rng = np.random.default_rng(seed)
    in_train, in_test = row_hashes(train), row_hashes(test)
    shares: list[float | None] = []
    first = np.zeros(0)
    for table in synthetic:
        if table.rows == 0:
            shares.append(None)
            continue
        drawn = table.sample(MAX_SYNTHETIC, seed)
        hashes, rows = row_hashes(drawn), encoder.apply(drawn).astype(np.float64)
        to_train = np.where(np.isin(hashes, in_train), 0.0, closest(rows, known))
        to_held = np.where(np.isin(hashes, in_test), 0.0, closest(rows, held))
        first = first if first.size else to_train
        ties = to_train == to_held
        shares.append(float(((to_train < to_held) | (ties & (rng.random(len(rows)) < 0.5))).mean()))
    own = closest(held[:MAX_SYNTHETIC], known)
    return Distances(
        quantiles=QUANTILES,
        synthetic_to_train=tuple(float(q) for q in np.quantile(first, QUANTILES)),
        holdout_to_train=tuple(float(q) for q in np.quantile(own, QUANTILES)),
        closer_than_holdout=Summary.of(shares, higher_is_better=False),
    )
