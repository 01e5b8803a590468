"""Options, plan and opening: one question, asked once."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import dp_accounting as dpa

from toy.generator import ToyGenerator
from understudy.accounting import Plan
from understudy.estimator import Estimator
from understudy.private import Curator
from understudy.questions import Sums
from understudy.questions.row_maps import Places
from understudy.recipe import Announced, Opening
from understudy.schema import Codec, Schema

MEANS = "class means"


@dataclass(kw_only=True, eq=False, repr=False)
class Toy(Estimator):
    method: ClassVar[str] = "toy"

    means_share: float = 0.9

    def announce(self, schema: Schema) -> list[Announced]:
        return [Announced(MEANS, self.means_share, dpa.GaussianDpEvent)]

    def begin(self, curator: Curator, codec: Codec, counts: Any, plan: Plan) -> Opening:
        radius = math.sqrt(max(codec.width, 1))
        question = Sums.by_class(Places() / radius, codec.class_count, plan.parameters["noise"][MEANS])
        sums = curator.ask(MEANS, question).value
        return Opening(ToyGenerator(codec.class_count, codec.width), radius * sums / counts[:, None])
