"""The votes: one unit moves each answer by at most one vote, in each class it has rows in; mutants move more."""

import inspect
import math

import dp_accounting as dpa
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.private import Curator
from understudy.private.blocks import Blocks
from understudy.private.mechanisms import teacher_votes
from understudy.private.mechanisms.teacher_votes import TeacherVotes
from understudy.private.noise import SecureNoise, SeededNoise
from understudy.private.partition import Shards
from understudy.questions.rounds import Judgement
from understudy.schema import Codec, Column, Schema

from ..wall import FreeLedger, NoNoise

WIDTH, CAPACITY = 4, 6


def mechanism(**changes):
    settings = {
        "teachers": (9, 5),
        "capacity": CAPACITY,
        "judged": 7,
        "classes_per_unit": 1,
        "kind": "gaussian",
        "sigma": 3.0,
        "answers": "score",
        "learning_rate": 2.0,
        "weight_decay": 0.0,
    }
    return TeacherVotes(**(settings | changes))


def table(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return Blocks.of(rng.normal(size=(rows, WIDTH)).astype(np.float32), rng.integers(0, 2, rows).astype(np.int32))


def question(seed=0, steps=12):
    rng = np.random.default_rng(seed)
    practice = rng.normal(size=(steps, 2, 8, WIDTH)).astype(np.float32)
    return Judgement(jnp.asarray(practice), jnp.asarray(rng.normal(size=(2, 7, WIDTH)).astype(np.float32) * 3))


def prepared(subject, blocks):
    return jax.tree.map(jnp.asarray, subject.prepare(blocks, SeededNoise(1)))


def votes_of(subject, shards, held, query):
    trained = subject.train(shards, held, query.practice)
    return np.asarray(subject.votes(trained, query.judged))


def without_shard(shards, c, k):
    """The neighbour: one unit was all that this shard held."""
    return Shards(shards.rows.at[c, k].set(0.0), shards.mask.at[c, k].set(0.0))


@pytest.mark.parametrize("answers", ["score", "share", "label"])
def test_one_shard_moves_every_answer_of_its_class_by_at_most_one_vote(answers):
    subject = mechanism(answers=answers)
    shards, held = prepared(subject, table())
    full = votes_of(subject, shards, held, question())
    for c, k in [(0, 0), (0, 8), (1, 2)]:
        less = votes_of(subject, without_shard(shards, c, k), held, question())
        assert np.abs(full[c] - less[c]).max() <= subject.levels
        assert (full[1 - c] == less[1 - c]).all()


class SharedNormalisation(TeacherVotes):
    """Mutant: rows are centred by a mean over all shards before training, so teachers see other people's rows."""

    def train(self, data, held, practice):
        mean = (data.rows * data.mask[..., None]).sum((0, 1, 2)) / data.mask.sum()
        return super().train(data._replace(rows=(data.rows - mean[None, None, None, :]) * 50), held, practice)


class OneDiscriminator(TeacherVotes):
    """Mutant `no PATE`: one discriminator is trained on all rows and its opinion counted k times."""

    def train(self, data, held, practice):
        c, k, s, w = data.rows.shape
        pooled = Shards(
            jnp.broadcast_to(data.rows.reshape(c, 1, k * s, w), (c, k, k * s, w)),
            jnp.broadcast_to(data.mask.reshape(c, 1, k * s), (c, k, k * s)),
        )
        return super().train(pooled, held, practice)


@pytest.mark.parametrize("mutant", [SharedNormalisation, OneDiscriminator])
def test_teachers_that_see_other_shards_are_caught(mutant):
    subject = mutant(**mechanism(answers="score").__dict__)
    shards, held = prepared(subject, table())
    rows = shards.rows.at[0, 0].set(40.0)
    shards = Shards(rows, shards.mask.at[0, 0].set(1.0))
    full = votes_of(subject, shards, held, question())
    less = votes_of(subject, without_shard(shards, 0, 0), held, question())
    assert np.abs(full - less).max() > subject.levels


def test_the_price_counts_every_answer_and_every_class_a_unit_can_touch():
    one = mechanism().event(10)
    assert one == dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(3.0), 70)
    two = mechanism(classes_per_unit=2)
    assert two.event(10) == one and two.scale == pytest.approx(3.0 * math.sqrt(2))
    laplace = mechanism(kind="laplace", classes_per_unit=2)
    assert laplace.event(10) == dpa.SelfComposedDpEvent(dpa.LaplaceDpEvent(3.0), 70) and laplace.scale == 6.0


def opened(classes_per_unit, max_rows):
    """A conversation about units whose rows may be in two classes."""
    columns = (
        Column(name="who", kind="identifier"),
        Column(name="y", kind="boolean"),
        Column(name="b", kind="boolean"),
    )
    schema = Schema(columns=columns, label="y", unit="who", max_rows_per_unit=max_rows)
    curator = Curator(None, schema, FreeLedger(), NoNoise())
    curator.adopt(Codec(schema))
    return curator.converse("votes", mechanism(classes_per_unit=classes_per_unit)).value


def test_votes_priced_for_fewer_classes_than_a_unit_may_have_are_refused(monkeypatch):
    assert opened(2, 3) and opened(2, 2) and opened(1, 1)
    with pytest.raises(RuntimeError, match="priced for fewer ensembles"):
        opened(1, 2)
    monkeypatch.setattr(Curator, "_reach", lambda self, dealing: 1)  # mutant: whoever asks is trusted with it
    assert opened(1, 2)


def test_tape_has_one_number_per_answer_at_the_scale_of_the_grid():
    """The standard deviation over 2 x 7 x 400 answers is 3 votes, i.e. 3 x 255 steps, within 7 % (false failure < 1e-6)."""
    tape = mechanism().tape(400, SecureNoise())
    assert tape.shape == (400, 2, 7)
    assert tape.std() == pytest.approx(3.0 * 255, rel=0.07)


def test_answers_are_votes_plus_the_tape_and_nothing_else():
    subject = mechanism(answers="share")
    shards, held = prepared(subject, table())
    noise = jnp.arange(14, dtype=jnp.int32).reshape(2, 7) * 10
    _, plain = subject.answer(shards, held, question(), jnp.zeros((2, 7), jnp.int32), jax.random.key(0))
    _, noisy = subject.answer(shards, held, question(), noise, jax.random.key(0))
    per_class = np.array(subject.teachers, float)[:, None]
    assert np.allclose(np.asarray(noisy - plain), np.asarray(noise) / per_class, atol=1e-5)


def shared_noise(noise):
    """Seven answers are asked for where one is priced; how far the noise tells apart two of equal votes. As it is without the
    types that tests check."""
    tell = inspect.unwrap(TeacherVotes.tell)
    answer = tell(mechanism(answers="share", judged=1), (), jnp.full((2, 7), 3), jnp.full((2, 1), noise))[1]
    return float(np.ptp(answer, axis=1).max())


def test_a_query_of_more_rows_than_were_priced_is_refused():
    with pytest.raises(RuntimeError, match="the tape has noise for"):
        shared_noise(40)


def test_one_noise_for_all_answers_is_caught(monkeypatch):
    """Mutant: arrays of other shapes are drawn out to fit. All answers have one noise, and their differences are exact."""
    monkeypatch.setattr(teacher_votes, "noise_for_each", lambda answers, noise: None)
    assert shared_noise(40) == 0.0


def test_label_answers_are_the_thresholded_share():
    subject = mechanism(answers="label")
    shards, held = prepared(subject, table())
    noise = jnp.full((2, 7), 1000, jnp.int32)
    _, answer = subject.answer(shards, held, question(), noise, jax.random.key(0))
    assert set(np.unique(np.asarray(answer))) == {1.0}


def test_teachers_that_do_not_exist_do_not_vote():
    subject = mechanism(answers="share", teachers=(9, 1))
    shards, held = prepared(subject, table())
    assert votes_of(subject, shards, held, question())[1].max() <= 1


def test_an_empty_table_gets_answers_that_see_no_data():
    subject = mechanism()
    empty = Blocks.of(np.zeros((0, WIDTH), np.float32), np.zeros(0, np.int32))
    shards, held = prepared(subject, empty)
    assert np.isfinite(votes_of(subject, shards, held, question())).all()


def test_teachers_learn_to_tell_rows_from_fakes():
    """Rows around +2, fakes around -2: the votes must say so, or the training does nothing."""
    rows = Blocks.of(np.random.default_rng(0).normal(2, 1, (200, WIDTH)).astype(np.float32), np.zeros(200, np.int32))
    subject = mechanism(teachers=(20,), answers="share", capacity=30)
    shards, held = prepared(subject, rows)
    practice = jnp.asarray(np.random.default_rng(1).normal(-2, 1, (20, 1, 16, WIDTH)), jnp.float32)
    judged = jnp.concatenate([jnp.full((1, 1, WIDTH), 2.0), jnp.full((1, 1, WIDTH), -2.0)], axis=1)
    found = votes_of(subject, shards, held, Judgement(practice, judged))
    assert found[0, 0] == 20 and found[0, 1] == 0


class RefittedTeachers(TeacherVotes):
    """Mutant `refitted`: every round starts from untrained teachers, as in one audited implementation."""

    def train(self, data, held, practice):
        return super().train(data, jax.tree.map(jnp.zeros_like, held), practice)


@pytest.mark.parametrize("kind,remembers", [(TeacherVotes, True), (RefittedTeachers, False)])
def test_teachers_carry_what_they_learned_from_round_to_round(kind, remembers):
    """After a round on other fakes the same round must end elsewhere; teachers refitted from scratch end at the same weights."""
    subject = kind(**mechanism().__dict__)
    shards, held = prepared(subject, table())
    once = subject.train(shards, held, question(0).practice)
    twice = subject.train(shards, subject.train(shards, held, question(5).practice), question(0).practice)
    assert (not np.allclose(once.weight, twice.weight)) == remembers
