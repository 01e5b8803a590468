"""Shadow fits are fits: side by side they compute what one after the other computes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from understudy.accounting import Ledger
from understudy.audit.shadow import Tables, groups, open_fit, sample_tables, shadow_fits
from understudy.audit.targets import OTHERS, made_up, record_pair, remote_rows
from understudy.audit.trace import Watched
from understudy.errors import UsageError
from understudy.fit import as_arrays, first_state, talk
from understudy.methods.gradients.presets import DpGan
from understudy.methods.marginals.independent import Independent
from understudy.methods.pate_gan.method import PateGan
from understudy.private import SeededNoise
from understudy.private.rounds import SideBySide, stack
from understudy.private.sampling import Units

TINY = {
    "rounds": 3,
    "judged": 4,
    "practice": 4,
    "votes_share": 0.1,
    "teacher_steps": 2,
    "student_steps": 2,
    "generator_steps": 1,
    "batch": 4,
}
TINY |= {"hidden": 4, "latent": 2, "student_hidden": 4, "teachers": 2}


def plan_of():
    return PateGan(**TINY).plan(made_up("worst-case").schema)


@pytest.fixture(scope="module")
def opened():
    pair, estimator, noise = made_up("worst-case"), PateGan(**TINY), SeededNoise(5)
    plan, tables = estimator.plan(pair.schema), Tables(pair.with_, pair.schema)
    return [open_fit(estimator, tables.fresh(), pair.schema, plan, noise, None) for _ in range(2)]


def test_rounds_together_equal_rounds_apart_and_every_fit_is_charged(opened):
    """Threefry keys, whose draws do not depend on the batch; answers and states agree up to rounding."""
    generator = opened[0].opening.generator
    capacities = {one.opening.mechanism.capacity for one in opened}
    assert len(capacities) == 2 and groups(opened) == [[0, 1]]
    keys = jax.random.split(jax.random.key(0), 2)
    hints = [jax.tree.map(lambda v: np.asarray(v, np.float32), one.opening.hints) for one in opened]
    states = [generator.init(key, hint) for key, hint in zip(keys, hints, strict=True)]
    both = SideBySide([one.conversation for one in opened])
    both.prepare(3)
    secrets = [one.conversation._secret_state() for one in opened]
    together, info = both.advance(generator, stack(states), keys).value
    ledgers = [one.conversation._ledger for one in opened]
    assert len({id(ledger) for ledger in ledgers}) == 2
    for ledger in ledgers:
        assert isinstance(ledger, Ledger) and "teacher votes" in {charge.purpose for charge in ledger.spent}
    for number, one in enumerate(opened):
        assert one.conversation.done == 3
        one.conversation._restore(secrets[number])
        apart, info_apart = one.conversation.advance(generator, states[number], keys[number]).value
        for name in info_apart:
            np.testing.assert_allclose(info[name][number], info_apart[name], rtol=1e-4, atol=1e-5)
        for many, single in zip(jax.tree.leaves(together), jax.tree.leaves(apart), strict=True):
            np.testing.assert_allclose(many[number], single, rtol=1e-3, atol=1e-4)


def test_a_watched_conversation_is_the_one_that_a_fit_holds(opened):
    """A trace runs the rounds one by one: after the same loop, with the same noise and keys, the states are the same."""
    one = opened[0]
    plain, generator = one.conversation, one.opening.generator
    plain._restore(plain._secret_state() | {"done": 0, "tape": None})
    plain.prepare(3)
    looked = []
    watched = Watched(
        one.opening.purpose, one.opening.mechanism, plain._data, plain._held, Ledger(plan_of()), SeededNoise(1)
    )
    watched._restore(plain._secret_state())
    watched.look = lambda done, before, after, noise, secret: looked.append(done)
    plain._ledger = Ledger(plan_of())
    key_init, key_rounds = jax.random.split(jax.random.key(3))
    start = first_state(generator, key_init, one.opening.hints)
    apart, history = talk(one.opening, watched, start, key_rounds, chunks=1)
    together, same = talk(one.opening, plain, start, key_rounds, chunks=1)
    assert looked == [0, 1, 2] and watched.done == plain.done == 3
    assert history.keys() == same.keys() and {len(values) for values in history.values()} == {3}
    for left, right in zip(
        jax.tree.leaves((apart, watched._held)), jax.tree.leaves((together, plain._held)), strict=True
    ):
        np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-4)
    moved = [not np.allclose(new, old) for new, old in zip(jax.tree.leaves(apart), jax.tree.leaves(start), strict=True)]
    assert any(moved)
    charged = [[charge.event for charge in talked._ledger.spent] for talked in (watched, plain)]
    assert charged[0] == charged[1] and charged[0]


def test_stacking_fills_up_with_nothing():
    joined = stack([np.ones((2, 3)), np.ones((2, 5))])
    assert joined.shape == (2, 2, 64) and joined.sum() == 16
    assert stack([np.ones((2, 3))] * 2).shape == (2, 2, 3)


def test_tables_look_like_samples():
    pair = made_up("person")
    fitted = shadow_fits(Independent(epsilon=50.0), pair.with_, pair.schema, 3, seed=1)
    tables = sample_tables(fitted, 50, seed=1)
    assert [list(table) for table in tables] == [["a", "b", "c", "who"]] * 3
    assert all(len(table) == 50 and set(np.unique(table[["a", "b", "c"]])) <= {0, 1} for table in tables)
    assert not tables[0].equals(tables[1])
    again = sample_tables(shadow_fits(Independent(epsilon=50.0), pair.with_, pair.schema, 3, seed=2), 50, seed=1)
    assert not again[0].equals(tables[0])


def test_pairs_are_neighbours():
    for name in ("worst-case", "lonely", "corner", "rare-class", "numeric", "labelled-corner"):
        pair = made_up(name)
        assert len(pair.with_) == len(pair.without) + 1
        assert pair.with_[: len(pair.without)].equals(pair.without)
    for name in ("person", "labelled-person"):
        person = made_up(name)
        assert person.with_["who"].nunique() == person.without["who"].nunique() + 1
    assert set(person.with_.loc[person.with_["who"] == OTHERS, "label"]) == {0, 1}
    for name in ("rare-person", "crowd", "alike"):
        pair = made_up(name)
        assert pair.with_[: len(pair.without)].equals(pair.without)
        target = pair.with_[len(pair.without) :]
        assert target["who"].nunique() == 1 and not target["who"].isin(pair.without["who"]).any()
        assert len(target) == pair.schema.max_rows_per_unit and len(target.drop_duplicates()) == 1
    with pytest.raises(UsageError, match="target"):
        made_up("nobody")


def test_the_record_furthest_from_the_others_is_found():
    pair = made_up("numeric")
    frame = pair.with_.sample(frac=1.0, random_state=0).reset_index(drop=True)
    where = int(np.flatnonzero(frame["a"] == 1)[0])
    assert remote_rows(frame, pair.schema, 1)[0] == where
    without = record_pair(frame, pair.schema, where).without
    assert len(without) == 4 and without["a"].sum() == 0


def test_spare_places_never_take_part():
    """The noisy gradient over units that were filled up with empty ones is the same: shapes do not depend on the target."""
    pair, noise = made_up("worst-case"), SeededNoise(5)
    estimator = DpGan(gradients_share=0.2, rounds=2, sampling_rate=0.5, hidden=4, critic_hidden=4, batch=8)
    one = open_fit(
        estimator, Tables(pair.with_, pair.schema).fresh(), pair.schema, estimator.plan(pair.schema), noise, None
    )
    filled = jax.tree.map(jnp.asarray, one.conversation._data)
    plain = Units(*(part[:5] for part in filled))
    assert filled.size.shape == (64,) and filled.size.sum() == plain.size.sum() == 5
    generator, mechanism, hints = one.opening.generator, one.opening.mechanism, as_arrays(one.opening.hints)

    @jax.jit
    def ask(data, secret):
        query = generator.query(generator.init(jax.random.key(0), hints), jax.random.key(1))
        return mechanism.answer(data, (), query, secret, jax.random.key(2))[1]

    one.conversation.prepare(2)
    for secret in jnp.asarray(one.conversation._tape, jnp.int32):
        np.testing.assert_allclose(ask(plain, secret), ask(filled, secret), atol=1e-5)
