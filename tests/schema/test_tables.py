"""Tables in and out: every way a file can be wrong is one line, and nothing half-written is left."""

import gzip
import os
import stat

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.errors import UsageError
from understudy.methods.registry import method
from understudy.schema import Codec, Column, Schema, as_frame, check, draft, open_writer, read_table

SCHEMA = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0, upper=120, dtype="int16"),
        Column(name="code", kind="categorical", categories=("007", "NA", "x"), missing=True),
        Column(name="bmi", kind="continuous", lower=0, upper=100, missing=True),
        Column(name="seen", kind="datetime", lower="2010-01-01", upper="2020-12-31"),
        Column(name="ill", kind="boolean"),
        Column(name="person", kind="identifier"),
    )
)
ROWS = "age,code,extra,bmi,seen,ill,person\n30,007,1,21.5,2015-03-04,true,007\n40,NA,2,,2016-01-01T10:00:00,no,7\n"
CODEC = Codec(SCHEMA)


def batch(count: int, seed: int = 0) -> pd.DataFrame:
    rows = np.random.default_rng(seed).random((count, CODEC.width), dtype=np.float32)
    return CODEC.decode(rows, np.zeros(count, np.int32))


def one_line(call, *words: str) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv"])
def test_csv_is_read_by_the_schema(tmp_path, name):
    text = ROWS.replace(",", "\t") if name.endswith(".tsv") else ROWS
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    frame = read_table(tmp_path / name, SCHEMA)
    assert list(frame.columns) == list(SCHEMA.names)
    assert frame["code"].tolist() == ["007", "NA"]  # text stays text, and a declared category is no null
    assert frame["person"].tolist() == ["007", "7"]  # two persons
    assert frame["age"].dtype == "int16"
    assert frame["ill"].tolist() == [True, False]
    assert frame["bmi"].isna().tolist() == [False, True]
    assert frame["seen"].tolist() == [pd.Timestamp("2015-03-04"), pd.Timestamp("2016-01-01T10:00")]


def test_csv_contents_never_raise(tmp_path):
    path = tmp_path / "t.csv"
    rows = [
        "x,y,z,w,v",
        "1e99,inf,-inf,0000-00-00,maybe",
        ",,,,",
        '"a,b","c""d",nan,2015-13-45,2',
        "too,few",
        '"open,1,2,3,4',
        "-999,007,NaN,,TRUE",
    ]
    path.write_text("age,code,bmi,seen,ill,person\n" + "".join(f"{row},p\n" for row in rows))
    frame = read_table(path, SCHEMA)
    assert len(frame) == 7
    again = CODEC.decode(*CODEC.encode(frame))
    assert check(again, SCHEMA, strict=True) == []
    found = check(path, SCHEMA)
    assert any("'age'" in line and "numbers" in line for line in found)
    assert any("'seen'" in line and "ISO" in line for line in found)
    assert any("'ill'" in line for line in found)


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_table_without_rows_is_a_table(tmp_path, end):
    path = tmp_path / "t.csv"
    path.write_text("age,code,bmi,seen,ill,person" + end, newline="")
    frame = read_table(path, SCHEMA)
    assert len(frame) == 0
    assert CODEC.encode(frame).rows.shape == (0, CODEC.width)
    pq.write_table(pa.table({n: pa.nulls(0) for n in SCHEMA.names}), tmp_path / "t.parquet")
    assert CODEC.encode(read_table(tmp_path / "t.parquet", SCHEMA)).rows.shape == (0, CODEC.width)


def test_odd_names_survive_csv_and_parquet(tmp_path):
    names = ['a "b"', "c d", "e,f", "名前", " g ", "0"]
    schema = Schema(columns=tuple(Column(name=n, kind="integer", lower=0, upper=9) for n in names))
    codec = Codec(schema)
    frame = codec.decode(np.full((2, 6), 0.5, np.float32), np.zeros(2, np.int32))
    for path in (tmp_path / "t.csv", tmp_path / "t.parquet"):
        with open_writer(path, codec) as writer:
            writer.write(frame)
        pd.testing.assert_frame_equal(read_table(path, schema), frame)
    assert list(read_table(tmp_path / "t.parquet").columns) == names
    one_line(lambda: read_table(tmp_path / "t.csv"), "column 6", "header line")  # `0` beside words may be a cell


def test_a_line_break_in_a_name_survives_parquet_and_is_refused_in_csv(tmp_path):
    codec = Codec(Schema(columns=(Column(name="c\nd", kind="integer", lower=0, upper=9),)))
    frame = codec.decode(np.full((2, 1), 0.5, np.float32), np.zeros(2, np.int32))
    for name in ("t.csv", "t.parquet"):
        with open_writer(tmp_path / name, codec) as writer:
            writer.write(frame)
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.parquet", codec.schema), frame)
    one_line(lambda: read_table(tmp_path / "t.csv", codec.schema), "header", "quote", "one line")


@pytest.mark.parametrize("content", [b'age,"code\n1,"2\n', b'age,"co"de\n1,2\n', b"age,code\r1,2\r3,4\r"])
def test_a_header_that_is_no_line_is_refused_and_not_looked_for_in_the_rows(tmp_path, content):
    (tmp_path / "t.csv").write_bytes(content)
    for call in (read_table, draft, lambda path: read_table(path, SCHEMA), lambda path: check(path, SCHEMA)):
        one_line(lambda call=call: call(tmp_path / "t.csv"), "header", "quote", "one line")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", b"", ["empty"]),
        ("t.csv", b"\n\n", ["no header"]),
        ("t.csv", b"age:code:bmi:seen:ill:person\n1:2:3:4:5:6\n", ["'age'", "not in the table"]),
        ("t.csv", b"age,code,bmi,seen,ill\n1,2,3,4,5\n", ["'person'", "not in the table"]),
        ("t.csv", b"31,secret,22.5,2015-01-01,1,77\n", ["'age'", "header line"]),
        ("t.csv", b"age,age,code,bmi,seen,ill,person\n", ["'age' appears twice"]),
        ("t.csv", b"\xff\xfea\x00g\x00e\x00", ["UTF-8"]),
        ("t.csv.gz", b"not gzip at all", ["damaged"]),
        ("t.parquet", b"", ["empty"]),
        ("t.parquet", b"PAR1 secret", ["Parquet", "truncated"]),
        ("t.xlsx", b"x", [".csv", ".parquet"]),
    ],
)
def test_a_bad_file_is_one_line_without_a_value(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    for call in (lambda: read_table(path, SCHEMA), lambda: check(path, SCHEMA)):
        one_line(call, *words)
    with pytest.raises(UsageError) as caught:
        read_table(path, SCHEMA)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,a\n1,2\n", ["columns 1 and 2", "header line?"]),
        ("a,,b\n1,2,3\n", ["column 2 has no name"]),
        ("31.5,22,7\n1,2,3\n", ["no header line"]),
        ("39,State-gov,77516\n50,Private,83311\n", ["columns 1 and 3", "header line"]),
        ("id,2\n1,2\n", ["column 2", "header line"]),
        # As it was, a single 0 or 1 was taken for a name that was counted, and dates and decimal commas for words.
        ("Anna,Boston,1\nBert,Bern,0\n", ["column 3", "header line"]),
        ("Anna,0,1\nBert,1,0\n", ["columns 2 and 3", "header line"]),
        ("0,Anna,1,Boston,2\n", ["columns 1 and 3 and more", "header line"]),
        ("Anna,1990,1991\n", ["columns 2 and 3", "header line"]),
        ("Anna,1980-05-01\n", ["column 2", "header line"]),
        ("Anna,1.5.1980\n", ["column 2", "header line"]),
        ("Anna,05/01/1980 10:30\n", ["column 2", "header line"]),
        ("Anna;3,5\n", ["column 2", "header line"]),
        ("Anna,$5,12 %\n", ["columns 2 and 3", "header line"]),
    ],
)
def test_without_a_schema_a_doubtful_header_is_refused_by_position(tmp_path, content, words):
    (tmp_path / "t.csv").write_text(content)
    one_line(lambda: read_table(tmp_path / "t.csv"), *words)


NAMES = (
    "town,1990,1991,1992",
    "0,1,2,label",
    "q1,q2",
    "1st,2nd",
    "v1.2.3,ip 10.0.0.1",
    "A-1,B/2",
    "no,e,inf.",
    "10.0.0.1",
)


@pytest.mark.parametrize("header", [*NAMES, "2020-01-01_cases"])
def test_words_and_what_is_counted_are_names(tmp_path, header):
    (tmp_path / "t.csv").write_text(f"{header}\n")
    assert read_table(tmp_path / "t.csv").columns.tolist() == header.split(",")


def test_names_that_a_schema_tells_may_be_numbers(tmp_path):
    """As it was: a fit that keeps a checkpoint was refused, although the schema tells the names."""
    (tmp_path / "t.csv").write_text("town,2010,2015,2020-01-01\n" + "a,1,2,3\n" * 20)
    names = ("2010", "2020-01-01")
    schema = Schema(columns=tuple(Column(name=name, kind="integer", lower=0, upper=9) for name in names))
    fitted = method("independent")(epsilon=1.0).fit(tmp_path / "t.csv", schema, checkpoint=tmp_path / "c")
    assert list(fitted.sample(3).columns) == list(names)
    with pytest.raises(UsageError, match="a row must not become the public names"):
        draft(tmp_path / "t.csv")


def test_counted_names_are_a_header(tmp_path):
    (tmp_path / "t.csv").write_text("0,1\n5,6\n")
    assert read_table(tmp_path / "t.csv").to_numpy().tolist() == [[5, 6]]


def test_missing_files_and_folders(tmp_path):
    one_line(lambda: read_table(tmp_path / "no.csv", SCHEMA), "does not exist", "no.csv")
    (tmp_path / "d.csv").mkdir()
    one_line(lambda: read_table(tmp_path / "d.csv", SCHEMA), "not a file")


def test_truncated_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    with open_writer(path, CODEC) as writer:
        writer.write(batch(1000))
    whole = path.read_bytes()
    for size in (3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        one_line(lambda: read_table(path, SCHEMA), "truncated or damaged")
    path.write_bytes(whole[:100] + bytes(300) + whole[400:])  # the footer is whole, the pages are not
    one_line(lambda: read_table(path, SCHEMA), "truncated or damaged")


def test_declared_types_that_do_not_match_are_refused_by_column(tmp_path):
    frame = CODEC.to_arrow(batch(2))
    text = frame.set_column(0, "age", pa.array(["a", "b"]))
    lists = frame.set_column(2, "bmi", pa.array([[1.0], [2.0]]))
    for table, words in ((text, ["'age'", "text", "integer"]), (lists, ["'bmi'", "list", "not supported"])):
        pq.write_table(table, tmp_path / "t.parquet")
        one_line(lambda: read_table(tmp_path / "t.parquet", SCHEMA), *words)
        one_line(lambda table=table: as_frame(table, SCHEMA), *words)
        one_line(lambda table=table: as_frame(pl.from_arrow(table), SCHEMA), *words)


def test_pandas_polars_and_arrow_give_the_same_rows():
    frame = batch(50)
    table = CODEC.to_arrow(frame)
    expected = CODEC.encode(frame).rows
    sources = [
        table,
        pl.from_arrow(table),
        pl.from_arrow(table).lazy(),
        table.to_batches()[0],
        frame.set_index("age", drop=False),
    ]
    for source in sources:
        found = as_frame(source, SCHEMA)
        assert list(found.columns) == list(SCHEMA.names)
        assert (CODEC.encode(found).rows == expected).all()
    one_line(lambda: as_frame([1, 2], SCHEMA), "pandas, polars or PyArrow", "list")
    one_line(lambda: as_frame(pl.DataFrame({"age": [1]}), SCHEMA), "'code'")


def test_long_person_numbers_with_gaps_do_not_run_together(tmp_path):
    ids = pa.array([2**60, 2**60 + 1, None], pa.int64())
    schema = Schema(
        columns=(Column(name="p", kind="identifier", dtype="int64"), Column(name="f", kind="boolean")), unit="p"
    )
    table = pa.table({"p": ids, "f": [True, False, True]})
    pq.write_table(table, tmp_path / "t.parquet")
    for found in (read_table(tmp_path / "t.parquet", schema), as_frame(table, schema)):
        assert found["p"].nunique() == 2


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_batches_come_back_with_names_order_and_types(tmp_path, name):
    path = tmp_path / name
    first, second = batch(30), batch(20, seed=1)
    with open_writer(path, CODEC) as writer:
        writer.write(first)
        writer.write(CODEC.to_arrow(second))
    found = read_table(path, SCHEMA)
    assert (CODEC.encode(found).rows == CODEC.encode(pd.concat([first, second])).rows).all()
    assert check(path, SCHEMA) == []
    assert os.listdir(tmp_path) == [name]
    if name == "t.parquet":
        assert pq.read_schema(path).remove_metadata() == CODEC.arrow_schema
        assert check(found, SCHEMA, strict=True) == []


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_write_leaves_nothing_and_keeps_the_older_file(tmp_path, name, error):
    path = tmp_path / name
    path.write_text("older")
    with pytest.raises(error), open_writer(path, CODEC) as writer:
        writer.write(batch(10))
        raise error
    assert os.listdir(tmp_path) == [name]
    assert path.read_text() == "older"


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path, name):
    """A file-size limit of the operating system stands in for the full disk: the write itself fails."""
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))

        def run() -> None:
            with open_writer(tmp_path / name, CODEC) as writer:
                for seed in range(5):
                    writer.write(batch(5000, seed))

        one_line(run, "cannot write", name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written_are_refused_before_work(tmp_path):
    def enter(path):
        with open_writer(path, CODEC):
            pass

    one_line(lambda: enter(tmp_path / "no" / "t.csv"), "cannot write", "No such file")
    one_line(lambda: enter(tmp_path / "t.xlsx"), ".csv")
    one_line(lambda: enter(tmp_path / "t.csv.gz"), ".csv or .parquet")
    (tmp_path / "d.csv").mkdir()
    one_line(lambda: enter(tmp_path / "d.csv"), "folder")
    with pytest.raises(RuntimeError, match="with"):
        open_writer(tmp_path / "t.csv", CODEC).write(batch(1))


def test_a_written_file_has_ordinary_permissions(tmp_path):
    mask = os.umask(0)
    os.umask(mask)
    with open_writer(tmp_path / "t.csv", CODEC):
        pass
    assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        ("dictionary<values=string, indices=int8, ordered=0>", "categorical"),
        ("large_string", "categorical"),
        ("halffloat", "continuous"),
        ("decimal128(9, 3)", "continuous"),
        ("uint8", "integer"),
        ("date32[day]", "datetime"),
        ("date64[ms]", "datetime"),
        ("timestamp[ns, tz=UTC]", "datetime"),
        ("timestamp[s]", "datetime"),
        ("int8", "boolean"),
    ],
)
def test_every_type_is_written_and_read_back(tmp_path, dtype, kind):
    public = {
        "categorical": {"categories": ("a", "b", "c")},
        "datetime": {"lower": "2000-01-01", "upper": "2001-01-01"},
        "boolean": {},
    }.get(kind, {"lower": 0, "upper": 9})
    codec = Codec(Schema(columns=(Column(name="c", kind=kind, dtype=dtype, missing=True, **public),)))
    rows = np.random.default_rng(0).random((40, codec.width), dtype=np.float32)
    table = codec.decode_arrow(rows, np.zeros(40, np.int32))
    for name in ("t.csv", "t.parquet"):
        with open_writer(tmp_path / name, codec) as writer:
            writer.write(table)
        found = read_table(tmp_path / name, codec.schema)
        assert np.allclose(codec.encode(found).rows, codec.encode(as_frame(table)).rows, atol=1e-6)
        assert 0 < found["c"].isna().sum() < 40
    stored = {"date64[ms]": "date32[day]", "timestamp[s]": "timestamp[ms]"}.get(
        dtype, dtype
    )  # Parquet has not all types
    assert str(pq.read_schema(tmp_path / "t.parquet").field("c").type) == stored
