"""What is asked about pairs before any is counted: how far each is from independent columns, and what coarser cells would lose.

Two columns at their finest levels hold n_c rows in a cell; e_c is what independent columns with the released marginals would
hold. Two noisy vectors (`understudy.questions.distances`):

    pair distances    ||n - e||_1 for every pair: what is wrong if the pair is not counted;
                      and for every column: how wrong its released marginal is, which every pair with it shows, too
    pair levels       ||n - w n[block]||_1 for pairs that stand out, per coarser level: what is wrong if the pair is counted
                      at that level; a cell's share w of its block is that of e

Both are taken beyond what noise in the released marginals brings, and beyond what chance shows in rows of independent columns
(`forecast.sampling_distance`) as far as noise would hide it: of n rows in a cell chance moves sqrt(n), and counts with noise of
deviation s show n / (n + s^2) of its square. With much budget what chance made of these rows is kept, too. Nothing goes
for the noise of the distance itself: with a deviation less, on Massachusetts at (1, 1e-5) and two fits, association was off by
0.071 instead of 0.067 and pairs by 0.062 instead of 0.061.

**What a level loses** is known roughly before it is asked. Where dependence changes evenly along the rows, m cells of equal
mass lose 1 / m of it, and one cell for all rare categories loses their share. The forecast d f, d being the distance and f
that part, is taken to be right within its own size and averaged with the answer by precision.
"""

import math

import numpy as np

from understudy.methods.clique_tree.columns import Columns, level_map
from understudy.methods.clique_tree.forecast import noise_errors, sampling_distance
from understudy.methods.clique_tree.levels import coarsen
from understudy.methods.clique_tree.select import Candidate, Pairs
from understudy.questions import Clique, Distances
from understudy.questions.distances import Blocks, Known
from understudy.recipe import Curator

DISTANCES = "pair distances"
LEVELS = "pair levels"
# Of the largest possible distance: what a column and the label are expected to show. The first that was tried (credit, Adult).
USUAL = 0.3
# Pairs per column whose levels are asked for, the farthest ones. With four strong associations of Adult at epsilon 1 are off by
# 0.0144 instead of 0.0175 (six fits each), but credit's label falls from 0.971 to 0.946 (two each); with nearly all, its
# pairs are off by 0.056 instead of 0.040 (one each).
STUDIED = 2

Level = tuple[int, ...]
Key = tuple[Clique, Level]  # columns, and a level of each


def ask_pairs(
    curator: Curator,
    columns: Columns,
    sigmas: tuple[float, float],
    max_rows: int,
    weights: dict[Clique, float],
    focus: set[Clique],
) -> Pairs:
    """What two noisy vectors say about every pair of the workload `weights`; pairs in `focus` are expected to depend."""
    levels = {pair: levels_of(columns, pair) for pair in weights}
    alone = {((n,), (-1,)): rounded(columns.rows * columns.shares(n, -1)) for n in columns.numbers}
    finest = {(pair, own[0]): reference(columns, pair, own[0]) for pair, own in levels.items()}
    known = alone | {key: what for key, (what, _) in finest.items()}
    released, noise = ask(curator, columns, DISTANCES, known, sigmas[0], max_rows)
    wrong = {n: averaged(one_way_error(columns, n), released[(n,), (-1,)], noise) for n in columns.numbers}
    far = {
        (pair, own): released[pair, own] - math.hypot(finest[pair, own][1], *(wrong[n] for n in pair))
        for pair, own in finest
    }
    distances = {
        pair: expected_distance(columns, pair, value, noise) if pair in focus else max(value, 0.0)
        for (pair, _), value in far.items()
    }
    farthest = sorted(far, key=lambda one: -far[one])[: STUDIED * len(columns.numbers)]
    coarser = {(pair, level): reference(columns, pair, level) for pair, _ in farthest for level in levels[pair][1:]}
    # What was announced is asked, whatever distances were released: without a coarser level one distance once more.
    wanted = coarser or {farthest[0]: finest[farthest[0]]}
    answer, spread = ask(
        curator, columns, LEVELS, {key: what for key, (what, _) in wanted.items()}, sigmas[1], max_rows
    )
    missed = {key: answer[key] - chance for key, (_, chance) in wanted.items()}
    found = Pairs([], distances, {})
    for pair, own in levels.items():
        whole = distances[pair]
        for one, other in (pair, pair[::-1]):
            found.relative[one, other] = min(whole / largest_distance(columns, other), 1.0)
        lost = 0.0
        for level in own:
            guess = whole * forecast_loss(columns, pair, level)
            part = averaged(guess, missed[pair, level], spread) if (pair, level) in coarser else guess
            lost = min(max(lost, part), whole)
            expected = columns.rows * np.outer(*(columns.shares(n, k) for n, k in zip(pair, level, strict=True)))
            found.candidates.append(Candidate(pair, level, expected, lost, weights[pair]))
    return found


def largest_distance(columns: Columns, number: int) -> float:
    """How far from independence a pair with this column can be: as far as if the other column determined it."""
    share = columns.shares(number, -1)
    return max(2.0 * columns.rows * (1.0 - float((share * share).sum())), 1.0)


def expected_distance(columns: Columns, pair: Clique, released: float, noise: float) -> float:
    """Of a pair that is expected to depend: the released distance as far as it can be trusted, and the usual one otherwise.

    Whoever declares a label says that columns tell something about it. All rows of a rare class are fewer than the noise of
    hundreds of distances, so that none of its pairs would stand out.
    """
    return averaged(USUAL * min(largest_distance(columns, number) for number in pair), released, noise)


def ask(
    curator: Curator,
    columns: Columns,
    purpose: str,
    asked: dict[Key, Known],
    sigma: float,
    max_rows: int,
) -> tuple[dict[Key, float], float]:
    """Noisy distances, and the deviation of their noise."""
    keys = [(number, len(columns.levels[number]) - 1) for number in columns.numbers]
    place = {number: at for at, (number, _) in enumerate(keys)}
    cells, sizes = level_map(columns, [*keys])
    cliques = tuple(tuple(place[n] for n in nodes) for nodes, _ in asked)
    question = Distances(cells, sizes, cliques, tuple(asked.values()), sigma, max_rows, share=True)
    released = curator.ask(purpose, question).value
    return dict(zip(asked, released.tolist(), strict=True)), question.deviation


def averaged(guess: float, released: float, noise: float) -> float:
    """A guess that is right within its own size, and a noisy answer."""
    trust = guess * guess / (guess * guess + noise * noise)
    return guess + trust * (max(released, 0.0) - guess)


def forecast_loss(columns: Columns, pair: Clique, level: Level) -> float:
    """Part of a pair's dependence at its finest level that a coarser one cannot show."""
    kept = 1.0
    for number, k in zip(pair, level, strict=True):
        own = columns.levels[number]
        if k < len(own) - 1:
            kept *= 1.0 - max(unseen(columns, number, k) - unseen(columns, number, len(own) - 1), 0.0)
    return 1.0 - kept


def unseen(columns: Columns, number: int, level: int) -> float:
    """Of evenly spread dependence: 1 / m for m cells of numbers, the share of merged categories otherwise."""
    grouping = columns.levels[number][level]
    if number and columns.nodes[number - 1].ordered:
        return 1.0 / grouping.cells
    merged = np.bincount(grouping.cell, minlength=grouping.cells) > 1
    return float(columns.shares(number, level)[merged].sum())


def levels_of(columns: Columns, pair: Clique) -> list[Level]:
    """Levels at which a pair may be counted, finest first; a column that has no finer one keeps its finest."""
    last = [len(columns.levels[number]) - 1 for number in pair]
    return list(dict.fromkeys((min(k, last[0]), min(k, last[1])) for k in range(max(last), -1, -1)))


def rounded(expected: np.ndarray) -> np.ndarray:
    """Whole numbers to compare counts with."""
    return np.asarray(np.rint(expected), np.int64)


def one_way_error(columns: Columns, number: int) -> float:
    """By how much the released marginal of a column is off: every pair with it is, too."""
    noise = np.asarray([max(columns.noise[number], 1e-3)])
    return float(noise_errors(columns.rows * columns.shares(number, -1), noise)[0])


def reference(columns: Columns, pair: Clique, level: Level) -> tuple[Known, float]:
    """What the counts of a pair are compared with, and how far from it chance alone would take them."""
    expected = columns.rows * np.outer(*(columns.shares(number, -1) for number in pair))
    own = [columns.levels[number] for number in pair]
    if all(k == len(one) - 1 for one, k in zip(own, level, strict=True)):
        return rounded(expected), hidden(columns, expected)
    rows, cols = (coarsen(one[-1], one[k]) for one, k in zip(own, level, strict=True))
    block = (rows[:, None] * (int(cols.max()) + 1) + cols[None, :]).ravel()
    _, block = np.unique(block, return_inverse=True)
    inside = expected.ravel() / np.bincount(block, expected.ravel())[block]
    return Blocks.of(block, expected), hidden(columns, expected.ravel() * (1.0 - inside))


def hidden(columns: Columns, expected: np.ndarray) -> float:
    """What chance makes of independent columns, as far as the noise of counts would hide it."""
    square = columns.pair_noise**2
    return sampling_distance(expected) * square / (square + columns.rows / expected.size)
