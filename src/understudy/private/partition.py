"""Units to teachers: by an independent secret draw, never by position.

    teacher(unit, class c) = uniform secret bits of the unit  mod k_c        (64 bits; the bias is below k / 2^64)

Class c has its own ensemble of k_c teachers. Removing one unit changes one shard of every class in which the unit has
a row and leaves every other shard as it was. Splitting a shuffled array in k equal parts does not have that property:
it moves other people's rows between teachers, so one unit could change many votes.

Shards differ in size and may be empty. They are padded to a capacity that comes from public or released figures; a
shard that overflows keeps the rows with the smallest lottery numbers, which is that teacher's business alone. Rows
are dealt block by block, so memory is that of the shards, not of the table.
"""

from typing import NamedTuple

import numpy as np

from understudy.private.blocks import Blocks
from understudy.private.mapping import Block
from understudy.private.noise import NoiseSource

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Ints = np.ndarray[tuple[int, ...], np.dtype[np.int32]]
FREE = np.uint64(2**64 - 1)  # the lottery number of an empty place


class Shards(NamedTuple):
    """Every teacher's rows, padded: `rows[class, teacher, slot]`, with `mask` 1 where a slot holds a row."""

    rows: Floats
    mask: Floats


class Dealing(NamedTuple):
    """Who gets rows: k_c teachers of every class, so many rows each. Public."""

    teachers: tuple[int, ...]
    capacity: int
    labels: int = 0  # with one ensemble for all classes: the length of the one-hot label that ends its rows
    at_once: int = 0  # teachers that are trained together; 0: any number
    touched: int = 1  # ensembles that one unit may have rows in, by the price


def deal(
    blocks: Blocks, teachers: Ints, capacity: int, noise: NoiseSource, *, most: int = 0, labels: int = 0
) -> Shards:
    """Every row to a teacher of its class's ensemble, at most `capacity` rows each.

    `most`: places for teachers in every ensemble. `labels`: one ensemble for all classes, whose rows end in a one-hot label.
    """
    places = most or int(teachers.max())
    shape = (len(teachers) * places, capacity)
    rows = np.zeros((*shape, blocks.width + labels), np.float32)
    lottery = np.full(shape, FREE, np.uint64)
    for block in blocks:
        groups, own = grouped(block, labels)
        teacher = assign_teachers(block, groups, teachers, noise)
        fill(rows, lottery, groups * places + teacher, own, tickets(len(own), noise))
    shard = (len(teachers), places, capacity)
    mask = (lottery != FREE).astype(np.float32)
    return Shards(rows.reshape(*shard, -1), mask.reshape(shard))


def grouped(block: Block, labels: int) -> tuple[np.ndarray, Floats]:
    """The ensemble of every row, and the row as its teacher gets it."""
    rows = np.asarray(block.rows, np.float32)
    if not labels:
        return np.asarray(block.classes, np.int64), rows
    return np.zeros(len(block), np.int64), np.concatenate(
        [rows, np.eye(labels, dtype=np.float32)[block.classes]], axis=1
    )


def tickets(rows: int, noise: NoiseSource) -> np.ndarray:
    """A lottery number for every row, never that of an empty place."""
    return np.frombuffer(noise.secret(8 * rows), np.uint64) >> np.uint64(1)


def assign_teachers(block: Block, groups: np.ndarray, teachers: Ints, noise: NoiseSource) -> np.ndarray:
    """The teacher of every row within its ensemble of `teachers[group]`. Rows of one unit and group stay together."""
    units = len(block) if block.units is None else int(block.units.max(initial=-1)) + 1
    draws = np.frombuffer(noise.secret(8 * units), np.uint64)
    draws = draws if block.units is None else draws[block.units]
    return np.asarray((draws % teachers[groups].astype(np.uint64)).astype(np.int64))


def fill(rows: Floats, lottery: np.ndarray, shard: np.ndarray, own: Floats, ticket: np.ndarray) -> None:
    """Put rows into their shard; where it is full, the largest lottery number goes."""
    order = np.lexsort((ticket, shard))
    ordered = shard[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, bool)
    rank = np.arange(len(ordered)) - np.maximum.accumulate(np.where(first, np.arange(len(ordered)), 0))
    for turn in range(min(int(rank.max(initial=-1)) + 1, lottery.shape[1])):  # one row of each shard at a time
        now = order[rank == turn]
        slot = lottery[shard[now]].argmax(axis=1)
        better = ticket[now] < lottery[shard[now], slot]
        now, slot = now[better], slot[better]
        rows[shard[now], slot] = own[now]
        lottery[shard[now], slot] = ticket[now]
