"""Variants of PATE-GAN: without noise (not private), k by epsilon, a Wasserstein student."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.methods.not_private import NOT_PRIVATE
from understudy.methods.pate_gan.generator import critic_loss, student_init, student_loss
from understudy.methods.pate_gan.method import VOTES, PateGan
from understudy.methods.teachers import FEWEST_ROWS, MOST_ROWS, rows_by_noise
from understudy.schema import Column, Schema

SCHEMA = Schema(
    columns=(
        Column(name="a", kind="continuous", lower=-4, upper=4),
        Column(name="y", kind="categorical", categories=("no", "yes")),
    ),
    label="y",
)


def table(rows=400):
    rng = np.random.default_rng(0)
    yes = rng.random(rows) < 0.5
    return pd.DataFrame({"a": rng.normal(np.where(yes, 1.5, -1.0), 0.5), "y": np.where(yes, "yes", "no")})


@pytest.mark.parametrize("name", ["pate-gan-noise-free", "g-pate-noise-free"])
def test_references_without_noise_learn_and_say_that_they_are_not_private(name):
    """From nowhere to where the classes are, 2.5 apart. Nothing is left to chance but which teacher gets which row: eight fits of
    each came out 2.75 to 2.80 and 2.18 to 2.27 apart (deviations 0.02 and 0.03, false failure far below 1e-6)."""
    options = {"rounds": 60, "teachers": 20, "seed": 0} | ({} if "g-pate" in name else {"student_steps": 20})
    model = us.method(name)(**options).fit(table(), SCHEMA)
    drawn = model.sample(1000, seed=1).groupby("y")["a"].mean()
    assert drawn["yes"] - drawn["no"] > 0.5
    assert not model.certificate.valid and NOT_PRIVATE in model.certificate.void_reasons
    assert not model.private and model.fitted.plan.epsilon == float("inf")


def test_shards_grow_with_epsilon_and_stay_between_their_limits():
    """k by epsilon: the least noise that a share needs decides how many teachers there are."""
    counts = np.asarray([40_000.0, 40.0])
    rows = [rows_by_noise(counts, mu) for mu in (1e-4, 0.02, 0.2, 50.0)]
    assert (np.diff(np.stack(rows), axis=0) >= 0).all()
    assert rows[0].tolist() == [FEWEST_ROWS, FEWEST_ROWS] and rows[-1].tolist() == [MOST_ROWS, 40.0]
    assert rows[1][0] == pytest.approx(0.02 * 0.02 * 40_000)


def teachers(epsilon):
    note = next(
        n
        for n in PateGan(epsilon=epsilon, rows_per_teacher=None, votes_share=0.1).plan(SCHEMA, rows=40_000).notes
        if n.startswith("about")
    )
    return int(note.split()[1].replace(",", ""))


def test_the_plan_says_how_many_teachers_epsilon_asks_for():
    assert teachers(0.5) > teachers(3.0) > teachers(30.0) > 100
    fixed = PateGan(epsilon=3.0, rows_per_teacher=None, votes_share=0.1, teachers=7).plan(SCHEMA, rows=40_000)
    assert any("about 7 teachers" in note for note in fixed.notes)


def test_a_wasserstein_student_ranks_rows_as_the_votes_do_and_noise_averages_out():
    """Its loss is linear in the answers, like cross-entropy: the mean over noisy answers is the loss of the mean."""
    rng = np.random.default_rng(0)
    rows = jnp.asarray(rng.normal(size=(2, 40, 3)), jnp.float32)
    shares = jax.nn.sigmoid(rows[..., 0])
    student, trust = student_init(jax.random.key(0), 3, 2, 4), jnp.ones((2, 1))
    for loss in (critic_loss, student_loss):
        slope = jax.grad(loss)(student, rows, shares, trust)
        assert slope["direct"][0, 0] < 0 and abs(slope["direct"][0, 1]) < -0.5 * slope["direct"][0, 0]
        both = [loss(student, rows, shares + 0.5 * sign, trust) for sign in (rows[..., 1], -rows[..., 1])]
        assert np.mean(both) == pytest.approx(float(loss(student, rows, shares, trust)), abs=1e-5)


def test_a_fit_with_a_wasserstein_student_has_the_same_price_and_comes_back(tmp_path):
    options = {"rounds": 2, "teachers": 40, "seed": 0, "start": "none"}
    made = PateGan(student="wasserstein", **options).fit(table(), SCHEMA)
    assert made.fitted.plan.charges == PateGan(**options).plan(SCHEMA).charges
    again = us.load(made.save(tmp_path / "model"))
    assert again.generator.student == "wasserstein" and VOTES in again.plan.parameters["noise"]
    assert again.sample(5, seed=1).equals(made.sample(5, seed=1))
