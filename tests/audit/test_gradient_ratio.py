"""The likelihood ratio of noisy gradients, on sums whose distribution is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.audit.attacks.gradient_ratio import WatchedGradient
from understudy.private import SeededNoise
from understudy.private.blocks import Blocks
from understudy.private.mechanisms.noisy_gradient import NoisyGradient
from understudy.questions.rounds import GradientQuery

ROUNDS = 2000
SIGMA = 2.0


def product(weights, row, label):
    """Its gradient is the row itself, which is longer than the clip and so counts with length 1."""
    return (weights * row).sum()


def ratios(rate, secret, others=0):
    rows = np.asarray([[0.0, 3.0]] * others + [[3.0, 4.0]], np.float32)
    sides = [Blocks.of(part, np.zeros(len(part), np.int32)) for part in (rows[:others], rows)]
    watched = WatchedGradient(NoisyGradient((product,), (1.0,), rate, SIGMA, 8), tuple(sides))
    noise = SeededNoise(10 * others + secret)
    data, _ = watched.prepare(sides[secret], noise)
    query = GradientQuery(jnp.zeros((), jnp.int32), (jnp.ones(2),))

    @jax.jit
    def ask(data, tape):  # rows are no constants of the program: it is the same for both sides
        return jax.vmap(lambda words: watched.answer(data, (), query, words, jax.random.key(0))[1][1])(tape)

    tape = jnp.asarray(watched.tape(ROUNDS, noise), jnp.int32)
    return np.asarray(ask(jax.tree.map(jnp.asarray, data), tape), np.float64)


@pytest.mark.parametrize("others", [0, 3])
def test_with_everybody_in_the_sample_it_is_that_of_gaussian_noise(others):
    """mu = 1 / sigma: means -+mu^2 / 2 within five standard errors, deviation mu within a tenth."""
    mu = 1.0 / SIGMA
    for secret in (0, 1):
        found = ratios(1.0, secret, others)
        assert found.mean() == pytest.approx((2 * secret - 1) * mu**2 / 2, abs=5 * mu / np.sqrt(ROUNDS))
        assert found.std() == pytest.approx(mu, rel=0.1)


def test_in_a_sample_it_is_a_likelihood_ratio():
    """A ratio p / p' has mean 1 under p', and its inverse under p; five standard errors. A larger one has not."""
    without, with_ = ratios(0.3, 0), ratios(0.3, 1)
    for value in (np.exp(without), np.exp(-with_)):
        assert value.mean() == pytest.approx(1.0, abs=5 * value.std() / np.sqrt(ROUNDS))
        assert value.std() < 0.5  # of the order of q times the spread without sampling
    larger = np.exp(-with_ / 0.3)
    assert abs(larger.mean() - 1.0) > 5 * larger.std() / np.sqrt(ROUNDS)
