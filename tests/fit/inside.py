"""A fit up to its first round, without compiling anything: for tests that look at what was asked and how it is laid out."""

from types import SimpleNamespace

from understudy.accounting import Ledger
from understudy.fit import open_conversation
from understudy.private import Curator, PrivateTable, SecureNoise
from understudy.teller import Teller


def opened(estimator, data, schema, noise=None):
    """Plan, ledger, released class counts, resolved schema, opening and the conversation about to start."""
    noise = noise or SecureNoise()
    plan = estimator.plan(schema)
    ledger = Ledger(plan)
    curator = Curator(PrivateTable(data, schema), schema, ledger, noise)
    resolved, counts, opening = open_conversation(estimator, curator, schema, plan, Teller(None, plan))
    conversation = None
    if opening.mechanism is not None:
        conversation = curator.converse(opening.purpose, opening.mechanism).value
    return SimpleNamespace(
        plan=plan, ledger=ledger, resolved=resolved, counts=counts, opening=opening, conversation=conversation
    )
