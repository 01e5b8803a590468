"""Algorithm 1 as printed: teachers learn by Adam on batches of their own shard, and the loop ends where its rule says."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pandas as pd
import pytest

from understudy.audit import recount
from understudy.methods.registry import method
from understudy.private.mechanisms.published_votes import Held, PublishedVotes, draw_batches, published_price
from understudy.private.mechanisms.teacher_votes import Teachers
from understudy.private.partition import Shards
from understudy.schema import Column, Schema

K, CAPACITY, WIDTH, BATCH = 3, 5, 2, 4


def shards():
    """Three shards of five, two and no rows; every row says whose it is."""
    rows, mask = np.zeros((1, K, CAPACITY, WIDTH), np.float32), np.zeros((1, K, CAPACITY), np.float32)
    for teacher, filled in enumerate((5, 2, 0)):
        rows[0, teacher, :filled, 0] = teacher + 1.0
        rows[0, teacher, :filled, 1] = np.arange(filled) + 1.0
        mask[0, teacher, :filled] = 1.0
    return Shards(jnp.asarray(rows), jnp.asarray(mask))


def test_batches_hold_rows_of_the_own_shard_only():
    drawn = draw_batches(shards(), 4_000, jax.random.key(0))
    rows, mask = np.asarray(drawn.rows)[0], np.asarray(drawn.mask)[0]
    assert (mask[:2] == 1.0).all() and (mask[2] == 0.0).all()
    for teacher, filled in enumerate((5, 2)):
        assert (rows[teacher, :, 0] == teacher + 1.0).all()
        times = np.bincount(rows[teacher, :, 1].astype(int), minlength=filled + 1)
        assert times[0] == 0  # never an empty place
        assert (np.abs(times[1:] * filled / 4_000 - 1.0) < 0.2).all()  # a fixed key: nothing is left to chance


def test_a_teacher_takes_steps_of_adam_on_its_own_rows():
    subject = PublishedVotes.of(K, CAPACITY, 8, 0.01, inverse_scale=0.05, delta=1e-5, epsilon=1.0)
    data = shards()
    teachers = Teachers(jnp.zeros((1, K, WIDTH)), jnp.zeros((1, K)))
    held = Held(teachers, optax.adam(0.01).init(teachers), jnp.zeros(100))
    practice = jnp.asarray(np.random.default_rng(0).normal(size=(1, 1, BATCH, WIDTH)).astype(np.float32))
    trained, memory = subject.train(data, held, practice, jax.random.key(1))
    assert np.allclose(
        np.abs(np.asarray(trained.weight)), 0.01, rtol=1e-3
    )  # Adam's first step has the size of its rate
    again, _ = subject.train(data._replace(rows=data.rows.at[0, 1].multiply(7.0)), held, practice, jax.random.key(1))
    same = (np.asarray(again.weight) == np.asarray(trained.weight)).all(axis=-1)[0]
    assert same[0] and same[2]  # another teacher's rows change nothing
    assert int(memory[0].count) == 1


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame({"a": rng.uniform(size=60), "b": rng.uniform(size=60)})


SCHEMA = Schema(columns=tuple(Column(name=name, kind="continuous", lower=0, upper=1) for name in "ab"), rows=60)


@pytest.mark.parametrize("inverse_scale", [0.3, 0.02])
def test_the_loop_ends_in_the_round_in_which_its_accountant_reaches_epsilon(frame, inverse_scale):
    """All votes lie between the dearest answer (a tie) and the cheapest (all four teachers agree), whatever the noise. Chunks of
    fifty rounds, in which a fit of 600 would otherwise run, are beyond both."""
    options = {"batch": 8, "teacher_steps": 1, "student_steps": 1, "teachers": 4, "max_rounds": 600, "seed": 0}
    model = method("pate-gan-as-published")(epsilon=3.0, inverse_scale=inverse_scale, **options).fit(frame, SCHEMA)
    earliest, latest = (last_round(gap, inverse_scale) for gap in (0, 4))
    assert earliest <= len(model.history["share"]) <= latest < 50


@pytest.mark.parametrize("inverse_scale", [0.3, 0.02])
def test_the_compiled_price_of_an_answer_is_the_audits_recount(inverse_scale):
    """Ties, a vote that is nearly clear, and clear ones, in single precision."""
    for gap in (0, 3, 20, 400):
        wanted = np.asarray(recount.published_moments({gap: 1}, inverse_scale))
        found = np.asarray(published_price(jnp.asarray([float(gap)]), inverse_scale))
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-6)


def last_round(gap, inverse_scale):
    """The first round after which eight answers a round with this gap have used up an epsilon of 3."""
    moments = np.asarray(recount.published_moments({gap: 8}, inverse_scale))
    orders = np.asarray(recount.ORDERS)
    return next(n for n in range(1, 600) if ((n * moments + np.log(1e5)) / orders).min() >= 3.0)
