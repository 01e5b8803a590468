"""What is asked of a table so small that counts of pairs would be noise: every column again, and class means.

Counts of d columns by class have noise sigma sqrt(d), which may be more than all rows of a class; a row is unlike the usual
one in few columns, so the sum of what is unusual about it has the noise of a few columns (`understudy.measure.few_rows`).
Where there is a label and the released number of rows is below `CROWDED` sigma sqrt(d w), w being how much rarer than even
the classes are (`columns.class_weight`), the answers that were announced for pairs ask other questions of the same price:

    pair distances    counts of every column's outcomes, averaged with those before, and of rows in which much is missing
    pair levels       counts of the classes once more: from half of a rare class little can be learned (on cervical cancer, splits
                      0 to 6, boosting for the label 0.80 without, 0.85 with it; two-way distance 0.157 and 0.150)
    clique counts     class means, of rows in which much is missing by themselves (`gaps.py`)

Made of it is a tree in which every column hangs on the class, and columns that are missing together on one of them:
P(outcome | class) is that of the class means, and the distribution of a column is their mixture, which has far less noise than
the column's own counts.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import ndtri

from understudy.measure.cells import Grouping, Node, estimate
from understudy.measure.class_moments import ClassFeatures, clipped_means
from understudy.measure.described import outcome_cells
from understudy.measure.few_rows import AskMeans, ask_means
from understudy.measure.latent_normal import LATENT, STEP
from understudy.measure.marginals import normal_scores
from understudy.methods.clique_tree.columns import Columns, level_map
from understudy.methods.clique_tree.descent import Measured
from understudy.methods.clique_tree.gaps import ESTIMATED, GAPS_STAND_OUT, Apart, Gaps
from understudy.questions import Clique, Counts
from understudy.questions.row_maps import joined
from understudy.recipe import Curator
from understudy.released import Released
from understudy.schema import Codec

# Set on cervical cancer (686 rows: better by both) and on Adult and cardiovascular cut to 500 to 2,000 rows (the label would gain
# and pairs would lose: they are counted); breast cancer (455 rows) was kept aside.
CROWDED = 20.0
# Errors above 0 that keep an outcome: of 4, 1.5 and 0.7 the best for columns and pairs of the mean embedding on eight splits of
# cervical cancer.
SURE = 1.5
MOST_APART = 0.5  # of the rows, that miss so much


def enough_rows(columns: int, sigma: float, rarity: float = 1.0) -> float:
    """The least number of rows with which pairs are counted; `sigma` is the noise of one table with the whole budget."""
    return CROWDED * sigma * math.sqrt(columns * rarity)


def ask_again(
    curator: Curator,
    columns: Columns,
    noise: Mapping[str, float],
    asked: Mapping[str, Sequence[int]],
    max_rows: int,
    gaps: Gaps | None = None,
) -> tuple[Columns, Apart | None]:
    """The outcomes of some columns counted once more in each of these answers, averaged by precision.

    With `gaps` the first answer counts the rows in which much is missing, too, with a part of the budget as for each column
    that can be missing: they are asked for by themselves if they stand out.
    """
    counts, precision = list(columns.counts), [max(one, 1e-3) ** -2 for one in columns.noise]
    told: tuple[Gaps, float, float] | None = None
    for purpose, numbers in asked.items():
        cells, sizes = level_map(columns, [(number, None) for number in numbers])
        cliques: list[Clique] = [(place,) for place in range(len(numbers))]
        budgets = (1.0,) * len(numbers)
        if gaps is not None:
            cells, sizes, budgets = joined(cells, gaps.kind), (*sizes, 2), (*budgets, float(len(gaps.nodes)))
            cliques.append((len(numbers),))
        question = Counts.of_cliques(cells, sizes, cliques, noise[purpose], max_rows, share=True, budgets=budgets)
        answer = curator.ask(purpose, question).value
        if gaps is not None:
            told, gaps = (gaps, float(answer[-1][1]), question.deviations[-1]), None
        for number, part, deviation in zip(numbers, answer, question.deviations, strict=False):
            both = precision[number] + deviation**-2
            counts[number] = (precision[number] * counts[number] + deviation**-2 * np.asarray(part, float)) / both
            precision[number] = both
    spread = [one**-0.5 for one in precision]
    rows = max(float(counts[0].sum()), 1.0)
    masses = [
        estimate(node, own, deviation, rows)
        for node, own, deviation in zip(columns.nodes, counts[1:], spread[1:], strict=True)
    ]
    # A part of the rows as they are believed now: they may be fewer than before, and others must be left.
    apart = Apart(*told, MOST_APART * rows) if told is not None and told[1] > GAPS_STAND_OUT * told[2] else None
    return columns._replace(rows=rows, counts=counts, noise=spread, masses=[counts[0], *masses]), apart


def ask_classes(
    curator: Curator,
    codec: Codec,
    columns: Columns,
    noise: Mapping[str, float],
    purpose: str,
    apart: Apart | None = None,
) -> tuple[Columns, list[Measured]]:
    """Columns whose one level is that of their outcomes, each of them by class, and pairs of those that are missing together."""
    counts = np.maximum(columns.masses[0], max(columns.noise[0], 1.0))
    pairs: list[Measured] = []
    if apart is None:
        shares = ask_shares(curator, codec, columns, counts, noise, purpose, clipped_means)
        counts *= columns.rows / counts.sum()
        tables = [counts[:, None] * own for own in shares]
    else:
        counts *= 1.0 - apart.rows / columns.rows
        shares = ask_shares(curator, codec, apart.others(columns), counts, noise, purpose, apart)
        tables, pairs = apart.with_them(columns.rows, shares, counts)
    masses = [tables[0].sum(axis=1), *(table.sum(axis=0) for table in tables)]
    levels = [[Grouping(np.arange(len(mass)), len(mass))] for mass in masses]
    pairs += [Measured((0, number), table, ESTIMATED) for number, table in enumerate(tables, 1)]
    return columns._replace(masses=masses, levels=levels), pairs


def ask_shares(
    curator: Curator,
    codec: Codec,
    columns: Columns,
    counts: np.ndarray,
    noise: Mapping[str, float],
    purpose: str,
    ask: AskMeans,
) -> list[np.ndarray]:
    """Of every column the shares of its outcomes by class [classes, outcomes]."""
    own = np.arange(len(columns.nodes))
    scores = normal_scores(columns.nodes, columns.masses[1:], own, codec.width, max(columns.noise[1:]))
    features = ClassFeatures(codec, scores, counts)
    densities, rates = ask_means(curator, features, noise, [purpose], SURE, ask)
    numeric = {int(place): number for number, place in enumerate(features.numeric.tolist())}
    shares = []
    for number, node in enumerate(columns.nodes, 1):
        if node.ordered:
            shares.append(of_numbers(node, columns.masses[number], densities[:, numeric[node.start]], rates))
        elif node.onehot:
            shares.append(rates[:, node.start : node.start + node.size])
        else:
            shares.append(np.stack([1.0 - rates[:, node.start], rates[:, node.start]], axis=1))
    return shares


def of_numbers(node: Node, mass: np.ndarray, density: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Shares [classes, outcomes] of a numeric column from its latent densities [classes, grid] and the rates of its flags."""
    own = np.maximum(mass[node.gap :], 0.0) + 1e-9
    cuts = ndtri(np.clip(np.cumsum(own)[:-1] / own.sum(), 1e-9, 1.0 - 1e-9))
    reached = np.cumsum(density, axis=1) / density.sum(axis=1, keepdims=True)
    at = np.stack([np.interp(cuts, LATENT + 0.5 * STEP, one, left=0.0, right=1.0) for one in reached])
    shares = np.diff(at, axis=1, prepend=0.0, append=1.0)
    if node.missing is None:
        return np.asarray(shares)
    flags = rates[:, node.missing : node.missing + node.gap]
    numbers = np.maximum(1.0 - flags.sum(axis=1, keepdims=True), 0.0)
    return np.concatenate([flags, numbers * shares], axis=1)


def kept_classes(codec: Codec, columns: Columns, measured: Sequence[Measured], sigma: float) -> tuple[Released, ...]:
    """Every column as it was released, and what the model was fitted to, with the noise that counting it would have had."""
    names = [codec.schema.label or "", *(node.column for node in columns.nodes)]
    people, deviation = codec.schema.unit is not None, sigma * math.sqrt(len(measured))
    raw = [
        Released.of(
            (number,),
            names,
            columns.counts[number],
            columns.noise[number],
            cells=(outcome_cells(node, codec.schema.column(node.column)),),
            fitted=False,
            people=people,
        )
        for number, node in enumerate(columns.nodes, 1)
    ]
    return (*raw, *(Released.of(one.nodes, names, one.counts, deviation, people=people) for one in measured))
