"""Independent columns as a method: one-way marginals and nothing else. The floor that every other method must beat.

    column cells 1, 2     where to cut numeric columns
    one-way marginals     noisy counts of every column's outcomes, all in one answer

Columns keep their own shape; nothing connects them with each other or with the label.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Plan
from understudy.estimator import Estimator
from understudy.measure.cells import (
    Grouping,
    announce_cells,
    cell_map,
    cells_of,
    cut,
    interval_count,
    learned_columns,
    make_nodes,
    settle,
)
from understudy.methods.marginals.assemble import Conditional, assemble
from understudy.methods.marginals.generator import MarginalGenerator
from understudy.private import Curator
from understudy.questions import Clique, Counts
from understudy.questions.counts import deviation
from understudy.recipe import Announced, Opening, check_positive
from understudy.schema import Codec, Schema

ONE_WAY = "one-way marginals"


@dataclass(kw_only=True, eq=False, repr=False)
class Independent(Estimator):
    method: ClassVar[str] = "independent"

    cells_share: float = 0.2  # of the squared privacy loss: where to cut numeric columns
    marginals_share: float = 0.7

    def check_options(self) -> None:
        check_positive(cells_share=self.cells_share, marginals_share=self.marginals_share)

    def announce(self, schema: Schema) -> list[Announced]:
        columns = learned_columns(schema)
        if columns == 0:
            return []
        detail = f"outcomes of {columns} column{'s' if columns > 1 else ''}"
        counts = Announced(ONE_WAY, self.marginals_share, dpa.GaussianDpEvent, detail=detail)
        return [*announce_cells(schema, self.cells_share), counts]

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        nodes = make_nodes(codec)
        groups: list[Grouping] = []
        masses: list[np.ndarray] = []
        if nodes:
            sigma, max_rows = plan.parameters["noise"][ONE_WAY], codec.schema.max_rows_per_unit
            noise = deviation(sigma, len(nodes), max_rows)
            nodes = cut(curator, codec, nodes, plan, interval_count(float(counts.sum()), noise))
            cliques: list[Clique] = [(number + 1,) for number in range(len(nodes))]
            sizes = cells_of(nodes, codec.class_count)
            question = Counts.of_cliques(cell_map(nodes, None), sizes, cliques, sigma, max_rows)
            found = curator.ask(ONE_WAY, question).value
            masses = [settle(node, part, noise) for node, part in zip(nodes, found, strict=True)]
            groups = [Grouping(np.arange(node.outcomes), node.outcomes) for node in nodes]
        drawn = [Conditional(number + 1, (), mass) for number, mass in enumerate(masses)]
        network = assemble(nodes, groups, masses, drawn)
        return Opening(MarginalGenerator.of(network, codec), network)

    def advice(
        self, schema: Schema, settings: dict[str, Any], noise: Mapping[str, float], rows: int | None
    ) -> list[str]:
        return [
            "columns are drawn independently of each other and of the label: a floor to compare with, not a stand-in"
        ]
