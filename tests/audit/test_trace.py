"""Traces: what teachers saw is measured right, and wrong partitions and wrong accounts look different."""

import dataclasses
import functools
import json
import math

import dp_accounting as dpa
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from understudy.accounting import price
from understudy.audit import inside, recount
from understudy.audit import trace as tracing
from understudy.audit.trace import (
    check_accountant,
    check_losses,
    check_partition,
    make_estimator,
    told,
    torn_units,
    trace,
)
from understudy.errors import UsageError
from understudy.methods.pate_gan.method import PateGan
from understudy.private import SeededNoise
from understudy.private.mapping import Block
from understudy.private.mechanisms.teacher_votes import Teachers, TeacherVotes
from understudy.private.partition import Shards
from understudy.questions.rounds import Judgement
from understudy.report import trace_page
from understudy.schema import Column, Schema

SCHEMA = Schema(columns=tuple(Column(name=name, kind="continuous", lower=0.0, upper=1.0) for name in "abc"))
QUICK = {
    "rounds": 3,
    "student_steps": 2,
    "generator_steps": 2,
    "teacher_steps": 2,
    "judged": 4,
    "practice": 8,
    "moments_share": 0.0,
}
ROWS = 40


@pytest.fixture(scope="module", autouse=True)
def seeded():
    """Rows are dealt alike in every run: a shard of 40 rows among five teachers is otherwise empty once in 7,500 runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tracing, "SecureNoise", lambda: SeededNoise(0))
        yield


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame(np.random.default_rng(0).random((ROWS, 3)), columns=list("abc"))


@pytest.fixture(scope="module")
def correct(frame):
    return trace("pate-gan", frame, SCHEMA, options=QUICK, seed=0)


class AllTheLast(TeacherVotes):
    """The audited mistake: every teacher is fed the last shard."""

    def prepare(self, blocks, noise):
        shards, teachers = super().prepare(blocks, noise)
        last = [np.repeat(part[:, -1:], part.shape[1], axis=1) for part in shards]
        return Shards(*last), teachers


class WrongIndex(TeacherVotes):
    """The same mistake in training: shards are right, the index is not."""

    def train(self, data, held, practice):
        return super().train(
            jax.tree.map(lambda part: jnp.repeat(part[:, -1:], part.shape[1], axis=1), data), held, practice
        )


class Redrawn(TeacherVotes):
    """The other audited mistake: shards are dealt anew every round."""

    def answer(self, data, held, query, noise, key):
        order = jax.random.permutation(key, data.mask.shape[1])
        return super().answer(jax.tree.map(lambda part: part[:, order], data), held, query, noise, key)


class Everything(TeacherVotes):
    """No separation: every teacher is trained on all rows."""

    def train(self, data, held, practice):
        classes, teachers, places, width = data.rows.shape
        rows = jnp.broadcast_to(
            data.rows.reshape(classes, 1, teachers * places, width), (classes, teachers, teachers * places, width)
        )
        mask = jnp.broadcast_to(
            data.mask.reshape(classes, 1, teachers * places), (classes, teachers, teachers * places)
        )
        return super().train(Shards(rows, mask), held, practice)


class Averaging(TeacherVotes):
    """Teachers that tell each other what they learned."""

    def train(self, data, held, practice):
        held = super().train(data, held, practice)
        return jax.tree.map(lambda part: jnp.broadcast_to(part.mean(axis=1, keepdims=True), part.shape), held)


class MutantPateGan(PateGan):
    method = "mutant"

    def _votes(self, *arguments, **named):
        right = super()._votes(*arguments, **named)
        return AllTheLast(**{field.name: getattr(right, field.name) for field in dataclasses.fields(right)})


# -- whole traces -------------------------------------------------------------------------------------------------------------
def test_a_correct_fit_passes(correct):
    assert correct.passed, [check for check in correct.checks if not check.passed]
    assert sum(one.seen for one in correct.teachers) <= correct.rows == ROWS
    assert len(correct.teachers) == 5 and correct.rounds == 3  # as many teachers as in the published figures
    for one in correct.teachers:
        assert one.seen == one.dealt and one.shared == 0
    assert [done for done, _, _ in correct.losses] == [1, 2, 3]
    assert [done for done, _, _ in correct.accountant] == [0, 1, 2, 3]
    charged = [ours for _, ours, _ in correct.accountant]
    assert charged == sorted(charged) and charged[-1] == pytest.approx(1.0, rel=0.01)


def test_the_partition_mutant_looks_different_and_fails(frame, correct):
    """Rows, keys and noise are seeded: nothing is left to chance."""
    wrong = trace(MutantPateGan(teachers=5, seed=0, votes_share=0.1, **QUICK), frame, SCHEMA, seed=0)
    by_name = {check.name: check for check in wrong.checks}
    assert not by_name["rows seen by each teacher"].passed and not by_name["loss on own and other shards"].passed
    assert by_name["accountant"].passed  # the price is right, the rows are not
    assert not wrong.passed
    assert len({one.seen for one in wrong.teachers}) == 1 and wrong.teachers[0].shared == wrong.teachers[0].seen
    assert sum(one.seen for one in correct.teachers) > max(one.seen for one in wrong.teachers)
    for (_, own, other), (_, right, right_other) in zip(wrong.losses, correct.losses, strict=True):
        assert own == pytest.approx(other, rel=1e-6) and abs(right - right_other) > 1e-6 * right


def test_the_published_accountant_agrees_with_the_second_calculation(frame):
    found = trace(
        "pate-gan-as-published",
        frame,
        SCHEMA,
        options={"max_rounds": 4, "batch": 8, "inverse_scale": 0.05, "teacher_steps": 2, "student_steps": 2},
        epsilon=1000.0,
        seed=0,
    )
    assert found.passed, [check for check in found.checks if not check.passed]
    assert len(found.moments) == 100 and found.rounds == 4
    for _, ours, again in found.accountant:
        assert ours == pytest.approx(again, rel=1e-4)


def test_a_trace_becomes_a_page(correct, tmp_path):
    (tmp_path / "trace.json").write_text(json.dumps(correct.to_dict(), allow_nan=False))
    text = trace_page.write(tmp_path / "trace.json", tmp_path / "trace.html").read_text(encoding="utf-8")
    assert 'class="banner stop"' in text and "public data" in text and "never make it from private rows" in text
    assert text.count("<svg") == 3 and "as it should be" in text
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(UsageError, match="not a trace"):
        trace_page.write(tmp_path / "other.json", tmp_path / "other.html")


def test_methods_without_teachers_are_refused(frame):
    with pytest.raises(UsageError, match="no teachers"):
        trace("mean-embedding", frame, SCHEMA)
    with pytest.raises(UsageError, match="option 'nonsense'"):
        make_estimator("pate-gan", 1.0, 1e-5, {"nonsense": 1})


# -- what one round of training used ------------------------------------------------------------------------------------------
@functools.cache
def look(kind):
    """Rows used by each of four teachers in two rounds of a mechanism, without a generator."""
    votes = kind(
        teachers=(4,),
        capacity=ROWS,
        judged=2,
        classes_per_unit=1,
        kind="gaussian",
        sigma=1.0,
        answers="share",
        learning_rate=0.1,
        weight_decay=0.1,
    )
    rng = np.random.default_rng(1)
    whole = Block(rng.random((ROWS, 3)).astype(np.float32), np.zeros(ROWS, np.int32))
    dealt = inside.deal(votes, whole, SeededNoise(1))
    whom, per_round, mixed = tuple(inside.watched(votes.teachers)), [], []
    for number in (0, 1):
        query = Judgement(
            jnp.asarray(rng.random((2, 1, 5, 3)), jnp.float32), jnp.asarray(rng.random((1, 2, 3)), jnp.float32)
        )
        noise, key = jnp.zeros((1, 2), jnp.int32), jax.random.key(number)
        found = inside.used(votes, dealt, dealt.held, query, noise, key, whom)
        per_round.append([set(dealt.numbers[np.asarray(places)].tolist()) for places in found.places])
        mixed.append(np.asarray(found.mixed).any())
    seen = [set.union(*rows) for rows in zip(*per_round, strict=True)]
    return dealt, per_round, mixed, told(whom, dealt.numbers, seen)


def test_a_correct_teacher_uses_its_own_rows_in_every_round():
    dealt, per_round, mixed, teachers = look(TeacherVotes)
    own = [set(dealt.numbers[0, i].tolist()) - {0} for i in range(4)]
    assert all(rows == own for rows in per_round)
    assert set.union(*own) == set(range(1, ROWS + 1))
    assert not any(mixed) and sum(one.shared for one in teachers) == 0


@pytest.mark.parametrize("kind", [AllTheLast, WrongIndex, Redrawn, Everything])
def test_shared_rows_are_seen_whatever_the_code_says(kind):
    """The keys of the two rounds are fixed and deal differently; no shard is empty, since the noise is seeded."""
    assert sum(one.shared for one in look(kind)[-1]) > 0


def test_redrawn_shards_move():
    _, per_round, _, _ = look(Redrawn)
    assert per_round[0] != per_round[1]


def test_mixing_is_seen():
    assert all(look(Averaging)[2])


def test_a_person_whose_rows_are_torn_apart_is_seen(correct):
    whom, units = ((0, 0), (0, 1), (1, 0)), np.array([7, 7, 8, 7], np.uint64)
    assert torn_units(whom, [{1, 2}, {3}, {4}], units) == 0  # another class has an ensemble of its own
    assert torn_units(whom, [{1}, {2, 3}, {4}], units) == 1
    assert check_partition(correct.teachers, 0, 0, 3, 0).passed
    assert not check_partition(correct.teachers, 0, 0, 3, 1).passed


def test_losses_by_hand():
    data = Shards(jnp.asarray([[[[1.0], [0.0]], [[2.0], [3.0]]]]), jnp.asarray([[[1.0, 0.0], [1.0, 1.0]]]))
    teachers = Teachers(jnp.asarray([[[1.0], [-1.0]]]), jnp.asarray([[0.5, 0.0]]))
    soft = lambda logit: math.log1p(math.exp(-logit))  # noqa: E731
    own = (soft(1.5) + (soft(-2.0) + soft(-3.0)) / 2) / 2
    other = (soft(-1.0) + (soft(2.5) + soft(3.5)) / 2) / 2
    assert [float(value) for value in inside.losses(data, teachers)] == pytest.approx([own, other], rel=1e-5)


# -- the second calculation -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("sigma", "count"), [(3.7306, 1), (50.0, 960), (8.0, 100)])
def test_gaussian_prices_agree(sigma, count):
    """1e-5, 0.2681 and 3.7306 are the plan's own figures for epsilon 1."""
    events = {dpa.GaussianDpEvent(sigma): count}
    again = recount.epsilon(events, 1e-5)
    ours = price.epsilon([dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(sigma), count)], 1e-5)
    assert -1e-9 <= (ours - again) / again < 0.01
    assert recount.gaussian(0.2681, 1e-5) == pytest.approx(1.0, rel=2e-3)


def test_other_events_go_through_another_library_or_nowhere():
    assert recount.epsilon({dpa.LaplaceDpEvent(10.0): 3}, 1e-5) == pytest.approx(0.3, rel=0.02)
    assert recount.epsilon({dpa.NonPrivateDpEvent(): 1}, 1e-5) in (None, math.inf)
    assert recount.epsilon({}, 1e-5) == 0.0


@pytest.mark.parametrize(
    ("factor", "passed"), [(1.0, True), (1.005, True), (1.02, False), (0.99, False), (0.6, False), (6.4, False)]
)
def test_a_wrong_accountant_fails(factor, passed):
    """0.6 and 6.4: the shares by which audited implementations under- and over-counted (30k and 320k for 50k)."""
    points = [(0, 0.1, 0.1), (10, 0.5 * factor, 0.5), (20, factor, 1.0)]
    assert check_accountant(points, ()).passed is passed
    assert check_accountant([], tuple((order, factor * order, float(order)) for order in (1, 2, 3))).passed is passed


def test_equal_losses_fail_only_where_teachers_could_differ(correct):
    assert not check_losses([(1, 0.5, 0.5), (2, 0.4, 0.4)], correct.teachers).passed
    assert check_losses([(1, 0.5, 0.5), (2, 0.4, 0.41)], correct.teachers).passed
    assert check_losses([(1, 0.5, 0.5)], correct.teachers[:1]).passed


def test_spending_starts_with_what_was_asked_first(correct):
    """The first point is the price of the class histogram and the starting marginals, before any vote."""
    assert 0 < correct.accountant[0][1] < correct.accountant[-1][1]
