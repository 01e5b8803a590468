"""What released products of scores (`scores.py`) say about pairs of columns, and when they are asked for instead of counts.

**Tables.** Products are shrunk by what they show together (`shrinkage.shrink`). The table of a pair is the one of largest entropy
with the released margins and these products,

    p_ij = p_i q_j exp(u_i + v_j + phi_i' L psi_j).

The most telling pairs go into the tree as long as it has room, the others beside it: rows are fitted to them (`refine.py`).

**When.** Both ways are forecast from released distances before anything is counted, as errors of all columns and pairs, each
alike. Counts: `Selection.total`. Products: what their noise moves, and the part of the distance that scores do not show.
Products are asked for where that is less than `AHEAD` of the other. All of it is post-processing of what was released.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import rel_entr

from understudy.measure.described import class_cells, outcome_cells
from understudy.measure.shrinkage import shrink
from understudy.methods.clique_tree.columns import Columns
from understudy.methods.clique_tree.descent import Measured
from understudy.methods.clique_tree.forecast import noise_errors
from understudy.methods.clique_tree.levels import Layout
from understudy.methods.clique_tree.pairs import forecast_loss
from understudy.methods.clique_tree.scores import COLUMNS, MOST_PRODUCTS, MeanProducts, Scored, Scores
from understudy.methods.clique_tree.select import Pairs, paired
from understudy.methods.marginals.junction import Clique, Graph
from understudy.released import Released
from understudy.schema import Codec

# What is left of a distance from independence when products are known exactly, of columns cut to eight and four cells: numbers
# 0.36 to 0.94, a number and two categories 0.10 to 0.33, a number and several 0.11 to 0.72, categories 0 to 0.12 (bfi, Hdma,
# Schooling and Wages of `benchmarks.small_tables`, NIST Massachusetts, Adult, cardiovascular; the script is not kept).
BENT = 0.35  # of a dependence that the score of a number does not show
UNEVEN = 0.15  # and those of several categories beside it
# On these tables and cut ones of Adult and cardiovascular, one to four fits each, products had nearer pairs where their
# forecast was below 0.89 of the other's (bfi, Hdma, Wages), alike up to 0.94 (5,000 rows of eight columns of Adult), and
# farther ones above.
AHEAD = 0.9
DEPENDENT = 1.0  # deviations: pairs all of whose products are smaller, after shrinkage, are taken to be independent
TURNS, RAKES, LAST_RAKES = 60, 3, 50
STRONGEST = 5.0  # logarithm of what a cell may hold over what it would without dependence, before margins are raked
TRIES = 24  # pairs in a row that the tree had no room for; all others go beside it
ESTIMATED = 1.0  # deviation that a fit is told of tables that are estimates already: none of their cells is noise


def products_pay(columns: Columns, found: Pairs, counted: float, sigma: float, weights: Mapping[int, float]) -> bool:
    """Whether products are forecast to tell more than counts, whose error is `counted`."""
    scores = Scores(columns, weights)
    return len(scores.left) <= MOST_PRODUCTS and forecast(columns, scores, found, sigma) < AHEAD * counted


def forecast(columns: Columns, scores: Scores, found: Pairs, sigma: float) -> float:
    """Error of all columns and pairs in rows, if products are asked for with noise `sigma`."""
    deviation = np.asarray([sigma * math.sqrt(len(scores.each) / COLUMNS)])
    total = sum(float(noise_errors(columns.alone(number), deviation)[0]) for number in columns.numbers)
    noise = (
        math.sqrt(2.0 / math.pi) * columns.rows * float(np.mean(sigma / (scores.scale(columns.rows) * scores.kept())))
    )
    size = {one.number: typical(columns, one) for one in scores.each}
    level = {one.number: one.level for one in scores.each}
    for pair, far in found.distances.items():
        a, b = pair
        kept = (1.0 - forecast_loss(columns, pair, (level[a], level[b]))) * shown(columns, pair)
        total += min(far, (1.0 - kept) * far + noise * size[a] * size[b])
    return total


def shown(columns: Columns, pair: Clique) -> float:
    """Part of a dependence that the products of two columns' scores show; all of it where both are categories."""
    ordered = [number > 0 and columns.nodes[number - 1].ordered for number in pair]
    several = [not own and len(columns.masses[number]) > 2 for number, own in zip(pair, ordered, strict=True)]
    return 1.0 if not any(ordered) else (1.0 - BENT) ** sum(ordered) * (1.0 - UNEVEN) ** sum(several)


def typical(columns: Columns, one: Scored) -> float:
    """Mean length of a column's scores."""
    return float(columns.shares(one.number, one.level) @ np.sqrt((one.cells**2).sum(axis=1)))


class Pair(NamedTuple):
    """Two columns: rows in the cells of both, and how much they tell about each other (in nats, times rows)."""

    nodes: Clique
    table: np.ndarray
    told: float


def pairs_of(columns: Columns, products: MeanProducts, sums: Iterable[Sequence[int]] = ()) -> list[Pair]:
    """Pairs whose products stand out, the most telling first; with them those of parts of a total that stand out
    beside it (`Selection.tie`)."""
    scores, each = products.scores, products.scores.each
    found, noise = np.zeros((2, len(scores.owner), len(scores.owner)))
    found[scores.left, scores.right] = shrunk(products)
    noise[scores.left, scores.right] = DEPENDENT * products.deviation
    first = np.r_[np.searchsorted(scores.owner, np.arange(len(each))), len(scores.owner)]
    blocks = {
        (a, b): np.s_[first[a] : first[a + 1], first[b] : first[b + 1]]
        for a in range(len(each))
        for b in range(a + 1, len(each))
    }
    wanted = [pair for pair, block in blocks.items() if (np.abs(found[block]) > noise[block]).any()]
    if not wanted:
        return []
    wanted += [pair for pair in ties([one.number for one in each], wanted, sums) if pair not in wanted]
    shares = [columns.shares(one.number, one.level) for one in each]
    tables = of_largest_entropy(shares, [one.cells for one in each], wanted, [found[blocks[pair]] for pair in wanted])
    made = []
    for (a, b), table in zip(wanted, tables, strict=True):
        alone = np.outer(table.sum(axis=1), table.sum(axis=0))
        told = columns.rows * float(rel_entr(table, alone).sum())
        made.append(Pair((each[a].number, each[b].number), columns.rows * table, told))
    return sorted(made, key=lambda one: -one.told)


def ties(
    numbers: Sequence[int], wanted: Sequence[tuple[int, int]], sums: Iterable[Sequence[int]]
) -> Iterator[tuple[int, int]]:
    """Any two parts of a total that are both wanted beside it, by their places."""
    place = {number: at for at, number in enumerate(numbers)}
    for one in sums:
        total, *parts = (place[number] for number in one)
        held = [part for part in sorted(parts) if paired(total, part) in wanted]
        yield from itertools.combinations(held, 2)


def shrunk(products: MeanProducts) -> np.ndarray:
    """Products without what may be noise: those with the column that matters by what they show among themselves, as whoever
    declares a label says that columns tell something about it, and all others together."""
    weight, means = products.scores.weight, np.zeros_like(products.means)
    matters = weight[products.scores.left] * weight[products.scores.right] > 1.0
    for own in (matters, ~matters):
        means[own] = shrink(products.means[own], products.deviation[own])
    return means


def of_largest_entropy(
    shares: Sequence[np.ndarray],
    scores: Sequence[np.ndarray],
    pairs: Sequence[tuple[int, int]],
    products: Sequence[np.ndarray],
) -> list[np.ndarray]:
    """For every pair of columns the table of largest entropy with their shares as margins and these mean products.

    All pairs at once: L rises by what the products lack over the largest curvature, and margins are raked in between. Noise may
    ask for more than margins allow: L then stays where cells are next to empty.
    """
    cells, most = max(map(len, shares)), max(one.shape[1] for one in scores)
    p = np.stack([np.pad(one, (0, cells - len(one))) for one in shares])
    phi = np.stack([np.pad(one, ((0, cells - one.shape[0]), (0, most - one.shape[1]))) for one in scores])
    steep = np.asarray([np.linalg.eigvalsh((one.T * own) @ one).max() for one, own in zip(scores, shares, strict=True)])
    wanted = np.stack([np.pad(one, ((0, most - one.shape[0]), (0, most - one.shape[1]))) for one in products])
    a, b = np.asarray(pairs).T
    step = (1.0 / np.maximum(steep[a] * steep[b], 1e-9))[:, None, None]
    rows, cols, left, right = p[a][:, :, None], p[b][:, None, :], phi[a], phi[b]
    weight, table = np.zeros_like(wanted), rows * cols
    for turn in range(TURNS):
        weight += step * (wanted - left.transpose(0, 2, 1) @ table @ right)
        bent = left @ weight @ right.transpose(0, 2, 1)
        within = np.minimum(1.0, STRONGEST / np.maximum(np.abs(bent).max(axis=(1, 2), keepdims=True), 1e-9))
        weight *= within
        table = rows * cols * np.exp(within * bent)
        for _ in range(RAKES if turn < TURNS - 1 else LAST_RAKES):
            table *= rows / np.maximum(table.sum(axis=2, keepdims=True), 1e-300)
            table *= cols / np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    sizes = [(len(shares[i]), len(shares[j])) for i, j in pairs]
    return [one[:height, :width] for one, (height, width) in zip(table, sizes, strict=True)]


def arranged(layout: Layout, pairs: Sequence[Pair], most_cells: int) -> tuple[list[Measured], list[Measured]]:
    """Tables that the tree holds, and those beside it: the most telling first, as long as there is room."""
    inside: list[Measured] = []
    beside: list[Measured] = []
    refused = 0
    for pair in pairs:
        one = Measured(tuple(layout.finest[number] for number in pair.nodes), pair.table, ESTIMATED)
        held = [*(other.nodes for other in inside), one.nodes, *(link.nodes for link in layout.links)]
        fits = refused < TRIES and Graph(layout.sizes, held).cells <= most_cells
        refused = 0 if fits else refused + 1
        (inside if fits else beside).append(one)
    return inside, beside


def by_themselves(columns: Columns, layout: Layout, scores: Scores) -> list[Measured]:
    """Every column's believed rows in the cells of its node."""
    return [
        Measured((layout.finest[one.number],), columns.rows * columns.shares(one.number, one.level), ESTIMATED)
        for one in scores.each
    ]


def kept_products(
    codec: Codec, columns: Columns, layout: Layout, products: MeanProducts, alone: Sequence[Measured]
) -> tuple[Released, ...]:
    """Every column as it was released, what the model was fitted to, and the released products of every pair, which count nothing
    and have no words for cells."""
    people, scores = codec.schema.unit is not None, products.scores
    names = [columns.names[number] or codec.schema.label or "" for number, _ in layout.keys]
    found = []
    for one, item in zip(scores.each, alone, strict=True):
        node = columns.nodes[one.number - 1] if one.number else None
        words = class_cells(codec) if node is None else outcome_cells(node, codec.schema.column(node.column))
        noise, raw = columns.noise[one.number], columns.counts[one.number]
        found.append(Released.of(item.nodes, names, raw, noise, cells=(words,), fitted=False, people=people))
        merged = np.bincount(columns.levels[one.number][one.level].cell, minlength=len(item.counts))
        found.append(Released.of(item.nodes, names, item.counts, noise * np.sqrt(merged), people=people))
    for a, b in {(int(x), int(y)) for x, y in zip(scores.owner[scores.left], scores.owner[scores.right], strict=True)}:
        own = (scores.owner[scores.left] == a) & (scores.owner[scores.right] == b)
        shape = scores.each[a].cells.shape[1], scores.each[b].cells.shape[1]
        nodes = tuple(layout.finest[scores.each[place].number] for place in (a, b))
        parts = (part[own].reshape(shape) for part in (products.means, products.deviation))
        found.append(Released.of(nodes, names, *parts, fitted=False, people=people))
    return tuple(found)
