"""Units in stripes: each is there once and whole, has a coin of its own, and sums are the same for any number of workers."""

import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from scipy import stats

from tests.gradients.test_mechanism import CLIP, WIDTH, answer, compiled_total, encoded, mechanism, weights
from understudy.engine import Refused
from understudy.errors import UsageError
from understudy.private import sampling, stream, unit_stripes
from understudy.private.apart import dealt, shares
from understudy.private.blocks import Blocks
from understudy.private.mapping import Block
from understudy.private.mechanisms.noisy_gradient import NoisyGradient
from understudy.private.noise import SecureNoise, SeededNoise
from understudy.private.sampling import by_unit, secrets_of_stripes
from understudy.private.unit_stripes import Owners, UnitDealer, units_of
from understudy.questions.rounds import GradientQuery

from .test_stripes import Several

ROWS, STRIPES, ROUNDS = 500, 6, 3


def subject(kind=NoisyGradient, **changes):
    return mechanism(kind, **({"stripes": STRIPES} | changes))


def query(seed=0):
    return GradientQuery(jnp.int32(0), (weights(seed),))


def table(per_unit=1, blocks=3):
    """Rows in several blocks of whole units, numbered from 0 in each."""
    rows, classes = encoded(ROWS)
    cuts = [per_unit * round(at / per_unit) for at in np.linspace(0, ROWS, blocks + 1)[:-1]] + [ROWS]
    found = [
        Block(rows[a:b], classes[a:b], None if per_unit == 1 else np.arange(b - a) // per_unit)
        for a, b in itertools.pairwise(cuts)
    ]
    return Blocks(tuple(lambda block=block: iter((block,)) for block in found), WIDTH, per_unit == 1)


def tape(rounds=ROUNDS):
    return stream.secrets_of_rounds(rounds, SeededNoise(0))


def sums(ensemble, engine, between=lambda number: None, per_unit=1):
    owners = Owners(ensemble, WIDTH, None, engine)
    try:
        owners.deal_out(table(per_unit))
        found = []
        for number, secret in enumerate(tape()):
            between(number)
            found.append(owners.add_up(query(number), secret))
        return np.asarray(found)
    finally:
        owners.close()


@pytest.mark.parametrize("per_unit", [1, 3])
def test_sums_are_the_same_for_any_number_of_workers(per_unit):
    expected = sums(subject(per_unit=per_unit), Several(1), per_unit=per_unit)
    assert expected.dtype == np.int64 and expected.shape[0] == ROUNDS and (expected != 0).any(axis=1).all()
    for workers in (2, 4, 9):
        np.testing.assert_array_equal(sums(subject(per_unit=per_unit), Several(workers), per_unit=per_unit), expected)


@pytest.mark.parametrize("per_unit", [1, 3])
def test_the_sum_of_everybody_is_that_of_one_process(per_unit):
    """Whole numbers, so exactly, in whichever arrays units stand."""
    whole = jax.tree.map(jnp.asarray, by_unit(table(per_unit)))
    everybody = subject(sampling_rate=1.0, per_unit=per_unit)
    expected = np.asarray(compiled_total(everybody, whole, jnp.ones(whole.size.shape, bool)))
    np.testing.assert_array_equal(sums(everybody, Several(2), per_unit=per_unit)[0], expected)


def test_who_has_forgotten_reads_its_units_again():
    forget = lambda number: unit_stripes.KEPT.clear()  # noqa: E731
    np.testing.assert_array_equal(sums(subject(), Several(2), forget), sums(subject(), Several(1)))


def test_an_answer_is_the_sum_with_the_noise_of_one_process():
    """Told in stripes or in one process, the same sum gets the same noise, up to a step where programs round otherwise."""
    everybody, secret = subject(sampling_rate=1.0), jnp.asarray(tape()[0], jnp.int32)
    one = answer(everybody, jax.tree.map(jnp.asarray, by_unit(table())), query(), secret)
    total = jnp.asarray(sums(everybody, Several(2))[0], jnp.int32)
    other = jax.jit(everybody.with_noise)(total, query(), secret)
    step = CLIP / everybody.reach(len(total))
    np.testing.assert_allclose(other, one, rtol=0, atol=1.5 * step)
    assert np.median(np.abs(one - everybody.unscaled(total, CLIP))) > 100 * step


# -- dealing and coins ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("per_unit", [1, 3])
def test_every_unit_is_in_one_stripe_with_all_its_rows(tmp_path, per_unit):
    for task in enumerate(table(per_unit).parts):
        UnitDealer(tmp_path, STRIPES)(task)
    rows, classes = encoded(ROWS)
    expected = by_unit(Blocks.of(rows, classes, None if per_unit == 1 else np.arange(ROWS) // per_unit))
    wanted = sorted(
        rows[a : a + n].tobytes() + classes[a : a + n].tobytes() for a, n in zip(*expected[2:], strict=True)
    )
    found = []
    for number in range(STRIPES):
        own = units_of(tmp_path, number, STRIPES, WIDTH)
        there = [slice(a, a + n) for a, n in zip(own.first, own.size, strict=True) if n]
        found += [own.rows[at].tobytes() + own.classes[at].tobytes() for at in there]
        assert abs(len(there) - len(wanted) / STRIPES) <= 3  # blocks of whole units, each dealt in turn
    assert sorted(found) == wanted
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


def test_coins_are_words_of_a_stream_that_the_noise_has_no_part_in():
    """A stripe's key is a block of the round's stream, of its own and beyond the noise: against the block function."""
    secret = tape(1)[0]
    found = secrets_of_stripes(secret, 5)
    key = jnp.asarray(secret.astype(np.int32).view(np.uint32))
    blocks = np.asarray(stream.chacha20(key, jnp.asarray(sampling.FIRST_COIN + np.arange(5), jnp.uint32)))
    np.testing.assert_array_equal(found.astype(np.int32).view(np.uint32), blocks[:, : stream.WORDS])
    assert len({tuple(one) for one in found.tolist()}) == 5 and stream.normal_words(1 << 22) // 16 < sampling.FIRST_COIN


def counted_in(rate=0.3, units=2000, rounds=30, stripes=4):
    """How often each unit of each stripe took part: [rounds, stripes, units]."""
    secrets = [secrets_of_stripes(secret, stripes) for secret in stream.secrets_of_rounds(rounds, SecureNoise())]
    drawn = lambda secret: mechanism(sampling_rate=rate).chosen(stream.words(secret, units))  # noqa: E731
    return np.asarray(jax.jit(jax.vmap(jax.vmap(drawn)))(jnp.asarray(secrets, jnp.int32))), rate


def odd_coins(coins, rate):
    """Too many or few heads, or agreement between stripes, rounds or neighbours; each fails by chance below 1e-7."""
    low, high = stats.binom.ppf([5e-8, 1 - 5e-8], coins.size, rate)
    found = ["heads"] * (not low <= coins.sum() <= high)
    for name, one, other in (
        ("stripes", coins[:, 1:], coins[:, :-1]),
        ("rounds", coins[1:], coins[:-1]),
        ("units", coins[..., 1:], coins[..., :-1]),
    ):
        product = ((one - rate) * (other - rate)).sum() / (rate * (1 - rate) * np.sqrt(one.size))
        found += [name] * bool(abs(product) > 5.6)
    return found


def test_coins_are_independent_over_units_stripes_and_rounds():
    assert odd_coins(*counted_in()) == []


def test_one_key_for_all_stripes_is_caught(monkeypatch):
    """Mutant: units of the same place in every stripe take part together."""
    right = secrets_of_stripes
    same = lambda secret, stripes: np.repeat(right(secret, 1), stripes, axis=0)  # noqa: E731
    monkeypatch.setitem(globals(), "secrets_of_stripes", same)
    assert odd_coins(*counted_in()) == ["stripes"]


# -- mutants -------------------------------------------------------------------------------------------------------------


def test_a_stripe_that_is_counted_twice_is_caught(monkeypatch):
    """Mutant: the first stripe is with two workers, and both are added up: one unit could move the sum by 2 C."""
    right = sums(subject(), Several(2))
    twice = lambda stripes, workers: [(0, *own) if at else own for at, own in enumerate(shares(stripes, workers))]  # noqa: E731
    monkeypatch.setattr(unit_stripes, "shares", twice)
    assert (sums(subject(), Several(2)) != right).any(axis=1).all()


class NoiseByEveryWorker(NoisyGradient):
    """Mutant: workers add the noise, each its own, so that there is more of it the more stripes there are."""

    def added(self, data, secret, query):
        noise = stream.normals(stream.words(secret, stream.normal_words(18), 1 << 20), 18)
        return super().added(data, secret, query) + jnp.round(self.sigma * self.levels * noise).astype(jnp.int32)


def test_noise_drawn_by_workers_is_caught():
    """Sums of nobody are zero before the curator's noise; the mutant's are not."""
    assert ravel_pytree(weights())[0].shape == (18,)
    for kind, silent in ((NoisyGradient, True), (NoiseByEveryWorker, False)):
        assert (sums(subject(kind, sampling_rate=0.0), Several(2)) == 0).all() == silent


@pytest.mark.parametrize(
    "reply",
    [np.zeros(17, np.int64), np.zeros(18), np.full(18, np.nan), np.zeros(18, np.int32), None],
    ids=["shape", "floats", "nan", "short", "nothing"],
)
def test_sums_that_cannot_be_are_refused(reply, monkeypatch):
    monkeypatch.setattr(unit_stripes, "serve", lambda turn: reply)
    with pytest.raises(Refused):
        sums(subject(), Several(2))


def test_a_turn_shows_no_key():
    turn = unit_stripes.Turn(Path(), subject(), WIDTH, (0,), tape(1), query())
    assert "secrets" not in repr(turn) and str(tape(1)[0][0]) not in repr(turn)


def test_a_worker_that_does_not_see_the_files_says_so(tmp_path):
    """On another machine, without a shared folder, it would add nobody's gradients."""
    with pytest.raises(UsageError, match="storage that all machines share"):
        list(dealt(tmp_path / "gone", 0, 1, np.dtype("<i4")))
