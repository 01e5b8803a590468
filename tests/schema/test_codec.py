"""The codec: round trip within half a cell, never raises whatever the contents, output always fits the schema."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import UsageError
from understudy.schema import Codec, Column, Schema, cell, check
from understudy.schema.frame_rows import whole_frame

DICTIONARY = "dictionary<values=string, indices=int32, ordered=0>"
COLUMNS = (
    Column(name="real", kind="continuous", lower=-3.0, upper=5.5),
    Column(name="real32", kind="continuous", lower=0.1, upper=0.3, dtype="float", missing=True),
    Column(name="real16", kind="continuous", lower=-2, upper=2, dtype="halffloat"),
    Column(name="money", kind="continuous", lower=0, upper=999, dtype="decimal128(8, 2)", missing=True),
    Column(name="whole", kind="integer", lower=0, upper=120, dtype="int8"),
    Column(name="gaps", kind="integer", lower=-7, upper=70000, missing=True),
    Column(name="wholefloat", kind="integer", lower=0, upper=9, dtype="double", missing=True),
    Column(name="size", kind="ordinal", categories=("small", "medium", "large")),
    Column(name="grade", kind="ordinal", categories=(1, 2, 5), missing=True, dtype="int16"),
    Column(name="single", kind="ordinal", categories=("only",)),
    Column(name="pair", kind="categorical", categories=("f", "m")),
    Column(name="city", kind="categorical", categories=("Rome", "Oslo", "名"), missing=True, other=True),
    Column(name="code", kind="categorical", categories=(3, 7, 11), dtype="int32"),
    Column(name="halves", kind="categorical", categories=(0.5, 1.5), missing=True),
    Column(name="kept", kind="categorical", categories=("a", "b", "c"), dtype=DICTIONARY),
    Column(name="one", kind="categorical", categories=("x",)),
    Column(name="flag", kind="boolean"),
    Column(name="flag01", kind="boolean", dtype="int8", missing=True),
    Column(name="flagnull", kind="boolean", missing=True),
    Column(name="day", kind="datetime", lower="2010-01-01", upper="2020-12-31", dtype="date32[day]", missing=True),
    Column(name="when", kind="datetime", lower="2010-01-01", upper="2020-12-31T23:59:59"),
    Column(name="zoned", kind="datetime", lower="2019-01-01", upper="2020-01-01", dtype="timestamp[ns, tz=UTC]"),
    Column(name="shift", kind="datetime", lower="2020-01-01T08:00", upper="2020-01-01T16:00", dtype="timestamp[ms]"),
    Column(name="person", kind="identifier"),
    Column(name="code_name", kind="identifier", dtype="string"),
    Column(name="label", kind="categorical", categories=("well", "ill", "unsure")),
)  # fmt: skip
SCHEMA = Schema(columns=COLUMNS, label="label", positive="ill")
CODEC = Codec(SCHEMA)


def cells_of(column: Column) -> st.SearchStrategy:
    """Values that the column declares, as Python objects."""
    nulls = [st.none()] if column.missing else []
    if column.kind in ("categorical", "ordinal"):
        return st.one_of(st.sampled_from(column.categories), *nulls)
    if column.kind == "boolean":
        return st.one_of(st.booleans(), *nulls)
    if column.kind == "identifier":
        return st.text()
    low, high = column.bounds
    if column.kind == "integer":
        return st.one_of(st.integers(int(low), int(high)), *nulls)
    if column.kind == "continuous":
        return st.one_of(st.floats(low, high), *nulls)
    return st.one_of(
        st.integers(int(low), int(high)).map(lambda s: dt.datetime(1970, 1, 1) + dt.timedelta(seconds=s)), *nulls
    )


ODD = st.one_of(
    st.none(),
    st.floats(),
    st.integers(-(2**70), 2**70),
    st.text(max_size=5),
    st.booleans(),
    st.binary(max_size=3),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(dt.UTC)),
    st.decimals(),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=1), st.integers(), max_size=1),
    st.complex_numbers(),
    st.sampled_from([pd.NA, pd.NaT, np.float32("inf"), np.int8(3), "Rome", "2015-06-01", "7", "true", " 3 "]),
)


def encoded_is_sound(encoded, count):
    assert encoded.rows.dtype == np.float32
    assert encoded.rows.shape == (count, CODEC.width)
    assert encoded.classes.dtype == np.int32
    assert np.isfinite(encoded.rows).all()
    assert ((encoded.rows >= 0) & (encoded.rows <= 1)).all()
    assert ((encoded.classes >= 0) & (encoded.classes < CODEC.class_count)).all()
    for block in CODEC.blocks:
        if block.head == "onehot":
            assert (encoded.rows[:, block.start : block.start + block.size].sum(axis=1) == 1).all()


def test_blocks_cover_the_array_once_in_table_order():
    place = 0
    for block in CODEC.blocks:
        assert block.start == place
        assert block.size == 1 or block.head == "onehot"
        place += block.size
    assert place == CODEC.width
    heads = {(b.column, b.part): (b.head, b.size) for b in CODEC.blocks}
    assert heads["real", "value"] == ("numeric", 1)
    assert heads["gaps", "missing"] == ("binary", 1)
    assert heads["pair", "value"] == ("binary", 1)
    assert heads["city", "value"] == ("onehot", 5)
    assert heads["one", "value"] == ("onehot", 1)
    assert heads["flagnull", "value"] == ("onehot", 3)
    assert heads["size", "value"] == ("numeric", 1)
    assert not any(b.column in ("label", "person", "code_name") for b in CODEC.blocks)
    assert CODEC.class_values == ("well", "ill", "unsure")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.fixed_dictionaries({c.name: cells_of(c) for c in COLUMNS}), max_size=4))
def test_round_trip_within_half_a_cell(rows):
    frame = pd.DataFrame(rows, columns=list(SCHEMA.names), dtype=object)
    encoded = CODEC.encode(frame)
    encoded_is_sound(encoded, len(rows))
    again = CODEC.decode(*encoded)
    assert list(again.columns) == list(SCHEMA.names)
    for column in COLUMNS:
        before, after = frame[column.name], again[column.name]
        if column.kind == "identifier":
            continue
        assert (before.isna().to_numpy() == after.isna().to_numpy()).all(), column.name
        if column.kind in ("categorical", "ordinal", "boolean"):
            assert before.dropna().tolist() == after.dropna().tolist(), column.name
        else:
            gap = np.abs(numbers(before, column) - numbers(after, column))
            assert (np.nan_to_num(gap) <= cell(column) / 2).all(), (column.name, gap)


def numbers(series, column):
    return whole_frame(pd.DataFrame({column.name: series})).numbers(column)


def test_integers_and_dates_return_exactly_at_every_position():
    columns = (
        Column(name="i", kind="integer", lower=-50_000, upper=50_000),
        Column(name="d", kind="datetime", lower="1900-01-01", upper="2100-01-01", dtype="date32[day]"),
    )
    whole = np.arange(-50_000, 50_001)
    days = np.datetime64("1900-01-01", "s") + (np.arange(len(whole)) % 73049) * np.timedelta64(86400, "s")
    frame = pd.DataFrame({"i": whole, "d": days})
    codec = Codec(Schema(columns=columns))
    again = codec.decode(*codec.encode(frame))
    assert (again["i"].to_numpy() == whole).all()
    assert (again["d"].to_numpy().astype("datetime64[s]") == days).all()


@settings(max_examples=50, deadline=None)
@given(st.data(), st.integers(0, 4))
def test_no_contents_raise_and_the_output_fits(data, count):
    names = data.draw(st.lists(st.sampled_from(SCHEMA.names), min_size=4, max_size=4, unique=True))
    frame = pd.DataFrame({n: pd.Series([None] * count, dtype=object) for n in SCHEMA.names})
    for name in names:
        frame[name] = pd.Series(data.draw(st.lists(ODD, min_size=count, max_size=count)), dtype=object)
    encoded = CODEC.encode(frame)
    encoded_is_sound(encoded, count)
    again = CODEC.decode(*encoded)
    assert problems(again) == []
    check(frame, SCHEMA)
    for column in COLUMNS:
        assert len(whole_frame(frame).keys(column)) == count


def problems(table, **how):
    """What `check` finds, apart from the hint at classes that a few rows happen not to have."""
    return [line for line in check(table, SCHEMA, **how) if "classes do not occur" not in line]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]), st.integers(0, 40))
def test_any_array_decodes_to_rows_that_fit(seed, share_odd, count):
    rng = np.random.default_rng(seed)
    rows = rng.normal(0.5, 1.0, (count, CODEC.width)).astype(np.float32)
    odd = rng.random(rows.shape) < share_odd
    rows[odd] = rng.choice(np.asarray([np.nan, np.inf, -np.inf, 1e38, -0.0], np.float32), odd.sum())
    table = CODEC.decode_arrow(rows, rng.integers(-3, 9, count).astype(np.int32))
    assert table.schema == CODEC.arrow_schema
    table.validate(full=True)
    assert problems(table) == []
    frame = CODEC.decode(rows, np.zeros(count, np.int32))
    assert problems(frame, strict=True) == []
    assert CODEC.to_arrow(frame).schema == CODEC.arrow_schema


def test_dtypes_do_not_depend_on_the_batch():
    rng = np.random.default_rng(0)
    empty = CODEC.decode(np.zeros((0, CODEC.width), np.float32), np.zeros(0, np.int32))
    full = CODEC.decode(rng.random((300, CODEC.width), dtype=np.float32), np.zeros(300, np.int32))
    assert empty.dtypes.equals(full.dtypes)
    assert str(full["gaps"].dtype) == "Int64"
    assert str(full["flagnull"].dtype) == "boolean"
    assert str(full["whole"].dtype) == "int8"


def test_what_the_schema_does_not_allow_is_put_where_it_does():
    frame = pd.DataFrame({n: pd.Series([None, None], dtype=object) for n in SCHEMA.names})
    frame["real"] = [np.inf, -np.inf]
    frame["city"] = ["Atlantis", None]
    frame["pair"] = ["x", None]
    frame["halves"] = ["x", 7.25]
    frame["label"] = ["x", None]
    again = CODEC.decode(*CODEC.encode(frame))
    assert again["real"].tolist() == [5.5, -3.0]
    assert again["city"].fillna("-").tolist() == ["other", "-"]
    assert again["pair"].tolist() == ["f", "f"]
    assert again["halves"].isna().tolist() == [True, True]
    assert again["label"].tolist() == ["well", "well"]
    assert again["whole"].tolist() == [60, 60]  # the midpoint


def test_declared_category_other_is_not_doubled():
    column = Column(name="c", kind="categorical", categories=("a", "other"), other=True)
    assert column.outcomes == ("a", "other")


def test_soft_values_give_the_most_likely_category():
    schema = Schema(
        columns=(Column(name="c", kind="categorical", categories=("a", "b", "c")), Column(name="f", kind="boolean"))
    )
    rows = np.asarray([[0.2, 0.5, 0.3, 0.5], [0.4, 0.4, 0.2, 0.49], [5.0, 7.0, 9.0, -3.0]], np.float32)
    frame = Codec(schema).decode(rows, np.zeros(3, np.int32))
    assert frame["c"].tolist() == ["b", "a", "c"]
    assert frame["f"].tolist() == [True, False, False]


def test_identifiers_are_counted_up_and_unique_over_batches():
    rows, classes = np.zeros((3, CODEC.width), np.float32), np.zeros(3, np.int32)
    first, second = CODEC.decode(rows, classes), CODEC.decode(rows, classes, first_row=3)
    assert [*first["person"], *second["person"]] == [1, 2, 3, 4, 5, 6]
    assert [*first["code_name"], *second["code_name"]] == ["1", "2", "3", "4", "5", "6"]


def test_an_identifier_type_too_small_for_the_rows_is_refused():
    schema = Schema(columns=(Column(name="id", kind="identifier", dtype="int8"), Column(name="f", kind="boolean")))
    codec = Codec(schema)
    codec.decode(np.zeros((127, 1), np.float32), np.zeros(127, np.int32))
    with pytest.raises(UsageError, match=r"'id'.*127 rows.*int64"):
        codec.decode(np.zeros((1, 1), np.float32), np.zeros(1, np.int32), first_row=127)


def test_identifiers_do_not_reach_the_array():
    frame = CODEC.decode(np.full((5, CODEC.width), 0.25, np.float32), np.zeros(5, np.int32))
    changed = frame.assign(person=[9, 8, 7, 6, 5], code_name=list("vwxyz"))
    assert (CODEC.encode(frame).rows == CODEC.encode(changed).rows).all()


def test_numeric_label_and_no_label_have_one_class():
    columns = (Column(name="y", kind="continuous", lower=0, upper=1), Column(name="x", kind="boolean"))
    for schema in (Schema(columns=columns, label="y"), Schema(columns=columns)):
        codec = Codec(schema)
        assert (codec.class_count, codec.class_values, codec.width) == (1, (None,), 2)
        encoded = codec.encode(pd.DataFrame({"y": [0.25], "x": [True]}))
        assert encoded.classes.tolist() == [0]


@pytest.mark.parametrize(
    ("column", "series", "index"),
    [
        (Column(name="y", kind="boolean"), pd.Series([True, False, "yes", "0", 1, 2.5, None]), [1, 0, 1, 0, 1, 0, 0]),
        (Column(name="y", kind="ordinal", categories=("lo", "hi")), pd.Series(["hi", "lo", "?"]), [1, 0, 0]),
        (Column(name="y", kind="categorical", categories=(0, 1)), pd.Series([1.0, 0.0, np.nan]), [1, 0, 0]),
        (Column(name="y", kind="categorical", categories=("0", "1")), pd.Series([1.0, 0.0, np.nan]), [1, 0, 0]),
        (Column(name="y", kind="categorical", categories=("b", "a")), pd.Series(["a", "b"], dtype="category"), [1, 0]),
    ],
)  # fmt: skip
def test_class_labels_of_every_kind(column, series, index):
    codec = Codec(Schema(columns=(column, Column(name="x", kind="boolean")), label="y"))
    encoded = codec.encode(pd.DataFrame({"y": series, "x": False}))
    assert encoded.classes.tolist() == index


def test_only_the_label_leaves_an_empty_array():
    codec = Codec(Schema(columns=(Column(name="y", kind="boolean"),), label="y"))
    encoded = codec.encode(pd.DataFrame({"y": [True, False]}))
    assert encoded.rows.shape == (2, 0)
    assert codec.decode(*encoded)["y"].tolist() == [True, False]


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series([1, 2, None], dtype="float32"),
        pd.Series([1, 2, None], dtype="int64[pyarrow]"),
        pd.Series(["1", "2", None], dtype="str"),
        pd.Series(["1", "2", None], dtype="category"),
        pd.Series([Decimal(1), Decimal(2), None], dtype=object),
        pd.Series([1, 2, None], dtype=pd.ArrowDtype(pa.decimal128(5, 2))),
    ],
    ids=lambda s: str(s.dtype),
)
def test_numbers_are_read_from_every_storage(series):
    found = numbers(series, Column(name="c", kind="continuous", lower=0, upper=1))
    assert found[:2].tolist() == [1.0, 2.0]
    assert np.isnan(found[2])


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(pd.to_datetime(["1970-01-02", None])),
        pd.Series(pd.to_datetime(["1970-01-02", None])).astype("datetime64[ns]"),
        pd.Series(pd.to_datetime(["1970-01-02T01:00+01:00", None], utc=True)).dt.tz_convert("Europe/Oslo"),
        pd.Series(["1970-01-02", "nonsense"], dtype="str"),
        pd.Series([dt.date(1970, 1, 2), None], dtype=object),
        pd.Series(["1970-01-02", None], dtype="category"),
        pd.Series([dt.date(1970, 1, 2), None], dtype=pd.ArrowDtype(pa.date32())),
    ],
    ids=lambda s: str(s.dtype),
)
def test_dates_are_read_from_every_storage(series):
    found = numbers(series, Column(name="c", kind="datetime", lower="1970-01-01", upper="1970-01-03"))
    assert found[0] == 86400.0
    assert np.isnan(found[1])


def test_missing_columns_and_doubled_columns_are_refused_by_name():
    frame = CODEC.decode(np.zeros((1, CODEC.width), np.float32), np.zeros(1, np.int32))
    with pytest.raises(UsageError, match="column 'city' of the schema is not in the table"):
        CODEC.encode(frame.drop(columns="city"))
    with pytest.raises(UsageError, match=r"'real' \(and 25 more\).*header line"):
        CODEC.encode(pd.DataFrame({"z": [1]}))
    twice = pd.concat([frame, frame[["city"]]], axis=1)
    with pytest.raises(UsageError, match="'city' appears twice"):
        CODEC.encode(twice)


def test_names_that_are_numbers_match_their_text():
    codec = Codec(Schema(columns=(Column(name="0", kind="boolean"), Column(name="1", kind="boolean"))))
    assert codec.encode(pd.DataFrame({0: [True], 1: [False]})).rows.tolist() == [[1.0, 0.0]]


def test_a_wrong_width_is_a_programming_error():
    with pytest.raises(ValueError, match="shape"):
        CODEC.decode(np.zeros((1, 1), np.float32), np.zeros(1, np.int32))


def test_wide_tables_cost_little_more_than_the_arithmetic():
    """Guards against a Python loop over cells. A loop takes a microsecond or more for each of the 2 million cells, so
    2 s; the bare arithmetic takes some 10 ms. 40 times that fails with the loop and leaves room for a busy machine."""
    import time

    columns = tuple(Column(name=f"f{i}", kind="continuous", lower=-1, upper=1, dtype="float") for i in range(200))
    codec = Codec(Schema(columns=columns))
    values = np.random.default_rng(0).random((10_000, 200), dtype=np.float32)
    frame = pd.DataFrame(values, columns=[c.name for c in columns])

    def fastest(work):
        def once():
            start = time.process_time()
            work()
            return time.process_time() - start

        return min(once() for _ in range(3))

    bare = fastest(lambda: np.ascontiguousarray(((values.astype(np.float64) + 1) * 0.5).astype(np.float32).T))
    encoded = codec.encode(frame)
    assert fastest(lambda: codec.encode(frame)) < 40 * bare
    assert fastest(lambda: codec.decode_arrow(*encoded)) < 40 * bare
