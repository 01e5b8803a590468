"""How long an audit will take, said before it starts: by public facts (method, rounds, runs, size of tables) and stored runs.

`PER_FIT` holds the seconds of one shadow fit in the stored worst-case audits (`benchmarks/results/audit-worst-case-*.json`,
two processes; a test compares the two), and their rounds. Work grows with the rounds, and with the cells of a large table: about
as much again for every `CELLS` of them (858 rows of 36 columns, `audit-cervical-pate-gan.json`: 5.6 times as long).
Machines, compilation and what else runs differ, so the answer is a range: a factor of `APART` either way.
"""

from collections.abc import Mapping

import pandas as pd

from understudy.audit.targets import Pair
from understudy.estimator import Estimator

PER_FIT: Mapping[str, tuple[float, int]] = {  # seconds, and rounds (0: the method has none)
    "aim": (0.30, 0),
    "dpgan": (0.28, 100),
    "g-pate": (0.068, 100),
    "g-pate-as-published": (0.18, 10),
    "independent": (0.020, 0),
    "mean-embedding": (0.022, 0),
    "mst": (0.089, 0),
    "pate-gan": (0.87, 100),
    "rdp-cgan": (0.31, 30),
}
PROCESSES = 2  # of the stored runs
CELLS = 6_600
APART = 3.0


def seconds(estimator: Estimator, pair: Pair, runs: int, processes: int) -> tuple[float, float] | None:
    """From how many to how many seconds; None for a method that no stored run tells about."""
    known = PER_FIT.get(estimator.method)
    if known is None:
        return None
    one, rounds = known
    planned = getattr(estimator, "rounds", None)
    if rounds and isinstance(planned, int):
        one *= planned / rounds
    cells = pair.with_.size if isinstance(pair.with_, pd.DataFrame) else 0
    one *= 1.0 + cells / CELLS
    total = runs * one * PROCESSES / max(processes, 1)
    return total / APART, total * APART
