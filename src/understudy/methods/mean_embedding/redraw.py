"""Models that could have been: what the mean embedding would have fitted, had the noise fallen otherwise.

Its sums are asked for one after the other, each with radii and cells that follow from those before, and shrunk. So a copy goes
through all of it again, with rows of the fitted model in the place of the people (`understudy.methods.again`).

**Chance.** Copies of r rows have the sampling variance V; that of D*, V r / N, shows between copies as well. Both are taken off
when answers are combined: `chance(r)` = 1 + r / N (`understudy.infer.rules`).

**Hidden effects.** What noise hides the method takes to be alike in all classes, and so do all copies. Answers by class are
therefore widened by 1.96 deviations of the noise on a class sum (`MomentResolution.hidden`), as if nothing had been shrunk.
"""

import math
from collections.abc import Mapping

import numpy as np

from understudy.artifact import Model as Artifact
from understudy.errors import UsageError
from understudy.measure.class_moments import HIDDEN_NORM, MOMENTS, NUMERIC, PRESENCE, ROOM, SPREAD
from understudy.methods.again import FittedAgain
from understudy.methods.mean_embedding.generator import MeanEmbeddingGenerator
from understudy.methods.mean_embedding.method import MeanEmbedding
from understudy.released import Released, fitted_tables

LEAST = 10_000  # rows that a copy is fitted to, so that their chance adds little
Z = 1.96
ABSOLUTE = math.sqrt(2.0 / math.pi)  # E|z|


class Redrawn(FittedAgain):
    """Draws copies of one fitted model."""

    def __init__(self, fitted: Artifact) -> None:
        if not isinstance(fitted.generator, MeanEmbeddingGenerator):
            raise UsageError("copies: of pictures none can be drawn; their sums are fitted by another generator")
        if not fitted_tables(fitted.released):
            raise UsageError("copies: this model was saved without its released counts; fit it again")
        super().__init__(fitted, MeanEmbedding(rounds=int(fitted.plan.parameters["settings"]["rounds"])), LEAST)
        self.resolution = MomentResolution(fitted)

    def chance(self, rows: int) -> float:
        """How much of the sampling variance of so many rows shows between copies."""
        return 1.0 + rows / self.rows


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

    def merged(self, columns: tuple[str, ...], condition: object) -> float:
        """None: scores of numbers are added up by class, not cells."""
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
        length = ROOM * math.sqrt(squared + HIDDEN_NORM * (len(blocks) - numeric))
        length *= 1.0 if self.fitted.schema.unit is None else math.hypot(1.0, PRESENCE)
        number = self.fitted.schema.column(column).kind in ("integer", "continuous")
        return Z * float(noise[MOMENTS]) * length * (spread / NUMERIC if number else 1.0)
