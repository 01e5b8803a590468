"""Independent columns as a method: one-way marginals and nothing else. The floor that every other method must beat.

    column cells 1, 2     where to cut numeric columns
    one-way marginals     noisy counts of every column's outcomes, all in one answer

Columns keep their own shape; nothing connects them with each other or with the label.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from understudy.accounting import Plan
from understudy.estimator import Estimator
from understudy.measure.cells import Grouping
from understudy.measure.decimals import found_decimals
from understudy.measure.described import outcome_cells
from understudy.measure.grouping import positive
from understudy.measure.one_way import announce_one_way, ask_one_way
from understudy.methods.marginals.assemble import Conditional, assemble
from understudy.methods.marginals.generator import MarginalGenerator
from understudy.recipe import Announced, Curator, Opening, check_positive
from understudy.released import Released
from understudy.schema import Codec, Schema

ONE_WAY = "one-way marginals"


@dataclass(kw_only=True, eq=False, repr=False)
class Independent(Estimator):
    """Options of the method without dependence."""

    method: ClassVar[str] = "independent"
    redrawn: ClassVar[str] = "understudy.methods.marginals.redraw:RedrawnColumns"
    conditioned: ClassVar[str] = "understudy.methods.marginals.conditioned:Conditioned"
    by_person: ClassVar[bool] = True

    cells_share: float = 0.2  # of the squared privacy loss: where to cut numeric columns
    marginals_share: float = 0.7

    def check_options(self) -> None:
        check_positive(cells_share=self.cells_share, marginals_share=self.marginals_share)

    def announce(self, schema: Schema) -> list[Announced]:
        return announce_one_way(schema, self.cells_share, self.marginals_share, ONE_WAY)

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        nodes, _, found, masses, noise = ask_one_way(curator, codec, float(counts.sum()), plan, ONE_WAY, share=True)
        groups = [Grouping(np.arange(node.outcomes), node.outcomes) for node in nodes]
        weights = (positive(node, mass) for node, mass in zip(nodes, masses, strict=True))
        drawn = [Conditional(number, (), own) for number, own in enumerate(weights, 1)]
        network = assemble(nodes, groups, masses, drawn)
        names = ["", *(node.column for node in nodes)]
        kept = tuple(
            Released.of(
                (number,),
                names,
                part,
                noise,
                cells=(outcome_cells(node, codec.schema.column(node.column)),),
                people=codec.schema.unit is not None,
            )
            for number, (node, part) in enumerate(zip(nodes, found, strict=True), 1)
        )
        found_grids = found_decimals(nodes)
        return Opening(MarginalGenerator.of(network, codec), network, released=kept, decimals=found_grids)

    def advice(
        self, schema: Schema, settings: dict[str, Any], noise: Mapping[str, float], rows: int | None
    ) -> list[str]:
        return [
            "columns are drawn independently of each other and of the label: a floor to compare with, not a stand-in"
        ]
