"""Drafts look at nobody's rows: header, types and arguments decide every byte, unless the table is declared public."""

import gzip

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from understudy.errors import UsageError
from understudy.schema import Codec, Schema, check, draft, read_table
from understudy.schema.text import parse_yaml

FRAME = pd.DataFrame(
    {
        "age": [41, 73, 58],
        "bmi": [21.625, None, 33.375],
        "town": ["Secretville", "Hiddenham", "Secretville"],
        "seen": pd.to_datetime(["2011-11-11", "2012-12-12", None]),
        "ill": [True, False, True],
        "zip": ["00501", "00544", "01001"],
        "outcome": [3, 5, 3],
        "person": [900001, 900002, 900001],
    }
)
SECRETS = ["41", "73", "21.6", "33.3", "Secretville", "Hiddenham", "2011", "2012", "00501", "0501", "9000"]
KINDS = {
    "age": "integer", "bmi": "continuous", "town": "categorical", "seen": "datetime", "ill": "boolean",
    "zip": "categorical", "outcome": "categorical",
}  # fmt: skip


def loaded(text: str) -> Schema:
    return Schema.from_dict(parse_yaml(text))


@pytest.fixture(params=["t.csv", "t.parquet"])
def table(request, tmp_path):
    path = tmp_path / request.param
    FRAME.to_csv(path, index=False) if path.suffix == ".csv" else FRAME.to_parquet(path)
    return path


# -- one row more ------------------------------------------------------------------------------------------------------
ODD = {
    "text for a number": b"x,y,z,q,w,e,r,t\n",
    "fraction": b"0.5,1,a,2011-01-01,true,1,3,7\n",
    "leading zeros": b"007,1,a,2011-01-01,true,1,3,7\n",
    "long number": b"9" * 400 + b",1,a,2011-01-01,true,1,3,7\n",
    "empty": b",,,,,,,\n",
    "ragged": b"1,2\n",
    "too long": b"1,2,3,4,5,6,7,8,9,10\n",
    "open quote": b'1,"2,3\n',
    "not UTF-8": b"\xff\xfe,\x80,3,4,5,6,7,8\n",
    "zero byte": b"1,\x00,3,4,5,6,7,8\n",
    "carriage return": b"1,\r2,3,4,5,6,7,8\n",
}
OPTIONS = [
    {},
    {"label": "outcome"},
    {"label": "outcome", "unit": "person", "max_rows": 3},
    {"kinds": {"age": "integer", "town": "categorical", "bmi": "ordinal"}},
    {"kinds": {"*": "categorical", "person": "identifier"}, "unit": "person"},
    {"kinds": KINDS, "label": "outcome", "unit": "person"},
]


def neighbours(tmp_path, row: bytes):
    """Two files that differ in one odd row, first or last; each has the same name in a folder of its own."""
    whole = FRAME.to_csv(index=False).encode()
    header, rest = whole.split(b"\n", 1)
    for number, content in enumerate((whole, whole + row, header + b"\n" + row + rest, header + b"\n")):
        (tmp_path / str(number)).mkdir(exist_ok=True)
        (tmp_path / str(number) / "t.csv").write_bytes(content)
        yield tmp_path / str(number) / "t.csv"


@pytest.mark.parametrize("row", ODD.values(), ids=ODD)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "+".join(options) or "plain")
def test_one_odd_row_changes_no_byte_of_a_draft(tmp_path, row, options):
    assert len({draft(path, **options) for path in neighbours(tmp_path, row)}) == 1


def narrowest_type(path):
    """The mutant: what drafts used to do with CSV, the narrowest type that all cells fit."""
    cells = pa_csv.read_csv(path, convert_options=pa_csv.ConvertOptions(strings_can_be_null=True))
    return dict(zip(cells.column_names, cells.schema.types, strict=True))


@pytest.mark.parametrize("row", ["text for a number", "fraction"])
def test_taking_the_narrowest_type_is_caught(tmp_path, monkeypatch, row):
    import sys

    monkeypatch.setattr(sys.modules["understudy.schema.draft"], "column_types", narrowest_type)
    first, with_row, *_ = neighbours(tmp_path, ODD[row])
    assert draft(first) != draft(with_row)


def test_a_draft_from_parquet_or_a_frame_does_not_depend_on_the_rows(tmp_path):
    other = FRAME.iloc[:1].assign(town="x", age=1)
    FRAME.to_parquet(tmp_path / "t.parquet")
    first = draft(tmp_path / "t.parquet")
    other.to_parquet(tmp_path / "t.parquet")
    assert draft(tmp_path / "t.parquet") == first
    assert draft(other) == draft(FRAME)


def test_the_width_of_a_dictionary_does_not_tell_the_number_of_values(tmp_path):
    few, many = (pd.DataFrame({"code": pd.Categorical(map(str, range(n)))}) for n in (100, 200))
    assert draft(few) == draft(many)
    for number, frame in enumerate((few, many)):
        (tmp_path / str(number)).mkdir()
        frame.to_parquet(tmp_path / str(number) / "t.parquet")
    assert draft(tmp_path / "0" / "t.parquet") == draft(tmp_path / "1" / "t.parquet")


def test_a_packed_file_whose_end_is_damaged_has_a_header(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 100_000)[:-20])
    assert '  a: {kind: "?"}' in draft(tmp_path / "t.csv.gz")


# -- what stands in a draft ----------------------------------------------------------------------------------------------
def test_csv_leaves_every_kind_open_and_the_schema_does_not_load(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    text = draft(tmp_path / "t.csv", label="outcome", unit="person")
    entries = parse_yaml(text)["columns"]
    assert {name: entry["kind"] for name, entry in entries.items()} == dict.fromkeys(KINDS, "?") | {
        "person": "identifier"
    }
    assert "label: say categorical" in text
    (tmp_path / "t.yaml").write_text(text)
    with pytest.raises(UsageError) as refused:
        Schema.load(tmp_path / "t.yaml")
    assert str(refused.value).startswith("column 'age': kind still says \"?\" (as do 6 more columns); write one of")
    assert "\n" not in str(refused.value)


def test_a_draft_says_where_label_and_unit_go(table):
    text = draft(table, kinds=KINDS | {"person": "identifier"})
    assert loaded(text).unit is None
    open_lines = [line for line in text.splitlines() if line.startswith(("# label: ", "# unit: "))]
    for line, name in zip(open_lines, ("outcome", "person"), strict=True):
        said = line.removeprefix("# ").split("}")[0].replace("NAME", name) + "}"
        text = text.replace(line, said)
    assert (loaded(text).label, loaded(text).unit, loaded(text).max_rows_per_unit) == ("outcome", "person", 5)


def test_kinds_that_are_said_fill_the_draft(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    schema = loaded(draft(tmp_path / "t.csv", label="outcome", unit="person", kinds=KINDS))
    assert {c.name: c.kind for c in schema.columns} == KINDS | {"person": "identifier"}
    assert set(schema.estimates) == {"age", "bmi", "town", "seen", "zip", "outcome"}
    rest = loaded(draft(tmp_path / "t.csv", unit="person", kinds={"*": "categorical", "age": "integer"}))
    assert {c.kind for c in rest.columns if c.name not in ("age", "person")} == {"categorical"}
    with pytest.raises(UsageError, match=r"'town': categories still says.*in order"):
        loaded(draft(tmp_path / "t.csv", kinds={"*": "categorical", "town": "ordinal"}))


def test_a_draft_copies_no_value(table):
    text = draft(table, label="outcome", unit="person", kinds={"*": "categorical"})
    for secret in SECRETS:
        assert secret not in text
    schema = loaded(text)
    assert schema.names == tuple(FRAME.columns)
    assert schema.rows is None
    assert (schema.label, schema.unit) == ("outcome", "person")
    assert all(c.categories is None and c.lower is None and not c.missing for c in schema.columns)


def test_types_of_parquet_and_frames_are_used(tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet")
    arrow = pa.Table.from_pandas(FRAME, preserve_index=False)
    sources = [tmp_path / "t.parquet", FRAME, arrow, polars.from_arrow(arrow), polars.from_arrow(arrow).lazy()]
    for source in sources:
        schema = loaded(draft(source, label="outcome", unit="person"))
        assert {c.name: c.kind for c in schema.columns} == KINDS | {"person": "identifier"}
    override = loaded(draft(FRAME, kinds={"age": "categorical", "*": "continuous"}))
    assert (override.column("age").kind, override.column("age").dtype) == ("categorical", "int64")
    assert override.column("bmi").kind == "continuous" and override.column("outcome").kind == "integer"


def test_an_object_column_of_a_frame_is_open():
    frame = pd.DataFrame({"a": pd.Series([1, "x"], dtype=object), "b": [1.5, 2.5], 3: [1, 2]})
    assert {n: e["kind"] for n, e in parse_yaml(draft(frame))["columns"].items()} == {
        "a": "?", "b": "continuous", "3": "integer",
    }  # fmt: skip
    assert loaded(draft(frame, public_data=True)).column("a").kind == "categorical"
    private = polars.DataFrame({"a": [1]}).with_columns(b=polars.lit(None, dtype=polars.Object))
    assert parse_yaml(draft(private))["columns"]["b"] == {"kind": "?"}
    assert "left out" in draft(frame.assign(p=pd.period_range("2020", periods=2)))
    with pytest.raises(UsageError, match="not list"):
        draft([1])


# -- public tables -------------------------------------------------------------------------------------------------------
def test_a_draft_of_public_data_fits_the_table(table):
    schema = loaded(draft(table, label="outcome", unit="person", public_data=True))
    assert schema.resolved
    assert schema.rows == 3
    assert {c.name: c.kind for c in schema.columns} == KINDS | {"person": "identifier"}
    assert schema.column("age").bounds == (41, 73)
    assert schema.column("town").categories == ("Hiddenham", "Secretville")
    assert schema.column("outcome").categories == (3, 5)
    assert schema.column("zip").categories == ("00501", "00544", "01001")
    assert schema.column("bmi").missing and not schema.column("age").missing
    assert check(table, schema) == [
        "column 'person': some unit has more than 1 rows (max_rows); the surplus is dropped at random"
    ]
    codec = Codec(schema)
    again = codec.decode(*codec.encode(read_table(table, schema)))
    assert again["town"].tolist() == FRAME["town"].tolist()


def test_public_drafts_survive_odd_contents(tmp_path):
    frame = pd.DataFrame(
        {
            "constant": [7.0, 7.0],
            "nulls": [None, None],
            "infinite": [np.inf, np.nan],
            "top": pd.Series([127, 127], dtype="int8"),
            "long": [2**60, 2**60 + 1],
            "label": ["a", None],
            "when": pd.to_datetime(["2020-01-01", "2020-01-01"]),
        }
    )
    frame.drop(columns="nulls").to_parquet(tmp_path / "t.parquet")
    schema = loaded(draft(tmp_path / "t.parquet", label="label", public_data=True))
    assert schema.column("constant").bounds == (7, 8)
    assert schema.column("top").bounds == (126, 127)
    assert schema.column("long").kind == "identifier"
    assert schema.column("infinite").estimate == "infinite"
    for count in (0, 1):
        frame.iloc[:count].to_csv(tmp_path / "t.csv", index=False)
        loaded(draft(tmp_path / "t.csv", public_data=True))


# -- names, types, files -------------------------------------------------------------------------------------------------
def test_many_columns_share_one_estimate_for_each_kind(tmp_path):
    frame = pd.DataFrame(np.zeros((2, 12)), columns=[f"x{i}" for i in range(12)])
    frame = frame.assign(**{f"n{i}": 1 for i in range(3)})
    frame.to_parquet(tmp_path / "t.parquet")
    schema = loaded(draft(tmp_path / "t.parquet"))
    assert {len(columns) for columns in schema.estimates.values()} == {12, 1}
    assert len(schema.estimates) == 4


def test_odd_names_and_unsupported_types_in_a_draft(tmp_path):
    name = 'a "b"\n# 名: x'
    table = pa.table({name: [1.5], "pixels": [[1, 2]], "ok": [True], "kind": ["z"]})
    pq.write_table(table, tmp_path / "t.parquet")
    text = draft(tmp_path / "t.parquet")
    assert loaded(text).names == (name, "ok", "kind")
    assert "pixels: left out" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"label": "agee"}, "label: 'agee'.*did you mean 'age'"),
        ({"unit": "zzz"}, "unit: 'zzz'"),
        ({"label": "age", "unit": "age"}, "both"),
        ({"kinds": {"agee": "integer"}}, "kind: 'agee'.*did you mean 'age'"),
        ({"kinds": {"age": "intger"}}, "'age'.*did you mean 'integer'"),
        ({"kinds": {"*": "image"}}, "'image' is no kind"),
        ({"unit": "person", "kinds": {"person": "integer"}}, "'person'.*identifier"),
    ],
)
def test_a_draft_with_a_wrong_name_is_refused(table, arguments, words):
    with pytest.raises(UsageError, match=words):
        draft(table, **arguments)


def test_a_draft_of_a_bad_file_is_refused(tmp_path):
    contents = {
        "a.csv": b"",
        "b.csv": b"x,x\n1,2\n",
        "c.csv": b"1.5,2.5\n",
        "d.parquet": b"PAR1",
        "e.csv": b'a,"b\n1,2"\n',
    }
    for name, content in (contents | {"f.csv": b"\xff,a\n", "g.csv.gz": b"a,b\n", "h.npz": b"PK"}).items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match=name):
            draft(tmp_path / name)
    with pytest.raises(UsageError, match="does not exist"):
        draft(tmp_path / "none.csv")
