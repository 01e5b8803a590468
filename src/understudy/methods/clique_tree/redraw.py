"""Copies of a fitted clique tree: what the method would have fitted, had the noise fallen otherwise.

As for the other marginal methods (`understudy.methods.marginals.redraw`, where it is derived): with y the released counts, s
their noise and mu(y) the marginals of the fitted model,

    y* = mu(y) + s Z,   Z ~ N(0, 1) in every cell,      theta* = the fit to y*.

A copy is fitted as the model was, from the start of its own and with as many passes, so that what a descent is off by where it
stops shows between the model and its copies, as all bias does (`infer.rules`).

The tree, the cells of columns and which pairs were counted stay as they were. Outcomes within a cell are redrawn with the noise
of a single outcome and cut off at zero. All of it is a function of released values: it costs nothing.

**Rows drawn evenly.** The generator spreads its draws (`generator.py`), so that two tables of one model differ by far less than
the sampling variance of their rows: `chance` is 0, and nothing is taken off the variance between copies when answers are
combined. What chance there is makes intervals a little wider than they have to be.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from understudy.artifact import Model as Artifact
from understudy.measure.cells import Grouping
from understudy.methods.clique_tree.assemble import conditionals, cumulative
from understudy.methods.clique_tree.descent import Measured, descend_all
from understudy.methods.clique_tree.targets import targets_of
from understudy.methods.clique_tree.tree import Beliefs, JunctionTree, Link, summed
from understudy.methods.clique_tree.zeros import Side, Zeros
from understudy.methods.marginals.redraw import need_released
from understudy.methods.marginals.resolution import Resolution
from understudy.released import fitted_tables

AT_ONCE = 1 << 18  # cells of the models that are fitted together: what is in use stays in the cache
NEXT_TO_NOTHING = 2e-3  # of the mean: what `assemble` leaves to a category that is believed empty, and a little more


class Cells:
    """What the flat arrays of the generator say about nodes: cells, outcomes, and which coarse cell holds a fine one."""

    def __init__(self, fitted: Artifact) -> None:
        self.weights = {name: np.asarray(value) for name, value in fitted.weights.items()}
        order, width = self.weights["order"], self.weights["width"]
        self.sizes = [len(fitted.class_counts), *(int(width[order == node][0]) for node in range(1, len(order) + 1))]
        self.first = np.cumsum([0, 0, *self.sizes[1:]])  # of every node's cells among all cells; the class has none
        self.links = [
            Link((node - 1, node), (np.arange(self.sizes[node - 1])[:, None] == self.coarser(node)[None, :]) * 1.0)
            for node in range(1, len(self.sizes))
            if self.coarser(node)[0] >= 0
        ]

    def coarser(self, node: int) -> np.ndarray:
        """For every cell of a node the cell of the next coarser one."""
        return np.asarray(self.weights["coarser"][self.first[node] : self.first[node] + self.sizes[node]])

    def outcomes(self, node: int) -> list[slice]:
        """Where the outcomes of every cell of a shown node stand in the arrays of outcomes."""
        own = slice(self.first[node], self.first[node] + self.sizes[node])
        start, length = self.weights["start"][own], self.weights["length"][own]
        return [slice(int(a), int(a + n)) for a, n in zip(start, length, strict=True)]

    def columns(self) -> dict[int, int]:
        """Which column every node shows; 0 is the class."""
        last = np.asarray(self.weights["column"])
        return {0: 0, **{node: int(np.argmax(last >= node)) + 1 for node in range(1, len(self.sizes))}}

    def intervals(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """Where the outcomes of every column begin and how far they reach, in the order of their numbers."""
        found = {}
        for number, node in enumerate(np.asarray(self.weights["column"]).tolist(), 1):
            at = self._of(node)
            order = np.argsort(self.weights["code"][at])
            base, span = (np.asarray(self.weights[name], float)[at][order] for name in ("base", "span"))
            found[number] = base, span
        return found

    def sides(self) -> list[Side]:
        """The nodes of the model, as constraints see them."""
        found, shown = [Side(0, np.arange(self.sizes[0]), self.sizes[0])], np.asarray(self.weights["column"])
        for node, column in list(self.columns().items())[1:]:
            finest = int(shown[column - 1])
            at, cell = self._of(finest), np.repeat(np.arange(self.sizes[finest]), self._lengths(finest))
            for level in range(finest, node, -1):
                cell = self.coarser(level)[cell]
            found.append(Side(column, cell[np.argsort(self.weights["code"][at])], self.sizes[node]))
        return found

    def _of(self, node: int) -> slice:
        places = self.outcomes(node)
        return slice(places[0].start, places[-1].stop)

    def _lengths(self, node: int) -> list[int]:
        return [cell.stop - cell.start for cell in self.outcomes(node)]

    def marginals(self, tree: JunctionTree, classes: Sequence[float]) -> list[np.ndarray]:
        """mu(y): what the tables that rows are drawn from say about the counts."""
        graph, table = tree.graph, np.asarray(self.weights["table"], float)
        prior = np.asarray(classes, float)
        mus = {0: tree.total * prior / prior.sum()}
        for node, at in zip(self.weights["order"].tolist(), self.weights["offset"].tolist(), strict=True):
            shape, later = graph.shape(graph.scope[node]), graph.later[node]
            sums = table[at : at + math.prod(shape)].reshape(shape)
            up = graph.above.get(node, 0)
            held = summed(mus[up], graph.scope[up], later)
            mus[node] = held[..., None] * np.diff(sums, axis=-1, prepend=0.0)
        return [
            summed(mus[home], graph.scope[home], nodes) for nodes, home in zip(tree.tables, tree.homes, strict=True)
        ]

    def shares(self, cell: slice) -> np.ndarray:
        """Probabilities of a cell's outcomes."""
        return np.diff(np.asarray(self.weights["inner"][cell], float), prepend=0.0)


class Redrawn:
    """Draws copies of one fitted model. What all copies share is computed once."""

    def __init__(self, fitted: Artifact) -> None:
        self.fitted, self.cells = fitted, Cells(fitted)
        every = [Measured(one.nodes, one.values, one.deviation) for one in need_released(fitted)]
        self.beside = every[len(every) - len(fitted.weights["left"]) :]  # fitted afterwards, and released last
        self.known = every[: len(every) - len(self.beside)]
        total = float(np.median([item.counts.sum() for item in self.known]))
        self.zeros, self.sides = Zeros(fitted.codec, self.cells.intervals()), self.cells.sides()
        tables, settings = [item.nodes for item in self.known], fitted.plan.parameters["settings"]
        impossible = self.zeros.links(self.sides, tables, self.cells.links, int(settings["model_cells"]))
        self.tree = JunctionTree(self.cells.sizes, tables, [*self.cells.links, *impossible], total)
        self.best = self.cells.marginals(self.tree, fitted.class_counts)
        self.passes = int(settings["passes"])
        self.resolution = TreeResolution(fitted, self.cells)

    def could(self, random: np.random.Generator) -> list[Measured]:
        """Counts that could have been released."""
        return [
            self.zeros.without(item._replace(counts=mu + item.deviation * random.standard_normal(mu.shape)), self.sides)
            for item, mu in zip(self.known, self.best, strict=True)
        ]

    def could_beside(self, random: np.random.Generator) -> list[Measured]:
        """The same for pairs that the tree does not hold, from the shares that rows were fitted to."""
        shares = np.asarray(self.fitted.weights["share"], float) * self.tree.total
        parts = np.split(shares, np.asarray(self.fitted.weights["begin"])[1:])
        return [
            self.zeros.without(
                item._replace(
                    counts=part.reshape(item.counts.shape) + item.deviation * random.standard_normal(item.counts.shape)
                ),
                self.sides,
            )
            for item, part in zip(self.beside, parts, strict=False)
        ]

    def chance(self, rows: int) -> float:
        """Rows are drawn evenly, see above: next to none of their sampling variance shows between copies."""
        return 0.0

    def copies(self, count: int, random: np.random.Generator) -> Iterator[Artifact]:
        """Models that could have been fitted, some at once; each has randomness of its own."""
        at_once = max(AT_ONCE // self.tree.graph.cells, 1)
        for first in range(0, count, at_once):
            own = random.spawn(min(at_once, count - first))
            each = descend_all(self.tree, [self.could(one) for one in own], self.passes)
            for beliefs, chance in zip(each, own, strict=True):
                yield self.copy(beliefs, chance)

    def copy(self, beliefs: Beliefs, random: np.random.Generator) -> Artifact:
        """The model with these marginals."""
        fresh = conditionals(self.tree, beliefs)
        fresh["inner"] = self.within_cells(beliefs.found, random)
        fresh["share"] = targets_of(self.tree, beliefs, self.could_beside(random)).share
        weights = {name: np.asarray(fresh.get(name, value), value.dtype) for name, value in self.fitted.weights.items()}
        return replace(self.fitted, weights=weights, class_counts=self.class_counts(random), hashes={})

    def class_counts(self, random: np.random.Generator) -> tuple[float, ...]:
        """The class histogram redrawn; a public number of rows stays what it is."""
        counts, schema = np.asarray(self.fitted.class_counts, float), self.fitted.schema
        noise = self.fitted.plan.parameters["noise"].get("class histogram", 0.0)
        if len(counts) == 1 and schema.rows is not None:
            return tuple(counts.tolist())
        return tuple(np.maximum(counts + noise * random.standard_normal(len(counts)), 1.0).tolist())

    def within_cells(self, found: Sequence[np.ndarray], random: np.random.Generator) -> np.ndarray:
        """Distributions of outcomes within every cell, from redrawn counts of the outcomes."""
        inner = np.array(self.fitted.weights["inner"], float)
        for item, mass in zip(self.known, found, strict=True):
            if len(item.nodes) > 1 or item.nodes[0] == 0:
                continue
            places = self.cells.outcomes(item.nodes[0])
            shares = [self.cells.shares(cell) for cell in places]
            noise = outcome_noise(item, mass, shares)
            for cell, share, rows in zip(places, shares, mass.tolist(), strict=True):
                drawn = np.maximum(rows * share + noise * random.standard_normal(len(share)), 0.0) * (share > 0.0)
                if len(share) > 1 and drawn.sum() > 0.0:
                    inner[cell] = cumulative(drawn[None, :])[0]
        return inner


def outcome_noise(item: Measured, mass: np.ndarray, shares: Sequence[np.ndarray]) -> float:
    """Noise of a single outcome: that of a cell, whose deviation is that of the outcomes which were added up in it."""
    rows = [m * share for m, share in zip(mass.tolist(), shares, strict=True)]
    least = NEXT_TO_NOTHING * max(float(np.mean(np.concatenate(rows))), 1.0)
    merged = np.asarray([max(int((part > least).sum()), 1) for part in rows])
    return float(np.min(np.broadcast_to(item.deviation, merged.shape) / np.sqrt(merged)))


class TreeResolution(Resolution):
    """As `Resolution`, with the cells of the level at which columns were counted together."""

    def __init__(self, fitted: Artifact, cells: Cells) -> None:
        self.fitted, self.cells = fitted, cells
        self.tables = fitted_tables(fitted.released)
        alone = [one for one in self.tables if len(one.nodes) == 1]
        self.nodes = {one.columns[0]: one.nodes[0] for one in alone if one.nodes[0]}
        self.counts = {one.nodes[0]: one.values for one in alone}

    def _intervals(self, column: str) -> tuple[np.ndarray, np.ndarray]:
        places = self._places(column)
        return (
            np.asarray(self.cells.weights["base"], float)[places],
            np.asarray(self.cells.weights["span"], float)[places],
        )

    def _places(self, column: str) -> np.ndarray:
        return np.concatenate([np.arange(cell.start, cell.stop) for cell in self.cells.outcomes(self.nodes[column])])

    def _in_cells(self, columns: Sequence[str], column: str) -> np.ndarray:
        """[cells, outcomes]: rows of every outcome, in the cells that count the column together with the others."""
        finest = self.nodes[column]
        table = next((one for one in self.tables if set(columns) <= one.named and len(one.nodes) > 1), None)
        node = finest if table is None else table.nodes[table.columns.index(column)]
        cell = np.arange(self.cells.sizes[finest])
        for level in range(finest, node, -1):
            cell = self.cells.coarser(level)[cell]
        grouping = Grouping(cell, self.cells.sizes[node])
        mass, rows, at = np.maximum(self.counts[finest], 0.0), np.zeros((grouping.cells, len(self._places(column)))), 0
        for number, own in enumerate(self.cells.outcomes(finest)):
            share = self.cells.shares(own)
            rows[grouping.cell[number], at : at + len(share)] = mass[number] * share
            at += len(share)
        return rows
