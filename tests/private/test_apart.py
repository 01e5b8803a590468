"""Rounds that run one by one with rows that are elsewhere."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from understudy.conversation import Silent
from understudy.private.apart import Apart
from understudy.private.rounds import keys_of_rounds


@dataclass(frozen=True)
class Telling(Silent):
    """A generator that asks with its own key, so that one sees which it was given."""

    def query(self, state, key):
        return jax.random.key_data(key)

    def init(self, key, hints):
        raise AssertionError("not asked for here")

    sampler = to_dict = mismatch = init


class Listening(Apart):
    """Nobody's rows; what was asked is written down, and which key the generator learns with."""

    def __init__(self):
        self.heard = []

    def _employ(self, mechanism, width, folder, engine):
        raise AssertionError("not asked for here")

    def _count(self, query, noise):
        self.heard.append((np.asarray(query).tolist(), int(noise)))
        return np.zeros(1, np.int64)

    def _learn(self, generator, common, state, query, counts, noise, key):
        return common, state, {"key": jax.random.key_data(key)}


def test_a_generator_gets_the_public_keys_of_its_rounds_and_never_a_secret_one():
    secret, public, tape = jax.random.key(1), jax.random.key(2), jnp.asarray([5, 7])
    one = Listening()
    _, _, infos = one._run(Telling(), None, (), (), tape, secret, public)
    keys = keys_of_rounds(secret, public, 2)[1]
    wanted = [jax.random.key_data(jax.random.split(key)[0]).tolist() for key in keys]
    assert one.heard == list(zip(wanted, [5, 7], strict=True))
    assert infos["key"].tolist() == jax.random.key_data(keys).tolist()
    for other in (secret, *keys_of_rounds(secret, public, 2)[0]):
        assert jax.random.key_data(jax.random.split(other)[0]).tolist() not in wanted
