"""Removing one unit changes at most one teacher's shard of each class it has rows in, whatever the table.

The wrong versions that the audited implementations contain are kept here as mutants; the same check must reject each.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.private.partition import assign_teachers, build_shards
from understudy.private.table import hash_units


class FixedBits:
    """Secret bits that depend on nothing but the request's number, so that two neighbouring tables can be compared.

    Draws per row are kept for the rows that stay (`gone` removes those of the rows that leave): under the real generator the
    draws are independent, so this coupling has the same distribution. The key, of 32 bytes, is the first request at unit level.
    """

    void_reason = "test"

    def __init__(self, gone=(), rows=0, keyed=False):
        self.generator = np.random.default_rng(7)
        self.gone, self.rows, self.keyed = gone, rows, keyed

    def draw(self, kind, scale, shape):
        return np.zeros(shape, np.int64)

    def secret(self, size):
        if self.keyed or self.rows == 0:
            self.keyed = False
            return self.generator.bytes(size)
        words = np.frombuffer(self.generator.bytes(8 * self.rows), np.uint64)
        return np.delete(words, np.asarray(self.gone, int)).tobytes()


def hashed_shards(rows, classes, units, row_level, counts, bits):
    teacher = assign_teachers(units, row_level, classes, counts, bits)
    return build_shards(rows, classes, teacher, len(counts), int(counts.max()), 8, bits)


def shards_by_position(rows, classes, units, row_level, counts, bits):
    """Mutant: a shuffled array cut into k equal parts moves other people's rows between teachers."""
    order = np.random.default_rng(3).permutation(len(rows))
    teacher = np.empty(len(rows), np.int32)
    teacher[order] = np.arange(len(rows)) * int(counts.max()) // max(len(rows), 1)
    return build_shards(rows, classes, teacher % counts[classes], len(counts), int(counts.max()), 8, bits)


def last_shard_for_all(rows, classes, units, row_level, counts, bits):
    """Mutant: every teacher is fed the last shard."""
    shards = hashed_shards(rows, classes, units, row_level, counts, bits)
    return shards._replace(rows=np.repeat(shards.rows[:, -1:], shards.rows.shape[1], axis=1))


def no_separation(rows, classes, units, row_level, counts, bits):
    """Mutant: each teacher draws from the whole table."""
    padded = np.zeros((len(counts), int(counts.max()), 8, rows.shape[1]), np.float32)
    take = rows[:8]
    padded[:, :, : len(take)] = take
    return hashed_shards(rows, classes, units, row_level, counts, bits)._replace(rows=padded)


def shards_redrawn_with_the_table(rows, classes, units, row_level, counts, bits):
    """Mutant: the assignment depends on how many rows there are, as when shards are redrawn from the whole table."""
    teacher = np.random.default_rng(len(rows)).integers(0, counts.max(), len(rows)).astype(np.int32)
    return build_shards(rows, classes, teacher % counts[classes], len(counts), int(counts.max()), 8, bits)


MUTANTS = [shards_by_position, last_shard_for_all, no_separation, shards_redrawn_with_the_table]


def changed_shards(split, units, classes, victim, row_level, counts):
    """How many shards of each class differ between the table and the table without the victim's rows."""
    rows = np.arange(1, len(units) + 1, dtype=np.float32)[:, None]
    gone = np.flatnonzero(units == victim)
    stay = np.setdiff1d(np.arange(len(units)), gone)
    full = split(rows, classes, units, row_level, counts, FixedBits(rows=len(units), keyed=not row_level))
    bits = FixedBits(gone=gone, rows=len(units), keyed=not row_level)
    less = split(rows[stay], classes[stay], units[stay], row_level, counts, bits)
    differ = np.array(
        [
            [sorted(full.rows[c, k].ravel()) != sorted(less.rows[c, k].ravel()) for k in range(full.rows.shape[1])]
            for c in range(len(counts))
        ]
    )
    return differ.sum(axis=1), {int(c) for c in classes[gone]}


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
    differ, touched = changed_shards(hashed_shards, units, classes, units[0], row_level, counts)
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
    units = np.repeat(np.arange(50, dtype=np.uint64), 6)
    classes = np.tile(np.array([0, 1], np.int32), 150)
    teacher = assign_teachers(units, False, classes, np.array([7, 3], np.int32), FixedBits())
    for unit in range(50):
        for c in range(2):
            assert len(set(teacher[(units == unit) & (classes == c)])) == 1


def test_teachers_are_used_evenly():
    """Chi-square over 10 teachers, 20,000 rows. False failure 1e-6 with fresh bits; a missing teacher fails for certain."""
    from scipy import stats

    from understudy.private.noise import SecureNoise

    units = np.arange(20_000, dtype=np.uint64)
    for row_level in (True, False):
        teacher = assign_teachers(units, row_level, np.zeros(20_000, np.int32), np.array([10], np.int32), SecureNoise())
        counts = np.bincount(teacher, minlength=10)
        assert ((counts - 2000) ** 2 / 2000).sum() < stats.chi2.isf(1e-6, 9)


def test_equal_ids_hash_alike_and_null_ids_stand_alone():
    hashed = hash_units(["a", "b", "a", None, None, float("nan")], b"k" * 32)
    assert hashed[0] == hashed[2] != hashed[1]
    assert len(set(hashed[3:].tolist())) == 3


def test_a_full_shard_drops_its_own_rows_only():
    rows = np.arange(30, dtype=np.float32)[:, None] + 1
    classes, teacher = np.zeros(30, np.int32), np.zeros(30, np.int32)
    teacher[25:] = 1
    shards = build_shards(rows, classes, teacher, 1, 2, 10, FixedBits())
    assert shards.mask[0, 0].sum() == 10
    assert sorted(shards.rows[0, 1].ravel()[:5]) == [26, 27, 28, 29, 30]
