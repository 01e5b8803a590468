"""G-PATE with the data-dependent price of its paper, for research. The guarantee is void.

The settings are those of `g-pate-as-published`. The noise is given (`sigma_test`, `answer_units`), and answers are given until
the data-dependent epsilon of the votes reaches `epsilon`, at most `rounds` rounds. That number depends on private votes, and so
does the moment at which answers stop: see `private/mechanisms/published_gradients.py` and docs/g-pate.md.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import dp_accounting as dpa
import numpy as np

from understudy.accounting import Charge, Plan
from understudy.errors import UsageError
from understudy.methods.g_pate.method import DIRECTIONS, GPate
from understudy.methods.g_pate.presets import PUBLISHED
from understudy.methods.preset import preset
from understudy.private.mechanisms.published_gradients import PublishedGradients
from understudy.private.mechanisms.teacher_gradients import TeacherGradients
from understudy.recipe import Announced, Curator, Opening
from understudy.schema import Codec, Schema


@dataclass(kw_only=True, eq=False, repr=False)
class DataDependent(GPate):
    """A class and no preset: it has another mechanism, and its answers have no valid price."""

    words: ClassVar[Mapping[str, str]] = {
        "epsilon": "the data-dependent epsilon at which answers stop; no guarantee",
        "rounds": "rounds after which answers end in any case",
        "sigma_test": "noise of the consensus test, in votes",
        "answer_units": "sets the noise of an answer: that of a price of so many tests of consensus",
        "expected": "share of a round's questions that is answered, at most",
        "directions_share": "without effect: directions have no valid price",
        "report_share": "must be 0: a report is for runs with a guarantee",
    }

    @property
    def void_reason(self) -> str:
        return "data-dependent price: it decides when to stop and is itself private; the guarantee is void"

    def check_options(self) -> None:
        super().check_options()
        if self.sigma_test is None or self.rounds is None:
            raise UsageError("g-pate-data-dependent needs sigma_test (the noise) and rounds (the most it may run)")
        if self.report_share:
            raise UsageError("report_share is for runs with a guarantee: use g-pate or g-pate-as-published")

    def announce(self, schema: Schema) -> list[Announced]:
        return [one for one in super().announce(schema) if one.purpose != DIRECTIONS]

    def unpriced(self) -> tuple[Charge, ...]:
        return (Charge(DIRECTIONS, dpa.SelfComposedDpEvent(dpa.NonPrivateDpEvent(), self.rounds), "no valid price"),)

    def advice(
        self, schema: Schema, settings: dict[str, Any], noise: Mapping[str, float], rows: int | None
    ) -> list[str]:
        return ["stops by a data-dependent epsilon, which is itself private: for research, never to be released"]

    def begin(self, curator: Curator, codec: Codec, counts: np.ndarray, plan: Plan) -> Opening:
        opening = super().begin(curator, codec, counts, plan)
        assert isinstance(opening.mechanism, TeacherGradients)
        return opening._replace(mechanism=PublishedGradients(opening.mechanism, self.epsilon, self.delta))

    def _unit(self, plan: Plan, touched: int) -> float:
        assert self.sigma_test is not None
        return self.sigma_test / math.sqrt(touched)


GPateDataDependent = preset(
    DataDependent,
    "GPateDataDependent",
    "g-pate-data-dependent",
    __name__,
    "The paper's figures, at most 2,000 rounds, stopped by the data-dependent epsilon. The guarantee is void.",
    **PUBLISHED | {"rounds": 2000},
)
