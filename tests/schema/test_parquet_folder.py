"""A folder of Parquet files is one table: the same rows as in one file, each part read from its own file."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.errors import UsageError
from understudy.private import same_table
from understudy.schema import Column, Schema
from understudy.schema.draft import column_types
from understudy.schema.facts import file_format
from understudy.schema.reading import open_table
from understudy.schema.tables import read_table

SCHEMA = Schema(
    columns=(
        Column(name="x", kind="continuous", lower=0, upper=100),
        Column(name="c", kind="categorical", categories=("a", "b")),
    )
)
WHOLE = pa.table({"x": np.arange(100.0), "c": pa.array(["a", "b"] * 50)})


@pytest.fixture
def folder(tmp_path):
    """Three files of unequal row groups, one of which is empty, and things that are no rows."""
    place = tmp_path / "rows"
    place.mkdir()
    for name, first, last, group in (("p0.parquet", 0, 30, 7), ("p1.parquet", 30, 30, 7), ("p2.pq", 30, 100, 50)):
        pq.write_table(WHOLE.slice(first, last - first), place / name, row_group_size=group)
    (place / ".hidden.parquet").write_bytes(b"half a file")
    (place / "_SUCCESS").write_text("")
    return place


def numbers(table):
    return [x for part in range(table.parts) for rows in table.rows(part) for x in rows.numbers(SCHEMA.columns[0])]


def test_a_folder_is_read_like_one_file(folder, tmp_path):
    pq.write_table(WHOLE, tmp_path / "one.parquet")
    assert file_format(folder) == "parquet" and column_types(folder) == column_types(tmp_path / "one.parquet")
    found = open_table(folder, SCHEMA)
    assert numbers(found) == numbers(open_table(tmp_path / "one.parquet", SCHEMA)) == list(range(100))
    assert found.most_rows == 100
    assert read_table(folder, SCHEMA).equals(read_table(tmp_path / "one.parquet", SCHEMA))


def test_a_part_needs_its_own_file_only(folder):
    found = open_table(folder, SCHEMA)
    (folder / "p2.pq").unlink()
    assert [x for rows in found.rows(0) for x in rows.numbers(SCHEMA.columns[0])] == list(range(7))
    with pytest.raises(UsageError, match=r"p2\.pq.* not a readable Parquet file"):
        numbers(found)


def test_files_with_other_columns_are_refused(folder):
    pq.write_table(WHOLE.rename_columns(["x", "d"]), folder / "p3.parquet")
    with pytest.raises(UsageError, match=r"'p3\.parquet' has other columns or types"):
        open_table(folder, SCHEMA)


def test_another_row_in_a_file_is_another_table(folder):
    sealed = same_table.seal(folder, SCHEMA)
    assert not same_table.differs(folder, SCHEMA, sealed)
    pq.write_table(WHOLE.slice(1, 30), folder / "p0.parquet", row_group_size=7)
    assert same_table.differs(folder, SCHEMA, sealed)


def test_an_empty_folder_is_no_table(tmp_path):
    assert file_format(tmp_path) == "folder"
    with pytest.raises(UsageError, match="is not a file"):
        open_table(tmp_path, SCHEMA)
