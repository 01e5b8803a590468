"""Models that could have been: what the marginal methods would have fitted, had the noise fallen otherwise.

With y the released counts, s their noise and mu(y) the marginals of the model that was fitted to them (`junction`), a copy is

    y* = mu(y) + s Z,   Z ~ N(0, 1) in every cell            what could have been released if the model were the truth
    theta* = the fit to y*, as the method makes it           descent on sum_r ||mu_r - y*_r||^2 / (2 s_r^2)

Constraints hold by construction: theta* is a distribution, so its marginals are non-negative, agree with each other and add
up to one total. Where no constraint is active this is a draw from the normal posterior of the marginals given y under a
flat prior: the fit is then a linear projection P, mu(y) = P y, and mu* = mu(y) + P s Z. At the boundary (cells whose count
is below the noise) it is the parametric bootstrap: y + s Z instead of mu(y) + s Z would add the noise of empty cells a
second time.

Within a cell that holds several outcomes their counts are redrawn in the same way and cut off at zero, as the fit does.
Where numeric columns were cut, and which pairs were counted, stays as it was: a copy answers what this release could have
been, not what another choice of questions would have found."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.artifact import Model as Artifact
from understudy.errors import UsageError
from understudy.measure.grouping import cumulative
from understudy.methods.marginals.assemble import Conditional, stacked
from understudy.methods.marginals.generator import MarginalGenerator
from understudy.methods.marginals.junction import Beliefs, Measured, Model, tables
from understudy.methods.marginals.resolution import Resolution
from understudy.released import Released, fitted_tables

FIRST_STEPS = 200  # of the descent that finds theta(y) again, as the methods make it
STEPS = 60  # of a copy: cells spread as after 200 steps within 5 %, in a third of the time (5,000 rows, epsilon 1, mst)


class RedrawnColumns:
    """Draws copies of a model of independent columns: the estimated counts of every column with their noise, cut off at zero."""

    def __init__(self, fitted: Artifact) -> None:
        self.fitted, self.resolution = fitted, Resolution(fitted)
        order = fitted.weights["order"].tolist()
        shares = np.diff(np.asarray(fitted.weights["table"], float), axis=1, prepend=0.0)
        self.columns = [(one, shares[order.index(one.nodes[0])]) for one in need_released(fitted)]

    def chance(self, rows: int) -> float:
        """Rows are drawn one by one: their sampling variance shows between copies."""
        return 1.0

    def copies(self, count: int, random: np.random.Generator) -> Iterator[Artifact]:
        """Models that could have been fitted."""
        return (self.copy(random) for _ in range(count))

    def copy(self, random: np.random.Generator) -> Artifact:
        """The model that could have been fitted."""
        drawn = []
        for one, share in self.columns:
            rows = max(float(one.values.sum()), 1.0) * share[: one.values.size]
            counts = np.maximum(rows + one.deviation * random.standard_normal(rows.shape), 0.0)
            drawn.append(Conditional(one.nodes[0], (), counts))
        fresh = stacked(drawn, [one.values.size for one, _ in self.columns])
        kept = {name: np.asarray(fresh.get(name, value), value.dtype) for name, value in self.fitted.weights.items()}
        return replace(self.fitted, weights=kept, hashes={})


class RedrawnClasses:
    """Draws copies of a model of the label alone, of whatever method: the released class histogram with its noise."""

    def __init__(self, fitted: Artifact) -> None:
        self.fitted, self.resolution = fitted, Resolution(fitted)
        self.noise = float(fitted.plan.parameters["noise"].get("class histogram", 0.0))

    def chance(self, rows: int) -> float:
        """Classes are drawn in exact shares (`sampling/even.py`): none of their sampling variance shows between copies."""
        return 0.0

    def copies(self, count: int, random: np.random.Generator) -> Iterator[Artifact]:
        """Models that could have been fitted."""
        counts = np.asarray(self.fitted.class_counts, float)
        for _ in range(count):
            drawn = np.maximum(counts + self.noise * random.standard_normal(len(counts)), 1.0)
            yield replace(self.fitted, class_counts=tuple(drawn.tolist()), hashes={})


def need_released(fitted: Artifact) -> tuple[Released, ...]:
    """The tables of a model; UsageError if it has none."""
    found = fitted_tables(fitted.released)
    if not found:
        raise UsageError("copies: this model was saved without its released counts; fit it again")
    return found


class Redrawn:
    """Draws copies of one fitted network. What all copies share is computed once."""

    def __init__(self, fitted: Artifact) -> None:
        self.fitted, self.resolution = fitted, Resolution(fitted)
        self.known = [Measured(one.nodes, one.values, float(one.deviation)) for one in need_released(fitted)]
        self.sizes, self.total = sizes_of(self.known), max(float(np.sum(fitted.class_counts)), 1.0)
        self.best = self.descend(self.known, FIRST_STEPS)

    def chance(self, rows: int) -> float:
        """Rows are drawn one by one: their sampling variance shows between copies."""
        return 1.0

    def copies(self, count: int, random: np.random.Generator) -> Iterator[Artifact]:
        """Models that could have been fitted."""
        return (self.copy(random) for _ in range(count))

    def copy(self, random: np.random.Generator) -> Artifact:
        """The model that could have been fitted."""
        noise = (item.deviation * random.standard_normal(item.counts.shape) for item in self.known)
        could = [
            item._replace(counts=self.best.marginal(item.clique) + z) for item, z in zip(self.known, noise, strict=True)
        ]
        beliefs = self.descend(could, STEPS)
        fresh: dict[str, Any] = stacked(tables(beliefs), self.sizes[1:])
        fresh["inner"] = self.within_cells(beliefs, random)
        weights = {name: np.asarray(fresh.get(name, value), value.dtype) for name, value in self.fitted.weights.items()}
        generator = self.fitted.generator
        assert isinstance(generator, MarginalGenerator)
        generator = replace(generator, parents=weights["parents"].shape[1], rows=len(weights["table"]))
        return replace(
            self.fitted, generator=generator, weights=weights, class_counts=self.class_counts(random), hashes={}
        )

    def descend(self, measured: Sequence[Measured], steps: int) -> Beliefs:
        """The fit of the method: from tables that start at the counts themselves."""
        model = Model(self.sizes, self.total)
        model.add(measured)
        return model.descend(steps)

    def class_counts(self, random: np.random.Generator) -> tuple[float, ...]:
        """The class histogram redrawn; a public number of rows stays what it is."""
        counts = np.asarray(self.fitted.class_counts, float)
        own = next((item for item in self.known if item.clique == (0,)), None)
        if own is None or (len(counts) == 1 and self.fitted.schema.rows is not None):
            return tuple(counts.tolist())
        return tuple(np.maximum(counts + own.deviation * random.standard_normal(len(counts)), 1.0).tolist())

    def within_cells(self, beliefs: Beliefs, random: np.random.Generator) -> np.ndarray:
        """Distributions of outcomes within every cell, from redrawn counts of the outcomes."""
        inner = np.asarray(self.fitted.weights["inner"], float)
        shares = np.diff(inner, axis=1, prepend=0.0)
        first = 0
        for node, size in enumerate(self.sizes[1:], 1):
            own = shares[first : first + size]
            rows = mass_of(beliefs, node, self.total)[:, None] * own
            noise = self.outcome_noise(node, int((own > 0.0).sum()))
            several = (own > 0.0).sum(axis=1) > 1
            drawn = np.where(own > 0.0, np.maximum(rows + noise * random.standard_normal(own.shape), 0.0), 0.0)
            kept = several & (drawn.sum(axis=1) > 0.0)
            inner[first : first + size][kept] = cumulative(drawn[kept], inner.shape[1])
            first += size
        return inner

    def outcome_noise(self, node: int, outcomes: int) -> float:
        """Of one outcome's count, all classes together: a cell's noise is that of the outcomes that were added up in it."""
        item = next(item for item in self.known if set(item.clique) <= {0, node} and node in item.clique)
        cells = self.sizes[node]
        classes = item.counts.size / cells
        return float(item.deviation * np.sqrt(classes / max(outcomes / cells, 1.0)))


def sizes_of(measured: Sequence[Measured]) -> list[int]:
    """Cells of every node, from the shapes of their tables."""
    found = {node: size for item in measured for node, size in zip(item.clique, item.counts.shape, strict=True)}
    return [found.get(node, 1) for node in range(1 + max(found, default=0))]


def mass_of(beliefs: Beliefs, node: int, total: float) -> np.ndarray:
    """Rows in every cell of one column."""
    own = np.asarray(beliefs.marginal((node,)))
    return own * (total / max(float(own.sum()), 1e-9))
