"""Kinds of CSV columns, found privately and paid for.

    noisy votes of cells  ->  kinds that stand out from the noise  ->  a draft that carries the price

The votes are one Gaussian answer (`private.kind_votes`), calibrated to (epsilon, delta) and charged before the file is
opened. What they cost stands in the schema, and every plan made from it contains that charge.
"""

import os
from collections.abc import Sequence

import dp_accounting as dpa

from understudy.accounting import Budget, Charge, Ledger, Plan, noise_scale
from understudy.accounting.prior import KINDS
from understudy.errors import UsageError
from understudy.private.kind_votes import KindVotes, ask_kinds
from understudy.private.noise import NoiseSource, SecureNoise
from understudy.schema import FoundKinds, PaidKinds, estimate_gaps, estimate_kinds
from understudy.schema.draft import column_types
from understudy.schema.tables import file_format

DELTA = 1e-6


def find_kinds(
    path: str | os.PathLike[str],
    epsilon: float,
    delta: float = DELTA,
    *,
    names: Sequence[str] | None = None,
    unit: str | None = None,
    max_rows: int = 1,
    ledger: str | os.PathLike[str] | None = None,
    noise: NoiseSource | None = None,
) -> FoundKinds:
    """Kinds of the columns `names` (all but the unit) of a CSV file, for `draft(found=...)`.

    `ledger` names a file that must not exist yet: the charge is in it before a row is read, and stays whatever happens.
    `noise` other than the operating system's is for tests.
    """
    budget = Budget(epsilon, delta)
    if file_format(path) != "csv":
        raise UsageError(
            f"{str(path)!r} states the types of its columns itself; kinds are estimated for CSV files only"
        )
    if not isinstance(max_rows, int) or max_rows < 1:
        raise UsageError(f"max_rows={max_rows} must be a whole number from 1")
    if unit is None and max_rows != 1:
        raise UsageError("max_rows is given without a unit column")
    header = list(column_types(path))
    asked = tuple(name for name in (header if names is None else names) if name != unit)
    for name in (*asked, *([] if unit is None else [unit])):
        if name not in header:
            raise UsageError(f"{name!r} is not a column of {str(path)!r}")
    if not asked:
        raise UsageError("no column is left whose kind could be estimated")
    sigma = noise_scale(budget, lambda scale: [dpa.GaussianDpEvent(scale)])
    question = KindVotes(sigma, asked, unit, max_rows)
    plan = Plan(
        method=KINDS,
        budget=budget,
        unit="one row" if unit is None else f"all rows that share a value of column {unit!r}, at most {max_rows} rows",
        charges=(Charge(KINDS, question.event, f"{len(asked)} columns"),),
    )
    with Ledger(plan, ledger) as record:
        votes = ask_kinds(path, question, record, noise or SecureNoise()).value
    paid = PaidKinds(sigma=sigma, epsilon=epsilon, delta=delta, columns=len(asked), unit=unit)
    return FoundKinds(
        kinds=estimate_kinds(votes, sigma, asked, max_rows),
        gaps=estimate_gaps(votes, sigma, asked, max_rows),
        paid=paid,
    )
