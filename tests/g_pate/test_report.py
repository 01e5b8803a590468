"""The paid report of the data-dependent price: what is counted inside the wall, what is charged, what leaves."""

import itertools
import json
from dataclasses import replace
from functools import partial

import dp_accounting as dpa
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from understudy.accounting import Ledger, LedgerError, holds, smooth, verify
from understudy.accounting.ledger import entries_from_dict
from understudy.artifact import load
from understudy.errors import UsageError
from understudy.fit import fit
from understudy.methods.g_pate.method import DIRECTIONS
from understudy.methods.registry import method
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.report import Report
from understudy.private.mechanisms.reported_gradients import Counted, ReportedGradients
from understudy.private.mechanisms.teacher_gradients import Ensembles
from understudy.private.noise import SecureNoise, SeededNoise
from understudy.questions.rounds import REPORT
from understudy.schema import Column, Schema

from . import referee_smooth
from .test_mechanism import compiled, mechanism, prepared, probe, table, without_shard

NUMBERS = tuple(Column(name=f"x{i}", kind="continuous", lower=0, upper=1) for i in range(2))
LABEL = Column(name="y", kind="categorical", categories=("a", "b"))
SCHEMA = Schema(columns=(*NUMBERS, LABEL), label="y")
OPTIONS = {
    **{
        "epsilon": 10.0,
        "seed": 0,
        "rounds": 2,
        "judged": 4,
        "projected": 2,
        "practice": 4,
        "teachers": 60,
        "chunk": 60,
    },
    **{"teacher_hidden": 2, "teacher_steps": 1, "generator_steps": 1, "hidden": 4, "latent": 2, "threshold": 0.0},
    **{"marginals_share": 0.0, "moments_share": 0.0},
}


def rows(count=90):
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.random((count, 2)), columns=["x0", "x1"]).assign(
        y=np.where(rng.random(count) < 0.5, "a", "b")
    )


def reported(kind=ReportedGradients, report=Report, **changes):
    votes = mechanism(**changes)
    test = smooth.consensus_price(votes.sigma_test, votes.sigma_answer)
    return kind(votes, report(2.0, 4.0, 1e-5, votes.sigma_answer, votes.bins, votes.touched, test))


def held(subject, gaps, tests=(40, 40), coin=b"\x80" * 32):
    """Gaps by ensemble, without any teachers."""
    most = max(subject.votes.teachers) + 1
    counted = np.stack([np.bincount(np.asarray(g, int), minlength=most) for g in gaps])
    nobody = Ensembles({}, jnp.zeros(len(gaps), jnp.int32))
    coins = np.frombuffer(coin, np.uint8)
    return Counted(nobody, jnp.asarray(counted, jnp.int32), jnp.asarray(tests, jnp.int32), coins)


def answered_once(subject, shards, before, tape, seed=0):
    return answer(subject, shards, before, probe(getattr(subject, "votes", subject), seed), tape)


@partial(jax.jit, static_argnums=0)
def answer(subject, shards, before, query, tape):
    return subject.answer(shards, before, query, tape, jax.random.key(0))


# -- what is counted -----------------------------------------------------------------------------------------------------------
def test_directions_are_those_without_a_report_and_gaps_are_counted():
    """Two rounds with the same noise: the same answers, teachers and units left; counts as numpy finds them from the votes."""
    subject = reported(allowance=60)
    plain = subject.votes
    shards, before = prepared(subject)
    _, alone = prepared(plain)
    tape = jnp.asarray(subject.tape(2, SeededNoise(3)).astype(np.int32))
    wanted, tests = np.zeros((2, 10), int), np.zeros(2, int)
    for number in range(2):
        weights = alone.weights
        left = np.asarray(alone.left)
        alone, directions = answered_once(plain, shards, alone, tape[number], number)
        before, same = answered_once(subject, shards, before, tape[number], number)
        jax.tree.map(np.testing.assert_array_equal, (before.ensembles, same), (alone, directions))
        votes = np.asarray(compiled(plain, shards, Ensembles(weights, alone.left), probe(plain, number)))
        for c, j, k in np.argwhere(np.asarray(directions.answered)):
            wanted[c, referee_smooth.gap(votes[c, j, k].tolist())] += 1
        tests += np.where(left + plain.allowance >= plain.questions + plain.answer_units, plain.questions, 0)
    assert wanted.sum() > 10
    np.testing.assert_array_equal(before.gaps, wanted)
    np.testing.assert_array_equal(before.tests, tests)


def test_rounds_that_could_not_be_paid_for_count_no_tests():
    subject = reported(allowance=5)  # 18 questions: asked in no round of the first three
    shards, before = prepared(subject)
    tape = jnp.asarray(subject.tape(1, SeededNoise(3)).astype(np.int32))
    after, directions = answered_once(subject, shards, before, tape[0])
    assert not np.asarray(directions.answered).any()
    assert np.asarray(after.tests).tolist() == [0, 0] and not np.asarray(after.gaps).any()


class CountedByDifference(ReportedGradients):
    """Mutant: what was spent is worked back from what is left, in products of 32 bits."""

    def answer(self, data, held, query, noise, key):
        counted, directions = super().answer(data, held, query, noise, key)
        spent = held.ensembles.left + self.votes.allowance - counted.ensembles.left
        answers = directions.answered.sum(axis=(1, 2), dtype=jnp.int32)
        return counted._replace(tests=held.tests + spent - self.votes.answer_units * answers), directions


def counted_tests(kind):
    """After two silent rounds that save up more units than can be counted."""
    subject = reported(kind, answer_units=10**8, allowance=18 + 9 * 10**8)
    shards, before = prepared(subject)
    silent = jnp.full((2, 6, 3, 5), -1000, jnp.int32)
    for number in range(2):
        before, _ = answered_once(subject, shards, before, silent, number)
    return np.asarray(before.tests).tolist()


def test_tests_are_counted_whatever_units_are_worth():
    assert counted_tests(ReportedGradients) == [36, 36]
    assert counted_tests(CountedByDifference) != [36, 36]


def test_one_shard_moves_gaps_by_two_and_only_in_its_own_ensemble():
    """All answered: gaps sorted, a unit can move every one of them by at most 2."""
    subject = reported(threshold=0.0, allowance=10_000)
    shards, before = prepared(subject, table())
    silent = jnp.zeros((2, 6, 3, 5), jnp.int32)
    full, _ = answered_once(subject, shards, before, silent)
    less, _ = answered_once(subject, without_shard(shards, 0, 0), before, silent)
    here, there = ([np.repeat(np.arange(10), row) for row in np.asarray(one.gaps)] for one in (full, less))
    assert len(here[0]) == len(there[0]) == 18
    assert 0 < np.abs(here[0] - there[0]).max() <= 2  # sorted: the best matching moves no gap further than the true one
    np.testing.assert_array_equal(here[1], there[1])


# -- what leaves -----------------------------------------------------------------------------------------------------------------
def steps(subject, told):
    """The released number in steps of the grid, back from epsilon."""
    rdp = told["epsilon_at_most"] - np.log(1e5) / 3.0 - smooth.own_price(subject.report.loss, 4.0)
    return round(rdp / (4.0 / subject.votes.sigma_answer**2) * smooth.PRICE_STEPS)


def test_the_report_is_the_noisy_price_inside_its_public_range():
    subject = reported(teachers=(60, 60), unit=2.0)
    gaps = ([50, 55, 60], [58] * 4)
    table, test = subject.report.table(60), subject.report.test
    for coin in (b"\x10" * 32, b"\x80" * 32, b"\xd0" * 32):
        state = held(subject, gaps, coin=coin)
        counted = np.asarray(state.gaps, np.int64)
        value = smooth.total(table, counted, np.asarray([40, 40]), test, 1)
        wanted = smooth.raised(value, subject.report.scale(table, counted), coin)
        most = 4 * smooth.PRICE_STEPS + 40 * test
        assert steps(subject, subject.close(state)) == min(max(wanted, 40 * test), most)
    for coin, end in ((bytes(32), 40 * test), (b"\xff" * 32, most)):
        assert steps(subject, subject.close(held(subject, gaps, coin=coin))) == end


def test_where_no_vote_can_lower_the_price_the_report_is_the_public_price():
    """Noise that is large against the ensemble: nothing to hide, no noise, and it says so."""
    subject = reported()
    assert (subject.report.table(9) == smooth.PRICE_STEPS).all()
    for coin in (bytes(32), b"\xff" * 32):
        told = subject.close(held(subject, ([9, 9, 0], [5]), coin=coin))
        assert told["epsilon_at_most"] == told["epsilon_largest"]
        assert told["probability"] == 0.95 and "with probability 95%" in told["statement"]
        assert (told["delta"], told["order"]) == (1e-5, 4.0)
    none = subject.close(held(subject, ([], []), tests=(0, 0)))
    assert none["epsilon_at_most"] == pytest.approx(smooth.own_price(subject.report.loss, 4.0) + np.log(1e5) / 3.0)


def uncovered(subject):
    """By how much the loss between neighbouring states exceeds the price; exact, on a grid coarse enough to list all results."""
    coarse, sides = -(-subject.report.table(60) // 2**13), []
    for gap in range(0, 61, 2):
        counted = np.asarray(held(subject, ([gap] * 5, [gap])).gaps, np.int64)
        value = smooth.total(coarse, counted, np.zeros(2, np.int64), 0, 1)
        sides.append((value, subject.report.scale(coarse, counted)))
    return max(referee_smooth.loss(a, b, 120) for a, b in itertools.pairwise(sides)) - subject.report.loss


class LocalNoise(Report):
    """Mutant: local sensitivity in place of the smooth one."""

    def scale(self, table, gaps):
        return max(smooth.local_sensitivities(table, gaps, 1)[0], 1e-3) / smooth.split(self.loss)[1]


def test_noise_that_does_not_cover_neighbours_is_caught():
    assert uncovered(reported(teachers=(60, 60), unit=2.0)) <= 0
    assert uncovered(reported(report=LocalNoise, teachers=(60, 60), unit=2.0)) > 5


def test_the_coin_is_the_operating_system_s_and_fresh():
    subject = reported()
    coins = {np.asarray(prepared_with(subject, SecureNoise()).coin).tobytes() for _ in range(3)}
    assert len(coins) == 3 and all(len(coin) == smooth.COIN for coin in coins)
    assert len({subject.closing_coin(held(subject, ([], []), coin=coin)).tobytes() for coin in coins}) == 3


def prepared_with(subject, noise):
    return subject.prepare(Blocks.of(*table()), noise)[1]


# -- from option to certificate --------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def paid():
    return method("g-pate")(report_share=0.2, **OPTIONS).fit(rows(), SCHEMA)


def unpaid(model):
    """What is wrong with the way a report was paid for."""
    found = []
    announced = model.plan.announced().get(REPORT, {})
    spent = [charge.event for charge in entries_from_dict(model.ledger)[1] if charge.purpose == REPORT]
    if bool(model.report) != bool(announced):
        found.append("announced and released are not the same")
    if model.report and [dpa.GaussianDpEvent(model.plan.parameters["noise"][REPORT])] != spent:
        found.append("released without its price")
    return found


def test_the_report_is_planned_charged_and_told(paid, tmp_path):
    model = paid.fitted
    share = next(one for one in model.plan.shares() if one.purpose == REPORT)
    assert share.share == pytest.approx(0.2, rel=0.15)  # integer noise costs a little more than its share
    assert 0.99 * 10 < model.plan.epsilon <= 10 and model.plan.mu is not None
    assert model.plan.parameters["settings"]["report_share"] == 0.2
    assert unpaid(model) == []
    assert (
        model.certificate.valid and model.certificate.epsilon == 10.0
    )  # the headline is the worst case, whatever was reported
    assert model.report["statement"] in model.certificate.content["notes"]
    assert "not the guarantee" in model.report["statement"] and REPORT in model.certificate.text()
    assert 0 < model.report["epsilon_at_most"] <= model.report["epsilon_largest"]
    folder = model.save(tmp_path / "model")
    assert holds(verify(folder)) and load(folder).report == model.report
    assert load(folder).certificate.content == json.loads((folder / "certificate.json").read_text())


def test_without_a_share_there_is_no_report():
    estimator = method("g-pate")(**OPTIONS)
    model = estimator.fit(rows(), SCHEMA).fitted
    assert model.report == {} and unpaid(model) == []
    assert REPORT not in {charge.purpose for charge in model.plan.charges}
    assert model.certificate.content["notes"] == list(model.plan.notes)


def test_a_release_without_its_price_is_caught(monkeypatch):
    """Mutants: the report is charged as nothing; the report has less noise than was announced."""
    with monkeypatch.context() as patch:
        patch.setattr(ReportedGradients, "closing_event", property(lambda self: dpa.NoOpDpEvent()))
        assert unpaid(fitted()) == ["released without its price"]
    with monkeypatch.context() as patch:
        patch.setattr(ReportedGradients, "closing_event", property(lambda self: dpa.GaussianDpEvent(0.1)))
        with pytest.raises(LedgerError, match="announces other noise"):
            fitted()


def fitted(**more):
    return fit(method("g-pate")(report_share=0.2, **OPTIONS), rows(), SCHEMA, noise=SeededNoise(1), **more)


def test_nothing_is_computed_before_it_is_charged(monkeypatch):
    charge = Ledger.charge

    def refuses(self, purpose, event, token, digest=""):
        if purpose == REPORT:
            raise LedgerError("no")
        charge(self, purpose, event, token, digest)

    monkeypatch.setattr(Ledger, "charge", refuses)
    monkeypatch.setattr(ReportedGradients, "close", lambda self, held: pytest.fail("computed"))
    with pytest.raises(LedgerError, match="no"):
        fitted()


def test_a_fit_that_dies_after_the_report_says_the_same_again(tmp_path):
    """Stopped when all is said and charged, resumed with other noise at hand: the same number, charged once."""
    folder, said, close = tmp_path / "checkpoint", [], ReportedGradients.close

    def stop(event):
        if event["stage"] == "finish":
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ReportedGradients, "close", lambda self, held: said.append(close(self, held)) or said[-1])
        with pytest.raises(KeyboardInterrupt):
            fitted(checkpoint=folder, progress=stop)
    assert (folder / "ledger.jsonl").read_text().count(REPORT) == 1 and len(said) == 1
    estimator = method("g-pate")(report_share=0.2, **OPTIONS)
    model = fit(estimator, rows(), SCHEMA, checkpoint=folder, resume=True, noise=SeededNoise(9))
    assert model.report == said[0] and unpaid(model) == []


def test_the_published_preset_reports_too_and_the_void_one_refuses():
    plan = method("g-pate-as-published")(report_share=0.05).plan(SCHEMA)
    shares = {one.purpose: one.share for one in plan.shares()}
    assert shares[REPORT] == pytest.approx(0.05, rel=0.1) and shares[DIRECTIONS] > 0.9
    with pytest.raises(UsageError, match="runs with a guarantee"):
        method("g-pate-data-dependent")(report_share=0.05).plan(SCHEMA)
    for share in (-0.1, 1.0):
        with pytest.raises(UsageError, match="report_share"):
            method("g-pate")(report_share=share).plan(SCHEMA)


def test_shadow_fits_share_one_program():
    subject = reported()
    assert subject.program == replace(subject, votes=replace(subject.votes, capacity=99)).program
