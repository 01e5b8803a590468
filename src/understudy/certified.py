"""What a fit leaves: weights, schema, plan, ledger, and the certificate that follows from them. No rows, no teachers.

    certificate = f(plan, ledger, schema, hashes of the files)

so that whoever holds these can state it again: it is computed when it is asked for and not kept. What can be done with a fitted
generator is in `artifact.py`, how it is kept as files in `folder.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from understudy import estimates
from understudy.accounting import Certificate, Plan, build_certificate
from understudy.conversation import Generator
from understudy.measure.marginals import Marginals
from understudy.methods.registry import method
from understudy.released import Released
from understudy.schema import Codec, Schema, codec_of
from understudy.versions import versions


@dataclass(frozen=True, repr=False)
class Certified:
    """A fitted generator with its plan and ledger, and what is guaranteed about it."""

    method: str
    generator: Generator
    weights: Mapping[str, np.ndarray]
    schema: Schema  # as the user gave it
    resolved: Schema  # with the estimates that were paid for
    class_counts: tuple[float, ...]  # released, not exact
    plan: Plan
    ledger: Mapping[str, Any]  # what was charged, as the ledger wrote it
    void_reason: str = ""
    conditional: bool = True
    marginals: Marginals | None = None
    released: tuple[Released, ...] = ()  # tables of counts with known noise: a product, and what copies are drawn from
    history: Mapping[str, list[float]] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)  # what was released about the run itself, with its words
    account: Mapping[str, Any] | None = None  # by which entry of the holder's account it was charged
    hashes: Mapping[str, str] = field(default_factory=dict)

    @property
    def codec(self) -> Codec:
        """Between values and arrays, for the resolved schema."""
        return codec_of(self.resolved, self.conditional)

    @property
    def rows(self) -> int:
        """How many rows the stand-in has by default: the public count, or the noisy one that was paid for."""
        return self.schema.rows if self.schema.rows is not None else max(round(sum(self.class_counts)), 1)

    @property
    def people(self) -> bool:
        """Whether its rows stand for people: the rows of a person shared a weight of 1 in every answer."""
        return self.schema.unit is not None and bool(method(self.method).by_person)

    @property
    def certificate(self) -> Certificate:
        """What was promised, what was charged, and whether the guarantee holds."""
        return build_certificate(
            plan=self.plan,
            ledger=self.ledger,
            schema=self.resolved.to_dict(),
            schema_fingerprint=self.resolved.fingerprint(),
            hashes=self.hashes,
            versions=versions(),
            void_reason=self.void_reason,
            notes=self.remarks,
            account=self.account,
        )

    @property
    def remarks(self) -> list[str]:
        """What a fit says at its end, from released values: what was estimated, and what was released about the run itself."""
        said = [self.report["statement"]] if self.report else []
        return [*estimates.found(self.schema, self.resolved, self.released), *said]
