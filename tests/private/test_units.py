"""Rows of a unit brought together: in memory and by files alike, in constant memory, whatever one unit's rows are like."""

import os
import secrets
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.private import PrivateTable, units
from understudy.private.passes import TICKS, add_up
from understudy.schema import Codec, Column, Schema, open_table

SCHEMA = Schema(
    columns=(
        Column(name="who", kind="identifier", dtype="string"),
        Column(name="x", kind="continuous", lower=0, upper=1),
        Column(name="c", kind="categorical", categories=("a", "b", "c")),
    ),
    unit="who",
    max_rows_per_unit=2,
)


def frame(counts):
    who = np.repeat(list(counts), list(counts.values()))
    return pd.DataFrame({"who": who, "x": np.linspace(0, 1, len(who)), "c": "a"})


def kept(spread):
    """How many rows each unit kept, in no order."""
    return sorted(n for part in spread.parts for raw in part() for n in np.bincount(raw.units).tolist())


@pytest.fixture
def by_files(monkeypatch):
    monkeypatch.setattr(units, "IN_MEMORY", 0)
    monkeypatch.setattr(units, "ROWS_PER_FILE", 25)


def test_files_hold_the_units_that_memory_holds(by_files, tmp_path, monkeypatch):
    table = open_table(frame({"a": 300, "b": 1, "c": 2, "d": 3}), SCHEMA, block=20)
    assert kept(units.bring_together(table, SCHEMA, tmp_path)) == [1, 2, 2, 2]
    monkeypatch.setattr(units, "IN_MEMORY", 10**9)
    assert kept(units.bring_together(table, SCHEMA, tmp_path)) == [1, 2, 2, 2]


def test_a_unit_of_many_rows_makes_no_large_file(by_files, tmp_path, monkeypatch):
    """Capped only at the end, all 5,000 rows of one unit would stand in one file, to be read at once."""
    sizes = []
    read = units.read_file
    monkeypatch.setattr(units, "read_file", lambda path: sizes.append(len(read(path))) or read(path))
    table = open_table(frame({"a": 5000, "b": 1}), SCHEMA, block=50)
    assert kept(units.bring_together(table, SCHEMA, tmp_path)) == [1, 2]
    assert max(sizes) <= 5000 // 50 * 2 + 3  # two of every block of 50 rows, which is more than waits for the next


@pytest.fixture
def shuffle(tmp_path):
    rows = frame({"a": 9, "b": 1, "c": 2, "d": 3})
    pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), tmp_path / "t.parquet", row_group_size=4)
    table = open_table(tmp_path / "t.parquet", SCHEMA)
    home = tmp_path / "home"
    (home / "once").mkdir(parents=True)
    return units.Shuffle(table, SCHEMA, home, 3, secrets.token_bytes(32), 25)


def test_the_key_of_a_shuffle_is_not_printed(shuffle):
    """Whoever has it can hash ids until the numbers of the private files are found; engines print what fails."""
    assert shuffle.key.hex() not in repr(shuffle) and repr(shuffle.key) not in f"{shuffle!r} {shuffle}"


def scattered(shuffle, again):
    """Rows that all workers write, one of them once more after it seemed lost; then every file settled twice."""
    for part in (*range(shuffle.table.parts), *again):
        shuffle.scatter([part])
    pieces = sum(units.read_file(path).num_rows for path in shuffle.home.glob("*-*.arrow"))
    assert [shuffle.settle(number) for number in range(3)] == [shuffle.settle(number) for number in range(3)]
    return pieces, sum(units.read_file(shuffle.file(n)).num_rows for n in range(3) if shuffle.file(n).exists())


def test_a_step_of_the_shuffle_that_is_repeated_counts_once(shuffle):
    """As many rows are written and kept as without the repetition; of each unit at most two."""
    once, often = scattered(replace(shuffle, home=shuffle.home / "once"), []), scattered(shuffle, again=[1, 1])
    assert once == often and once[1] == 2 + 1 + 2 + 2


def test_counting_a_repeated_step_twice_is_caught(shuffle, monkeypatch):
    """Mutant: every attempt leaves files under names of its own, so that the rows of a lost attempt count again."""
    right = os.replace
    monkeypatch.setattr(
        os, "replace", lambda old, new: right(old, f"{new.removesuffix('.arrow')}-{secrets.token_hex(4)}.arrow")
    )
    for part in (0, 0):
        shuffle.scatter([part])
    assert (
        sum(units.read_file(path).num_rows for path in shuffle.home.glob("*-*.arrow")) == 4
    )  # not the two of one attempt


def test_every_row_of_a_unit_is_kept_equally_often():
    """2 of 12 rows, capped in three batches and again at the end, 2,000 times: shares of 1/6 within 5 deviations (0.0083)."""
    found = np.zeros(12)
    for _ in range(2000):
        rows = np.frombuffer(secrets.token_bytes(8 * 12), np.uint64)
        whole = pa.table({"row": np.arange(12), units.UNIT: np.zeros(12, np.uint64), units.LOTTERY: rows})
        batches = [whole.slice(first, 5) for first in (0, 5, 10)]
        capped = units.joined([batch.take(pa.array(units.winners(batch, 2))) for batch in batches])
        found[units.at_most(capped, 2).column("row").to_numpy()] += 1
    assert found.sum() == 4000
    assert np.abs(found / 2000 - 1 / 6).max() < 5 * 0.0084


def test_not_too_many_files_are_open_at_once(by_files, tmp_path, monkeypatch):
    monkeypatch.setattr(units, "MOST_FILES", 3)
    spread = units.bring_together(open_table(frame({f"p{i}": 1 for i in range(400)}), SCHEMA), SCHEMA, tmp_path)
    assert len(spread.parts) == 3 and kept(spread) == [1] * 400


def test_blocks_that_hold_their_text_in_different_ways_are_joined(tmp_path):
    """Slices of one dictionary column: a block over two chunks comes as objects, one within a chunk as a dictionary."""
    kind = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))
    whole = frame({f"p{i}": 1 for i in range(30)})
    whole["c"] = whole["c"].astype(kind)
    whole = pd.concat([whole[:20], whole[20:]])
    assert kept(units.bring_together(open_table(whole, SCHEMA, block=13), SCHEMA, tmp_path)) == [1] * 30


@pytest.mark.parametrize("files", [False, True])
@pytest.mark.parametrize("groups", [None, 1])
def test_progress_is_told_alike_for_every_table(files, groups, tmp_path, monkeypatch):
    """Nobody, somebody, many; in memory or in files; a Parquet file without a single row group."""
    monkeypatch.setattr(units, "IN_MEMORY", 0 if files else 10**9)
    for rows in (0, 1, 40):
        table = pa.Table.from_pandas(frame({f"p{i}": 1 for i in range(rows)} or {"p": 0}), preserve_index=False)
        with pq.ParquetWriter(tmp_path / "t.parquet", table.schema) as writer:
            if rows or groups:
                writer.write_table(table, row_group_size=7)
        read, passed = [], []
        private = PrivateTable(tmp_path / "t.parquet", SCHEMA)
        private.open(tmp_path, told=read.append)
        blocks = private._blocks(Codec(SCHEMA))
        add_up(blocks.parts, lambda: 0, lambda total, block: None, passed.append)
        assert len(read) == len(passed) == TICKS
