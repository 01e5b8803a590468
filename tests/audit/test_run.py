"""The whole way: batches kept and resumed, threat models, what goes into the result and back from JSON."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from understudy.audit import batches
from understudy.audit.attacks import ATTACKS
from understudy.audit.attacks.likelihood_ratio import of_brief_fits, of_first_answers
from understudy.audit.result import AuditResult
from understudy.audit.run import run_audit
from understudy.audit.shadow import shadow_fits
from understudy.audit.targets import made_up, remote_rows
from understudy.errors import UsageError
from understudy.methods.marginals.independent import Independent
from understudy.private import SeededNoise
from understudy.schema import Column, Schema


def small(**settings):
    return run_audit("independent", epsilon=1.0, rows=50, seed=4, runs=80, batch=20, **settings)


def test_a_result_survives_json(tmp_path):
    result = small(attacks=("querybased", "groundhog"), threats=("black-box",))
    result.save(tmp_path / "audit.json")
    assert AuditResult.load(tmp_path / "audit.json") == result
    assert result.fits == 80 and result.outcomes[0].runs == 80 and result.outcomes[0].test_runs == 32
    assert "one row" in result.claim and "mu = 0.26" in result.claim
    assert any("seeded" in note for note in result.notes)
    assert all(0.0 <= x <= 1.0 and 0.0 <= y <= 1.0 for outcome in result.outcomes for x, y in outcome.roc)
    document = json.loads((tmp_path / "audit.json").read_text())
    for damaged in (
        {},
        document | {"format": "other"},
        document | {"outcomes": [{}]},
        document | {"epsilon": "nan"},
        [],
    ):
        with pytest.raises(UsageError, match="audit"):
            AuditResult.from_dict(damaged)
    assert AuditResult.from_dict(document | {"epsilon": "inf"}).epsilon == math.inf


def test_an_interrupted_audit_goes_on_and_finds_the_same(tmp_path, monkeypatch):
    whole = small()
    calls = []

    def broken(job, task):
        calls.append(task)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return features_of(job, task)

    features_of = batches.features_of
    monkeypatch.setattr(batches, "features_of", broken)
    with pytest.raises(KeyboardInterrupt):
        small(folder=tmp_path)
    events = []
    resumed = small(folder=tmp_path, progress=events.append)
    assert len(calls) == 3 + 2 and resumed.outcomes == whole.outcomes
    assert events[-1]["done"] == 80 and any("kept" in note for note in resumed.notes)
    with pytest.raises(UsageError, match="another audit"):
        run_audit("independent", epsilon=2.0, rows=50, seed=4, runs=80, batch=20, folder=tmp_path)


def test_attacks_are_held_to_what_their_threat_model_sees():
    with pytest.raises(UsageError, match="wall-box"):
        small(attacks=("likelihood-ratio",), threats=("black-box", "model-box"))
    with pytest.raises(UsageError, match="model-box"):
        small(attacks=("artifact",), threats=("black-box",))
    for wrong in ({"attacks": ("telepathy",)}, {"threats": ("x-ray",)}, {"target": "moon"}, {"options": {"moon": 1}}):
        with pytest.raises(UsageError, match=r"telepathy|x-ray|moon"):
            small(**wrong)
    with pytest.raises(UsageError, match="needs a table"):
        small(target="record")
    with pytest.raises(UsageError, match="at least 40 runs"):
        run_audit("independent", runs=10, rows=50)


def test_the_likelihood_ratio_is_that_of_gaussian_noise():
    """On the lonely pair the sums of squares are mu^2 / 2 on either side: means within five standard errors, one seed."""
    pair, estimator = made_up("lonely"), Independent(epsilon=4.0)
    plan = estimator.plan(pair.schema)
    for secret in (0, 1):
        fitted = shadow_fits(estimator, pair.side(secret), pair.schema, 50, seed=secret, plan=plan)
        ratios = of_first_answers(estimator, pair, plan, fitted.transcripts)
        brief = of_brief_fits(estimator, pair, plan, pair.side(secret), 50, SeededNoise(secret))
        np.testing.assert_allclose(brief, ratios)  # the same noise, the same fits, cut short
        mean, error = np.mean(ratios), plan.mu / math.sqrt(50)
        assert mean == pytest.approx((2 * secret - 1) * plan.mu**2 / 2, abs=5 * error)
        assert np.std(ratios) == pytest.approx(plan.mu, rel=0.3)


def test_external_generators_are_audited_by_their_tables():
    def copies(frame, count):
        return [frame] * count

    result = run_audit("copy", epsilon=1.0, external=copies, runs=80, attacks=("groundhog",))
    assert result.violated and result.outcomes[0].bound("gaussian") is None
    with pytest.raises(UsageError, match="more than tables"):
        run_audit("copy", external=copies, runs=80, attacks=("artifact",), threats=("model-box",))


def test_a_record_of_a_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (30, 3)), columns=["a", "b", "c"])
    result = small(
        target="record", data=frame, schema=made_up("worst-case").schema, row=3, attacks=("histogram", "correlation")
    )
    assert {outcome.target for outcome in result.outcomes} == {"record"} and not result.violated
    with pytest.raises(UsageError, match="row 30"):
        small(target="record", data=frame, schema=made_up("worst-case").schema, row=30)


def test_mini_attacks_find_the_row_that_is_given_away():
    """A generator that gives one row away and hides all others: distance alone would pick another one."""
    schema = Schema(columns=tuple(Column(name=name, kind="continuous", lower=0.0, upper=100.0) for name in "ab"))
    frame = pd.DataFrame(np.random.default_rng(0).uniform(0.0, 20.0, (12, 2)), columns=["a", "b"])
    frame.loc[3], frame.loc[7] = 100.0, 60.0
    rng = np.random.default_rng(1)

    def leaky(table, count):
        out = [pd.DataFrame(rng.uniform(0.0, 1.0, (5, 2)), columns=["a", "b"]) for _ in range(count)]
        return [one.assign(a=60.0) for one in out] if (table["a"] == 60.0).any() else out

    assert remote_rows(frame, schema, 1)[0] == 3
    settings = {"target": "record", "data": frame, "schema": schema, "attacks": ("groundhog",), "external": leaky}
    settings |= {"runs": 80, "row": "mini-attacks"}
    assert run_audit("leaky", epsilon=1.0, **settings).violated
    assert not run_audit("leaky", epsilon=1.0, **settings | {"row": None}).violated
    with pytest.raises(UsageError, match="needs an attack on tables"):
        small(
            target="record",
            data=frame,
            schema=schema,
            attacks=("artifact",),
            threats=("model-box",),
            row="mini-attacks",
        )


def test_features_have_one_row_for_each_table():
    pair = made_up("person")
    tables = [pair.with_, pair.without, pair.with_[:0]]
    for attack in ATTACKS.values():
        if attack.needs == "table":
            found = attack.features(tables, pair.schema)
            assert len(found) == 3 and np.isfinite(found).all() and found.ndim == 2
            if attack.name != "correlation":
                assert not np.array_equal(found[0], found[1])
