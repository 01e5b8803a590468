"""Models that could have been: what the mean embedding would have fitted, had the noise fallen otherwise.

Its sums are asked for one after the other, each with radii and cells that follow from those before, and shrunk. So a copy goes
through all of it again, with the fitted model in the place of the people:

    D*  ~  N rows drawn from the fitted model                              whose sums are what the model says of the true sums
    y*  =  the method's own sums of D* + noise of the same size for n rows            i.e. times N / n, as the sums are
    theta* = the fit to y*, as the method makes it                                    shrinkage and all

the parametric bootstrap, as for the marginal methods (`understudy.methods.marginals.redraw`): y + noise instead of the model's
own sums would add the noise of what is hidden a second time. It is a function of the released model and fresh randomness, so it
costs nothing. Everything scales with N / n (class counts, noise, thresholds), so N can be chosen: `ROWS[0]` at least, that chance
adds little, and `ROWS[1]` at most, that large tables cost no more.

**Chance.** Copies of r rows have the sampling variance V; that of D*, V r / N, shows between copies as well. Both are taken off
when answers are combined: `chance(r)` = 1 + r / N (`understudy.infer.rules`).

**Hidden effects.** What noise hides the method takes to be alike in all classes, and so do all copies. Answers by class are
therefore widened by 1.96 deviations of the noise on a class sum (`MomentResolution.hidden`), as if nothing had been shrunk.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from understudy.artifact import Model as Artifact
from understudy.errors import UsageError
from understudy.measure.class_moments import HIDDEN, MOMENTS, NUMERIC, PRESENCE, ROOM, SPREAD
from understudy.methods.mean_embedding.generator import MeanEmbeddingGenerator
from understudy.methods.mean_embedding.method import MeanEmbedding
from understudy.private.simulation import Simulation
from understudy.released import Released, fitted_tables

ROWS = (10_000, 50_000)  # of D*
Z = 1.96
ABSOLUTE = math.sqrt(2.0 / math.pi)  # E|z|


class Redrawn:
    """Draws copies of one fitted model."""

    def __init__(self, fitted: Artifact) -> None:
        if not isinstance(fitted.generator, MeanEmbeddingGenerator):
            raise UsageError("copies: of pictures none can be drawn; their sums are fitted by another generator")
        if not fitted_tables(fitted.released):
            raise UsageError("copies: this model was saved without its released counts; fit it again")
        self.fitted, self.resolution = fitted, MomentResolution(fitted)
        self.rows = int(np.clip(fitted.rows, *ROWS))
        settings = fitted.plan.parameters["settings"]
        self.method = MeanEmbedding(rounds=int(settings["rounds"]))
        scale = self.rows / max(float(np.sum(fitted.class_counts)), 1.0)
        noise = {name: float(sigma) * scale for name, sigma in fitted.plan.parameters["noise"].items()}
        self.plan = replace(fitted.plan, parameters={**fitted.plan.parameters, "noise": noise})

    def chance(self, rows: int) -> float:
        """How much of the sampling variance of so many rows shows between copies."""
        return 1.0 + rows / self.rows

    def copies(self, count: int, random: np.random.Generator) -> Iterator[Artifact]:
        """Models that could have been fitted."""
        return (self.copy(random) for _ in range(count))

    def copy(self, random: np.random.Generator) -> Artifact:
        """The model that could have been fitted."""
        codec, schema, few = self.fitted.codec, self.fitted.schema, np.iinfo(np.int32).max
        encoded = codec.encode(self.fitted.sample(self.rows, seed=int(random.integers(few))))
        units = None if schema.unit is None else np.arange(self.rows)  # people are counted, and a drawn row is one
        simulation = Simulation(encoded.rows, encoded.classes, units, int(random.integers(few)))
        counts = self.class_counts(encoded.classes, random)
        opening = self.method.begin(simulation, codec, counts, self.plan)
        weights = {name: np.asarray(value, np.float32) for name, value in opening.hints._asdict().items()}
        back = float(np.sum(self.fitted.class_counts)) / self.rows
        return replace(
            self.fitted,
            generator=opening.generator,
            weights=weights,
            marginals=opening.marginals,
            class_counts=tuple((counts * back).tolist()),
            released=opening.released,
            hashes={},
        )

    def class_counts(self, classes: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """The class histogram of D* with its noise; a public number of rows stays what it is."""
        counts = np.bincount(classes, minlength=len(self.fitted.class_counts)).astype(float)
        noise = self.plan.parameters["noise"].get("class histogram", 0.0)
        return np.asarray(np.maximum(counts + noise * random.standard_normal(len(counts)), 1.0))


class MomentResolution:
    """How finely the mean embedding sees a column (as `understudy.methods.marginals.resolution`)."""

    def __init__(self, fitted: Artifact) -> None:
        self.fitted, self.tables = fitted, fitted_tables(fitted.released)
        self.alone: Mapping[str, Released] = {one.columns[0]: one for one in self.tables if len(one.nodes) == 1}

    def interval(self, column: str, value: float) -> float:
        """Length of the interval that holds a value, in the column's own units."""
        found = self.fitted.resolved.column(column)
        if column not in self.alone or self.fitted.marginals is None or found.kind not in ("integer", "continuous"):
            return 0.0
        lower, upper = found.bounds
        (start,) = [one.start for one in self.fitted.codec.blocks if one.column == column and one.head == "numeric"]
        row = self.fitted.marginals.numeric.tolist().index(start)
        edges = np.asarray(self.fitted.marginals.edges[row], float)
        place = int(np.clip(np.searchsorted(edges, (value - lower) / (upper - lower), side="right"), 1, len(edges) - 1))
        return max(float(edges[place] - edges[place - 1]) * (upper - lower), 1.0 if found.kind == "integer" else 0.0)

    def within_cells(self, columns: tuple[str, ...], column: str) -> float:
        """Nothing: means per class are sums over rows, not over cells."""
        return 0.0

    def shrunk(self, column: str, value: object, rows: float) -> float:
        """Nothing: the count of a value is only where class sums, which say more, are counted from."""
        return 0.0

    def hidden(self, column: str, spread: float) -> float:
        """By how much the sum over a class of a column's values, or of one of its outcomes, may be off for what shrinkage hides.

        `spread`: standard deviation of a number. Its scores, of deviation 1, have weight `NUMERIC` in the sum; an outcome has 1.
        """
        noise = self.fitted.plan.parameters["noise"]
        if MOMENTS not in noise or self.fitted.marginals is None:
            return 0.0
        rates, blocks = np.asarray(self.fitted.marginals.rates, float), self.fitted.codec.blocks
        numeric = sum(block.head == "numeric" for block in blocks)
        own = np.asarray([rates[p] for b in blocks if b.head != "numeric" for p in range(b.start, b.start + b.size)])
        squared = NUMERIC**2 * (1.0 + SPREAD**2 * (1.0 - ABSOLUTE**2)) * numeric + float((own * (1.0 - own)).sum())
        length = ROOM * math.sqrt(squared + HIDDEN * (len(blocks) - numeric))
        length *= 1.0 if self.fitted.schema.unit is None else math.hypot(1.0, PRESENCE)
        number = self.fitted.schema.column(column).kind in ("integer", "continuous")
        return Z * float(noise[MOMENTS]) * length * (spread / NUMERIC if number else 1.0)
