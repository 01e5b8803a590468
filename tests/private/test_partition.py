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
from understudy.private.partition import FREE, Shards, assign_teachers, deal, fill, tickets
from understudy.private.units import hash_units

from ..wall import FixedBits, NoNoise

CAPACITY = 8


def dealt(blocks, counts, bits):
    return deal(blocks, counts, CAPACITY, bits)


def placed(block, teacher, counts, bits):
    """Shards of rows whose teachers are known."""
    places = int(counts.max())
    rows = np.zeros((len(counts) * places, CAPACITY, block.rows.shape[1]), np.float32)
    lottery = np.full(rows.shape[:2], FREE, np.uint64)
    shard = block.classes.astype(np.int64) * places + teacher % counts[block.classes]
    fill(rows, lottery, shard, block.rows, tickets(len(shard), bits))
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
    """Chi-square over 10 teachers, 20,000 rows. False failure 5e-7 with fresh bits; a missing teacher fails for certain."""
    classes = np.zeros(20_000, np.int32)
    block = Block(np.zeros((20_000, 1), np.float32), classes, units)
    teacher = assign_teachers(block, classes, np.array([10], np.int32), SecureNoise())
    counts = np.bincount(teacher, minlength=10)
    assert ((counts - 2000) ** 2 / 2000).sum() < stats.chi2.isf(5e-7, 9)


def test_equal_ids_hash_alike_and_missing_ids_are_no_unit():
    hashed, present = hash_units(pa.array(["a", "b", "a", None, "None", None]), b"k" * 32)
    assert hashed[0] == hashed[2] != hashed[1]
    assert present.tolist() == [True, True, True, False, True, False]
    assert hash_units(pa.array(["a"]), b"l" * 32)[0] != hashed[0]


def test_a_full_shard_drops_its_own_rows_only():
    rows = np.arange(30, dtype=np.float32)[:, None] + 1
    shards, lottery = np.zeros((2, 10, 1), np.float32), np.full((2, 10), FREE, np.uint64)
    fill(shards, lottery, np.repeat([0, 1], [25, 5]), rows, tickets(30, SecureNoise()))
    assert (lottery[0] != FREE).all() and len(set(shards[0].ravel())) == 10 and shards[0].max() <= 25
    assert sorted(shards[1].ravel()[lottery[1] != FREE]) == [26, 27, 28, 29, 30]


# -- dealt block by block --------------------------------------------------------------------------------------------------


class OwnWords(NoNoise):
    """Secret words that belong to a unit or a row, handed out in the order in which a cut table asks for them."""

    def __init__(self, words):
        super().__init__()
        self.words = iter(words)

    def secret(self, size):
        drawn = next(self.words).astype(np.uint64).tobytes()
        assert len(drawn) == size
        return drawn


def own_words():
    """One for every unit and one for every row that a table can have."""
    return np.random.default_rng(5).integers(0, 2**64, (2, 40), np.uint64)


def cut_table(units, classes, keep, ends):
    """The rows that stay (row i holds i + 1), cut into blocks of whole units, and the words of their units and rows."""
    of_unit, of_row = own_words()
    blocks, words = [], []
    for own in np.split(np.arange(len(units)), np.searchsorted(units, ends)):
        own = own[keep[own]]
        present, number = np.unique(units[own], return_inverse=True)
        rows = (own + 1).astype(np.float32)[:, None]
        blocks.append((Block(rows, classes[own], number), Block(rows, classes[own])))
        words += [of_unit[present], of_row[own]]
    return blocks, words


def in_blocks(split, units, classes, keep, ends, counts, capacity, row_level, **options):
    """For every shard of a cut table, the rows it holds."""
    blocks, words = cut_table(units, classes, keep, ends)
    parts = tuple((lambda block=pair[row_level]: iter((block,))) for pair in blocks)
    shards = split(Blocks(parts, 1, row_level), counts, capacity, OwnWords(words), **options)
    held = np.where(shards.mask > 0, shards.rows[..., 0], 0)
    return [[sorted(held[c, k][held[c, k] > 0].tolist()) for k in range(held.shape[1])] for c in range(held.shape[0])]


def differing(split, table, capacity, cuts, row_level=False, **options):
    """Shards of each ensemble that differ without the first unit, where the two tables may be cut differently."""
    units, classes, counts = table
    everybody, victim = np.ones(len(units), bool), units == units[0]
    full = in_blocks(split, units, classes, everybody, cuts[0], counts, capacity, row_level, **options)
    less = in_blocks(split, units, classes, ~victim, cuts[1], counts, capacity, row_level, **options)
    differ = [sum(one != other for one, other in zip(*pair, strict=True)) for pair in zip(full, less, strict=True)]
    return differ, set(classes[victim].tolist())


def cut_tables():
    ends = st.lists(st.integers(0, 12), max_size=4).map(sorted)
    return st.tuples(tables(), st.integers(1, 4), ends, ends)


@settings(max_examples=60, deadline=None)
@given(cut_tables(), st.booleans())
def test_removing_a_unit_changes_one_shard_of_its_classes_however_the_table_is_cut(case, row_level):
    """Shards of one to four places overflow; words of those who stay are theirs, whatever block they are in."""
    (units, classes, k), capacity, *cuts = case
    units = np.arange(len(units)) if row_level else np.sort(units)
    table = units, np.array(classes, np.int32), np.array([k, k + 1], np.int32)
    differ, touched = differing(deal, table, capacity, cuts, row_level)
    assert all(differ[c] <= (c in touched) for c in range(2))
    labelled = table[0], table[1], np.array([k], np.int32)  # one ensemble for all classes
    assert differing(deal, labelled, capacity, cuts, row_level, labels=2)[0][0] <= 1


@settings(max_examples=60, deadline=None)
@given(cut_tables())
def test_every_shard_holds_its_smallest_lottery_numbers(case):
    """Against a plain loop: the teacher by the unit's word, of a teacher's rows those with the smallest tickets."""
    (units, classes, k), capacity, ends, _ = case
    units, classes, counts = np.sort(units), np.array(classes, np.int32), np.array([k, k + 1], np.int32)
    of_unit, of_row = own_words()
    expected = [[[] for _ in range(k + 1)] for _ in range(2)]
    for row in np.argsort(of_row[: len(units)] >> np.uint64(1)):
        shard = expected[classes[row]][int(of_unit[units[row]]) % int(counts[classes[row]])]
        if len(shard) < capacity:
            shard.append(float(row + 1))
    found = in_blocks(deal, units, classes, np.ones(len(units), bool), ends, counts, capacity, False)
    assert found == [[sorted(shard) for shard in ensemble] for ensemble in expected]


def dealt_by(teacher_of, spill=False):
    """`deal` with another rule for teachers; with `spill` a full shard hands its rows on to the next teacher."""

    def split(blocks, counts, capacity, bits):
        held, at = {}, 0
        for block in blocks:
            draws = np.frombuffer(bits.secret(8 * (int(block.units.max(initial=-1)) + 1)), np.uint64)
            bits.secret(8 * len(block))
            for place, (row, c, unit) in enumerate(zip(block.rows[:, 0], block.classes, block.units, strict=True)):
                teacher = int(teacher_of(int(draws[unit]), place, at + place)) % int(counts[c])
                while spill and len(held.get((c, teacher), ())) >= capacity and teacher < counts[c] - 1:
                    teacher += 1
                if len(held.setdefault((c, teacher), [])) < capacity:
                    held[c, teacher].append(row)
            at += len(block)
        rows = np.zeros((len(counts), int(counts.max()), capacity, 1), np.float32)
        for (c, teacher), own in held.items():
            rows[c, teacher, : len(own), 0] = own
        return Shards(rows, (rows[..., 0] > 0).astype(np.float32))

    return split


CUT_MUTANTS = {
    "by position in the block": dealt_by(lambda draw, place, at: place),
    "by position in the table": dealt_by(lambda draw, place, at: at),
    "full shards spill over": dealt_by(lambda draw, place, at: draw, spill=True),
    "rows of a unit apart": dealt_by(lambda draw, place, at: draw + place),
}


@pytest.mark.parametrize("mutant", CUT_MUTANTS)
def test_the_check_on_cut_tables_catches_wrong_deals(mutant):
    rng, caught = np.random.default_rng(1), False
    for _ in range(20):
        units, classes = np.sort(rng.integers(0, 10, 40)), rng.integers(0, 2, 40).astype(np.int32)
        table = units, classes, np.array([4, 5], np.int32)
        differ, touched = differing(CUT_MUTANTS[mutant], table, 3, ([3, 7], [5]))
        caught = caught or any(differ[c] > (c in touched) for c in range(2))
    assert caught


def uneven(split, blocks, k):
    """Chi-square of the rows of every teacher."""
    shards = split(
        Blocks(tuple(lambda block=block: iter((block,)) for block in blocks), 1, False), np.array([k], np.int32), 4000
    )
    counts = shards.mask[0].sum(axis=-1)
    expected = counts.sum() / k
    return ((counts - expected) ** 2 / expected).sum()


def test_teachers_are_used_evenly_across_blocks():
    """Chi-square over 10 teachers, 6,000 units in blocks of one to five. False failure below 1e-6 with fresh bits."""
    sizes = np.resize([1, 2, 3, 4, 5], 2000)
    blocks = [Block(np.ones((n, 1), np.float32), np.zeros(n, np.int32), np.arange(n)) for n in sizes]
    right = lambda blocks, counts, capacity: deal(blocks, counts, capacity, SecureNoise())  # noqa: E731
    assert uneven(right, blocks, 10) < stats.chi2.isf(5e-7, 9)
    anew = lambda *given: CUT_MUTANTS["by position in the block"](*given, SecureNoise())  # noqa: E731
    assert uneven(anew, blocks, 10) > stats.chi2.isf(5e-7, 9)
