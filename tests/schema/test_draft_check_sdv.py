"""Drafts copy no value, checks name columns and never values, SDV metadata come over or are refused by name."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.errors import UsageError
from understudy.schema import Codec, Column, Schema, check, draft, from_sdv, read_table
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


@pytest.fixture(params=["t.csv", "t.parquet"])
def table(request, tmp_path):
    path = tmp_path / request.param
    FRAME.to_csv(path, index=False) if path.suffix == ".csv" else FRAME.to_parquet(path)
    return path


def test_a_draft_copies_no_value_and_loads_as_it_stands(table):
    text = draft(table, label="outcome", unit="person")
    for secret in SECRETS:
        assert secret not in text
    schema = Schema.from_dict(parse_yaml(text))
    assert schema.names == tuple(FRAME.columns)
    kinds = {c.name: c.kind for c in schema.columns}
    assert kinds == {
        "age": "integer", "bmi": "continuous", "town": "categorical", "seen": "datetime", "ill": "boolean",
        "zip": "categorical", "outcome": "categorical", "person": "identifier",
    }  # fmt: skip
    assert schema.rows is None
    assert (schema.label, schema.unit) == ("outcome", "person")
    assert all(c.categories is None and c.lower is None and not c.missing for c in schema.columns)
    assert "free text" in text
    assert ("CSV has no types" in text) == (table.suffix == ".csv")


def test_a_draft_from_parquet_does_not_depend_on_the_rows(tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet")
    first = draft(tmp_path / "t.parquet")
    FRAME.iloc[:1].assign(town="x", age=1).to_parquet(tmp_path / "t.parquet")
    assert draft(tmp_path / "t.parquet") == first


def test_a_draft_of_public_data_fits_the_table(table):
    schema = Schema.from_dict(parse_yaml(draft(table, label="outcome", unit="person", public_data=True)))
    assert schema.resolved
    assert schema.rows == 3
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
    frame.to_parquet(tmp_path / "t.parquet")
    schema = Schema.from_dict(parse_yaml(draft(tmp_path / "t.parquet", label="label", public_data=True)))
    assert schema.column("constant").bounds == (7, 8)
    assert schema.column("top").bounds == (126, 127)
    assert schema.column("long").kind == "identifier"
    assert schema.column("infinite").estimate == "infinite"
    for count in (0, 1):
        frame.iloc[:count].to_csv(tmp_path / "t.csv", index=False)
        Schema.from_dict(parse_yaml(draft(tmp_path / "t.csv", public_data=True)))


def test_many_columns_share_one_estimate_for_each_kind(tmp_path):
    frame = pd.DataFrame(np.zeros((2, 12)), columns=[f"x{i}" for i in range(12)])
    frame = frame.assign(**{f"n{i}": 1 for i in range(3)})
    frame.to_parquet(tmp_path / "t.parquet")
    schema = Schema.from_dict(parse_yaml(draft(tmp_path / "t.parquet")))
    assert {len(columns) for columns in schema.estimates.values()} == {12, 1}
    assert len(schema.estimates) == 4


def test_odd_names_and_unsupported_types_in_a_draft(tmp_path):
    name = 'a "b"\n# 名: x'
    table = pa.table({name: [1.5], "pixels": [[1, 2]], "ok": [True], "kind": ["z"]})
    pq.write_table(table, tmp_path / "t.parquet")
    text = draft(tmp_path / "t.parquet")
    assert Schema.from_dict(parse_yaml(text)).names == (name, "ok", "kind")
    assert "pixels: left out" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"label": "agee"}, "--label 'agee'.*did you mean 'age'"),
        ({"unit": "zzz"}, "--unit 'zzz'"),
        ({"label": "age", "unit": "age"}, "both"),
    ],
)
def test_a_draft_with_a_wrong_name_is_refused(table, arguments, words):
    with pytest.raises(UsageError, match=words):
        draft(table, **arguments)


def test_a_draft_of_a_bad_file_is_refused(tmp_path):
    for name, content in (("a.csv", ""), ("b.csv", "x,x\n1,2\n"), ("c.csv", "1.5,2.5\n"), ("d.parquet", "PAR1")):
        (tmp_path / name).write_text(content)
        with pytest.raises(UsageError, match=name):
            draft(tmp_path / name)


CHECKED = Schema(
    columns=(
        Column(name="age", kind="integer", lower=0, upper=100),
        Column(name="town", kind="categorical", categories=("a", "b")),
        Column(name="day", kind="datetime", lower="2010-01-01", upper="2011-01-01", missing=True),
        Column(name="low", kind="continuous", lower=0.1, upper=1, dtype="float"),
    )
)
FITS = pd.DataFrame(
    {"age": [1, 2], "town": ["a", "b"], "day": pd.to_datetime(["2010-06-01", None]), "low": np.float32([0.1, 1])}
)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("age", [1, 777], "outside lower and upper"),
        ("age", [1, None], "missing"),
        ("age", [1, 2.5], "not whole"),
        ("age", ["1", "q777"], "numbers"),
        ("age", [1.0, np.inf], "infinite"),
        ("town", ["a", "q777"], "not among its categories"),
        ("town", ["a", None], "missing"),
        ("day", ["2010-06-01", "q777"], "ISO dates"),
        ("day", ["2010-06-01", "1777-01-01"], "outside"),
    ],
)
def test_check_names_the_column_and_the_cause_but_no_value(column, values, words):
    assert check(FITS, CHECKED) == []
    frame = FITS.assign(**{column: pd.Series(values, dtype=object)})
    found = check(frame, CHECKED)
    assert len(found) == 1
    assert found[0].startswith(f"column {column!r}: ")
    assert words in found[0]
    assert "777" not in found[0]


def test_check_sees_other_columns_and_in_strict_mode_order_and_types():
    assert check(FITS.assign(more=1), CHECKED) == ["column 'more': not in the schema; it will be ignored"]
    with pytest.raises(UsageError, match="'town'"):
        check(FITS.drop(columns="town"), CHECKED)
    exact = Codec(CHECKED).decode(np.full((2, 5), 0.25, np.float32), np.zeros(2, np.int32))
    assert check(exact, CHECKED, strict=True) == []
    assert "order" in check(exact[exact.columns[::-1]], CHECKED, strict=True)[0]
    assert check(exact.astype({"age": "int8"}), CHECKED, strict=True) == ["column 'age': its type is not int64"]
    assert check(exact.astype({"low": "float64"}), CHECKED, strict=True) == ["column 'low': its type is not float"]


SINGLE = {
    "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
    "primary_key": "key",
    "columns": {
        "key": {"sdtype": "id", "regex_format": "[0-9]{4}"},
        "age": {"sdtype": "numerical", "computer_representation": "Int64"},
        "bmi": {"sdtype": "numerical", "computer_representation": "Float"},
        "town": {"sdtype": "categorical"},
        "size": {"sdtype": "categorical", "order": ["S", "M", "L"]},
        "ill": {"sdtype": "boolean"},
        "seen": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
        "mail": {"sdtype": "email", "pii": True},
        "who": {"sdtype": "name"},
        "state": {"sdtype": "state", "pii": False},
    },
}


@pytest.mark.parametrize(
    "metadata",
    [
        SINGLE,
        {"METADATA_SPEC_VERSION": "V1", "tables": {"t": SINGLE}, "relationships": []},
        {"METADATA_SPEC_VERSION": "MULTI_TABLE_V1", "tables": {"t": SINGLE}},
    ],
    ids=["single", "V1", "multi"],
)
def test_sdv_metadata_become_a_schema(metadata):
    schema = from_sdv(json.loads(json.dumps(metadata)))
    assert {c.name: c.kind for c in schema.columns} == {
        "key": "identifier", "age": "integer", "bmi": "continuous", "town": "categorical", "size": "ordinal",
        "ill": "boolean", "seen": "datetime", "mail": "identifier", "who": "identifier", "state": "categorical",
    }  # fmt: skip
    assert set(schema.estimates) == {"age", "bmi", "town", "seen", "state"}
    assert schema.column("size").categories == ("S", "M", "L")
    assert schema.column("age").dtype == "int64"
    assert Schema.from_dict(schema.to_dict()) == schema


def test_sdv_with_several_tables_needs_a_choice():
    metadata = {"tables": {"a": SINGLE, "b": SINGLE}}
    with pytest.raises(UsageError, match="'a', 'b'"):
        from_sdv(metadata)
    assert from_sdv(metadata, "b").names == from_sdv(SINGLE).names
    with pytest.raises(UsageError, match="no table 'c'"):
        from_sdv(metadata, "c")


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ([], "not SDV metadata"),
        ({}, "no columns"),
        ({"tables": {}}, "no tables"),
        ({"tables": {"t": 3}}, "'t'"),
        ({"columns": {"c": {"sdtype": "unknown"}}}, "'c'.*'unknown'"),
        ({"columns": {"c": {"sdtype": "hologram"}}}, "'c'.*'hologram'"),
        ({"columns": {"c": {"sdtype": "text"}}}, "'c'.*free text"),
        ({"columns": {"c": {}}}, "'c'.*no sdtype"),
        ({"columns": {"c": {"sdtype": "numerical", "computer_representation": "Huge"}}}, "'c'"),
    ],
)
def test_sdv_metadata_that_cannot_be_placed_are_refused_by_name(metadata, words):
    with pytest.raises(UsageError, match=words):
        from_sdv(metadata)


def test_many_sdv_numbers_share_their_estimate():
    metadata = {"columns": {f"x{i}": {"sdtype": "numerical"} for i in range(20)}}
    assert len(from_sdv(metadata).estimates) == 1
