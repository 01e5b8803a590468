"""Events as JSON; noise solved from budgets."""

import json
import math
import time

import dp_accounting as dpa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.accounting import (
    Budget,
    Charge,
    EpsilonDeltaDpEvent,
    Plan,
    epsilon,
    events,
    noise_scale,
)
from understudy.errors import UsageError

G, L = dpa.GaussianDpEvent, dpa.LaplaceDpEvent

EVENTS = [
    G(3.5),
    L(4.0),
    EpsilonDeltaDpEvent(0.0, 1e-6),
    dpa.NoOpDpEvent(),
    dpa.NonPrivateDpEvent(),
    dpa.PoissonSampledDpEvent(0.01, G(1.1)),
    dpa.SelfComposedDpEvent(G(9.0), 400),
    dpa.ComposedDpEvent([G(5.0), dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(0.5, G(3.0)), 7)]),
]


@pytest.mark.parametrize("event", EVENTS, ids=str)
def test_events_survive_json(event):
    assert events.from_json(json.loads(json.dumps(events.to_json(event)))) == event
    assert events.describe(event)


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        [],
        {},
        {"type": "gaussian"},
        {"type": "gaussian", "noise_multiplier": "3"},
        {"type": "gaussian", "noise_multiplier": -3},
        {"type": "gaussian", "noise_multiplier": math.nan},
        {"type": "gaussian", "noise_multiplier": True},
        {"type": "os.system", "noise_multiplier": 1},
        {"type": "repeated", "count": 1.5, "event": {"type": "nothing"}},
        {"type": "repeated", "count": "x", "event": {"type": "nothing"}},
        {"type": "all of", "events": 3},
        {"type": "poisson sample", "sampling_probability": 2, "event": {"type": "gaussian", "noise_multiplier": 1}},
    ],
    ids=str,
)
def test_damaged_events_are_refused_in_one_line(damaged):
    with pytest.raises(UsageError) as refused:
        events.from_json(damaged)
    assert "\n" not in str(refused.value)


def test_flatten_counts_elementary_events():
    nested = dpa.SelfComposedDpEvent(dpa.ComposedDpEvent([G(1.0), dpa.SelfComposedDpEvent(L(2.0), 3)]), 5)
    assert events.flatten([nested, G(1.0), dpa.NoOpDpEvent()]) == {G(1.0): 6, L(2.0): 15}
    assert events.flatten(events.compose({G(1.0): 6, L(2.0): 15})) == {G(1.0): 6, L(2.0): 15}
    assert events.compose({}) == dpa.NoOpDpEvent()


@pytest.mark.parametrize(
    ("e", "d"),
    [(0, 0.1), (-1, 0.1), (math.nan, 0.1), (math.inf, 0.1), (1e4, 0.1), (1, 1), (1, -1e-5), (1, math.nan)],
)
def test_budgets_that_make_no_sense_are_refused(e, d):
    with pytest.raises(UsageError, match=r"epsilon|delta"):
        Budget(e, d)


RUNS = {
    "one answer": lambda s: [G(s)],
    "ten answers": lambda s: [dpa.SelfComposedDpEvent(G(s), 10)],
    "a million answers": lambda s: [dpa.SelfComposedDpEvent(G(s), 10**6)],
    "Laplace": lambda s: [dpa.SelfComposedDpEvent(L(s), 300)],
    "both": lambda s: [G(10 * s), dpa.SelfComposedDpEvent(L(s), 50)],
    "with categories": lambda s: [G(s), G(3 * s), EpsilonDeltaDpEvent(0.0, 1e-13)],
}


@pytest.mark.parametrize("budget", [(0.01, 1e-12), (0.1, 1e-5), (1.0, 1e-5), (10.0, 1e-6), (100.0, 0.1)], ids=str)
@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_calibration_spends_the_budget_and_no_more(run, budget):
    start, asked = time.process_time(), []

    def noted(scale: float) -> list[dpa.DpEvent]:
        asked.append(scale)
        return run(scale)

    scale = noise_scale(Budget(*budget), noted)
    assert len(asked) <= 16  # prices of Poisson samples take long
    assert 0.99 * budget[0] <= epsilon(run(scale), budget[1]) <= budget[0]
    assert time.process_time() - start < 5  # well under 2 s unless the machine is busy


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.floats(0.01, 100), st.floats(1e-12, 0.1), st.integers(1, 10**7))
def test_calibration_holds_everywhere(e, d, answers):
    def run(scale: float) -> list[dpa.DpEvent]:
        return [G(scale * 7), dpa.SelfComposedDpEvent(G(scale), answers)]

    assert 0.99 * e <= epsilon(run(noise_scale(Budget(e, d), run)), d) <= e


def test_poisson_samples_can_be_calibrated():
    def run(scale: float) -> list[dpa.DpEvent]:
        return [dpa.SelfComposedDpEvent(dpa.PoissonSampledDpEvent(0.01, G(scale)), 500)]

    scale = noise_scale(Budget(1.0, 1e-5), run)
    assert 0.99 <= epsilon(run(scale), 1e-5) <= 1.0


def test_a_budget_that_is_gone_already_is_refused():
    with pytest.raises(UsageError, match="no amount of noise"):
        noise_scale(Budget(1.0, 1e-5), lambda s: [G(s), G(2.0)])
    with pytest.raises(UsageError, match="no amount of noise"):
        noise_scale(Budget(1.0, 1e-5), lambda s: [G(s), EpsilonDeltaDpEvent(0.0, 1e-4)])
    with pytest.raises(UsageError, match="does not limit"):
        noise_scale(Budget(1.0, 1e-5), lambda s: [])


def test_shares_of_gaussian_plans_are_of_squared_mu():
    charges = (Charge("histogram", G(20.0)), Charge("votes", dpa.SelfComposedDpEvent(G(200.0), 900)))
    shares = Plan("x", Budget(1.0, 1e-5), "one row", charges).shares()
    assert [share.share for share in shares] == pytest.approx([0.1, 0.9], rel=1e-3)
    assert sum(share.share for share in shares) == pytest.approx(1.0)
    assert [share.epsilon for share in shares] == [epsilon(charge.event, 1e-5) for charge in charges]


def test_shares_of_mixed_plans_follow_the_epsilons():
    plan = Plan("x", Budget(5.0, 1e-5), "one row", (Charge("a", G(4.0)), Charge("b", L(2.0))))
    first, second = plan.shares()
    assert first.share / second.share == pytest.approx(first.epsilon / second.epsilon)
    assert plan.mu is None
