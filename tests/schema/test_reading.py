"""A row is read as if it were alone in the table: the property on which every sensitivity in this package stands.

`alone` says it once for all: what a table gives, row by row, equals what each row gives in a table of its own. Hence adding,
removing or changing a row changes no other row's values, and neither does the order of rows or the cut into blocks and parts.
Warnings are errors in this suite, so silence is tested too. The old reader is the mutant that the same check must catch.
"""

import datetime as dt
import gzip
import math
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from understudy.errors import UsageError
from understudy.schema import Codec, Column, Schema, cells, csv_rows, open_table, parquet_rows, vectors
from understudy.schema.codec import Encoded
from understudy.schema.csv_rows import LONGEST_LINE, fields, parse
from understudy.schema.reading import BLOCK, Rows, Table

from .old_reader import OldRows, old_csv

QUICK = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
ANY = Schema(columns=(Column(name="any", kind="boolean"),))
COLUMNS = {
    "continuous": Column(name="c", kind="continuous", lower=-5, upper=5, missing=True),
    "float32": Column(name="c", kind="continuous", lower=-5, upper=5, dtype="float"),
    "integer": Column(name="c", kind="integer", lower=-5, upper=2**40, missing=True),
    "datetime": Column(name="c", kind="datetime", lower="1900-01-01", upper="9999-12-31", missing=True),
    "date": Column(name="c", kind="datetime", lower="1900-01-01", upper="2100-01-01", dtype="date32"),
    "text": Column(name="c", kind="categorical", categories=("a", "1", "NA", "True"), other=True),
    "codes": Column(name="c", kind="categorical", categories=(0, 1, 7, 2**60 + 1), missing=True),
    "halves": Column(name="c", kind="categorical", categories=(0.5, 1.0, 7.0)),
    "truths": Column(name="c", kind="categorical", categories=(True, False)),
    "boolean": Column(name="c", kind="boolean", missing=True),
    "boolean01": Column(name="c", kind="boolean", dtype="int8"),
    "ordinal": Column(name="c", kind="ordinal", categories=("low", "7", "high"), missing=True),
    "identifier": Column(name="c", kind="identifier", dtype="string"),
    "identifier64": Column(name="c", kind="identifier", dtype="int64"),
    "image": Column(name="c", kind="image", height=1, width=2),
}  # fmt: skip


def bits(values: np.ndarray) -> list[str]:
    return [float(value).hex() for value in values]


def read(blocks: Iterable[Rows], *columns: Column) -> list[tuple]:
    """Everything that is read of each row: its encoding and what estimates, units and evaluation ask for."""
    learned = any(column.kind != "identifier" for column in columns)
    codec, found = Codec(Schema(columns=columns)) if learned else None, []
    for rows in blocks:
        encoded = codec.encode_rows(rows) if codec else Encoded(np.zeros((rows.count, 0)), np.zeros(rows.count))
        parts = [[row.tobytes() for row in encoded.rows], encoded.classes.tolist()]
        for column in columns:
            if column.kind == "identifier":
                parts.append(rows.identities(column).to_pylist())
            elif column.kind in ("continuous", "integer", "datetime"):
                parts.append(bits(rows.numbers(column)))
            elif column.kind == "image":
                parts.append(rows.pixels(column)[1].tolist())
            else:
                parts += [rows.keys(column).to_pylist(), rows.positions(column).tolist()]
            parts.append(rows.is_null(column).tolist())
        found += zip(*parts, strict=True)
    return found


def alone(reader, rows: list) -> None:
    """`reader(rows)` gives each row what `reader([row])` gives it, in any order."""
    single = [reader([row]) for row in rows]
    assert reader(rows) == [found for part in single for found in part]
    assert reader(rows[::-1]) == [found for part in single[::-1] for found in part]


def opened(source, *columns: Column, block: int = BLOCK) -> Table:
    return open_table(source, ANY, columns=columns, block=block)


# -- strategies --------------------------------------------------------------------------------------------------------
WORDS = st.sampled_from([
    "", "NA", "nan", "<NA>", "a", "True", "true", "T", "yes", "NO", "1", "0", "1.0", " 7 ", "7", "07", "7.0", "0x10", "1_0",
    "1e3", "inf", "-Infinity", "9" * 19, "9" * 20, "9" * 400, "0.5", "A1", "٣", "low", "high", "1152921504606846977",
    "9999-12-31", "2015-06-01", "2015-06-01T10:30:00", "2015-06-01 10:30:00.123456789", "2015-06-01T10:30:00+02:00",
    "2015-02-30", "0001-01-01T00:00+01:00", "2015", "20150601", "2015-06-01T24:00:00", "1e-400", "+5", "-.5e-3", "5.",
])  # fmt: skip
TEXT = st.one_of(WORDS, st.text(max_size=6), st.floats().map(str), st.integers().map(str), st.datetimes().map(str))
FRAME_TEXT = TEXT.filter(lambda text: not any("\ud800" <= letter <= "\udfff" for letter in text))
OBJECTS = st.one_of(
    TEXT, st.none(), st.floats(), st.integers(), st.booleans(), st.binary(max_size=3), st.dates(), st.datetimes(),
    st.datetimes(timezones=st.just(dt.UTC)), st.decimals(), st.fractions(), st.complex_numbers(),
    st.lists(st.integers(0, 300), max_size=3),
    st.sampled_from([
        pd.NA, pd.NaT, 10**400, -(10**400), Decimal("sNaN"), Decimal("7.0"), Decimal(7), True, 1, 1.0, "\ud800", {}, (1,),
        np.float32(0.1), np.float16(3), np.int8(7), np.True_, np.longdouble("1e4000"), np.array([1, 2]), np.array(7),
        pd.Timestamp("2015-06-01T00:00:00.123456789"), pd.Timestamp("9999-12-31"), np.datetime64("2015-06"),
        np.datetime64("NaT"), np.datetime64(2**60, "Y"), pd.Timedelta(1), object, np.timedelta64("NaT"),
        np.timedelta64(7, "s"), Fraction(10**5000, 3), Fraction(1, 10**5000), np.array([1.0, math.nan], np.float16),
    ]),
)  # fmt: skip
SECONDS = st.integers(cells.FIRST_SECOND - 10**6, cells.END_SECOND + 10**6)
TYPES = {
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float16(): st.floats(width=16).map(np.float16),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.bool_(): st.booleans(),
    pa.decimal128(9, 3): st.decimals(-999999, 999999, places=3),
    pa.decimal128(30, 0): st.integers(-(10**29), 10**29).map(Decimal),
    pa.string(): FRAME_TEXT,
    pa.large_string(): FRAME_TEXT,
    pa.dictionary(pa.int32(), pa.string()): FRAME_TEXT,
    pa.dictionary(pa.int8(), pa.int64()): st.integers(0, 9),
    pa.timestamp("s"): SECONDS,
    pa.timestamp("ms"): SECONDS.map(lambda s: s * 1000 + 7),
    pa.timestamp("us", tz="Europe/Oslo"): SECONDS.map(lambda s: s * 10**6 + 7),
    pa.timestamp("ns"): st.integers(-(2**62), 2**62),
    pa.date32(): st.integers(-800_000, 3_000_000),
    pa.date64(): st.integers(-80, 300_000).map(lambda days: days * 86_400_000),
    pa.list_(pa.int16()): st.lists(st.one_of(st.none(), st.integers(-9, 300)), max_size=3),
    pa.list_(pa.uint8(), 2): st.lists(st.integers(0, 255), min_size=2, max_size=2),
    pa.null(): st.none(),
}
SUITED = {  # families of types that each kind may be read from
    "continuous": ("integer", "float", "boolean", "nothing"), "integer": ("integer", "float", "boolean"),
    "datetime": ("datetime", "string"), "categorical": ("string", "integer", "float", "boolean"),
    "ordinal": ("string", "integer", "float", "boolean"), "boolean": ("boolean", "integer", "float", "string"),
    "identifier": ("integer", "string", "boolean", "datetime"), "image": ("pixels",),
}  # fmt: skip


def arrow(kind: pa.DataType, values: list) -> pa.Array:
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        return pa.array(values, pa.int64()).cast(kind)
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


# -- typed sources -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", COLUMNS)
@QUICK
@given(st.data())
def test_rows_of_typed_tables_are_read_alone(tmp_path, name, data):
    """PyArrow and Parquet (any row groups), for every kind and type; and as the definition says."""
    column = COLUMNS[name]
    kind = data.draw(st.sampled_from([t for t in TYPES if vectors.family_of(t) in SUITED[column.kind]]))
    rows = data.draw(st.lists(st.one_of(st.none(), TYPES[kind]), max_size=6))
    size = data.draw(st.integers(1, 4))
    table = lambda values: pa.table({"c": arrow(kind, values)})  # noqa: E731
    alone(lambda values: read(opened(table(values), column, block=size).blocks(), column), rows)
    by_definition(opened(table(rows), column, block=size).blocks(), column, arrow(kind, rows))
    expected = read(opened(table(rows), column).blocks(), column)
    if not pa.types.is_null(kind) and kind not in (pa.date64(), pa.timestamp("s")):  # Parquet stores these as others
        pq.write_table(table(rows), tmp_path / "t.parquet", row_group_size=size)
        found = opened(tmp_path / "t.parquet", column, block=2)
        assert found.parts == max(1, math.ceil(len(rows) / size))
        assert read(found.blocks(), column) == expected
        assert [row for part in reversed(range(found.parts)) for row in reversed(read(found.rows(part), column))] == (
            expected[::-1]
        )


def by_definition(blocks: Iterable[Rows], column: Column, array: pa.Array) -> None:
    """What is read equals the definition in `cells`, one cell at a time."""
    values = array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array
    raw = vectors.objects(values)
    found = list(blocks)
    joined = lambda method: [value for rows in found for value in method(rows, column)]  # noqa: E731
    if column.kind in ("continuous", "integer"):
        assert bits(joined(Rows.numbers)) == bits(map(cells.number, raw))
    elif column.kind == "datetime":
        assert bits(joined(Rows.numbers)) == bits(map(cells.moment, raw))
    elif column.kind == "identifier":
        assert [text.as_py() for text in joined(Rows.identities)] == [cells.identity(cell) for cell in raw]
    elif column.kind == "image":
        known = [image for rows in found for image in rows.pixels(column)[1]]
        assert known == [cells.image(cell, 2) is not None for cell in raw]
    else:
        wanted = "boolean" if column.kind == "boolean" else vectors.family_of(column.arrow_type)
        assert [text.as_py() for text in joined(Rows.keys)] == [cells.key(cell, wanted) for cell in raw]
    assert joined(Rows.is_null) == [cells.missing(cell) for cell in raw]


@pytest.mark.parametrize("name", COLUMNS)
@QUICK
@given(st.data())
def test_rows_of_object_columns_are_read_alone(name, data):
    """pandas columns of any objects whatsoever: each cell by its own type, silently."""
    column = COLUMNS[name]
    rows = data.draw(st.lists(OBJECTS, max_size=6))
    size = data.draw(st.integers(1, 4))
    frame = lambda values: pd.DataFrame({"c": pd.Series(values, dtype=object)})  # noqa: E731
    alone(lambda values: read(opened(frame(values), column, block=size).blocks(), column), rows)


PANDAS = {
    "float64": st.floats(), "float32": st.floats(width=32), "int64": TYPES[pa.int64()], "bool": st.booleans(),
    "Int64": st.one_of(st.none(), TYPES[pa.int64()]), "boolean": st.one_of(st.none(), st.booleans()),
    "Float64": st.one_of(st.none(), st.floats()), "str": st.one_of(st.none(), FRAME_TEXT),
    "string[python]": st.one_of(st.none(), TEXT), "datetime64[ns]": st.integers(-(2**62), 2**62),
    "datetime64[s]": SECONDS, "datetime64[us, Europe/Oslo]": SECONDS, "timedelta64[s]": SECONDS,
    "int64[pyarrow]": st.one_of(st.none(), TYPES[pa.int64()]),
    "category": st.one_of(st.none(), FRAME_TEXT),
}  # fmt: skip


@pytest.mark.parametrize("dtype", PANDAS)
@QUICK
@given(st.data())
def test_rows_of_pandas_columns_are_read_alone(dtype, data):
    """Typed, nullable, categorical and Arrow-backed columns, whether or not the type suits the kind."""
    column = COLUMNS[data.draw(st.sampled_from([name for name in COLUMNS if name != "image"]))]
    if column.kind == "identifier" and dtype.lower().startswith("float"):
        with pytest.raises(UsageError, match=r"'c'.*pass the file, or read it with dtype=str"):
            opened(pd.DataFrame({"c": pd.Series([], dtype=dtype)}), column)
        return
    rows = data.draw(st.lists(PANDAS[dtype], max_size=6))
    size = data.draw(st.integers(1, 4))
    frame = lambda values: pd.DataFrame({"c": pd.Series(values, dtype=dtype)})  # noqa: E731
    alone(lambda values: read(opened(frame(values), column, block=size).blocks(), column), rows)


POLARS = {
    pl.Int16: st.integers(-9, 9), pl.UInt64: TYPES[pa.uint64()], pl.Float32: st.floats(width=32), pl.Boolean: st.booleans(),
    pl.String: FRAME_TEXT, pl.Categorical: FRAME_TEXT, pl.Enum(["low", "a", "7"]): st.sampled_from(["low", "a", "7"]),
    pl.Date: st.dates(), pl.Datetime("ms"): st.datetimes(), pl.Decimal(20, 2): st.decimals(-9, 9, places=2),
}  # fmt: skip


@pytest.mark.parametrize("dtype", POLARS, ids=str)
@QUICK
@given(st.data())
def test_rows_of_polars_frames_are_read_alone(dtype, data):
    column = COLUMNS[data.draw(st.sampled_from(list(COLUMNS)))]
    frame = lambda values: pl.DataFrame({"c": pl.Series(values, dtype=dtype, strict=False)})  # noqa: E731
    try:
        opened(frame([]), column)
    except UsageError as error:  # a type that does not suit the kind: a fact about the frame
        assert "column 'c': the table holds" in str(error)
        return
    rows = data.draw(st.lists(st.one_of(st.none(), POLARS[dtype]), max_size=6))
    alone(lambda values: read(opened(frame(values), column, block=2).blocks(), column), rows)


# -- CSV ---------------------------------------------------------------------------------------------------------------
LINES = st.one_of(
    st.lists(TEXT, min_size=2, max_size=2).map(lambda row: ",".join(row).encode("utf-8", "replace")),
    st.lists(TEXT, min_size=2, max_size=2).map(
        lambda row: ",".join('"' + c.replace('"', '""') + '"' for c in row).encode("utf-8", "replace")
    ),
    st.binary(max_size=8),
    st.sampled_from([
        b"", b"\r", b",", b"1", b"1,2,3", b'"open,1', b'"a"b,1', b'a"b,1', b"\xff,2015-06-01", b'"\xff",7', b"1\r2,3", b"\0,\0",
        b"\xef\xbb\xbf1,2",
    ]),
).map(lambda line: line.replace(b"\n", b""))  # fmt: skip


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "image"])
@QUICK
@given(st.data())
def test_lines_of_a_csv_file_are_read_alone(tmp_path, name, data):
    """Whatever the lines hold, however the file is cut, packed or ended."""
    column = replace(COLUMNS[name], name="b")
    columns = (column, Column(name="a", kind="identifier", dtype="string"))
    lines = data.draw(st.lists(LINES, max_size=6))
    end, last = data.draw(st.sampled_from([b"\n", b"\r\n"])), data.draw(st.booleans())
    part, size, block = (data.draw(st.integers(1, most)) for most in (40, 40, 4))

    def reader(rows: list[bytes]) -> list[tuple]:
        # A last line without its end is still a line; a carriage return before the end of the file is part of a line's end.
        open_end = last and bool(rows) and bool(rows[-1]) and not rows[-1].endswith(b"\r")
        body = end.join([b"a,b", *rows]) + (b"" if open_end else end)
        path = tmp_path / "t.csv"
        path.write_bytes(body)
        whole = read(opened(path, *columns).blocks(), *columns)
        if len(rows) != 1:
            cut = replace(opened(path, *columns, block=block), part_bytes=part, read_bytes=size)
            assert read(cut.blocks(), *columns) == whole
            (tmp_path / "t.csv.gz").write_bytes(gzip.compress(body))
            packed = replace(opened(tmp_path / "t.csv.gz", *columns), read_bytes=size)
            assert read(packed.blocks(), *columns) == whole
        return whole

    alone(reader, lines)


@QUICK
@given(st.lists(LINES, max_size=12), st.sampled_from([",", "\t"]), st.integers(1, 3), st.sampled_from([b"\n", b"\r\n"]))
def test_blocks_of_lines_are_parsed_as_line_by_line(lines, delimiter, count, end):
    found = parse(b"".join(line + end for line in lines), delimiter, count, list(range(count))) if lines else []
    bare = [line.removesuffix(b"\r") if end == b"\n" else line for line in lines]
    rows = [fields(line, delimiter, count) for line in bare if line or count == 1]
    cleaned = [vectors.plain(column).to_pylist() for column in found]
    assert cleaned == [list(column) for column in zip(*rows, strict=True)] or not rows


def test_long_lines_are_rows_of_missing_cells_however_they_are_cut(tmp_path):
    """Memory stays bounded by the longest line that is read at all."""
    lines = [b"x" * (LONGEST_LINE - 2) + b",1", b"y" * LONGEST_LINE + b",1", b"z" * 3 * LONGEST_LINE, b"1,2"]
    columns = (Column(name="a", kind="identifier"), Column(name="b", kind="integer", lower=0, upper=9))
    (tmp_path / "t.csv").write_bytes(b"\n".join([b"a,b", *lines]))
    whole = opened(tmp_path / "t.csv", *columns)
    for table in (whole, replace(whole, part_bytes=300_000, read_bytes=70_001)):
        found = [value for rows in table.blocks() for value in rows.numbers(columns[1]).tolist()]
        assert str(found) == "[1.0, nan, nan, 2.0]"
        known = [value for rows in table.blocks() for value in rows.identities(columns[0]).is_valid().to_pylist()]
        assert known == [True, False, False, True]


def test_a_long_line_is_none_that_is_cut_before_a_carriage_return(tmp_path):
    """What is kept of a long line must not pass for a line of the longest length that is read, wherever a piece ends."""
    column = Column(name="a", kind="identifier")
    line = b"x" * LONGEST_LINE + b"\r" + b"y" * 99
    (tmp_path / "t.csv").write_bytes(b"a\n" + line + b"\n1\n")
    for size in (len(line), 1 << 23):
        table = replace(opened(tmp_path / "t.csv", column), read_bytes=size)
        assert [v for rows in table.blocks() for v in rows.identities(column).to_pylist()] == [None, "1"]


def test_one_line_does_not_decide_how_large_a_table_seems(tmp_path):
    """Memory or files is chosen by the number of rows: one long or many short first lines used to change it a thousandfold."""
    column, rows = Column(name="a", kind="identifier"), b"".join(b"%d,1\n" % i for i in range(30_000))
    for odd, more in ((b"", 0), (b"x" * 70_000 + b",1\n", 1), (b"\n" * 5, 5)):
        (tmp_path / "t.csv").write_bytes(b"a,b\n" + odd + rows)
        (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + odd + rows))
        for name in ("t.csv", "t.csv.gz"):
            assert 30_000 <= opened(tmp_path / name, column).most_rows <= 30_002 + more


def test_odd_lines_are_rows_of_missing_cells():
    assert fields(b"1,2", ",", 2) == ["1", "2"]
    assert fields(b'"1,5","a ""b"""', ",", 2) == ["1,5", 'a "b"']
    assert fields(b"1,\xff", ",", 2) == ["1", None]
    for line in (b"1", b"1,2,3", b'"1,2', b'"1"x,2', b"1," + b"2" * LONGEST_LINE):
        assert fields(line, ",", 2) == [None, None]


# -- the cases of the review -------------------------------------------------------------------------------------------
def csv_reader(tmp_path, opener):
    def reader_of(column: Column):
        columns = (column, Column(name="x", kind="boolean"))

        def reader(rows: list[str]) -> list[tuple]:
            (tmp_path / "t.csv").write_text("c,x\n" + "".join(f"{row},1\n" for row in rows))
            return read(opener(tmp_path / "t.csv", *columns), *columns)

        return reader

    return reader_of


def frame_reader(opener):
    def reader_of(column: Column):
        def reader(rows: list) -> list[tuple]:
            return read(opener(pd.DataFrame({"c": pd.Series(rows, dtype=object)}), column), column)

        return reader

    return reader_of


CASES = {  # number in the review: column, cells of ordinary rows, the odd cell that changed how those were read
    "1 a 20-digit id": ("csv", "identifier64", ["9007199254740992", "9007199254740993"], "99999999999999999999"),
    "1 an id of 0.5": ("csv", "identifier64", ["9007199254740992", "9007199254740993"], "0.5"),
    "2 an id with a letter": ("csv", "identifier64", ["7", "07"], "A1"),
    "5 a date with nanoseconds": ("frame", "datetime", ["9999-12-31", "2015-06-01"], "2015-06-01T00:00:00.123456789"),
    "6 an unreadable number": ("csv", "integer", ["0x10", "7"], "x"),
    "7 one, true and 1.0": ("frame", "text", [1, 1.0, True], "b"),
    "8 a number of 400 digits": ("frame", "integer", ["1_0", "7"], 10**400),
    "8 a signalling NaN": ("frame", "integer", ["1_0", "7"], Decimal("sNaN")),
}


@pytest.mark.parametrize("case", CASES)
def test_cases_of_the_review(tmp_path, case):
    kind, name, rows, odd = CASES[case]
    opener = lambda *source: opened(*source).blocks()  # noqa: E731
    reader = (csv_reader(tmp_path, opener) if kind == "csv" else frame_reader(opener))(COLUMNS[name])
    alone(reader, [*rows, odd])
    alone(reader, [odd, *rows])
    assert reader([*rows, odd])[:-1] == reader(rows)


@pytest.mark.parametrize("case", CASES)
def test_the_old_reader_is_caught(tmp_path, case):
    kind, name, rows, odd = CASES[case]
    frames = frame_reader(lambda frame, column: [OldRows(frame)])
    reader = (csv_reader(tmp_path, lambda *source: [old_csv(*source)]) if kind == "csv" else frames)(COLUMNS[name])
    with pytest.raises((AssertionError, TypeError)):
        alone(reader, [*rows, odd])


def test_persons_that_a_frame_has_merged_are_refused(tmp_path):
    """Cases 3 and 4: one empty id makes pandas read floats before we see the table."""
    (tmp_path / "t.csv").write_text("p,f\n9007199254740992,1\n9007199254740993,0\n,1\n")
    schema = Schema(columns=(Column(name="p", kind="identifier"), Column(name="f", kind="boolean")), unit="p")
    column = schema.column("p")
    with pytest.raises(UsageError, match=r"'p'.*pass the file, or read it with dtype=str"):
        open_table(pd.read_csv(tmp_path / "t.csv"), schema)
    for source in (tmp_path / "t.csv", pd.read_csv(tmp_path / "t.csv", dtype=str)):
        found = next(open_table(source, schema).blocks()).identities(column)
        assert found.to_pylist() == ["9007199254740992", "9007199254740993", None]
    for kind in (pa.float64(), pa.float32(), pa.decimal128(9, 2)):
        pq.write_table(pa.table({"p": pa.nulls(1, kind), "f": [True]}), tmp_path / "t.parquet")
        with pytest.raises(UsageError, match="dtype=str"):
            open_table(tmp_path / "t.parquet", schema)
    with pytest.raises(UsageError, match=r"'p'.*dtype double.*dtype=str"):
        Column(name="p", kind="identifier", dtype="double")


def test_ids_that_are_lists_or_empty_name_nobody():
    cells_ = [["a"], {}, np.array([1]), "", " ", None, math.nan, pd.NaT, 7.0, "7", 7, "07", b"x"]
    frame = pd.DataFrame({"c": pd.Series(cells_, dtype=object)})
    found = next(opened(frame, COLUMNS["identifier"]).blocks()).identities(COLUMNS["identifier"]).to_pylist()
    assert found == [None] * 9 + ["7", "7", "07", None]


def test_bytes_that_are_no_text_in_parquet_are_missing(tmp_path):
    """Parquet does not check its text; such a cell used to end the fit with a message."""
    text = pa.array([b"a", b"\xff", b"2015-06-01"], pa.binary())
    broken = pa.Array.from_buffers(pa.string(), 3, text.buffers())
    pq.write_table(pa.table({"c": broken}), tmp_path / "t.parquet")
    for name in ("text", "datetime", "identifier", "boolean"):
        column = COLUMNS[name]
        for source in (tmp_path / "t.parquet", pa.table({"c": broken})):
            rows = next(opened(source, column).blocks())
            assert rows.is_null(column).tolist() == [False, True, False]
            assert len(read([rows], column)) == 3


def write_joined(path, texts):
    """Frames of a hundred categories, numbered in eight bits, joined and written as one row group."""
    pieces = [
        pa.array(texts[i : i + 100]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())) for i in (0, 100)
    ]
    pq.write_table(pa.table({"c": pa.chunked_array(pieces)}), path)


def test_a_text_more_than_short_numbers_count_to_changes_no_other_row(tmp_path):
    """PyArrow cannot read the 129th text of such a row group by the type that is written in the file: one row ended the fit."""
    texts = [f"t{i}" for i in range(128)]
    write_joined(tmp_path / "without.parquet", texts)
    write_joined(tmp_path / "with.parquet", [*texts, "one more"])
    for name in ("text", "identifier", "datetime", "ordinal"):
        column = COLUMNS[name]
        without, with_ = (read(opened(tmp_path / f"{f}.parquet", column).blocks(), column) for f in ("without", "with"))
        assert with_[:-1] == without and len(with_) == 129


def test_a_dictionary_read_by_its_own_type_is_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_rows, "_as_dictionary", lambda kind, about, name: False)
    write_joined(tmp_path / "t.parquet", [f"t{i}" for i in range(129)])
    with pytest.raises(UsageError, match="truncated or damaged"):
        list(opened(tmp_path / "t.parquet", COLUMNS["text"]).blocks())


@pytest.mark.parametrize("kind", [pa.decimal32(5, 0), pa.decimal64(12, 0), pa.decimal128(20, 0), pa.decimal256(50, 0)])
def test_decimals_of_every_length_are_read(kind):
    """PyArrow has no dictionaries of the short ones: a column of them ended the fit after its first charge."""
    column = pa.array([Decimal(7), None, Decimal(-12), Decimal(7)], kind)
    assert vectors.identities(column).to_pylist() == ["7", None, "-12", "7"]
    assert vectors.positions(column, "integer", ["7"], -1, -2).tolist() == [0, -1, -2, 0]
    np.testing.assert_array_equal(vectors.numbers(column), [7.0, np.nan, -12.0, 7.0])


def test_times_that_python_cannot_hold_are_unreadable():
    """A frame may hold any Arrow type; one length of time beyond 2.7 million years used to end the fit with a message."""
    long = pa.array([2**60, 7, None], pa.int64()).cast(pa.duration("s"))
    for values in (long, pa.array([[2**60], [7], None], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("s")))):
        frame = pd.DataFrame({"c": pd.array(values, dtype=pd.ArrowDtype(values.type))})
        for column in COLUMNS.values():
            found = read(opened(frame, column).blocks(), column)
            assert len(found) == 3 and found[0] == found[1]


def test_blocks_are_bounded_and_parts_can_be_read_again(tmp_path):
    frame = pd.DataFrame({"c": np.arange(10.0)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet", row_group_size=7)
    column = COLUMNS["continuous"]
    for source in (tmp_path / "t.csv", tmp_path / "t.parquet", frame, pa.Table.from_pandas(frame)):
        table = opened(source, column, block=3)
        for _ in range(2):
            found = [rows for part in range(table.parts) for rows in table.rows(part)]
            assert max(rows.count for rows in found) == 3
            assert np.concatenate([rows.numbers(column) for rows in found]).tolist() == list(range(10))
        assert "private" in repr(found[0])


def test_csv_is_parsed_without_threads_of_its_own(monkeypatch):
    """A command that is refused right after it has read a short file ended in "terminate called" (exit code 134) now and then:
    Arrow's threads were still starting when the process ended."""
    asked, read = [], csv_rows.pa_csv.read_csv

    def spied(*args, read_options, **more):
        asked.append(read_options.use_threads)
        return read(*args, read_options=read_options, **more)

    monkeypatch.setattr(csv_rows.pa_csv, "read_csv", spied)
    assert csv_rows.parse(b"1,a\n2,b\n", ",", 2, [1])[0].to_pylist() == ["a", "b"]
    assert asked == [False]
