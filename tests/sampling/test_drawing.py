"""Blocks of a sample: each depends on the seed and its own number alone, and together they are the rows asked for."""

from dataclasses import dataclass

import jax
import numpy as np
import pyarrow as pa
import pytest

from understudy.sampling import drawing
from understudy.sampling.drawing import Source
from understudy.schema import Codec, Column, Schema

SCHEMA = Schema(
    columns=(
        Column(name="number", kind="identifier"),
        Column(name="dose", kind="continuous", lower=0.0, upper=1.0),
        Column(name="sick", kind="categorical", categories=("no", "yes")),
    ),
    label="sick",
)
CODEC = Codec(SCHEMA)
SHARES = np.asarray([0.75, 0.25])
ALL = slice(None)


@dataclass(frozen=True)
class Noise:
    """Encoded rows of pure noise, and how many were asked for at a time."""

    asked: list

    def encoded(self, weights, classes, random):
        self.asked.append(len(classes))
        return random.random((len(classes), CODEC.width), np.float32)


def blocks(rows, batch, seed=5, which=ALL, generator=None):
    return list(Source(generator or Noise([]), {}, None, CODEC).tables(SHARES, rows, batch, seed, which))


@pytest.mark.parametrize(("rows", "sizes"), [(0, [0]), (1, [1]), (9, [9]), (10, [10]), (11, [10, 1]), (40, [10] * 4)])
def test_blocks_add_up_to_the_rows_and_count_on(rows, sizes):
    found = blocks(rows, 10)
    assert [len(block) for block in found] == sizes
    ids = pa.concat_tables(found).column("number").to_pylist()
    assert len(set(ids)) == rows and ids == sorted(ids)


def test_a_block_is_the_same_whoever_draws_it():
    whole = blocks(35, 10)
    for number in range(4):
        assert blocks(35, 10, which=slice(number, number + 1)) == [whole[number]]
    assert len({str(block.column("dose").to_pylist()[:5]) for block in whole}) == 4  # and no other block's
    assert blocks(35, 10, seed=6)[0] != whole[0] and blocks(35, 10, seed=None) != blocks(35, 10, seed=None)


def test_every_block_asks_for_as_many_rows_as_the_first():
    """One shape is one compilation; a sample of less than a block asks for no more than it needs."""
    generator = Noise([])
    blocks(25, 10, generator=generator)
    blocks(7, 10, generator=generator)
    assert generator.asked == [10, 10, 10, 7]


def test_classes_have_their_shares_in_every_block():
    for block in blocks(80, 40):
        assert block.column("sick").to_pylist().count("yes") == 10


def test_networks_get_a_key_of_four_random_words(monkeypatch):
    """Of one word of 32 bits two blocks of a large sample may get the same. False failures: 1 in 2^31."""
    found = []

    def draw(generator, arrays, classes, key):
        found.append(tuple(np.asarray(jax.random.key_data(key)).tolist()))
        return np.zeros((len(classes), CODEC.width), np.float32)

    monkeypatch.setattr(drawing, "draw", draw)
    blocks(30, 10, generator=object())
    assert len(set(found)) == 3 and all(len(set(words)) == 4 for words in found)
