"""What finding the kinds has cost stands in plan, ledger and certificate of every fit; a plan that forgets it is caught."""

from dataclasses import replace

import dp_accounting as dpa
import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy import plan as planning
from understudy.accounting import Budget, epsilon, holds, prior, verify
from understudy.accounting.plan import Charge
from understudy.errors import UsageError
from understudy.schema import Column, PaidKinds, Schema

from ..conformance.tables import GENERATORS, mixed_schema

COLUMNS = (
    Column(name="x", kind="continuous", lower=0, upper=1),
    Column(name="town", kind="categorical", estimate="town"),
    Column(name="ill", kind="boolean"),
)
PAID = PaidKinds(sigma=12.0, epsilon=0.3, delta=1e-6, columns=3)
SCHEMA = Schema(columns=COLUMNS, label="ill", kinds=PAID)
FREE = replace(SCHEMA, kinds=None)
ROWS = pd.DataFrame({"x": np.linspace(0, 1, 200), "town": ["a", "b"] * 100, "ill": [True, False, False, True] * 50})
EVENT = dpa.GaussianDpEvent(12.0)


def fitted() -> us.Independent:
    return us.Independent(epsilon=1.0, seed=0).fit(ROWS, SCHEMA)


@pytest.mark.parametrize("method", GENERATORS)
def test_every_method_plans_with_the_price_as_it_is(method):
    schema = replace(mixed_schema(), kinds=replace(PAID, unit=mixed_schema().unit))
    plan = GENERATORS[method].plan(schema)
    assert Charge(prior.KINDS, EVENT, plan.charges[0].detail) == plan.charges[0]
    if plan.valid:
        assert 0.99 * plan.budget.epsilon <= plan.epsilon <= plan.budget.epsilon


def test_the_price_is_on_ledger_and_certificate(tmp_path):
    model = fitted()
    certificate = model.certificate
    assert certificate.valid and certificate.epsilon == 1.0
    assert prior.KINDS in [charge["purpose"] for charge in certificate.content["charges"]]
    assert {"purpose": prior.KINDS, "event": {"type": "gaussian", "noise_multiplier": 12.0}} in [
        *certificate.content["released"]
    ]
    assert 0.99 <= certificate.content["epsilon_spent"] <= 1.0
    assert prior.KINDS in certificate.text()
    model.save(tmp_path / "model")
    assert holds(verify(tmp_path / "model"))
    assert us.load(tmp_path / "model").schema == SCHEMA


def test_more_noise_makes_room_for_it():
    plans = [us.Independent(epsilon=1.0).plan(schema) for schema in (FREE, SCHEMA)]
    first, second = (plan.parameters["noise"]["class histogram"] for plan in plans)
    assert second > first
    beside = epsilon([*plans[0].events, EVENT], 1e-5)
    assert beside > 1.0, "a plan without the price, and the price beside it, exceed the budget"


def test_a_price_above_the_budget_is_refused():
    with pytest.raises(UsageError, match=r"kinds .* cost epsilon .*raise epsilon"):
        us.Independent(epsilon=0.2).plan(SCHEMA)
    assert planning.already_paid(FREE, Budget(0.2, 1e-5)) == ()


def test_a_plan_that_forgets_the_price_is_void(monkeypatch, tmp_path):
    """The mutant: planning that does not look at what the schema has cost."""
    monkeypatch.setattr(planning, "already_paid", lambda schema, budget: ())
    monkeypatch.setattr("understudy.fit.already_paid", lambda schema, budget: ())
    model = fitted()
    assert not model.certificate.valid
    assert any("the plan leaves that out" in reason for reason in model.certificate.void_reasons)
    model.save(tmp_path / "model")
    assert not holds(verify(tmp_path / "model"))


def test_a_ledger_that_forgets_the_price_is_void(monkeypatch):
    monkeypatch.setattr("understudy.fit.already_paid", lambda schema, budget: ())
    assert any("the ledger leaves that out" in reason for reason in fitted().certificate.void_reasons)


def test_an_interrupted_fit_enters_the_price_once(tmp_path):
    class Stop(Exception):
        pass

    def stop(event):
        if event["stage"] == "rounds":
            raise Stop

    quick = {"votes_share": 0.1, "rounds": 4, "student_steps": 1, "generator_steps": 1, "teacher_steps": 1, "seed": 0}
    with pytest.raises(Stop):
        us.PateGan(**quick).fit(ROWS, SCHEMA, progress=stop, checkpoint=tmp_path / "c")
    model = us.PateGan(**quick).fit(ROWS, SCHEMA, checkpoint=tmp_path / "c", resume=True)
    entries = [entry["purpose"] for entry in model.fitted.ledger["entries"]]
    assert entries.count(prior.KINDS) == 1 and model.certificate.valid
