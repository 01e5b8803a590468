"""Units to teachers: by a keyed hash, never by position.

    teacher(unit) = BLAKE2b_key(id of the unit) mod k_c         with a unit column
    teacher(row)  = independent uniform draw from secure bits   without one

Class c has its own ensemble of k_c teachers. Removing one unit changes one shard of every class in which the unit has a row
and leaves every other shard as it was. Splitting a shuffled array in k
equal parts does not have that property: it moves other people's rows between teachers, so one unit could change many votes
(privacy-relevant mistake of all six implementations audited by Ganev et al. 2025).

Shards differ in size and may be empty. They are padded to a capacity that comes from public or released figures; a shard
that overflows drops its own surplus rows at random, which is that teacher's business alone.
"""

import hashlib
from typing import NamedTuple

import numpy as np

from understudy.private.noise import NoiseSource
from understudy.private.table import UnitIds

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Ints = np.ndarray[tuple[int, ...], np.dtype[np.int32]]


class Shards(NamedTuple):
    """Every teacher's rows, padded: `rows[class, teacher, slot]`, with `mask` 1 where a slot holds a row."""

    rows: Floats
    mask: Floats


def assign_teachers(units: UnitIds, row_level: bool, classes: Ints, teachers: Ints, noise: NoiseSource) -> Ints:
    """The teacher of every row within its class's ensemble of `teachers[class]`. Rows of one unit and class stay together."""
    if row_level:
        draws = np.frombuffer(noise.secret(8 * len(units)), np.uint64)
    else:
        draws = rehash(units, noise.secret(32))
    return (draws % teachers[classes].astype(np.uint64)).astype(np.int32)  # modulo bias below k / 2^64


def rehash(units: UnitIds, key: bytes) -> UnitIds:
    """Keyed BLAKE2b of every unit's number; equal units get equal draws."""
    distinct, position = np.unique(units, return_inverse=True)
    hashed = (hashlib.blake2b(int(unit).to_bytes(8, "little"), key=key, digest_size=8).digest() for unit in distinct)
    return np.array([int.from_bytes(value, "little") for value in hashed], np.uint64)[position]


def build_shards(
    rows: Floats, classes: Ints, teacher: Ints, class_count: int, teachers: int, capacity: int, noise: NoiseSource
) -> Shards:
    """Group rows by (class, teacher) into padded arrays; surplus rows of a shard are dropped at random."""
    shard = classes.astype(np.int64) * teachers + teacher
    lottery = np.frombuffer(noise.secret(8 * len(shard)), np.uint64)
    order = np.lexsort((lottery, shard))
    first = np.searchsorted(shard[order], np.arange(class_count * teachers))
    slot = np.arange(len(order)) - first[shard[order]] if len(order) else np.zeros(0, np.int64)
    kept = slot < capacity
    padded = np.zeros((class_count * teachers, capacity, rows.shape[1]), np.float32)
    mask = np.zeros((class_count * teachers, capacity), np.float32)
    padded[shard[order][kept], slot[kept]] = rows[order[kept]]
    mask[shard[order][kept], slot[kept]] = 1.0
    shape = (class_count, teachers, capacity)
    return Shards(padded.reshape(*shape, rows.shape[1]), mask.reshape(shape))
