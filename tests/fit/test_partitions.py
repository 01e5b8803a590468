"""Row groups, CSV ranges, memory or stream, one worker or many: with the noise fixed a fit releases the same, bit for bit."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy import scratch
from understudy.engine import exact
from understudy.fit import fit
from understudy.methods.registry import method
from understudy.private import PrivateTable, SeededNoise, blocks, table, units
from understudy.schema import Column, Schema
from understudy.schema.reading import open_table

ROWS = 400
COLUMNS = (
    Column(name="x", kind="continuous", lower=-4, upper=4, missing=True),
    Column(name="n", kind="integer", estimate="n"),
    Column(name="c", kind="categorical", estimate="c", other=True),
    Column(name="y", kind="categorical", categories=("no", "yes")),
)
BY_ROW = Schema(columns=COLUMNS, label="y")
BY_PERSON = Schema(
    columns=(*COLUMNS, Column(name="who", kind="identifier", dtype="string")),
    label="y",
    unit="who",
    max_rows_per_unit=3,
)
# Every answer is a sum; those that train hold what their own draws dealt. What `independent` asks, `mst` asks first.
METHODS = ("mst", "mean-embedding", pytest.param("independent", marks=pytest.mark.slow))


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = rng.random(ROWS) < 0.4
    x = np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(size=ROWS) + y)
    frame = pd.DataFrame({"x": x, "n": rng.integers(0, 90, ROWS), "c": rng.choice(["a", "b", "z"], ROWS)})
    return frame.assign(y=np.where(y, "yes", "no"), who=[f"p{i // 2}" for i in range(ROWS)])


def released(source, schema, name):
    """Everything that a fit with fixed noise leaves: weights, class counts and the resolved schema."""
    model = fit(method(name)(epsilon=2.0, seed=1), source, schema, noise=SeededNoise(3))
    return (
        {key: value.tobytes() for key, value in model.weights.items()},
        model.class_counts,
        model.resolved.fingerprint(),
    )


def sources(folder, frame):
    """The same table as frame, CSV, and Parquet cut into row groups of every kind."""
    frame.to_csv(folder / "rows.csv", index=False)
    yield frame
    yield folder / "rows.csv"
    for size in (7, 100, 10_000):
        path = folder / f"rows-{size}.parquet"
        pq.write_table(pa.Table.from_pandas(frame), path, row_group_size=size)
        yield path


@pytest.mark.parametrize("schema", [BY_ROW, BY_PERSON], ids=["by row", "by person"])
@pytest.mark.parametrize("name", METHODS)
def test_the_cut_does_not_show_in_a_release(name, schema, tmp_path, monkeypatch):
    frame = rows()
    expected = released(frame, schema, name)
    for source in sources(tmp_path, frame):
        assert released(source, schema, name) == expected
    monkeypatch.setattr(table, "IN_MEMORY", 0)  # streamed: read and encoded again for every question
    monkeypatch.setattr(units, "IN_MEMORY", 0)  # brought together in private files
    monkeypatch.setattr(units, "ROWS_PER_FILE", 50)
    monkeypatch.setattr(units, "BLOCK", 64)
    assert released(tmp_path / "rows-7.parquet", schema, name) == expected
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert released(tmp_path / "rows-100.parquet", schema, name) == expected


def test_a_sum_that_depends_on_the_cut_is_caught(tmp_path, monkeypatch):
    """Mutant: each part's total is rounded to hundreds before totals are added."""
    frame = rows()
    expected = released(frame, BY_ROW, "independent")
    right = exact.merged
    monkeypatch.setattr(exact, "merged", lambda one, other: right(one, {k: v // 3 * 3 for k, v in other.items()}))
    monkeypatch.setattr(blocks, "SIZE", 100)
    assert released(frame, BY_ROW, "independent") != expected


def test_private_files_are_the_owners_alone_and_go(tmp_path, monkeypatch):
    monkeypatch.setattr(units, "IN_MEMORY", 0)
    held = PrivateTable(rows(), BY_PERSON)
    held.open(tmp_path)
    (folder,) = tmp_path.glob(f"{units.PREFIX}*")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    held.close()
    assert not folder.exists()


def left_behind(base, number):
    """What a fit that was killed leaves: rows, and a lock that nobody holds."""
    left = base / f"{units.PREFIX}{number}"
    left.mkdir()
    (left / scratch.LOCK).touch()
    (left / "0.arrow").write_bytes(b"rows")
    return left


def test_what_a_killed_fit_left_behind_goes_at_the_next_start(tmp_path, monkeypatch):
    """Also where its process had the number of one that lives, as in a container that is started again."""
    left = [left_behind(tmp_path, number) for number in ("999999999-abc", f"{os.getpid()}-abc", "1-abc")]
    monkeypatch.setattr(units, "IN_MEMORY", 0)
    running = PrivateTable(rows(), BY_PERSON)
    running.open(tmp_path)
    assert not any(folder.exists() for folder in left)
    scratch.clear(tmp_path, units.PREFIX)
    assert len(list(tmp_path.iterdir())) == 1  # a fit that runs keeps its own
    assert sum(raw.rows.count for part in running._parts for raw in part()) == ROWS
    running.close()
    assert list(tmp_path.iterdir()) == []


def test_going_by_process_numbers_is_caught(tmp_path, monkeypatch):
    """Mutant: a folder is in use while some process has the number in its name."""
    left = left_behind(tmp_path, f"{os.getpid()}-abc")
    monkeypatch.setattr(scratch, "in_use", lambda home: home.name.startswith(f"{units.PREFIX}{os.getpid()}-"))
    scratch.clear(tmp_path, units.PREFIX)
    assert left.exists()


def test_rows_without_an_id_are_left_out_and_others_stay():
    frame = rows()
    frame.loc[[3, 4, 10], "who"] = [None, "", "  "]
    kept = sum(raw.rows.count for part in PrivateTable(frame, BY_PERSON)._parts for raw in part())
    assert kept == ROWS - 3
    assert open_table(frame, BY_PERSON).most_rows >= kept
