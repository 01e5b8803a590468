"""Joint votes as a method: it learns where rows are from votes alone, pays for nothing else, and noise alone moves nothing."""

import dp_accounting as dpa
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import understudy as us
from understudy.methods.pate_gan.generator_joint import JointGenerator, ridge
from understudy.methods.pate_gan.joint import VOTES, PateGanJoint
from understudy.schema import Codec, Column, Schema

SCHEMA = Schema(
    columns=(
        Column(name="a", kind="continuous", lower=-1000, upper=1000),
        Column(name="b", kind="continuous", lower=-1000, upper=1000),
        Column(name="c", kind="boolean"),
        Column(name="y", kind="categorical", categories=("no", "yes")),
    ),
    label="y",
)


def table(rows=1500):
    """Far inside wide public bounds: classes differ in a mean, in a spread and in a rate."""
    rng = np.random.default_rng(0)
    yes = rng.random(rows) < 0.4
    a = rng.normal(np.where(yes, 200.0, 0.0), 60.0)
    b = rng.normal(0.0, np.where(yes, 200.0, 50.0))
    c = rng.random(rows) < np.where(yes, 0.8, 0.3)
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": np.where(yes, "yes", "no")})


def test_votes_alone_find_where_the_rows_are():
    """From anywhere between the bounds (deviation 577) to means, spreads and rates of both classes. At epsilon 30 their error by
    noise is below 0.04 deviations; limits are six times that and more (false failure < 1e-6)."""
    made = PateGanJoint(epsilon=30.0, seed=0).fit(table(), SCHEMA)
    drawn = made.sample(4000, seed=1)
    for of, mean, spread, rate in (("yes", 200.0, 200.0, 0.8), ("no", 0.0, 50.0, 0.3)):
        own = drawn[drawn["y"] == of]
        assert own["a"].mean() == pytest.approx(mean, abs=30.0)
        assert own["b"].std() == pytest.approx(spread, rel=0.35)
        assert own["c"].mean() == pytest.approx(rate, abs=0.15)
    signal = made.model_.history["signal"]
    assert signal[0] > 10.0 > signal[-1], "what is left to learn shrinks"


def test_nothing_is_paid_for_but_votes_and_the_class_histogram():
    plan = PateGanJoint(rounds=7).plan(SCHEMA, rows=1500)
    assert [charge.purpose for charge in plan.charges] == ["class histogram", VOTES]
    sigma = plan.parameters["noise"][VOTES]
    assert plan.charges[1].event == dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(sigma), 7)
    assert 24.0 < plan.parameters["noise"]["class histogram"] < 28.0
    assert any("of a standard deviation" in note for note in plan.notes)
    assert len(PateGanJoint(start="moments").plan(SCHEMA).charges) > 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judged": 1}, "judged=1 must lie between"),
        ({"judged": 5000}, "judged=5000 must lie between"),
        ({"norm": 0.0}, "norm=0.0 must be a number greater than 0"),
    ],
)
def test_options_that_cannot_work_are_refused(options, message):
    with pytest.raises(us.UsageError, match=message.replace(".", r"\.")):
        PateGanJoint(**options).plan(SCHEMA)


def test_a_student_of_noise_alone_says_little_and_one_of_clear_answers_is_right():
    """Of noise alone the student makes a third of what plain least squares would, or less; clear answers it gets right."""
    rng, student = np.random.default_rng(0), jax.jit(ridge)
    judged, true = rng.normal(size=(60, 20)), np.linspace(-1.0, 1.0, 20)
    clear, signal = student(jnp.asarray(judged), jnp.asarray(judged @ true), jnp.asarray(1e-3))
    assert np.allclose(clear, true, atol=0.02) and signal > 100.0
    rounds = rng.normal(size=(10, 60))
    noise = [student(jnp.asarray(judged), jnp.asarray(one), jnp.asarray(1.0))[0] for one in rounds]
    plain = [np.linalg.lstsq(judged, one)[0] for one in rounds]
    length = lambda many: np.mean([np.linalg.norm(one) for one in many])  # noqa: E731
    assert length(noise) < length(plain) / 3.0


def test_models_that_say_settle_for_whole_steps_can_be_read():
    codec, settings = Codec(SCHEMA), {"judged": 64, "practice": 8, "teacher_steps": 1, "batch": 8}
    before, now = (JointGenerator.from_dict(settings | {name: 5}, codec) for name in ("settle", "whole_steps"))
    assert before == now
    assert now.to_dict() == settings | {"whole_steps": 5}
