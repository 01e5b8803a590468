"""What is asked about pairs before any is counted: how far each is from independent columns, and what coarser cells would lose.

Two columns at their finest levels hold n_c rows in a cell; e_c is what independent columns with the released marginals would
hold. One noisy vector (`understudy.questions.distances`) has for every pair

    ||n - e||_1                         what is wrong if the pair is not counted
    ||n - w n[block]||_1, per level     what is wrong if it is counted at that level: a cell's share w of its block is that of e

Both are taken beyond what chance shows in rows of independent columns (`forecast.sampling_distance`) and what noise in the
released marginals brings; of the first also goes one deviation of its noise, so that a pair has to stand out to be counted.
"""

import math

import numpy as np

from understudy.methods.clique_tree.columns import Columns, level_map
from understudy.methods.clique_tree.forecast import noise_errors, sampling_distance
from understudy.methods.clique_tree.levels import coarsen
from understudy.methods.clique_tree.select import Candidate, Pairs
from understudy.private import Curator
from understudy.questions import Clique, Distances
from understudy.questions.distances import Blocks, Known

DISTANCES = "pair distances"
CAUTION = 1.0  # deviations of noise that a distance has to exceed


def ask_pairs(curator: Curator, columns: Columns, sigma: float, max_rows: int, weights: dict[Clique, float]) -> Pairs:
    """All distances in one noisy vector, and what they say about every pair of the workload `weights`."""
    levels = {pair: levels_of(columns, pair) for pair in weights}
    keys = [(number, len(columns.levels[number]) - 1) for number in columns.numbers]
    place = {number: at for at, (number, _) in enumerate(keys)}
    asked = [(pair, level) for pair, own in levels.items() for level in own]
    known, chance = zip(*(reference(columns, pair, level) for pair, level in asked), strict=True)
    cells, sizes = level_map(columns, [*keys])
    cliques = tuple((place[a], place[b]) for (a, b), _ in asked)
    question = Distances(cells, sizes, cliques, known, sigma, max_rows, share=True)
    released = curator.ask(DISTANCES, question).value
    margin = [CAUTION * question.deviation if isinstance(one, np.ndarray) else 0.0 for one in known]
    excess = iter(np.maximum(released - np.asarray(chance) - np.asarray(margin), 0.0).tolist())
    found = Pairs([], {}, {})
    for pair, own in levels.items():
        whole, *missed = (next(excess) for _ in own)
        lost = np.minimum(np.maximum.accumulate([0.0, *missed]), whole)
        finest = [columns.shares(n, -1) for n in pair]
        most = 2.0 * columns.rows * (1.0 - max(float((share * share).sum()) for share in finest))
        found.distances[pair], found.relative[pair] = whole, min(whole / max(most, 1.0), 1.0)
        for level, part in zip(own, lost.tolist(), strict=True):
            expected = columns.rows * np.outer(*(columns.shares(n, k) for n, k in zip(pair, level, strict=True)))
            found.candidates.append(Candidate(pair, level, expected, part, weights[pair]))
    return found


def levels_of(columns: Columns, pair: Clique) -> list[tuple[int, int]]:
    """Levels at which a pair may be counted, finest first; a column that has no finer one keeps its finest."""
    last = [len(columns.levels[number]) - 1 for number in pair]
    return list(dict.fromkeys((min(k, last[0]), min(k, last[1])) for k in range(max(last), -1, -1)))


def one_way_error(columns: Columns, number: int) -> float:
    """By how much the released marginal of a column is off: every pair with it is, too."""
    noise = np.asarray([max(columns.noise[number], 1e-3)])
    return float(noise_errors(columns.rows * columns.shares(number, -1), noise)[0])


def reference(columns: Columns, pair: Clique, level: tuple[int, int]) -> tuple[Known, float]:
    """What the counts of a pair are compared with, and how far from it chance alone would take them."""
    expected = columns.rows * np.outer(*(columns.shares(number, -1) for number in pair))
    own = [columns.levels[number] for number in pair]
    if all(k == len(one) - 1 for one, k in zip(own, level, strict=True)):
        unknown = [one_way_error(columns, number) for number in pair]
        return np.rint(expected).astype(np.int64), math.hypot(sampling_distance(expected), *unknown)
    rows, cols = (coarsen(one[-1], one[k]) for one, k in zip(own, level, strict=True))
    block = (rows[:, None] * (int(cols.max()) + 1) + cols[None, :]).ravel()
    _, block = np.unique(block, return_inverse=True)
    inside = expected.ravel() / np.bincount(block, expected.ravel())[block]
    return Blocks.of(block, expected), sampling_distance(expected.ravel() * (1.0 - inside))
