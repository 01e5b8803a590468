"""Tables at addresses: read as files are, without credentials in any word; what is not there is said in one line."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from understudy.errors import UsageError
from understudy.private import same_table
from understudy.schema import Column, Schema, storage
from understudy.schema.reading import open_table
from understudy.schema.tables import read_table

SCHEMA = Schema(columns=(Column(name="age", kind="integer", lower=0, upper=120),))
KEY = "AKIA4711"


@pytest.fixture
def folder(tmp_path):
    for number in range(3):
        table = pa.table({"age": pa.array(range(10 * number, 10 * number + 10), pa.int64())})
        pq.write_table(table, tmp_path / f"part-{number}.parquet", row_group_size=5)
    return tmp_path


def ages(source):
    table = open_table(source, SCHEMA)
    every = (rows.numbers(SCHEMA.columns[0]) for part in range(table.parts) for rows in table.rows(part))
    return [value for block in every for value in block.tolist()]


@pytest.fixture
def bucket(folder, monkeypatch):
    """A store that speaks another scheme: the folder, seen through a file system of its own."""
    system = fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem())
    asked = []

    def from_uri(address):
        asked.append(address)
        return system, address.split("://", 1)[1].partition("?")[0].removeprefix("bucket").strip("/")

    monkeypatch.setattr(storage, "from_uri", from_uri)
    return asked


@pytest.mark.parametrize("slashes", ["://", ":/"])  # pathlib makes one of two
def test_files_and_folders_at_addresses_are_read(folder, slashes):
    address = f"file{slashes}{folder}"
    assert ages(address) == list(range(30)) and ages(f"{address}/part-1.parquet") == list(range(10, 20))
    assert read_table(address, SCHEMA)["age"].tolist() == list(range(30))


def test_a_store_is_read_through_its_file_system(bucket):
    address = "s3://bucket/?region=eu-central-1"
    assert ages(address) == list(range(30))
    assert ages("s3://bucket/part-2.parquet") == list(range(20, 30))
    assert all(one.startswith("s3://bucket") for one in bucket) and any("region" in one for one in bucket)


def test_the_seal_of_a_table_knows_an_address(bucket, folder):
    sealed = same_table.seal("s3://bucket/", SCHEMA)
    assert not same_table.differs("s3://bucket/", SCHEMA, sealed)
    pq.write_table(pa.table({"age": pa.array([7], pa.int64())}), folder / "part-1.parquet")
    assert same_table.differs("s3://bucket/", SCHEMA, sealed)


@pytest.mark.parametrize(
    "address",
    [f"s3://{KEY}:word@bucket/rows", f"s3://bucket/rows.parquet?secret_key={KEY}", f"abfs://:{KEY}@account/rows"],
)
def test_an_address_with_credentials_is_refused_without_repeating_them(address):
    with pytest.raises(UsageError, match="must not carry credentials") as caught:
        open_table(address, SCHEMA)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "address,words",
    [
        ("file:///nowhere/rows.parquet", "does not exist"),
        ("file:///nowhere/rows.csv", "only Parquet files"),
        ("hdfs://nowhere:1/rows.parquet", "cannot be reached"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_line(address, words):
    with pytest.raises(UsageError, match=words) as caught:
        open_table(address, SCHEMA)
    assert "\n" not in str(caught.value)


def test_a_partition_that_is_gone_is_named_without_the_query(bucket, folder):
    table = open_table("s3://bucket/?region=eu-central-1", SCHEMA)
    (folder / "part-2.parquet").unlink()
    with pytest.raises(UsageError, match=r"table 's3://bucket/part-2.parquet' is not a readable"):
        list(table.rows(5))


def test_a_worker_opens_the_file_of_its_part_only(bucket, folder):
    table = open_table("s3://bucket/", SCHEMA)
    bucket.clear()
    list(table.rows(2))
    assert bucket == ["s3://bucket/part-1.parquet"]
