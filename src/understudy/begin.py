"""Before the first question of a fit: what can be refused is refused, the account is charged, and the ledger is opened.

A fit that was interrupted is found again here. It goes on only as what it was: the same plan, schema, file, versions and device.
"""

import platform
import secrets
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import jax

from understudy import __version__
from understudy.account import Account, Payer, Receipt, account_of
from understudy.accounting import Ledger, Plan
from understudy.accounting.book import Posting
from understudy.artifact import load
from understudy.engine import Engine
from understudy.errors import UsageError
from understudy.folder import is_model
from understudy.private import PrivateTable, same_table
from understudy.private.checkpoint import Checkpoint
from understudy.recipe import Recipe
from understudy.schema import Schema
from understudy.teller import Teller


class Begun(NamedTuple):
    """A fit that may ask: what it was charged by, and where it writes down what it spends."""

    seed: int  # of public randomness
    void_reason: str
    receipt: Receipt | None
    ledger: Ledger
    table: PrivateTable | None  # None where a checkpoint in its rounds has all that is still needed of the rows
    engine: Engine | None  # what adds up: the one that was named, or the usual one where that pays


def begun(
    recipe: Recipe,
    data: object,
    schema: Schema,
    plan: Plan,
    store: Checkpoint | None,
    resume: bool,
    account: Payer | None,
    void_reason: str,
    teller: Teller,
    engine: Engine,
) -> Begun:
    """All that happens before the first question: whatever can be refused is refused, then the account is charged, and the
    ledger is opened last. A damaged file, too: its lines are counted where the engine depends on them.
    """
    payer = account_of(account)
    record = resumable(store, plan, schema, resume)
    if record is not None and store is not None and same_table.differs(data, schema, record["table"]):
        raise UsageError(
            f"the checkpoint in {str(store.folder)!r} was begun with another table; resume=True goes on only with the same file"
        )
    receipt = account if isinstance(account, Receipt) else earlier_receipt(record)
    postings = () if payer is None else payer.postings(plan, schema)
    if payer is not None and receipt is None:
        payer.check(postings)
    table: PrivateTable | None = None
    if record is None or not (store and store.in_rounds()):
        teller.tell("read")
        table = PrivateTable(data, schema)
    paying = None if engine.by_default and not (table is not None and table._pays) else engine
    if record is not None:
        assert store is not None
        receipt = charged_again(record, receipt, payer, postings, plan, store)
        ledger = Ledger.reopen(plan, store.ledger_path, must_contain=store.head())
        return Begun(record["seed"], record.get("void_reason") or void_reason, receipt, ledger, table, paying)
    seed = secrets.randbits(32) if recipe.seed is None else recipe.seed
    started: dict[str, Any] = {"seed": seed, "void_reason": void_reason}
    if store is not None:
        started["table"] = same_table.seal(data, schema)
        store.create(plan.budget.delta)
    if payer is not None:
        receipt = pay(payer, postings, plan, store)
    if store is not None:
        started["account"] = None if receipt is None else receipt.to_dict()
        store.begin(started | fingerprint(plan, schema))
    return Begun(seed, void_reason, receipt, Ledger(plan, store.ledger_path if store else None), table, paying)


def charged_again(
    record: dict[str, Any],
    receipt: Receipt | None,
    payer: Account | None,
    postings: Sequence[Posting],
    plan: Plan,
    store: Checkpoint,
) -> Receipt | None:
    """Of a fit that is resumed: the entry it was charged by, or a new one if it was begun without an account."""
    if payer is None:
        return receipt
    token = "" if receipt is None else receipt.token
    receipt = payer.charge(f"fit {plan.method}", postings, plan.fingerprint(), token)
    store.begin(record | {"account": receipt.to_dict()})
    return receipt


def pay(payer: Account, postings: Sequence[Posting], plan: Plan, store: Checkpoint | None) -> Receipt:
    """Charge the account; refused, the fit leaves nothing behind."""
    try:
        return payer.charge(f"fit {plan.method}", postings, plan.fingerprint())
    except BaseException:
        if store is not None:
            store.remove()
        raise


def earlier_receipt(record: dict[str, Any] | None) -> Receipt | None:
    """Of a fit that is resumed: by which entry it was charged when it began."""
    found = (record or {}).get("account")
    return None if found is None else Receipt.from_dict(found)


def fingerprint(plan: Plan, schema: Schema) -> dict[str, Any]:
    """What must be the same on resume: another version or device may round otherwise and repeat a chunk with other answers."""
    device = jax.devices()[0]
    return {
        "plan": plan.to_dict(),
        "schema": schema.fingerprint(),
        "version of understudy": __version__,
        "version of JAX": jax.__version__,
        "version of jaxlib": version("jaxlib"),
        "device": f"{device.platform} {device.device_kind} {platform.machine()}",
    }


def resumable(store: Checkpoint | None, plan: Plan, schema: Schema, resume: bool) -> dict[str, Any] | None:
    """The record of an interrupted fit, if there is one and it is the same fit."""
    if store is None:
        if resume:
            raise UsageError("resume=True needs the checkpoint folder of the interrupted fit")
        return None
    if not store.exists():
        store.refuse_spent(plan.budget.delta)
        if resume:
            raise UsageError(f"there is no checkpoint in {str(store.folder)!r}; fit without resume=True")
        return None
    if not resume:
        spent = store.spent(plan.budget.delta)
        raise UsageError(
            f"{str(store.folder)!r} holds an unfinished fit that has spent budget, epsilon {spent:.4g}; go on with resume=True, "
            "or move the folder away to give it up (its ledger.jsonl is the record of what stays spent; another fit costs its "
            "own epsilon on top)"
        )
    record, wanted = store.record(), fingerprint(plan, schema)
    other = [name for name, value in wanted.items() if record.get(name) != value]
    if other:
        raise UsageError(
            f"the checkpoint in {str(store.folder)!r} was written under another {', '.join(other)}; resume=True goes on "
            "only with what it was begun with"
        )
    return record


def saved_already(checkpoint: str | Path, out: str | Path) -> bool:
    """Whether the model at `out` is that of the fit in this checkpoint, which was killed before the checkpoint went."""
    store = Checkpoint(checkpoint)
    if not (is_model(Path(out)) and store.exists()):
        return False
    try:
        model = load(out)
        with Ledger.reopen(model.plan, store.ledger_path) as ledger:
            return bool(ledger.to_dict()["entries"] == model.ledger["entries"])
    except UsageError:
        return False


def left_behind(checkpoint: str | Path, delta: float) -> tuple[bool, float]:
    """Of a fit that was stopped: whether it can be resumed, and the epsilon that its ledger holds."""
    store = Checkpoint(checkpoint)
    return store.exists(), store.spent(delta)
