"""Directions: one unit moves one vote per question, every question has its own noise, nothing is asked that was not charged.

Each check is a function of a mechanism, so that the same check passes the right one and catches its mutants.
"""

import math
from functools import partial

import dp_accounting as dpa
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from understudy.accounting import lattice
from understudy.accounting.filter import noise_for
from understudy.errors import UsageError
from understudy.nn.mlp import Mlp
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.teacher_gradients import MOST_UNITS, Ensembles, TeacherGradients
from understudy.private.noise import SecureNoise, SeededNoise
from understudy.private.partition import Shards
from understudy.questions.rounds import Probe
from understudy.schema import Encoded

from ..wall import FixedBits

WIDTH, ROWS = 4, 60


def mechanism(kind=TeacherGradients, **changes):
    options = {
        "network": Mlp((WIDTH, 3, 1)),
        "teachers": (9, 5),
        "labels": 0,
        "capacity": 12,
        "judged": 6,
        "projected": 3,
        "bins": 4,
        "clip": 0.1,
        "threshold": 0.5,
        "touched": 1,
        "unit": 10.0,
        "answer_units": 4,
        "allowance": 50,
        "learning_rate": 0.5,
        "decay": 0.01,
        "chunk": 4,
    }
    return kind(**(options | changes))


def table(rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    return Encoded(rng.normal(size=(rows, WIDTH)).astype(np.float32), rng.integers(0, 2, rows).astype(np.int32))


def probe(subject, seed=0, steps=5):
    rng = np.random.default_rng(seed)
    inputs, groups = subject.network.sizes[0], len(subject.teachers)
    practice = rng.normal(size=(steps, groups, 8, inputs)).astype(np.float32)
    judged = rng.normal(size=(groups, subject.judged, inputs)).astype(np.float32)
    projection = rng.normal(size=(groups, subject.judged, WIDTH, subject.projected)).astype(np.float32)
    classes = jnp.zeros(groups * subject.judged, jnp.int32)
    return Probe(*map(jnp.asarray, (practice, judged, projection)), classes, jax.random.key(seed))


def prepared(subject, encoded=None, units=None, noise=None):
    blocks = Blocks.of(*(table() if encoded is None else encoded), units)
    return jax.tree.map(jnp.asarray, subject.prepare(blocks, noise or SeededNoise(1)))


@partial(jax.jit, static_argnums=0)
def compiled(subject, shards, held, query):
    return subject.histograms(subject.train(shards, held.weights, query.practice), query)


def histograms(subject, shards, held, query):
    return np.asarray(compiled(subject, shards, held, query))


def without_shard(shards, group, teacher):
    """The neighbour: one unit was all that this shard held."""
    return Shards(shards.rows.at[group, teacher].set(0.0), shards.mask.at[group, teacher].set(0.0))


def largest_moves(subject, scale=1.0):
    """Over several shards: how far its own ensemble's histograms move in L2, their maxima, and the other ensemble's."""
    shards, held = prepared(subject)
    shards = Shards(shards.rows.at[0, 0].multiply(scale), shards.mask)
    query = probe(subject)
    full = histograms(subject, shards, held, query)
    own, top, other = 0.0, 0, 0
    for group, teacher in [(0, 0), (0, 8), (1, 2)]:
        less = histograms(subject, without_shard(shards, group, teacher), held, query)
        own = max(own, float(np.sqrt(((full - less)[group] ** 2).sum(-1)).max()))
        top = max(top, int(np.abs(full.max(-1) - less.max(-1))[group].max()))
        other = max(other, int(np.abs(full - less)[1 - group].max()))
    return own, top, other


# -- sensitivity ------------------------------------------------------------------------------------------------------------
def test_one_shard_moves_one_vote_per_question_and_no_other_ensemble():
    own, top, other = largest_moves(mechanism())
    assert 0 < own <= math.sqrt(2) + 1e-9 and top <= 1 and other == 0


class ProjectionFromData(TeacherGradients):
    """Mutant: the projection is turned to the principal axes of the rows, so everybody's votes see everybody's rows."""

    def answer_projection(self, data):
        rows = (data.rows * data.mask[..., None]).reshape(-1, data.rows.shape[-1])
        axes = jnp.linalg.eigh(rows.T @ rows)[1][:, -self.projected :]
        return jnp.broadcast_to(axes, (len(self.teachers), self.judged, *axes.shape))

    def train(self, data, weights, practice):
        self.__dict__["seen"] = self.answer_projection(data)
        return super().train(data, weights, practice)

    def histograms(self, weights, query):
        return super().histograms(weights, query._replace(projection=self.__dict__["seen"]))


class PooledTeachers(TeacherGradients):
    """Mutant: every teacher sees all rows of its class."""

    def train(self, data, weights, practice):
        groups, teachers, slots, width = data.rows.shape
        rows = jnp.broadcast_to(
            data.rows.reshape(groups, 1, teachers * slots, width), (groups, teachers, teachers * slots, width)
        )
        mask = jnp.broadcast_to(data.mask.reshape(groups, 1, -1), (groups, teachers, teachers * slots))
        return super().train(Shards(rows, mask), weights, practice)


@pytest.mark.parametrize("mutant", [ProjectionFromData, PooledTeachers])
def test_votes_that_see_other_shards_are_caught(mutant):
    assert largest_moves(mechanism(mutant), scale=30.0)[0] > math.sqrt(2) + 0.1
    assert largest_moves(mechanism(), scale=30.0)[0] <= math.sqrt(2) + 1e-9


def test_a_unit_with_rows_in_two_classes_moves_one_vote_in_each():
    encoded, subject = table(), mechanism(touched=2, capacity=40)
    units = np.arange(ROWS) // 3
    person = units == 4
    assert len(set(encoded.classes[person])) == 2
    query = probe(subject)
    shards, held = prepared(subject, encoded, units, FixedBits((ROWS // 3, ()), (ROWS, ())))
    full = histograms(subject, shards, held, query)
    kept = Encoded(encoded.rows[~person], encoded.classes[~person])
    bits = FixedBits((ROWS // 3, [4]), (ROWS, np.flatnonzero(person)))
    shards, _ = prepared(
        subject, kept, units[~person], bits
    )  # the same first weights: they have nothing to do with rows
    less = histograms(subject, shards, held, query)
    moved = np.sqrt(((full - less) ** 2).sum(-1))
    assert 0 < moved.max() <= math.sqrt(2) + 1e-9
    assert 2 * subject.touched * lattice.mu_one(subject.sigma_answer) ** 2 <= 4 * lattice.mu_one(10.0) ** 2


def test_one_ensemble_for_all_classes_sees_the_class_and_keeps_units_together():
    subject = mechanism(teachers=(7,), labels=2, capacity=40, network=Mlp((WIDTH + 2, 3, 1)))
    units = np.arange(ROWS) // 3
    shards, held = prepared(subject, units=units)
    assert shards.rows.shape[-1] == WIDTH + 2 and float(shards.mask.sum()) == ROWS
    shown = np.asarray(shards.rows[..., WIDTH:][shards.mask > 0])
    assert set(map(tuple, shown)) == {(0.0, 1.0), (1.0, 0.0)}
    query = probe(subject)
    full = histograms(subject, shards, held, query)
    less = histograms(subject, without_shard(shards, 0, 3), held, query)
    assert np.sqrt(((full - less) ** 2).sum(-1)).max() <= math.sqrt(2) + 1e-9


def test_every_teacher_votes_once_and_only_those_that_exist():
    subject = mechanism(teachers=(9, 1))
    shards, held = prepared(subject)
    votes = histograms(subject, shards, held, probe(subject))
    assert (votes.sum(-1) == np.asarray([9, 1])[:, None, None]).all() and votes.min() >= 0


def test_an_empty_table_and_odd_gradients_still_vote():
    subject = mechanism()
    empty = Encoded(np.zeros((0, WIDTH), np.float32), np.zeros(0, np.int32))
    shards, held = prepared(subject, empty)
    votes = histograms(subject, shards, held, probe(subject))
    assert (votes.sum(-1) == np.asarray([9, 5])[:, None, None]).all()
    assert ((votes == 0) | (votes == votes.max(-1, keepdims=True))).all()  # teachers without rows are all alike
    odd = jnp.asarray([[np.nan, np.inf, -np.inf], [0.1, -0.1, 0.0], [0.049, 0.051, -0.051]])
    assert subject.bin_of(odd).tolist() == [[2, 3, 0], [3, 0, 2], [2, 3, 0]]


def test_chunks_change_nothing():
    whole, parts = mechanism(chunk=12), mechanism(chunk=4)
    shards, held = prepared(parts)
    assert shards.mask.shape == (2, 12, 12)  # nine teachers in whole chunks of four
    np.testing.assert_array_equal(
        histograms(whole, shards, held, probe(whole)), histograms(parts, shards, held, probe(parts))
    )


# -- noise --------------------------------------------------------------------------------------------------------------------
def noise_problems(subject, rounds=60):
    """Does every test and every bin have its own number, at its own scale?

    False failure below 1e-7: scales of 2,160 tests and 8,640 counts within 9 % and 5 % (six deviations), 120 correlations below
    0.24 (over 720 numbers or more, six deviations). Noise that is shared has a correlation of 1.
    """
    tape = subject.tape(rounds, SecureNoise()).astype(float)
    found = []
    if tape.shape != (rounds, 2, 6, 3, 5):
        return ["shape"]
    if not abs(tape[..., 0].std() / subject.sigma_test - 1) < 0.09:
        found.append("test scale")
    if not abs(tape[..., 1:].std() / subject.sigma_answer - 1) < 0.05:
        found.append("answer scale")
    flat = np.moveaxis(tape, (3, 4), (0, 1)).reshape(15, -1)
    if np.abs(np.corrcoef(flat) - np.eye(15)).max() > 0.24:
        found.append("coordinates or bins share noise")
    over_rows = np.moveaxis(tape, 2, 0).reshape(6, -1)
    if np.abs(np.corrcoef(over_rows) - np.eye(6)).max() > 0.24:
        found.append("rows share noise")
    if 2 * subject.touched * lattice.mu_one(subject.sigma_answer) ** 2 > 4 * lattice.mu_one(subject.unit) ** 2:
        found.append("an answer costs more than its units")
    if subject.touched * lattice.mu_one(subject.sigma_test) ** 2 > lattice.mu_one(subject.unit) ** 2:
        found.append("a test costs more than its unit")
    return found


class SensitivityOne(TeacherGradients):
    """Mutant: noise for histograms that move by 1, where a vote that changes bin moves them by sqrt(2)."""

    @property
    def sigma_answer(self):
        return noise_for(self.unit, self.answer_units, math.sqrt(self.touched))


class SharedBetweenCoordinates(TeacherGradients):
    """Mutant: one set of numbers for all projected coordinates of a row."""

    def tape(self, rounds, noise):
        return np.repeat(super().tape(rounds, noise)[..., :1, :], self.projected, axis=3)


class SharedWithTheTest(TeacherGradients):
    """Mutant: the test's number is used again for the first bin."""

    def tape(self, rounds, noise):
        tape = super().tape(rounds, noise)
        tape[..., 1] = np.rint(tape[..., 0] * self.sigma_answer / self.sigma_test)
        return tape


def test_every_question_has_its_own_noise():
    assert noise_problems(mechanism()) == []
    assert noise_problems(mechanism(touched=3)) == []


@pytest.mark.parametrize(
    ("mutant", "problem"),
    [
        (SensitivityOne, "an answer costs more than its units"),
        (SharedBetweenCoordinates, "coordinates or bins share noise"),
        (SharedWithTheTest, "coordinates or bins share noise"),
    ],
)
def test_wrong_noise_is_caught(mutant, problem):
    assert problem in noise_problems(mechanism(mutant))


def consensus_gap(subject, draws=4000):
    """How differently the test comes out for two neighbours whose largest bins lie on both sides of the threshold."""
    votes = np.zeros((2, draws, 1, 4), np.int32)
    votes[0], votes[1] = [5, 2, 1, 1], [4, 3, 1, 1]  # 9 teachers, 5 needed; one teacher moved its vote
    noise = SecureNoise().draw("gaussian", subject.sigma_test, (2, draws, 1))
    shares = np.asarray(subject.consensus(jnp.asarray(votes), jnp.asarray(noise.astype(np.int32)))).mean(axis=(1, 2))
    return abs(float(shares[0] - shares[1]))


class BareThreshold(TeacherGradients):
    """Mutant: the test looks at the largest count without noise."""

    def consensus(self, votes, noise):
        return super().consensus(votes, jnp.zeros_like(noise))


def test_the_test_of_consensus_is_noisy():
    """Noise 10 votes: pass rates of neighbours differ by at most 0.04, and by less than 0.12 over 4,000 draws (false failure
    1e-12); without noise they differ by 1."""
    allowed = 2 * norm.cdf(1 / 20) - 1 + 0.08
    assert consensus_gap(mechanism(teachers=(9, 9))) < allowed
    assert consensus_gap(mechanism(BareThreshold, teachers=(9, 9))) == 1.0 > allowed


# -- the filter ---------------------------------------------------------------------------------------------------------------
def overspent(subject, patterns):
    """Units asked for beyond what was charged, at worst over the rounds; every test of a round that is asked costs a unit.

    A round counts as asked when its units allow it; that is recomputed here from the released answers alone.
    """
    left, spent, worst = jnp.zeros(2, jnp.int32), np.zeros(2, int), 0
    questions = subject.judged * subject.projected
    for number, passed in enumerate(patterns, start=1):
        had = np.asarray(left) + subject.allowance
        answered, left = subject.allot(jnp.asarray(passed), left)
        asked = had >= questions + subject.answer_units
        spent += np.where(asked, questions, 0) + subject.answer_units * np.asarray(answered).sum(axis=(1, 2))
        worst = max(worst, int((spent - number * subject.allowance).max()))
        assert not (np.asarray(answered) & ~passed).any()
    return worst


class FreeSilence(TeacherGradients):
    """Mutant: questions without consensus cost nothing."""

    def allot(self, passed, left):
        charged = left + self.allowance
        answered = passed & (jnp.cumsum(passed.reshape(2, -1), axis=1) * 5 <= charged[:, None]).reshape(passed.shape)
        return answered, charged - answered.sum(axis=(1, 2), dtype=jnp.int32) * (self.answer_units + 1)


class NoFilter(TeacherGradients):
    """Mutant: whatever passes is answered."""

    def allot(self, passed, left):
        return passed, super().allot(passed, left)[1]


class ProductsIn32Bits(TeacherGradients):
    """Mutant: prices are multiplied out; 22 answers of 1e8 units wrap around, and the filter takes them for free."""

    def allot(self, passed, left):
        charged = left + self.allowance
        asked = charged >= self.questions + self.answer_units
        flat = passed.reshape(passed.shape[0], -1) & asked[:, None]
        price = jnp.cumsum(flat.astype(jnp.int32), axis=1) * self.answer_units
        answered = flat & (price <= (charged - self.questions)[:, None])
        spent = jnp.where(asked, self.questions, 0) + answered.sum(axis=1, dtype=jnp.int32) * self.answer_units
        return answered.reshape(passed.shape), charged - spent


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.floats(0, 1), allowance=st.integers(5, 120))
def test_no_more_is_asked_than_was_charged(seed, share, allowance):
    patterns = np.random.default_rng(seed).random((12, 2, 6, 3)) < share
    assert overspent(mechanism(allowance=allowance), patterns) <= 0


@pytest.mark.parametrize("mutant", [FreeSilence, NoFilter])
def test_a_leaking_filter_is_caught(mutant):
    patterns = np.random.default_rng(0).random((12, 2, 6, 3)) < 0.7
    assert overspent(mechanism(mutant, allowance=30), patterns) > 0
    assert overspent(mechanism(allowance=30), patterns) <= 0


def expensive(kind=TeacherGradients, answer_units=10**8, answers=1):
    """80 questions a round, and the allowance pays for `answers` of them."""
    return mechanism(kind, judged=16, projected=5, answer_units=answer_units, allowance=80 + answers * answer_units)


def test_prices_beyond_32_bits_are_not_given_away():
    """One answer is paid for, all 80 pass the test: the mutant gives those whose price wrapped around."""
    everything = np.ones((1, 2, 16, 5), bool)
    assert overspent(expensive(), everything) <= 0
    assert overspent(expensive(ProductsIn32Bits), everything) > 10 * 10**8
    answered, left = expensive().allot(jnp.asarray(everything[0]), jnp.zeros(2, jnp.int32))
    assert answered.sum(axis=(1, 2)).tolist() == [1, 1] and left.tolist() == [0, 0]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    share=st.floats(0, 1),
    answer_units=st.integers(1, MOST_UNITS // 4) | st.integers(2**26, MOST_UNITS // 4),
    answers=st.integers(0, 3),
)
def test_whatever_a_unit_is_worth_nothing_is_borrowed_and_nothing_wraps(seed, share, answer_units, answers):
    """Twelve rounds can save up more than 32 bits hold; what is left stays within them and is never negative."""
    subject = expensive(answer_units=answer_units, answers=answers)
    patterns = np.random.default_rng(seed).random((12, 2, 16, 5)) < share
    assert overspent(subject, patterns) <= 0
    left = jnp.zeros(2, jnp.int32)
    for passed in patterns & (np.arange(12) >= 8)[:, None, None, None]:  # eight silent rounds first
        left = subject.allot(jnp.asarray(passed), left)[1]
        assert int(left.min()) >= 0 and int(left.max()) <= MOST_UNITS


def test_units_that_cannot_be_counted_are_refused():
    with pytest.raises(UsageError, match="answer_units=1073741825"):
        mechanism(answer_units=MOST_UNITS + 1)
    with pytest.raises(UsageError, match="allowance=4294967296"):
        mechanism(allowance=2**32)


def test_a_filter_that_went_below_zero_stops_the_fit():
    subject = mechanism()
    subject.check(Ensembles({}, jnp.asarray([0, 3])))
    with pytest.raises(RuntimeError, match="more units were spent"):
        subject.check(Ensembles({}, jnp.asarray([4, -1])))


def test_saved_units_are_spent_later_and_never_borrowed():
    subject = mechanism(allowance=30)  # 18 questions: 12 units for 3 answers of 4 units
    none, all_ = jnp.zeros((2, 6, 3), bool), jnp.ones((2, 6, 3), bool)
    answered, left = subject.allot(none, jnp.zeros(2, jnp.int32))
    assert not answered.any() and left.tolist() == [12, 12]
    answered, left = subject.allot(all_, left)
    assert answered.sum(axis=(1, 2)).tolist() == [6, 6] and left.tolist() == [0, 0]
    poor = mechanism(allowance=10)  # the first round cannot pay for its tests: nothing is asked, units are kept
    answered, left = poor.allot(all_, jnp.zeros(2, jnp.int32))
    assert not answered.any() and left.tolist() == [10, 10]


def test_the_ledger_is_charged_the_allowance_of_every_round():
    assert mechanism().event(7) == dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(10.0), 350)


# -- answers ------------------------------------------------------------------------------------------------------------------
def test_answers_are_middles_of_the_noisy_winner_and_silence_is_zero():
    subject = mechanism(allowance=1000)
    shards, held = prepared(subject)
    noise = np.zeros((2, 6, 3, 5), np.int32)
    noise[..., 0] = 100  # every test passes
    noise[..., 2] = 1000  # bin 1 of 4 wins
    noise[0, 0, 0, 0] = -100
    held, answer = jax.jit(subject.answer)(shards, held, probe(subject), jnp.asarray(noise), jax.random.key(0))
    assert float(answer.middle[0, 0, 0]) == 0.0 and not bool(answer.answered[0, 0, 0])
    assert answer.answered.sum() == 35
    np.testing.assert_allclose(np.asarray(answer.middle)[np.asarray(answer.answered)], -0.25)
    assert held.left.tolist() == [1000 - 18 - 4 * 17, 1000 - 18 - 4 * 18]


def test_directions_point_to_the_real_rows():
    """Rows of both classes lie at +2 in every coordinate, fakes at -2: without noise nearly all wishes go up."""
    subject = mechanism(bins=2, clip=1e-3, threshold=0.0, allowance=1000, network=Mlp((WIDTH, 1), last=0.1))
    encoded = Encoded(np.full((ROWS, WIDTH), 2.0, np.float32), table().classes)
    shards, held = prepared(subject, encoded)
    query = probe(subject)
    query = query._replace(practice=jnp.full_like(query.practice, -2.0), judged=jnp.full_like(query.judged, -2.0))
    _, answer = jax.jit(subject.answer)(shards, held, query, jnp.zeros((2, 6, 3, 3), jnp.int32), jax.random.key(0))
    move = np.einsum("gjk,gjwk->gjw", answer.middle, query.projection)
    assert move.mean() > 0 and (move.mean(axis=(0, 1)) > 0).sum() >= 3
