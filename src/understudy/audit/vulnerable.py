"""Which row of a real table is told best: distance first, then a small attack on each candidate (Meeus et al. 2023).

    candidates: the rows furthest from their nearest neighbour   ->   FITS fits with all rows, FITS without each candidate
    ->   an attack learns on half of them   ->   the candidate with the largest | area under its ROC - 1/2 | on the other half

The fits on the whole table serve all candidates. None of them is used again: the audit that follows makes its own, so that its
bounds hold for whatever row was chosen. The noise of these small attacks has a fixed seed, so that an interrupted audit goes on
with the same row. The choice reads the table: for auditing a table one holds, not private.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from understudy.audit.game import area, learned_scores, roc
from understudy.audit.targets import Pair, record_pair, remote_rows
from understudy.schema import Schema

MINI_ATTACKS = "mini-attacks"
CANDIDATES = 8
FITS = 50  # on every table

Fits = Callable[[pd.DataFrame, int, int], Sequence[pd.DataFrame]]  # table, number, seed -> synthetic tables
Features = Callable[[Sequence[pd.DataFrame], Schema], np.ndarray]


def most_vulnerable(
    frame: pd.DataFrame,
    schema: Schema,
    fits: Fits,
    features: Features,
    candidates: int = CANDIDATES,
    count: int = FITS,
) -> Pair:
    """The pair of the candidate that a small attack tells best."""
    pairs = [record_pair(frame, schema, row) for row in one_per_unit(frame, schema, candidates)]
    whole = features(fits(frame, count, 0), schema)
    told = [
        how_well_told(features(fits(pair.without, count, number), schema), whole)
        for number, pair in enumerate(pairs, 1)
    ]
    return pairs[int(np.argmax(told))]


def one_per_unit(frame: pd.DataFrame, schema: Schema, candidates: int) -> list[int]:
    """Remote rows, at most one of each unit."""
    rows: list[int] = remote_rows(frame, schema, len(frame)).tolist()
    if schema.unit is None:
        return rows[:candidates]
    first: dict[object, int] = {}
    for row in rows:
        first.setdefault(frame[schema.unit].iloc[row], row)
    return list(first.values())[:candidates]


def how_well_told(without: np.ndarray, with_: np.ndarray) -> float:
    """Distance of the area under the ROC from a coin's, on the half that the classifier did not see."""
    return abs(area(roc(*learned_scores((without, with_), len(without) // 2, 0))) - 0.5)
