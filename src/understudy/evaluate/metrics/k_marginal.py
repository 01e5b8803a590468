"""The k-marginal score of NIST's SDNist: 0 to 1000, 1000 for equal tables.

    score = 500 (2 - mean over marginals of sum over cells |share of real rows - share of synthetic rows|)

i.e. 1000 (1 - mean total variation), as `KMarginal` in `sdnist/metrics/kmarginal.py` of version 2.5 computes it
(github.com/usnistgov/SDNist). With a stable column, PUMA in the census excerpts, the marginals are that column together with
every pair of the others (k = 3; from 30 columns on 200 pairs drawn at random). Without one SDNist takes pairs; here 200 triples
are drawn, so that k is 3 either way. Numbers are cut at the percentiles of the real rows into 20 bins, fewer where values repeat.

Differences to SDNist that remain: DENSITY is cut at percentiles like every other number (SDNist has twelve logarithmic bins
for it), and SDNist's report rounds down to a whole number.
"""

import itertools
from collections.abc import Sequence

import numpy as np

from understudy.evaluate.codes import Codes
from understudy.evaluate.metrics.marginals import of_sets, triples_of

SETS = 200
ALL_BELOW = 30  # columns beside the stable one: fewer than this, and every pair counts


def sets_of(names: Sequence[str], stable: str | None, seed: int) -> list[tuple[int, ...]]:
    """The triples of columns that are scored."""
    if stable is None or stable not in names or len(names) < 3:
        return triples_of(len(names), SETS, seed) or [tuple(range(len(names)))]
    fixed = names.index(stable)
    others = [i for i in range(len(names)) if i != fixed]
    pairs = list(itertools.combinations(others, 2))
    if len(others) >= ALL_BELOW:
        chosen = np.random.default_rng([seed, 30]).choice(len(pairs), size=min(SETS, len(pairs)), replace=False)
        pairs = [pairs[i] for i in sorted(chosen)]
    return [(fixed, *pair) for pair in pairs]


def score(real: Codes, other: Codes, sets: Sequence[tuple[int, ...]]) -> float:
    """On codes cut at percentiles (`evaluate.codes.percentiles`)."""
    return float(1000.0 * (1.0 - of_sets(real, other, sets).mean()))
