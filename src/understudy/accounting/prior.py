"""What a schema has cost before any fit: the kinds of its columns, if they were found privately.

The schema file records that vote as one Gaussian answer (`kinds: {sigma: ...}`). It has been given, so no calibration can
change its noise: every plan carries it as a fixed charge and leaves room for it, and every certificate checks that.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import dp_accounting as dpa

from understudy.accounting.plan import Charge

KINDS = "kinds of columns"


def charges(schema: Mapping[str, Any]) -> tuple[Charge, ...]:
    """The charges a schema document brings along."""
    paid = schema.get("kinds")
    if paid is None:
        return ()
    detail = f"{paid['columns']} columns, found when the schema was drafted"
    return (Charge(KINDS, dpa.GaussianDpEvent(float(paid["sigma"])), detail),)


def forgotten(schema: Mapping[str, Any], announced: Iterable[Charge], charged: Iterable[Charge]) -> list[str]:
    """One line for every charge of the schema that a plan or a ledger leaves out."""
    return [
        f"the schema's {charge.purpose} were paid for before the fit, and the {place} leaves that out"
        for place, found in (("plan", list(announced)), ("ledger", list(charged)))
        for charge in charges(schema)
        if not any((one.purpose, one.event) == (charge.purpose, charge.event) for one in found)
    ]
