"""Exact copies and distance to the closest record. Diagnostics, NOT privacy evidence.

A private generator may emit a row that exists (common rows are common), and a leaking one may emit none. These figures
find bugs (a generator that stores rows) and nothing else; see e.g. Ganev and De Cristofaro 2023 on similarity-based
privacy metrics. They are labelled so in the result.

Copies: rows equal in every column, numbers compared at float32 precision. `expected` is the same share for held-out
real rows. Distance: Euclidean on features scaled to [0, 1] by the training rows; synthetic rows (2,000 at most) against
training and holdout rows of equal number (10,000 at most). A generator that treats both alike is nearer to the training
row half of the time.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from understudy.evaluate import features
from understudy.evaluate.result import Diagnostics, Distances, Summary
from understudy.evaluate.table import Table
from understudy.schema import Schema

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
    return Diagnostics(
        exact_copies=Summary.of([copies(t, against) for t in synthetic], higher_is_better=False),
        exact_copies_expected=None if train is None else copies(test, train),
        compared_with="test" if train is None else "train",
        distances=None if train is None else _distances(train, test, synthetic, schema, seed),
        notes=() if train is not None else ("no training rows given: distances need them beside a holdout",),
    )


def _distances(train: Table, test: Table, synthetic: Sequence[Table], schema: Schema, seed: int) -> Distances | None:
    size = min(train.rows, test.rows, MAX_REAL)
    if size == 0 or not any(t.rows for t in synthetic):
        return None
    encoder = features.fit(train, schema)
    known = encoder.apply(train.sample(size, seed)).astype(np.float64)
    held = encoder.apply(test.sample(size, seed)).astype(np.float64)
    rng = np.random.default_rng(seed)
    shares: list[float | None] = []
    first = np.zeros(0)
    for table in synthetic:
        if table.rows == 0:
            shares.append(None)
            continue
        rows = encoder.apply(table.sample(MAX_SYNTHETIC, seed)).astype(np.float64)
        to_train, to_held = closest(rows, known), closest(rows, held)
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
