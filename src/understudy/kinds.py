"""Kinds of CSV columns, found privately and paid for.

    noisy votes of cells  ->  kinds that stand out from the noise  ->  a draft that carries the price

The votes are one Gaussian answer (`questions.kinds`), calibrated to (epsilon, delta) and charged before a row is read. No
schema says yet what a column holds, so the table gets one in which every column is text. What the votes cost stands in
the schema that is drafted, and every plan made from it contains that charge.
"""

import os
import secrets
from collections.abc import Sequence

import dp_accounting as dpa

from understudy.account import Payer, account_of
from understudy.accounting import Budget, Charge, Ledger, Plan, noise_scale
from understudy.accounting.prior import KINDS
from understudy.errors import UsageError
from understudy.private import Curator, NoiseSource, PrivateTable, SecureNoise
from understudy.questions import ColumnKinds
from understudy.schema import Column, FoundKinds, PaidKinds, Schema, estimate_gaps, estimate_kinds
from understudy.schema.columns import text_column
from understudy.schema.draft import public_types
from understudy.schema.facts import file_format

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
    account: Payer | None = None,
    noise: NoiseSource | None = None,
) -> FoundKinds:
    """Kinds of the columns `names` (all but the unit) of a CSV file, for `draft(found=...)`.

    `ledger` names a file that must not exist yet: the charge is in it before a row is read, and stays whatever happens.
    `account` is the holder's, charged likewise; the draft names this vote, so that fits from it are not charged for it again.
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
    header = list(public_types(path))
    asked = tuple(name for name in (header if names is None else names) if name != unit)
    for name in (*asked, *([] if unit is None else [unit])):
        if name not in header:
            raise UsageError(f"{name!r} is not a column of {str(path)!r}")
    if not asked:
        raise UsageError("no column is left whose kind could be estimated")
    sigma = noise_scale(budget, lambda scale: [dpa.GaussianDpEvent(scale)])
    question = ColumnKinds(asked, sigma, max_rows)
    schema = text_schema(asked, unit, max_rows)
    table = PrivateTable(path, schema)
    plan = Plan(
        method=KINDS,
        budget=budget,
        unit="one row"
        if unit is None
        else f"all rows that share a value of column {unit!r}, at most {max_rows} row{'s' * (max_rows > 1)}",
        charges=(Charge(KINDS, question.event, f"{len(asked)} columns"),),
    )
    release, payer = secrets.token_hex(8), account_of(account)
    postings = () if payer is None else payer.book.postings_of(plan, unit, release=release)
    if payer is not None:
        payer.check(postings)  # refused, nothing is left behind
    try:
        with Ledger(
            plan, ledger
        ) as record:  # one that is there, or cannot be written, is found before anything is charged
            if payer is not None:
                payer.charge(KINDS, postings, plan.fingerprint())
            votes = Curator(table, schema, record, noise or SecureNoise()).ask(KINDS, question).value
    finally:
        table.close()
    paid = PaidKinds(sigma=sigma, epsilon=epsilon, delta=delta, columns=len(asked), unit=unit, release=release)
    return FoundKinds(
        kinds=estimate_kinds(votes, sigma, asked, max_rows),
        gaps=estimate_gaps(votes, sigma, asked, max_rows),
        paid=paid,
    )


def text_schema(names: Sequence[str], unit: str | None, max_rows: int) -> Schema:
    """The columns as text, and the unit."""
    columns = [text_column(name) for name in names]
    if unit is not None:
        columns.append(Column(name=unit, kind="identifier"))
    return Schema(columns=tuple(columns), unit=unit, max_rows_per_unit=max_rows)
