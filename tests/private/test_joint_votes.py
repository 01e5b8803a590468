"""Joint votes: one unit moves the sum of its class's vectors by 2 C at most; versions without the clip, with half the sensitivity
or with a centre made of other teachers' votes move it further, or by more than they pay for."""

import math
from functools import cache

import dp_accounting as dpa
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.errors import UsageError
from understudy.private.blocks import Blocks
from understudy.private.mechanisms import joint_votes
from understudy.private.mechanisms.joint_votes import LEVELS, MOST_JUDGED, JointVotes
from understudy.private.noise import SecureNoise, SeededNoise
from understudy.private.partition import Shards
from understudy.questions.panels import Panel

WIDTH, JUDGED = 4, 9
SETTINGS = {
    "teachers": (9, 5),
    "capacity": 6,
    "judged": JUDGED,
    "classes_per_unit": 1,
    "sigma": 3.0,
    "norm": 0.2,
    "squared": (0, 2),
    "learning_rate": 0.3,
}


def mechanism(kind=JointVotes, **changes):
    return kind(**(SETTINGS | changes))


def question(seed=0, steps=2):
    rng = np.random.default_rng(seed)
    draw = lambda *shape: jnp.asarray(rng.normal(size=(*shape, WIDTH)), jnp.float32)  # noqa: E731
    return Panel(draw(steps, 2, 16), draw(2, JUDGED))


def shards(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    blocks = Blocks.of(rng.normal(size=(rows, WIDTH)).astype(np.float32), rng.integers(0, 2, rows).astype(np.int32))
    return jax.tree.map(jnp.asarray, mechanism().prepare(blocks, SeededNoise(1))[0])


def holding(shards, row, c=0, k=0):
    """The same shards, but this one holds the given row alone."""
    rows = shards.rows.at[c, k].set(0.0).at[c, k, 0].set(jnp.asarray(row, jnp.float32))
    return Shards(rows, shards.mask.at[c, k].set(0.0).at[c, k, 0].set(1.0))


def emptied(shards, c=0, k=0):
    return Shards(shards.rows.at[c, k].set(0.0), shards.mask.at[c, k].set(0.0))


@cache
def compiled(subject):
    return jax.jit(lambda data, query: subject.vectors(subject.logits(data, query)).sum(axis=1))


def total(subject, data, query):
    return np.asarray(compiled(subject)(data, query), np.int64)


def moved(subject, one, other, query):
    """How far the sums of the classes are apart, each in Euclidean norm."""
    return np.sqrt(((total(subject, one, query) - total(subject, other, query)) ** 2).sum(axis=1).astype(float))


def neighbours():
    """Shards that one unit can turn into each other: its shard holds it, another row in its place, both, or nothing."""
    base = shards()
    for size in (0.5, 3.0, 1e6, 1e30):
        far = np.full(WIDTH, size)
        yield holding(base, far), holding(base, -far)
        yield holding(base, far), emptied(base)
        yield base, holding(base, far)
    yield base, emptied(base)


@pytest.mark.parametrize("norm", [1e-4, 0.2, 50.0])
def test_one_unit_moves_the_sum_by_no_more_than_twice_the_norm(norm):
    subject, farthest = mechanism(norm=norm), 0.0
    for seed in range(3):
        for one, other in neighbours():
            own, elsewhere = moved(subject, one, other, question(seed))
            assert own <= subject.sensitivity and elsewhere == 0.0
            farthest = max(farthest, own)
    if norm < 1.0:
        assert farthest > 0.9 * subject.sensitivity, "2 C is reached: nothing smaller would do"


class ForgottenClip(JointVotes):
    """Mutant: vectors are as long as they are."""

    def vectors(self, logits, first=0):
        centred = logits - logits.mean(axis=2, keepdims=True)
        return jnp.trunc(centred * LEVELS / self.norm).astype(jnp.int32)


class OneNorm(JointVotes):
    """Mutant: sensitivity C, as if a teacher could appear but not change its mind."""

    @property
    def sensitivity(self):
        return LEVELS * math.sqrt(self.classes_per_unit)


class CentredOnOthers(JointVotes):
    """Mutant: vectors are centred on the mean vector of all teachers, so that one of them moves everybody's."""

    def vectors(self, logits, first=0):
        return super().vectors(logits - logits.mean(axis=1, keepdims=True), first)


class OneForAll(JointVotes):
    """Mutant: every teacher sees the rows of all shards of its class."""

    def logits(self, data, query):
        c, k, s, w = data.rows.shape
        rows = jnp.broadcast_to(data.rows.reshape(c, 1, k * s, w), (c, k, k * s, w))
        mask = jnp.broadcast_to(data.mask.reshape(c, 1, k * s), (c, k, k * s))
        return super().logits(Shards(rows, mask), query)


@pytest.mark.parametrize("mutant", [ForgottenClip, OneNorm, CentredOnOthers, OneForAll])
def test_mutants_move_it_further(mutant):
    subject = mechanism(mutant, norm=0.02)
    pairs = [(holding(emptied(shards(0)), np.full(WIDTH, 3.0)), holding(shards(0), np.full(WIDTH, -3.0)))]
    pairs += list(neighbours())
    far = [moved(subject, one, other, question(seed)).max() for seed in range(3) for one, other in pairs]
    assert max(far) > 1.01 * subject.sensitivity


def test_vectors_are_whole_numbers_and_never_longer_than_the_norm():
    """Exact integers, whatever the logits are: huge, tiny, infinite or none at all."""
    rng = np.random.default_rng(3)
    logits = rng.normal(size=(2, 9, JUDGED)) * 10.0 ** rng.integers(-8, 30, (2, 9, 1))
    logits[0, 0, 0], logits[0, 1, 3], logits[1, 2, 1] = np.inf, np.nan, -np.inf
    found = np.asarray(mechanism().vectors(jnp.asarray(logits, jnp.float32)), np.int64)
    assert (found**2).sum(axis=2).max() <= LEVELS**2
    assert (found[0, :2] == 0).all() and (found[1, 2] == 0).all() and (found[1, 5:] == 0).all()
    assert (found[0, 3:] != 0).any()


def longest_of_tiny(judged):
    """Of logits so small that their squares vanish, and a norm as small: the longest vector in units of the norm."""
    tiny = np.full((2, 9, judged), 1e-20) * np.where(np.arange(judged) % 2, 1.0, -1.0)
    found = np.asarray(mechanism(judged=judged, norm=1e-25).vectors(jnp.asarray(tiny, jnp.float32)), np.int64)
    return math.sqrt((found**2).sum(axis=2).max()) / LEVELS


def test_lengths_fit_the_numbers_they_are_counted_in(monkeypatch):
    """The wall itself refuses more judged rows than 32 bits hold the squares of."""
    assert longest_of_tiny(MOST_JUDGED) <= 1.0
    with pytest.raises(UsageError, match="judged"):
        longest_of_tiny(2048)
    monkeypatch.setattr(joint_votes, "MOST_JUDGED", 10**6)  # mutant: lengths that wrap around seem short
    assert longest_of_tiny(2048) > 45.0


def test_the_price_is_one_gaussian_answer_per_round():
    assert mechanism().event(7) == dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(3.0), 7)
    two = mechanism(classes_per_unit=2)
    assert two.event(7) == mechanism().event(7) and two.sensitivity == pytest.approx(2.0 * LEVELS * math.sqrt(2))


def test_the_tape_has_the_deviation_of_the_price():
    """Over 400 x 2 x 9 numbers the deviation is 3 x 2 x LEVELS within 7 % (false failure < 1e-6)."""
    tape = mechanism().tape(400, SecureNoise())
    assert tape.shape == (400, 2, JUDGED) and tape.std() == pytest.approx(6.0 * LEVELS, rel=0.07)


def test_answers_are_the_mean_vector_plus_the_tape_and_nothing_else():
    subject, data, query = mechanism(), shards(), question()
    noise = jnp.arange(18, dtype=jnp.int32).reshape(2, JUDGED) * 50
    nothing = jnp.zeros((2, JUDGED), jnp.int32)
    _, plain = subject.answer(data, (), query, nothing, jax.random.key(0))
    _, noisy = subject.answer(data, (), query, noise, jax.random.key(0))
    counts = np.asarray(subject.teachers, float)[:, None]
    assert np.allclose(noisy - plain, np.asarray(noise) * subject.norm / LEVELS / counts, atol=1e-5)
    assert np.allclose(plain, total(subject, data, query) * subject.norm / LEVELS / counts, atol=1e-6)


def test_an_empty_table_is_silent():
    """With one step a teacher without rows has nothing to say, because practice rows have mean 0 in their own features."""
    assert (total(mechanism(), shards(0), question(steps=1)) == 0).all()


def test_votes_point_from_generated_to_real_rows():
    """Rows one deviation up in the first coordinate: judged rows that are further up get the better votes."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, WIDTH)).astype(np.float32) + np.asarray([1.0, 0, 0, 0], np.float32)
    subject = mechanism(teachers=(200,), squared=(0,), norm=1.0)
    data, _ = subject.prepare(Blocks.of(rows, np.zeros(400, np.int32)), SeededNoise(1))
    practice = jnp.asarray(rng.normal(size=(1, 1, 256, WIDTH)), jnp.float32)
    judged = jnp.asarray(rng.normal(size=(1, 64, WIDTH)), jnp.float32)
    found = total(subject, jax.tree.map(jnp.asarray, data), Panel(practice, judged))[0]
    assert np.corrcoef(found, np.asarray(judged[0, :, 0]))[0, 1] > 0.8
