"""Three columns counted at once: with much budget chance alone leaves more to be known of them than counts would be wrong by.

The largest entropy that fits all pairs is what three columns have without an interaction, and nothing was asked about one. But
rows are a sample: with n_c rows expected in a cell the true count is off by E |Poisson(n_c) - n_c|, whatever the interaction
is, so a table of three columns that is not counted is wrong by at least

    D = sum_c E |Poisson(n_c) - n_c|,       n_c from the columns by themselves     (`forecast.sampling_distance`).

Counted in coarser cells it is wrong by the D of its finest cells less its own, and by what noise is forecast to bring. That is
what `Selection` compares with what its part of the budget costs the other tables; there is nothing to set.

**Which.** Triples of nodes that some clique of the tree holds anyway, so that the model does not grow. All triples together
count as much as all pairs: a pair's weight is shared by the d - 2 triples that hold it. None holds a pair that is not wanted.

All of it is a function of released values, and the counts are in the one answer that all tables share.
"""

import functools
import itertools
import math
from collections.abc import Iterator, Mapping

import numpy as np

from understudy.methods.clique_tree.columns import Columns
from understudy.methods.clique_tree.forecast import sampling_distance
from understudy.methods.clique_tree.select import Candidate, Selection
from understudy.methods.marginals.junction import Clique

MOST_CELLS = 1 << 13  # of a triple: more would make model files large


def count_triples(selection: Selection, columns: Columns, weights: Mapping[Clique, float]) -> None:
    """Add the triples that pay to what is counted."""
    each = list(candidates(selection, columns, weights))
    finest: dict[Clique, float] = {}
    for one, chance in each:
        finest[one.nodes] = max(finest.get(one.nodes, 0.0), chance)
    selection.add([one._replace(lost=finest[one.nodes] - chance) for one, chance in each], finest)


def candidates(
    selection: Selection, columns: Columns, weights: Mapping[Clique, float]
) -> Iterator[tuple[Candidate, float]]:
    """Triples that the tree holds, and how far chance takes their counts."""
    for keys in sorted(selection.held(3)):
        nodes, levels = tuple(number for number, _ in keys), tuple(level for _, level in keys)
        pairs = list(itertools.combinations(nodes, 2))
        if len(set(nodes)) < 3 or any(pair not in weights for pair in pairs):
            continue
        shares = [columns.shares(*key) for key in keys]
        if math.prod(map(len, shares)) > MOST_CELLS:
            continue
        expected = columns.rows * functools.reduce(np.multiply.outer, shares)
        weight = math.fsum(weights[pair] for pair in pairs) / (len(columns.numbers) - 2)
        yield Candidate(nodes, levels, expected, 0.0, weight), sampling_distance(expected)
