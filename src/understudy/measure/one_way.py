"""The common footing of a table's columns: three paid answers about one-way marginals, for methods that need tails and atoms.

    column cells 1, 2    counts of numeric columns over cells that grow finer where the rows are
    column marginals     counts over the final cells, and of every outcome of binary and one-hot columns
    column shapes        in wide tables only: location, spread and values on the bounds of every numeric column by itself

Cells are cut at normal scores (public levels Phi(-3) .. Phi(3)), so that tails keep their resolution, and in whole-number
columns half-way between numbers, so that a cell can be a single number. Rows whose value is missing are left out of a
column's cells. Many columns of the same kind and the same public bounds (samples of a signal, pixels) share one distribution:
their counts are averaged, and the whole group costs as much as one column; what a column has of its own is the fourth answer.
Continuous columns are often cut off or scaled to their bounds, so each bound is a cell of its own, of width zero. Sensitivity:
one cell of every column or group and row, a unit's rows sharing one count (`understudy.questions.counts`).
"""

import math
from typing import NamedTuple

import dp_accounting as dpa
import numpy as np
from scipy.special import ndtr, ndtri

from understudy.accounting import Plan
from understudy.measure.latent_normal import LATENT, STEP, Observed, believed, james_stein, normal_densities, tilt
from understudy.measure.marginals import Marginals, cumulative
from understudy.nn.heads import Heads
from understudy.private import Curator
from understudy.questions import Counts, Sums
from understudy.questions.row_maps import Constant, Cuts, Equals, Label, LookUp, Outcomes, Present, Step, joined
from understudy.recipe import Announced
from understudy.schema import Codec, Schema

PURPOSES = ("column cells 1", "column cells 2", "column marginals")
SHARES = (0.2, 0.3, 0.5)  # of the weight of the footing
COLUMN_SHAPES = "column shapes"
ALIKE = (
    50  # so many columns with the same kind and bounds count as one group; a table with so many numeric columns is wide
)
SPREAD = 0.7  # weight of |z| beside z
BOUND = 1.4  # weight of a value on a bound beside z
ROOM = 1.1  # clipping radius over the root of the expected squared norm
PRESENCE = 0.3  # size of the constant coordinate over the clipping radius, where units have several rows
LARGEST = 3.0  # scores are clipped here
TAIL = (0.5, 1.0, 2.0, 4.0)  # knots of an exponential tail, in units of its scale


class Footing(NamedTuple):
    """Released distribution functions and rates, and what a row looks like through them."""

    marginals: Marginals
    flags: np.ndarray  # int [d]: the coordinate that says a numeric value is missing, -1 where there is none
    group: np.ndarray  # int [d]: columns with the same number share cells and distribution

    @property
    def cells(self) -> Cuts:
        """Map of a row to the cell of every numeric value, -1 where it is missing."""
        return cuts(self.marginals.numeric, self.flags, self.marginals.edges)

    @property
    def levels(self) -> np.ndarray:
        """[d, cells]: the score of every cell, Phi^{-1} of the middle of its share."""
        cdf = self.marginals.cdf.astype(np.float64)
        return score(0.5 * (cdf[:, 1:] + cdf[:, :-1]))

    @property
    def scores(self) -> Step:
        """Map of a row to z of every numeric value: the score of its cell, so that a value many rows share stands in the middle
        of its share.

        Scores are a function of the cell alone, because that is what makes the model's own expectation of z exact
        (`score_of_latent`) wherever in a cell the rows are. 0 for missing values.
        """
        return LookUp(self.cells, tuple(self.levels))

    def score_of_latent(self, latent: np.ndarray) -> np.ndarray:
        """[points, d]: what z a standard normal latent value becomes in each column once it went through cells and back."""
        cdf, levels, share = self.marginals.cdf.astype(np.float64), self.levels, ndtr(latent)
        z = np.zeros((len(latent), len(cdf)))
        for j in range(len(cdf)):
            z[:, j] = levels[j, np.clip(np.searchsorted(cdf[j], share, side="right") - 1, 0, cdf.shape[1] - 2)]
        return z


def score(share: np.ndarray) -> np.ndarray:
    return np.clip(ndtri(share), -LARGEST, LARGEST)


def wide(schema: Schema) -> bool:
    """Whether the columns of a group are worth an answer about what each has of its own. From the schema alone."""
    return sum(column.kind not in ("categorical", "boolean") for column in schema.features) >= ALIKE


def announce_footing(schema: Schema, weight: float, shapes: float) -> list[Announced]:
    """The releases of this file. Without numeric columns there are no cells to cut."""
    if all(column.kind in ("categorical", "boolean") for column in schema.features):
        return [Announced(PURPOSES[-1], weight, dpa.GaussianDpEvent, detail="category counts")]
    details = ("coarse cells of numeric columns", "finer cells of numeric columns", "cells and category counts")
    levels = [
        Announced(purpose, weight * share, dpa.GaussianDpEvent, detail=detail)
        for purpose, share, detail in zip(PURPOSES, SHARES, details, strict=True)
    ]
    own = Announced(COLUMN_SHAPES, shapes, dpa.GaussianDpEvent, detail="location and spread of every numeric column")
    return [*levels, own] if wide(schema) else levels


def ask_footing(
    curator: Curator, codec: Codec, rows: float, plan: Plan, purposes: tuple[str, str, str] = PURPOSES
) -> Footing:
    """Three answers, each cutting cells by what the last one found; in wide tables a fourth about each column by itself, where
    the plan has it.
    """
    heads = Heads.of(codec.blocks, codec.width)
    numeric = np.flatnonzero(heads.coordinates("numeric")).astype(np.int32)
    discrete = np.flatnonzero(~heads.coordinates("numeric")).astype(np.int32)
    blocks = [(block.start, block.size) for block in codec.blocks if block.head != "numeric"]
    flags, steps, group = describe(codec)
    groups = int(group.max()) + 1 if len(group) else 0
    sigma = [plan.parameters["noise"].get(purpose, math.nan) for purpose in purposes]
    max_rows = codec.schema.max_rows_per_unit
    size = int(np.clip(2.0 * math.sqrt(rows / (sigma[-1] * math.sqrt(max(groups + len(blocks), 1)))), 4, 40))
    edges = first_edges(steps, size)
    prior = np.diff(edges, axis=1)
    for number in range(2):
        if groups == 0:
            break
        question = one_way(numeric, flags, edges, group, [], sigma[number], max_rows)
        counts = averages(curator.ask(purposes[number], question).value, question)[group]
        mass = blend(counts, prior * rows, sigma[number] * math.sqrt(groups))
        edges, prior = recut(edges, mass, steps, size)
    edges, prior, size = *with_bounds(edges, prior, steps), size + 2
    question = one_way(numeric, flags, edges, group, blocks, sigma[2], max_rows)
    found = curator.ask(purposes[2], question).value if question.tables else []
    noise = sigma[2] * math.sqrt(max(len(question.tables), 1))
    outcomes = found[groups:]
    if max_rows > 1 and outcomes:  # a unit's rows share one count: these add up to units, not to rows
        rows = float(np.clip(np.mean([part.sum() for part in outcomes]), 1.0, rows))
    cdf = np.zeros((0, size + 1))
    if groups:
        counts = averages(found[:groups], question)[group]
        cdf = cumulative(blend(counts, prior * rows, noise) + 1e-7 * rows)
        edges, cdf = between_bounds(edges, cdf, steps)
    rates = np.full(codec.width, 0.5)
    ones = [part if size > 1 else part[1:] for part, (_, size) in zip(outcomes, blocks, strict=True)]
    rates[discrete] = category_rates(np.concatenate([np.zeros(0), *ones]), discrete, codec, rows, noise)
    marginals = Marginals(numeric, edges.astype(np.float32), cdf.astype(np.float32), rates.astype(np.float32))
    footing = Footing(marginals, flags, group)
    if not wide(codec.schema) or COLUMN_SHAPES not in plan.parameters["noise"]:
        return footing
    return ask_shapes(curator, codec.schema, footing, rows, plan.parameters["noise"][COLUMN_SHAPES])


def one_way(
    numeric: np.ndarray,
    flags: np.ndarray,
    edges: np.ndarray,
    group: np.ndarray,
    blocks: list[tuple[int, int]],
    sigma: float,
    max_rows: int,
) -> Counts:
    """A table of cells for every group of numeric columns, and one of outcomes for every discrete block (start, size)."""
    starts, sizes = (np.asarray([block[i] for block in blocks], int) for i in range(2))
    cells = joined(cuts(numeric, flags, edges), Outcomes(starts, sizes))
    counted = (*([edges.shape[1] - 1] * len(numeric)), *(max(int(size), 2) for size in sizes))
    pooled = [tuple((int(node),) for node in np.flatnonzero(group == number)) for number in range(len(set(group)))]
    single = [((len(numeric) + number,),) for number in range(len(blocks))]
    return Counts(cells, counted, (*pooled, *single), sigma, max_rows, share=True)


def averages(found: list[np.ndarray], question: Counts) -> np.ndarray:
    """Counts of groups over the number of their columns: all have the same noise then."""
    return np.stack([part / len(table) for part, table in zip(found, question.tables, strict=False)])


def cuts(numeric: np.ndarray, flags: np.ndarray, edges: np.ndarray) -> Cuts:
    """Each bound may be a cell of width zero: a value on the lower one is in cell 0."""
    return Cuts(numeric, tuple(np.asarray(edges, np.float64)[:, 1:-1]), flags, lowest=True)


def ask_shapes(curator: Curator, schema: Schema, footing: Footing, rows: float, sigma: float) -> Footing:
    """Every column's own distribution: that of its group, moved to the column's location, spread and share on the bounds."""
    score, marginals = footing.score_of_latent(LATENT), footing.marginals
    base = np.exp(-(LATENT**2) / 2.0)
    base /= base.sum()
    size, square = base @ np.abs(score), base @ score**2
    ends = np.stack([marginals.cdf[:, 1], 1.0 - marginals.cdf[:, -2]]).astype(np.float64)
    last = marginals.edges.shape[1] - 2

    cell = footing.cells
    z, present = LookUp(cell, tuple(footing.levels)), Present(cell)
    low, high = ((Equals(cell, at) - end) * present for at, end in zip((0, last), ends, strict=True))
    features = joined(z, SPREAD * ((abs(z) - size) * present), BOUND * low, BOUND * high)
    variance = square + SPREAD**2 * (square - size**2) + BOUND**2 * (ends * (1.0 - ends)).sum(axis=0)
    radius = ROOM * math.sqrt(float(variance.sum()))
    means, error = clipped_means(curator, schema, COLUMN_SHAPES, sigma, features, radius, np.array([rows]))
    first, second, low, high = np.split(means[0], 4)
    observed = Observed(first, second / SPREAD, error[0], error[0] / SPREAD)
    wanted = believed(observed, size, footing.group)
    density = normal_densities(wanted, score)
    tilts = [score.T, np.abs(score.T)]
    below = ndtr(LATENT)[None, :]
    places = (below < ends[0][:, None], 1.0 - below < ends[1][:, None])
    for end, share, place in zip(ends, (low, high), places, strict=True):
        held = (density * place).sum(axis=1)
        rest = end + share / BOUND - held
        kept = james_stein(rest[:, None], (error[0] / BOUND) ** 2, 1)[:, 0]
        tilts.append(place.astype(np.float64))
        wanted = np.concatenate([wanted, np.clip(held + kept * rest, 0.0, 1.0)[None, :]])
    tilted = tilt(density, np.stack(tilts), wanted)
    knots = np.concatenate([LATENT - STEP / 2.0, [LATENT[-1] + STEP / 2.0]])
    latent = ndtri(marginals.cdf.astype(np.float64))
    own = np.stack([np.interp(x, knots, f) for x, f in zip(latent, cumulative(tilted + 1e-9), strict=True)])
    return footing._replace(marginals=marginals._replace(cdf=own.astype(np.float32)))


def clipped_means(
    curator: Curator,
    schema: Schema,
    purpose: str,
    sigma: float,
    features: Step,
    radius: float,
    counts: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Noisy means [classes, width] of feature vectors clipped at `radius`, over `counts` rows, and their error [classes].

    One count: one mean for all classes. Clipping shortens units of several rows; a constant coordinate counts how many rows are
    left of them.
    """
    constant = 0.0 if schema.unit is None else PRESENCE * radius
    length = math.hypot(radius, constant)
    vector = (joined(features, Constant(np.asarray([constant]))) if constant else features) / length
    group = Label() if len(counts) > 1 else None
    sums = curator.ask(purpose, Sums(vector, len(counts), sigma, group)).value * length
    if constant:
        counts, sums = np.clip(sums[:, -1] / constant, 0.1 * counts, counts), sums[:, :-1]
    return sums / counts[:, None], sigma * length / counts


def describe(codec: Codec) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per numeric coordinate, from the schema: its missing flag, its step (0: continuous), and its group."""
    flag = {block.column: block.start for block in codec.blocks if block.part == "missing"}
    values = [block.column for block in codec.blocks if block.head == "numeric"]
    steps, keys = [], []
    for name in values:
        column = codec.schema.column(name)
        lower, upper = column.bounds
        whole = column.kind in ("integer", "ordinal")
        steps.append(1.0 / max(upper - lower, 1.0) if whole else 0.0)
        keys.append((column.kind, lower, upper))
    alike = {key: name for key, name in zip(keys, values, strict=True) if keys.count(key) >= ALIKE}
    names = [alike.get(key, name) for key, name in zip(keys, values, strict=True)]
    order = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return (
        np.asarray([flag.get(name, -1) for name in values], np.int64),
        np.asarray(steps, np.float64),
        np.asarray([order[name] for name in names], np.int64),
    )


def first_edges(steps: np.ndarray, size: int) -> np.ndarray:
    """Equal cells, or one cell per number where a whole-number column has few."""
    edges = np.tile(np.linspace(0.0, 1.0, size + 1), (len(steps), 1))
    return np.stack([snap(row, step) for row, step in zip(edges, steps, strict=True)]) if len(steps) else edges


def snap(edges: np.ndarray, step: float) -> np.ndarray:
    """Inner edges of a whole-number column, half-way between numbers, each used once; left-over cells are empty, at the end."""
    if step == 0.0:
        return edges
    size = len(edges) - 1
    if 1.0 / step + 1.0 <= size:
        inner = (np.arange(round(1.0 / step)) + 0.5) * step
    else:
        inner = np.unique(np.floor(edges[1:-1] / step) + 0.5) * step
        inner = inner[inner < 1.0]
    return np.concatenate([[0.0], inner, np.ones(size - len(inner))])


def recut(edges: np.ndarray, mass: np.ndarray, steps: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Cells between normal scores of the released distribution, and the share that it expects in each."""
    cdf = cumulative(mass + 1e-6 * mass.sum(axis=1, keepdims=True) / size)
    levels = np.concatenate([[0.0], ndtr(np.linspace(-LARGEST, LARGEST, size - 1)), [1.0]])
    finer = np.stack([np.interp(levels, f, e) for f, e in zip(cdf, edges, strict=True)])
    finer[:, 0], finer[:, -1] = 0.0, 1.0
    finer = np.stack([snap(row, step) for row, step in zip(finer, steps, strict=True)])
    return finer, np.stack([np.diff(np.interp(n, e, f)) for n, e, f in zip(finer, edges, cdf, strict=True)])


def blend(counts: np.ndarray, expected: np.ndarray, noise: float) -> np.ndarray:
    """Noisy counts where they stand out from their noise, otherwise what was expected, scaled to what is left.

    A cell's own count is trusted by w = e^2 / (e^2 + noise^2) with e the larger of the expected and the (noise-lowered)
    counted rows: a cell that should hold and does hold fewer rows than the noise keeps its expected share.
    """
    total = counts.sum(axis=1, keepdims=True)  # fewer than all rows where values are missing
    seen = np.clip(total, 2.0 * noise * np.sqrt(counts.shape[1]), None)
    expected = expected * np.minimum(seen / np.maximum(expected.sum(axis=1, keepdims=True), 1e-9), 1.0)
    size = np.maximum(expected, counts - 2.0 * noise)
    trust = size**2 / (size**2 + noise**2)
    return np.maximum(expected + trust * (counts - expected), 0.02 * expected)


def with_bounds(edges: np.ndarray, prior: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One more cell, of width zero, on each bound. It is expected to be empty, or to hold the single number beside it."""
    nothing, one = np.zeros((len(edges), 1)), np.ones((len(edges), 1))
    edges, prior = np.concatenate([nothing, edges, one], axis=1), np.concatenate([nothing, prior, nothing], axis=1)
    for j in np.flatnonzero(steps):
        last = int(np.searchsorted(edges[j], 1.0)) - 1
        for number, end in ((1, 0), (last, -1)):
            if edges[j, number + 1] - edges[j, number] < steps[j]:
                prior[j, end], prior[j, number] = prior[j, end] + prior[j, number], 0.0
    return edges, prior


def between_bounds(edges: np.ndarray, cdf: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tails for what lies between the cells on the bounds."""
    low, high = cdf[:, 1:2], cdf[:, -2:-1]
    inner = (cdf[:, 1:-1] - low) / np.maximum(high - low, 1e-12)
    edges, inner = with_tails(edges[:, 1:-1], inner, steps)
    nothing, one = np.zeros_like(low), np.ones_like(low)
    return (
        np.concatenate([nothing, edges, one], axis=1),
        np.concatenate([nothing, low + (high - low) * inner, one], axis=1),
    )


def with_tails(edges: np.ndarray, cdf: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outermost cells that reach to far public bounds get an exponential tail that continues the density inside.

    Evenly spread rows would put a thousandth of the rows anywhere up to the bound and double the column's variance.
    """
    longer = (
        np.ones((len(edges), edges.shape[1] + 2 * len(TAIL))),
        np.ones((len(edges), edges.shape[1] + 2 * len(TAIL))),
    )
    for j in range(len(edges)):
        e, f = edges[j], cdf[j]
        last = int(np.searchsorted(e, 1.0))  # cells beyond are empty
        e, f = e[: last + 1], np.append(f[:last], 1.0)
        if last >= 3:
            low_e, low_f = tail(e[1] - e[0], f[1] - f[0], (f[2] - f[1]) / (e[2] - e[1]), steps[j])
            high_e, high_f = tail(e[-1] - e[-2], f[-1] - f[-2], (f[-2] - f[-3]) / (e[-2] - e[-3]), steps[j])
            e = np.concatenate([e[:1], e[1] - low_e[::-1], e[1:-1], e[-2] + high_e, e[-1:]])
            f = np.concatenate([f[:1], low_f[::-1], f[1:-1], 1.0 - high_f, f[-1:]])
        longer[0][j, : len(e)], longer[1][j, : len(f)] = e, f
    return longer


def tail(width: float, mass: float, density: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Knots outwards from the inner edge of an outermost cell, and the mass beyond each."""
    scale = mass / max(density, 1e-12)
    if scale > 0.5 * width or width < 8.0 * step:
        return np.zeros(0), np.zeros(0)
    away = np.asarray(TAIL) * scale
    if step:
        away = np.unique(np.maximum(np.rint(away / step), 1.0)) * step
    away = away[away < width]
    return away, mass * np.exp(-away / scale)


def category_rates(ones: np.ndarray, discrete: np.ndarray, codec: Codec, rows: float, noise: float) -> np.ndarray:
    """Rates of binary coordinates and of one-hot outcomes (these add up to 1); what drowns in noise gets a sliver."""
    where = {int(column): k for k, column in enumerate(discrete)}
    rates = np.zeros(len(ones))
    floor = min(0.05, 0.25 * noise / rows)
    for block in codec.blocks:
        if block.head == "numeric":
            continue
        own = [where[c] for c in range(block.start, block.start + block.size)]
        share = ones[own] / rows
        if block.head == "binary":
            rates[own] = np.clip(share, floor, 1.0 - floor)
        else:
            share = np.where(share < 2.0 * noise / rows, 0.0, share)
            share = np.maximum(share, min(floor, 0.5 / block.size))
            rates[own] = share / share.sum()
    return rates
