"""Samples drawn from a table that is streamed: every unit's own coin in every round, whole units, nobody else.

The wrong versions are kept as mutants; the same check must reject each.
"""

import itertools
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from understudy.accounting import Ledger
from understudy.accounting.events import flatten
from understudy.accounting.ledger import charges_in, entries_from_dict
from understudy.errors import UsageError
from understudy.fit import fit
from understudy.private import sampling, stream, table, units
from understudy.private.blocks import Blocks
from understudy.private.mapping import Block
from understudy.private.mechanisms import noisy_gradient
from understudy.private.noise import SecureNoise
from understudy.private.sampling import by_unit, gather
from understudy.questions.rounds import GradientQuery

from ..conformance.tables import GENERATORS, mixed_schema, mixed_table
from .test_mechanism import CLIP, compiled_total, encoded, mechanism, weights

SIZES = (
    900,
    1,
    0,
    1500,
    1024,
    37,
)  # units of the blocks: fewer and more than a program's places, none, exactly as many
UNITS = sum(SIZES)


def streamed(sizes=SIZES, most=1):
    """Unit u has 1 + u mod `most` rows (u, place); blocks number their units from 0."""
    blocks, first = [], 0
    for size in sizes:
        number = np.repeat(np.arange(size), 1 + np.arange(first, first + size) % most)
        place = np.arange(len(number)) - np.searchsorted(number, number)
        rows = np.stack([number + first, place], axis=1).astype(np.float32)
        blocks.append(Block(rows, (number + first).astype(np.int32) % 3, None if most == 1 else number))
        first += size
    return Blocks(tuple(lambda block=block: iter((block,)) for block in blocks), 2, most == 1)


def tape_of(rounds):
    return stream.secrets_of_rounds(rounds, SecureNoise())


def taken(draw, rounds, rate, sizes=SIZES):
    """Who takes part, [rounds, all units of the table], with those who never do."""
    data, members = draw(streamed(sizes), tape_of(rounds), rate)
    real = data.size > 0
    found = np.zeros((rounds, sum(sizes)), bool)
    found[:, data.rows[data.first[real], 0].astype(int)] = members[:, real] > 0
    return found


# -- who is there ------------------------------------------------------------------------------------------------------


def stray_rows(draw, most, rate):
    """Units of a sample whose rows are not all their own and all there, and places that hold nobody but take part."""
    data, members = draw(streamed(most=most), tape_of(3), rate)
    wrong = 0
    for unit in range(len(data.size)):
        own = data.rows[data.first[unit] : data.first[unit] + data.size[unit]]
        classes = data.classes[data.first[unit] : data.first[unit] + data.size[unit]]
        if len(own) == 0:
            wrong += bool(members[:, unit].any())
        else:
            number = int(own[0, 0])
            whole = [[number, place] for place in range(1 + number % most)]
            wrong += own.tolist() != whole or (classes != number % 3).any() or not members[:, unit].any()
    numbers = data.rows[data.first[data.size > 0], 0]
    return wrong + len(numbers) - len(set(numbers.tolist()))


def rows_cut_off(blocks, tape, rate):
    """Mutant: a unit comes with its first row alone."""
    data, members = gather(blocks, tape, rate)
    return data._replace(size=np.minimum(data.size, 1)), members


def neighbours_rows(blocks, tape, rate):
    """Mutant: units begin where others do."""
    data, members = gather(blocks, tape, rate)
    return data._replace(first=np.roll(data.first, 1)), members


def padding_takes_part(blocks, tape, rate):
    """Mutant: spare places take part."""
    data, members = gather(blocks, tape, rate)
    return data, np.where(data.size > 0, members, 1)


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("rate", [0.05, 1.0])
def test_a_sample_holds_all_rows_of_its_units_and_no_others(most, rate):
    assert stray_rows(gather, most, rate) == 0


@pytest.mark.parametrize("mutant", [rows_cut_off, neighbours_rows, padding_takes_part])
def test_wrong_samples_are_caught(mutant):
    assert stray_rows(mutant, 3, 0.05) > 0


@pytest.mark.parametrize("sizes", [(), (0,), (0, 0)])
def test_a_table_of_nobody_gives_places_of_nobody(sizes):
    data, members = gather(streamed(sizes), tape_of(2), 0.5)
    assert len(data.size) > 0 and not data.size.any() and not members.any()


@pytest.mark.parametrize("length", [0, 1, 1022, 1023, 1024, 5000, 40_000])
def test_padding_adds_a_place_at_least(length):
    longer = sampling.padded(np.ones((length, 2)))
    assert len(longer) > length and not longer[length:].any() and len(longer) <= 1.2 * length + 1025


# -- coins -------------------------------------------------------------------------------------------------------------


def test_a_coin_is_a_word_of_its_own_below_the_rate():
    """Against the block function, which is tested by the standard's vectors: heads where the word is below floor(q 2^32)."""
    rate, tape = 0.3, tape_of(2)
    data, members = gather(streamed(), tape, rate)
    found = np.zeros((2, UNITS), bool)
    found[:, data.rows[data.first[data.size > 0], 0].astype(int)] = members[:, data.size > 0]
    counters, at = [], 2**31
    for size in SIZES:
        places = np.arange(size)
        counters.append(np.stack([at + places // 16, places % 16]))
        at += sampling.coin_places(size) // 16
    block, word = np.concatenate(counters, axis=1)
    assert len(set(zip(block, word, strict=True))) == UNITS  # no word twice
    assert block.min() >= 2**31 > stream.normal_words(10**9) // 16 and block.max() < 2**32  # none of the noise's
    for number in range(2):
        secret = jnp.asarray(tape[number].astype(np.int32).view(np.uint32))
        words = np.asarray(stream.chacha20(secret, jnp.asarray(block, jnp.uint32)))[np.arange(UNITS), word]
        np.testing.assert_array_equal(found[number], words < int(rate * 2**32))


@pytest.mark.parametrize("units", [0, 1, 1023, 1024, 1025, 65_536, 65_537, 10**6])
def test_coins_are_drawn_for_whole_blocks_of_the_stream(units):
    places = sampling.coin_places(units)
    assert places >= max(units, 1) and places % 16 == 0


def test_the_counter_never_comes_round_to_the_noise(monkeypatch):
    """1,024 coins are 64 blocks: with room for 128 a third block of units would take the words of the first noise."""
    monkeypatch.setattr(sampling, "END_OF_STREAM", sampling.FIRST_COIN + 128)
    gather(streamed((5, 1024)), tape_of(1), 0.5)
    for sizes in ((5, 5, 5), (5, 1025)):
        with pytest.raises(RuntimeError, match="longer counter"):
            gather(streamed(sizes), tape_of(1), 0.5)
    assert sampling.FIRST_COIN + 64 * 2**25 == 2**32


RATE, ROUNDS = 0.05, 60


def oddities(coins):
    """What is not as with independent coins of probability RATE: the number of heads, its spread over rounds and over units, and
    how often two units of different blocks, or one unit in two rounds, agree. False failure of all together below 1e-6:
    1e-7 for heads (exact), 1e-7 for rounds (chi-square), 7 deviations for the rest (below 1e-9 each, normal approximation).
    """
    n, v, odd = coins.size, RATE * (1 - RATE), []
    low, high = stats.binom.ppf([5e-8, 1 - 5e-8], n, RATE)
    odd += ["heads"] * (not low <= coins.sum() <= high)
    of_round = ((coins.sum(axis=1) - RATE * UNITS) ** 2).sum() / (UNITS * v)
    odd += ["rounds"] * (not stats.chi2.ppf(5e-8, ROUNDS) < of_round < stats.chi2.isf(5e-8, ROUNDS))
    of_unit = ((coins.sum(axis=0) - RATE * ROUNDS) ** 2 / (ROUNDS * v)).sum()
    spread = np.sqrt(UNITS * (2 + (1 - 6 * v) / (ROUNDS * v)))
    odd += ["units"] * bool(abs(of_unit - UNITS) > 7 * spread)
    blocks = np.split(coins - RATE, np.cumsum(SIZES)[:-1], axis=1)
    pairs = [(one[:, :900], other[:, :900]) for one, other in ((blocks[0], blocks[3]), (blocks[3], blocks[4]))]
    pairs.append((coins[1:] - RATE, coins[:-1] - RATE))
    odd += ["pairs"] * any(abs((one * other).sum()) > 7 * v * np.sqrt(one.size) for one, other in pairs)
    return odd


def test_coins_are_independent_over_units_and_rounds():
    assert oddities(taken(gather, ROUNDS, RATE)) == []


def begin_anew(secrets, first_block, count, rate, right=stream.coins_of_rounds):
    """Mutant: the coins of every block of units are those of the first."""
    return right(secrets, np.uint32(sampling.FIRST_COIN), count, rate)


def one_key(secrets, first_block, count, rate, right=stream.coins_of_rounds):
    """Mutant: the same sample in every round."""
    return right(jnp.broadcast_to(secrets[:1], secrets.shape), first_block, count, rate)


def too_often(secrets, first_block, count, rate, right=stream.coins_of_rounds):
    """Mutant: a rate that is a fifth too high."""
    return right(secrets, first_block, count, 1.2 * rate)


@pytest.mark.parametrize(("mutant", "sign"), [(begin_anew, "pairs"), (one_key, "units"), (too_often, "heads")])
def test_wrong_coins_are_caught(monkeypatch, mutant, sign):
    monkeypatch.setattr(stream, "coins_of_rounds", mutant)
    assert sign in oddities(taken(gather, ROUNDS, RATE))


def test_batches_of_a_fixed_size_are_caught():
    rng = np.random.default_rng(0)
    batches = np.stack([rng.permutation(UNITS) < round(RATE * UNITS) for _ in range(ROUNDS)])
    assert "rounds" in oddities(batches)


# -- answers -----------------------------------------------------------------------------------------------------------


def pair(per_unit):
    """The same rows held and streamed in four blocks of whole units."""
    rows, classes = encoded()
    number = np.arange(len(rows)) // per_unit
    cuts = [0, 3 * per_unit, 3 * per_unit, 8 * per_unit, len(rows)]
    blocks = [
        Block(rows[a:b], classes[a:b], None if per_unit == 1 else number[a:b] - number[min(a, len(rows) - 1)])
        for a, b in itertools.pairwise(cuts)
    ]
    parts = tuple(lambda block=block: iter((block,)) for block in blocks)
    return Blocks.of(rows, classes, None if per_unit == 1 else number), Blocks(parts, rows.shape[1], per_unit == 1)


@partial(jax.jit, static_argnums=0)
def answered(subject, data, noise):
    return subject.answer(data, (), GradientQuery(jnp.int32(0), (weights(),)), noise, jax.random.key(0))[1]


@pytest.mark.parametrize("per_unit", [1, 3])
def test_a_streamed_answer_is_the_held_one(per_unit):
    """Everybody takes part and the noise is the same words, so answers agree to a step of their grid."""
    held, parts = pair(per_unit)
    subject, tape = mechanism(sampling_rate=1.0, per_unit=per_unit), tape_of(2)
    data, noise = subject.gather(parts, tape)
    assert noise.dtype == np.int32 and (noise[:, : stream.WORDS] == tape).all()
    for number in range(2):
        one = answered(subject, jax.tree.map(jnp.asarray, by_unit(held)), jnp.asarray(tape[number], jnp.int32))
        other = answered(subject, jax.tree.map(jnp.asarray, data), jnp.asarray(noise[number], jnp.int32))
        np.testing.assert_allclose(other, one, atol=1.5 * subject.sigma * CLIP / 1024)


def test_a_streamed_sum_is_that_of_the_units_chosen():
    """At a rate below 1, round by round; and a unit more in the sample shows, so that the comparison means something."""
    held, parts = pair(3)
    subject, data = mechanism(sampling_rate=0.4, per_unit=3), jax.tree.map(jnp.asarray, by_unit(held))
    sample, noise = subject.gather(parts, tape_of(3))
    real = np.flatnonzero(sample.size > 0)
    rows = np.asarray(held.gathered().rows)
    unit = [int(np.flatnonzero((rows == sample.rows[sample.first[u]]).all(axis=1))[0]) // 3 for u in real]
    sample = jax.tree.map(jnp.asarray, sample)
    for members in noise[:, stream.WORDS :]:
        chosen = np.zeros(data.size.shape, bool)
        chosen[np.asarray(unit, int)[members[real] > 0]] = True
        expected = np.asarray(compiled_total(subject, data, jnp.asarray(chosen)))
        found = compiled_total(subject, sample, jnp.asarray(members > 0))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
        chosen[0] = ~chosen[0]
        assert not np.allclose(expected, compiled_total(subject, data, jnp.asarray(chosen)), atol=1e-3)


def test_places_of_nobody_add_nothing_even_if_chosen():
    _, parts = pair(3)
    subject = mechanism(sampling_rate=1.0, per_unit=3)
    data, noise = subject.gather(parts, tape_of(1))
    data, members = jax.tree.map(jnp.asarray, data), noise[0, stream.WORDS :] > 0
    right = compiled_total(subject, data, jnp.asarray(members))
    np.testing.assert_array_equal(compiled_total(subject, data, jnp.ones(members.shape, bool)), right)
    filled = data._replace(size=jnp.maximum(data.size, 1))  # mutant: the place of nobody holds the first row
    assert not np.allclose(compiled_total(subject, filled, jnp.ones(members.shape, bool)), right, atol=1e-3)


# -- fits --------------------------------------------------------------------------------------------------------------

BY_ROW, BY_PERSON = mixed_schema("sick"), mixed_schema("sick", unit="who", max_rows_per_unit=2)


def persons():
    return mixed_table().assign(who=np.arange(60) // 2 + 7_000)


def spread_everything(monkeypatch):
    monkeypatch.setattr(table, "IN_MEMORY", 0)
    monkeypatch.setattr(units, "IN_MEMORY", 0)
    monkeypatch.setattr(units, "ROWS_PER_FILE", 16)


def charged(schema, folder, monkeypatch):
    """What a streamed fit paid by purpose, and how many chunks stood in its ledger whenever samples were drawn."""
    spread_everything(monkeypatch)
    paid, right = [], sampling.gather

    def watched(blocks, tape, rate):
        paid.append(sum(charge.detail.startswith("rounds from") for charge in charges_in(folder / "ledger.jsonl")))
        return right(blocks, tape, rate)

    monkeypatch.setattr(noisy_gradient, "gather", watched)
    model = fit(clone(GENERATORS["dpgan"]), persons(), schema, checkpoint=folder)
    spent = {}
    for charge in entries_from_dict(model.ledger)[1]:
        of_purpose = spent.setdefault(charge.purpose, {})
        for event, times in flatten(charge.event).items():
            of_purpose[event] = of_purpose.get(event, 0) + times
    return spent, paid


@pytest.mark.parametrize("schema", [BY_ROW, BY_PERSON], ids=["by row", "by person"])
def test_what_a_streamed_fit_charges_is_what_it_announced(schema, tmp_path, monkeypatch):
    spent, paid = charged(schema, tmp_path / "c", monkeypatch)
    assert spent == clone(GENERATORS["dpgan"]).plan(schema).announced()
    assert paid == [1, 2, 3]  # three chunks, each paid before its samples were drawn
    assert list(tmp_path.iterdir()) == []


def test_a_chunk_that_is_not_charged_is_caught(tmp_path, monkeypatch):
    """Mutant: the second chunk is taken for a repetition."""
    right = Ledger.charge
    free = lambda self, *given, **more: more["token"] == "rounds from 1" or right(self, *given, **more)  # noqa: E731
    monkeypatch.setattr(Ledger, "charge", free)
    spent, paid = charged(BY_ROW, tmp_path / "c", monkeypatch)
    assert spent != clone(GENERATORS["dpgan"]).plan(BY_ROW).announced() and paid == [1, 1, 2]


KILLED = """
import os, signal, sys
from pathlib import Path
from sklearn.base import clone
from understudy.fit import fit
from understudy.private import table, units
from tests.conformance.tables import GENERATORS
from tests.gradients.test_streamed import BY_PERSON, persons

table.IN_MEMORY = units.IN_MEMORY = 0
units.ROWS_PER_FILE = 16

def die(event):
    if event["stage"] == "rounds":
        os.kill(os.getpid(), signal.SIGKILL)

fit(clone(GENERATORS["dpgan"]), persons(), BY_PERSON, checkpoint=sys.argv[1], progress=die)
"""


def test_a_fit_that_is_killed_leaves_its_ledger_and_its_files_go(tmp_path):
    """kill -9 after the first round: rows lie in private files until the next start, what was charged stays spent."""
    root, folder = Path(__file__).resolve().parents[2], tmp_path / "c"
    path = os.pathsep.join([str(root), str(root / "src")])
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder)], env=os.environ | {"PYTHONPATH": path})
    assert killed.returncode == -signal.SIGKILL
    left = {item.name for item in folder.iterdir()}
    (rows,) = folder.glob(f"{units.PREFIX}*")
    assert list(rows.glob("*.arrow")) and rows.stat().st_mode & 0o777 == 0o700
    assert left == {rows.name, "SECRET.txt", "ledger.jsonl", "ledger.jsonl.lock", "opening.jsonl"}
    charged = charges_in(folder / "ledger.jsonl")
    assert any(charge.detail == "rounds from 0" for charge in charged)
    for resume in (False, True):
        with pytest.raises(UsageError, match="had charged epsilon"):
            fit(clone(GENERATORS["dpgan"]), persons(), BY_PERSON, checkpoint=folder, resume=resume)
        assert not rows.exists() and charges_in(folder / "ledger.jsonl") == charged
