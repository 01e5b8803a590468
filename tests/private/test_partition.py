"""Removing one unit changes at most one teacher's shard of each class it has rows in, whatever the table.

The wrong versions that the audited implementations contain are kept here as mutants; the same check must reject each.
"""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from understudy.private.blocks import Blocks
from understudy.private.mapping import Block
from understudy.private.noise import SecureNoise
from understudy.private.partition import FREE, Shards, assign_teachers, deal, fill
from understudy.private.units import hash_units

from ..wall import FixedBits

CAPACITY = 8


def dealt(blocks, counts, bits):
    return deal(blocks, counts, CAPACITY, bits)


def placed(block, teacher, counts, bits):
    """Shards of rows whose teachers are known."""
    places = int(counts.max())
    rows = np.zeros((len(counts) * places, CAPACITY, block.rows.shape[1]), np.float32)
    lottery = np.full(rows.shape[:2], FREE, np.uint64)
    fill(rows, lottery, block.classes.astype(np.int64) * places + teacher % counts[block.classes], block.rows, bits)
    shape = (len(counts), places, CAPACITY)
    return Shards(rows.reshape(*shape, -1), (lottery != FREE).astype(np.float32).reshape(shape))


def shards_by_position(blocks, counts, bits):
    """Mutant: a shuffled array cut into k equal parts moves other people's rows between teachers."""
    block = blocks.gathered()
    order = np.random.default_rng(3).permutation(len(block))
    teacher = np.empty(len(block), np.int64)
    teacher[order] = np.arange(len(block)) * int(counts.max()) // max(len(block), 1)
    return placed(block, teacher, counts, bits)


def last_shard_for_all(blocks, counts, bits):
    """Mutant: every teacher is fed the last shard."""
    shards = dealt(blocks, counts, bits)
    return shards._replace(rows=np.repeat(shards.rows[:, -1:], shards.rows.shape[1], axis=1))


def no_separation(blocks, counts, bits):
    """Mutant: each teacher draws from the whole table."""
    padded = np.zeros((len(counts), int(counts.max()), CAPACITY, blocks.width), np.float32)
    take = blocks.gathered().rows[:CAPACITY]
    padded[:, :, : len(take)] = take
    return dealt(blocks, counts, bits)._replace(rows=padded)


def shards_redrawn_with_the_table(blocks, counts, bits):
    """Mutant: the assignment depends on how many rows there are, as when shards are redrawn from the whole table."""
    block = blocks.gathered()
    teacher = np.random.default_rng(len(block)).integers(0, counts.max(), len(block))
    return placed(block, teacher, counts, bits)


MUTANTS = [shards_by_position, last_shard_for_all, no_separation, shards_redrawn_with_the_table]


def changed_shards(split, units, classes, victim, row_level, counts):
    """How many shards of each class differ between the table and the table without the victim's rows."""
    rows = np.arange(1, len(units) + 1, dtype=np.float32)[:, None]
    stay = units != victim
    ordered = np.sort(units, kind="stable")  # as the wall holds them
    by_row = (len(units), np.flatnonzero(ordered == victim))
    by_unit = (len(np.unique(units)), np.flatnonzero(np.unique(units) == victim))

    def shards(keep, *requests):
        own = None if row_level else units[keep]
        return split(Blocks.of(rows[keep], classes[keep], own), counts, FixedBits(*requests))

    full = shards(np.ones(len(units), bool), *((words, ()) for words, _ in (by_unit, by_row)))
    less = shards(stay, by_unit, by_row)
    differ = np.array(
        [
            [sorted(full.rows[c, k].ravel()) != sorted(less.rows[c, k].ravel()) for k in range(full.rows.shape[1])]
            for c in range(len(counts))
        ]
    )
    return differ.sum(axis=1), {int(c) for c in classes[~stay]}


def tables():
    return st.integers(1, 40).flatmap(
        lambda n: st.tuples(
            st.lists(st.integers(0, 9), min_size=n, max_size=n),
            st.lists(st.integers(0, 1), min_size=n, max_size=n),
            st.integers(1, 6),
        )
    )


@settings(max_examples=60, deadline=None)
@given(tables(), st.booleans())
def test_removing_a_unit_changes_one_shard_of_its_classes(table, row_level):
    units, classes, k = np.array(table[0], np.uint64), np.array(table[1], np.int32), table[2]
    if row_level:
        units = np.arange(len(units), dtype=np.uint64)
    counts = np.array([k, k + 1], np.int32)
    differ, touched = changed_shards(dealt, units, classes, units[0], row_level, counts)
    for c in range(2):
        assert differ[c] <= (1 if c in touched else 0)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_neighbour_check_catches_the_audited_partition_mistakes(mutant):
    rng = np.random.default_rng(0)
    caught = False
    for _ in range(20):
        units, classes = np.arange(40, dtype=np.uint64), rng.integers(0, 2, 40).astype(np.int32)
        victim = units[rng.integers(40)]
        differ, touched = changed_shards(mutant, units, classes, victim, True, np.array([5, 5], np.int32))
        caught = caught or any(differ[c] > (1 if c in touched else 0) for c in range(2))
    assert caught


def test_rows_of_a_unit_share_a_teacher_within_a_class():
    units, classes = np.repeat(np.arange(50), 6), np.tile(np.array([0, 1], np.int32), 150)
    block = Blocks.of(np.zeros((300, 1), np.float32), classes, units).gathered()
    teacher = assign_teachers(block, block.classes, np.array([7, 3], np.int32), SecureNoise())
    for unit in range(50):
        for c in range(2):
            assert len(set(teacher[(block.units == unit) & (block.classes == c)])) == 1


@pytest.mark.parametrize("units", [None, np.arange(20_000)], ids=["rows", "units"])
def test_teachers_are_used_evenly(units):
    """Chi-square over 10 teachers, 20,000 rows. False failure 1e-6 with fresh bits; a missing teacher fails for certain."""
    classes = np.zeros(20_000, np.int32)
    block = Block(np.zeros((20_000, 1), np.float32), classes, units)
    teacher = assign_teachers(block, classes, np.array([10], np.int32), SecureNoise())
    counts = np.bincount(teacher, minlength=10)
    assert ((counts - 2000) ** 2 / 2000).sum() < stats.chi2.isf(1e-6, 9)


def test_equal_ids_hash_alike_and_missing_ids_are_no_unit():
    hashed, present = hash_units(pa.array(["a", "b", "a", None, "None", None]), b"k" * 32)
    assert hashed[0] == hashed[2] != hashed[1]
    assert present.tolist() == [True, True, True, False, True, False]
    assert hash_units(pa.array(["a"]), b"l" * 32)[0] != hashed[0]


def test_a_full_shard_drops_its_own_rows_only():
    rows = np.arange(30, dtype=np.float32)[:, None] + 1
    shards, lottery = np.zeros((2, 10, 1), np.float32), np.full((2, 10), FREE, np.uint64)
    fill(shards, lottery, np.repeat([0, 1], [25, 5]), rows, SecureNoise())
    assert (lottery[0] != FREE).all() and len(set(shards[0].ravel())) == 10 and shards[0].max() <= 25
    assert sorted(shards[1].ravel()[lottery[1] != FREE]) == [26, 27, 28, 29, 30]
