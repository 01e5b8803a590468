"""What a schema has cost before any fit: the kinds of its columns, if they were found privately.

The schema file records that vote as one Gaussian answer (`kinds: {sigma: ...}`). It has been given, so no calibration can
change its noise: every plan carries it as a fixed charge and leaves room for it, and every certificate checks that.
"""

from collections.abc import Mapping
from typing import Any

import dp_accounting as dpa

from understudy.accounting.plan import Charge, Plan

KINDS = "kinds of columns"


def charges(schema: Mapping[str, Any]) -> tuple[Charge, ...]:
    """The charges a schema document brings along."""
    paid = schema.get("kinds")
    if paid is None:
        return ()
    detail = f"{paid['columns']} columns, found when the schema was drafted"
    return (Charge(KINDS, dpa.GaussianDpEvent(float(paid["sigma"])), detail),)


def forgotten(schema: Mapping[str, Any], plan: Plan) -> list[str]:
    """One line for every charge of the schema that the plan leaves out."""
    announced = plan.announced()
    return [
        f"the schema's {charge.purpose} were paid for before the fit, and the plan leaves that out"
        for charge in charges(schema)
        if announced.get(charge.purpose, {}).get(charge.event, 0) < 1
    ]
