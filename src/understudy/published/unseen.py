"""People with a pair of values that no row of a stand-in has: the side of impossible rows that may be published.

Impossible rows are rows of the *stand-in* with a pair of values that nobody has. One person can make any share of them possible
by having that pair, so no useful noise hides a person there. Turned round it is a count of people:

    unseen(t) = 1   if for some pair of columns (a, b) no row of the stand-in has the cells (t_a, t_b), else 0

is a map of one row, since the stand-in is public. Somebody is in one of two cells, [seen, unseen]: an ordinary histogram, whose
sensitivity is proved in `understudy.questions.counts`. A stand-in that never draws what is rare, or that has lost the link
between columns and puts its rows elsewhere, leaves people out; one that is right leaves out as many as `floor` says, the share of
its own rows that would be unseen if that row were taken away.
"""

import numpy as np

from understudy.published.measures import Asked
from understudy.questions import Clique, Step
from understudy.questions.row_maps import Binned, Linear, LookUp, joined

EITHER = np.asarray([0.5])  # between no pair and one


def counts_of(asked: Asked, codes: np.ndarray) -> dict[Clique, np.ndarray]:
    """How many rows of a stand-in have each pair of cells."""
    sizes = asked.sizes
    return {
        (a, b): np.bincount(codes[:, a] * sizes[b] + codes[:, b], minlength=sizes[a] * sizes[b]) for a, b in asked.pairs
    }


def unseen(asked: Asked, codes: np.ndarray) -> Step:
    """The map of a row to 0 (all its pairs are in the stand-in, whose cells are `codes`) or 1."""
    steps, sizes, pairs = asked.cells.steps, asked.sizes, asked.pairs
    known = counts_of(asked, codes)
    first = LookUp(joined(*(steps[a] for a, _ in pairs)), tuple(np.arange(sizes[a]) * sizes[b] for a, b in pairs))
    second = LookUp(joined(*(steps[b] for _, b in pairs)), tuple(np.arange(sizes[b]) for _, b in pairs))
    missing = LookUp(first + second, tuple((known[pair] == 0).astype(np.float64) for pair in pairs))
    return Binned(Linear(missing, np.ones((1, len(pairs))), np.zeros(1)), (EITHER,))


def floor(asked: Asked, codes: np.ndarray) -> float:
    """The share of the stand-in's own rows that would be unseen if that row were taken away."""
    known, alone = counts_of(asked, codes), np.zeros(len(codes), bool)
    for a, b in asked.pairs:
        alone |= known[a, b][codes[:, a] * asked.sizes[b] + codes[:, b]] == 1
    return float(alone.mean())
