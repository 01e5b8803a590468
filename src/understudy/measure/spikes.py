"""Values that many rows share, such as forty hours, a round income, or each of a column's twenty numbers: where they are.

Cells of equal mass (`cells.recut`) close in on such a value by a small factor in each cut, and what stays an interval is drawn
evenly. So beside the cells of both cuts, in the same answers, columns are looked at through many narrow cells:

    first look     equal cells between the bounds, at most `LOOKS`, or one for each whole number
    second look    the cells that stand out in the first, each in parts of `CLOSE`, or as there is room for

More cells cost nothing but time, as a row falls into one of them. A cell stands out if it holds more than the median of the
eight nearest ones by so many deviations of noise and chance that of all empty cells in the first looks at all columns one does,
and in the second a hundredth of one for each that is looked into: of empty values a hundredth of one is found in a column. With
one in each column the second looks at thirty columns had five times as many cells, for nothing. A smooth distribution does not
stand out, however steep it is.

Whole numbers, and numbers of known decimals, are told apart to a millionth of the range, any others to four millionths, where c
cells stand out to one of 4,096 x 32,768 / c places. What stands out in both becomes a cell of its own, unless it holds a whole
cell of the cuts themselves: where bounds are far wider than all values, a whole column stands out.

**Price.** Looks are tables of the same question (`understudy.questions.counts`, budgets), so its price is what it was; the
noise on the cells of both cuts grows by sqrt(1 + `SHARE`). Where not even a value of a tenth of the rows would stand out from
the noise, nothing is looked for. All else here is post-processing of released counts.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from understudy.measure.cells import (
    FEWEST,
    FINEST,
    STANDS_OUT,
    Node,
    atom_values,
    distribution,
    recut,
    single_values,
    snap,
    with_atoms,
    with_edges,
)

LOOKS = 1 << 12  # cells of a look at one column, or at columns that are cut together
ALL_LOOKS = 1 << 14  # of all looks: 10 microseconds each, for its noise
# Of all columns: every worker holds their edges and exact counts, in the second look 32 MB of each.
ALL_COLUMNS = 1 << 20
FALSE_SPIKES = 0.01  # empty cells that stand out in what the second look is taken into, on average
# Of 0.25, 0.5 and 1 none did better than the others on Adult (`independent`, six fits at epsilon 1) or on made-up columns.
SHARE = 0.5  # of the squared privacy loss that a look has, where the cells of a column have 1
# First values: CLOSER, LEAST_SPIKE, NEAREST and MOST_SPIKES.
CLOSER = 8  # times as many cells may the second look have, where so many are needed
CLOSE = 4.0 * FINEST  # between numbers of unknown decimals, which are drawn from an interval anyway
LEAST_SPIKE = 0.1  # of the rows: a value that has to stand out for looks to be worth their noise
NEAREST = 8  # cells that a cell is compared with
MOST_SPIKES = 100  # of a column


class Spikes(NamedTuple):
    """Cells that hold a value many rows share: their lower and upper edges, and how many rows these are."""

    low: np.ndarray
    high: np.ndarray
    rows: np.ndarray

    def of(self, some: np.ndarray) -> "Spikes":
        """Some of them."""
        return Spikes(*(part[some] for part in self))

    def joined(self, other: "Spikes") -> "Spikes":
        """Both, the largest of them, in order."""
        low, high, rows = (np.concatenate(parts) for parts in zip(self, other, strict=True))
        kept = np.argsort(-rows)[:MOST_SPIKES]
        kept = kept[np.argsort(low[kept])]
        return Spikes(low[kept], high[kept], rows[kept])


NONE = Spikes(np.zeros(0), np.zeros(0), np.zeros(0))


class Look(NamedTuple):
    """A column through narrow cells: `into` these something is looked for; after the last look they are what was found."""

    node: Node | None  # None: there is nothing to look into
    into: Spikes
    chance: float = FALSE_SPIKES  # empty cells that stand out in each of `into`, on average


NOWHERE = Look(None, NONE)


def worth_looking(rows: float, sigma: float, looks: int, weight: int) -> bool:
    """Whether a value of `LEAST_SPIKE` of the rows would stand out from the noise of so many looks; a unit counts `weight`."""
    return LEAST_SPIKE * rows > STANDS_OUT * sigma * weight * math.sqrt(looks * (1.0 + SHARE) / SHARE)


def first_look(node: Node, looks: int, columns: int) -> Look:
    """The whole axis in equal cells, where there are so many looks at so many columns."""
    cells = max(min(LOOKS, ALL_LOOKS // looks, ALL_COLUMNS // columns), 2)
    narrow = narrowed(node, np.linspace(0.0, 1.0, cells + 1))
    assert narrow.edges is not None
    return Look(narrow, Spikes(narrow.edges[:1], narrow.edges[-1:], np.zeros(1)), 1.0 / looks)


def narrowed(node: Node, edges: np.ndarray) -> Node:
    """A column with these cells; bounds and zero keep theirs."""
    assert node.edges is not None
    cut = snap(edges, node.step)
    return with_edges(node, cut if node.step else with_atoms(cut, atom_values(node.edges, node.step)))


def closer(look: Look, counts: np.ndarray, noise: float) -> Look:
    """The next look at a column: into the cells that stand out in this one."""
    assert look.node is not None
    into = standing_out(look, counts, noise)
    if not len(into.low):
        return NOWHERE
    step, room = look.node.step, CLOSER * look.node.size // len(into.low)
    finest = max(step, FINEST if step else CLOSE)
    fine = [
        np.linspace(low, high, int(np.clip(np.rint((high - low) / finest), 2, max(room, 2))) + 1)
        for low, high in zip(into.low, into.high, strict=True)
    ]
    return Look(narrowed(look.node, np.concatenate(fine)), into)


def on_numbers(look: Look, node: Node) -> Look:
    """The look through this node, whose numbers were found to be a step apart. A number on an edge of what is looked into, where
    round ones often are, was counted on either side of it: it is looked at as well, once.
    """
    assert look.node is not None and node.edges is not None
    if node.step == look.node.step:
        return look
    low = (np.ceil((look.into.low - FINEST) / node.step) - 0.5) * node.step
    high = (np.floor((look.into.high + FINEST) / node.step) + 0.5) * node.step
    low[1:] = np.maximum(low[1:], high[:-1])
    into = look.into._replace(low=low, high=high).of(high - low > 0.5 * node.step)
    edges = snap(np.concatenate([node.edges, into.low, into.high]), node.step)
    return look._replace(node=with_edges(node, edges), into=into)


def standing_out(look: Look, counts: np.ndarray, noise: float) -> Spikes:
    """Cells that hold more rows than those around them, beyond noise and chance."""
    assert look.node is not None and look.node.edges is not None
    edges, own, known, found = look.node.edges, counts[look.node.gap :], atoms_among(look.node), NONE
    middle = 0.5 * (edges[1:] + edges[:-1])
    for low, high in zip(look.into.low, look.into.high, strict=True):
        at = np.flatnonzero((middle > low) & (middle < high) & ~known)
        excess = own[at] - around(own[at])
        enough = ndtri(1.0 - min(look.chance / max(len(at), 2), 0.5))
        far = excess > enough * np.sqrt(noise**2 + np.maximum(own[at], 0.0))
        found = found.joined(Spikes(edges[at[far]], edges[at[far] + 1], excess[far]))
    return found


def atoms_among(node: Node) -> np.ndarray:
    """Cells of bounds and zero, which are not looked for."""
    assert node.edges is not None
    return np.asarray(single_values(node.edges, node.step) & (node.step == 0.0))


def around(counts: np.ndarray) -> np.ndarray:
    """The median of the `NEAREST` other cells, as many below as above where there are so many; 0 for a cell without others."""
    size = len(counts)
    if size < 2:
        return np.zeros(size)
    wide = min(NEAREST + 1, size)
    begin = np.clip(np.arange(size) - NEAREST // 2, 0, size - wide)
    others = begin[:, None] + np.arange(wide)
    window = counts[others]
    window[others == np.arange(size)[:, None]] = np.nan
    return np.asarray(np.nanmedian(window, axis=1))


def recut_around(
    node: Node, counts: np.ndarray, mass: np.ndarray, noise: float, intervals: int, spikes: Spikes
) -> Node:
    """Cells of about equal mass for what the spikes leave over, and a cell for each of them.

    `counts` as released, `mass` as believed (`cells.estimate`). Rows are expected between the spikes only if their number, all
    counts less the spikes, stands out from its noise.
    """
    assert node.edges is not None
    spikes = spikes.of(narrow_ones(node, spikes))
    if not len(spikes.low):
        return recut(node, mass, intervals)
    own, before, middle = np.array(mass[node.gap :]), node.edges, 0.5 * (spikes.low + spikes.high)
    np.subtract.at(own, cell_of(before, middle), spikes.rows)
    rest, left = np.maximum(own, 0.0), float(counts[node.gap :].sum() - spikes.rows.sum())
    expected = left > STANDS_OUT * noise * math.sqrt(len(own) + len(spikes.low))
    base = recut(node, np.r_[mass[: node.gap], rest], intervals if expected else FEWEST)
    assert base.edges is not None
    inside = ((base.edges[:, None] > spikes.low) & (base.edges[:, None] < spikes.high)).any(axis=1)
    edges = snapped(node, np.concatenate([base.edges[~inside], spikes.low, spikes.high]))
    spread = distribution(rest if rest.any() else np.diff(before))
    share = np.diff(np.interp(edges, before, spread)) * (left if expected else 0.0)
    np.add.at(share, cell_of(edges, middle), spikes.rows)
    return with_edges(node, edges, share / share.sum())


def narrow_ones(node: Node, spikes: Spikes) -> np.ndarray:
    """Which spikes are single values, or hold no whole cell of the column."""
    assert node.edges is not None
    single = [single_values(np.asarray(ends), node.step)[0] for ends in zip(spikes.low, spikes.high, strict=True)]
    cuts = np.searchsorted(node.edges, spikes.high) - np.searchsorted(node.edges, spikes.low, side="right")
    return np.asarray(single, bool) | (cuts < 2)


def cell_of(edges: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Which cell each value lies in."""
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)


def snapped(node: Node, edges: np.ndarray) -> np.ndarray:
    """These edges in order, each once."""
    assert node.edges is not None
    return snap(edges, node.step) if node.step else with_atoms(np.unique(edges), atom_values(node.edges, node.step))
