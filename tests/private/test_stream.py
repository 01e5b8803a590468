"""The secret stream: RFC 8439's own vectors, coins of the right probability, normal numbers of the right size."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from understudy.private import stream
from understudy.private.noise import SecureNoise, SeededNoise

KEY = bytes(range(32))


def block(key: bytes, nonce: bytes, counter: int) -> bytes:
    secret = jnp.asarray(np.frombuffer(key + nonce, np.uint32))
    return np.asarray(stream.chacha20(secret, jnp.asarray([counter], jnp.uint32)))[0].astype("<u4").tobytes()


@pytest.mark.parametrize(
    ("key", "nonce", "counter", "expected"),
    [
        # RFC 8439, Section 2.3.2
        (
            KEY,
            "000000090000004a00000000",
            1,
            "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
            "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
        ),
        # RFC 8439, Appendix A.1, test vectors 1, 2 and 4
        (
            bytes(32),
            "00" * 12,
            0,
            "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
            "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
        ),
        (
            bytes(32),
            "00" * 12,
            1,
            "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
            "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
        ),
        (
            b"\x00\xff" + bytes(30),
            "00" * 12,
            2,
            "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
            "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
        ),
    ],
    ids=["2.3.2", "A.1-1", "A.1-2", "A.1-4"],
)
def test_block_function_against_the_standard(key, nonce, counter, expected):
    assert block(key, bytes.fromhex(nonce), counter).hex() == expected


def test_blocks_follow_each_other():
    secret = jnp.asarray(np.frombuffer(KEY + bytes(12), np.int32))
    words = np.asarray(stream.words(secret, 40))
    assert words[16:32].astype("<u4").tobytes() == block(KEY, bytes(12), 1)
    assert len(words) == 40


def fresh(count):
    """Words under a fresh key of the operating system, so that repeated runs are independent."""
    return stream.words(jnp.asarray(stream.secrets_of_rounds(1, SecureNoise())[0], jnp.int32), count)


def test_every_round_has_a_key_of_its_own():
    tape = stream.secrets_of_rounds(50, SecureNoise())
    assert tape.shape == (50, stream.WORDS) and len({row.tobytes() for row in tape}) == 50
    assert tape.min() >= -(2**31) and tape.max() < 2**31  # what the compiled program reads as 32 bits
    assert np.array_equal(stream.secrets_of_rounds(3, SeededNoise(1)), stream.secrets_of_rounds(3, SeededNoise(1)))
    assert not np.array_equal(tape, stream.secrets_of_rounds(50, SecureNoise()))


@pytest.mark.parametrize("rate", [0.01, 0.37])
def test_coins_show_heads_at_the_rate(rate):
    """False failure 4e-7. A rate that is 20 % too high passes with probability below 1e-6 (asserted)."""
    n = 400_000
    heads = int(stream.coins(fresh(n), rate).sum())
    low, high = stats.binom.ppf([2e-7, 1 - 2e-7], n, rate)
    assert low <= heads <= high
    assert stats.binom.cdf(high, n, 1.2 * rate) < 1e-6


def test_coins_at_the_ends():
    bits = jnp.asarray([0, 1, 2**32 - 1], jnp.uint32)
    assert stream.coins(bits, 1.0).all()
    assert not stream.coins(bits, 2.0**-33).any()
    assert stream.coins(bits, 2.0**-32).tolist() == [True, False, False]


def test_normals_have_the_standard_scale():
    """False failure 9e-7 for scale, shape and pairs together. A scale that is 2 % off passes with probability below 1e-6."""
    n, alpha = 400_000, 4e-7
    draws = np.asarray(jax.jit(lambda bits: stream.normals(bits, n))(fresh(stream.normal_words(n))), np.float64)
    low, high = stats.chi2.ppf([alpha / 2, 1 - alpha / 2], n)
    assert low < (draws**2).sum() < high
    assert stats.chi2.cdf(high / 1.02**2, n) < 1e-6 and stats.chi2.sf(low / 0.98**2, n) < 1e-6
    assert stats.kstest(draws, "norm").pvalue > alpha
    halves = draws[: n // 2] * draws[n // 2 :]  # the two numbers of a pair are uncorrelated
    assert abs(halves.mean()) < 5.5 / np.sqrt(n // 2)


def test_normals_keep_their_tails():
    """The rarest words give the largest numbers, finite, and the smallest are not lumped at zero."""
    smallest = np.asarray(stream.normals(jnp.asarray([0, 0, 0], jnp.uint32), 2))
    assert smallest[0] == pytest.approx(np.sqrt(2 * 65 * np.log(2)), rel=1e-5)
    largest = jnp.asarray([2**32 - 1, 2**32 - 1, 0], jnp.uint32)
    assert 0 < float(stream.normals(largest, 1)[0]) < 1e-9
    middle = stream.normals(jnp.asarray([2**31 - 1, 2**31, 0, 0, 0, 0], jnp.uint32), 4)
    assert np.isfinite(np.asarray(middle)).all() and float(middle[0]) == pytest.approx(float(middle[1]), rel=1e-5)
