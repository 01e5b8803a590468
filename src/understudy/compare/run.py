"""A comparison from its tables to its result: refusals, one charge for all fits, the fits, and the choice if there is one."""

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dp_accounting as dpa

from understudy.account import Account, Payer, Receipt, account_of
from understudy.accounting import Budget
from understudy.accounting import epsilon as price
from understudy.accounting.book import Posting
from understudy.adviser.advice import advise
from understudy.adviser.experience import LABEL
from understudy.artifact import Model, load
from understudy.begin import saved_already
from understudy.compare.candidates import candidates, split, weights_of
from understudy.compare.choice import CHOICE, choice_event, choose
from understudy.compare.folder import (
    CHARGED,
    CHOICE_LEDGER,
    RESULT,
    Comparison,
    Entry,
    begin,
    check_same,
    check_table,
    finished,
    forget_table,
    made_before,
    remember,
)
from understudy.errors import UsageError
from understudy.estimator import Estimator
from understudy.files import alone, read_json, write_json
from understudy.methods.registry import METHODS
from understudy.plan import describe_unit
from understudy.private import NoiseSource, PrivateTable, SecureNoise
from understudy.private.checkpoint import Checkpoint
from understudy.schema import Schema


def compare(
    data: object,
    schema: Schema,
    *,
    methods: Sequence[str],
    epsilon: float,
    delta: float = 1e-5,
    vary: Mapping[str, Sequence[Any]] | None = None,
    out: str | Path,
    real: object = None,
    seed: int | None = None,
    progress: Callable[[dict[str, Any]], None] | None = None,
    account: Payer | None = None,
    noise: NoiseSource | None = None,
    focus: str | None = None,
    workload: str | Path | Mapping[str, Any] | None = None,
) -> Comparison:
    """Fit every method and, with held-out rows in `real`, choose one. Finished models in `out` are kept, not fitted again.

    `vary` names options and their values, `{"teachers": [50, 200]}`: every method is then fitted with every combination.
    `focus` and `workload` are for those of the methods that have a workload; there must be one.
    `account` is the holder's: charged for all fits at once before the first, and for the choice before it is made.
    `noise` is the choice's; other than the operating system's it voids the choice, and the result says so.
    """
    budget = Budget(epsilon, delta)
    if real is not None and budget.pure:
        raise UsageError("real: a choice is priced with a delta; give one, e.g. 1e-5, or publish all models")
    check_tables(data, real, schema)
    folder = Path(out)
    with alone(folder):
        each = candidates(methods, vary or {})
        estimators, together = split(each, schema, budget, weights_of(each, focus=focus, workload=workload))
        named = {one.name: estimator for one, estimator in zip(each, estimators, strict=True)}
        record = check_same(folder, named, schema)
        check_table(folder, data, schema, named)
        payer = account_of(account)
        entries = tuple(entry(name, estimator, schema, budget, folder) for name, estimator in named.items())
        choice = [] if real is None or made_before(folder) else [choice_event(budget)]
        bill = None if payer is None else bill_of(payer, named, schema, folder, choice)
        begin(folder, record, data, schema)
        receipt = None if payer is None or bill is None else charge_fits(payer, bill, named, schema, folder)
        models = [_fit(name, one, data, schema, folder, seed, progress, receipt) for name, one in named.items()]
        forget_table(folder)
        earlier = made_before(folder)
        if earlier is not None:
            return earlier  # a second choice would be a second release
        chosen = choice_epsilon = both = None
        source = noise or SecureNoise()
        if real is not None:
            number, charged = choose(models, real, schema, budget, source, folder / CHOICE_LEDGER, payer)
            chosen, choice_epsilon = each[number].name, price([charged], delta)
            events = [charge.event for model in models for charge in model.plan.charges]
            both = price([*events, charged], delta)
        found = Comparison(
            epsilon=together,
            delta=delta,
            unit=describe_unit(schema),
            entries=entries,
            chosen=chosen,
            choice_epsilon=choice_epsilon,
            both_epsilon=both,
            void_reason=source.void_reason if real is not None else "",
        )
        write_json(folder / RESULT, found.to_dict())
        return found


def check_tables(data: object, real: object, schema: Schema) -> None:
    """What can be known of the tables without a row of theirs is looked at before anything is written or charged."""
    PrivateTable(data, schema)
    if real is None:
        return
    if schema.label_kind not in ("binary", "multiclass"):
        raise UsageError(
            "real: a choice is made by predicting a class label, and the schema names none; publish all models"
        )
    if same(data, real):
        raise UsageError(
            "real: this is the table that is learned from; a choice is made on held-out rows of other people, who pay for it"
        )
    try:
        PrivateTable(real, schema)
    except UsageError as error:
        raise UsageError(f"real: {error}") from None


def same(data: object, real: object) -> bool:
    """Whether two tables are one frame or one file. Whether people are in both is theirs to know."""
    try:
        return data is real or os.path.samefile(data, real)  # type: ignore[arg-type]
    except (OSError, TypeError, ValueError):  # frames, addresses
        return False


def entry(name: str, estimator: Estimator, schema: Schema, budget: Budget, folder: Path) -> Entry:
    """One candidate of a comparison: its plan, and what it is expected to keep (not known of options that are varied)."""

    def kept(epsilon: float) -> float | None:
        if budget.pure or name not in METHODS:
            return None
        known = advise(schema, epsilon=epsilon, delta=budget.delta, use=LABEL).outlook
        return next((one.kept for one in known if one.method == name), None)

    return Entry(
        method=name,
        epsilon=estimator.epsilon,
        folder=str(folder / name),
        kept=kept(estimator.epsilon),
        kept_alone=kept(budget.epsilon),
    )


@dataclass(frozen=True)
class Bill:
    """What the holder's account is charged for all fits, and by which token."""

    token: str
    postings: tuple[Posting, ...]


def bill_of(
    payer: Account, named: Mapping[str, Estimator], schema: Schema, folder: Path, choice: Sequence[dpa.DpEvent]
) -> Bill:
    """UsageError if the account does not cover all fits and the choice: fits alone would be paid for half of what was asked."""
    path = folder / CHARGED
    token = str(read_json(path)["token"]) if path.exists() else secrets.token_hex(16)
    postings = tuple(posting for one in named.values() for posting in payer.postings(one.plan(schema), schema))
    open_ = () if payer.refresh().receipt(token) else postings
    payer.check([*open_, *(Posting(CHOICE, event) for event in choice)])
    return Bill(token, postings)


def charge_fits(payer: Account, bill: Bill, named: Mapping[str, Estimator], schema: Schema, folder: Path) -> Receipt:
    """One entry for all fits. Its token is in the folder before it is charged: run again, nothing is charged twice."""
    write_json(folder / CHARGED, {"token": bill.token})
    return payer.charge(f"compare {', '.join(named)}", bill.postings, schema.fingerprint(), bill.token)


def _fit(
    name: str,
    estimator: Estimator,
    data: object,
    schema: Schema,
    folder: Path,
    seed: int | None,
    progress: Any,
    receipt: Receipt | None = None,
) -> Model:
    target = folder / name
    checkpoint = folder / f"{name}.checkpoint"
    if (target / "model.json").is_file():  # by an earlier run, which has paid for it
        model = finished(load(target), estimator.plan(schema), schema, target)
        if saved_already(checkpoint, target):  # and was killed before its checkpoint went, which holds what is private
            Checkpoint(checkpoint).remove()
        remember(folder, name)
        return model
    resume = Checkpoint(checkpoint).exists()
    spent = Checkpoint(checkpoint).spent(estimator.delta)
    if spent and not resume:
        raise UsageError(
            f"out: the fit of {name} in {str(folder)!r} ended where it cannot be resumed and had charged epsilon "
            f"{spent:.4g} at delta {estimator.delta:g}; fitting it again would exceed the total of this comparison. Keep the "
            "folder as the record, and begin another under another name, whose cost comes on top"
        )
    estimator.seed = seed
    model = estimator.fit(
        data, schema, progress=progress, checkpoint=checkpoint, resume=resume, out=target, account=receipt
    ).fitted
    remember(folder, name)
    return model
