"""What a column's cells are, and how they are cut and cut again from released counts. Public: nothing here sees a row.

Every column is a node with a few outcomes:

    categories, booleans            one outcome each; a missing category is one of them already
    ordinals, small integer ranges  one outcome per value (at most `LISTED`); numbers of known decimals likewise
    other numbers                   intervals: two paid counts refine public cuts, which are finer towards the bounds and zero
    missing numbers, codes          the first outcomes of their column, one each

Whole numbers are cut half-way between two, so that none sits on an edge and an interval can hold a single one. The bounds of
other numbers, and zero, are intervals that hold nothing but this value (atoms): values are often cut off there.

**How many intervals.** With k of them, n rows and noise of deviation s on a count, noise moves about k s / n of the rows,
and what is drawn evenly within an interval is misplaced by about 1 / k; both are balanced at k = 2 sqrt(n / s). The factor
was chosen among 1, 2 and 4 by a simulation on Adult, cardiovascular, credit and cervical cancer that is not kept; what a
change does to fits is shown by `python -m benchmarks.one_way`. So cells grow with rows and budget, a value that holds many
rows becomes a cell of its own (`spikes.py`), and an integer column ends with all its values where the counts carry them.

For dependence between columns outcomes are grouped into fewer cells (`grouping.py`): neighbouring intervals, or the rare
categories, by released counts. What is finer than a cell is drawn from the column's own released distribution within the
cell.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from understudy.measure.shrinkage import NEIGHBOURS, projected, shrink
from understudy.questions import Step
from understudy.questions.categories import LARGEST_LIST
from understudy.questions.row_maps import Cuts, LookUp, Outcomes
from understudy.schema import Codec, Column, Schema

# First values, as far as commits and docs say, where nothing else is said; how many intervals there are: above.
LISTED = 32  # integer columns with at most so many values are counted value by value at any budget
FEWEST, MOST = 4, 200  # intervals of a column; comparing with more edges would slow down every count of a large table
FIRST = 32  # equal intervals to begin with, besides the finer ones
GRADE = 3.0  # next to a narrow cell the next is at most so many times as wide
# Set on NIST Massachusetts at (1, 1e-5), DENSITY: with 0.95 one of four fits did not end with its five numbers.
FEW, GATHERED = 10, 0.85  # cells with such a share of the rows that no single value holds may be a few numbers
FAR = 10.0  # cells so many times as wide as the typical one
SHOWN = 0.5  # of the rows: less than this in cells that are to show a few numbers means that there are none
STANDS_OUT = 3.5  # hold rows only where their count is so many deviations of its noise: once in 4,000 empty cells
FINEST = 2.0**-20  # steps between values that 32-bit numbers in [0, 1] tell apart with ease
ALMOST_ZERO = 1e-30  # encoded values below are the lower bound itself


@dataclass(frozen=True)
class Node:
    """One column. `edges` cut the encoded axis into the outcomes of a numeric column; None for categories."""

    column: str
    start: int  # first coordinate in an encoded row
    size: int  # outcomes without `missing`
    onehot: bool = False
    edges: np.ndarray | None = None
    missing: int | None = None  # coordinate of the first flag of a numeric column: missing, or its first code
    step: float = 0.0  # distance of two neighbouring values on the encoded axis; 0: any number
    share: np.ndarray | None = None  # of the rows, expected in each interval when it was cut; None: not cut
    codes: int = 0  # flags of codes that follow the first flag
    decimals: int | None = None  # of its numbers, if they were found in released counts (`decimals.py`)
    rest: np.ndarray | None = (
        None  # where rows lie that no interval shows by itself, if `share` expects nothing anywhere
    )

    @property
    def gap(self) -> int:
        """How many outcomes of a numeric column are no numbers: missing and codes. They come first."""
        return 0 if self.missing is None else 1 + self.codes

    @property
    def outcomes(self) -> int:
        """How many there are, those that are no numbers included."""
        return self.size + self.gap

    @property
    def ordered(self) -> bool:
        """Whether outcomes are numbers."""
        return self.edges is not None

    def cell(self, grouping: "Grouping | None") -> Step:
        """Map of a row to this column's outcome, or to the cell that it is grouped into."""
        cell = np.arange(self.outcomes) if grouping is None else grouping.cell
        if self.edges is None:
            outcome: Step = Outcomes(np.asarray([self.start]), np.asarray([self.size if self.onehot else 1]))
            return outcome if grouping is None else LookUp(outcome, (cell,))
        own, inner = cell[self.gap :], self.edges[1:-1]
        if (np.diff(own) >= 0).all():  # neighbours: only edges between two cells are compared with
            inner, own = inner[np.diff(own) > 0], np.unique(own)
        missing = -1 if self.missing is None else self.missing
        cut = Cuts(np.asarray([self.start]), (inner,), np.asarray([missing]), codes=(self.codes,) if self.codes else ())
        if missing < 0 and np.array_equal(own, np.arange(len(own))):
            return cut
        return LookUp(
            cut, (own,), float(cell[0]), tuple(map(float, cell[1 : self.gap]))
        )  # what is no number comes first

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower end and length of every outcome in [0, 1]; a missing number is written as 1/2, as the codec does."""
        if self.edges is None:
            return np.zeros(self.outcomes), np.zeros(self.outcomes)
        middle, single = 0.5 * (self.edges[1:] + self.edges[:-1]), single_values(self.edges, self.step)
        base = np.where(single, middle, self.edges[:-1])
        span = np.where(single, 0.0, np.diff(self.edges))
        if self.gap:
            base, span = np.r_[np.full(self.gap, 0.5), base], np.r_[np.zeros(self.gap), span]
        return base, span


def single_values(edges: np.ndarray, step: float) -> np.ndarray:
    """Which intervals hold one value: one whole number, or one 32-bit number, as encoded values are."""
    middle, width = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    return width < np.maximum(1.5 * step, np.maximum(1.6 * spacing(middle), 4.0 * ALMOST_ZERO))


def spacing(value: np.ndarray) -> np.ndarray:
    """Distance to the next 32-bit number."""
    return np.asarray(np.spacing(np.abs(np.asarray(value, np.float32))), np.float64)


# -- columns of a schema -----------------------------------------------------------------------------------------------------
def learned_columns(schema: Schema) -> int:
    """How many nodes a schema has besides its class label, before any estimate is made."""
    return len(schema.features)


def has_intervals(schema: Schema) -> bool:
    """Whether some column will be cut into intervals; bounds still to be estimated may turn out wide."""
    return any(value_count(column) == 0 for column in schema.features)


def value_count(column: Column) -> int:
    """How many outcomes a column has when each value is one; 0 if it is to be cut into intervals, as far as is known."""
    if column.kind in ("categorical", "boolean"):
        return len(column.outcomes) if column.resolved else LARGEST_LIST
    if column.kind == "ordinal":
        return len(column.categories or ())
    step = value_step(column) if column.resolved else 0.0
    values = round(1.0 / step) + 1 if step else 0
    return values if values <= LISTED else 0


def value_step(column: Column) -> float:
    """Distance of two neighbouring values on the encoded axis; 0: any number. Numbers with so many decimals are as far apart as
    those tell, unless the bounds lie between two of them or 32-bit numbers could not tell them apart.
    """
    if column.kind not in ("integer", "ordinal", "continuous"):
        return 0.0
    lower, upper = column.bounds
    if column.kind != "continuous":
        return 1.0 / max(upper - lower, 1.0)
    if column.decimals is None:
        return 0.0
    steps = np.asarray([lower, upper]) * 10.0**column.decimals
    step = 10.0**-column.decimals / (upper - lower)
    return step if np.abs(steps - np.rint(steps)).max() < 1e-6 and step > FINEST else 0.0


def make_nodes(codec: Codec) -> list[Node]:
    """The nodes of a resolved schema; columns to be cut have `share` and the public edges to begin with."""
    missing = {block.column: block.start for block in reversed(codec.blocks) if block.part == "missing"}
    nodes: list[Node] = []
    for block in codec.blocks:
        if block.part == "missing":
            continue
        if block.head != "numeric":
            size = 2 if block.head == "binary" else block.size
            nodes.append(Node(block.column, block.start, size, onehot=block.head == "onehot"))
            continue
        column = codec.schema.column(block.column)
        values, lower, upper = value_count(column), *column.bounds
        step = value_step(column)
        codes = max(len(column.specials) - 1, 0)
        node = Node(
            block.column, block.start, values, False, halfway(values), missing.get(block.column), step, codes=codes
        )
        zero = -lower / (upper - lower) if column.kind in ("integer", "continuous") and lower < 0 < upper else None
        nodes.append(node if values else with_edges(node, first_edges(step, zero)))
    return nodes


def alike(codec: Codec, nodes: list[Node]) -> np.ndarray:
    """A number for every node: numeric columns alike in kind, bounds and decimals share one if they are `NEIGHBOURS` or more."""

    def key(node: Node) -> tuple[object, ...]:
        column = codec.schema.column(node.column)
        single = not node.ordered or node.missing is not None
        return (node.column,) if single else (column.kind, column.decimals, *column.bounds)

    keys = [key(node) for node in nodes]
    often = Counter(keys)
    names = [own if often[own] >= NEIGHBOURS else (node.column,) for own, node in zip(keys, nodes, strict=True)]
    order = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.asarray([order[name] for name in names], np.int64)


# -- edges -------------------------------------------------------------------------------------------------------------------
def interval_count(rows: float, deviation: float) -> int:
    """How many intervals balance noise and coarseness, see above."""
    return int(np.clip(2.0 * math.sqrt(max(rows, 1.0) / max(deviation, 1e-9)), FEWEST, MOST))


def halfway(values: int) -> np.ndarray:
    """Edges halfway between the positions of so many equally spaced values, half a step beyond both ends."""
    return (np.arange(values + 1) - 0.5) / max(values - 1, 1)


def first_edges(step: float, zero: float | None) -> np.ndarray:
    """Equal cells, and ever finer ones towards both bounds and zero: public bounds may be far wider than the values.

    More cells cost nothing: a row falls into one of them. Encoded values are 32-bit floats, which are fine near the lower
    bound and coarse elsewhere.
    """
    halves = 0.5 ** np.arange(1, 31)
    coarse = halves[halves > 2.0**-20]
    edges = [np.linspace(0.0, 1.0, FIRST + 1), halves, 1.0 - coarse]
    atoms = [0.0, 1.0]
    if zero is not None:
        edges += [zero - coarse, zero + coarse]
        atoms.append(float(np.float32(zero)))
    every = snap(np.concatenate(edges), step)
    return every if step else with_atoms(every, np.asarray(atoms))


def atom_values(edges: np.ndarray, step: float) -> np.ndarray:
    """The values that intervals of a column of any numbers hold alone; whole numbers need none."""
    single = single_values(edges, step) & (step == 0.0)
    return np.asarray(0.5 * (edges[1:] + edges[:-1])[single], np.float32).astype(np.float64)


def near(edges: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """Which edges lie within two 32-bit numbers of an atom."""
    reach = np.maximum(2.0 * spacing(atoms), 1e-12)
    return np.asarray((np.abs(edges[:, None] - atoms) <= reach).any(axis=1))


def with_atoms(edges: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """Edges around each of these values so close that an interval holds this 32-bit number alone."""
    half = np.maximum(0.5 * spacing(atoms), ALMOST_ZERO)
    low, high = atoms - np.where(atoms == 1.0, 0.5, 1.0) * half, atoms + half
    return np.sort(np.concatenate([edges[~near(edges, atoms)], low, high]))


def snap(edges: np.ndarray, step: float) -> np.ndarray:
    """Rising edges over the whole axis; of whole numbers half-way between two, from half a step below to half a step above."""
    if step:
        number = np.unique(np.floor(edges / step + 1e-9))
        number = number[(number >= 0) & (number < round(1.0 / step))]
        return np.concatenate([[-0.5 * step], (number + 0.5) * step, [1.0 + 0.5 * step]])
    inner = np.unique(edges)
    inner = inner[(inner > 1e-12) & (inner < 1.0)]
    return np.concatenate([[0.0], inner, [1.0]])


def with_edges(node: Node, edges: np.ndarray, share: np.ndarray | None = None, rest: np.ndarray | None = None) -> Node:
    """The node with these intervals; nothing is expected in any of them unless `share` says so."""
    share = np.zeros(len(edges) - 1) if share is None else share
    return replace(node, size=len(edges) - 1, edges=edges, share=share, rest=rest)


def like(node: Node, other: Node) -> Node:
    """The other column with the cells of this one."""
    assert node.edges is not None
    return with_edges(replace(other, step=node.step, decimals=node.decimals), node.edges, node.share, node.rest)


def recut(node: Node, mass: np.ndarray, intervals: int) -> Node:
    """Cells of about equal mass, and where one is much wider than its neighbour, cells that grow from narrow to wide.

    Values that hold more than a cell's mass use up several quantiles at once; in whole numbers what they leave over goes to
    finer quantiles, until all `intervals` are in use. Rows that lie in few cells (`gathered`) are looked at more closely.
    """
    assert node.edges is not None
    before = node.edges
    own = mass[node.gap :]
    if len(few := gathered(before, own, node.step, intervals)):
        edges = closer(before, few, single_values(before, node.step) & (own > 0.0))
        edges = snap(edges, node.step) if node.step else edges
        return with_edges(node, edges, rest=respread(own, before, edges))
    own = own if own.sum() > 0.0 else np.diff(before)
    cdf = distribution(own)

    atoms = atom_values(before, node.step)

    def quantiles(count: int) -> np.ndarray:
        edges = snap(np.interp(np.linspace(0.0, 1.0, count + 1), cdf, before), node.step)
        return np.asarray(edges[~near(edges, atoms)])

    count, edges = intervals, quantiles(intervals)
    while node.step and count < MOST * FIRST and len(finer := quantiles(2 * count)) <= intervals + 1:
        count, edges = 2 * count, finer
    # Cells that reach to a far bound are the widest of all, and bounds that are atoms were left out above.
    if not node.step:
        edges = np.unique(np.r_[0.0, edges, 1.0])
    edges = with_atoms(snap(graded(edges), node.step), atoms)
    return with_edges(node, edges, respread(own, before, edges))


def respread(mass: np.ndarray, before: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Shares of other cells, if rows lie evenly in those that there were."""
    share = np.diff(np.interp(edges, before, distribution(mass)))
    return np.asarray(share / share.sum())


def gathered(edges: np.ndarray, mass: np.ndarray, step: float, intervals: int) -> np.ndarray:
    """The cells that hold nearly all rows, where they are few and wider than a value: a column of few distinct numbers,
    or one whose bounds are far wider than its values."""
    heavy = np.flatnonzero((mass > 0.5 * mass.sum() / intervals) & ~single_values(edges, step))
    single = mass[single_values(edges, step)].sum()
    wanted = GATHERED * max(mass.sum() - single, 0.5 * mass.sum())
    few = len(heavy) <= min(intervals // 3, FEW) and mass[heavy].sum() >= wanted
    return heavy if few else heavy[:0]


def closer(edges: np.ndarray, cells: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """These cells in many equal parts, `kept` ones as they are, and all between them as one cell each. Outside, where the other
    rows may lie, cells grow from narrow to wide: one up to a far bound would spread them over all of it."""
    parts = max((MOST - 2 * len(cells)) // len(cells), 2)  # more cost nothing: a row falls into one of them
    fine = np.unique(np.concatenate([np.linspace(edges[k], edges[k + 1], parts + 1) for k in cells]))
    around = graded(np.unique(np.r_[edges[0], fine, edges[-1]]))
    outside = around[(around < fine[0]) | (around > fine[-1])]
    return np.unique(np.concatenate([edges[:-1][kept], edges[1:][kept], fine, outside]))


def graded(edges: np.ndarray) -> np.ndarray:
    """More edges inside cells that are much wider than a neighbour, each new cell `GRADE` times as wide as the one before."""
    widths = np.diff(edges).tolist()
    more = [edges]
    for number, width in enumerate(widths):
        sides = [(widths[number - 1], 1.0)] if number else []
        sides += [(widths[number + 1], -1.0)] if number + 1 < len(widths) else []
        reach = width if len(sides) == 1 else 0.5 * width
        for narrow, sign in sides:
            if GRADE * narrow >= reach:
                continue
            count = math.ceil(math.log(width / narrow, GRADE))
            away = narrow * np.cumsum(GRADE ** np.arange(1, count + 1))
            origin = edges[number] if sign > 0 else edges[number + 1]
            more.append(origin + sign * away[away < reach])
    return np.concatenate(more)


# -- counts ------------------------------------------------------------------------------------------------------------------
def estimate(node: Node, counts: np.ndarray, noise: float, rows: float) -> np.ndarray:
    """Rows in every outcome of a column from noisy counts: expected ones plus what stands out (`shrinkage`).

    Expected are the shares that a cut column's intervals were cut with, and in columns that are not cut that all
    outcomes are as common as the median one; these add up to `rows` afterwards. A cell much wider than the
    column's typical one has to stand out from the noise: otherwise a few rows of noise would be spread over the empty range
    up to a far bound. So has what lies beyond such an empty cell, taken together: the bound itself, and narrow cells beside it.
    """
    counts = np.asarray(counts, np.float64)
    if node.share is None or node.edges is None:
        usual = max(float(np.median(counts)), 0.0)
        return projected(usual + shrink(counts - usual, noise), rows)
    first = node.gap
    own, widths = counts[first:], np.diff(node.edges)
    expected = node.share * max(float(own.sum()), 0.0)
    mass = np.maximum(expected + shrink(own - expected, noise), 0.0)
    if node.rest is not None:
        mass += hidden(node, mass, rows - float(np.maximum(counts[:first], 0.0).sum()))
    # A value that holds half of the rows says nothing about how wide cells are, but values one after the other do.
    single = single_values(node.edges, node.step)
    beside = np.r_[False, single[:-1]] | np.r_[single[1:], False]
    spread = np.where(single & ~beside, 0.0, mass)
    spread = spread if spread.any() else mass
    empty = (widths > FAR * typical_width(widths, spread)) & (own < STANDS_OUT * noise)
    empty &= ~together(own, noise, empty, int(spread.argmax()))
    mass[empty | stray(own, spread, noise, empty)] = 0.0
    return np.asarray(np.r_[np.maximum(counts[:first], 0.0), mass])


def hidden(node: Node, mass: np.ndarray, rows: float) -> np.ndarray:
    """Rows that so many narrow cells do not show: where a column is no few numbers, each holds less than the noise. What
    the bounds and zero hold is known and left out."""
    assert node.edges is not None and node.rest is not None
    between = ~(single_values(node.edges, node.step) & (node.step == 0.0))
    rest, shown = node.rest * between, float(mass[between].sum())
    wanted = rows - float(mass[~between].sum())
    if shown >= SHOWN * wanted or not rest.any():
        return np.zeros(len(mass))
    return np.asarray((wanted - shown) * rest / rest.sum())


def together(counts: np.ndarray, noise: float, empty: np.ndarray, main: int) -> np.ndarray:
    """Cells of a row of empty ones that hold rows after all: from the side of the `main` cell on, as far as their sum stands
    out furthest from its noise."""
    found = np.zeros(len(counts), bool)
    ends = np.flatnonzero(np.diff(np.r_[False, empty, False].astype(int)))
    for begin, end in zip(ends[::2], ends[1::2], strict=True):
        places = np.arange(begin, end) if begin > main else np.arange(begin, end)[::-1]
        clear = np.cumsum(counts[places]) - STANDS_OUT * noise * np.sqrt(np.arange(1, len(places) + 1))
        if clear.max() > 0.0:
            found[places[: int(clear.argmax()) + 1]] = True
    return found


def stray(counts: np.ndarray, mass: np.ndarray, noise: float, empty: np.ndarray) -> np.ndarray:
    """Cells that empty ones part from most of the rows, in runs that are nothing but noise as far as can be seen: neither
    their sum stands out, nor one of them. Where most rows are says `mass`, without what a lone value holds: half of the
    rows at a bound are no reason to take the other half for noise."""
    run = np.cumsum(empty)
    runs, cells = run[-1] + 1, ~empty
    sums, sizes = np.bincount(run, counts * cells, runs), np.bincount(run, cells, runs)
    clear = sums >= STANDS_OUT * noise * np.sqrt(np.maximum(sizes, 1))
    clear[run[cells & (counts >= STANDS_OUT * noise)]] = True
    clear[int(np.bincount(run, mass * cells, runs).argmax())] = True
    return np.asarray(cells & ~clear[run])


def typical_width(widths: np.ndarray, mass: np.ndarray) -> float:
    """The width that half of the rows' cells do not exceed."""
    order = np.argsort(widths)
    reached = np.cumsum(mass[order])
    return float(widths[order[int(np.searchsorted(reached, 0.5 * reached[-1]))]])


def distribution(mass: np.ndarray) -> np.ndarray:
    """Cumulative shares along the last axis, from 0 to exactly 1: the sum of all may round to less than the last partial sum."""
    sums = np.cumsum(mass, axis=-1)
    return np.concatenate([np.zeros_like(sums[..., :1]), sums / sums[..., -1:]], axis=-1)


class Grouping(NamedTuple):
    """`cell[outcome]`: which cell an outcome belongs to; `cells` of them."""

    cell: np.ndarray
    cells: int
